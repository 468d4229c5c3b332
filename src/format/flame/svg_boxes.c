/*
 * A box is a rectangle with its tooltip, followed by a text if there is room:
 *
 *	<g><title>dictFind (1,234 samples, 3.25%)
 *	redis-server</title><rect x="12.5%" y="160" width="3.25%" height="15" fill="#f0a050"/><text
 *	x="12.5%" y="171">dictFind</text></g>
 *
 * With the title inside the rectangle, Chromium takes four times as long to load the picture.
 *
 * Positions are in percent of the frames' width, so a narrower picture only needs new texts. The
 * script derives a box's name from the first line of the title, up to the last " ("; its depth from
 * y; and its place in the tree from the order, since boxes are in pre-order, callers first.
 */
#include "format/flame/svg_graph.h"

#include <math.h>

#include "format/flame/svg_text.h"
#include "base/text.h"

/* Precise enough for a zoom into the narrowest box. */
#define DECIMALS 6

/* Pixels between a box and the box above, and between its edge and its text. */
#define GAP  1
#define EDGE 3

/* --- colours --------------------------------------------------------------------------------- */

static struct color change_color(const struct svg_graph *graph, const struct flame_node *node)
{
	struct difference difference = svg_graph_difference(graph, node);
	bool is_red = (difference.change > 0) != graph->style.negate;
	double strength;

	if (difference.kind == CHANGE_NONE || !(graph->most_change > 0))
		return palette_unchanged();
	/* The square root keeps small changes visible beside a few large ones. */
	strength = sqrt(fabs(difference.change) / graph->most_change);
	return is_red ? palette_more(strength) : palette_less(strength);
}

static struct color ratio_color(const struct svg_graph *graph, const struct flame_node *node)
{
	const double part = ratio_of(&graph->ratio, node->count, node->other);

	return isnan(part) ? palette_unchanged()
			   : palette_ratio(ratio_deviation(&graph->ratio, part));
}

static struct variate variate_of(const struct svg_graph *graph, const struct flame_node *node,
				 const char *function)
{
	if (graph->style.random)
		return variate_by_number((uint64_t)(node - graph->nodes.nodes));
	return graph->style.hash ? variate_by_likeness(function) : variate_by_name(function);
}

/* A function's colour is the same for all callers and source lines. */
static struct color function_color(const struct svg_graph *graph, const struct flame_node *node)
{
	const struct word_info *info = named_stacks_info(&graph->stacks, node->word);
	const char *name = svg_graph_name(graph, node);
	const char *function =
		info->function ? profile_string(graph->profile, info->function) : name;

	return palette_color(graph->style.palette, name, info->kind,
			     variate_of(graph, node, function));
}

static struct color box_color(struct svg_graph *graph, const struct flame_node *node)
{
	static const struct color root = {224, 224, 224};

	if (graph->category_of_word)
		return palette_category(graph->rank_of[svg_graph_category(graph, node)]);
	if (!node->word)
		return root;
	if (graph->has_ratio)
		return ratio_color(graph, node);
	return graph->is_difference ? change_color(graph, node) : function_color(graph, node);
}

/* --- tooltips -------------------------------------------------------------------------------- */

void svg_boxes_write_count(const struct svg_graph *graph, uint64_t count, FILE *out)
{
	char number[NUMBER_COMMAS_BYTES];
	double shown = (double)count * graph->style.factor;

	if (graph->style.factor != 1)
		count = shown < 1e19 ? (uint64_t)(shown + 0.5) : UINT64_MAX;
	(void)fputs_unlocked(number_commas(number, count), out);
	(void)putc_unlocked(' ', out);
	svg_text(out, graph->style.countname);
}

static void write_share(const struct svg_graph *graph, double number, FILE *out)
{
	if (graph->scale.by_time)
		(void)fprintf(out, "%.4g/s", number);
	else
		svg_percent(out, number, 2);
}

static void write_change(const struct svg_graph *graph, const struct flame_node *node, FILE *out)
{
	static const char *const words[] = {
		[CHANGE_NONE] = "within noise", [CHANGE_MORE] = "more", [CHANGE_LESS] = "less",
		[CHANGE_NEW] = "new",		[CHANGE_GONE] = "gone",
	};
	struct difference difference = svg_graph_difference(graph, node);

	(void)fputs_unlocked("before ", out);
	write_share(graph, difference.before, out);
	(void)fputs_unlocked(", after ", out);
	write_share(graph, difference.after, out);
	(void)fputs_unlocked(difference.change < 0 ? ": -" : ": +", out);
	write_share(graph, fabs(difference.change), out);
	(void)fputs_unlocked(" \xc2\xb1 ", out);
	write_share(graph, difference.error, out);
	(void)fprintf(out, ", %s", words[difference.kind]);
}

