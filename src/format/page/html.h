/*
 * A page that shows a profile: one file that asks for nothing else, for profiles too large for a
 * picture. Equal profiles give equal bytes. Behind html_write() stand its data: trees of calls and their
 * words, as columns of numbers that page/js reads.
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

/* Writes and flushes. 0, -ENOMEM, or the stream's errno. */
int html_write(const struct profile *profile, const struct format_options *options, FILE *out);

/* --- columns ---------------------------------------------------------------------------------- */

/*
 * Columns of numbers as page/js/decode.js reads them: each number in groups of 7 bits, the lowest
 * first, a bit in each byte says whether more follow. All numbers of a kind lie together, so that
 * deflate finds what they have in common.
 */

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

/* --- words ------------------------------------------------------------------------------------ */

struct categories;

/*
 * Words 0 and 1 are there from the start: the root, and what stands for calls that were left out.
 */
#define HTML_WORD_REST 1

struct html_function {
	uint32_t name;	 /* text */
	uint32_t module; /* the profile's */
	uint8_t category;
	uint64_t self, total; /* see html_words_add_totals() */
};

struct html_word {
	uint32_t text;
	uint32_t function; /* its number and 1; 0: none */
	uint8_t kind;	   /* enum word_kind, or NR_WORD_KINDS for what was left out */
};

struct html_words {
	const struct profile *profile;
	const struct categories *categories; /* NULL: none */
	struct homes homes;		     /* of functions, as named stacks have them */
	struct strings *texts;
	struct html_function *functions;
	size_t nr_functions, cap_functions;
	struct number_index function_index;
	struct html_word *words;
	size_t nr_words, cap_words;
	struct number_index word_index;
	bool has_totals;
};

/* 0 or -ENOMEM. */
int html_words_init(struct html_words *words, const struct profile *profile,
		    const struct categories *categories);
void html_words_clear(struct html_words *words);

/* The page's number of a word of named stacks; or -ENOMEM. */
int64_t html_words_add(struct html_words *words, const struct named_stacks *stacks,
		       uint32_t number);

/*
 * What each function has by itself and in all, exactly, also of those that are in no tree because
 * they are too light. 0 or -ENOMEM.
 */
int html_words_add_totals(struct html_words *words);

void html_words_put(const struct html_words *words, struct html_columns *columns);

/* --- trees ------------------------------------------------------------------------------------ */

/*
 * Nodes are numbered as the page numbers them. What was left out below a node is one more child of
 * it, the last one, of HTML_WORD_REST; so sums are right everywhere, and what is left out is
 * visible.
 */
struct html_tree {
	const struct named_stacks *stacks;
	const struct flame_nodes *nodes;
	size_t number;	   /* of the tree */
	bool has_count;	   /* has a column of counts */
	bool has_other;	   /* and one of the other value */
	uint32_t *word_of; /* by the stacks' words: the page's */
	uint32_t *parents; /* by the page's nodes */
	uint32_t *words;   /* likewise */
	size_t nr, cap, cap_words;
	size_t nr_rests;
};

/* 0 or -ENOMEM. */
int html_tree_put(struct html_tree *tree, struct html_words *words, struct html_columns *columns);
void html_tree_clear(struct html_tree *tree);

/* --- slices of time --------------------------------------------------------------------------- */

/* The tree's stacks must have slices. 0 or -ENOMEM. */
int html_slices_put(const struct profile *profile, const struct html_tree *tree,
		    struct html_columns *columns);

#endif
