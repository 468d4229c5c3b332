/*
 * Finds threads of a comparison with names on one side only: a renamed program, or numbers in the
 * names of a thread pool. All their call paths are then new under one name and gone under another.
 *
 * A second comparison without thread names shows if anything else changed.
 */
#include "view/diff/comparison.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct weight {
	uint64_t before, after;
};

/* Returns the samples of each thread name on both sides, by string; NULL when out of memory. */
static struct weight *weigh(const struct profile *profile, size_t before)
{
	struct weight *weights = calloc(profile_nr_strings(profile) + 1, sizeof(*weights));
	uint32_t i;

	for (i = 0; weights && i < profile_nr_samples(profile); i++) {
		const struct sample *sample = profile_sample(profile, i);

		weights[sample->labels.comm].before += profile_value(profile, i, before);
		weights[sample->labels.comm].after += sample->count;
	}
	return weights;
}

static bool has_changes(const struct comparison *comparison)
{
	size_t i;

	for (i = 0; i < comparison->rows.nr; i++)
		if (comparison->rows.rows[i].self.is.kind != CHANGE_NONE ||
		    comparison->rows.rows[i].total.is.kind != CHANGE_NONE)
			return true;
	return comparison->paths.nr > 0;
}

/* Sets are_all if call paths changed, but nothing changes without thread names. 0 or -ENOMEM. */
static int judge(struct comparison_threads *threads, const struct profile *profile,
		 const struct comparison_style *style)
{
	cleanup(comparison_clear) struct comparison with = {0}, without = {0};
	struct comparison_style unlabelled = *style;
	int err = comparison_init(&with, profile, style);

	unlabelled.labels &= ~(unsigned)LABEL_COMM;
	if (!err && with.paths.nr)
		err = comparison_init(&without, profile, &unlabelled);
	if (!err)
		threads->are_all = with.paths.nr && !has_changes(&without);
	return err;
}

int comparison_threads_find(struct comparison_threads *ret, const struct profile *profile,
			    const struct comparison_style *style)
{
	size_t value = comparison_value(profile);
	cleanup_free struct weight *weights = NULL;
	uint64_t before = 0, after = 0;
	struct weight heaviest = {0};
	uint32_t i;

	*ret = (struct comparison_threads){0};
	if (!value)
		return -EINVAL;
	weights = weigh(profile, value);
	if (!weights)
		return -ENOMEM;
	for (i = 0; i < profile_nr_strings(profile); i++) {
		const struct weight *weight = &weights[i];

		if (weight->before && weight->after) {
			before += weight->before;
			after += weight->after;
		} else if (weight->before > heaviest.before) {
			heaviest.before = weight->before;
			ret->before = i;
		} else if (weight->after > heaviest.after) {
			heaviest.after = weight->after;
			ret->after = i;
		}
	}
	if (profile_value_total(profile, value))
		ret->common_before = (double)before / (double)profile_value_total(profile, value);
	if (profile_total(profile))
		ret->common_after = (double)after / (double)profile_total(profile);
	return ret->before && ret->after && style->labels & LABEL_COMM ? judge(ret, profile, style)
								       : 0;
}
