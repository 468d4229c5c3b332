/*
 * The options of a run, as plain structs: src/cmd/options fills them from the command line, src/run and
 * commands read them. Texts are the command line's, and live as long as it does; lists and the paths of
 * debug folders are the options' own, and freed by the clear functions in src/cmd/options.
 */
#ifndef STOOK_RUN_CONFIG_H
#define STOOK_RUN_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/matcher.h"
#include "sym/symbolizer.h"

struct format;

/* --- whose samples or hits, and for how long -------------------------------------------------- */

struct run_config {
	uint32_t *pids, *tids;
	size_t nr_pids, nr_tids;
	const char *pid_text; /* the value of --pid, as it was given */
	const char *cgroup;
	bool follow, no_follow;		   /* neither: as the command has it */
	uint64_t duration_ns, interval_ns; /* 0: none */
	char **command;			   /* behind `--`, NULL-ended; NULL: none */
	bool everything;		   /* -a: also with a command */
	bool self;			   /* our own processes too */
	bool quiet, verbose;
};

/* --- names ------------------------------------------------------------------------------------ */

#define DEBUG_FOLDERS_MAX 16

struct naming_options {
	bool inlined, lines;
	bool raw_aliases; /* of a function's names the one that perf shows */
	bool no_starts;	  /* `[unknown]` for a function without a name, not where it begins */
	struct demangle_style demangle;
	struct runtime_names_style run_time;
	const char *debug_folders[DEBUG_FOLDERS_MAX];
	size_t nr_debug_folders;
	size_t max_bytes;		       /* 0: the default … */
	uint64_t naming_seconds, naming_bytes; /* … likewise */
};

/* --- where results go ------------------------------------------------------------------------- */

#define OUTPUTS_MAX 16

struct output_options {
	const struct format *stdout_format; /* NULL: not asked for */
	const char *default_format;	    /* of stdout, then; NULL: the report */
	bool delimited, annotate;
	const char *paths[OUTPUTS_MAX];
	size_t nr_paths;
};

/* --- stacks ----------------------------------------------------------------------------------- */

/* How user stacks are walked. */
enum unwind_mode {
	UNWIND_AUTO, /* tables, or frame pointers if the kernel can't be made to use them */
	UNWIND_CFI,
	UNWIND_FP,
};

struct stack_options {
	struct matcher *comm; /* NULL: threads of all names */
	bool no_user, no_kernel;
	unsigned labels;      /* enum label bits: what is shown, and told apart */
	unsigned kept_labels; /* told apart, too, and written where other programs read labels */
	uint64_t slice_ns;    /* of the timeline; 0: none */
	enum unwind_mode unwind;
	size_t max_table_bytes;	  /* 0: the default */
	const char *table_folder; /* NULL: the default; "none" */
	bool force;
	uint64_t max_depth; /* 0: the default */

	struct naming_options naming;
	bool java, no_symbols;

	struct output_options output;
	const char *stats_path;
	size_t ring_bytes, max_counts; /* 0: chosen by what is expected */
};

/* --- probes ----------------------------------------------------------------------------------- */

#define PROBE_PATTERNS_MAX 256
#define PROBES_MAX	   10000 /* without --max-probes */
#define BUDGET_UNSET	   (-1.0)

struct probe_options {
	const char *patterns[PROBE_PATTERNS_MAX];
	size_t nr_patterns;
	bool is_regex;	    /* -r, --regexp */
	bool list;	    /* -l, --list: show what matches, attach nothing */
	bool force_returns; /* --force: return probes of Go, C++, Rust */
	size_t max_probes;  /* 0: the default */
	const char *debug_folders[DEBUG_FOLDERS_MAX];
	size_t nr_debug_folders;
	double budget;	  /* a share: 0.05; 0: none; BUDGET_UNSET: by what is probed */
	unsigned without; /* see probe_features_find() */
};

/* With what is not 0 by default. */
#define PROBE_OPTIONS_INIT             \
	{                              \
		.budget = BUDGET_UNSET \
	}

#endif
