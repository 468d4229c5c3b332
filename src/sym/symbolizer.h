/*
 * Names every frame of a profile: late, once per address, after the last sample. On request also
 * adds the functions that were inlined there, and source lines.
 *
 * Frames are processed module by module, so that only one symbol table at a time needs to be in
 * memory. Symbol tables are kept, within a limit, for the next call (a run that prints every few
 * seconds has many).
 */
#ifndef STOOK_SYM_SYMBOLIZER_H
#define STOOK_SYM_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/file/read_budget.h"
#include "proc/file_table.h"
#include "proc/runtime_table.h"
#include "profile/profile.h"
#include "sym/debug_files.h"
#include "sym/demangle.h"
#include "sym/kallsyms.h"
#include "sym/run_time_maps.h"
#include "worker/worker.h"

struct symbolizer_options {
	/* The modules' files, by number. NULL: files are searched by path and build id. */
	struct file_table *files;
	struct runtime_table *runtimes;	     /* of JIT-compiled code; may be NULL */
	struct kernel_names kernel;	     /* tried first; .name may be NULL */
	struct kernel_names kernel_fallback; /* tried if the first failed; .name may be NULL */

	struct demangle_style demangle;
	struct runtime_names_style run_time;
	struct debug_places places;
	bool leave_files; /* don't name code in files: another machine will */
	bool inlined, lines;
	bool raw_aliases;	    /* of a function's aliases, use the one that perf shows */
	bool no_starts;		    /* don't show functions without a name by their start */
	size_t max_bytes;	    /* limit on symbols kept in memory */
	struct read_budget *budget; /* limit on reading and waiting; NULL: none */
	/* Helper processes that others have used before, and do not need any more; NULL: new ones are started. */
	struct worker *worker;
	struct worker_memory memory; /* of new ones; zeros: no limit */
};

/* Modules whose naming the budget cut short: some of their frames may have no names. */
struct naming_cuts {
	size_t nr_by_time, nr_by_bytes; /* files and processes */
	char first[256];		/* name of the first of these */
	bool is_stopped;		/* by the user */
};

/* Sums over all calls. */
struct symbolizer_result {
	size_t nr_named, nr_unnamed; /* frames of the profile, as of the last call */
	size_t nr_files_failed;	     /* deleted, or no ELF file; includes nr_tables_failed */
	size_t nr_tables_failed;     /* malformed or too large symbols or maps */
	struct naming_cuts cuts;
	size_t nr_split_lost;	   /* units without lines and inlined calls: .dwo file not found */
	struct error kernel_error; /* code != 0: why some kernel frames have no names */
	struct error lines_error;  /* code != 0: why the last failing file has no lines */
	const char *debuginfod_trouble; /* see debuginfod_trouble(); NULL: none */
};

struct symbolizer;

/* Returns the name that the kernel has for its code as it is shown, to be freed; NULL when out of memory. */
char *symbolizer_kernel_name(const char *name, const struct demangle_style *style);

/* The options' strings and tables must outlive the symbolizer. NULL when out of memory. */
struct symbolizer *symbolizer_new(const struct symbolizer_options *options);
void symbolizer_free(struct symbolizer *symbolizer);

/*
 * Names the frames added since the last call, and JIT-compiled code again if its map has changed. All calls must pass
 * the same profile until symbolizer_change_profile() is called. 0, or -ENOMEM: a frame whose name is not found is no
 * failure. After -ENOMEM the next call tries the same frames again; and those of a module that the budget cut short, or
 * for which no helper process could answer.
 */
int symbolizer_name(struct symbolizer *symbolizer, struct profile *profile);
void symbolizer_change_profile(struct symbolizer *symbolizer);

/*
 * Gives back some of the time in which all inlined calls and lines are looked up, and has a debuginfod server that failed
 * asked again after a while: for runs without end, at each interval.
 */
void symbolizer_give_time(struct symbolizer *symbolizer, uint64_t ns);

/* Sets the niceness of its own helper processes, as worker_set_niceness(). */
void symbolizer_set_niceness(struct symbolizer *symbolizer, int niceness);

/* Sets options.memory anew, from the next call of symbolizer_name() on. For any thread. */
void symbolizer_limit_memory(struct symbolizer *symbolizer, const struct worker_memory *memory);

/* How many times names were left out, because reading them takes more memory than that. For any thread. */
uint64_t symbolizer_nr_over_memory(const struct symbolizer *symbolizer);

/* The helper processes, for other questions between two calls of symbolizer_name(). */
struct worker *symbolizer_worker(struct symbolizer *symbolizer);

/* Starts the helper processes ahead of symbolizer_name(), which then need not wait for them. */
void symbolizer_begin_reading(struct symbolizer *symbolizer);

/* Ends the helper processes; the next call of symbolizer_name() starts new ones. See worker_end(). */
void symbolizer_end_reading(struct symbolizer *symbolizer);

/* Adds the failures of these processes to *sum, unless they are those of options.worker. */
void symbolizer_add_troubles(const struct symbolizer *symbolizer, struct worker_troubles *sum);

void symbolizer_summarize(const struct symbolizer *symbolizer, struct symbolizer_result *ret);

#endif
