/* The report's tables; used by report.c alone, which has filled in the options' defaults. */
#ifndef STOOK_FORMAT_TEXT_REPORT_TABLE_H
#define STOOK_FORMAT_TEXT_REPORT_TABLE_H

#include <stdio.h>

#include "format/text/report.h"
#include "format/text/report_rows.h"

/* Errors of the stream are left in it. */
void report_table_write(const struct report_rows *rows, const struct report_options *options,
			FILE *out);
void report_table_write_categories(const struct report_rows *rows,
				   const struct report_options *options, FILE *out);

#endif
