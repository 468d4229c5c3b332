/* Texts as CSV (RFC 4180) has them. */
#ifndef STOOK_FORMAT_TEXT_CSV_H
#define STOOK_FORMAT_TEXT_CSV_H

#include <stdio.h>

/*
 * Quoted whatever is in it, and safe for terminals (base/text.h). A text that a spreadsheet would take
 * for a formula, since it begins with = + - or @, gets an apostrophe before it. NULL is empty.
 */
void csv_write_string(FILE *out, const char *text);

/* Rows end in CR LF. */
void csv_end_row(FILE *out);

#endif
