/*
 * Which rows there are is view/group_totals' business; here they are chosen and put into words.
 */
#include "format/text/report_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "view/named_stacks.h"

static const char *const key_names[NR_GROUP_KEYS] = {
	[GROUP_FUNCTION] = "function", [GROUP_MODULE] = "module", [GROUP_LINE] = "line",
	[GROUP_KIND] = "kind",	       [GROUP_COMM] = "comm",	  [GROUP_PID] = "pid",
	[GROUP_TID] = "tid",	       [GROUP_CPU] = "cpu",	  [GROUP_CGROUP] = "cgroup",
	[GROUP_CATEGORY] = "category",
};

static const char *const kind_names[] = {
	[GROUP_KIND_USER] = "user",
	[GROUP_KIND_KERNEL] = "kernel",
	[GROUP_KIND_RUN_TIME] = "jit",
	[GROUP_KIND_SEVERAL] = NULL,
};

const char *report_rows_key_name(enum group_key key)
{
	return key_names[key];
}

const char *report_rows_kind(enum group_kind kind)
{
	return kind_names[kind];
}

bool report_rows_key_is_number(enum group_key key)
{
	return key == GROUP_PID || key == GROUP_TID || key == GROUP_CPU;
}

double report_rows_percent(const struct report_rows *rows, uint64_t count)
{
	return rows->total ? 100.0 * (double)count / (double)rows->total : 0;
}

/* --- cells ----------------------------------------------------------------------------------- */

/* Without modules there is no telling why a function has no name. */
static const char *function_text(const struct report_rows *rows, const struct group_place *place)
{
	if (place->function)
		return profile_string(rows->profile, place->function);
	return named_stacks_no_name(rows->profile, place->module);
}

static const char *line_text(const struct profile *profile, const struct group_place *place,
			     char buffer[REPORT_CELL_BYTES])
{
	const char *path = profile_string(profile, place->file);
	const char *slash = strrchr(path, '/');

	if (!place->file)
		return "[unknown]";
	(void)snprintf(buffer, REPORT_CELL_BYTES, "%s:%u", slash ? slash + 1 : path, place->line);
	return buffer;
}

/* A function that has none of its own counts for its callers'. */
static const char *category_text(const struct report_rows *rows, const struct group_total *group)
{
	uint32_t category;

	if (!rows->category_is_functions)
		return categories_name(rows->categories, group->labels.category);
	category = categories_of_function(
		rows->categories, profile_string(rows->profile, group->place.function),
		profile_module_name(rows->profile, group->place.module),
		group->place.kind == GROUP_KIND_KERNEL ? FRAME_KERNEL : FRAME_USER);
	return category == CATEGORY_OTHER ? "" : categories_name(rows->categories, category);
}

static const char *number_text(int32_t number, char buffer[REPORT_CELL_BYTES])
{
	(void)snprintf(buffer, REPORT_CELL_BYTES, "%d", (int)number);
	return buffer;
}

const char *report_rows_text(const struct report_rows *rows, const struct group_total *group,
			     enum group_key key, char buffer[REPORT_CELL_BYTES])
{
	const struct profile *profile = rows->profile;

	switch (key) {
	case GROUP_FUNCTION:
		return function_text(rows, &group->place);
	case GROUP_MODULE:
		return profile_module_name(profile, group->place.module);
	case GROUP_LINE:
		return line_text(profile, &group->place, buffer);
	case GROUP_KIND:
		return report_rows_kind(group->place.kind);
	case GROUP_COMM:
		return profile_string(profile, group->labels.comm);
	case GROUP_PID:
		return number_text(group->labels.pid, buffer);
	case GROUP_TID:
		return number_text(group->labels.tid, buffer);
	case GROUP_CPU:
		return number_text(group->labels.cpu, buffer);
	case GROUP_CGROUP:
		return profile_string(profile, group->labels.cgroup);
	case GROUP_CATEGORY:
		return category_text(rows, group);
	case NR_GROUP_KEYS:
		break;
	}
	return "";
}

/* --- which rows ------------------------------------------------------------------------------ */

