/* A percentage as the text report has it: heavy ones in perf's colours, if colours are wanted. */
#ifndef STOOK_FORMAT_TEXT_REPORT_PERCENT_H
#define STOOK_FORMAT_TEXT_REPORT_PERCENT_H

#include <stdbool.h>
#include <stdio.h>

#define REPORT_PERCENT_COLUMNS 6 /* "100.0%" */

void report_percent_write(FILE *out, double percent, bool color);

#endif
