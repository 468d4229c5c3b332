/*
 * The parts of a comparison, each made from those before it: named stacks, the scale, how much numbers
 * vary by themselves, rows, call paths.
 */
#include "view/diff/comparison.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/profile.h"

#define DEFAULT_CONFIDENCE 95.0
#define DEFAULT_MAX_ROWS   20
#define LINES_A_ROW	   3 /* of the tree, for each row of the table */

size_t comparison_value(const struct profile *profile)
{
	int number = profile_find_value(profile, DIFFERENCE_BEFORE);

	return number > 0 ? (size_t)number : 0;
}

/* The scale of counts drawn each by itself, and how much more they vary than those. */
static int find_spread(struct comparison *comparison)
{
	const struct comparison_style *style = &comparison->style;
	cleanup_free struct difference_part *slices = NULL;
	const struct difference_part *parts = style->parts;
	size_t nr_parts = style->nr_parts;

	(void)difference_scale_init(&comparison->scale, comparison->profile, comparison->before,
				    false);
	if (style->by_time)
		difference_scale_by_time(&comparison->scale, style->before_seconds,
					 style->after_seconds);
	comparison->parts_are_slices = !parts;
	if (!parts &&
	    difference_slices(comparison->profile, comparison->before, &slices, &nr_parts) < 0)
		return -ENOMEM;
	return difference_spread_init(&comparison->spread, comparison->profile, &comparison->scale,
				      parts ? parts : slices, nr_parts);
}

/* The table and the tree have half of the chance to be wrong each. */
static struct difference_trust trust_of(const struct comparison *comparison)
{
	return (struct difference_trust){
		.chance = (1 - comparison->style.confidence / 100) / 2,
		.sigma = comparison->style.sigma,
	};
}

/* Functions of the same name are one in paths; rows by module need modules told apart. */
static int compare_rows(struct comparison *comparison, const struct named_stacks_style *names)
{
	cleanup(named_stacks_clear) struct named_stacks apart = {0};
	struct named_stacks_style style = *names;
	const struct difference_trust trust = trust_of(comparison);
	bool by_module = comparison->style.group == DIFFERENCE_BY_MODULE;

	style.tell_apart = true;
	if (by_module && named_stacks_init(&apart, comparison->profile, &style) < 0)
		return -ENOMEM;
	return difference_rows_init(&comparison->rows, comparison->profile,
				    by_module ? &apart : &comparison->stacks, &comparison->scale,
				    &comparison->spread, &trust, comparison->style.group,
				    comparison->style.order);
}

/* All but the paths, which pictures have no use for. To be cleared in each case. */
static int begin(struct comparison *comparison, const struct profile *profile,
		 const struct named_stacks_style *names, const struct comparison_style *style)
{
	struct named_stacks_style with_before = *names;
	int err;

	*comparison = (struct comparison){
		.style = *style, .profile = profile, .before = comparison_value(profile)};
	if (!comparison->before)
		return -EINVAL;
	if (comparison->style.confidence <= 0)
		comparison->style.confidence = DEFAULT_CONFIDENCE;
	if (!comparison->style.max_rows)
		comparison->style.max_rows = DEFAULT_MAX_ROWS;
	with_before.other_value = comparison->before;
	err = named_stacks_init(&comparison->stacks, profile, &with_before);
	if (!err)
		err = find_spread(comparison);
	if (!err)
		err = compare_rows(comparison, &with_before);
	return err;
}

int comparison_init(struct comparison *comparison, const struct profile *profile,
		    const struct named_stacks_style *names, const struct comparison_style *style)
{
	int err = begin(comparison, profile, names, style);

	if (!err) {
		const struct difference_trust trust = trust_of(comparison);

		err = difference_paths_init(&comparison->paths, &comparison->stacks,
					    &comparison->scale, &comparison->spread, &trust,
					    (size_t)comparison->style.max_rows * LINES_A_ROW);
	}
	if (err)
		comparison_clear(comparison);
	return err;
}

int comparison_scale(struct difference_scale *ret, const struct profile *profile,
		     const struct comparison_style *style)
{
	const struct named_stacks_style names = {0};
	cleanup(comparison_clear) struct comparison comparison = {0};
	int err = begin(&comparison, profile, &names, style);

	if (err)
		return err;
	*ret = comparison.rows.scale;
	ret->dispersion = comparison.spread.all.total;
	return 0;
}

void comparison_clear(struct comparison *comparison)
{
	named_stacks_clear(&comparison->stacks);
	difference_spread_clear(&comparison->spread);
	difference_rows_clear(&comparison->rows);
	difference_paths_clear(&comparison->paths);
	*comparison = (struct comparison){0};
}
