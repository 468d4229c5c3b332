/*
 * Profiles read back from files, in any readable format, recognized by content or chosen by
 * --input-format. Several files are merged into one, whose counts are a value that all files have:
 * if one file counts samples and another nanoseconds, the number of samples is used, which the
 * second file usually has as a further value. Also reads the other files that commands need: tables
 * of categories.
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
#include "run/outputs.h"
#include "view/categories.h"
#include "worker/sandbox.h"

struct common_value {
	char *type, *unit;
};

/* The values that several profiles have in common. Zero-initialised: no profile added yet. */
struct common_values {
	struct common_value values[PROFILE_MAX_VALUES]; /* in the order of the first profile */
	size_t nr;
	size_t nr_profiles;
	bool has_first_count; /* values[0] is what the first profile counts */
	const char *paths[2]; /* the first file, and the first file that counts something else */
	char *counts[2];      /* what these two count */
};

/* Keeps the path pointer. Returns 0, -ENOMEM, or -EINVAL if no value is common to all. */
int common_values_add(struct common_values *common, const struct profile *profile, const char *path,
		      struct error *error);

/*
 * Makes the common value the profile's count: what the first profile counts, or else samples, or
 * else any common value. The profile must be one of the added ones, or a merge of them. Returns 0
 * or -ENOMEM.
 */
int common_values_choose(const struct common_values *common, struct profile *profile);

/* Writes a note about the chosen value; empty if all profiles count the same. */
#define COMMON_VALUES_NOTE_BYTES 400
void common_values_note(const struct common_values *common, char note[COMMON_VALUES_NOTE_BYTES]);

void common_values_clear(struct common_values *common);

struct input_options {
	struct format_read_options read;
	const char *value;	 /* the value to show; NULL: the file's default */
	bool keep_order;	 /* samples stay as they come, see profile_keep_order() */
	struct sandbox *sandbox; /* whose host opens files; NULL: done here */
};

/* The rows: --input-format, --no-comm, --value. */
struct option_group input_options_group(struct input_options *options);

/* The files named on a command line. */
struct input_paths {
	const char **paths;
	size_t nr, cap;
};

/* Takes an operand; for option_table_parse(), with a struct input_paths as context. */
int input_paths_take(void *context, const char *word, struct error *error);

/* After option_table_parse(): takes the words after `--`. Returns 0 or a negative errno. */
int input_paths_take_rest(struct input_paths *paths, int argc, char **argv, struct error *error);
void input_paths_clear(struct input_paths *paths);

/* Rejects operands that inputs_read() cannot read: none, or standard input twice. 0 or -EINVAL. */
int inputs_check(const char *const *paths, size_t nr, struct error *error);

struct inputs {
	struct profile *profile;
	struct format_notes notes; /* sum over all files */
	bool is_chosen;		   /* the value was chosen by --value */
	struct common_values common;
	char note[COMMON_VALUES_NOTE_BYTES]; /* the value shown, if files count different things */
	struct categories *categories;	     /* NULL: none */
};

/* "-", or no path at all, is standard input. Returns 0 or a negative errno. */
int inputs_read(struct inputs *inputs, const struct input_options *options,
		const char *const *paths, size_t nr, struct error *error);
void inputs_clear(struct inputs *inputs);

/* Reports on stderr what was dropped from the inputs. */
void inputs_complain(const struct inputs *inputs);

/* The part of a command line that chooses what is read and shown. */
struct input_request {
	struct input_paths paths;
	struct input_options options;
	struct filter_options filter;
	const char *categories; /* path of a table, "kernel" or "waits"; NULL: none */
	unsigned labels;	/* enum label bits given by --by; 0: the format's default */
	bool is_quiet;
};

/*
 * Reads the requested files, applies the filter, and, unless quiet, reports on stderr what was
 * dropped. Fails if the profile lacks one of the labels. Returns 0 or a negative errno.
 */
int inputs_load(struct inputs *inputs, struct input_request *request, unsigned labels,
		struct error *error);

/* The part of inputs_load() after reading, for a profile that came from elsewhere. */
int inputs_finish(struct inputs *inputs, struct input_request *request, unsigned labels,
		  struct error *error);
void input_request_clear(struct input_request *request);

/* --- without rights --------------------------------------------------------------------------- */

/*
 * Commands that read foreign profiles. If they have rights, as root has, everything from the first byte of input to the
 * last byte of output happens in a child process without rights (worker/sandbox.h); else in this process.
 */
struct confined {
	const char *const *paths[2]; /* the files that the command may read */
	size_t nr[2];
	struct input_options *input; /* gets the sandbox */
	struct outputs *outputs;     /* open */
	/* The work. 0 or a negative errno with a text. */
	int (*run)(void *context, struct error *error);
	/* See worker/sandbox.h; may be NULL. */
	int (*answer)(void *context, const void *question, size_t nr, void **ret, size_t *ret_nr,
		      struct error *error);
	void *context;
};

/* Fills in all but run and context, for a command with such a request. */
struct confined confined_request(struct input_request *request, struct outputs *outputs);

/* Returns the result of confined->run(), or a negative errno with a text if the child failed. */
int confined_run(struct confined *confined, struct error *error);

#endif
