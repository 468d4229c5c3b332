/*
 * Filters the samples of a profile: by label, by leaf function, and by any function on the stack.
 *
 * Each subject has patterns or numbers that are wanted, and ones that are unwanted. A sample passes
 * if it matches at least one wanted entry of every subject that has some, and no unwanted entry.
 * Names are matched as they are shown: a function without a name is `[unknown]`, a module has no
 * folders.
 *
 * A zero-initialised filter lets all samples pass.
 */
#ifndef STOOK_VIEW_FILTER_H
#define STOOK_VIEW_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/matcher.h"
#include "profile/profile.h"

/* Subject of a criterion. Texts are matched by patterns, numbers by lists. */
enum filter_subject {
	FILTER_COMM,
	FILTER_MODULE, /* of the leaf function */
	FILTER_SYMBOL, /* the leaf function; if inlined, the innermost */
	FILTER_STACK,  /* any function on the stack */
	FILTER_PID,
	FILTER_TID,
	FILTER_PROBE,
	NR_FILTER_SUBJECTS,
};

enum filter_sense {
	FILTER_WANTED,
	FILTER_UNWANTED,
	NR_FILTER_SENSES,
};

struct filter_criterion {
	struct matcher **patterns; /* regular expressions; one must match anywhere in the text */
	size_t nr_patterns, cap_patterns;
	uint32_t *numbers; /* sorted */
	size_t nr_numbers, cap_numbers;
	uint64_t passed; /* set by filter_apply(): total of samples that pass this criterion */
};

struct filter {
	struct filter_criterion criteria[NR_FILTER_SUBJECTS][NR_FILTER_SENSES];
};

/* Adds a pattern. 0, or a negative errno with *error set. */
int filter_add_pattern(struct filter *filter, enum filter_subject subject, enum filter_sense sense,
		       const char *pattern, struct error *error);

/* Adds numbers. 0 or -ENOMEM. */
int filter_add_numbers(struct filter *filter, enum filter_subject subject, enum filter_sense sense,
		       const uint32_t *numbers, size_t nr);
void filter_clear(struct filter *filter);

bool filter_criterion_is_used(const struct filter_criterion *criterion);

/* Drops all samples that do not pass. *ret_dropped: their total count. 0 or -ENOMEM. */
int filter_apply(struct filter *filter, struct profile *profile, uint64_t *ret_dropped);

#endif
