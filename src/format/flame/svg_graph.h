/* The picture's contents and measures, shared by the files that write SVG. */
#ifndef STOOK_FORMAT_FLAME_SVG_GRAPH_H
#define STOOK_FORMAT_FLAME_SVG_GRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "format/flame/flame.h"
#include "format/flame/palette.h"
#include "format/format.h"
#include "view/categories.h"
#include "view/diff/difference.h"
#include "view/flame_nodes.h"
#include "view/named_stacks.h"

/* Left and right of the frames. */
#define SVG_MARGIN 10

/*
 * More boxes no browser moves smoothly: then the least width is raised, unless somebody chose it.
 */
#define SVG_MAX_BOXES 100000

struct svg_graph {
	const struct profile *profile;
	const struct format_options *options;
	struct flame_style style; /* with all defaults filled in */
	struct named_stacks stacks;
	struct flame_nodes nodes;
	double full_width; /* what is as wide as the frames, in the nodes' measure */
	double total;	   /* the same in counts, of a difference those after: shares are of it */

	bool is_difference;
	struct difference_scale scale; /* likewise */
	double most_change;	       /* of any box but the root */

	uint32_t *category_of_word;	   /* NULL without categories */
	uint32_t *category_of_depth;	   /* for those who walk the nodes */
	uint32_t heaviest[CATEGORIES_MAX]; /* categories in the picture; that of none is last */
	uint32_t rank_of[CATEGORIES_MAX];  /* their places in it from 1; 0: none */
	size_t nr_heaviest;

	unsigned frames_top, frames_height, height; /* pixels; height without a legend's */
};

/* 0 or -ENOMEM; to be cleared in each case. */
int svg_graph_init(struct svg_graph *graph, const struct profile *profile,
		   const struct format_options *options);
void svg_graph_clear(struct svg_graph *graph);

/* A box's name, as it is shown and searched for. */
const char *svg_graph_name(const struct svg_graph *graph, const struct flame_node *node);

/*
 * A box's category: its function's, else its caller's. Nodes are to be asked for in their order,
 * since callers' are remembered.
 */
uint32_t svg_graph_category(struct svg_graph *graph, const struct flame_node *node);

/* The root's total: all counts, or more where the style has a larger total. */
uint64_t svg_graph_total(const struct svg_graph *graph);

struct difference svg_graph_difference(const struct svg_graph *graph,
				       const struct flame_node *node);

/* --- boxes ----------------------------------------------------------------------------------- */

/* A character is about so wide, in font sizes. */
#define SVG_CHARACTER_WIDTH 0.59

/* How boxes are marked that were not there before, and that are not there any more. */
#define SVG_EDGE_OF_NEW	 " stroke=\"#801000\""
#define SVG_EDGE_OF_GONE " stroke=\"#103080\" stroke-dasharray=\"3,2\""

/* "1,234 samples", as the style calls and multiplies them. */
void svg_boxes_write_count(const struct svg_graph *graph, uint64_t count, FILE *out);

/* The boxes, with their colours, tooltips and texts. Errors of the stream are the caller's to look for. */
void svg_boxes_write(struct svg_graph *graph, FILE *out);

#endif
