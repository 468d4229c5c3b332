/*
 * Counts with fractions, as folded stacks may have them. A profile's counts are whole, so such are
 * multiplied when they are read: the value is then called "weight", of unit "1/1000" or the like.
 * Whoever shows the counts divides them again.
 */
#ifndef STOOK_FORMAT_TEXT_FOLDED_SCALE_H
#define STOOK_FORMAT_TEXT_FOLDED_SCALE_H

#include <stdint.h>

#include "profile/profile.h"

/* So many digits of a fraction are worth keeping. */
#define FOLDED_MAX_DECIMALS 6

/* What such counts are of, and how their unit begins. */
#define FOLDED_WEIGHT	"weight"
#define FOLDED_PARTS_OF "1/1" /* and as many zeros as they had decimals */

/* What a number is multiplied by, to be a whole one. */
struct folded_scale {
	unsigned decimals;
	uint64_t factor; /* 10 to the power of it */
};

struct folded_scale folded_scale(unsigned decimals);

/* What a profile's counts were multiplied by: of no decimals, by 1, unless it says otherwise. */
struct folded_scale folded_scale_of(const struct profile *profile);

/* A count as it was read: "2.25", "10". */
#define FOLDED_SCALE_BYTES 32
const char *folded_scale_text(char text[FOLDED_SCALE_BYTES], uint64_t count,
			      struct folded_scale scale);

#endif
