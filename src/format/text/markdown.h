/*
 * A short report for a ticket, as Markdown (with the tables that most trackers know): how the
 * profile was taken, what the run said of itself, the top functions, categories if asked for, and
 * the heaviest path.
 *
 * Whatever a target calls its functions stays text: names stand in code spans, and are cut where
 * they are longer than a reader would read.
 */
#ifndef STOOK_FORMAT_TEXT_MARKDOWN_H
#define STOOK_FORMAT_TEXT_MARKDOWN_H

#include <stdio.h>

#include "format/text/report.h"

/* Writes and flushes. 0, -ENOMEM, or the stream's errno. */
int markdown_write(const struct profile *profile, const struct report_options *options, FILE *out);

#endif
