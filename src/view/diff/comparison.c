/*
 * Compares in steps: named stacks, the scale, the natural variance of numbers, rows, call paths.
 *
 * Rows: each word of the named stacks belongs to at most one row, which is looked up once. A stack
 * then costs one array access per word.
 *
 * Paths: the tree is the flame graph's, without the nodes that have too few samples to be
 * significant. A node is *telling* if it changed and its share of its caller changed, too: a callee
 * that keeps its share of a caller that grew or shrank adds no information. Lines lead to the
 * telling nodes, and continue downwards while one callee has nearly all of the node, so that they
 * end at the function to look at. Nodes are in preorder, so a backward loop visits callees before
 * callers. Lines are made with an explicit stack instead of recursion, since call paths can be
 * deep.
 */
#include "view/diff/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

#define DEFAULT_CONFIDENCE 95.0
#define DEFAULT_MAX_ROWS   20
#define LINES_A_ROW	   3 /* of the tree, for each row of the table */
#define NO_ROW		   UINT32_MAX

/* --- significance ---------------------------------------------------------------------------- */

/* The table and the tree each get half of the error rate. */
static double chance_of(const struct comparison *comparison)
{
	const struct comparison_style *style = &comparison->style;

	return style->sigma > 0 ? difference_chance_of_sigma(style->sigma)
				: (1 - style->confidence / 100) / 2;
}

/* Sets the scale's least sigma for these tests. Returns how many of them can be significant. */
static double choose_sigma(const struct comparison *comparison, struct difference_scale *scale,
			   const struct difference_tests *tests)
{
	double chance = chance_of(comparison), nr = difference_tests_nr(tests, scale, chance);

	scale->least_sigma = comparison->style.sigma > 0 ? comparison->style.sigma
							 : difference_sigma_of_chance(chance, nr);
	return nr;
}

/* --- rows: from words to rows ---------------------------------------------------------------- */

struct builder {
	const struct comparison *comparison;
	const struct named_stacks *stacks;
	struct difference_rows *rows;
	uint32_t *row_of_word;
	uint32_t *row_of_name;
	size_t cap_names;
};

/* Returns the text of the word's row; NULL: it belongs to none. */
static const char *row_text(const struct builder *builder, uint32_t word)
{
	const struct word_info *info = named_stacks_info(builder->stacks, word);
	bool is_label = info->kind == WORD_LABEL;
	const char *text;

	switch (builder->comparison->style.group) {
	case DIFFERENCE_BY_COMM:
		return is_label ? named_stacks_word(builder->stacks, word) : NULL;
	case DIFFERENCE_BY_MODULE:
		text = profile_module_name(builder->comparison->profile, info->module);
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
		.function = builder->comparison->style.group == DIFFERENCE_BY_FUNCTION
				    ? info->function
				    : 0,
		.kind = info->kind,
	};
	builder->row_of_name[name] = (uint32_t)rows->nr++;
	return 0;
}

/* By function, each word is a row; modules and threads are rows by name. */
static int map_word(struct builder *builder, uint32_t word)
{
	const char *text = row_text(builder, word);
	uint32_t known = strings_nr(builder->rows->names);
	bool is_new = builder->comparison->style.group == DIFFERENCE_BY_FUNCTION;
	int64_t name;

	builder->row_of_word[word] = NO_ROW;
	if (!text)
		return 0;
	name = strings_add(builder->rows->names, text);
	if (name < 0 || array_reserve(&builder->row_of_name, &builder->cap_names, (size_t)name + 1,
				      sizeof(*builder->row_of_name)) < 0)
		return -ENOMEM;
	if ((is_new || name >= known) && add_row(builder, (uint32_t)name, word) < 0)
		return -ENOMEM;
	builder->row_of_word[word] = builder->row_of_name[name];
	return 0;
}

/* --- rows: counting -------------------------------------------------------------------------- */

static void add_pair(struct difference_pair *pair, uint64_t before, uint64_t after)
{
	pair->before += before;
	pair->after += after;
}

