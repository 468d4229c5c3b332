/* The picture's contents and dimensions, shared by the files that write SVG. */
#ifndef STOOK_FORMAT_FLAME_SVG_GRAPH_H
#define STOOK_FORMAT_FLAME_SVG_GRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "format/flame/flame.h"
#include "format/flame/palette.h"
#include "format/format.h"
#include "profile/ratio.h"
#include "view/categories.h"
#include "view/diff/difference.h"
#include "view/flame_nodes.h"
#include "view/named_stacks.h"

/* Pixels on both sides of the frames. */
#define SVG_MARGIN 10

/*
 * Browsers do not scroll and zoom more boxes smoothly. Beyond this number the minimum width is
 * raised, unless the user chose one.
 */
#define SVG_MAX_BOXES 100000

struct svg_graph {
	const struct profile *profile;
	const struct format_options *options;
	struct flame_style style; /* with all defaults filled in */
	struct named_stacks stacks;
	struct flame_nodes nodes;
	double full_width; /* of the frames, in the nodes' unit */
	double total;	   /* full_width in counts (difference: of after); shares refer to it */

	bool is_difference;
	struct difference_scale scale; /* of a difference */
	double most_change;	       /* maximum over all boxes except the root */

	bool has_ratio; /* then boxes are coloured by it */
	struct ratio ratio;

	uint32_t *category_of_word;	   /* NULL without categories */
	uint32_t *category_of_depth;	   /* used while walking the nodes */
	uint32_t heaviest[CATEGORIES_MAX]; /* categories in the picture; CATEGORY_OTHER is last */
	uint32_t rank_of[CATEGORIES_MAX];  /* index in heaviest + 1; 0: none */
	size_t nr_heaviest;

	unsigned frames_top, frames_height, height; /* pixels; height excludes the legend */
};

/* Returns 0 or -ENOMEM; the caller clears the graph in each case. */
int svg_graph_init(struct svg_graph *graph, const struct profile *profile,
		   const struct format_options *options);
void svg_graph_clear(struct svg_graph *graph);

/* Returns a box's name, as shown and searched. */
const char *svg_graph_name(const struct svg_graph *graph, const struct flame_node *node);

/*
 * Returns a box's category: its function's, else its caller's. Must be called for the nodes in
 * order, since it remembers the callers' categories.
 */
uint32_t svg_graph_category(struct svg_graph *graph, const struct flame_node *node);

/* Returns the root's total: the sum of the counts, or the style's total if that is larger. */
uint64_t svg_graph_total(const struct svg_graph *graph);

struct difference svg_graph_difference(const struct svg_graph *graph,
				       const struct flame_node *node);

/* --- boxes ----------------------------------------------------------------------------------- */

/* Estimated width of a character, in font sizes. */
#define SVG_CHARACTER_WIDTH 0.59

/* Attributes that mark boxes that did not exist before, and boxes that no longer exist. */
#define SVG_EDGE_OF_NEW	 " stroke=\"#801000\""
#define SVG_EDGE_OF_GONE " stroke=\"#103080\" stroke-dasharray=\"3,2\""

/* Writes "1,234 samples", with the style's unit and factor. */
void svg_boxes_write_count(const struct svg_graph *graph, uint64_t count, FILE *out);

/* Writes the boxes with colours, tooltips and texts. The caller checks the stream for errors. */
void svg_boxes_write(struct svg_graph *graph, FILE *out);

#endif
