/* Texts as CSV (RFC 4180) has them. */
#ifndef STOOK_FORMAT_TEXT_CSV_H
#define STOOK_FORMAT_TEXT_CSV_H

#include <stdio.h>

/* Quoted whatever is in it; what would control a terminal is shown as `?`. NULL is empty. */
void csv_write_string(FILE *out, const char *text);

/* Rows end in CR LF. */
void csv_end_row(FILE *out);

#endif