/* "0.85 instructions per cycle" */
static void write_ratio(const struct svg_graph *graph, const struct flame_node *node, FILE *out)
{
	const double part = ratio_of(&graph->ratio, node->count, node->other);
	char number[RATIO_NUMBER_BYTES];

	svg_text(out, ratio_number(part, number));
	(void)fputs_unlocked(isnan(part) ? " for " : " ", out);
	svg_text(out, graph->ratio.text);
}

/* Returns the module to show; NULL for labels and unknown modules. */
static const char *module_of(const struct svg_graph *graph, const struct flame_node *node)
{
	const struct word_info *info;

	if (!node->word)
		return NULL;
	info = named_stacks_info(&graph->stacks, node->word);
	return info->module == MODULE_NR_UNKNOWN
		       ? NULL
		       : profile_module_name(graph->profile, info->module);
}

static void write_tooltip(const struct svg_graph *graph, const struct flame_node *node, FILE *out)
{
	uint64_t count = node->depth ? node->count : svg_graph_total(graph);
	const char *module = module_of(graph, node);

	svg_text(out, svg_graph_name(graph, node));
	(void)fputs_unlocked(" (", out);
	svg_boxes_write_count(graph, count, out);
	(void)fputs_unlocked(", ", out);
	svg_percent(out, graph->total > 0 ? (double)count / graph->total : 0, 2);
	(void)putc_unlocked(')', out);
	if (graph->is_difference) {
		(void)putc_unlocked('\n', out);
		write_change(graph, node, out);
	}
	if (graph->has_ratio) {
		(void)putc_unlocked('\n', out);
		write_ratio(graph, node, out);
	}
	if (module) {
		(void)putc_unlocked('\n', out);
		svg_text(out, module);
	}
}

/* --- boxes ----------------------------------------------------------------------------------- */

/* Returns the upper edge of a box: flames grow upwards, icicles downwards. */
static unsigned top_of(const struct svg_graph *graph, const struct flame_node *node)
{
	unsigned row =
		graph->style.inverted ? node->depth : graph->nodes.nr_depths - 1 - node->depth;

	return graph->frames_top + row * graph->style.height;
}

static void write_mark(const struct svg_graph *graph, const struct flame_node *node, FILE *out)
{
	enum change change = svg_graph_difference(graph, node).kind;

	if (change == CHANGE_NEW)
		(void)fputs_unlocked(SVG_EDGE_OF_NEW, out);
	else if (change == CHANGE_GONE)
		(void)fputs_unlocked(SVG_EDGE_OF_GONE, out);
}

static void write_label(const struct svg_graph *graph, const struct flame_node *node, double left,
			double pixels, FILE *out)
{
	const struct flame_style *style = &graph->style;
	double room = (pixels - 2 * EDGE) / (style->fontsize * SVG_CHARACTER_WIDTH);
	double base = top_of(graph, node) + (style->height + style->fontsize * 0.72) / 2 - 0.5;

	if (room < 3)
		return;
	(void)fputs_unlocked("<text x=\"", out);
	svg_number(out, left, DECIMALS);
	(void)fputs_unlocked("%\" y=\"", out);
	svg_number(out, base, 1);
	(void)fprintf(out, "\" dx=\"%d\">", EDGE);
	svg_text_cut(out, svg_graph_name(graph, node), (size_t)room);
	(void)fputs_unlocked("</text>", out);
}

static void write_box(struct svg_graph *graph, const struct flame_node *node, FILE *out)
{
	const struct flame_style *style = &graph->style;
	double all = graph->full_width > 0 ? graph->full_width : 1;
	double left = 100 * node->start / all;
	double width = node->depth ? 100 * node->width / all : 100;

	(void)fputs_unlocked("<g><title>", out);
	write_tooltip(graph, node, out);
	(void)fputs_unlocked("</title><rect x=\"", out);
	svg_number(out, left, DECIMALS);
	(void)fputs_unlocked("%\" y=\"", out);
	svg_number(out, top_of(graph, node), 0);
	(void)fputs_unlocked("\" width=\"", out);
	svg_number(out, width, DECIMALS);
	(void)fputs_unlocked("%\" height=\"", out);
	svg_number(out, style->height > GAP ? style->height - GAP : 1, 0);
	(void)fputs_unlocked("\" fill=\"", out);
	svg_color(out, box_color(graph, node));
	(void)putc_unlocked('"', out);
	if (graph->is_difference && node->depth)
		write_mark(graph, node, out);
	(void)fputs_unlocked("/>", out);
	write_label(graph, node, left, width * (style->width - 2.0 * SVG_MARGIN) / 100, out);
	(void)fputs_unlocked("</g>\n", out);
}

void svg_boxes_write(struct svg_graph *graph, FILE *out)
{
	size_t i;

	for (i = 0; i < graph->nodes.nr && !ferror_unlocked(out); i++)
		write_box(graph, &graph->nodes.nodes[i], out);
}
