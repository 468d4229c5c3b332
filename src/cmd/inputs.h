/*
 * Profiles read back from files: of any format that can be read, told by content or, with
 * --input-format, by name. Several are merged into one.
 */
#ifndef STOOK_CMD_INPUTS_H
#define STOOK_CMD_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "cmd/option_table.h"
#include "format/format.h"
#include "profile/profile.h"

struct input_options {
	const struct format *format; /* NULL: by content */
	const char *value;	     /* what is to be shown of several; NULL: the file's default */
};

/* The rows: --input-format, --value. */
struct option_group input_options_group(struct input_options *options);

struct inputs {
	struct profile *profile;
	struct format_notes notes; /* of all of them */
};

/* "-" is standard input. No path: standard input, unless it is a terminal. 0 or a negative errno. */
int inputs_read(struct inputs *inputs, const struct input_options *options,
		const char *const *paths, size_t nr, struct error *error);
void inputs_clear(struct inputs *inputs);

/* Tells on stderr what of them could not be kept. */
void inputs_complain(const struct inputs *inputs);

#endif
