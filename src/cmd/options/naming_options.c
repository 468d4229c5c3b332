/* What is shown of names; see naming_options.h. */
#include "cmd/options/naming_options.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/array.h"

/* Enough for the largest programs; the next file's symbols take the place of the last one's. */
#define MAX_SYMBOL_BYTES (256UL << 20)

static int take_demangle(void *context, const char *value, struct error *error)
{
	static const struct {
		const char *name;
		enum demangle_mode mode;
	} modes[] = {{"full", DEMANGLE_FULL}, {"simple", DEMANGLE_SIMPLE}, {"no", DEMANGLE_NO}};
	struct naming_options *options = context;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		if (strcmp(value, modes[i].name) != 0)
			continue;
		options->demangle.mode = modes[i].mode;
		return 0;
	}
	return option_bad(error, "--demangle", value, "no, simple or full");
}

static int take_fold(void *context, const char *value, struct error *error)
{
	struct naming_options *options = context;
	size_t length;

	for (; *value; value += length + (value[length] == ',')) {
		length = strcspn(value, ",");
		if (length == 6 && !strncmp(value, "clones", length))
			options->demangle.fold_clones = true;
		else if (length == 5 && !strncmp(value, "tiers", length))
			options->run_time.cut_tiers = true;
		else
			return option_bad(error, "--fold", value, "clones, tiers, or both");
	}
	return 0;
}

static int take_debug_dir(void *context, const char *value, struct error *error)
{
	struct naming_options *options = context;

	return debug_folders_take(options->debug_folders, &options->nr_debug_folders, value, error);
}

static int take_symbol_bytes(void *context, const char *value, struct error *error)
{
	static const struct option_number symbol_bytes = {"--symbol-bytes", 1, 1ULL << 36,
							  "bytes, at least 1"};
	struct naming_options *options = context;

	return option_take_number(&symbol_bytes, value, &options->max_bytes, error);
}

static const struct option_row rows[] = {
	OPTION_SWITCH(0, "inline", struct naming_options, inlined,
		      "show inlined functions as frames (reads DWARF)"),
	OPTION_SWITCH(0, "lines", struct naming_options, lines,
		      "show source lines behind names: main server.c:7150"),
	{0, "demangle", "HOW", take_demangle,
	 "C++, Rust and D names: full (default), simple (no parameters), no"},
	{0, "fold", "WHAT,…", take_fold,
	 "one name for: clones (.isra.0, .cold, …), tiers (JavaScript's ~ ^ *)"},
	{0, "debug-dir", "DIR", take_debug_dir,
	 "look for debug files there first; may be repeated"},
	{0, "symbol-bytes", "N", take_symbol_bytes,
	 "memory for symbols that are kept (default 256 MiB)"},
};

struct option_group naming_options_group(struct naming_options *options)
{
	return (struct option_group){rows, ARRAY_SIZE(rows), options};
}

struct symbolizer_options naming_options_symbolizer(const struct naming_options *options)
{
	return (struct symbolizer_options){
		.demangle = options->demangle,
		.run_time = options->run_time,
		.places = {options->debug_folders, options->nr_debug_folders},
		.inlined = options->inlined,
		.lines = options->lines,
		.max_bytes = options->max_bytes ? options->max_bytes : MAX_SYMBOL_BYTES,
	};
}
