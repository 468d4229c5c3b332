/*
 * How good the stacks of a profile are, and which files spoil them. Pure, over a named profile.
 *
 * A user stack is complete when it goes back to where programs and threads begin (_start, clone,
 * …), or to main, which libc's own start code, mostly built without frame pointers, hides behind. A walk along frame pointers can't know that by itself: in code built without them it
 * just ends, somewhere, and the file that it ended in is the one to blame.
 */
#ifndef STOOK_PROFILE_QUALITY_H
#define STOOK_PROFILE_QUALITY_H

#include <stdint.h>

#include "profile/profile.h"

#define QUALITY_MAX_BLAMED 3

struct quality {
	uint64_t user;	    /* samples that have, or should have, a user stack */
	uint64_t complete;  /* of them: reach a beginning */
	uint64_t truncated; /* cut at the depth limit */
	uint64_t missed;    /* could not be read */
	uint64_t broken;    /* ended in the middle */
	uint64_t unnamed;   /* whose leaf has no name … */
	uint64_t run_time;  /* … because its code was made at run time */
	struct {
		uint32_t module;
		uint64_t samples;     /* whose stacks broke in it */
	} blamed[QUALITY_MAX_BLAMED]; /* the worst first; samples 0: none */
};

/* 0 or -ENOMEM. */
int quality_judge(const struct profile *profile, struct quality *ret);

#endif
