/* The options about how flame graphs look: flamegraph.pl's, by the same names. */
#ifndef STOOK_CMD_FLAME_OPTIONS_H
#define STOOK_CMD_FLAME_OPTIONS_H

#include <stdbool.h>

#include "base/error.h"
#include "cmd/options/option_table.h"
#include "format/flame/flame_style.h"
#include "format/flame/palette_map.h"

struct flame_options {
	struct flame_style style;
	bool keeps_palette; /* in the file palette.map */
	struct palette_map palette_map;
};

/* The rows, for option_table_parse(). */
struct option_group flame_options_group(struct flame_options *options);

/*
 * Reads palette.map, if that is wanted and the file is there, before graphs are drawn. 0 or -errno.
 */
int flame_options_load(struct flame_options *options, struct error *error);

/* Writes it, with what was added, afterwards. */
int flame_options_save(const struct flame_options *options, struct error *error);
void flame_options_clear(struct flame_options *options);

#endif