/* By thread, the whole stack counts as self of the first word, which is the label. */
static void count_stack(struct builder *builder, uint32_t stack)
{
	uint64_t after = builder->stacks->counts[stack], before = builder->stacks->others[stack];
	bool labels = builder->comparison->style.group == DIFFERENCE_BY_COMM;
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

/* --- rows: comparing ------------------------------------------------------------------------- */

static void compare(struct builder *builder, struct difference_row *row)
{
	const struct difference_spread *spread = &builder->comparison->spread;
	const struct difference_scale *scale = &builder->rows->scale;
	struct function_spread of = spread->all;

	row->self.is = difference_of(scale, row->self.before, row->self.after);
	row->total.is = difference_of(scale, row->total.before, row->total.after);
	if (builder->comparison->style.group == DIFFERENCE_BY_FUNCTION &&
	    row->function < spread->nr)
		of = spread->functions[row->function];
	difference_widen(scale, &row->self.is, of.self, spread->freedom);
	difference_widen(scale, &row->total.is, of.total, spread->freedom);
}

const struct difference_pair *difference_rows_pair(const struct difference_rows *rows,
						   const struct difference_row *row)
{
	return rows->order == DIFFERENCE_TOTAL ? &row->total : &row->self;
}

/* Significant changes first, then by size. */
static int compare_rows(const void *a, const void *b, void *context)
{
	const struct difference_rows *rows = context;
	const struct difference *one = &difference_rows_pair(rows, a)->is;
	const struct difference *other = &difference_rows_pair(rows, b)->is;
	double size = fabs(one->change), other_size = fabs(other->change);
	const struct difference_row *row_a = a, *row_b = b;
	int order = strcmp(difference_rows_name(rows, a), difference_rows_name(rows, b));

	if ((one->kind == CHANGE_NONE) != (other->kind == CHANGE_NONE))
		return one->kind == CHANGE_NONE ? 1 : -1;
	if (size != other_size)
		return size > other_size ? -1 : 1;
	return order ? order : (row_a->module > row_b->module) - (row_a->module < row_b->module);
}

/* --- rows: all of it ------------------------------------------------------------------------- */

static int build(struct builder *builder)
{
	struct difference_rows *rows = builder->rows;
	struct difference_tests tests = {0};
	uint32_t i;

	rows->names = strings_new();
	builder->row_of_word = calloc(builder->stacks->nr_words + 1, sizeof(uint32_t));
	if (!rows->names || !builder->row_of_word)
		return -ENOMEM;
	for (i = 1; i < builder->stacks->nr_words; i++)
		if (map_word(builder, i) < 0)
			return -ENOMEM;
	for (i = 0; i < named_stacks_nr(builder->stacks); i++)
		count_stack(builder, i);
	for (i = 0; i < rows->nr; i++) {
		const struct difference_pair *self = &rows->rows[i].self;
		const struct difference_pair *total = &rows->rows[i].total;

		difference_tests_add(&tests, &rows->scale, self->before, self->after);
		/* With self equal to total, there is only one comparison. */
		if (self->before != total->before || self->after != total->after)
			difference_tests_add(&tests, &rows->scale, total->before, total->after);
	}
	rows->nr_tests = choose_sigma(builder->comparison, &rows->scale, &tests);
	for (i = 0; i < rows->nr; i++)
		compare(builder, &rows->rows[i]);
	if (rows->nr)
		qsort_r(rows->rows, rows->nr, sizeof(*rows->rows), compare_rows, rows);
	return 0;
}

/* A module's row contains all its functions, even if the other side has them in another module. */
static int find_rows(struct comparison *comparison, const struct named_stacks_style *names)
{
	cleanup(named_stacks_clear) struct named_stacks apart = {0};
	struct named_stacks_style style = *names;
	bool by_module = comparison->style.group == DIFFERENCE_BY_MODULE;
	struct builder builder = {
		.comparison = comparison,
		.stacks = by_module ? &apart : &comparison->stacks,
		.rows = &comparison->rows,
	};
	int err;

	style.keep_modules = true;
	if (by_module && named_stacks_init(&apart, comparison->profile, &style) < 0)
		return -ENOMEM;
	builder.rows->scale = comparison->scale;
	builder.rows->order = comparison->style.order;
	err = build(&builder);
	free(builder.row_of_word);
	free(builder.row_of_name);
	return err;
}

const char *difference_rows_name(const struct difference_rows *rows,
				 const struct difference_row *row)
{
	return strings_get(rows->names, row->name);
}

/* --- paths ----------------------------------------------------------------------------------- */

#define NEARLY_ALL   0.9
#define FIRST_CHANGE 0.001 /* of the total: the first threshold if there are too many lines */
#define NR_CHANGES   10

struct judged {
	float change;
	bool changed;
	bool alike;   /* its share of its caller did not change */
	bool telling; /* or a caller of a telling node */
};

struct pending {
	uint32_t node;
	uint32_t level;
	bool is_rest, has_more;
	struct difference_pair pair;
};

struct finder {
	const struct comparison *comparison;
	struct difference_paths *paths;
	struct judged *judged;
	struct pending *pending;
	size_t nr_pending, cap_pending;
};

static const struct flame_node *node_of(const struct finder *finder, uint32_t number)
{
	return &finder->paths->nodes.nodes[number];
}

/* Compares numbers with the dispersion of the node's function. */
static struct difference_pair pair_of(const struct finder *finder,
				      const struct difference_scale *scale, uint32_t number,
				      uint64_t before, uint64_t after)
{
	const struct comparison *comparison = finder->comparison;
	const struct difference_spread *spread = &comparison->spread;
	uint32_t word = node_of(finder, number)->word;
	uint32_t function = word ? named_stacks_info(&comparison->stacks, word)->function : 0;
	struct difference_pair pair = {before, after, difference_of(scale, before, after)};
	double dispersion = function && function < spread->nr ? spread->functions[function].total
							      : spread->all.total;

	difference_widen(scale, &pair.is, dispersion, spread->freedom);
	return pair;
}

/* --- paths: judging -------------------------------------------------------------------------- */

/* True if the node's share of its caller is unchanged. */
static bool is_alike(const struct finder *finder, uint32_t number)
{
	const struct flame_node *node = node_of(finder, number);
	const struct flame_node *caller = node_of(finder, finder->paths->parents[number]);
	struct difference_scale within = finder->paths->scale;

	if (node->depth < 2)
		return false;
	within.by_time = false;
	within.before = within.before_all = (double)caller->other;
	within.after = within.after_all = (double)caller->count;
	within.least_sigma = DIFFERENCE_LEAST_SIGMA;
	return pair_of(finder, &within, number, node->other, node->count).is.kind == CHANGE_NONE;
}

static void judge_all(struct finder *finder)
{
	uint32_t i;

	for (i = 1; i < finder->paths->nodes.nr; i++) {
		const struct flame_node *node = node_of(finder, i);
		struct difference_pair pair =
			pair_of(finder, &finder->paths->scale, i, node->other, node->count);
		struct judged *judged = &finder->judged[i];

		judged->change = (float)pair.is.change;
		judged->changed = pair.is.kind != CHANGE_NONE;
		judged->alike = judged->changed && is_alike(finder, i);
	}
}

static void mark_telling(struct finder *finder, double least_change)
{
	uint32_t i;

	for (i = 0; i < finder->paths->nodes.nr; i++)
		finder->judged[i].telling = false;
	for (i = (uint32_t)finder->paths->nodes.nr; i-- > 1;) {
		struct judged *judged = &finder->judged[i];

		if (judged->changed && !judged->alike &&
		    fabs((double)judged->change) >= least_change)
			judged->telling = true;
		if (judged->telling)
			finder->judged[finder->paths->parents[i]].telling = true;
	}
}

/* --- paths: lines ---------------------------------------------------------------------------- */

static int push(struct finder *finder, const struct pending *pending)
{
	if (array_reserve(&finder->pending, &finder->cap_pending, finder->nr_pending + 1,
			  sizeof(*finder->pending)) < 0)
		return -ENOMEM;
	finder->pending[finder->nr_pending++] = *pending;
	return 0;
}

/*
 * Returns the node's numbers minus those of its telling callees; *ret_nr: their number,
 * *ret_callee: the last.
 */
static struct difference_pair rest_of(const struct finder *finder, uint32_t number, size_t *ret_nr,
				      uint32_t *ret_callee)
{
	const struct flame_node *node = node_of(finder, number);
	uint64_t before = node->other, after = node->count;
	uint32_t at;

	*ret_nr = 0;
	for (at = number + 1; at < node->end; at = node_of(finder, at)->end) {
		if (!finder->judged[at].telling)
			continue;
		before -= node_of(finder, at)->other;
		after -= node_of(finder, at)->count;
		*ret_callee = at;
		++*ret_nr;
	}
	return pair_of(finder, &finder->paths->scale, number, before, after);
}

/* Returns the callee that has nearly all of a node, before and after; 0: none. */
static uint32_t main_callee_of(const struct finder *finder, uint32_t number)
{
	const struct flame_node *node = node_of(finder, number);
	uint32_t at;

	for (at = number + 1; at < node->end; at = node_of(finder, at)->end) {
		const struct flame_node *callee = node_of(finder, at);

		if ((double)callee->other >= NEARLY_ALL * (double)node->other &&
		    (double)callee->count >= NEARLY_ALL * (double)node->count)
			return at;
	}
	return 0;
}

/*
 * Returns the last node of the line that begins here. *rest: the last node without telling callees.
 */
static uint32_t go_down(const struct finder *finder, uint32_t number, struct difference_pair *rest)
{
	for (;;) {
		size_t nr;
		uint32_t callee = 0;

		*rest = rest_of(finder, number, &nr, &callee);
		if (!nr)
			callee = main_callee_of(finder, number);
		if (!callee || nr > 1 || (nr == 1 && rest->is.kind != CHANGE_NONE))
			return number;
		number = callee;
	}
}

static int compare_pending(const void *a, const void *b)
{
	const struct pending *one = a, *other = b;
	double size = fabs(one->pair.is.change), other_size = fabs(other->pair.is.change);

	/* The last one is popped first. */
	if (one->is_rest != other->is_rest)
		return one->is_rest ? -1 : 1;
	if (size != other_size)
		return size < other_size ? -1 : 1;
	return (one->node < other->node) - (one->node > other->node);
}

/* Pushes the lines below a line. */
static int push_forks(struct finder *finder, uint32_t number, uint32_t level,
		      const struct difference_pair *rest)
{
	const struct flame_node *node = node_of(finder, number);
	size_t first = finder->nr_pending, nr;
	struct pending pending = {.node = number, .level = level, .is_rest = true, .pair = *rest};
	uint32_t at;

	for (at = number + 1; at < node->end; at = node_of(finder, at)->end) {
		const struct flame_node *callee = node_of(finder, at);
		struct pending fork = {.node = at, .level = level};

		fork.pair =
			pair_of(finder, &finder->paths->scale, at, callee->other, callee->count);
		if (finder->judged[at].telling && push(finder, &fork) < 0)
			return -ENOMEM;
	}
	nr = finder->nr_pending - first;
	if (nr && number && rest->is.kind != CHANGE_NONE && push(finder, &pending) < 0)
		return -ENOMEM;
	nr = finder->nr_pending - first;
	if (nr)
		qsort(&finder->pending[first], nr, sizeof(pending), compare_pending);
	for (; nr > 1; nr--)
		finder->pending[first + nr - 1].has_more = true;
	return 0;
}

static int add_line(struct finder *finder, const struct pending *pending)
{
	struct difference_paths *paths = finder->paths;
	struct difference_line line = {
		.first = pending->node,
		.last = pending->node,
		.level = pending->level,
		.is_rest = pending->is_rest,
		.has_more = pending->has_more,
		.pair = pending->pair,
	};
	struct difference_pair rest = {0};

	if (array_reserve(&paths->lines, &paths->cap, paths->nr + 1, sizeof(*paths->lines)) < 0)
		return -ENOMEM;
	if (!line.is_rest) {
		const struct flame_node *last;

		line.last = go_down(finder, line.first, &rest);
		last = node_of(finder, line.last);
		line.pair = pair_of(finder, &paths->scale, line.last, last->other, last->count);
	}
	paths->lines[paths->nr++] = line;
	return line.is_rest ? 0 : push_forks(finder, line.last, line.level + 1, &rest);
}

/* --- paths: all of it ------------------------------------------------------------------------ */

/* Returns the largest number of samples that is within noise even if all are on one side. */
static double least_samples(const struct comparison *comparison)
{
	const struct difference_scale *scale = &comparison->scale;
	double before = scale->before / scale->before_sample;
	double after = scale->after / scale->after_sample;
	double lesser = (before < after ? before : after) / (before + after);

	return lesser > 0 ? fmax(1, floor(log(chance_of(comparison) / 2) / log(lesser))) : 1;
}

/* Finds about max_lines lines: raises the threshold until they fit. 0 or -ENOMEM. */
static int find_lines(struct finder *finder, size_t max_lines)
{
	struct difference_paths *paths = finder->paths;
	double all = fmax(paths->scale.before_all / paths->scale.before,
			  paths->scale.after_all / paths->scale.after);
	const struct difference_pair none = {0};
	double least = 0;
	int i, err;

	judge_all(finder);
	for (i = 0; i < NR_CHANGES; i++) {
		mark_telling(finder, least);
		paths->least_change = least;
		paths->nr = 0;
		err = push_forks(finder, 0, 0, &none);
		while (finder->nr_pending && !err) {
			struct pending pending = finder->pending[--finder->nr_pending];

			err = add_line(finder, &pending);
		}
		if (err || paths->nr <= max_lines)
			return err;
		least = i ? 2 * least : FIRST_CHANGE * all;
	}
	return 0;
}

static int find_paths(struct comparison *comparison)
{
	struct difference_paths *paths = &comparison->paths;
	const struct flame_shape shape = {
		.other_weight = comparison->scale.after_sample / comparison->scale.before_sample,
		.least_width = least_samples(comparison) * comparison->scale.after_sample,
	};
	struct finder finder = {.comparison = comparison, .paths = paths};
	cleanup_free uint32_t *open = NULL;
	cleanup_free struct judged *judged = NULL;
	struct difference_tests tests = {0};
	size_t i;
	int err;

	paths->scale = comparison->scale;
	if (flame_nodes_init(&paths->nodes, &comparison->stacks, &shape) < 0)
		return -ENOMEM;
	open = calloc(paths->nodes.nr_depths + 1, sizeof(*open));
	paths->parents = calloc(paths->nodes.nr, sizeof(*paths->parents));
	finder.judged = judged = calloc(paths->nodes.nr, sizeof(*finder.judged));
	if (!open || !paths->parents || !judged)
		return -ENOMEM;
	for (i = 1; i < paths->nodes.nr; i++) {
		uint32_t depth = paths->nodes.nodes[i].depth;

		paths->parents[i] = open[depth - 1];
		open[depth] = (uint32_t)i;
	}
	for (i = 1; i < paths->nodes.nr; i++) {
		const struct flame_node *node = &paths->nodes.nodes[i];
		const struct flame_node *caller = &paths->nodes.nodes[paths->parents[i]];

		/*
		 * A node with the same numbers as its caller does not count as another comparison.
		 */
		if (node->count != caller->count || node->other != caller->other)
			difference_tests_add(&tests, &paths->scale, node->other, node->count);
	}
	paths->nr_tests = choose_sigma(comparison, &paths->scale, &tests);
	err = find_lines(&finder, (size_t)comparison->style.max_rows * LINES_A_ROW);
	free(finder.pending);
	return err;
}

/* --- all of it -------------------------------------------------------------------------------- */

size_t comparison_value(const struct profile *profile)
{
	int number = profile_find_value(profile, DIFFERENCE_BEFORE);

	return number > 0 ? (size_t)number : 0;
}

/* Initialises the scale for independent samples, and the spread beyond it. */
static int find_spread(struct comparison *comparison)
{
	const struct comparison_style *style = &comparison->style;
	struct difference_scale *scale = &comparison->scale;

	difference_scale_init(scale, comparison->profile, comparison->before);
	if (style->by_time)
		difference_scale_by_time(scale, style->before_seconds, style->after_seconds);
	return difference_spread_init(&comparison->spread, comparison->profile, scale, style->parts,
				      style->nr_parts);
}

/* All but the paths, which pictures do not need. The caller clears *comparison even on failure. */
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
		err = find_rows(comparison, &with_before);
	return err;
}

int comparison_init(struct comparison *comparison, const struct profile *profile,
		    const struct comparison_style *style)
{
	const struct named_stacks_style names = {
		.labels = style->labels,
		.no_user = style->no_user,
		.no_kernel = style->no_kernel,
		.show_modules = !style->no_modules,
		.fold_recursion = true,
		.by_origin = true,
	};
	int err = begin(comparison, profile, &names, style);

	if (!err)
		err = find_paths(comparison);
	if (err)
		comparison_clear(comparison);
	return err;
}

int comparison_scale(struct difference_scale *ret, const struct profile *profile,
		     const struct comparison_style *style)
{
	const struct named_stacks_style names = {.by_origin = true};
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
	strings_free(comparison->rows.names);
	free(comparison->rows.rows);
	flame_nodes_clear(&comparison->paths.nodes);
	free(comparison->paths.parents);
	free(comparison->paths.lines);
	*comparison = (struct comparison){0};
}
