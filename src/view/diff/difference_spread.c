/*
 * With a(i) of a function's samples in part i of e(i) all samples (or seconds), and a share p of all
 * parts together, X² = Σ (a(i) - p e(i))² / e(i) / (p (1 - p)) is about its degrees of freedom, the
 * number of parts less one, if nothing but chance scatters them; X² over those is the dispersion
 * (quasi-likelihood). Only Σ a(i)² / e(i) has to be kept, so parts are gone through one by one.
 *
 * Functions are known by the numbers of their names. Parts that are slices go through the samples of
 * theirs alone; the samples are sorted by slice once.
 */
#include "view/diff/difference_spread.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "profile/profile.h"

#define LEAST_SLICES  3
#define ALL_WEIGHT    6.0 /* what all functions together say counts as so many degrees of freedom */
#define LEAST_SAMPLES 10.0 /* of a function that has a say in that */

/* Of one side, self or total: a, and the sum of a(i)² / e(i). */
struct tally {
	double sum, squares;
};

struct function_tally {
	struct tally tallies[2][2]; /* before and after; self and total */
	double self, total;	    /* in this part */
	uint32_t last_part;	    /* number + 1 of the one that these are of */
	uint64_t last_sample;	    /* in it */
};

struct spreader {
	const struct profile *profile;
	const struct difference_scale *scale;
	struct function_tally *functions; /* by string */
	size_t nr;
	uint32_t *touched; /* the functions of this part */
	size_t nr_touched;
	uint32_t *order; /* samples by slice */
	size_t *first;	 /* of each slice, in order */
	double all[2];	 /* Σ e(i) */
	size_t nr_parts[2];
};

/* --- parts ----------------------------------------------------------------------------------- */

int difference_slices(const struct profile *profile, size_t before, struct difference_part **ret,
		      size_t *ret_nr)
{
	size_t nr_slices = profile_nr_slices(profile), nr[2] = {0}, nr_parts = 0, i, side;
	cleanup_free struct difference_part *parts = calloc(2 * nr_slices + 1, sizeof(*parts));
	cleanup_free uint8_t *seen = calloc(2 * (nr_slices + 1), 1);

	*ret = NULL;
	*ret_nr = 0;
	if (!parts || !seen)
		return -ENOMEM;
	for (i = 0; i < profile_nr_samples(profile); i++) {
		uint32_t slice = profile_sample(profile, (uint32_t)i)->labels.slice;

		seen[2 * slice] |= profile_value(profile, (uint32_t)i, before) > 0;
		seen[2 * slice + 1] |= profile_value(profile, (uint32_t)i, 0) > 0;
	}
	for (i = 1; i <= nr_slices; i++) {
		struct time_slice slice = profile_slice(profile, (uint32_t)i);

		for (side = 0; side < 2; side++) {
			if (!seen[2 * i + side])
				continue;
			parts[nr_parts++] = (struct difference_part){
				.is_after = side,
				.value = side ? 0 : before,
				.slice = (uint32_t)i,
				.seconds = (double)(slice.end_ns - slice.start_ns) / 1e9,
			};
			nr[side]++;
		}
	}
	if (nr[0] < LEAST_SLICES || nr[1] < LEAST_SLICES)
		return 0;
	*ret_nr = nr_parts;
	*ret = take_pointer(&parts);
	return 0;
}

/* --- counting -------------------------------------------------------------------------------- */

static int sort_samples(struct spreader *spreader)
{
	size_t nr_slices = profile_nr_slices(spreader->profile) + 1;
	size_t nr = profile_nr_samples(spreader->profile), i;

	spreader->order = calloc(nr + 1, sizeof(*spreader->order));
	spreader->first = calloc(nr_slices + 2, sizeof(*spreader->first));
	if (!spreader->order || !spreader->first)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		spreader->first[profile_sample(spreader->profile, (uint32_t)i)->labels.slice + 2]++;
	for (i = 2; i < nr_slices + 2; i++)
		spreader->first[i] += spreader->first[i - 1];
	for (i = 0; i < nr; i++) {
		uint32_t slice = profile_sample(spreader->profile, (uint32_t)i)->labels.slice;

		spreader->order[spreader->first[slice + 1]++] = (uint32_t)i;
	}
	return 0;
}

static void count_function(struct spreader *spreader, uint32_t name, uint32_t part, uint32_t sample,
			   double samples, bool is_self)
{
	struct function_tally *function = &spreader->functions[name];

	if (function->last_part != part + 1) {
		function->last_part = part + 1;
		function->last_sample = 0;
		function->self = function->total = 0;
		spreader->touched[spreader->nr_touched++] = name;
	}
	if (is_self)
		function->self += samples;
	if (function->last_sample != (uint64_t)sample + 1)
		function->total += samples;
	function->last_sample = (uint64_t)sample + 1;
}

static void count_sample(struct spreader *spreader, uint32_t part, uint32_t number, double samples)
{
	const struct sample *sample = profile_sample(spreader->profile, number);
	const uint32_t *frames = profile_sample_frames(spreader->profile, sample);
	size_t i, k;

	for (i = 0; i < sample->nr_frames; i++) {
		const struct frame *frame = profile_frame(spreader->profile, frames[i]);
		const struct code_line *lines =
			frame->nr_lines ? profile_lines(spreader->profile, frame) : NULL;

		if (!lines)
			count_function(spreader, frame->function, part, number, samples, !i);
		for (k = 0; lines && k < frame->nr_lines; k++)
			count_function(spreader, lines[k].function, part, number, samples,
				       !i && !k);
	}
}

