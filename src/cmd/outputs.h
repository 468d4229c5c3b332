/*
 * Outputs for rows that a command prints once per interval as a sheet: to stdout or a file, as
 * text, Markdown, JSON or CSV. All intervals go to one file, which is opened before the run and
 * gets its name when it is complete.
 */
#ifndef STOOK_CMD_OUTPUTS_H
#define STOOK_CMD_OUTPUTS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/file/out_file.h"
#include "cmd/options/option_table.h"
#include "view/table.h"

struct row_output_options {
	bool json, csv;	   /* on stdout */
	enum media format; /* of stdout; 0 without json and csv: text, unless path is given */
	const char *path;  /* output file; NULL: none */
	enum media path_format;
};

/* Returns the rows: --json, --csv, --format, -o. */
struct option_group row_output_options_group(struct row_output_options *options);

/* Rejects contradictions. lists: --list was given. Returns 0 or -EINVAL. */
int row_output_options_check(const struct row_output_options *options, bool lists,
			     struct error *error);

/* Returns the format that was asked for on stdout, or 0. */
enum media row_output_format(const struct row_output_options *options);

struct row_outputs {
	const struct row_output_options *options;
	struct out_file file;
	bool has_begun;
	bool has_failed; /* stdout failed: do not report it again for each interval */
};

int row_outputs_open(struct row_outputs *outputs, const struct row_output_options *options,
		     struct error *error);

/*
 * Writes an interval to all outputs. Returns 0 or a negative errno; -EPIPE if the reader closed
 * stdout. A file that cannot be written is reported by row_outputs_commit().
 */
int row_outputs_write(struct row_outputs *outputs, const struct sheet *sheet, struct error *error);

/*
 * Commits the file even if the last interval failed with err. Returns err if that was a failure,
 * else the result of the commit.
 */
int row_outputs_commit(struct row_outputs *outputs, int err, struct error *error);

/* Discards a file that was not committed. outputs may be {0}. */
void row_outputs_clear(struct row_outputs *outputs);

/* All of these, for a command without intervals. Returns 0 or a negative errno. */
int row_outputs_write_once(const struct row_output_options *options, const struct sheet *sheet,
			   struct error *error);

#endif
