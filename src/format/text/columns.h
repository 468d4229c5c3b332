/*
 * Text in columns of a terminal. A character is one column; each byte that a terminal must not be sent
 * (base/text.h) is shown as `?`.
 */
#ifndef STOOK_FORMAT_TEXT_COLUMNS_H
#define STOOK_FORMAT_TEXT_COLUMNS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text.h"

size_t columns_of(const char *text);

/*
 * Writes text in at most so many columns: what is too long loses its middle to `ellipsis`, since
 * names differ at both ends. Returns the columns written.
 */
size_t columns_write(FILE *out, const char *text, size_t columns, const char *ellipsis);

/* The same into a buffer of columns * 4 + 1 bytes; an ellipsis has at most four bytes a column. */
void columns_cut(const char *text, size_t columns, const char *ellipsis, char *buffer);

void columns_pad(FILE *out, size_t columns);

#define COLUMNS_NUMBER_BYTES NUMBER_COMMAS_BYTES
#define columns_number	     number_commas

#endif
