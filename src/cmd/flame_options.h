/* The options about how flame graphs look: flamegraph.pl's, by the same names. */
#ifndef STOOK_CMD_FLAME_OPTIONS_H
#define STOOK_CMD_FLAME_OPTIONS_H

#include <stdbool.h>

#include "base/error.h"
#include "cmd/options/option_table.h"
#include "format/flame/flame_style.h"

struct flame_options {
	struct flame_style style;
};

/* The rows, for option_table_parse(). */
struct option_group flame_options_group(struct flame_options *options);

#endif