static void choose_keys(struct report_rows *rows, const struct report_style *style)
{
	bool by_function = !style->nr_groups, by_category = false;
	size_t i;

	rows->keys_are_asked_for = style->nr_groups;
	for (i = 0; i < style->nr_groups; i++) {
		by_function |= style->groups[i] == GROUP_FUNCTION;
		by_category |= style->groups[i] == GROUP_CATEGORY;
		rows->keys[rows->nr_keys++] = style->groups[i];
	}
	if (!style->nr_groups) {
		rows->keys[rows->nr_keys++] = GROUP_FUNCTION;
		rows->keys[rows->nr_keys++] = GROUP_MODULE;
	}
	if (by_function && !by_category && rows->categories) {
		rows->category_is_functions = true;
		rows->keys[rows->nr_keys++] = GROUP_CATEGORY;
	}
}

static unsigned key_bits(const struct report_rows *rows)
{
	unsigned bits = 0;
	size_t i;

	for (i = 0; i < rows->nr_keys; i++)
		bits |= GROUP_BIT(rows->keys[i]);
	if (rows->category_is_functions)
		bits &= ~GROUP_BIT(GROUP_CATEGORY);
	return bits;
}

/* Rows come sorted: the first that is too light ends them. By self, what never ran is no row. */
static void choose_rows(struct report_rows *rows, const struct report_style *style)
{
	size_t most = style->max_rows ? style->max_rows : rows->totals.nr;

	for (; rows->nr < rows->totals.nr && rows->nr < most; rows->nr++) {
		const struct group_total *group = &rows->totals.groups[rows->nr];
		uint64_t count = style->sort_by_total ? group->total : group->self;

		if (report_rows_percent(rows, count) < style->least_percent)
			break;
	}
}

static int compare_categories(const void *a, const void *b, void *context)
{
	const uint64_t *counts = context;
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	if (counts[one] != counts[other])
		return counts[one] > counts[other] ? -1 : 1;
	return (one > other) - (one < other);
}

static int sort_categories(struct report_rows *rows)
{
	uint32_t nr = (uint32_t)categories_nr(rows->categories), i;

	rows->heavy_categories = calloc(nr, sizeof(*rows->heavy_categories));
	if (!rows->heavy_categories)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		if (rows->category_counts[i])
			rows->heavy_categories[rows->nr_heavy_categories++] = i;
	if (rows->nr_heavy_categories)
		qsort_r(rows->heavy_categories, rows->nr_heavy_categories,
			sizeof(*rows->heavy_categories), compare_categories, rows->category_counts);
	return 0;
}

static int count_rows(struct report_rows *rows, const struct report_style *style)
{
	cleanup_free uint32_t *of_sample = NULL;
	struct group_totals_style grouping = {
		.by_total = style->sort_by_total,
		.tell_kernel_apart = rows->category_is_functions,
	};

	if (rows->categories && (categories_count(rows->categories, rows->profile, &of_sample,
						  &rows->category_counts) < 0 ||
				 sort_categories(rows) < 0))
		return -ENOMEM;
	grouping.keys = key_bits(rows);
	grouping.category_of_sample = of_sample;
	return group_totals_init(&rows->totals, rows->profile, &grouping);
}

int report_rows_init(struct report_rows *rows, const struct profile *profile,
		     const struct report_style *style, const struct categories *categories)
{
	*rows = (struct report_rows){
		.profile = profile, .categories = categories, .total = profile_total(profile)};
	choose_keys(rows, style);
	rows->kind_is_known =
		(key_bits(rows) & (GROUP_BIT(GROUP_FUNCTION) | GROUP_BIT(GROUP_KIND))) ==
		GROUP_BIT(GROUP_FUNCTION);
	rows->has_totals = key_bits(rows) & GROUP_PLACE_KEYS;
	if (count_rows(rows, style) < 0) {
		report_rows_clear(rows);
		return -ENOMEM;
	}
	choose_rows(rows, style);
	return 0;
}

void report_rows_drop_modules(struct report_rows *rows)
{
	size_t i;

	for (i = 0; i < rows->totals.nr; i++)
		if (rows->totals.groups[i].place.module != MODULE_NR_UNKNOWN)
			return;
	for (i = 0; i < rows->nr_keys && rows->keys[i] != GROUP_MODULE; i++)
		;
	if (i == rows->nr_keys || rows->keys_are_asked_for)
		return;
	rows->nr_keys--;
	memmove(&rows->keys[i], &rows->keys[i + 1], (rows->nr_keys - i) * sizeof(rows->keys[0]));
}

void report_rows_clear(struct report_rows *rows)
{
	group_totals_clear(&rows->totals);
	free(rows->category_counts);
	free(rows->heavy_categories);
	*rows = (struct report_rows){0};
}
