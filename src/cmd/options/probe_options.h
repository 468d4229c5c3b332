/* The options about probes, of every command that has patterns for them. */
#ifndef STOOK_CMD_OPTIONS_PROBE_OPTIONS_H
#define STOOK_CMD_OPTIONS_PROBE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/options/naming_options.h"
#include "cmd/options/option_table.h"
#include "cmd/options/task_options.h"

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

/* The rows: -r, -l, --budget, --max-probes, --debug-dir, --force, --without. */
struct option_group probe_options_group(struct probe_options *options);

/* The options that take the words of a command line that are no options. */
struct probe_words {
	struct probe_options *probes;
	struct task_options *tasks;
};

/*
 * Takes such a word, for an option_table whose context is the probe_words: a bare number of seconds
 * is the duration, all else a pattern. 0 or a negative errno.
 */
int probe_options_take_word(void *context, const char *word, struct error *error);

/*
 * When all options are known: whether there are patterns ("no pattern given: QUESTION", "for example
 * EXAMPLE"), and whether they are well formed. 0 or a negative errno.
 */
int probe_options_check(const struct probe_options *options, const char *question,
			const char *example, struct error *error);

#endif
