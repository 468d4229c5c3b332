/*
 * Questions to a store and what is made of the answers: the part that `stook query` and the server (serve/api.h) have
 * in common. Answers are profiles, which any format can write.
 */
#ifndef STOOK_SERVE_QUESTION_H
#define STOOK_SERVE_QUESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/clock.h"
#include "profile/profile.h"
#include "store/store.h"
#include "view/table.h"

/* --- labels ----------------------------------------------------------------------------------- */

#define QUESTION_MAX_KEYS 16

/* Labels that samples are told apart by, or keep. Zero-initialised: none. */
struct question_labels {
	unsigned labels;		     /* enum label bits */
	const char *keys[QUESTION_MAX_KEYS]; /* of LABEL_SET, in `text` */
	size_t nr_keys;
	char *text;
};

/* Parses "comm,pid,service.name"; empty text: none. 0 or a negative errno. */
int question_labels_parse(struct question_labels *ret, const char *text, struct error *error);
void question_labels_clear(struct question_labels *labels);

/* An unknown label would make all samples look equal: -ENODATA if no sample has one of them. CPU 0 may be the only one. */
int question_labels_check(const struct question_labels *labels, const struct profile *profile,
			  struct error *error);

/* --- times ------------------------------------------------------------------------------------ */

#define QUESTION_RANGE_BYTES (2 * MOMENT_BYTES + 8)

/* "2026-11-23 03:00:00 to 03:15:00"; the second date only if it is another one. Returns text. */
const char *question_range(char text[QUESTION_RANGE_BYTES], uint64_t from_ns, uint64_t to_ns);

#define QUESTION_LENGTH_BYTES MOMENT_BYTES

/* "6d23h", "15m", "9.5s". Returns text. */
const char *question_length(char text[QUESTION_LENGTH_BYTES], uint64_t ns);

/* --- answers ---------------------------------------------------------------------------------- */

/*
 * As store_query(), with these labels and no others unless all stay. Samples of time on a CPU get their mean period,
 * which errors follow from. The error for an unknown value names the ones that there are.
 */
int question_ask(struct store *store, const struct store_query *query,
		 const struct question_labels *labels, struct profile **ret,
		 struct store_answer *ret_answer, struct error *error);

/* Slices of each side of a difference: their differences show how much the load varies anyway. */
#define QUESTION_DIFF_SLICES 16

/* Adds the counts of `before` to a profile as a value, as `stook diff` does. 0 or a negative errno. */
int question_compare(struct profile *profile, const struct profile *before, struct error *error);

/* Periods to look for growth in (view/diff/growth.h): whole ones, up to the last full hour. */
struct question_periods {
	uint64_t from_ns, to_ns, length_ns;
	size_t cycle; /* after how many of them the load repeats */
	const char *name;
};

/* 0; -ENODATA: the store has too few until then. */
int question_find_periods(struct question_periods *ret, struct store *store, uint64_t to_ns,
			  struct error *error);

/*
 * Fills a sheet with what there is: times, values and labels. The profile has all labels and no stacks, and outlives
 * the sheet. most: as for label_totals_fill(). 0 or -ENOMEM.
 */
int question_list(struct sheet *sheet, const struct profile *profile,
		  const struct store_answer *answer, const struct store_extent *extent,
		  size_t most);

#endif
