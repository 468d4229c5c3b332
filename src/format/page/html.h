/*
 * A self-contained HTML page that shows a profile, also if the profile is too large for a picture.
 * Equal profiles give equal bytes. The other functions here make the page's data: call trees and
 * their words, as columns of numbers that page/js reads.
 */
#ifndef STOOK_FORMAT_PAGE_HTML_H
#define STOOK_FORMAT_PAGE_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/strings.h"
#include "format/format.h"
#include "profile/profile.h"
#include "view/flame_nodes.h"
#include "view/group_totals.h"
#include "view/homes.h"
#include "view/named_stacks.h"

/* Writes and flushes. Returns 0, -ENOMEM, or the stream's errno. */
int html_write(const struct profile *profile, const struct format_options *options, FILE *out);

/* Only the data of such a page, for one that is open: {"about": {...}, "data": "..."}. As html_write(). */
int html_write_model(const struct profile *profile, const struct format_options *options,
		     FILE *out);

/* The page of the server, which asks for such data. Returns 0 or the stream's errno. */
int html_write_server(FILE *out);

/* --- columns ---------------------------------------------------------------------------------- */

/*
 * Columns of numbers in the encoding of page/js/decode.js: each number in groups of 7 bits, lowest
 * first; the top bit of a byte is set if more follow. Numbers of the same kind are stored together,
 * which compresses better.
 */

#define HTML_COLUMN_NAME_BYTES 32

struct html_column {
	char name[HTML_COLUMN_NAME_BYTES];
	uint8_t *bytes;
	size_t nr_bytes, cap_bytes;
	size_t nr; /* number of values */
};

/*
 * Zero-initialised: empty. Running out of memory sets failed; later calls are then no-ops.
 */
struct html_columns {
	struct html_column *columns;
	size_t nr, cap;
	bool failed;
};

/*
 * Adds a column; returns its number, for the functions below, which append a value or bytes to it.
 */
size_t html_columns_add(struct html_columns *columns, const char *name);
/* Likewise, with "tree" and a number before the name: "tree2.up". */
size_t html_columns_add_of_tree(struct html_columns *columns, size_t tree, const char *name);

void html_columns_put(struct html_columns *columns, size_t number, uint64_t value);
void html_columns_put_bytes(struct html_columns *columns, size_t number, const void *bytes,
			    size_t nr);

/* Writes name, number of values and bytes of each column as JSON, in the order of the columns. */
void html_columns_write_list(const struct html_columns *columns, FILE *out);
/* Writes the columns compressed, in base64. Returns 0 or a negative errno. */
int html_columns_write(const struct html_columns *columns, FILE *out);

void html_columns_clear(struct html_columns *columns);

/* --- words ------------------------------------------------------------------------------------ */

struct categories;

/*
 * Words 0 and 1 always exist: the root, and the word for omitted calls.
 */
#define HTML_WORD_REST 1

struct html_function {
	uint32_t name;	 /* number of its text */
	uint32_t module; /* index in the profile */
	uint8_t category;
	uint64_t self, total; /* see html_words_add_totals() */
};

struct html_word {
	uint32_t text;
	uint32_t function; /* its number + 1; 0: none */
	uint8_t kind;	   /* enum word_kind, or NR_WORD_KINDS for omitted calls */
};

struct html_words {
	const struct profile *profile;
	const struct categories *categories; /* NULL: none */
	struct homes homes;		     /* modules of functions, as in named stacks */
	struct strings *texts;
	struct html_function *functions;
	size_t nr_functions, cap_functions;
	struct number_index function_index;
	struct html_word *words;
	size_t nr_words, cap_words;
	struct number_index word_index;
	bool has_totals;
};

/* Returns 0 or -ENOMEM. */
int html_words_init(struct html_words *words, const struct profile *profile,
		    const struct categories *categories);
void html_words_clear(struct html_words *words);

/* Returns the page's number of a word of named stacks, or -ENOMEM. */
int64_t html_words_add(struct html_words *words, const struct named_stacks *stacks,
		       uint32_t number);

/*
 * Computes the exact self and total counts of each function, including functions too small to be in
 * a tree. Returns 0 or -ENOMEM.
 */
int html_words_add_totals(struct html_words *words);

void html_words_put(const struct html_words *words, struct html_columns *columns);

/* --- trees ------------------------------------------------------------------------------------ */

/*
 * Nodes are numbered as in the page. Calls omitted below a node are added to it as a last child
 * with the word HTML_WORD_REST, so that all sums are right and omissions are visible.
 */
struct html_tree {
	const struct named_stacks *stacks;
	const struct flame_nodes *nodes;
	size_t number;	   /* number of this tree */
	bool has_count;	   /* has a column of counts */
	bool has_other;	   /* has a column of the second value */
	uint32_t *word_of; /* words of the stacks -> words of the page */
	uint32_t *parents; /* indexed by the page's nodes */
	uint32_t *words;   /* likewise */
	size_t nr, cap, cap_words;
	size_t nr_rests;
};

/* Returns 0 or -ENOMEM. */
int html_tree_put(struct html_tree *tree, struct html_words *words, struct html_columns *columns);
void html_tree_clear(struct html_tree *tree);

/* --- slices of time --------------------------------------------------------------------------- */

/* The tree's stacks must have slices. Returns 0 or -ENOMEM. */
int html_slices_put(const struct profile *profile, const struct html_tree *tree,
		    struct html_columns *columns);

#endif
