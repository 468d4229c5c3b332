/*
 * The options of a run as plain structs: src/cmd/options fills them from the command line, src/run
 * and commands read them. Strings point into argv; lists and the paths of debug folders are owned
 * by the options and freed by the clear functions in src/cmd/options.
 */
#ifndef STOOK_RUN_CONFIG_H
#define STOOK_RUN_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/matcher.h"
#include "sym/symbolizer.h"
#include "view/table.h"
#include "worker/worker.h"

struct format;

/* --- which tasks, and for how long ------------------------------------------------------------ */

struct run_config {
	uint32_t *pids, *tids;
	size_t nr_pids, nr_tids;
	const char *pid_text; /* the value of --pid as given */
	const char *cgroup;
	bool follow, no_follow;		   /* neither: the command's default */
	uint64_t duration_ns, interval_ns; /* 0: none */
	char **command;			   /* after `--`, NULL-terminated; NULL: none */
	uint64_t nr_runs;		   /* of the command; 0: 1 */
	bool everything;		   /* -a: the whole system, even with a command */
	bool self;			   /* include our own processes */
	bool quiet, verbose;
};

/* --- names ------------------------------------------------------------------------------------ */

#define DEBUG_FOLDERS_MAX 16

struct naming_options {
	bool inlined, lines;
	bool raw_aliases; /* of a function's aliases, show the one that perf shows */
	bool no_starts;	  /* without symbol: `[unknown]`, not the start address */
	struct demangle_style demangle;
	struct runtime_names_style run_time;
	const char *debug_folders[DEBUG_FOLDERS_MAX];
	size_t nr_debug_folders;
	size_t max_bytes;		       /* 0: default */
	uint64_t naming_seconds, naming_bytes; /* 0: default */
};

/* --- where results go ------------------------------------------------------------------------- */

#define OUTPUTS_MAX 16

struct output_options {
	const struct format *stdout_format; /* NULL: not given */
	const char *default_format;	    /* stdout's format if none was given; NULL: "report" */
	bool delimited, annotate;
	const char *paths[OUTPUTS_MAX];
	size_t nr_paths;
};

/* --- stacks ----------------------------------------------------------------------------------- */

/* How user stacks are walked. */
enum unwind_mode {
	UNWIND_AUTO, /* unwind tables, or frame pointers if the kernel cannot use tables */
	UNWIND_CFI,
	UNWIND_FP,
};

struct stack_options {
	struct name_filter names; /* of threads */
	bool no_user, no_kernel;
	unsigned labels;      /* enum label bits: shown, and samples are distinguished by them */
	unsigned kept_labels; /* also distinguished if an output or a store keeps them */
	uint64_t slice_ns;    /* length of a timeline slice; 0: no timeline */
	enum unwind_mode unwind;
	size_t max_table_bytes;	  /* 0: default */
	const char *table_folder; /* NULL: default; "none": no cache */
	bool force;
	uint64_t max_depth; /* 0: default */

	struct naming_options naming;
	bool java, no_symbols;

	struct output_options output;
	const char *stats_path;
	size_t ring_bytes, max_counts; /* 0: chosen from the expected load */
	size_t max_buffer_bytes;       /* see struct session_options */
	size_t max_profile_bytes;      /* limit for different stacks; 0: default */
	/* Of the helper processes that make unwind tables, and that read symbols; zeros: no limit. */
	struct worker_memory table_memory, name_memory;
};

/* --- probes ----------------------------------------------------------------------------------- */

#define PROBE_PATTERNS_MAX 256
#define PROBES_MAX	   10000 /* default of --max-probes */
#define BUDGET_UNSET	   (-1.0)

struct probe_options {
	const char *patterns[PROBE_PATTERNS_MAX];
	size_t nr_patterns;
	/* By pattern: the filter of its tracepoints (probe/find/tracepoint_filter.h); NULL: none */
	const char *filters[PROBE_PATTERNS_MAX];
	bool is_regex;		/* -r, --regexp */
	bool list;		/* -l, --list: print what matches, attach nothing */
	enum media list_format; /* of --list; 0: lines for scripts */
	bool force_returns;	/* --force: allow return probes on Go, C++, Rust functions */
	size_t max_probes;	/* 0: default */
	const char *debug_folders[DEBUG_FOLDERS_MAX];
	size_t nr_debug_folders;
	double budget;	  /* a share of a CPU, 0.05 = 5 %; 0: none; BUDGET_UNSET: default */
	unsigned without; /* features not to use: see probe_features_find() */
};

/* Initializer: members whose default is not 0. */
#define PROBE_OPTIONS_INIT             \
	{                              \
		.budget = BUDGET_UNSET \
	}

#endif
