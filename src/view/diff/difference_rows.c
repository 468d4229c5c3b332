/*
 * Each word of the named stacks belongs to a row, or to none; which one is looked up once a word. A
 * stack then costs one look at each of its words.
 */
#include "view/diff/difference_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

#define NO_ROW UINT32_MAX

struct builder {
	struct difference_rows *rows;
	const struct profile *profile;
	const struct named_stacks *stacks;
	const struct difference_spread *spread;
	enum difference_group group;
	uint32_t *row_of_word;
	uint32_t *row_of_name;
	size_t cap_names;
};

/* --- which row a word belongs to ------------------------------------------------------------- */

/* The text of the word's row; NULL: it has none. */
static const char *row_text(const struct builder *builder, uint32_t word)
{
	const struct word_info *info = named_stacks_info(builder->stacks, word);
	bool is_label = info->kind == WORD_LABEL;
	const char *text;

	switch (builder->group) {
	case DIFFERENCE_BY_COMM:
		return is_label ? named_stacks_word(builder->stacks, word) : NULL;
	case DIFFERENCE_BY_MODULE:
		text = profile_module_name(builder->profile, info->module);
		return is_label ? NULL : *text ? text : "[unknown]";
	case DIFFERENCE_BY_FUNCTION:
		break;
	}
	return is_label ? NULL : named_stacks_word(builder->stacks, word);
}

static int add_row(struct builder *builder, uint32_t name, uint32_t word)
{
	const struct word_info *info = named_stacks_info(builder->stacks, word);
	struct difference_rows *rows = builder->rows;

	if (array_reserve(&rows->rows, &rows->cap, rows->nr + 1, sizeof(*rows->rows)) < 0)
		return -ENOMEM;
	rows->rows[rows->nr] = (struct difference_row){
		.name = name,
		.module = info->module,
		.function = builder->group == DIFFERENCE_BY_FUNCTION ? info->function : 0,
		.kind = info->kind,
	};
	builder->row_of_name[name] = (uint32_t)rows->nr++;
	return 0;
}

static int map_word(struct builder *builder, uint32_t word)
{
	const char *text = row_text(builder, word);
	uint32_t known = strings_nr(builder->rows->names);
	int64_t name;

	builder->row_of_word[word] = NO_ROW;
	if (!text)
		return 0;
	name = strings_add(builder->rows->names, text);
	if (name < 0 || array_reserve(&builder->row_of_name, &builder->cap_names, (size_t)name + 1,
				      sizeof(*builder->row_of_name)) < 0)
		return -ENOMEM;
	if (name >= known && add_row(builder, (uint32_t)name, word) < 0)
		return -ENOMEM;
	builder->row_of_word[word] = builder->row_of_name[name];
	return 0;
}

static int map_words(struct builder *builder)
{
	uint32_t i;

	builder->row_of_word = calloc(builder->stacks->nr_words + 1, sizeof(uint32_t));
	if (!builder->row_of_word)
		return -ENOMEM;
	for (i = 1; i < builder->stacks->nr_words; i++)
		if (map_word(builder, i) < 0)
			return -ENOMEM;
	return 0;
}

/* --- counting -------------------------------------------------------------------------------- */

static void add_pair(struct difference_pair *pair, uint64_t before, uint64_t after)
{
	pair->before += before;
	pair->after += after;
}

/* A label stands in front: threads have all that is below as their own. */
static void count_stack(struct builder *builder, uint32_t stack)
{
	uint64_t after = builder->stacks->counts[stack], before = builder->stacks->others[stack];
	bool labels = builder->group == DIFFERENCE_BY_COMM;
	size_t nr, i;
	const uint32_t *words = named_stacks_get(builder->stacks, stack, &nr);

	for (i = 0; i < nr; i++) {
		uint32_t number = builder->row_of_word[words[i]];
		struct difference_row *row = &builder->rows->rows[number];

		if (number == NO_ROW)
			continue;
		if (labels ? !i : i + 1 == nr)
			add_pair(&row->self, before, after);
		if (row->last_stack != stack + 1)
			add_pair(&row->total, before, after);
		row->last_stack = stack + 1;
		if (labels)
			break;
	}
}

/* --- comparing ------------------------------------------------------------------------------- */

