/* Options for how names are shown, where debug files are searched, and the limits of naming. */
#include "cmd/options/naming_options.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "cmd/options/option_table.h"

#define MAX_NAMING_SECONDS 1000000

int debug_folders_take(const char **folders, size_t *nr, const char *value, struct error *error)
{
	cleanup_free char *path = realpath(value, NULL); /* must be absolute */
	struct stat st;

	if (!path || stat(path, &st) < 0)
		return error_set_errno(error, "cannot search debug files in '%s'", value);
	if (!S_ISDIR(st.st_mode))
		return option_bad(error, "--debug-dir", value, "not a directory");
	if (*nr == DEBUG_FOLDERS_MAX)
		return error_set(error, -EINVAL, "--debug-dir given more than %d times",
				 DEBUG_FOLDERS_MAX);
	folders[(*nr)++] = take_pointer(&path);
	return 0;
}

void debug_folders_clear(const char **folders, size_t *nr)
{
	while (*nr)
		free((char *)folders[--*nr]);
}

static int take_demangle(void *context, const char *value, struct error *error)
{
	static const char *const names[] = {"no", "simple", "full"};
	static const enum demangle_mode modes[] = {DEMANGLE_NO, DEMANGLE_SIMPLE, DEMANGLE_FULL};
	struct naming_options *options = context;
	int name = option_take_choice("--demangle", value, names, ARRAY_SIZE(names), error);

	if (name < 0)
		return name;
	options->demangle.mode = modes[name];
	return 0;
}

static int take_aliases(void *context, const char *value, struct error *error)
{
	static const char *const names[] = {"used", "raw"};
	struct naming_options *options = context;
	int name = option_take_choice("--aliases", value, names, ARRAY_SIZE(names), error);

	if (name < 0)
		return name;
	options->raw_aliases = name;
	return 0;
}

static int take_unknown(void *context, const char *value, struct error *error)
{
	static const char *const names[] = {"start", "plain"};
	struct naming_options *options = context;
	int name = option_take_choice("--unknown", value, names, ARRAY_SIZE(names), error);

	if (name < 0)
		return name;
	options->no_starts = name;
	return 0;
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

/* Takes whole seconds. */
static int take_naming_time(void *context, const char *value, struct error *error)
{
	struct naming_options *options = context;
	uint64_t ns;

	if (number_parse_seconds(value, &ns) < 0 || ns < NS_PER_SEC ||
	    ns / NS_PER_SEC > MAX_NAMING_SECONDS)
		return option_bad(error, "--naming-time", value,
				  "seconds, at least 1, or with a unit: 90s, 2m");
	options->naming_seconds = ns / NS_PER_SEC;
	return 0;
}

static const struct option_row rows[] = {
	OPTION_SWITCH(0, "inline", struct naming_options, inlined,
		      "show inlined functions as frames (reads DWARF)"),
	OPTION_SWITCH(0, "lines", struct naming_options, lines,
		      "show source lines after names: main server.c:7150"),
	{0, "demangle", "HOW", take_demangle,
	 "C++, Rust and D names: full (default), simple (no parameters), no"},
	{0, "aliases", "HOW", take_aliases,
	 "which name of a function: the one programs use (used, default), or perf's (raw)"},
	{0, "unknown", "HOW", take_unknown,
	 "functions without a symbol: by start address (start, default), [unknown] (plain)"},
	{0, "fold", "WHAT,…", take_fold,
	 "merge names of: clones (.isra.0, .cold, …), tiers (JavaScript's ~ ^ *)"},
	{0, "debug-dir", "DIR", take_debug_dir, "search debug files in DIR first; may be repeated"},
	OPTION_NUMBER(0, "symbol-bytes", "N", struct naming_options, max_bytes, 1, 1ULL << 36,
		      "bytes, at least 1", "memory for cached symbols (default 256 MiB)"),
	{0, "naming-time", "SECONDS", take_naming_time,
	 "time limit for looking up names (default 60)"},
	OPTION_NUMBER(0, "naming-bytes", "N", struct naming_options, naming_bytes, 1, 1ULL << 50,
		      "bytes, at least 1", "read limit for looking up names (default 4 GiB)"),
};

struct option_group naming_options_group(struct naming_options *options)
{
	return (struct option_group){rows, ARRAY_SIZE(rows), options};
}

void naming_options_clear(struct naming_options *options)
{
	debug_folders_clear(options->debug_folders, &options->nr_debug_folders);
}
