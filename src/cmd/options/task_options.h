/* The options for tasks and duration, shared by every command that runs. */
#ifndef STOOK_CMD_OPTIONS_TASK_OPTIONS_H
#define STOOK_CMD_OPTIONS_TASK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/options/option_table.h"
#include "run/config.h"

/* Returns the rows: -p, -t, --cgroup, -a, --no-follow, --self, -d, -i, -q, -v. */
struct option_group task_options_group(struct run_config *options);

/* Returns the rows that say which tasks, for commands that choose the rest themselves: -p, -t, --cgroup. */
struct option_group target_options_group(struct run_config *options);

/* Takes an operand that is the duration. Returns 0 or -EINVAL. */
int task_options_take_duration(struct run_config *options, const char *word, struct error *error);

/* Likewise, for commands without other operands; another word is an error. */
int task_options_take_word(struct run_config *options, const char *command, const char *word,
			   struct error *error);

/*
 * Called after option_table_parse(): takes the command after `--`, and rejects contradictions.
 * Returns 0 or -EINVAL.
 */
int task_options_finish(struct run_config *options, int argc, char **argv, struct error *error);

void task_options_clear(struct run_config *options);

#endif
