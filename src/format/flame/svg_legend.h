/*
 * What the colours of a flame graph mean, and of a difference the widths: in rows below the boxes.
 */
#ifndef STOOK_FORMAT_FLAME_SVG_LEGEND_H
#define STOOK_FORMAT_FLAME_SVG_LEGEND_H

#include <stddef.h>
#include <stdio.h>

#include "format/flame/svg_graph.h"

struct svg_legend {
	struct svg_legend_entry {
		const char *text; /* the graph's, or for good */
		struct color color;
		const char *edge; /* further attributes of its box; NULL: it has none */
		double left;	  /* pixels */
		unsigned row;
	} entries[CATEGORIES_MAX];
	size_t nr;
	unsigned nr_rows;
};

/* Of what is in the graph; no entry where colours mean nothing. */
void svg_legend_init(struct svg_legend *legend, const struct svg_graph *graph);

unsigned svg_legend_height(const struct svg_legend *legend, const struct svg_graph *graph);
void svg_legend_write(const struct svg_legend *legend, const struct svg_graph *graph, FILE *out);

#endif
