/* The stack options, shared by every command that collects stacks. */
#ifndef STOOK_CMD_OPTIONS_STACK_OPTIONS_H
#define STOOK_CMD_OPTIONS_STACK_OPTIONS_H

#include "cmd/options/option_table.h"
#include "run/config.h"

/* Returns the rows, for option_table_parse(), without the options for names and outputs. */
struct option_group stack_options_group(struct stack_options *options);

/* Returns the rows of --comm and --exclude alone. */
struct option_group comm_options_group(struct stack_options *options);

/* Takes an expression for names to leave out. 0 or a negative errno. */
int excluded_option_take(const char *option, const char *value, struct name_filter *names,
			 struct error *error);

/* Rejects options that contradict each other. Returns 0 or -EINVAL. */
int stack_options_check(const struct stack_options *options, struct error *error);

void stack_options_clear(struct stack_options *options);

#endif
