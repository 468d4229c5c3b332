/*
 * The heaviest paths, callers above callees:
 *
 *	TOTAL  CALL PATH
 *	61.2%  redis-server
 *	61.0%  └ __libc_start_main
 *	         main
 *	         aeMain
 *	40.2%    ├ readQueryFromClient
 *	         │ processCommand
 *	25.1%    │ ├ (self)
 *	14.9%    │ └ call
 *	20.1%    └ beforeSleep
 *	           do_syscall_64 [k]
 *
 *	38.8%  … 12 others
 *
 * All percentages are of the whole. A line without one has the same as the line above it. Where a
 * function has one callee worth showing, that callee stands right below it: only forks indent. A
 * fork may be one between callees and the function's own time.
 *
 * Own time of a label is what has no stack. A function's recursion is folded, see named_stacks.h.
 *
 * With REPORT_FRACTAL percentages are of the branch that they fork from, and so is the threshold; a
 * line without one has all that its line above has. With REPORT_CALLEE the tree stands on its head:
 * what ran is on top, its callers are below, and labels are left out, since all that was said of
 * callees then goes for callers.
 */
#include "format/text/report_tree.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "format/text/columns.h"
#include "format/text/report_percent.h"
#include "view/call_tree.h"

#define PERCENT_COLUMNS	   (REPORT_PERCENT_COLUMNS + 2)
#define LEVEL_COLUMNS	   2 /* one fork's guide */
#define SHORT_TREE_LINES   150
#define LEAST_NAME_COLUMNS 24 /* guides never leave less to names */

struct glyphs {
	const char *fork, *last_fork, *guide, *no_guide, *left_out, *ellipsis;
};

static const struct glyphs utf8_glyphs = {"├ ", "└ ", "│ ", "  ", "… ", "…"};
static const struct glyphs ascii_glyphs = {"|-", "`-", "| ", "  ", "..", ".."};

/* What stands below a node: calls, and at most one line each of the other kinds. */
enum item_kind {
	ITEM_CALL,
	ITEM_SELF,
	ITEM_OTHERS,
};

struct item {
	enum item_kind kind;
	uint64_t count;
	uint64_t of;	       /* what its percentage is of */
	struct call_node node; /* the callee; for ITEM_SELF the function itself */
	size_t nr_others;      /* ITEM_OTHERS */
};

struct items {
	struct item *items;
	size_t nr, cap;
};

struct tree_writer {
	const struct named_stacks *stacks;
	const struct call_tree *tree;
	const struct report_options *options;
	const struct glyphs *glyphs;
	FILE *out;
	size_t width;
	double threshold;
	bool counting; /* lines are counted and not written */
	size_t nr_lines;
	char percent_above[16]; /* what the line above says, or would say */
	bool *guides;		/* by level: more forks come further down */
	size_t nr_levels, cap_guides;
};

/* --- what to show ------------------------------------------------------------------------------
 */

static void items_clear(struct items *items)
{
	free(items->items);
	*items = (struct items){0};
}

static bool is_label(const struct tree_writer *writer, const struct call_node *node)
{
	return node->depth <= writer->stacks->nr_labels;
}

static bool is_fractal(const struct tree_writer *writer)
{
	return writer->options->style.form == REPORT_FRACTAL;
}

/* What the percentages below a node are of. */
static uint64_t whole_of(const struct tree_writer *writer, const struct call_node *node)
{
	return is_fractal(writer) ? node->count : writer->stacks->total;
}

/* Rounded up: no branch below the threshold is shown. */
static uint64_t least_count(const struct tree_writer *writer, const struct call_node *node)
{
	double exact = (double)whole_of(writer, node) * writer->threshold / 100;
	uint64_t below = (uint64_t)exact;

	return (double)below < exact ? below + 1 : below;
}

static void add_item(struct items *items, const struct item *item)
{
	items->items[items->nr++] = *item;
}

/* A fork has so many branches at most; the lightest are others. */
static void cut_branches(const struct tree_writer *writer, struct call_children *children)
{
	unsigned most = writer->options->style.max_branches;

	while (most && children->nr > most) {
		children->others_count += children->nodes[--children->nr].count;
		children->nr_others++;
	}
}

/*
 * Callees heaviest first, the function's own time among them where it belongs, the rest last. Own
 * time alone is no item: a path that just ends says that already.
 */
