/* view/flame_nodes, compared with counts over all stacks. */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "unit/make_profile.h"
#include "view/flame_nodes.h"

static struct profile *random_profile(unsigned seed, int nr)
{
	struct profile *profile = profile_new();
	char line[200];
	int i, depth;

	srand(seed);
	for (i = 0; i < nr; i++) {
		int length = snprintf(line, sizeof(line), "comm%d", rand() % 3);

		for (depth = rand() % 8; depth; depth--)
			length += snprintf(line + length, sizeof(line) - (size_t)length, ";f%d",
					   rand() % 13 % 5);
		(void)snprintf(line + length, sizeof(line) - (size_t)length, " %d", 1 + rand() % 9);
		(void)make_sample(profile, line);
	}
	return profile;
}

static void make_stacks(struct named_stacks *ret, struct profile *profile, size_t other_value)
{
	const struct named_stacks_style style = {
		.labels = LABEL_COMM, .by_origin = true, .other_value = other_value};

	CHECK_EQ(named_stacks_init(ret, profile, &style), 0);
	profile_free(profile);
}

/* Writes the words of a node's path, root first; returns their number. */
static size_t path_of(const struct flame_nodes *nodes, uint32_t number, uint32_t *ret)
{
	size_t depth = nodes->nodes[number].depth;
	size_t left = depth;
	uint32_t i;

	for (i = number + 1; i && left; i--) {
		if (nodes->nodes[i - 1].depth != left)
			continue;
		ret[--left] = nodes->nodes[i - 1].word;
	}
	return depth;
}

struct sums {
	uint64_t count, self, other, other_self;
};

static struct sums sums_of(const struct named_stacks *stacks, const uint32_t *path, size_t nr_path)
{
	struct sums sums = {0};
	uint32_t i;

	for (i = 0; i < named_stacks_nr(stacks); i++) {
		size_t nr;
		const uint32_t *words = named_stacks_get(stacks, i, &nr);
		uint64_t other = stacks->others ? stacks->others[i] : 0;

		if (nr < nr_path || memcmp(words, path, nr_path * sizeof(*path)) != 0)
			continue;
		sums.count += stacks->counts[i];
		sums.other += other;
		sums.self += nr == nr_path ? stacks->counts[i] : 0;
		sums.other_self += nr == nr_path ? other : 0;
	}
	return sums;
}

static void check_node(const struct flame_nodes *nodes, const struct named_stacks *stacks,
		       uint32_t number, double other_weight)
{
	const struct flame_node *node = &nodes->nodes[number];
	uint32_t path[64];
	struct sums sums = sums_of(stacks, path, path_of(nodes, number, path));

	CHECK_EQ(node->count, sums.count);
	CHECK_EQ(node->self, sums.self);
	CHECK_EQ(node->other, sums.other);
	CHECK_EQ(node->other_self, sums.other_self);
	CHECK(node->width == (double)node->count + other_weight * (double)node->other);
	CHECK(node->end > number && node->end <= nodes->nr);
	CHECK(node->end == nodes->nr || nodes->nodes[node->end].depth <= node->depth);
	CHECK(number + 1 == node->end || nodes->nodes[number + 1].depth == node->depth + 1);
}

/* Children are sorted by text, do not overlap, and lie within their parent. */
static void check_children(const struct flame_nodes *nodes, const struct named_stacks *stacks,
			   uint32_t number)
{
	const struct flame_node *node = &nodes->nodes[number];
	const struct flame_node *before = NULL;
	double at = node->start;
	uint32_t i;

	for (i = number + 1; i < node->end; i = nodes->nodes[i].end) {
		const struct flame_node *child = &nodes->nodes[i];

		CHECK_EQ(child->depth, node->depth + 1);
		CHECK(child->start >= at);
		CHECK(!before || strcmp(named_stacks_word(stacks, before->word),
					named_stacks_word(stacks, child->word)) < 0);
		at = child->start + child->width;
		before = child;
	}
	CHECK(at <= node->start + node->width);
}

