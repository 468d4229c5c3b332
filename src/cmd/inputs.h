/*
 * Profiles read back from files: of any format that can be read, told by content or, with
 * --input-format, by name. Several are merged into one, whose counts are a value that all have.
 */
#ifndef STOOK_CMD_INPUTS_H
#define STOOK_CMD_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "cmd/common_values.h"
#include "cmd/options/option_table.h"
#include "format/format.h"
#include "profile/profile.h"

struct input_options {
	const struct format *format; /* NULL: by content */
	struct format_read_options read;
	const char *value; /* what is to be shown of several; NULL: the file's default */
};

/* The rows: --input-format, --no-comm, --value. */
struct option_group input_options_group(struct input_options *options);

/* The files that are named on a command line. */
struct input_paths {
	const char **paths;
	size_t nr, cap;
};

/* A word of a command line; for option_table_parse(), with a struct input_paths as context. */
int input_paths_take(void *context, const char *word, struct error *error);
void input_paths_clear(struct input_paths *paths);

/* What inputs_read() can't mean: nothing at all, or standard input twice. 0 or -EINVAL. */
int inputs_check(const char *const *paths, size_t nr, struct error *error);

struct inputs {
	struct profile *profile;
	struct format_notes notes; /* of all of them */
	bool is_chosen;		   /* what is shown was asked for, by --value */
	struct common_values common;
	char note[COMMON_VALUES_NOTE_BYTES]; /* if they count different things: what is shown */
};

/* "-" is standard input, and so is no path at all. 0 or a negative errno. */
int inputs_read(struct inputs *inputs, const struct input_options *options,
		const char *const *paths, size_t nr, struct error *error);
void inputs_clear(struct inputs *inputs);

/* Tells on stderr what of them could not be kept. */
void inputs_complain(const struct inputs *inputs);

#endif
