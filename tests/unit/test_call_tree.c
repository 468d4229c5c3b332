/* view/call_tree, compared with counts over all stacks. */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/make_profile.h"
#include "view/call_tree.h"

/* Returns the count of all stacks that begin with these words. */
static uint64_t count_prefix(const struct named_stacks *stacks, const uint32_t *words, size_t nr)
{
	uint64_t count = 0;
	size_t length;
	uint32_t i;

	for (i = 0; i < named_stacks_nr(stacks); i++) {
		const uint32_t *stack = named_stacks_get(stacks, i, &length);

		if (length >= nr && !memcmp(stack, words, nr * sizeof(*words)))
			count += stacks->counts[i];
	}
	return count;
}

static void check_below(const struct call_tree *tree, const struct call_node *node, uint32_t *path,
			size_t nr_path)
{
	struct call_children children;
	uint64_t sum;
	size_t i;

	CHECK_EQ(node->depth, nr_path);
	CHECK_EQ(node->count, count_prefix(tree->stacks, path, nr_path));
	CHECK_EQ(call_tree_children(tree, node, 1, &children), 0);
	CHECK_EQ(children.others_count, 0);
	sum = children.self_count;
	for (i = 0; i < children.nr; i++) {
		CHECK(!i || children.nodes[i - 1].count >= children.nodes[i].count);
		sum += children.nodes[i].count;
		path[nr_path] = children.nodes[i].word;
		check_below(tree, &children.nodes[i], path, nr_path + 1);
	}
	CHECK_EQ(sum, node->count);
	call_children_clear(&children);
}

static struct profile *random_profile(unsigned seed)
{
	struct profile *profile = profile_new();
	char line[200];
	int i, depth;

	srand(seed);
	for (i = 0; i < 400; i++) {
		int nr = snprintf(line, sizeof(line), "comm%d", rand() % 3);

		for (depth = rand() % 8; depth; depth--)
			nr += snprintf(line + nr, sizeof(line) - (size_t)nr, ";f%d", rand() % 3);
		(void)snprintf(line + nr, sizeof(line) - (size_t)nr, " %d", 1 + rand() % 9);
		(void)make_sample(profile, line);
	}
	return profile;
}

TEST(call_tree_agrees_with_counting)
{
	const struct named_stacks_style style = {.labels = LABEL_COMM};
	struct named_stacks stacks;
	struct call_tree tree;
	struct call_node root;
	uint32_t path[16];
	unsigned seed;

	for (seed = 1; seed <= 5; seed++) {
		struct profile *profile = random_profile(seed);

		CHECK_EQ(named_stacks_init(&stacks, profile, &style), 0);
		profile_free(profile);
		CHECK_EQ(call_tree_init(&tree, &stacks), 0);
		root = call_tree_root(&tree);
		CHECK_EQ(root.count, stacks.total);
		check_below(&tree, &root, path, 0);
		call_tree_clear(&tree);
		named_stacks_clear(&stacks);
	}
}

TEST(call_tree_sums_small_children)
{
	const struct named_stacks_style style = {0};
	struct profile *profile = profile_new();
	struct named_stacks stacks;
	struct call_tree tree;
	struct call_node root;
	struct call_children children;

	(void)make_sample(profile, "x;a 10");
	(void)make_sample(profile, "x;b 10");
	(void)make_sample(profile, "x;c 20");
	(void)make_sample(profile, "x;d 3");
	(void)make_sample(profile, "x;e 4");
	(void)make_sample(profile, "x 5");
	CHECK_EQ(named_stacks_init(&stacks, profile, &style), 0);
	CHECK_EQ(call_tree_init(&tree, &stacks), 0);
	root = call_tree_root(&tree);
	CHECK_EQ(call_tree_children(&tree, &root, 10, &children), 0);
	CHECK_EQ(children.nr, 3);
	CHECK_STR(named_stacks_word(&stacks, children.nodes[0].word), "c");
	CHECK_STR(named_stacks_word(&stacks, children.nodes[1].word), "a");
	CHECK_STR(named_stacks_word(&stacks, children.nodes[2].word), "b");
	CHECK_EQ(children.others_count, 7);
	CHECK_EQ(children.nr_others, 2);
	CHECK_EQ(children.self_count, 5);
	call_children_clear(&children);
	call_tree_clear(&tree);
	named_stacks_clear(&stacks);
	profile_free(profile);
}

TEST(named_stacks_fold_recursion)
{
	const struct named_stacks_style style = {
		.labels = LABEL_COMM, .fold_recursion = true, .show_modules = true};
	struct profile *profile = profile_new();
	struct named_stacks stacks;
	const uint32_t *words;
	size_t nr;

	(void)make_sample(profile, "fib;fib;fib@1;lib!;lib!@1;fib@2 1");
	(void)make_sample(profile, "fib;fib;lib!;fib 2");
	CHECK_EQ(named_stacks_init(&stacks, profile, &style), 0);
	CHECK_EQ(named_stacks_nr(&stacks), 1);
	CHECK_EQ(stacks.counts[0], 3);
	words = named_stacks_get(&stacks, 0, &nr);
	CHECK_EQ(nr, 4); /* a thread name is not a caller of the function with the same name */
	CHECK_STR(named_stacks_word(&stacks, words[0]), "fib");
	CHECK_STR(named_stacks_word(&stacks, words[2]), "[unknown] (lib)");
	CHECK(named_stacks_is_recursive(&stacks, words[1]));
	CHECK(!named_stacks_is_recursive(&stacks, words[2]));
	named_stacks_clear(&stacks);
	profile_free(profile);
}
