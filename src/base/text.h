/* Strings: prefixes and suffixes, characters, numbers, and sanitising them for a terminal. */
#ifndef STOOK_BASE_TEXT_H
#define STOOK_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static inline bool text_starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/* True if a text of nr bytes, which need not be NUL-terminated, ends with `end`. */
static inline bool text_ends_with(const char *text, size_t nr, const char *end)
{
	size_t nr_end = strlen(end);

	return nr >= nr_end && !memcmp(text + nr - nr_end, end, nr_end);
}

/* The part of a path after its last slash; the whole path if there is none. */
static inline const char *text_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Formats like printf() into memory that the caller frees; NULL when out of memory. */
char *text_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Names come from untrusted files and processes. Printed unchanged, they could move the cursor,
 * rewrite lines that were printed before, or answer prompts for the user. So every text that people
 * read in a terminal is sanitised: each byte of a control character becomes `?`, and so does each
 * byte that is not valid UTF-8. Control characters are those of ASCII (C0 and DEL) and Unicode (C1,
 * U+0080 to U+009F); marks, embeddings, overrides and isolates of the writing direction (U+061C,
 * U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069); and the line and paragraph separators
 * (U+2028, U+2029). The length in bytes does not change.
 */

/*
 * Decodes the UTF-8 character at the beginning of a NUL-terminated text, control characters
 * included: its length in bytes and its code point; 0 at the text's end and for invalid UTF-8.
 */
size_t text_utf8(const char *text, uint32_t *ret_code);

/* The length of such a character if it may be sent to a terminal, else 0. */
size_t text_character(const char *text);

/*
 * The number of bytes at a text's beginning that are printable ASCII and neither of two characters.
 */
static inline size_t text_plain(const char *text, char but, char nor)
{
	size_t nr = 0;

	while (text[nr] >= ' ' && text[nr] <= '~' && text[nr] != but && text[nr] != nor)
		nr++;
	return nr;
}

/*
 * Copies a NUL-terminated text of nr bytes, without its NUL, and sanitises it. to may equal text.
 */
void text_make_safe(char *to, const char *text, size_t nr);

/* Writes a NUL-terminated text, sanitised. Not thread-safe, like putc_unlocked(). */
void text_write(FILE *out, const char *text);

/* --- text in columns of a terminal -------------------------------------------------------------- */

/* The width of a text: a character is one column, and so is each byte replaced by `?`. */
size_t text_columns(const char *text);

/*
 * Writes text in at most `columns` columns: the middle of a longer text is replaced by `ellipsis`,
 * since names differ at both ends. Returns the columns written.
 */
size_t text_write_columns(FILE *out, const char *text, size_t columns, const char *ellipsis);

/*
 * Like text_write_columns(), into a buffer of columns * 4 + 1 bytes; an ellipsis must have at most
 * four bytes per column.
 */
void text_cut(const char *text, size_t columns, const char *ellipsis, char *buffer);

void text_pad(FILE *out, size_t columns);

/* --- numbers ---------------------------------------------------------------------------------- */

/* Formats a number with commas between thousands. */
#define NUMBER_COMMAS_BYTES 32
const char *number_commas(char buffer[NUMBER_COMMAS_BYTES], uint64_t number);

/* The value of a hexadecimal digit, or -1. */
static inline int text_hex_digit(char byte)
{
	const char lower = (char)(byte | 0x20);

	if (byte >= '0' && byte <= '9')
		return byte - '0';
	return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* The parsers below are strict: no blanks, nothing after the number, no overflow. */

/* Decimal, or hexadecimal after 0x. 0, -EINVAL, or -ERANGE above max. */
int number_parse(const char *text, uint64_t max, uint64_t *ret);

/*
 * Parses a time with an optional fraction and unit ("2", "0.5", "500ms", "10s", "2m", "1h", "7d") into
 * nanoseconds; the default unit is seconds. 0, -EINVAL or -ERANGE.
 */
int number_parse_seconds(const char *text, uint64_t *ret_ns);

/*
 * Parses "3,7,10": comma-separated; with ranges also "0-2,5". The result is sorted, without
 * duplicates, at most max_nr. The caller frees *ret. 0, -EINVAL, -ERANGE, -ENOMEM.
 */
int number_parse_list(const char *text, bool ranges, uint32_t max, size_t max_nr, uint32_t **ret,
		      size_t *ret_nr);

#endif
