/* The probe options, shared by every command that takes patterns. */
#ifndef STOOK_CMD_OPTIONS_PROBE_OPTIONS_H
#define STOOK_CMD_OPTIONS_PROBE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/options/option_table.h"
#include "run/config.h"

/*
 * Takes the value of --budget or an option like it, "5%" or "off", as a share of each CPU's time; 0: off.
 */
int budget_option_take(const char *option, const char *value, double *ret_share,
		       struct error *error);

/* Returns the rows: -r, -l, --budget, --max-probes, --debug-dir, --force, --without. */
struct option_group probe_options_group(struct probe_options *options);

/* The options that operands of a command line are added to. */
struct probe_words {
	struct probe_options *probes;
	struct run_config *tasks;
};

/*
 * Takes an operand, for an option_table whose context is the probe_words: a plain time (10, 2m) is
 * the duration, anything else a pattern. Returns 0 or a negative errno.
 */
int probe_options_take_word(void *context, const char *word, struct error *error);

/*
 * Called after parsing: checks that there are patterns (else "no pattern given: QUESTION", "for
 * example EXAMPLE"), and that they are well-formed. Returns 0 or a negative errno.
 */
int probe_options_check(const struct probe_options *options, const char *question,
			const char *example, struct error *error);

/*
 * Takes the value of --filter, for the tracepoints of the last pattern. 0; or a negative errno, if there is none, or it
 * has a filter.
 */
int probe_options_take_filter(struct probe_options *options, const char *value,
			      struct error *error);

void probe_options_clear(struct probe_options *options);

#endif
