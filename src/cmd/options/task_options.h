/* The options about whose samples or hits are wanted and for how long, of every command that runs. */
#ifndef STOOK_CMD_OPTIONS_TASK_OPTIONS_H
#define STOOK_CMD_OPTIONS_TASK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/options/option_table.h"
#include "kernel/follow.h"

struct task_options {
	uint32_t *pids, *tids;
	size_t nr_pids, nr_tids;
	const char *cgroup;
	bool follow, no_follow;		   /* neither: as the command has it */
	uint64_t duration_ns, interval_ns; /* 0: none */
	char **command;			   /* behind `--`, NULL-ended; NULL: none */
	bool everything;		   /* -a: also with a command */
	bool quiet, verbose;
};

/* The rows: -p, -t, --cgroup, -a, --no-follow, -d, -i, -q, -v. */
struct option_group task_options_group(struct task_options *options);

/* A word of the command line that is the duration. 0 or -EINVAL. */
int task_options_take_duration(struct task_options *options, const char *word, struct error *error);

/*
 * After option_table_parse(): takes the command behind `--`, and refuses what contradicts itself. 0
 * or -EINVAL.
 */
int task_options_finish(struct task_options *options, int argc, char **argv, struct error *error);

/* child_pid: of the command behind `--`, 0 if there is none; it must outlive what is returned. */
struct wanted_tasks task_options_wanted(const struct task_options *options, int cgroup_fd,
					const uint32_t *child_pid);

void task_options_clear(struct task_options *options);

#endif
