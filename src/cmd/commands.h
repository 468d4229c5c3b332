/* The subcommands: commands.c has the table, each subcommand has a file of its own. */
#ifndef STOOK_CMD_COMMANDS_H
#define STOOK_CMD_COMMANDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct probe_options;
struct run_config;
struct stack_options;

struct command {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns exit status */
	const char *summary;
};

const struct command *command_get(size_t i); /* NULL past the last one */
const struct command *command_find(const char *name);

/*
 * Sets the error for an unknown command, with the nearest command; also knows other tools' names.
 */
void command_explain(const char *name, struct error *error);

/*
 * Runs stackcount on these probes, for `profile -e TRACEPOINT`. One hit in `every` is recorded and
 * represents all of them. Returns the exit status.
 */
int stackcount_run(const struct run_config *tasks, const struct stack_options *stacks,
		   const struct probe_options *probes, uint32_t every);

int cmd_agent(int argc, char **argv);
int cmd_completion(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_flame(int argc, char **argv);
int cmd_funccount(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_open(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_query(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_sched(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_stackcount(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_symbolize(int argc, char **argv);
int cmd_tally(int argc, char **argv);

#endif
