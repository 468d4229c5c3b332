/*
 * Colours that functions had in earlier pictures, and shall have in later ones: flamegraph.pl's
 * --cp. The file, palette.map there, has lines `FUNCTION->rgb(R,G,B)`.
 *
 * A map of zeros is empty.
 */
#ifndef STOOK_FORMAT_FLAME_PALETTE_MAP_H
#define STOOK_FORMAT_FLAME_PALETTE_MAP_H

#include <stddef.h>
#include <stdio.h>

#include "base/strings.h"
#include "format/flame/palette.h"

struct palette_map {
	struct strings *names;
	struct color *colors; /* by the name's number; black is none */
	size_t nr_colors, cap_colors;
};

const struct color *palette_map_find(struct palette_map *map, const char *name);    /* or NULL */
int palette_map_add(struct palette_map *map, const char *name, struct color color); /* or -ENOMEM */

/* Lines of other shapes are passed over. 0, -ENOMEM or the stream's errno. */
int palette_map_read(struct palette_map *map, FILE *in);
int palette_map_write(const struct palette_map *map, FILE *out);
void palette_map_clear(struct palette_map *map);

#endif
