/*
 * Call paths in the report. In text, the heaviest paths are a tree, callers above callees:
 *
 *	 TOTAL  CALL PATH (below 0.5% left out)
 *	 61.2%  redis-server
 *	 61.0%  └ __libc_start_main
 *	          main
 *	          aeMain
 *	 40.2%    ├ readQueryFromClient
 *	          │ processCommand
 *	 25.1%    │ ├ (self)
 *	 14.9%    │ └ call
 *	 20.1%    └ beforeSleep
 *	            do_syscall_64 [k]
 *
 *	 38.8%  … 12 others
 *
 * All percentages are of the total. A line without a percentage has the same one as the line above.
 * If only one callee is above the threshold, it is directly below its caller: only forks indent. A
 * fork may be between callees and the function's own time. A label's own time is samples without a
 * stack. Recursion is folded, see named_stacks.h.
 *
 * With REPORT_FRACTAL, percentages and the threshold are of the branch above the fork; a line
 * without a percentage has 100 % of the line above. With REPORT_CALLEE the tree is inverted: leaf
 * functions are at the top, their callers below; labels are left out, because the roles of callers
 * and callees are swapped.
 *
 * REPORT_FLAT shows whole stacks one after the other, REPORT_FOLDED one stack per line, for
 * scripts:
 *
 *	  SELF  STACK (below 0.5% left out)
 *	 12.3%  redis-server;main;aeMain
 *
 * Markdown has only the heaviest path, as a code block.
 */
#include "view/call_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

#define SHORT_TREE_LINES  150
#define DEFAULT_THRESHOLD 0.5 /* percent, of whole stacks */
#define MAX_PATH_LINES	  60  /* of the heaviest path: half at its root, half at its leaf */
#define LEAST_PATH_SHARE  2   /* it continues into a callee that has 1/2 of the branch or more */
#define RECURSIVE	  " (recursive)"

enum call_line_kind {
	CALL_NAME,   /* number: the word */
	CALL_SELF,   /* own time of the function above; number: 1 if that is a label */
	CALL_OTHERS, /* number: count of branches left out */
	CALL_STACK,  /* a whole stack; number: the stack */
	CALL_BLANK,
};

/* There may be as many lines as the profile has frames, so they are small. */
struct call_line {
	double percent;
	uint32_t number;
	uint32_t level : 24;
	uint32_t kind : 4; /* enum call_line_kind */
	bool has_percent : 1, is_fork : 1, has_more : 1;
};

/* The lines, and the data that they refer to; owned by the sheet. */
struct call_paths {
	struct call_paths_style style;
	struct named_stacks stacks;
	struct call_line *lines;
	size_t nr, cap;
	struct column columns[2];
	char heading[64];
	char *text; /* buffer for the text of the current row */
};

struct tree_builder {
	struct call_paths *paths;
	const struct call_tree *tree;
	double threshold;
	size_t nr_lines, max_lines;
	char percent_above[16]; /* percentage of the line above, shown or not */
	uint32_t level;
	bool has_more; /* the fork of this level has further branches below */
};

/* --- branches below a node -------------------------------------------------------------------- */

static bool is_tree(const struct call_paths_style *style)
{
	return style->form == REPORT_GRAPH || style->form == REPORT_FRACTAL;
}

static bool is_label(const struct tree_builder *builder, const struct call_node *node)
{
	return node->depth <= builder->paths->stacks.nr_labels;
}

static bool is_fractal(const struct tree_builder *builder)
{
	return builder->paths->style.form == REPORT_FRACTAL;
}

/* Returns the base of percentages below a node. */
static uint64_t whole_of(const struct tree_builder *builder, const struct call_node *node)
{
	return is_fractal(builder) ? node->count : builder->paths->stacks.total;
}

/* Returns the threshold as a count, rounded up. */
static uint64_t least_count(const struct tree_builder *builder, const struct call_node *node)
{
	double exact = (double)whole_of(builder, node) * builder->threshold / 100;
	uint64_t below = (uint64_t)exact;

	return (double)below < exact ? below + 1 : below;
}

/*
 * Callees, heaviest first, with the function's own time sorted in; the others together come last.
 */
struct branches {
	struct call_node above;
	struct call_children callees;
	size_t nr, self_place; /* index of the own time; SIZE_MAX: not shown */
};

static void branches_clear(struct branches *branches)
{
	call_children_clear(&branches->callees);
}

/* Own time without callees is not a branch: the path just ends. */
static int find_branches(const struct tree_builder *builder, const struct call_node *node,
			 struct branches *ret)
{
	uint64_t least = least_count(builder, node), self;
	unsigned most = builder->paths->style.max_branches;
	struct call_children *callees = &ret->callees;
	bool with_others, with_self;

