/*
 * One pass over the flame graph's nodes, which are in the page's order already. Nodes that are open
 * are on a stack with the sum of their children, so that when one is closed it is known what was
 * left out.
 */
#include "format/page/html_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"

struct open_node {
	const struct flame_node *node;
	uint32_t number;		   /* the page's */
	uint64_t children, other_children; /* sums */
};

struct pass {
	struct html_tree *tree;
	struct html_columns *columns;
	size_t up, word, self, other; /* columns */
	struct open_node *open;
	size_t nr_open, cap_open;
	size_t last_depth;
};

/* A node without anything below it so far, as a child of the innermost open one. */
static int put_node(struct pass *pass, uint32_t word, uint64_t self, uint64_t other)
{
	struct html_tree *tree = pass->tree;
	size_t depth = pass->nr_open;

	if (array_reserve(&tree->parents, &tree->cap, tree->nr + 1, sizeof(*tree->parents)) < 0 ||
	    array_reserve(&tree->words, &tree->cap_words, tree->nr + 1, sizeof(*tree->words)) < 0)
		return -ENOMEM;
	tree->parents[tree->nr] = depth ? pass->open[depth - 1].number : 0;
	tree->words[tree->nr++] = word;
	html_columns_put(pass->columns, pass->up, depth ? pass->last_depth + 1 - depth : 0);
	html_columns_put(pass->columns, pass->word, word);
	if (tree->has_count)
		html_columns_put(pass->columns, pass->self, self);
	if (tree->has_other)
		html_columns_put(pass->columns, pass->other, other);
	pass->last_depth = depth;
	return 0;
}

/* Closes all nodes at this depth and below. */
static int close_nodes(struct pass *pass, size_t depth)
{
	while (pass->nr_open > depth) {
		const struct open_node *open = &pass->open[pass->nr_open - 1];
		const struct flame_node *node = open->node;
		uint64_t rest = node->count - node->self - open->children;
		uint64_t other = node->other - node->other_self - open->other_children;

		if (rest || other) {
			if (put_node(pass, HTML_WORD_REST, rest, other) < 0)
				return -ENOMEM;
			pass->tree->nr_rests++;
		}
		pass->nr_open--;
		if (!pass->nr_open)
			break;
		pass->open[pass->nr_open - 1].children += node->count;
		pass->open[pass->nr_open - 1].other_children += node->other;
	}
	return 0;
}

static int open_node(struct pass *pass, const struct flame_node *node)
{
	struct html_tree *tree = pass->tree;
	uint32_t number = (uint32_t)tree->nr;

	if (close_nodes(pass, node->depth) < 0 ||
	    put_node(pass, tree->word_of[node->word], node->self, node->other_self) < 0 ||
	    array_reserve(&pass->open, &pass->cap_open, pass->nr_open + 1, sizeof(*pass->open)) < 0)
		return -ENOMEM;
	pass->open[pass->nr_open++] = (struct open_node){.node = node, .number = number};
	return 0;
}

/* The page's words, in the order that nodes have them; the root is word 0. */
static int map_words(struct html_tree *tree, struct html_words *words)
{
	size_t i;

	tree->word_of = calloc(tree->stacks->nr_words + 1, sizeof(*tree->word_of));
	if (!tree->word_of)
		return -ENOMEM;
	for (i = 0; i < tree->nodes->nr; i++) {
		uint32_t word = tree->nodes->nodes[i].word;
		int64_t number;

		if (!word || tree->word_of[word])
			continue;
		number = html_words_add(words, tree->stacks, word);
		if (number < 0)
			return (int)number;
		tree->word_of[word] = (uint32_t)number;
	}
	return 0;
}

static int put_nodes(struct pass *pass)
{
	const struct flame_nodes *nodes = pass->tree->nodes;
	size_t i;

	for (i = 0; i < nodes->nr; i++)
		if (open_node(pass, &nodes->nodes[i]) < 0)
			return -ENOMEM;
	return close_nodes(pass, 0);
}

int html_tree_put(struct html_tree *tree, struct html_words *words, struct html_columns *columns)
{
	struct pass pass = {.tree = tree, .columns = columns};
	int result;

	if (map_words(tree, words) < 0)
		return -ENOMEM;
	pass.up = html_columns_add_of_tree(columns, tree->number, "up");
	pass.word = html_columns_add_of_tree(columns, tree->number, "word");
	if (tree->has_count)
		pass.self = html_columns_add_of_tree(columns, tree->number, "self");
	if (tree->has_other)
		pass.other = html_columns_add_of_tree(columns, tree->number, "other");
	result = put_nodes(&pass);
	free(pass.open);
	return result;
}

void html_tree_clear(struct html_tree *tree)
{
	free(tree->word_of);
	free(tree->parents);
	free(tree->words);
	*tree = (struct html_tree){0};
}
