/* Options on how names are shown, where debug files are looked for, and what looking up may cost. */
#include "cmd/options/naming_options.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "cmd/options/option_table.h"

int debug_folders_take(const char **folders, size_t *nr, const char *value, struct error *error)
{
	struct stat st;

	if (value[0] != '/')
		return option_bad(error, "--debug-dir", value, "a folder, from / on");
	if (stat(value, &st) < 0)
		return error_set_errno(error, "cannot look for debug files in '%s'", value);
	if (!S_ISDIR(st.st_mode))
		return option_bad(error, "--debug-dir", value, "it is not a folder");
	if (*nr == DEBUG_FOLDERS_MAX)
		return error_set(error, -EINVAL, "more than %d times --debug-dir",
				 DEBUG_FOLDERS_MAX);
	folders[(*nr)++] = value;
	return 0;
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
	OPTION_NUMBER(0, "symbol-bytes", "N", struct naming_options, max_bytes, 1, 1ULL << 36,
		      "bytes, at least 1", "memory for symbols that are kept (default 256 MiB)"),
	OPTION_NUMBER(0, "naming-time", "SECONDS", struct naming_options, naming_seconds, 1,
		      1000000, "seconds, at least 1",
		      "time that looking up names may take (default 60)"),
	OPTION_NUMBER(0, "naming-bytes", "N", struct naming_options, naming_bytes, 1, 1ULL << 50,
		      "bytes, at least 1", "bytes that looking up names may read (default 4 GiB)"),
};

struct option_group naming_options_group(struct naming_options *options)
{
	return (struct option_group){rows, ARRAY_SIZE(rows), options};
}