	*ret = (struct branches){.above = *node, .self_place = SIZE_MAX};
	if (call_tree_children(builder->tree, node, least, callees) < 0)
		return -ENOMEM;
	while (most && callees->nr > most) {
		callees->others_count += callees->nodes[--callees->nr].count;
		callees->nr_others++;
	}
	self = callees->self_count;
	with_others = callees->others_count && callees->others_count >= least;
	with_self =
		self && self >= least && (callees->nr || with_others || is_label(builder, node));
	if (with_self)
		ret->self_place = array_first(callees->nr, i, callees->nodes[i].count < self);
	ret->nr = callees->nr + with_self + with_others;
	return 0;
}

/* Returns NULL if the branch is the function's own time, or the others. */
static const struct call_node *callee_at(const struct branches *branches, size_t number)
{
	if (number == branches->self_place)
		return NULL;
	number -= number > branches->self_place;
	return number < branches->callees.nr ? &branches->callees.nodes[number] : NULL;
}

/* --- the tree --------------------------------------------------------------------------------- */

static int add_line(struct call_paths *paths, const struct call_line *line)
{
	if (array_reserve(&paths->lines, &paths->cap, paths->nr + 1, sizeof(*paths->lines)) < 0)
		return -ENOMEM;
	paths->lines[paths->nr++] = *line;
	return 0;
}

/* True if the percentage reads differently from the line above, or `always`. */
static bool shows_percent(struct tree_builder *builder, double percent, bool always)
{
	char text[sizeof(builder->percent_above)];
	bool is_same;

	(void)snprintf(text, sizeof(text), "%5.1f%%", percent);
	if (is_fractal(builder)) /* a single branch has 100 % of the line above */
		(void)snprintf(builder->percent_above, sizeof(text), "100.0%%");
	is_same = !strcmp(text, builder->percent_above);
	memcpy(builder->percent_above, text, sizeof(text));
	return always || !is_same;
}

/* 0, -ENOMEM, or -E2BIG if the tree has too many lines. */
static int add_branch(struct tree_builder *builder, const struct branches *branches, size_t number,
		      bool is_fork)
{
	const struct call_node *callee = callee_at(branches, number);
	struct call_line line = {
		.kind = CALL_NAME,
		.level = builder->level,
		.is_fork = is_fork && builder->level,
		.has_more = builder->has_more,
	};
	uint64_t count;

	if (callee) {
		count = callee->count;
		line.number = callee->word;
	} else if (number == branches->self_place) {
		line.kind = CALL_SELF;
		count = branches->callees.self_count;
		line.number = is_label(builder, &branches->above);
	} else {
		line.kind = CALL_OTHERS;
		count = branches->callees.others_count;
		line.number = (uint32_t)branches->callees.nr_others;
	}
	line.percent = 100.0 * (double)count / (double)whole_of(builder, &branches->above);
	line.has_percent =
		shows_percent(builder, line.percent, is_fork || line.kind == CALL_OTHERS);
	if (++builder->nr_lines > builder->max_lines)
		return -E2BIG;
	return add_line(builder->paths, &line);
}

static int add_below(struct tree_builder *builder, const struct call_node *node);

/* Adds all branches. Roots have no guides, and empty lines between them. */
static int add_forks(struct tree_builder *builder, const struct branches *branches)
{
	bool is_root = !branches->above.depth, above_has_more = builder->has_more;
	int err = 0;
	size_t i;

	builder->level += !is_root;
	for (i = 0; i < branches->nr && !err; i++) {
		const struct call_node *callee = callee_at(branches, i);

		builder->has_more = !is_root && i + 1 < branches->nr;
		if (is_root && i)
			err = add_line(builder->paths, &(struct call_line){.kind = CALL_BLANK});
		if (!err)
			err = add_branch(builder, branches, i, true);
		if (!err && callee)
			err = add_below(builder, callee);
	}
	builder->level -= !is_root;
	builder->has_more = above_has_more;
	return err;
}

/*
 * Adds the chain of single callees, then forks. The root and labels always fork: they are not
 * frames.
 */
static int add_below(struct tree_builder *builder, const struct call_node *node)
{
	struct call_node at = *node;

	for (;;) {
		cleanup(branches_clear) struct branches branches;
		const struct call_node *callee;
		int err = find_branches(builder, &at, &branches);

		if (err)
			return err;
		if (branches.nr != 1 || is_label(builder, &at))
			return add_forks(builder, &branches);
		err = add_branch(builder, &branches, 0, false);
		callee = callee_at(&branches, 0);
		if (err || !callee)
			return err;
		at = *callee;
	}
}

