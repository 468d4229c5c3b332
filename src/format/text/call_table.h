/* Calls of functions as a table: that of bcc's funccount, line by line, where no more is asked for. */
#ifndef STOOK_FORMAT_TEXT_CALL_TABLE_H
#define STOOK_FORMAT_TEXT_CALL_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "format/text/call_rows.h"

#define CALL_TABLE_KEYS_MAX 8 /* that have columns */

struct call_table_options {
	bool rate;	/* a column of calls a second */
	bool timestamp; /* the local time of day above it */
};

/* Writes one interval; flushing is the caller's. */
void call_table_write(const struct call_interval *interval,
		      const struct call_table_options *options, FILE *out);

#endif
