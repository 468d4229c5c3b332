/* A tree of calls as columns of the page, see page/tree.js. */
#ifndef STOOK_FORMAT_PAGE_HTML_TREE_H
#define STOOK_FORMAT_PAGE_HTML_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/page/html_columns.h"
#include "format/page/html_words.h"
#include "view/flame_nodes.h"
#include "view/named_stacks.h"

/*
 * Nodes are numbered as the page numbers them. What was left out below a node is one more child of
 * it, the last one, of HTML_WORD_REST; so sums are right everywhere, and what is left out is to be
 * seen.
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

#endif
