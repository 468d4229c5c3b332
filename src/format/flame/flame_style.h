/*
 * How flame graphs look: the options of flamegraph.pl by the same names, for the formats that draw
 * one. A style of zeros is the default.
 */
#ifndef STOOK_FORMAT_FLAME_FLAME_STYLE_H
#define STOOK_FORMAT_FLAME_FLAME_STYLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct palette; /* see format/flame/palette.h */

struct flame_style {
	const char *title, *subtitle, *notes; /* NULL: what was sampled; how many samples; none */
	const char *countname, *nametype;     /* NULL: what the counts are of; "Function:" */
	const char *fonttype;		      /* NULL: Verdana */
	const char *bgcolors;		      /* NULL: by palette; a name, or #rrggbb */
	const struct palette *palette;	      /* NULL: by kind of frame */
	double fontsize;		      /* 0: 12 */
	unsigned width;			      /* of the picture; 0: 1200 */
	unsigned height;		      /* of a frame; 0: 16 */
	double minwidth;		      /* in pixels; 0: 0.1 */
	double minwidth_percent;	      /* instead; 0: not */
	double total;			      /* the whole width in counts as read; 0: all */
	double factor;			      /* counts are multiplied with it; 0: 1 */
	bool inverted;			      /* icicle: the root on top */
	bool reverse;			      /* stacks are merged from the leaf */
	bool flamechart;		      /* in the order of the input */
	bool negate;			      /* of a difference: blue is more */
	bool hash;			      /* names that begin alike get colours alike */
	bool random;			      /* colours by chance, the same each time */
};

#endif
