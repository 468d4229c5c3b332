/* The options about whose samples or hits are wanted and for how long, of every command that runs. */
#ifndef STOOK_CMD_OPTIONS_TASK_OPTIONS_H
#define STOOK_CMD_OPTIONS_TASK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/options/option_table.h"
#include "run/config.h"

/* The rows: -p, -t, --cgroup, -a, --no-follow, --self, -d, -i, -q, -v. */
struct option_group task_options_group(struct run_config *options);

/* A word of the command line that is the duration. 0 or -EINVAL. */
int task_options_take_duration(struct run_config *options, const char *word, struct error *error);

/*
 * After option_table_parse(): takes the command behind `--`, and refuses what contradicts itself. 0
 * or -EINVAL.
 */
int task_options_finish(struct run_config *options, int argc, char **argv, struct error *error);

void task_options_clear(struct run_config *options);

#endif
