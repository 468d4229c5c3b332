/*
 * The colours of flame graphs: palettes by the names that flamegraph.pl has for them, and one of
 * our own that tells kinds of frames apart.
 *
 * A palette gives a frame a range of colours, by its kind and the shape of its name, and a
 * *variate* says where in the range. Variates come from the name, so that a function has the same
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

struct variate variate_by_name(const char *name); /* different for any two names */
struct variate variate_by_likeness(
	const char *name);			   /* names that begin alike are near each other */
struct variate variate_by_number(uint64_t number); /* by chance, the same each time */

struct color palette_color(const struct palette *palette, const char *name, enum word_kind kind,
			   struct variate variate);

/* The colour of a kind in the palette of kinds, and its name in a legend. */
struct color palette_kind_color(enum word_kind kind);
const char *palette_kind_name(enum word_kind kind);

/* Colours of differences: from pale to strong, strength being 0 to 1. */
struct color palette_more(double strength);
struct color palette_less(double strength);
struct color palette_unchanged(void);

/* Colours that are told apart, the first ones easily, for categories by rank; 0: of none. */
struct color palette_category(size_t rank);

/* Behind the frames, from top to bottom. */
struct background {
	struct color top, bottom;
};

struct background palette_background(const struct palette *palette);

/* "white", "yellow", "blue", "green", "grey", or "#rrggbb" for one colour all over. -EINVAL. */
int background_parse(const char *text, struct background *ret);

#endif
