/*
 * Quality of a profile's stacks and names: how many stacks are complete, and in which files the
 * others break off. Pure, over a named profile.
 *
 * A user stack is complete if it reaches the outermost function of its thread. A walk by unwind
 * tables knows that, because the tables mark functions without a caller. A walk by frame pointers
 * cannot know: its stack counts as complete if one of the outermost functions is a known start of
 * programs or threads (_start, clone, …), or main, since libc's own start code above main is mostly
 * built without frame pointers. In code built without frame pointers such a walk just ends
 * somewhere; the file that it ended in is blamed.
 */
#ifndef STOOK_PROFILE_QUALITY_H
#define STOOK_PROFILE_QUALITY_H

#include <stdint.h>

#include "profile/profile.h"

#define QUALITY_MAX_BLAMED 3

struct quality {
	/* All in samples. */
	uint64_t user;	    /* have, or should have, a user stack: the sum of the next four */
	uint64_t complete;  /* reach the outermost function */
	uint64_t truncated; /* cut at the depth limit */
	uint64_t missed;    /* user stack could not be read */
	uint64_t broken;    /* ended before the outermost function */
	uint64_t unnamed;   /* leaf has no name; reasons: the next five, and `stripped` */
	uint64_t run_time;  /* JIT-compiled code */
	uint64_t unread;    /* file could not be read, or not to its end */
	uint64_t gone;	    /* file was deleted */
	uint64_t unmapped;  /* in no known file */
	uint64_t kernel;    /* code of the kernel, and what it maps into processes */
	uint64_t ends[NR_WALK_ENDS]; /* user stacks, by how the walk ended */
	struct quality_blame {
		uint32_t module;
		enum walk_end end;
		uint64_t samples;     /* their stacks ended in this module, in this way */
	} blamed[QUALITY_MAX_BLAMED]; /* most samples first; samples 0: no entry */
	struct quality_nameless {
		uint32_t module;
		uint64_t samples;
	} nameless[QUALITY_MAX_BLAMED]; /* JIT-compiled code: samples with an unnamed frame in it */
	/* Python interpreters: samples in Python functions that the stack does not name. */
	struct quality_nameless interpreted[QUALITY_MAX_BLAMED];
	/* Stripped files: samples whose leaf is in the file and has no name. */
	struct quality_nameless stripped[QUALITY_MAX_BLAMED];
};

/* 0 or -ENOMEM. */
int quality_judge(const struct profile *profile, struct quality *ret);

#endif
