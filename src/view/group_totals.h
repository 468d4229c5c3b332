/*
 * Sums a profile's samples by function, module, thread, … or any combination of these. For each
 * group: the samples in which it is the leaf (self), and the samples in which it is anywhere on the
 * stack (total). Several occurrences on one stack count once.
 *
 * Groups are distinguished by the texts that are shown: modules of the same name are one group, and
 * so are functions of the same name anywhere, unless module or kind is a key, too.
 *
 * Some keys belong to a place in the code, the others to a whole sample. Inlined functions count
 * like any others: self counts for the innermost one, total for all.
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
	GROUP_KIND, /* kernel, user, JIT-compiled */
	/* of a sample */
	GROUP_COMM,
	GROUP_PID,
	GROUP_TID,
	GROUP_CPU,
	GROUP_CGROUP,
	GROUP_PROBE,
	GROUP_STATE, /* off CPU: the outermost frame */
	GROUP_CATEGORY,
	NR_GROUP_KEYS,
};

#define GROUP_BIT(key) (1U << (key))

/* Keys of a place. Without any of them, total equals self. */
#define GROUP_PLACE_KEYS                                                               \
	(GROUP_BIT(GROUP_FUNCTION) | GROUP_BIT(GROUP_MODULE) | GROUP_BIT(GROUP_LINE) | \
	 GROUP_BIT(GROUP_KIND))

enum group_kind {
	GROUP_KIND_USER,
	GROUP_KIND_KERNEL,
	GROUP_KIND_RUN_TIME, /* JIT-compiled code */
	GROUP_KIND_SEVERAL,  /* a group with functions of different kinds */
};

/* Fields that are not among the keys are 0, except kind. */
struct group_place {
	uint32_t function; /* the profile's string; 0: no name */
	uint32_t module;
	uint32_t file, line;
	enum group_kind kind;
};

struct group_labels {
	uint32_t comm, cgroup, probe, state; /* strings */
	int32_t pid, tid, cpu;
	uint32_t category;
};

struct group_total {
	struct group_place place;
	struct group_labels labels;
	uint32_t last_sample; /* used while counting: number + 1 of the last sample in the group */
	uint64_t self;
	uint64_t total;
	uint64_t self_other; /* of the other value */
};

struct group_totals {
	struct group_total *groups; /* heaviest first */
	size_t nr, cap;
	uint64_t no_frames_count; /* of samples without a stack */
};

struct group_totals_style {
	unsigned keys;			    /* GROUP_BIT()s */
	const uint32_t *category_of_sample; /* for GROUP_CATEGORY; see categories_count() */
	size_t other;			    /* a value that is summed by self, too; 0: none */
	bool by_total;			    /* sort by total; else by self */
	bool separate_kernel; /* distinguish kernel functions even without GROUP_KIND */
};

/* 0 or -ENOMEM. */
int group_totals_init(struct group_totals *totals, const struct profile *profile,
		      const struct group_totals_style *style);
void group_totals_clear(struct group_totals *totals);

/* --- functions -------------------------------------------------------------------------------- */

/*
 * The most common grouping, by function and module. A function is a name in a module; all code
 * without a name in a module is one function.
 */

struct function_total {
	uint32_t name; /* the profile's string; 0: no name */
	uint32_t module;
	enum frame_kind kind;
	uint64_t self;
	uint64_t total;
};

struct function_totals {
	struct function_total *functions; /* heaviest first, by self, then by total */
	size_t nr, cap;
	uint64_t no_frames_count; /* of samples without a stack */
};

/* 0 or -ENOMEM. */
int function_totals_init(struct function_totals *totals, const struct profile *profile);
void function_totals_clear(struct function_totals *totals);

#endif