/* Returns true if less than half of the profile is in roots that a threshold keeps: many tasks that wait. */
static bool hides_most(const struct call_tree *tree, double threshold)
{
	struct call_node root = call_tree_root(tree);
	cleanup(call_children_clear) struct call_children roots = {0};
	const double least = (double)root.count * threshold / 100;

	return !call_tree_children(tree, &root, (uint64_t)least, &roots) &&
	       roots.others_count > root.count / 2;
}

/*
 * Builds the tree with the requested threshold; without one, with the first in the list that keeps
 * the tree short, or the last that does not hide most of the profile.
 */
static int add_tree(struct call_paths *paths, const struct call_tree *tree)
{
	static const double thresholds[] = {0.5, 1, 2, 5};
	bool is_callee = paths->style.order == REPORT_CALLEE, is_last;
	struct call_node root = call_tree_root(tree);
	size_t i = 0;
	int err;

	do {
		struct tree_builder builder = {
			.paths = paths,
			.tree = tree,
			.threshold = paths->style.has_threshold ? paths->style.threshold
								: thresholds[i++],
		};

		is_last = paths->style.has_threshold || i == ARRAY_SIZE(thresholds) ||
			  hides_most(tree, thresholds[i]);
		builder.max_lines = is_last ? SIZE_MAX : SHORT_TREE_LINES;
		paths->nr = 0;
		err = add_below(&builder, &root);
		(void)snprintf(paths->heading, sizeof(paths->heading), "%s (below %g%% left out)",
			       is_callee ? "CALLERS" : "CALL PATH", builder.threshold);
	} while (err == -E2BIG);
	return err;
}

/* --- whole stacks ----------------------------------------------------------------------------- */

static double percent_of(const struct call_paths *paths, uint32_t stack)
{
	return 100.0 * (double)paths->stacks.counts[stack] / (double)paths->stacks.total;
}

/* Heaviest first; equal weights by text. */
static int compare_stacks(const void *a, const void *b, void *context)
{
	const struct named_stacks *stacks = context;
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	if (stacks->counts[one] != stacks->counts[other])
		return stacks->counts[one] > stacks->counts[other] ? -1 : 1;
	return named_stacks_compare(stacks, one, other);
}

/*
 * Returns the numbers of the stacks at or above the threshold, heaviest first; NULL: out of memory.
 */
static uint32_t *heavy_stacks(const struct call_paths *paths, double threshold, size_t *ret_nr)
{
	size_t nr = named_stacks_nr(&paths->stacks), i;
	uint32_t *heavy = malloc((nr + 1) * sizeof(*heavy));

	if (!heavy)
		return NULL;
	*ret_nr = 0;
	for (i = 0; i < nr; i++)
		if (percent_of(paths, (uint32_t)i) >= threshold)
			heavy[(*ret_nr)++] = (uint32_t)i;
	qsort_r(heavy, *ret_nr, sizeof(*heavy), compare_stacks, (void *)&paths->stacks);
	return heavy;
}

/* Adds a line per frame, the first one with the percentage. */
static int add_stack(struct call_paths *paths, uint32_t stack)
{
	size_t nr, i;
	const uint32_t *words = named_stacks_get(&paths->stacks, stack, &nr);
	struct call_line line = {
		.kind = CALL_NAME, .has_percent = true, .percent = percent_of(paths, stack)};
	int err = 0;

	if (!nr) {
		line.kind = CALL_SELF;
		line.number = true;
		return add_line(paths, &line);
	}
	for (i = 0; i < nr && !err; i++) {
		line.number = words[i];
		err = add_line(paths, &line);
		line.has_percent = false;
	}
	return err;
}

static int add_stacks(struct call_paths *paths)
{
	const struct call_paths_style *style = &paths->style;
	double threshold = style->has_threshold ? style->threshold : DEFAULT_THRESHOLD;
	size_t nr = 0, i;
	cleanup_free uint32_t *heavy = heavy_stacks(paths, threshold, &nr);
	int err = heavy ? 0 : -ENOMEM;

	(void)snprintf(paths->heading, sizeof(paths->heading), "STACK (below %g%% left out)",
		       threshold);
	if (style->max_branches && nr > style->max_branches)
		nr = style->max_branches;
	for (i = 0; i < nr && !err; i++) {
		const struct call_line folded = {.kind = CALL_STACK,
						 .number = heavy[i],
						 .has_percent = true,
						 .percent = percent_of(paths, heavy[i])};

		if (style->form == REPORT_FOLDED) {
			err = add_line(paths, &folded);
			continue;
		}
		if (i)
			err = add_line(paths, &(struct call_line){.kind = CALL_BLANK});
		if (!err)
			err = add_stack(paths, heavy[i]);
	}
	return err;
}

