/*
 * A difference as text: the functions whose share changed, and the call paths; see comparison.h.
 *
 * What may be chance stands below a line that says how much it is. UTF-8 and colours are for terminals
 * that show them; no line is wider than asked for, or than 60 columns.
 */
#ifndef STOOK_FORMAT_TEXT_DIFF_TABLE_H
#define STOOK_FORMAT_TEXT_DIFF_TABLE_H

#include <stdio.h>

#include "format/format.h"
#include "view/diff/comparison.h"

/* Writes and flushes. 0, -ENOMEM, -EINVAL if it is no difference, or the stream's errno. */
int diff_table_write(const struct profile *profile, const struct format_options *options,
		     const struct comparison_style *style, FILE *out);

#endif
