/*
 * What a profile's samples add up to by function, module, thread, … or any combination of these:
 * for each group in how many samples it ran itself, and in how many it was anywhere on the stack.
 * What is on one stack several times counts once.
 *
 * Groups are what reads differently: modules of the same name are one, and so are functions of the
 * same name, wherever they are, unless modules or kinds are asked for.
 *
 * Some keys belong to a place in the code, the others to a whole sample. A function that was
 * inlined is a function like others: the innermost one ran itself, all others were on the stack.
 */
#ifndef STOOK_VIEW_GROUP_TOTALS_H
#define STOOK_VIEW_GROUP_TOTALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

enum group_key {
	/* of a place in the code */
	GROUP_FUNCTION,
	GROUP_MODULE,
	GROUP_LINE, /* of the source */
	GROUP_KIND, /* kernel, user, made at run time */
	/* of a sample */
	GROUP_COMM,
	GROUP_PID,
	GROUP_TID,
	GROUP_CPU,
	GROUP_CGROUP,
	GROUP_PROBE,
	GROUP_CATEGORY,
	NR_GROUP_KEYS,
};

#define GROUP_BIT(key) (1U << (key))

/* Keys of a place; a group that has none of them has total equal to self. */
#define GROUP_PLACE_KEYS                                                               \
	(GROUP_BIT(GROUP_FUNCTION) | GROUP_BIT(GROUP_MODULE) | GROUP_BIT(GROUP_LINE) | \
	 GROUP_BIT(GROUP_KIND))

enum group_kind {
	GROUP_KIND_USER,
	GROUP_KIND_KERNEL,
	GROUP_KIND_RUN_TIME, /* JIT-compiled code */
	GROUP_KIND_SEVERAL,  /* of a group whose functions are of different kinds */
};

/* Fields that are no key of these groups are 0, except the kind of function. */
struct group_place {
	uint32_t function; /* the profile's string; 0: no name */
	uint32_t module;
	uint32_t file, line;
	enum group_kind kind;
};

struct group_labels {
	uint32_t comm, cgroup, probe; /* strings */
	int32_t pid, tid, cpu;
	uint32_t category;
};

struct group_total {
	struct group_place place;
	struct group_labels labels;
	uint32_t last_sample; /* for counting: number + 1 of the last sample that had it */
	uint64_t self;
	uint64_t total;
};

struct group_totals {
	struct group_total *groups; /* heaviest first */
	size_t nr, cap;
	uint64_t no_frames_count; /* of samples that were at no place */
};

struct group_totals_style {
	unsigned keys;			    /* GROUP_BIT()s */
	const uint32_t *category_of_sample; /* for GROUP_CATEGORY; see categories_count() */
	bool by_total;			    /* what is heavy: else by self */
	bool tell_kernel_apart; /* its functions from others, also if kinds are no key */
};

/* 0 or -ENOMEM. */
int group_totals_init(struct group_totals *totals, const struct profile *profile,
		      const struct group_totals_style *style);
void group_totals_clear(struct group_totals *totals);

/* --- functions -------------------------------------------------------------------------------- */

/*
 * The most wanted groups: functions and modules. A function is a name in a module; all code of a
 * module that has no name is one function.
 */

struct function_total {
	uint32_t name; /* the profile's string; 0: no name */
	uint32_t module;
	enum frame_kind kind;
	uint64_t self;
	uint64_t total;
};

struct function_totals {
	struct function_total *functions; /* by self, then by total, heaviest first */
	size_t nr, cap;
	uint64_t no_frames_count; /* samples that belong to no function */
};

/* 0 or -ENOMEM. */
int function_totals_init(struct function_totals *totals, const struct profile *profile);
void function_totals_clear(struct function_totals *totals);

#endif