/* --- the heaviest path ------------------------------------------------------------------------ */

/* Descends from the root into the heaviest callee while it has at least half of its caller. */
static int find_leaf(const struct call_tree *tree, struct call_node *ret_leaf)
{
	struct call_node at = call_tree_root(tree);

	for (;;) {
		cleanup(call_children_clear) struct call_children children = {0};

		if (call_tree_children(tree, &at, 1, &children) < 0)
			return -ENOMEM;
		if (!children.nr || children.nodes[0].count * LEAST_PATH_SHARE < at.count ||
		    children.self_count > children.nodes[0].count)
			break;
		at = children.nodes[0];
	}
	*ret_leaf = at;
	return 0;
}

static int add_heaviest(struct sheet *sheet, const struct call_tree *tree)
{
	const struct named_stacks *stacks = tree->stacks;
	struct call_node leaf;
	const uint32_t *words;
	size_t nr, i;

	if (find_leaf(tree, &leaf) < 0)
		return -ENOMEM;
	if (!leaf.depth)
		return 0;
	sheet_add_line(sheet, MEDIA_MARKDOWN, LINE_PLAIN);
	sheet_add_words(sheet, "The heaviest path, %.1f%% of all:",
			100.0 * (double)leaf.count / (double)stacks->total);
	words = named_stacks_get(stacks, tree->order[leaf.first], &nr);
	for (i = 0; i < leaf.depth; i++) {
		sheet_add_line(sheet, MEDIA_MARKDOWN, LINE_CODE);
		if (leaf.depth > MAX_PATH_LINES && i == MAX_PATH_LINES / 2) {
			sheet_add_words(sheet, "… %zu more", leaf.depth - MAX_PATH_LINES);
			i = leaf.depth - MAX_PATH_LINES / 2 - 1;
		} else {
			sheet_add_name(sheet, named_stacks_word(stacks, words[i]));
		}
	}
	return 0;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Allocates paths->text for the longest row. 0 or -ENOMEM. */
static int reserve_text(struct call_paths *paths)
{
	size_t longest = 0, i, k;

	for (i = 0; i < paths->nr; i++) {
		const struct call_line *line = &paths->lines[i];
		size_t bytes = 0, nr = 0;
		const uint32_t *words;

		if (line->kind == CALL_NAME)
			bytes = strlen(named_stacks_word(&paths->stacks, line->number)) +
				strlen(RECURSIVE);
		if (line->kind == CALL_STACK) {
			words = named_stacks_get(&paths->stacks, line->number, &nr);
			for (k = 0; k < nr; k++)
				bytes += strlen(named_stacks_word(&paths->stacks, words[k])) + 1;
		}
		if (bytes > longest)
			longest = bytes;
	}
	paths->text = malloc(longest + 1);
	return paths->text ? 0 : -ENOMEM;
}

static const char *call_text(const struct call_paths *paths, uint32_t word)
{
	const char *name = named_stacks_word(&paths->stacks, word);

	if (!named_stacks_is_recursive(&paths->stacks, word))
		return name;
	(void)stpcpy(stpcpy(paths->text, name), RECURSIVE);
	return paths->text;
}

static const char *stack_text(const struct call_paths *paths, uint32_t stack)
{
	size_t nr, i;
	const uint32_t *words = named_stacks_get(&paths->stacks, stack, &nr);
	char *at = paths->text;

	*at = '\0';
	for (i = 0; i < nr; i++) {
		if (i)
			*at++ = ';';
		at = stpcpy(at, named_stacks_word(&paths->stacks, words[i]));
	}
	return paths->text;
}

static const char *self_text(const struct call_paths *paths, bool is_of_label)
{
	if (is_of_label)
		return "(no stack)";
	return paths->style.order == REPORT_CALLEE ? "(no caller)" : "(self)";
}

static void read_line(const void *context, size_t number, struct row *row)
{
	const struct call_paths *paths = context;
	const struct call_line *line = &paths->lines[number];
	const char *text = row->scratch;

	switch ((enum call_line_kind)line->kind) {
	case CALL_NAME:
		text = call_text(paths, line->number);
		break;
	case CALL_STACK:
		text = stack_text(paths, line->number);
		break;
	case CALL_SELF:
		text = self_text(paths, line->number);
		break;
	case CALL_OTHERS:
		row->kind = ROW_REST;
		(void)snprintf(row->scratch, sizeof(row->scratch), "… %" PRIu32 " other%s",
			       line->number, line->number == 1 ? "" : "s");
		break;
	case CALL_BLANK:
		row->kind = ROW_BLANK;
		return;
	}
	if (line->has_percent)
		row->cells[0] = cell_real(line->percent);
	row->cells[1] = cell_text(text);
	row->level = line->level;
	row->is_fork = line->is_fork;
	row->has_more = line->has_more;
}

static void add_table(struct sheet *sheet, struct call_paths *paths)
{
	bool is_self = paths->style.order == REPORT_CALLEE || !is_tree(&paths->style);
	const struct table table = {
		.name = "paths",
		.columns = paths->columns,
		.nr_columns = ARRAY_SIZE(paths->columns),
		.nr_rows = paths->nr,
		.read_row = read_line,
		.context = paths,
		.never_cut = paths->style.form == REPORT_FOLDED,
	};

	paths->columns[0] = (struct column){
		.heading = is_self ? "SELF" : "TOTAL",
		.unit = UNIT_PERCENT,
		.flags = COLUMN_HEAT,
		.decimals = 1,
		.least_width = sizeof("100.0%") - 1,
	};
	paths->columns[1] = (struct column){
		.heading = paths->heading,
		.flags = COLUMN_NAME | COLUMN_MAIN | COLUMN_TREE,
	};
	sheet_add_table(sheet, MEDIA_TEXT, &table);
}

/* --- all of it -------------------------------------------------------------------------------- */

/*
 * Names for people have marks for kernel and inlined code; folded stacks, for scripts, have none.
 */
static struct named_stacks_style names_of(const struct call_paths_style *style)
{
	bool is_folded = style->form == REPORT_FOLDED;
	bool is_callee = style->order == REPORT_CALLEE;

	return (struct named_stacks_style){
		.labels = is_tree(style) && is_callee ? 0 : style->labels,
		.suffixes = {.inlined = is_folded ? NULL : " [i]",
			     .kernel = is_folded ? NULL : " [k]"},
		.separator = is_folded ? ';' : '\0',
		.no_user = style->no_user,
		.no_kernel = style->no_kernel,
		.lines = style->lines,
		.show_modules = !is_folded,
		.fold_recursion = is_tree(style),
		.reverse = is_callee,
	};
}

static void paths_free(void *context)
{
	struct call_paths *paths = context;

	named_stacks_clear(&paths->stacks);
	free(paths->lines);
	free(paths->text);
	free(paths);
}

static int add_text(struct sheet *sheet, const struct profile *profile,
		    const struct call_paths_style *style)
{
	const struct named_stacks_style names = names_of(style);
	cleanup(call_tree_clear) struct call_tree tree = {0};
	struct call_paths *paths = calloc(1, sizeof(*paths));
	int err;

	if (!paths || sheet_keep(sheet, paths, paths_free) < 0)
		return -ENOMEM;
	paths->style = *style;
	if (named_stacks_init(&paths->stacks, profile, &names) < 0)
		return -ENOMEM;
	if (!is_tree(style))
		err = add_stacks(paths);
	else
		err = call_tree_init(&tree, &paths->stacks) < 0 ? -ENOMEM : add_tree(paths, &tree);
	if (err || reserve_text(paths) < 0)
		return -ENOMEM;
	add_table(sheet, paths);
	return 0;
}

static int add_markdown(struct sheet *sheet, const struct profile *profile,
			const struct call_paths_style *style)
{
	struct call_paths_style of_callers = *style;
	struct named_stacks_style names;
	cleanup(named_stacks_clear) struct named_stacks stacks = {0};
	cleanup(call_tree_clear) struct call_tree tree = {0};

	of_callers.form = REPORT_GRAPH;
	of_callers.order = REPORT_CALLER;
	names = names_of(&of_callers);
	if (named_stacks_init(&stacks, profile, &names) < 0 || call_tree_init(&tree, &stacks) < 0)
		return -ENOMEM;
	return add_heaviest(sheet, &tree);
}

int call_tree_sheet_add(struct sheet *sheet, enum media medium, const struct profile *profile,
			const struct call_paths_style *style)
{
	int err = 0;

	if (style->form == REPORT_NONE)
		return 0;
	if (medium == MEDIA_TEXT)
		err = add_text(sheet, profile, style);
	if (medium == MEDIA_MARKDOWN)
		err = add_markdown(sheet, profile, style);
	return err ? err : sheet_status(sheet);
}
