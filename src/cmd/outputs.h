/*
 * Where results go: to stdout, to files, or both. Files are opened before the run, so that what
 * can't be written is known before anything was sampled, and appear whole when they are complete.
 *
 * Profiles are written in any format (struct outputs). Rows, which a command prints once each
 * interval, are sheets (struct row_outputs): all intervals go to one file.
 */
#ifndef STOOK_CMD_OUTPUTS_H
#define STOOK_CMD_OUTPUTS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/out_file.h"
#include "cmd/options/option_table.h"
#include "cmd/options/output_options.h"
#include "view/table.h"

struct outputs {
	const struct output_options *options;
	struct format_options format;
	unsigned kept_labels; /* instead of the format's, of those that keep labels */
	bool are_many;	      /* one after the other: files are numbered */
	struct out_file files[OUTPUTS_MAX];
	size_t nr_files;
	unsigned number; /* how many were written */
};

/* format: what is known of the profile; options and the terminal tell the rest. 0 or -errno. */
int outputs_open(struct outputs *outputs, const struct output_options *options,
		 const struct format_options *format, bool are_many, struct error *error);

/*
 * Which of an input's labels are there: those that were asked for, if any; else people see samples by
 * thread name, and formats that keep labels for other programs get all of them.
 */
void outputs_set_labels(struct outputs *outputs, unsigned asked, unsigned there);

/* Writes the (named) profile everywhere. If they are many, the next files are opened. */
int outputs_write(struct outputs *outputs, const struct profile *profile, struct error *error);

/* Gives up what was not written. */
void outputs_clear(struct outputs *outputs);

struct row_output_options {
	bool json, csv;	   /* on stdout */
	enum media format; /* of stdout; 0, and neither of these: text, unless there is a file */
	const char *path;  /* of a file; NULL: none */
	enum media path_format;
};

/* The rows: --json, --csv, --format, -o. */
struct option_group row_output_options_group(struct row_output_options *options);

/* Refuses what contradicts itself. lists: --list was given. 0 or -EINVAL. */
int row_output_options_check(const struct row_output_options *options, bool lists,
			     struct error *error);

struct row_outputs {
	const struct row_output_options *options;
	struct out_file file;
	bool has_begun;
	bool has_failed; /* stdout: trying again would only be complained of again */
};

int row_outputs_open(struct row_outputs *outputs, const struct row_output_options *options,
		     struct error *error);

/*
 * Writes an interval everywhere. 0 or a negative errno; -EPIPE when nobody reads stdout any more. A
 * file that can't be written is reported by row_outputs_commit().
 */
int row_outputs_write(struct row_outputs *outputs, const struct sheet *sheet, struct error *error);

/* After the last interval: the file appears. */
int row_outputs_commit(struct row_outputs *outputs, struct error *error);

/* Gives up a file that was not committed. Also of {0}. */
void row_outputs_clear(struct row_outputs *outputs);

#endif
