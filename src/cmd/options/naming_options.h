/* The options about names, of every command that shows them, and --debug-dir. */
#ifndef STOOK_CMD_OPTIONS_NAMING_OPTIONS_H
#define STOOK_CMD_OPTIONS_NAMING_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cmd/options/option_table.h"
#include "sym/symbolizer.h"

#define DEBUG_FOLDERS_MAX 16

/* Adds a value of --debug-dir to folders, which has room for DEBUG_FOLDERS_MAX. 0 or -errno. */
int debug_folders_take(const char **folders, size_t *nr, const char *value, struct error *error);

struct naming_options {
	bool inlined, lines;
	struct demangle_style demangle;
	struct runtime_names_style run_time;
	const char *debug_folders[DEBUG_FOLDERS_MAX];
	size_t nr_debug_folders;
	size_t max_bytes;		       /* 0: the default … */
	uint64_t naming_seconds, naming_bytes; /* … likewise */
};

/* The rows, for option_table_parse(). */
struct option_group naming_options_group(struct naming_options *options);

/*
 * The budget of a run's naming; naming ends early when stop_fd can be read (-1: never). It must
 * outlive the symbolizer that is given it.
 */
struct read_budget naming_options_budget(const struct naming_options *options, int stop_fd);

/* The symbolizer's options; the caller adds files, runtimes, kernel and budget. */
struct symbolizer_options naming_options_symbolizer(const struct naming_options *options);

#endif
