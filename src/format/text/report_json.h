/*
 * The report's rows as JSON, one object:
 *
 *	counted		"samples", "hits", …; of a sum what it is of
 *	is_sum		whether counts are a sum of that
 *	unit		of a sum; null: of none
 *	total		all of them
 *	event, period, period_unit, time, duration	how they were taken; null: not known
 *	comments	what the run had to say of itself, a string each
 *	no_stack	counts that are in no row
 *	categories	if asked for: category, self, self_percent
 *	rows		heaviest first: what was asked for (function, module, …), of functions
 *			their kind, self, total, self_percent, total_percent
 *
 * A function whose category is null counts for its callers'; one whose kind is null is several of that
 * name. Keys come in this order, counts are
 * whole numbers, time is of UTC, duration in seconds. A source line is `file`, its whole path, and
 * `line`.
 */
#ifndef STOOK_FORMAT_TEXT_REPORT_JSON_H
#define STOOK_FORMAT_TEXT_REPORT_JSON_H

#include <stdio.h>

#include "format/text/report.h"

/* Writes and flushes. 0, -ENOMEM, or the stream's errno. */
int report_json_write(const struct profile *profile, const struct report_options *options,
		      FILE *out);

#endif
