/*
 * Profiles read back from files, in any format that can be read, recognized by content or, with
 * --input-format, by name. Several are merged into one, whose counts are a value that all have:
 * samples of one and nanoseconds of another have no sum, nor a difference; but a file of the other
 * has its samples, too. Also the other files that commands read: tables of categories.
 */
#ifndef STOOK_CMD_INPUTS_H
#define STOOK_CMD_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "cmd/options/filter_options.h"
#include "cmd/options/option_table.h"
#include "format/format.h"
#include "profile/profile.h"
#include "view/categories.h"

struct common_value {
	char *type, *unit;
};

/* The values that some profiles have in common. Zero-initialised: no profile was added yet. */
struct common_values {
	struct common_value values[PROFILE_MAX_VALUES]; /* in the first one's order */
	size_t nr;
	size_t nr_profiles;
	bool has_first_count; /* values[0] is what the first one counts */
	const char *paths[2]; /* of the first one, and of the first that counts something else */
	char *counts[2];      /* what they count */
};

/* The path has to stay. 0, -ENOMEM, or -EINVAL if nothing is left that all have. */
int common_values_add(struct common_values *common, const struct profile *profile, const char *path,
		      struct error *error);

/*
 * Makes the counts of a profile what is common: what the first one counts, or else samples, or else
 * whatever there is. The profile is one of those, or has them merged. 0 or -ENOMEM.
 */
int common_values_choose(const struct common_values *common, struct profile *profile);

/* The line to be told of what was chosen; empty if all count the same. */
#define COMMON_VALUES_NOTE_BYTES 400
void common_values_note(const struct common_values *common, char note[COMMON_VALUES_NOTE_BYTES]);

void common_values_clear(struct common_values *common);

struct input_options {
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

/* After option_table_parse(): takes the words behind `--`. 0 or a negative errno. */
int input_paths_take_rest(struct input_paths *paths, int argc, char **argv, struct error *error);
void input_paths_clear(struct input_paths *paths);

/* Refuses what inputs_read() can't read: nothing at all, or standard input twice. 0 or -EINVAL. */
int inputs_check(const char *const *paths, size_t nr, struct error *error);

struct inputs {
	struct profile *profile;
	struct format_notes notes; /* of all of them */
	bool is_chosen;		   /* what is shown was asked for, by --value */
	struct common_values common;
	char note[COMMON_VALUES_NOTE_BYTES]; /* if they count different things: what is shown */
	struct categories *categories;	     /* NULL: none were asked for */
};

/* "-" is standard input, and so is no path at all. 0 or a negative errno. */
int inputs_read(struct inputs *inputs, const struct input_options *options,
		const char *const *paths, size_t nr, struct error *error);
void inputs_clear(struct inputs *inputs);

/* Tells on stderr what of them could not be kept. */
void inputs_complain(const struct inputs *inputs);

/* The part of a command line that says what is read and shown. */
struct input_request {
	struct input_paths paths;
	struct input_options options;
	struct filter_options filter;
	const char *categories; /* path of a table, or "kernel"; NULL: none */
	unsigned labels;	/* enum label bits that were asked for with --by; 0: by format */
	bool is_quiet;
};

/*
 * Reads what was asked for, keeps what the filter wants, and says on stderr, unless quiet, what could not be
 * kept. The profile must have these labels. 0 or a negative errno.
 */
int inputs_load(struct inputs *inputs, struct input_request *request, unsigned labels,
		struct error *error);
void input_request_clear(struct input_request *request);

#endif
