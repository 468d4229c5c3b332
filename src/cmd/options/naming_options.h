/* The options about names, of every command that shows them. */
#ifndef STOOK_CMD_OPTIONS_NAMING_OPTIONS_H
#define STOOK_CMD_OPTIONS_NAMING_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/options/debug_folders.h"
#include "cmd/options/option_table.h"
#include "sym/symbolizer.h"

struct naming_options {
	bool inlined, lines;
	struct demangle_style demangle;
	struct runtime_names_style run_time;
	const char *debug_folders[DEBUG_FOLDERS_MAX];
	size_t nr_debug_folders;
	size_t max_bytes; /* 0: the default */
};

/* The rows, for option_table_parse(). */
struct option_group naming_options_group(struct naming_options *options);

/* What they say, to be added to: files, runtimes, kernel. */
struct symbolizer_options naming_options_symbolizer(const struct naming_options *options);

#endif
