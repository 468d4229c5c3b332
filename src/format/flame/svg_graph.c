/* Names the stacks, lays them out, and computes the picture's dimensions; writes nothing. */
#include "format/flame/svg_graph.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/diff/comparison.h"

/* --- defaults -------------------------------------------------------------------------------- */

/* Counts with fractions are stored multiplied to integers, and are shown divided. */
static void name_counts(const struct profile *profile, struct flame_style *style)
{
	const char *name = profile_value_name(profile, 0);
	struct value_scale scale = profile_scale(profile);

	style->total *= (double)scale.factor;
	if (scale.decimals)
		style->factor /= (double)scale.factor;
	else if (profile_is_sum(profile))
		name = profile_value_unit(profile, 0);
	style->countname = style->countname ? style->countname : name;
}

static void fill_style(struct svg_graph *graph)
{
	static const struct flame_style none = {.title = NULL};
	struct flame_style *style = &graph->style;

	*style = graph->options->flame ? *graph->options->flame : none;
	style->nametype = style->nametype ? style->nametype : "Function:";
	style->fonttype = style->fonttype ? style->fonttype : "Verdana";
	style->palette = style->palette ? style->palette : palette_of_kinds();
	style->fontsize = style->fontsize > 0 ? style->fontsize : 12;
	style->width = style->width ? style->width : 1200;
	style->height = style->height ? style->height : 16;
	style->factor = style->factor > 0 ? style->factor : 1;
	name_counts(graph->profile, style);
}

/* --- boxes ----------------------------------------------------------------------------------- */

static int name_stacks(struct svg_graph *graph, size_t before)
{
	const struct named_stacks_style style = {
		.labels = graph->options->labels,
		.no_user = graph->options->no_user,
		.no_kernel = graph->options->no_kernel,
		.lines = graph->options->lines,
		.by_origin = true,
		.reverse = graph->style.reverse,
		.keep_order = graph->style.flamechart,
		.other_value = before,
	};

	return named_stacks_init(&graph->stacks, graph->profile, &style);
}

/* Returns the minimum width of a box in the nodes' unit. */
static double least_width(const struct svg_graph *graph)
{
	const struct flame_style *style = &graph->style;
	double pixels = style->width > 2 * SVG_MARGIN ? style->width - 2 * SVG_MARGIN : 1;
	double least = style->minwidth > 0 ? style->minwidth : 0.1;

	if (style->minwidth_percent > 0)
		return graph->full_width * style->minwidth_percent / 100;
	return graph->full_width * least / pixels;
}

static int lay_out(struct svg_graph *graph)
{
	struct flame_shape shape = {.flamechart = graph->style.flamechart};
	double total = (double)graph->stacks.total;

	if (graph->is_difference && graph->scale.before_all > 0)
		shape.other_weight = graph->scale.after_all > 0
					     ? graph->scale.after_all / graph->scale.before_all
					     : 1;
	graph->total = fmax(total, graph->style.total);
	graph->full_width = total + shape.other_weight * (double)graph->stacks.others_total;
	if (total > 0)
		graph->full_width *= graph->total / total;
	shape.least_width = least_width(graph);
	if (!(graph->style.minwidth > 0) && !(graph->style.minwidth_percent > 0))
		shape.max_nodes = SVG_MAX_BOXES;
	return flame_nodes_init(&graph->nodes, &graph->stacks, &shape);
}

/* --- differences and categories -------------------------------------------------------------- */

struct difference svg_graph_difference(const struct svg_graph *graph, const struct flame_node *node)
{
	return difference_of(&graph->scale, node->other, node->count);
}

static uint32_t category_of_word(const struct svg_graph *graph, uint32_t word)
{
	const struct word_info *info = named_stacks_info(&graph->stacks, word);

	if (!info->function || info->kind == WORD_LABEL || info->kind == WORD_MISSED)
		return CATEGORY_OTHER;
	return categories_of_function(graph->options->categories,
				      profile_string(graph->profile, info->function),
				      profile_module_name(graph->profile, info->module),
				      info->kind == WORD_KERNEL ? FRAME_KERNEL : FRAME_USER);
}

static int find_categories(struct svg_graph *graph)
{
	size_t nr = graph->stacks.nr_words;
	uint32_t word;

	graph->category_of_word = calloc(nr + 1, sizeof(*graph->category_of_word));
	graph->category_of_depth =
		calloc(graph->nodes.nr_depths + 1, sizeof(*graph->category_of_depth));
	if (!graph->category_of_word || !graph->category_of_depth)
		return -ENOMEM;
	for (word = 1; word < nr; word++)
		graph->category_of_word[word] = category_of_word(graph, word);
	return 0;
}

