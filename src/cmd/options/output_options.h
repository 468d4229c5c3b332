/* The output options, shared by every command that writes profiles. */
#ifndef STOOK_CMD_OPTIONS_OUTPUT_OPTIONS_H
#define STOOK_CMD_OPTIONS_OUTPUT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "cmd/options/option_table.h"
#include "run/config.h"

/* Returns the rows, for option_table_parse(). */
struct option_group output_options_group(struct output_options *options);

/* --width: the columns of a report, a uint64_t; 0: width of the terminal. */
#define OPTION_WIDTH(type, field, help) \
	OPTION_NUMBER('w', "width", "COLUMNS", type, field, 1, 10000, "a number of columns", help)

/* Parses "pid,comm" into enum label bits. Returns 0 or -EINVAL. */
int label_keys_take(const char *value, unsigned *ret, struct error *error);

/*
 * Checks that a profile has all these labels; otherwise all its rows would have label 0. Returns 0
 * or -EINVAL.
 */
int label_keys_check(unsigned wanted, unsigned there, struct error *error);

/* Returns the row, for option_table_parse(). */
struct option_group quiet_option_group(bool *is_quiet);

#endif
