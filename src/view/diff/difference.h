/*
 * Changes between two profiles, and how sure they are.
 *
 * The two lie in one profile: counts are "after", another value is "before". They are
 * compared as shares of all samples, or as rates if both tell how long they were taken. Samples are
 * drawn, so each number has an error that follows from how many there were; a change that is not well
 * above its error may be chance, and is shown so.
 */
#ifndef STOOK_VIEW_DIFF_DIFFERENCE_H
#define STOOK_VIEW_DIFF_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#define DIFFERENCE_BEFORE "before" /* the value's type, by which files tell that they have two */

/* So many errors a change must be away from nothing: chance does that once in 370 times. */
#define DIFFERENCE_LEAST_SIGMA 3.0

struct difference_scale {
	size_t before_value;  /* of the profile */
	bool by_time;	      /* rates a second; else shares */
	double before, after; /* what numbers are divided by: all samples, or seconds */
	double before_all, after_all;
	double before_sample,
		after_sample; /* what one sample counts for: 1, or of sums the period */
	double least_sigma;   /* of changes that are not taken for chance */
	/* The variance of counts, in that of samples drawn each by itself; at least 1. */
	double dispersion;
};

enum change {
	CHANGE_NONE, /* not told from chance */
	CHANGE_MORE,
	CHANGE_LESS,
	CHANGE_NEW,  /* was not there before */
	CHANGE_GONE, /* is not there any more */
};

struct difference {
	double before, after; /* shares 0 to 1, or rates */
	double change;	      /* after less before */
	double error;	      /* of the change: one standard deviation */
	double sigma;	      /* chance does so much as often as a normal error is that large */
	enum change kind;
};

/* Shares. Least sigma is DIFFERENCE_LEAST_SIGMA, dispersion 1. */
void difference_scale_init(struct difference_scale *scale, const struct profile *profile,
			   size_t before);

/* Rates, of profiles that took so long: the origin's duration is the span of both. */
void difference_scale_by_time(struct difference_scale *scale, double before_seconds,
			      double after_seconds);

struct difference difference_of(const struct difference_scale *scale, uint64_t before,
				uint64_t after);

/*
 * The same difference where the variance is larger by that factor, at least 1, as far as is known from
 * so many degrees of freedom: the fewer, the more a change must be to be believed. 0: it is known.
 */
void difference_widen(const struct difference_scale *scale, struct difference *difference,
		      double dispersion, double freedom);

/* The chance that a normal error goes beyond so many sigma, up or down. */
double difference_chance_of_sigma(double sigma);

/* The sigma that errors go beyond anywhere in nr comparisons in no more than that part of all cases. */
double difference_sigma_of_chance(double chance, double nr);

/*
 * How many of a set of comparisons could tell a change at all. Few samples can't, however they
 * fall, and need no allowance for chance (Tarone 1990).
 */
#define DIFFERENCE_FEW_SAMPLES 64

struct difference_tests {
	uint64_t by_samples[DIFFERENCE_FEW_SAMPLES]; /* the last: of as many or more */
};

void difference_tests_add(struct difference_tests *tests, const struct difference_scale *scale,
			  uint64_t before, uint64_t after);

/* Their number, for a chance of error of all together. */
double difference_tests_nr(const struct difference_tests *tests,
			   const struct difference_scale *scale, double chance);

/* --- spread ----------------------------------------------------------------------------------- */

/*
 * How much the numbers of functions vary from run to run, or from one slice of time to the next,
 * while nothing was changed.
 *
 * If samples were drawn independently, a function's numbers in several parts of a profile would
 * scatter as sampling alone predicts. The factor by which their variance is larger is the function's
 * *dispersion*. Parts are few, so the estimate for one function is uncertain; it is drawn towards
 * the estimate for all functions together, which counts as a few more parts.
 */

/* Parts are values of the profile (a file each), or slices of time of a value. */
struct difference_part {
	bool is_after;
	size_t value;
	uint32_t slice; /* 0: whenever it was */
	double seconds; /* for rates */
};

struct function_spread {
	double self, total; /* dispersions, at least 1 */
};

struct difference_spread {
	struct function_spread *functions; /* by the profile's string, 0: without a name; or NULL */
	size_t nr;
	struct function_spread all; /* of all functions together */
	double freedom;		    /* degrees of it, of each estimate; 0: nothing is known */
	size_t nr_before, nr_after; /* parts */
	bool parts_are_slices;
};

/*
 * parts NULL: the slices of both sides, if each has three or more. 0 or -ENOMEM. Without two parts on
 * one side nothing is known: all dispersions are 1.
 */
int difference_spread_init(struct difference_spread *spread, const struct profile *profile,
			   const struct difference_scale *scale,
			   const struct difference_part *parts, size_t nr_parts);
void difference_spread_clear(struct difference_spread *spread);

#endif
