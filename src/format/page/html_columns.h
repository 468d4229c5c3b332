/*
 * Columns of numbers as page/js/decode.js reads them: each number in groups of 7 bits, the lowest
 * first, a bit in each byte says whether more follow. All numbers of a kind lie together, so that
 * deflate finds what they have in common.
 */
#ifndef STOOK_FORMAT_PAGE_HTML_COLUMNS_H
#define STOOK_FORMAT_PAGE_HTML_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define HTML_COLUMN_NAME_BYTES 32

struct html_column {
	char name[HTML_COLUMN_NAME_BYTES];
	uint8_t *bytes;
	size_t nr_bytes, cap_bytes;
	size_t nr; /* numbers */
};

/*
 * A table of zeros is empty. Running out of memory is noted in it, and what follows does nothing.
 */
struct html_columns {
	struct html_column *columns;
	size_t nr, cap;
	bool failed;
};

/* A new column; its number, for the functions below, which add a value, or bytes, to it. */
size_t html_columns_add(struct html_columns *columns, const char *name);
/* The same, with "tree" and a number in front: "tree2.up". */
size_t html_columns_add_of_tree(struct html_columns *columns, size_t tree, const char *name);

void html_columns_put(struct html_columns *columns, size_t number, uint64_t value);
void html_columns_put_bytes(struct html_columns *columns, size_t number, const void *bytes,
			    size_t nr);

/* Name, numbers and bytes of each, as JSON; and the columns themselves, in the same order. */
void html_columns_write_list(const struct html_columns *columns, FILE *out);
/* Compressed, in base64. 0 or a negative errno. */
int html_columns_write(const struct html_columns *columns, FILE *out);

void html_columns_clear(struct html_columns *columns);

#endif
