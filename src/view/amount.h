/*
 * Formats a profile's counts for people: a number of samples or hits, or a sum of amounts. Sums of
 * time are shown in s, ms, us or ns, the same unit in a whole column; sums of bytes as plain
 * numbers, weights with their fractions, and other sums with their unit. Output for programs has
 * plain numbers, and the unit beside them.
 */
#ifndef STOOK_VIEW_AMOUNT_H
#define STOOK_VIEW_AMOUNT_H

#include <stdint.h>

#include "base/text.h"
#include "profile/profile.h"

/*
 * Writes the text that precedes amount_counted(): "1,234 ", "9.970 s of ", "4,096 bytes of ",
 * "7 hours, the sum of ". A unit may be any UTF-8 text; terminal control characters are replaced.
 */
#define AMOUNT_BYTES (NUMBER_COMMAS_BYTES + 128)
const char *amount_total(const struct profile *profile, uint64_t total, char buffer[AMOUNT_BYTES]);

/* Returns "samples", or "sample" for a total of 1, in the buffer or in the profile. */
#define AMOUNT_COUNTED_BYTES 32
const char *amount_counted(const struct profile *profile, uint64_t total,
			   char buffer[AMOUNT_COUNTED_BYTES]);

/*
 * The heading of a column of amounts ("samples", "sum", "sum, ms", "sum, bytes"), and a number in
 * it.
 */
const char *amount_heading(const struct profile *profile);
const char *amount_number(const struct profile *profile, uint64_t number,
			  char buffer[NUMBER_COMMAS_BYTES]);

/* Returns what is counted or summed: "samples", "hits", "cpu". */
const char *amount_name(const struct profile *profile);

/* Returns the unit of a sum as the profile spells it ("nanoseconds", "bytes"); NULL for counts. */
const char *amount_unit(const struct profile *profile);

#endif
