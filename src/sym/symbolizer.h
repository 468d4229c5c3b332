/*
 * Gives every frame of a profile its name: late, once per address, after the last sample. On
 * request also the functions that were inlined there, and source lines.
 *
 * Frames are taken module by module, so that one symbol table at a time need be in memory; what
 * was read is kept, within a limit, for the next call (a run that prints every few seconds has
 * many).
 */
#ifndef STOOK_SYM_SYMBOLIZER_H
#define STOOK_SYM_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/read_budget.h"
#include "proc/file_table.h"
#include "proc/runtime_table.h"
#include "profile/profile.h"
#include "sym/debug_files.h"
#include "sym/demangle.h"
#include "sym/kallsyms.h"
#include "sym/run_time_maps.h"

struct symbolizer_options {
	/* The files of the modules, by their numbers. NULL: they are looked for by build id. */
	struct file_table *files;
	const struct runtime_table *runtimes; /* of code made at run time; may be NULL */
	struct kernel_names kernel;	      /* asked first; .name may be NULL */
	struct kernel_names kernel_fallback;  /* asked if the first failed; .name may be NULL */

	struct demangle_style demangle;
	struct runtime_names_style run_time;
	struct debug_places places;
	bool leave_files; /* code in files is left for another machine to name */
	bool inlined, lines;
	bool raw_aliases;	    /* of a function's names the one that perf shows */
	bool no_starts;		    /* a function without a name is not named by its start */
	size_t max_bytes;	    /* of symbols that are kept */
	struct read_budget *budget; /* of all that naming reads and waits for; NULL: none */
};

/* What the budget has cut short; the frames there may have no names. */
struct naming_cuts {
	size_t nr_by_time, nr_by_bytes; /* files and processes */
	char first[256];		/* the name of the first one */
	bool is_stopped;		/* by the user */
};

/* Sums over all calls. */
struct symbolizer_result {
	size_t nr_named, nr_unnamed; /* frames of the profile, now */
	size_t nr_files_failed;	     /* gone, no ELF files, or counted below as well */
	size_t nr_tables_failed;     /* with malformed or too large symbols or maps */
	struct naming_cuts cuts;
	size_t nr_split_lost; /* units whose lines and inlined calls are in a .dwo file that was not found */
	struct error kernel_error; /* code != 0: some kernel frames have no names, and why */
	struct error
		lines_error; /* why the lines of a file could not be looked up; the last such file */
	const char *debuginfod_trouble; /* NULL: none */
};

struct symbolizer;

/* The options' strings and tables must outlive it. NULL when out of memory. */
struct symbolizer *symbolizer_new(const struct symbolizer_options *options);
void symbolizer_free(struct symbolizer *symbolizer);

/*
 * Names what was added since the last call, always of the same profile, and names code made at run
 * time anew if its map has changed. Only running out of memory is a failure (-ENOMEM): what has no
 * name keeps none. A further call tries the same frames again after that, or if the budget has cut
 * something short.
 */
int symbolizer_name(struct symbolizer *symbolizer, struct profile *profile);

void symbolizer_summarize(const struct symbolizer *symbolizer, struct symbolizer_result *ret);

#endif
