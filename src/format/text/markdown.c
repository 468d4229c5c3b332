/*
 * See markdown.h.
 *
 *	### 12,345 samples
 *
 *	`cpu-clock`, every 10,101,010 nanoseconds, for 30.0 s from 2026-11-21T20:42:00Z
 *
 *	* 98.7 % of user stacks are whole
 *
 *	| self | samples | total | function | module |
 *	|-----:|--------:|------:|----------|--------|
 *	| 23.4% | 2,889 | 45.1% | `dictFind` | `redis-server` |
 */
#include "format/text/markdown.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd_io.h"
#include "view/amount.h"
#include "format/text/columns.h"
#include "format/text/markdown_text.h"
#include "format/text/report_rows.h"
#include "format/text/report_time.h"
#include "view/call_tree.h"

#define DEFAULT_ROWS	 10
#define MAX_PATH_LINES	 60 /* of the heaviest path: its root and its leaf */
#define LEAST_PATH_SHARE 2  /* it goes on while so much of a half of the branch goes one way */

/* --- the head -------------------------------------------------------------------------------- */

static int write_origin(const struct profile *profile, FILE *out)
{
	const struct profile_origin *origin = profile_origin(profile);
	char buffer[COLUMNS_NUMBER_BYTES], time[REPORT_TIME_BYTES];

	if (!origin->event)
		return 0;
	if (markdown_write_code(out, profile_string(profile, origin->event)) < 0)
		return -ENOMEM;
	if (origin->period) {
		(void)fprintf(out, ", every %s ", columns_number(buffer, origin->period));
		markdown_write_words(out, origin->unit ? profile_string(profile, origin->unit)
						       : "events");
	}
	if (origin->duration_ns)
		(void)fprintf(out, ", for %.1f s", (double)origin->duration_ns / 1e9);
	if (origin->time_ns)
		(void)fprintf(out, " from %s", report_time(origin->time_ns, time));
	(void)fputs("\n\n", out);
	return 0;
}

static int write_head(const struct profile *profile, FILE *out)
{
	char buffer[AMOUNT_BYTES], counted[AMOUNT_COUNTED_BYTES];
	uint64_t total = profile_total(profile);
	size_t i;

	(void)fputs("### ", out);
	markdown_write_words(out, amount_total(profile, total, buffer));
	markdown_write_words(out, amount_counted(profile, total, counted));
	(void)fputs("\n\n", out);
	if (write_origin(profile, out) < 0)
		return -ENOMEM;
	for (i = 0; i < profile_nr_comments(profile); i++) {
		(void)fputs("* ", out);
		markdown_write_words(out, profile_comment(profile, i));
		(void)putc('\n', out);
	}
	if (i)
		(void)putc('\n', out);
	return 0;
}

/* --- tables ---------------------------------------------------------------------------------- */

static void write_headings(const struct report_rows *rows, FILE *out)
{
	size_t i;

	(void)fputs("| self | ", out);
	markdown_write_words(out, amount_heading(rows->profile));
	(void)fputs(rows->has_totals ? " | total |" : " |", out);
	for (i = 0; i < rows->nr_keys; i++)
		(void)fprintf(out, " %s |", report_rows_key_name(rows->keys[i]));
	(void)fputs(rows->has_totals ? "\n|---:|---:|---:|" : "\n|---:|---:|", out);
	for (i = 0; i < rows->nr_keys; i++)
		(void)fputs(report_rows_key_is_number(rows->keys[i]) ? "---:|" : "---|", out);
	(void)putc('\n', out);
}

static int write_row(const struct report_rows *rows, const struct group_total *group, FILE *out)
{
	char number[COLUMNS_NUMBER_BYTES], buffer[REPORT_CELL_BYTES];
	size_t i;

	(void)fprintf(out, "| %.1f%% | %s |", report_rows_percent(rows, group->self),
		      amount_number(rows->profile, group->self, number));
	if (rows->has_totals)
		(void)fprintf(out, " %.1f%% |", report_rows_percent(rows, group->total));
	for (i = 0; i < rows->nr_keys; i++) {
		(void)putc(' ', out);
		if (markdown_write_code(out, report_rows_text(rows, group, rows->keys[i], buffer)) <
		    0)
			return -ENOMEM;
		(void)fputs(" |", out);
	}
	(void)putc('\n', out);
	return 0;
}

