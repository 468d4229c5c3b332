/*
 * A profile's counts in words, for people: a number of samples or hits, or a sum of something. Sums
 * of time are told in seconds or parts of them, in all lines of a column the same; sums of bytes are
 * told as they are, weights with fractions as they were read, and what is in other units with these
 * behind it. Files for programs have the plain numbers, and the unit beside them.
 */
#ifndef STOOK_VIEW_AMOUNT_H
#define STOOK_VIEW_AMOUNT_H

#include <stdint.h>

#include "base/text.h"
#include "profile/profile.h"

/*
 * The words in front of amount_counted(): "1,234 ", "9.970 s of ", "4,096 bytes of ", "7 hours, the sum
 * of ". A unit may be any word that is UTF-8 and does not control a terminal.
 */
#define AMOUNT_BYTES (NUMBER_COMMAS_BYTES + 128)
const char *amount_total(const struct profile *profile, uint64_t total, char buffer[AMOUNT_BYTES]);

/* "samples", or of a single one "sample". In the buffer or of the profile. */
#define AMOUNT_COUNTED_BYTES 32
const char *amount_counted(const struct profile *profile, uint64_t total,
			   char buffer[AMOUNT_COUNTED_BYTES]);

/* The heading of a column, "samples", "sum", "sum, ms", "sum, bytes", and a number in it. */
const char *amount_heading(const struct profile *profile);
const char *amount_number(const struct profile *profile, uint64_t number,
			  char buffer[NUMBER_COMMAS_BYTES]);

/* The thing that is counted or summed up: "samples", "hits", "cpu". */
const char *amount_name(const struct profile *profile);

/* "nanoseconds", "bytes", as the profile spells it; of samples NULL. */
const char *amount_unit(const struct profile *profile);

#endif
