/*
 * Flame graphs as files: an SVG picture, and speedscope's format. Equal profiles give equal bytes.
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
 * How flame graphs look: the options of flamegraph.pl with the same names, for the formats that
 * draw a flame graph. A zero-initialised style is the default.
 */
struct flame_style {
	const char *title, *subtitle, *notes; /* NULL: event; number of samples; none */
	const char *countname, *nametype;     /* NULL: unit of the counts; "Function:" */
	const char *fonttype;		      /* NULL: Verdana */
	const char *bgcolors;		      /* NULL: palette's background; a name, or #rrggbb */
	const struct palette *palette;	      /* NULL: by kind of frame */
	double fontsize;		      /* 0: 12 */
	unsigned width;			      /* width of the picture; 0: 1200 */
	unsigned height;		      /* height of a frame; 0: 16 */
	double minwidth;		      /* in pixels; 0: 0.1 */
	double minwidth_percent;	      /* replaces minwidth; 0: unset */
	double total;			      /* full width, in counts as read; 0: all samples */
	double factor;			      /* counts are multiplied by it; 0: 1 */
	bool inverted;			      /* icicle: root at the top */
	bool reverse;			      /* merge stacks from the leaf */
	bool flamechart;		      /* keep the order of the input */
	bool negate;			      /* in a difference, blue is more */
	bool hash;			      /* similar names get similar colours */
	bool random;			      /* random colours, the same in each run */
};

/* --- the picture -------------------------------------------------------------------------------- */

/*
 * A flame graph as a self-contained SVG file. Without scripts (in a mail, in a converter) it is a
 * picture with tooltips; in a browser its script (svg.js) zooms and searches.
 *
 * With a value of type "before" (view/diff/difference.h) it shows the difference: red is more, blue
 * is less, grey is within noise. The width of a box is then the sum of before and after, so that
 * code that vanished is visible.
 */

/*
 * True if style->total is less than the profile's total. Such a total cannot be the full width and
 * is ignored.
 */
bool svg_ignores_total(const struct profile *profile, const struct flame_style *style);

/* Writes and flushes. Returns 0, -ENOMEM, or the stream's errno. */
int svg_write(const struct profile *profile, const struct format_options *options, FILE *out);

/* --- speedscope --------------------------------------------------------------------------------- */

/*
 * speedscope's own file format, by its public schema: JSON with a table of frames and a profile of
 * type "sampled" for each value of the samples.
 *
 *	frames		name; file and line where the source is known, else the module; requested
 *			labels are frames at the root, as in folded stacks
 *	profiles	first the event's amount (count times period) where the period is fixed, then
 *			the count, then other values
 *	samples		root first, each stack once, sorted by names: speedscope's "time order" is
 *			then a flame graph. With time slices, slice by slice: the order of time
 *
 * One profile contains all threads, distinguished by their frames: a single thread can be selected
 * there, whereas a list of hundreds of profiles has no view of the whole.
 */

/* Writes and flushes. Returns 0, -ENOMEM, or the stream's errno. */
int speedscope_write(const struct profile *profile, const struct format_options *options,
		     FILE *out);

#endif
