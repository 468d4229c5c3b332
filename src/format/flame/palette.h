/*
 * The colours of flame graphs: palettes with the names of flamegraph.pl's, and our own palette,
 * which distinguishes the kinds of frames.
 *
 * A palette gives a frame a range of colours, by its kind and the form of its name; a *variate*
 * selects a colour within the range. Variates depend on the name, so that a function has the same
 * colour in all graphs.
 */
#ifndef STOOK_FORMAT_FLAME_PALETTE_H
#define STOOK_FORMAT_FLAME_PALETTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/named_stacks.h"

struct color {
	uint8_t red, green, blue;
};

struct variate {
	uint8_t parts[3]; /* independent of each other, each 0 to 255 */
};

struct palette;

const struct palette *palette_by_name(const char *name); /* NULL if there is none */
const char *palette_names(void);			 /* "hot, mem, …", for messages */
const struct palette *palette_of_kinds(void);		 /* the default: "kind" */

struct variate variate_by_name(const char *name);     /* independent for different names */
struct variate variate_by_likeness(const char *name); /* similar for names with the same start */
struct variate variate_by_number(uint64_t number);    /* pseudo-random, the same in each run */

struct color palette_color(const struct palette *palette, const char *name, enum word_kind kind,
			   struct variate variate);

/* Returns a kind's colour in the default palette, and its name in the legend. */
struct color palette_kind_color(enum word_kind kind);
const char *palette_kind_name(enum word_kind kind);

/*
 * Returns the number of the state of threads, or kind of locks, that a frame stands for, by its name: "[blocked]".
 * PALETTE_NR_STATES: none.
 */
#define PALETTE_NR_STATES 15
size_t palette_state(const char *name);
struct color palette_state_color(size_t state); /* in the default palette */

/* Colours of differences; strength goes from 0, pale, to 1, strong. */
struct color palette_more(double strength);
struct color palette_less(double strength);
struct color palette_unchanged(void);

/* Colour of a ratio by its deviation from the whole: -1 blue, 0 white to yellow, 1 red. */
struct color palette_ratio(double deviation);

/*
 * Returns a category's colour by its rank; lower ranks are easier to distinguish. 0: no category.
 */
struct color palette_category(size_t rank);

/* The gradient behind the frames, from top to bottom. */
struct background {
	struct color top, bottom;
};

struct background palette_background(const struct palette *palette);

/*
 * Parses "white", "yellow", "blue", "green", "grey", or "#rrggbb" for a plain colour. 0 or -EINVAL.
 */
int background_parse(const char *text, struct background *ret);

#endif
