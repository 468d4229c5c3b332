/*
 * The report's rows as CSV: a line of headings, then a row each, heaviest first:
 *
 *	function,module,self,total,self_percent,total_percent
 *	"dictFind","redis-server",2889,5568,23.4022,45.1033
 *
 * What the first columns are was asked for; where counts are a sum, the last one is its unit.
 * Categories are rows of a file of their own kind: ask for rows by category.
 */
#ifndef STOOK_FORMAT_TEXT_REPORT_CSV_H
#define STOOK_FORMAT_TEXT_REPORT_CSV_H

#include <stdio.h>

#include "format/text/report.h"

/* Writes and flushes. 0, -ENOMEM, or the stream's errno. */
int report_csv_write(const struct profile *profile, const struct report_options *options,
		     FILE *out);

#endif
