/*
 * How good the stacks of a profile are, and which files spoil them. Pure, over a named profile.
 *
 * A user stack is complete when it goes back to where programs and threads begin. A walk by unwind
 * tables knows that, because the tables say where there is no caller. A walk along frame pointers
 * can't know: there it is complete if one of the outermost functions is one in which things begin
 * (_start, clone, …), or main, which libc's own start code, mostly built without frame pointers,
 * hides behind. In code built without them such a walk just ends, somewhere, and the file that it
 * ended in is the one to blame.
 */
#ifndef STOOK_PROFILE_QUALITY_H
#define STOOK_PROFILE_QUALITY_H

#include <stdint.h>

#include "profile/profile.h"

#define QUALITY_MAX_BLAMED 3

struct quality {
	uint64_t user;		     /* samples that have, or should have, a user stack */
	uint64_t complete;	     /* of them: reach a beginning */
	uint64_t truncated;	     /* cut at the depth limit */
	uint64_t missed;	     /* could not be read */
	uint64_t broken;	     /* ended in the middle */
	uint64_t unnamed;	     /* whose leaf has no name … */
	uint64_t run_time;	     /* … because its code was made at run time, */
	uint64_t unread;	     /* … because its file could not be read, */
	uint64_t gone;		     /* … or was deleted, */
	uint64_t unmapped;	     /* … or because it is in no file that is known */
	uint64_t ends[NR_WALK_ENDS]; /* how the walks of all these ended */
	struct quality_blame {
		uint32_t module;
		enum walk_end end;
		uint64_t samples;     /* whose stacks broke in it, in this way */
	} blamed[QUALITY_MAX_BLAMED]; /* the worst first; samples 0: none */
	struct quality_nameless {
		uint32_t module;
		uint64_t samples;	/* with a frame in it that has no name */
	} nameless[QUALITY_MAX_BLAMED]; /* JIT-compiled code, likewise */
	/* Interpreters of Python, likewise: samples that run Python functions without a name. */
	struct quality_nameless interpreted[QUALITY_MAX_BLAMED];
	/* Files that were read: whose leaf has no name and lies in it. */
	struct quality_nameless stripped[QUALITY_MAX_BLAMED];
};

/* 0 or -ENOMEM. */
int quality_judge(const struct profile *profile, struct quality *ret);

#endif
