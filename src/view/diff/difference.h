/*
 * What changed between two profiles, and how sure that is.
 *
 * The two lie in one profile: counts are "after", another value is "before" (profile_values.h). They are
 * compared as shares of all samples, or as rates if both tell how long they were taken. Samples are
 * drawn, so each number has an error that follows from how many there were; a change that is not well
 * above its error may be chance, and is shown so.
 */
#ifndef STOOK_VIEW_DIFF_DIFFERENCE_H
#define STOOK_VIEW_DIFF_DIFFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

#define DIFFERENCE_BEFORE "before" /* the value's type, by which files tell that they have two */

/* So many errors a change must be away from nothing: chance does that once in 370 times. */
#define DIFFERENCE_LEAST_SIGMA 3.0

struct difference_scale {
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

/*
 * Of least sigma DIFFERENCE_LEAST_SIGMA and dispersion 1. by_time is refused (-EINVAL) where a
 * duration is not known; see difference_scale_by_time().
 */
int difference_scale_init(struct difference_scale *scale, const struct profile *profile,
			  size_t before, bool by_time);

/* Rates, of profiles that took so long. */
void difference_scale_by_time(struct difference_scale *scale, double before_seconds,
			      double after_seconds);

struct difference difference_of(const struct difference_scale *scale, uint64_t before,
				uint64_t after);

/* Whether a change is more than chance, and in which way: by sigma, for who has more to say of it. */
enum change difference_kind(const struct difference_scale *scale,
			    const struct difference *difference);

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
 * How many of a set of comparisons could tell a change at all. Of few samples none can, however they
 * fall; those need no allowance for chance (Tarone 1990).
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

#endif
