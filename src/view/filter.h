/*
 * Which samples of a profile are wanted: by what they are labelled with, by the function that ran,
 * and by any function on the stack.
 *
 * Each criterion has patterns or numbers that are wanted, and such that are not. A sample stays if
 * every criterion that asks for something has one that fits, and none has an unwanted one that
 * fits. Names are those that are shown: a function without a name is `[unknown]`, a module has no
 * folders.
 *
 * A filter of zeros lets all pass and needs no init.
 */
#ifndef STOOK_VIEW_FILTER_H
#define STOOK_VIEW_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/matcher.h"
#include "profile/profile.h"

/* The subjects of criteria; texts have patterns, numbers have lists. */
enum filter_subject {
	FILTER_COMM,
	FILTER_MODULE, /* of the function that ran */
	FILTER_SYMBOL, /* likewise; of inlined ones the innermost */
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
	struct matcher **patterns; /* regular expressions; any of them, anywhere in the text */
	size_t nr_patterns, cap_patterns;
	uint32_t *numbers; /* sorted */
	size_t nr_numbers, cap_numbers;
	uint64_t passed; /* counts that it alone leaves, by filter_apply() */
};

struct filter {
	struct filter_criterion criteria[NR_FILTER_SUBJECTS][NR_FILTER_SENSES];
};

/* One more pattern of a text. 0, or a negative errno with what is wrong with it. */
int filter_add_pattern(struct filter *filter, enum filter_subject subject, enum filter_sense sense,
		       const char *pattern, struct error *error);

/* More numbers. 0 or -ENOMEM. */
int filter_add_numbers(struct filter *filter, enum filter_subject subject, enum filter_sense sense,
		       const uint32_t *numbers, size_t nr);
void filter_clear(struct filter *filter);

bool filter_criterion_is_used(const struct filter_criterion *criterion);

/* Drops all samples but the wanted ones. What was dropped, in counts: *ret. 0 or -ENOMEM. */
int filter_apply(struct filter *filter, struct profile *profile, uint64_t *ret_dropped);

#endif
