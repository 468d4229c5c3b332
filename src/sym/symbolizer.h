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
#include "proc/file_table.h"
#include "proc/runtime_table.h"
#include "profile/profile.h"
#include "sym/debug_files.h"
#include "sym/demangle.h"
#include "sym/kernel_names.h"
#include "sym/runtime_names.h"

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
	size_t max_bytes; /* of symbols that are kept */
};

/* Sums over all calls. */
struct symbolizer_result {
	size_t nr_named, nr_unnamed; /* frames of the profile, now */
	size_t nr_files_failed;	     /* that were gone, or no ELF files, or else: */
	size_t nr_tables_failed;     /* that had symbols, or maps, which made no sense or no room */
	size_t nr_split_lost;	   /* units whose lines and inlined calls lie in a lost .dwo file */
	struct error kernel_error; /* code != 0: some kernel frames have no names, and why */
	struct error lines_error;  /* the last file's whose lines could not be had, and why */
	const char *debuginfod_trouble; /* NULL: none */
};

struct symbolizer;

/* The options' strings and tables must outlive it. NULL when out of memory. */
struct symbolizer *symbolizer_new(const struct symbolizer_options *options);
void symbolizer_free(struct symbolizer *symbolizer);

/*
 * Names what was added since the last call, always of the same profile, and names code made at run
 * time anew if its map has changed. Only running out of memory is a failure (-ENOMEM; a further
 * call tries the same frames again): what has no name keeps none.
 */
int symbolizer_name(struct symbolizer *symbolizer, struct profile *profile);

void symbolizer_summarize(const struct symbolizer *symbolizer, struct symbolizer_result *ret);

#endif
