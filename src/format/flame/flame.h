/*
 * Flame graphs as files: a picture, and speedscope's own format. Equal profiles give equal bytes.
 */
#ifndef STOOK_FORMAT_FLAME_FLAME_H
#define STOOK_FORMAT_FLAME_FLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "format/format.h"
#include "profile/profile.h"

struct palette; /* see format/flame/palette.h */

/*
 * How flame graphs look: the options of flamegraph.pl by the same names, for the formats that draw
 * one. A style of zeros is the default.
 */
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

/* --- the picture -------------------------------------------------------------------------------- */

/*
 * A flame graph as a picture: an SVG file that stands alone. Without a script (in a mail, in a
 * converter) it is a picture with tooltips; in a browser its script (svg.js) zooms and
 * searches.
 *
 * With a value of type "before" (view/diff/difference.h) it is a picture of what changed: red is
 * more, blue is less, grey is what chance may have done. Boxes are then as wide as what was there
 * before and what is there now together, so that what vanished is seen.
 */

/*
 * True if the style's total is less than what the profile has, of which the picture's width cannot be
 * a part: it is drawn as if there were none.
 */
bool svg_ignores_total(const struct profile *profile, const struct flame_style *style);

/* Writes and flushes. 0, -ENOMEM, or the stream's errno. */
int svg_write(const struct profile *profile, const struct format_options *options, FILE *out);

/* --- speedscope --------------------------------------------------------------------------------- */

/*
 * speedscope's own file format, by its public schema: JSON with a table of frames and, for each
 * value that samples have, a profile of the type "sampled".
 *
 *	frames		name; file and line where the source is known, else the file that the code is
 *			in; labels that were asked for are frames at the root, as in folded stacks
 *	profiles	first the event's own amount (count times period) where the period is fixed,
 *			then the count, then what other values there are
 *	samples		root first, each stack once, in the order of their names: so its "time order"
 *			is a flame graph; of a profile with slices of time slice by slice, so that it
 *			is the order of time
 *
 * One profile has all threads, told apart by their frames: a thread can be singled out there, and
 * the whole can't be had from a list of hundreds.
 */

/* Writes and flushes. 0, -ENOMEM, or the stream's errno. */
int speedscope_write(const struct profile *profile, const struct format_options *options,
		     FILE *out);

#endif