static void check_all(const struct flame_nodes *nodes, const struct named_stacks *stacks,
		      double other_weight)
{
	uint32_t i;

	CHECK(nodes->nr > 0);
	CHECK_EQ(nodes->nodes[0].end, nodes->nr);
	for (i = 0; i < nodes->nr; i++) {
		check_node(nodes, stacks, i, other_weight);
		check_children(nodes, stacks, i);
	}
}

/* Returns the number of distinct paths of at least this width, including the root. */
static size_t count_paths(const struct named_stacks *stacks, double least_width)
{
	struct flame_nodes nodes;
	const struct flame_shape shape = {0};
	size_t nr = 0;
	size_t i;

	CHECK_EQ(flame_nodes_init(&nodes, stacks, &shape), 0);
	for (i = 0; i < nodes.nr; i++)
		nr += nodes.nodes[i].width >= least_width;
	flame_nodes_clear(&nodes);
	return nr;
}

TEST(flame_nodes_agree_with_counting)
{
	const struct flame_shape shape = {0};
	struct named_stacks stacks;
	struct flame_nodes nodes;
	unsigned seed;

	for (seed = 1; seed <= 5; seed++) {
		make_stacks(&stacks, random_profile(seed, 400), 0);
		CHECK_EQ(flame_nodes_init(&nodes, &stacks, &shape), 0);
		CHECK_EQ(nodes.nodes[0].count, stacks.total);
		check_all(&nodes, &stacks, 0);
		flame_nodes_clear(&nodes);
		named_stacks_clear(&stacks);
	}
}

TEST(flame_nodes_leave_out_the_narrow)
{
	struct flame_shape shape = {.least_width = 40};
	struct named_stacks stacks;
	struct flame_nodes nodes;

	make_stacks(&stacks, random_profile(7, 400), 0);
	CHECK_EQ(flame_nodes_init(&nodes, &stacks, &shape), 0);
	CHECK_EQ(nodes.nr, count_paths(&stacks, 40));
	CHECK(nodes.nr > 5 && nodes.nr < 300);
	check_all(&nodes, &stacks, 0);
	flame_nodes_clear(&nodes);
	shape.least_width = 1e9;
	CHECK_EQ(flame_nodes_init(&nodes, &stacks, &shape), 0);
	CHECK_EQ(nodes.nr, 1);
	CHECK_EQ(nodes.nr_depths, 1);
	flame_nodes_clear(&nodes);
	named_stacks_clear(&stacks);
}

TEST(flame_nodes_keep_the_widest)
{
	const size_t max[] = {1, 10, 50, 100, 200, 1000};
	struct named_stacks stacks;
	struct flame_nodes nodes;
	size_t i;

	make_stacks(&stacks, random_profile(8, 2000), 0);
	for (i = 0; i < sizeof(max) / sizeof(*max); i++) {
		const struct flame_shape shape = {.max_nodes = max[i]};

		CHECK_EQ(flame_nodes_init(&nodes, &stacks, &shape), 0);
		CHECK(nodes.nr <= max[i] && nodes.nr * 4 >= max[i]);
		CHECK_EQ(nodes.nr, count_paths(&stacks, nodes.least_width));
		check_all(&nodes, &stacks, 0);
		flame_nodes_clear(&nodes);
	}
	named_stacks_clear(&stacks);
}

TEST(flame_nodes_of_two_values)
{
	const struct flame_shape shape = {.other_weight = 0.5};
	struct value_type type = {0};
	struct named_stacks stacks;
	struct flame_nodes nodes;
	struct profile *profile = random_profile(9, 300);
	uint32_t i;

	type.type = (uint32_t)profile_add_string(profile, "before");
	CHECK_EQ(profile_add_value_type(profile, &type), 1);
	for (i = 0; i < profile_nr_samples(profile); i += 2)
		CHECK_EQ(profile_add_value(profile, i, 1, 1 + i % 5), 0);
	(void)profile_add_value(profile, (uint32_t)make_sample(profile, "comm9;gone 0"), 1, 8);
	make_stacks(&stacks, profile, 1);
	CHECK_EQ(flame_nodes_init(&nodes, &stacks, &shape), 0);
	check_all(&nodes, &stacks, 0.5);
	CHECK_EQ(nodes.nodes[0].other, stacks.others_total);
	CHECK_EQ(nodes.nodes[nodes.nr - 1].count, 0);
	CHECK(nodes.nodes[nodes.nr - 1].width == 4);
	flame_nodes_clear(&nodes);
	named_stacks_clear(&stacks);
}

