/*
 * The ratio of two values of a profile, for people: instructions per cycle, cache misses per 1,000 instructions, page
 * faults per second. The profile's origin names the values.
 */
#ifndef STOOK_PROFILE_RATIO_H
#define STOOK_PROFILE_RATIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

/* The ratio of fewer samples is chance: it is not shown. */
#define RATIO_LEAST_SAMPLES 20

#define RATIO_TEXT_BYTES   (PROFILE_RATIO_BYTES + 64)
#define RATIO_NUMBER_BYTES 32

struct ratio {
	size_t other;	    /* number of the value that is not the main one */
	bool is_main_above; /* the main value is the numerator */
	double factor; /* ratios are shown multiplied by it: 1,000 for "per 1,000 instructions" */
	double whole;  /* of the whole profile, multiplied */
	double least;  /* of the denominator: the amount of RATIO_LEAST_SAMPLES samples */
	char text[RATIO_TEXT_BYTES]; /* "instructions per cycle" */
	const char *heading;	     /* of a column: "IPC" */
};

/* False: the profile has no ratio, or its main value is not one of the two, or its denominator is 0. */
bool ratio_find(struct ratio *ret, const struct profile *profile);

/* Returns the ratio, multiplied, of these amounts of the main and the other value; NAN: too few samples. */
double ratio_of(const struct ratio *ratio, uint64_t amount, uint64_t other);

/*
 * Compares a ratio with that of the whole profile, for colours: 0: equal; 1: four times as much, or more; -1: a fourth,
 * or less.
 */
#define RATIO_MOST 4
double ratio_deviation(const struct ratio *ratio, double part);

/* Formats a ratio with three digits, "1.23"; "too few samples". Returns text. */
const char *ratio_number(double ratio, char text[RATIO_NUMBER_BYTES]);

#endif
