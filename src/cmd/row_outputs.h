/*
 * Rows that a command prints once each interval: as a table, JSON or CSV, to stdout, to a file, or to
 * both. The options for that, and the writing. All intervals go to one file, which is opened before
 * the run and appears when it is over.
 */
#ifndef STOOK_CMD_ROW_OUTPUTS_H
#define STOOK_CMD_ROW_OUTPUTS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/out_file.h"
#include "cmd/options/option_table.h"

enum row_format { ROWS_TABLE, ROWS_JSON, ROWS_CSV };

struct row_output_options {
	bool json, csv;	  /* on stdout; neither: a table, unless there is a file */
	const char *path; /* of a file; NULL: none */
	enum row_format path_format;
};

/* The rows: --json, --csv, -o. */
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
 * An interval, everywhere. write_rows() writes it as format; is_first: nothing was written before, CSV
 * needs its head. 0 or a negative errno; -EPIPE when nobody reads stdout any more.
 */
int row_outputs_write(struct row_outputs *outputs,
		      void (*write_rows)(const void *context, enum row_format format, bool is_first,
					 FILE *out),
		      const void *context, struct error *error);

/* After the last interval: the file appears. */
int row_outputs_commit(struct row_outputs *outputs, struct error *error);

/* Gives up a file that was not committed. Also of {0}. */
void row_outputs_clear(struct row_outputs *outputs);

#endif
