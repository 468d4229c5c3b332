/*
 * Functions that take more of their service's time from some day on: changes in a series of periods, not between two
 * profiles.
 *
 * The load of a host changes with the hour and the weekday, and so does the mixture of what its services do. So a
 * function is compared with the other functions of its service, and a period with the same one of other cycles: days
 * with the same weekday, or hours of the day.
 *
 * For each function and each moment at which it may have changed, log(function / rest of the service) is fitted by a
 * value for each place in the cycle and a step at that moment. The error follows from how well that fits, so it
 * contains whatever varies from day to day. If days are similar to the day before, errors are widened, as far as all
 * functions together show that. Of all these fits, at most the wanted number of months without a change shows one that
 * is significant (Bonferroni).
 */
#ifndef STOOK_VIEW_DIFF_GROWTH_H
#define STOOK_VIEW_DIFF_GROWTH_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct sheet;

/* Samples of functions, by period. */
struct growth_table {
	double *samples;    /* row * nr_periods + period */
	uint32_t *services; /* by row: a number below nr_services */
	size_t nr_rows, nr_periods, nr_services;
	size_t cycle; /* periods until the load repeats; 0: it does not */
};

struct growth {
	uint32_t row;
	uint32_t since;	      /* the first period of the growth */
	double factor, error; /* 1.1: 10 % more; one standard deviation */
	double sigma;	      /* significance of this fit by itself */
	double more;	      /* samples in a period that the growth costs, on average */
};

struct growths {
	struct growth *rows; /* the significant ones, most costly first */
	size_t nr, capacity;
	double nr_tests;
	double least_sigma;
	size_t nr_tested, nr_few; /* functions; with too few samples or periods to be tested */
};

/* confidence: in percent, of a result without any row if nothing changed; 0: 95. 0 or -ENOMEM. */
int growths_find(struct growths *growths, const struct growth_table *table, double confidence);
void growths_clear(struct growths *growths);

/* The least number of periods: two cycles, and what it takes to estimate errors. */
size_t growth_least_periods(size_t cycle);

struct growth_style {
	unsigned labels;   /* enum label bits: a service is a combination of these */
	size_t cycle;	   /* in time slices */
	uint64_t since_ns; /* only what grew in the period with this time, or later; 0: all */
	double confidence; /* percent; 0: 95 */
	size_t max_rows;   /* for people; 0: 20 */
};

/*
 * Fills a sheet with what grew in a profile whose time slices are the periods:
 *
 *	  GROWTH, %             SINCE   COST  SIGMA  FUNCTION  MODULE        SERVICE
 *	+10.0 ± 0.7  2026-11-20 00:00  1.21%   7.31  crc64     redis-server  redis-server
 *
 * COST is the growth as a share of all samples. The profile must outlive the sheet. 0 or -ENOMEM.
 */
int growth_sheet_fill(struct sheet *sheet, const struct profile *profile,
		      const struct growth_style *style);

#endif