uint32_t svg_graph_category(struct svg_graph *graph, const struct flame_node *node)
{
	uint32_t category = node->word ? graph->category_of_word[node->word] : CATEGORY_OTHER;

	if (!category && node->depth)
		category = graph->category_of_depth[node->depth - 1];
	graph->category_of_depth[node->depth] = category;
	return category;
}

static int compare_weights(const void *a, const void *b, void *context)
{
	const uint64_t *weights = context;
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	if ((one == CATEGORY_OTHER) != (other == CATEGORY_OTHER))
		return one == CATEGORY_OTHER ? 1 : -1;
	if (weights[one] != weights[other])
		return weights[one] > weights[other] ? -1 : 1;
	return (one > other) - (one < other);
}

/* Ranks categories by weight, like the page, so that wide ones get colours easy to distinguish. */
static void rank_categories(struct svg_graph *graph)
{
	uint64_t weights[CATEGORIES_MAX] = {0};
	bool seen[CATEGORIES_MAX] = {false};
	uint32_t i;
	size_t node;

	for (node = 0; node < graph->nodes.nr; node++) {
		const struct flame_node *at = &graph->nodes.nodes[node];
		uint32_t category = svg_graph_category(graph, at);

		seen[category] = true;
		weights[category] += at->count;
		if (at->depth) /* subtract it from the caller's category */
			weights[graph->category_of_depth[at->depth - 1]] -= at->count;
	}
	for (i = 0; i < CATEGORIES_MAX; i++)
		if (seen[i])
			graph->heaviest[graph->nr_heaviest++] = i;
	qsort_r(graph->heaviest, graph->nr_heaviest, sizeof(*graph->heaviest), compare_weights,
		weights);
	for (i = 0; i < graph->nr_heaviest; i++)
		if (graph->heaviest[i] != CATEGORY_OTHER)
			graph->rank_of[graph->heaviest[i]] = i + 1;
}

/* --- the whole graph ------------------------------------------------------------------------- */

int svg_graph_init(struct svg_graph *graph, const struct profile *profile,
		   const struct format_options *options)
{
	static const struct comparison_style by_default;
	size_t before = comparison_value(profile);
	bool has_subtitle;
	double size;
	size_t i;
	int err = 0;

	*graph = (struct svg_graph){
		.profile = profile, .options = options, .is_difference = before > 0};
	graph->has_ratio = !before && !options->categories &&
			   !(options->flame && options->flame->palette) &&
			   ratio_find(&graph->ratio, profile);
	fill_style(graph);
	if (before)
		err = comparison_scale(&graph->scale, profile,
				       options->comparison ? options->comparison : &by_default);
	if (!err)
		err = name_stacks(graph, graph->has_ratio ? graph->ratio.other : before);
	if (!err)
		err = lay_out(graph);
	if (err)
		return err;
	size = graph->style.fontsize;
	has_subtitle = !graph->style.subtitle || *graph->style.subtitle;
	for (i = 1; graph->is_difference && i < graph->nodes.nr; i++)
		graph->most_change =
			fmax(graph->most_change,
			     fabs(svg_graph_difference(graph, &graph->nodes.nodes[i]).change));
	if (!graph->is_difference && options->categories)
		err = find_categories(graph);
	if (!err && graph->category_of_word)
		rank_categories(graph);
	/* From the top: title, subtitle, frames, details; the legend adds its own height. */
	graph->frames_top = (unsigned)(size * (has_subtitle ? 5 : 3.5));
	graph->frames_height = graph->nodes.nr_depths * graph->style.height;
	graph->height = graph->frames_top + graph->frames_height + (unsigned)(size * 3);
	return err;
}

void svg_graph_clear(struct svg_graph *graph)
{
	named_stacks_clear(&graph->stacks);
	flame_nodes_clear(&graph->nodes);
	free(graph->category_of_word);
	free(graph->category_of_depth);
	graph->category_of_word = graph->category_of_depth = NULL;
}

uint64_t svg_graph_total(const struct svg_graph *graph)
{
	if (graph->total <= (double)graph->stacks.total)
		return graph->stacks.total;
	return graph->total < 1e19 ? (uint64_t)(graph->total + 0.5) : UINT64_MAX;
}

const char *svg_graph_name(const struct svg_graph *graph, const struct flame_node *node)
{
	const char *name = node->word ? named_stacks_word(&graph->stacks, node->word) : "all";

	return *name ? name : "[unknown]";
}