static void compare(struct builder *builder, struct difference_row *row)
{
	const struct difference_spread *spread = builder->spread;
	const struct difference_scale *scale = &builder->rows->scale;
	struct function_spread of = spread->all;

	row->self.is = difference_of(scale, row->self.before, row->self.after);
	row->total.is = difference_of(scale, row->total.before, row->total.after);
	if (builder->group == DIFFERENCE_BY_FUNCTION && row->function < spread->nr)
		of = spread->functions[row->function];
	difference_widen(scale, &row->self.is, of.self, spread->freedom);
	difference_widen(scale, &row->total.is, of.total, spread->freedom);
}

/* What runs itself and calls nothing has one number, and is one comparison. */
static void choose_sigma(struct difference_rows *rows, const struct difference_trust *trust)
{
	double chance = trust->sigma > 0 ? difference_chance_of_sigma(trust->sigma) : trust->chance;
	struct difference_tests tests = {0};
	size_t i;

	for (i = 0; i < rows->nr; i++) {
		const struct difference_row *row = &rows->rows[i];

		difference_tests_add(&tests, &rows->scale, row->self.before, row->self.after);
		if (row->self.before != row->total.before || row->self.after != row->total.after)
			difference_tests_add(&tests, &rows->scale, row->total.before,
					     row->total.after);
	}
	rows->nr_tests = difference_tests_nr(&tests, &rows->scale, chance);
	rows->scale.least_sigma = trust->sigma > 0
					  ? trust->sigma
					  : difference_sigma_of_chance(chance, rows->nr_tests);
}

const struct difference_pair *difference_rows_pair(const struct difference_rows *rows,
						   const struct difference_row *row)
{
	return rows->order == DIFFERENCE_TOTAL ? &row->total : &row->self;
}

/* What is believed first, then by how much changed. */
static int compare_rows(const void *a, const void *b, void *context)
{
	const struct difference_rows *rows = context;
	const struct difference *one = &difference_rows_pair(rows, a)->is;
	const struct difference *other = &difference_rows_pair(rows, b)->is;
	double size = fabs(one->change), other_size = fabs(other->change);

	if ((one->kind == CHANGE_NONE) != (other->kind == CHANGE_NONE))
		return one->kind == CHANGE_NONE ? 1 : -1;
	if (size != other_size)
		return size > other_size ? -1 : 1;
	return strcmp(difference_rows_name(rows, a), difference_rows_name(rows, b));
}

/* --- all of it ------------------------------------------------------------------------------- */

static void builder_clear(struct builder *builder)
{
	free(builder->row_of_word);
	free(builder->row_of_name);
}

static int build(struct builder *builder, const struct difference_trust *trust)
{
	struct difference_rows *rows = builder->rows;
	uint32_t i;

	rows->names = strings_new();
	if (!rows->names || map_words(builder) < 0)
		return -ENOMEM;
	for (i = 0; i < named_stacks_nr(builder->stacks); i++)
		count_stack(builder, i);
	choose_sigma(rows, trust);
	for (i = 0; i < rows->nr; i++)
		compare(builder, &rows->rows[i]);
	if (rows->nr)
		qsort_r(rows->rows, rows->nr, sizeof(*rows->rows), compare_rows, rows);
	return 0;
}

int difference_rows_init(struct difference_rows *rows, const struct profile *profile,
			 const struct named_stacks *stacks, const struct difference_scale *scale,
			 const struct difference_spread *spread,
			 const struct difference_trust *trust, enum difference_group group,
			 enum difference_order order)
{
	cleanup(builder_clear) struct builder builder = {
		.rows = rows,
		.profile = profile,
		.stacks = stacks,
		.spread = spread,
		.group = group,
	};

	*rows = (struct difference_rows){.scale = *scale, .order = order};
	if (build(&builder, trust) < 0) {
		difference_rows_clear(rows);
		return -ENOMEM;
	}
	return 0;
}

void difference_rows_clear(struct difference_rows *rows)
{
	strings_free(rows->names);
	free(rows->rows);
	*rows = (struct difference_rows){0};
}

const char *difference_rows_name(const struct difference_rows *rows,
				 const struct difference_row *row)
{
	return strings_get(rows->names, row->name);
}
