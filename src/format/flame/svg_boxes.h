/* The boxes of a flame graph, with their colours, tooltips and texts. */
#ifndef STOOK_FORMAT_FLAME_SVG_BOXES_H
#define STOOK_FORMAT_FLAME_SVG_BOXES_H

#include <stdio.h>

#include "format/flame/svg_graph.h"

/* A character is about so wide, in font sizes. */
#define SVG_CHARACTER_WIDTH 0.59

/* How boxes are marked that were not there before, and that are not there any more. */
#define SVG_EDGE_OF_NEW	 " stroke=\"#801000\""
#define SVG_EDGE_OF_GONE " stroke=\"#103080\" stroke-dasharray=\"3,2\""

/* "1,234 samples", as the style calls and multiplies them. */
void svg_boxes_write_count(const struct svg_graph *graph, uint64_t count, FILE *out);

/* 0, or -ENOMEM where colours are to be kept. Errors of the stream are the caller's to look for. */
int svg_boxes_write(struct svg_graph *graph, FILE *out);

#endif
