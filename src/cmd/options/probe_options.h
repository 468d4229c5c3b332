/* The options about probes, of every command that has patterns for them. */
#ifndef STOOK_CMD_OPTIONS_PROBE_OPTIONS_H
#define STOOK_CMD_OPTIONS_PROBE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/options/option_table.h"
#include "run/config.h"

/* The rows: -r, -l, --budget, --max-probes, --debug-dir, --force, --without. */
struct option_group probe_options_group(struct probe_options *options);

/* The options that take the words of a command line that are no options. */
struct probe_words {
	struct probe_options *probes;
	struct run_config *tasks;
};

/*
 * Takes such a word, for an option_table whose context is the probe_words: a bare time (10, 2m)
 * is the duration, all else a pattern. 0 or a negative errno.
 */
int probe_options_take_word(void *context, const char *word, struct error *error);

/*
 * When all options are known: whether there are patterns ("no pattern given: QUESTION", "for example
 * EXAMPLE"), and whether they are well formed. 0 or a negative errno.
 */
int probe_options_check(const struct probe_options *options, const char *question,
			const char *example, struct error *error);

void probe_options_clear(struct probe_options *options);

#endif