static int write_categories(const struct report_rows *rows, FILE *out)
{
	char number[COLUMNS_NUMBER_BYTES];
	size_t i;

	(void)fputs("| self | count | category |\n|---:|---:|---|\n", out);
	for (i = 0; i < rows->nr_heavy_categories; i++) {
		uint64_t count = rows->category_counts[rows->heavy_categories[i]];

		(void)fprintf(out, "| %.1f%% | %s | ", report_rows_percent(rows, count),
			      amount_number(rows->profile, count, number));
		if (markdown_write_code(
			    out, categories_name(rows->categories, rows->heavy_categories[i])) < 0)
			return -ENOMEM;
		(void)fputs(" |\n", out);
	}
	(void)putc('\n', out);
	return 0;
}

static int write_tables(const struct report_rows *rows, FILE *out)
{
	size_t i;

	if (rows->category_is_functions && write_categories(rows, out) < 0)
		return -ENOMEM;
	write_headings(rows, out);
	for (i = 0; i < rows->nr; i++)
		if (write_row(rows, &rows->totals.groups[i], out) < 0)
			return -ENOMEM;
	(void)putc('\n', out);
	return 0;
}

/* --- the heaviest path ----------------------------------------------------------------------- */

/* From the root on into the heaviest callee, as long as that has most of what is left. */
static int find_path(const struct call_tree *tree, struct call_node *ret_leaf)
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

static int write_path_lines(const struct call_tree *tree, const struct call_node *leaf, FILE *out)
{
	size_t nr, i;
	const uint32_t *words = named_stacks_get(tree->stacks, tree->order[leaf->first], &nr);

	for (i = 0; i < leaf->depth; i++) {
		cleanup_free char *name =
			markdown_clean_name(named_stacks_word(tree->stacks, words[i]));

		if (!name)
			return -ENOMEM;
		if (leaf->depth <= MAX_PATH_LINES || i < MAX_PATH_LINES / 2 ||
		    i >= leaf->depth - MAX_PATH_LINES / 2)
			(void)fprintf(out, "    %s\n", name);
		else if (i == MAX_PATH_LINES / 2)
			(void)fprintf(out, "    … %zu more\n", leaf->depth - MAX_PATH_LINES);
	}
	return 0;
}

/* As an indented block, which has no end that a name could write. */
static int write_path(const struct profile *profile, const struct report_options *options,
		      FILE *out)
{
	const struct named_stacks_style style = {
		.labels = options->labels,
		.suffixes = {.inlined = " [i]", .kernel = " [k]"},
		.no_user = options->no_user,
		.no_kernel = options->no_kernel,
		.lines = options->lines,
		.show_modules = true,
		.fold_recursion = true,
	};
	cleanup(named_stacks_clear) struct named_stacks stacks = {0};
	cleanup(call_tree_clear) struct call_tree tree = {0};
	struct call_node leaf;

	if (named_stacks_init(&stacks, profile, &style) < 0 || call_tree_init(&tree, &stacks) < 0 ||
	    find_path(&tree, &leaf) < 0)
		return -ENOMEM;
	if (!leaf.depth)
		return 0;
	(void)fprintf(out, "The heaviest path, %.1f%% of all:\n\n",
		      100.0 * (double)leaf.count / (double)stacks.total);
	return write_path_lines(&tree, &leaf, out);
}

/* --- all of it ------------------------------------------------------------------------------- */

static int write_all(const struct profile *profile, const struct report_options *options, FILE *out)
{
	cleanup(report_rows_clear) struct report_rows rows = {0};
	struct report_style style = options->style;

	if (!style.max_rows)
		style.max_rows = DEFAULT_ROWS;
	if (write_head(profile, out) < 0)
		return -ENOMEM;
	if (!profile_total(profile))
		return 0;
	if (report_rows_init(&rows, profile, &style, options->categories) < 0)
		return -ENOMEM;
	report_rows_drop_modules(&rows);
	if (write_tables(&rows, out) < 0)
		return -ENOMEM;
	return style.form == REPORT_NONE ? 0 : write_path(profile, options, out);
}

int markdown_write(const struct profile *profile, const struct report_options *options, FILE *out)
{
	int result;

	errno = 0;
	result = write_all(profile, options, out);
	if (result < 0)
		return result;
	return stream_finish(out);
}