/* The functions of the part that was just counted. */
static void close_part(struct spreader *spreader, bool is_after, double exposure)
{
	size_t i;

	for (i = 0; i < spreader->nr_touched; i++) {
		struct function_tally *function = &spreader->functions[spreader->touched[i]];
		struct tally *tallies = function->tallies[is_after];

		tallies[0].sum += function->self;
		tallies[0].squares += function->self * function->self / exposure;
		tallies[1].sum += function->total;
		tallies[1].squares += function->total * function->total / exposure;
	}
	spreader->nr_touched = 0;
	spreader->all[is_after] += exposure;
	spreader->nr_parts[is_after]++;
}

static void count_part(struct spreader *spreader, uint32_t number,
		       const struct difference_part *part)
{
	const struct difference_scale *scale = spreader->scale;
	double each = part->is_after ? scale->after_sample : scale->before_sample;
	size_t end = part->slice ? spreader->first[part->slice + 1]
				 : profile_nr_samples(spreader->profile);
	size_t i = part->slice ? spreader->first[part->slice] : 0;
	double all = 0;

	for (; i < end; i++) {
		uint64_t value = profile_value(spreader->profile, spreader->order[i], part->value);

		if (!value)
			continue;
		all += (double)value / each;
		count_sample(spreader, number, spreader->order[i], (double)value / each);
	}
	if (scale->by_time)
		all = part->seconds;
	if (all > 0)
		close_part(spreader, part->is_after, all);
	spreader->nr_touched = 0;
}

/* --- dispersions ----------------------------------------------------------------------------- */

/* Adds X² of one side and its degrees of freedom, if there is anything to be seen. */
static void add_square(const struct spreader *spreader, const struct function_tally *function,
		       size_t side, size_t kind, double *square, double *freedom)
{
	const struct tally *tally = &function->tallies[side][kind];
	double share, expected;

	if (spreader->nr_parts[side] < 2 || tally->sum <= 0)
		return;
	share = tally->sum / spreader->all[side];
	expected = spreader->scale->by_time ? share : share * (1 - share);
	if (expected <= 0)
		return;
	*square += (tally->squares - tally->sum * share) / expected;
	*freedom += (double)(spreader->nr_parts[side] - 1);
}

static double dispersion_of_all(const struct spreader *spreader, size_t kind)
{
	double square = 0, freedom = 0;
	size_t i, side;

	for (i = 0; i < spreader->nr; i++)
		for (side = 0; side < 2; side++)
			if (spreader->functions[i].tallies[side][kind].sum >= LEAST_SAMPLES)
				add_square(spreader, &spreader->functions[i], side, kind, &square,
					   &freedom);
	return freedom > 0 && square > freedom ? square / freedom : 1;
}

static double dispersion_of(const struct spreader *spreader, const struct function_tally *function,
			    size_t kind, double all)
{
	double square = ALL_WEIGHT * all, freedom = ALL_WEIGHT;

	add_square(spreader, function, 0, kind, &square, &freedom);
	add_square(spreader, function, 1, kind, &square, &freedom);
	return square > freedom ? square / freedom : 1;
}

static int estimate(struct difference_spread *spread, const struct spreader *spreader)
{
	size_t nr = spreader->nr_parts[0] + spreader->nr_parts[1];
	size_t i;

	spread->nr_before = spreader->nr_parts[0];
	spread->nr_after = spreader->nr_parts[1];
	spread->functions = calloc(spreader->nr + 1, sizeof(*spread->functions));
	if (!spread->functions)
		return -ENOMEM;
	spread->nr = spreader->nr;
	spread->freedom = ALL_WEIGHT + (double)nr - 2;
	spread->all.self = dispersion_of_all(spreader, 0);
	spread->all.total = dispersion_of_all(spreader, 1);
	for (i = 0; i < spreader->nr; i++) {
		const struct function_tally *function = &spreader->functions[i];

		spread->functions[i].self = dispersion_of(spreader, function, 0, spread->all.self);
		spread->functions[i].total =
			dispersion_of(spreader, function, 1, spread->all.total);
	}
	return 0;
}

/* --- all of it ------------------------------------------------------------------------------- */

static void spreader_clear(struct spreader *spreader)
{
	free(spreader->functions);
	free(spreader->touched);
	free(spreader->order);
	free(spreader->first);
}

int difference_spread_init(struct difference_spread *spread, const struct profile *profile,
			   const struct difference_scale *scale,
			   const struct difference_part *parts, size_t nr_parts)
{
	cleanup(spreader_clear) struct spreader spreader = {
		.profile = profile, .scale = scale, .nr = profile_nr_strings(profile)};
	uint32_t i;

	*spread = (struct difference_spread){.all = {1, 1}};
	if (nr_parts < 3)
		return 0;
	spreader.functions = calloc(spreader.nr, sizeof(*spreader.functions));
	spreader.touched = calloc(spreader.nr, sizeof(*spreader.touched));
	if (!spreader.functions || !spreader.touched || sort_samples(&spreader) < 0)
		return -ENOMEM;
	for (i = 0; i < nr_parts; i++)
		count_part(&spreader, i, &parts[i]);
	return estimate(spread, &spreader);
}

void difference_spread_clear(struct difference_spread *spread)
{
	free(spread->functions);
	*spread = (struct difference_spread){.all = {1, 1}};
}