static void order_items(const struct tree_writer *writer, const struct call_node *node,
			const struct call_children *children, struct items *items)
{
	uint64_t of = whole_of(writer, node), least = least_count(writer, node);
	const struct item self = {
		.kind = ITEM_SELF, .count = children->self_count, .of = of, .node = *node};
	const struct item others = {.kind = ITEM_OTHERS,
				    .count = children->others_count,
				    .of = of,
				    .nr_others = children->nr_others};
	bool with_others = others.count && others.count >= least;
	bool alone = !children->nr && !with_others && !is_label(writer, node);
	bool with_self = self.count && self.count >= least && !alone;
	size_t i;

	for (i = 0; i < children->nr; i++) {
		const struct call_node *child = &children->nodes[i];

		if (with_self && self.count > child->count) {
			add_item(items, &self);
			with_self = false;
		}
		add_item(items, &(struct item){.kind = ITEM_CALL,
					       .count = child->count,
					       .of = of,
					       .node = *child});
	}
	if (with_self)
		add_item(items, &self);
	if (with_others)
		add_item(items, &others);
}

static int find_items(const struct tree_writer *writer, const struct call_node *node,
		      struct items *ret)
{
	cleanup(call_children_clear) struct call_children children = {0};

	if (call_tree_children(writer->tree, node, least_count(writer, node), &children) < 0)
		return -ENOMEM;
	cut_branches(writer, &children);
	ret->nr = 0;
	if (array_reserve(&ret->items, &ret->cap, children.nr + 2, sizeof(*ret->items)) < 0)
		return -ENOMEM;
	order_items(writer, node, &children, ret);
	return 0;
}

/* --- lines -------------------------------------------------------------------------------------
 */

static void write_percent(struct tree_writer *writer, const struct item *item, bool always)
{
	char text[16];
	double percent = 100.0 * (double)item->count / (double)item->of;

	(void)snprintf(text, sizeof(text), "%5.1f%%", percent);
	if (is_fractal(writer)) /* below the line above there is nothing else */
		(void)snprintf(writer->percent_above, sizeof(writer->percent_above), "100.0%%");
	if (!always && !strcmp(text, writer->percent_above)) {
		columns_pad(writer->out, PERCENT_COLUMNS);
	} else {
		report_percent_write(writer->out, percent, writer->options->color);
		columns_pad(writer->out, PERCENT_COLUMNS - REPORT_PERCENT_COLUMNS);
	}
	memcpy(writer->percent_above, text, sizeof(text));
}

/*
 * Guides of all levels above, of which the outermost are left out when there are too many. With
 * `fork`, the innermost one is where this line's own path begins. Returns the columns written.
 */
static size_t write_guides(const struct tree_writer *writer, bool fork)
{
	size_t room = (writer->width - PERCENT_COLUMNS - LEAST_NAME_COLUMNS) / LEVEL_COLUMNS;
	size_t first = writer->nr_levels > room ? writer->nr_levels - room : 0;
	size_t i;

	for (i = first; i < writer->nr_levels; i++) {
		bool more = writer->guides[i];
		const char *glyph = more ? writer->glyphs->guide : writer->glyphs->no_guide;

		if (first && i == first)
			glyph = writer->glyphs->left_out;
		else if (fork && i == writer->nr_levels - 1)
			glyph = more ? writer->glyphs->fork : writer->glyphs->last_fork;
		(void)fputs(glyph, writer->out);
	}
	return (writer->nr_levels - first) * LEVEL_COLUMNS;
}

static void write_call(const struct tree_writer *writer, uint32_t word, size_t columns)
{
	bool recursive = named_stacks_is_recursive(writer->stacks, word);
	const char *mark = recursive ? " (recursive)" : "";

	(void)columns_write(writer->out, named_stacks_word(writer->stacks, word),
			    columns - strlen(mark), writer->glyphs->ellipsis);
	(void)fputs(mark, writer->out);
}

static const char *self_text(const struct tree_writer *writer, const struct call_node *node)
{
	if (is_label(writer, node))
		return "(no stack)";
	return writer->options->style.order == REPORT_CALLEE ? "(no caller)" : "(self)";
}

static void write_item(struct tree_writer *writer, const struct item *item, bool fork)
{
	size_t columns = writer->width - PERCENT_COLUMNS;

	writer->nr_lines++;
	if (writer->counting)
		return;
	write_percent(writer, item, fork || item->kind == ITEM_OTHERS);
	columns -= write_guides(writer, fork);
	switch (item->kind) {
	case ITEM_CALL:
		write_call(writer, item->node.word, columns);
		break;
	case ITEM_SELF:
		(void)fputs(self_text(writer, &item->node), writer->out);
		break;
	case ITEM_OTHERS:
		(void)fprintf(writer->out, "%s %zu other%s", writer->glyphs->ellipsis,
			      item->nr_others, item->nr_others == 1 ? "" : "s");
		break;
	}
	(void)putc('\n', writer->out);
}