TEST(flame_nodes_in_the_order_of_the_input)
{
	const struct flame_shape shape = {.flamechart = true};
	struct profile *profile = profile_new();
	struct named_stacks stacks;
	struct flame_nodes nodes;
	const char *words[] = {"", "x", "b", "a", "c", "b", "d"};
	size_t i;

	(void)make_sample(profile, "x;b 1");
	(void)make_sample(profile, "x;a 2");
	(void)make_sample(profile, "x;a;c 3");
	(void)make_sample(profile, "x;b;d 4");
	make_stacks(&stacks, profile, 0);
	CHECK_EQ(flame_nodes_init(&nodes, &stacks, &shape), 0);
	CHECK_EQ(nodes.nr, 7);
	for (i = 0; i < nodes.nr; i++)
		CHECK_STR(named_stacks_word(&stacks, nodes.nodes[i].word), words[i]);
	CHECK(nodes.nodes[5].start == 6 && nodes.nodes[5].width == 4);
	CHECK_EQ(nodes.nodes[3].self, 2);
	flame_nodes_clear(&nodes);
	named_stacks_clear(&stacks);
}

/* A stack that comes back is another part of the time axis. */
TEST(flame_nodes_of_stacks_that_come_back)
{
	const struct named_stacks_style style = {
		.labels = LABEL_COMM, .by_origin = true, .keep_order = true};
	const struct flame_shape shape = {.flamechart = true};
	struct profile *profile = profile_new();
	struct named_stacks stacks;
	struct flame_nodes nodes;
	const char *words[] = {"", "x", "b", "c", "b"};
	const uint64_t counts[] = {7, 7, 3, 2, 2};
	size_t i;

	profile_keep_order(profile);
	(void)make_sample(profile, "x;b 1");
	(void)make_sample(profile, "x;b 2");
	(void)make_sample(profile, "x;c 2");
	(void)make_sample(profile, "x;b 2");
	CHECK_EQ(profile_nr_samples(profile), 3);
	CHECK_EQ(named_stacks_init(&stacks, profile, &style), 0);
	profile_free(profile);
	CHECK_EQ(flame_nodes_init(&nodes, &stacks, &shape), 0);
	CHECK_EQ(nodes.nr, 5);
	for (i = 0; i < nodes.nr; i++) {
		CHECK_STR(named_stacks_word(&stacks, nodes.nodes[i].word), words[i]);
		CHECK_EQ(nodes.nodes[i].count, counts[i]);
	}
	flame_nodes_clear(&nodes);
	named_stacks_clear(&stacks);
}

TEST(flame_nodes_of_nothing)
{
	const struct flame_shape shape = {.max_nodes = 10, .least_width = 1};
	struct named_stacks stacks;
	struct flame_nodes nodes;

	make_stacks(&stacks, profile_new(), 0);
	CHECK_EQ(flame_nodes_init(&nodes, &stacks, &shape), 0);
	CHECK_EQ(nodes.nr, 1);
	CHECK_EQ(nodes.nodes[0].count, 0);
	flame_nodes_clear(&nodes);
	named_stacks_clear(&stacks);
}

TEST(flame_nodes_survive_failing_allocations)
{
	const struct flame_shape shape = {.max_nodes = 20};
	struct named_stacks stacks;
	struct flame_nodes nodes;
	int result = -1;
	size_t nth;

	make_stacks(&stacks, random_profile(3, 400), 0);
	for (nth = 1; result < 0; nth++) {
		(void)test_fail_allocation(nth);
		result = flame_nodes_init(&nodes, &stacks, &shape);
		(void)test_fail_allocation(0);
		CHECK(nth < 1000);
	}
	CHECK(nth > 5);
	flame_nodes_clear(&nodes);
	named_stacks_clear(&stacks);
}
