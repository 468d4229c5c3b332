/* The options about stacks, of every command that collects them. */
#ifndef STOOK_CMD_OPTIONS_STACK_OPTIONS_H
#define STOOK_CMD_OPTIONS_STACK_OPTIONS_H

#include "cmd/options/option_table.h"
#include "run/config.h"

/* The rows, for option_table_parse(), but for those about names and outputs. */
struct option_group stack_options_group(struct stack_options *options);

/* Refuses options that contradict each other: 0 or -EINVAL. */
int stack_options_check(const struct stack_options *options, struct error *error);

void stack_options_clear(struct stack_options *options);

#endif
