/*
 * Changes between two profiles, and their significance.
 *
 * Both are in one profile: counts are "after", another value is "before". They are compared as
 * shares of all samples, or as rates if both durations are known. Sampling is random, so each
 * number has an error that follows from the number of samples; a change that is not well above its
 * error is within noise, and is marked so.
 */
#ifndef STOOK_VIEW_DIFF_DIFFERENCE_H
#define STOOK_VIEW_DIFF_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#define DIFFERENCE_BEFORE "before" /* type of the value; marks a file as a difference */

/* Default threshold for a change, in standard errors; noise exceeds it once in 370 times. */
#define DIFFERENCE_LEAST_SIGMA 3.0

struct difference_scale {
	size_t before_value;		    /* number of the value "before" in the profile */
	bool by_time;			    /* rates per second; else shares */
	double before, after;		    /* divisors of numbers: the totals, or seconds */
	double before_all, after_all;	    /* totals */
	double before_sample, after_sample; /* amount per sample: 1, of sums the period */
	double least_sigma;		    /* changes below are within noise */
	/* Variance of counts / variance of independent samples; at least 1. */
	double dispersion;
};

enum change {
	CHANGE_NONE, /* within noise */
	CHANGE_MORE,
	CHANGE_LESS,
	CHANGE_NEW,  /* only in "after" */
	CHANGE_GONE, /* only in "before" */
};

struct difference {
	double before, after; /* shares 0 to 1, or rates */
	double change;	      /* after - before */
	double error;	      /* of the change: one standard deviation */
	double sigma;	      /* significance: a normal error this large is as likely by chance */
	enum change kind;
};

/* Initialises a scale for shares, with least sigma DIFFERENCE_LEAST_SIGMA and dispersion 1. */
void difference_scale_init(struct difference_scale *scale, const struct profile *profile,
			   size_t before);

/*
 * Changes the scale to rates. Durations are passed since the profile's origin has only the span of
 * both.
 */
void difference_scale_by_time(struct difference_scale *scale, double before_seconds,
			      double after_seconds);

struct difference difference_of(const struct difference_scale *scale, uint64_t before,
				uint64_t after);

/*
 * Adjusts a difference to a variance larger by the factor `dispersion` (at least 1), estimated with
 * `freedom` degrees of freedom: the fewer, the larger a significant change must be. 0: exact.
 */
void difference_widen(const struct difference_scale *scale, struct difference *difference,
		      double dispersion, double freedom);

/* Converts a value of Student's t, at least 0, to the equally likely sigma of a normal error. freedom 0: exact. */
double difference_sigma_of_t(double t, double freedom);

/* Returns the probability that a normal error exceeds sigma in either direction. */
double difference_chance_of_sigma(double sigma);

/* Returns the sigma that any of nr comparisons exceeds by chance with at most this probability. */
double difference_sigma_of_chance(double chance, double nr);

/*
 * Counts the comparisons that can be significant at all. A comparison with too few samples cannot,
 * however they are distributed between the sides, so it needs no correction for multiple tests
 * (Tarone 1990).
 */
#define DIFFERENCE_FEW_SAMPLES 64

struct difference_tests {
	uint64_t by_samples[DIFFERENCE_FEW_SAMPLES]; /* by samples; last entry: or more */
};

void difference_tests_add(struct difference_tests *tests, const struct difference_scale *scale,
			  uint64_t before, uint64_t after);

/*
 * Returns the number of comparisons that can be significant at the family-wise error rate `chance`.
 */
double difference_tests_nr(const struct difference_tests *tests,
			   const struct difference_scale *scale, double chance);

/* --- spread ----------------------------------------------------------------------------------- */

/*
 * The variance of functions' numbers between runs, or between time slices, of an unchanged program.
 *
 * If samples were independent, a function's numbers in several parts of a profile would vary as
 * sampling alone predicts. The factor by which their variance is larger is the function's
 * *dispersion*. Parts are few, so the estimate for one function is uncertain; it is shrunk towards
 * the estimate for all functions together, which counts as a few additional parts.
 */

/* A part is a value of the profile (one per file), or a time slice of a value. */
struct difference_part {
	bool is_after;
	size_t value;
	uint32_t slice; /* 0: all of the value */
	double seconds; /* duration, for rates */
};

struct function_spread {
	double self, total; /* dispersions, at least 1 */
};

struct difference_spread {
	struct function_spread *functions; /* by the profile's string, 0: no name; or NULL */
	size_t nr;
	struct function_spread all; /* of all functions together */
	double freedom;		    /* degrees of freedom of each estimate; 0: no estimates */
	size_t nr_before, nr_after; /* number of parts */
	bool parts_are_slices;
};

/*
 * Estimates dispersions. parts NULL: the time slices of both sides, if each has three or more. With
 * fewer than three parts in all there are no estimates: all dispersions are 1. 0 or -ENOMEM.
 */
int difference_spread_init(struct difference_spread *spread, const struct profile *profile,
			   const struct difference_scale *scale,
			   const struct difference_part *parts, size_t nr_parts);
void difference_spread_clear(struct difference_spread *spread);

#endif