/* --- the tree ----------------------------------------------------------------------------------
 */

static int write_below(struct tree_writer *writer, const struct call_node *node);

static int push_level(struct tree_writer *writer)
{
	if (array_reserve(&writer->guides, &writer->cap_guides, writer->nr_levels + 1,
			  sizeof(*writer->guides)) < 0)
		return -ENOMEM;
	writer->nr_levels++;
	return 0;
}

static int write_forks(struct tree_writer *writer, const struct items *items)
{
	int result = push_level(writer);
	size_t i;

	for (i = 0; i < items->nr && !result; i++) {
		writer->guides[writer->nr_levels - 1] = i + 1 < items->nr;
		write_item(writer, &items->items[i], true);
		if (items->items[i].kind == ITEM_CALL)
			result = write_below(writer, &items->items[i].node);
	}
	writer->nr_levels--;
	return result;
}

/* Goes down while there is one way only. Labels always fork: they are not frames. */
static int write_below(struct tree_writer *writer, const struct call_node *node)
{
	cleanup(items_clear) struct items items = {0};
	struct call_node at = *node;

	for (;;) {
		if (find_items(writer, &at, &items) < 0)
			return -ENOMEM;
		if (items.nr != 1 || is_label(writer, &at))
			break;
		write_item(writer, &items.items[0], false);
		if (items.items[0].kind != ITEM_CALL)
			return 0;
		at = items.items[0].node;
	}
	return items.nr ? write_forks(writer, &items) : 0;
}

static int write_roots(struct tree_writer *writer)
{
	cleanup(items_clear) struct items items = {0};
	struct call_node root = call_tree_root(writer->tree);
	int result = find_items(writer, &root, &items);
	size_t i;

	for (i = 0; i < items.nr && !result; i++) {
		if (i && !writer->counting)
			(void)putc('\n', writer->out);
		write_item(writer, &items.items[i], true);
		if (items.items[i].kind == ITEM_CALL)
			result = write_below(writer, &items.items[i].node);
	}
	return result;
}

/* --- the whole ---------------------------------------------------------------------------------
 */

/* The first threshold that keeps the tree short; the last one if none does. 0 or -ENOMEM. */
static int choose_threshold(struct tree_writer *writer)
{
	static const double thresholds[] = {0.5, 1, 2, 5};
	size_t i;
	int result;

	writer->counting = true;
	for (i = 0;; i++) {
		writer->nr_lines = 0;
		writer->threshold = thresholds[i];
		result = write_roots(writer);
		if (result < 0)
			return result;
		if (writer->nr_lines <= SHORT_TREE_LINES || i + 1 == ARRAY_SIZE(thresholds))
			break;
	}
	writer->counting = false;
	return 0;
}

static int write_tree(struct tree_writer *writer)
{
	bool is_callee = writer->options->style.order == REPORT_CALLEE;
	int result = 0;

	writer->threshold = writer->options->style.threshold;
	if (writer->threshold <= 0)
		result = choose_threshold(writer);
	if (result < 0)
		return result;
	(void)fprintf(writer->out, "%*s  %s (below %g%% left out)\n", REPORT_PERCENT_COLUMNS,
		      is_callee ? "SELF" : "TOTAL", is_callee ? "CALLERS" : "CALL PATH",
		      writer->threshold);
	return write_roots(writer);
}

int report_tree_write(const struct profile *profile, const struct report_options *options,
		      FILE *out)
{
	bool is_callee = options->style.order == REPORT_CALLEE;
	const struct named_stacks_style style = {
		.labels = is_callee ? 0 : options->labels,
		.suffixes = {.inlined = " [i]", .kernel = " [k]"},
		.no_user = options->no_user,
		.no_kernel = options->no_kernel,
		.lines = options->lines,
		.show_modules = true,
		.fold_recursion = true,
		.reverse = is_callee,
	};
	cleanup(named_stacks_clear) struct named_stacks stacks = {0};
	cleanup(call_tree_clear) struct call_tree tree = {0};
	struct tree_writer writer = {
		.stacks = &stacks,
		.tree = &tree,
		.options = options,
		.glyphs = options->ascii ? &ascii_glyphs : &utf8_glyphs,
		.out = out,
		.width = options->width,
	};
	int result;

	if (named_stacks_init(&stacks, profile, &style) < 0 || call_tree_init(&tree, &stacks) < 0)
		return -ENOMEM;
	result = write_tree(&writer);
	free(writer.guides);
	return result;
}
