/*
 * Where rows go, which a command prints once each interval as a sheet: to stdout or a file, as text,
 * Markdown, JSON or CSV. All intervals go to one file, which is opened before the run and appears when
 * it is complete.
 */
#ifndef STOOK_CMD_OUTPUTS_H
#define STOOK_CMD_OUTPUTS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/out_file.h"
#include "cmd/options/option_table.h"
#include "view/table.h"

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

/*
 * The file appears, whatever came of the last interval: err. Returns err, or if that is no failure what
 * came of the file.
 */
int row_outputs_commit(struct row_outputs *outputs, int err, struct error *error);

/* Gives up a file that was not committed. Also of {0}. */
void row_outputs_clear(struct row_outputs *outputs);

#endif
