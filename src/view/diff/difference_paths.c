/*
 * The tree is the flame graph's, without the nodes that have too few samples to tell anything. A node
 * is *telling* if it changed, and its share of its caller changed, too: what keeps its part of a
 * caller that grew or shrank tells nothing new. Lines lead to the telling nodes, and from there on
 * down while one callee has nearly all of it, so that they end at the function to look at.
 *
 * Nodes stand in preorder, so callees are judged before callers by going backwards. The lines are made
 * with a stack of our own, since call paths can be deep.
 */
#include "view/diff/difference_paths.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"

#define NEARLY_ALL   0.9
#define FIRST_CHANGE 0.001 /* of all: what is left out first if lines are too many */
#define NR_CHANGES   10

struct judged {
	float change;
	bool changed;
	bool alike;   /* its share of its caller did not change */
	bool telling; /* or above one that is */
};

struct pending {
	uint32_t node;
	uint32_t level;
	bool is_rest, has_more;
	struct difference_pair pair;
};

struct finder {
	struct difference_paths *paths;
	const struct named_stacks *stacks;
	const struct difference_spread *spread;
	struct judged *judged;
	struct pending *pending;
	size_t nr_pending, cap_pending;
};

static const struct flame_node *node_of(const struct finder *finder, uint32_t number)
{
	return &finder->paths->nodes.nodes[number];
}

/* The difference of a node's numbers, or of others of the same function. */
static struct difference_pair pair_of(const struct finder *finder,
				      const struct difference_scale *scale, uint32_t number,
				      uint64_t before, uint64_t after)
{
	const struct difference_spread *spread = finder->spread;
	uint32_t word = node_of(finder, number)->word;
	uint32_t function = word ? named_stacks_info(finder->stacks, word)->function : 0;
	struct difference_pair pair = {before, after, difference_of(scale, before, after)};
	double dispersion = function && function < spread->nr ? spread->functions[function].total
							      : spread->all.total;

	difference_widen(scale, &pair.is, dispersion, spread->freedom);
	return pair;
}

/* --- judging --------------------------------------------------------------------------------- */

static int set_parents(struct difference_paths *paths)
{
	cleanup_free uint32_t *open = calloc(paths->nodes.nr_depths + 1, sizeof(*open));
	uint32_t i;

	paths->parents = calloc(paths->nodes.nr, sizeof(*paths->parents));
	if (!open || !paths->parents)
		return -ENOMEM;
	for (i = 1; i < paths->nodes.nr; i++) {
		uint32_t depth = paths->nodes.nodes[i].depth;

		paths->parents[i] = open[depth - 1];
		open[depth] = i;
	}
	return 0;
}

static bool is_same(const struct flame_node *a, const struct flame_node *b)
{
	return a->count == b->count && a->other == b->other;
}

/* What has its caller's numbers is no comparison of its own. */
static void choose_sigma(struct difference_paths *paths, const struct difference_trust *trust)
{
	double chance = trust->sigma > 0 ? difference_chance_of_sigma(trust->sigma) : trust->chance;
	struct difference_tests tests = {0};
	size_t i;

	for (i = 1; i < paths->nodes.nr; i++) {
		const struct flame_node *node = &paths->nodes.nodes[i];

		if (!is_same(node, &paths->nodes.nodes[paths->parents[i]]))
			difference_tests_add(&tests, &paths->scale, node->other, node->count);
	}
	paths->nr_tests = difference_tests_nr(&tests, &paths->scale, chance);
	paths->scale.least_sigma = trust->sigma > 0
					   ? trust->sigma
					   : difference_sigma_of_chance(chance, paths->nr_tests);
}

/* Whether its part of its caller is what it was. */
static bool is_alike(const struct finder *finder, uint32_t number)
{
	const struct flame_node *node = node_of(finder, number);
	const struct flame_node *caller = node_of(finder, finder->paths->parents[number]);
	struct difference_scale within = finder->paths->scale;

	if (node->depth < 2)
		return false;
	within.by_time = false;
	within.before = within.before_all = (double)caller->other;
	within.after = within.after_all = (double)caller->count;
	within.least_sigma = DIFFERENCE_LEAST_SIGMA;
	return pair_of(finder, &within, number, node->other, node->count).is.kind == CHANGE_NONE;
}

static void judge_all(struct finder *finder)
{
	uint32_t i;

	for (i = 1; i < finder->paths->nodes.nr; i++) {
		const struct flame_node *node = node_of(finder, i);
		struct difference_pair pair =
			pair_of(finder, &finder->paths->scale, i, node->other, node->count);
		struct judged *judged = &finder->judged[i];

		judged->change = (float)pair.is.change;
		judged->changed = pair.is.kind != CHANGE_NONE;
		judged->alike = judged->changed && is_alike(finder, i);
	}
}

static void mark_telling(struct finder *finder, double least_change)
{
	uint32_t i;

	for (i = 0; i < finder->paths->nodes.nr; i++)
		finder->judged[i].telling = false;
	for (i = (uint32_t)finder->paths->nodes.nr; i-- > 1;) {
		struct judged *judged = &finder->judged[i];

		if (judged->changed && !judged->alike &&
		    fabs((double)judged->change) >= least_change)
			judged->telling = true;
		if (judged->telling)
			finder->judged[finder->paths->parents[i]].telling = true;
	}
}

/* --- lines ----------------------------------------------------------------------------------- */

static int push(struct finder *finder, const struct pending *pending)
{
	if (array_reserve(&finder->pending, &finder->cap_pending, finder->nr_pending + 1,
			  sizeof(*finder->pending)) < 0)
		return -ENOMEM;
	finder->pending[finder->nr_pending++] = *pending;
	return 0;
}

/* What a node has besides its telling callees; how many those are, and the last of them. */
static struct difference_pair rest_of(const struct finder *finder, uint32_t number, size_t *ret_nr,
				      uint32_t *ret_callee)
{
	const struct flame_node *node = node_of(finder, number);
	uint64_t before = node->other, after = node->count;
	uint32_t at;

	*ret_nr = 0;
	for (at = number + 1; at < node->end; at = node_of(finder, at)->end) {
		if (!finder->judged[at].telling)
			continue;
		before -= node_of(finder, at)->other;
		after -= node_of(finder, at)->count;
		*ret_callee = at;
		++*ret_nr;
	}
	return pair_of(finder, &finder->paths->scale, number, before, after);
}

/* The callee that has nearly all of a node, before and after; 0: none. */
static uint32_t heir_of(const struct finder *finder, uint32_t number)
{
	const struct flame_node *node = node_of(finder, number);
	uint32_t at;

	for (at = number + 1; at < node->end; at = node_of(finder, at)->end) {
		const struct flame_node *callee = node_of(finder, at);

		if ((double)callee->other >= NEARLY_ALL * (double)node->other &&
		    (double)callee->count >= NEARLY_ALL * (double)node->count)
			return at;
	}
	return 0;
}

/* The end of the line that begins here, and what it has besides the lines below. */
static uint32_t go_down(const struct finder *finder, uint32_t number, struct difference_pair *rest)
{
	for (;;) {
		size_t nr;
		uint32_t callee = 0;

		*rest = rest_of(finder, number, &nr, &callee);
		if (!nr)
			callee = heir_of(finder, number);
		if (!callee || nr > 1 || (nr == 1 && rest->is.kind != CHANGE_NONE))
			return number;
		number = callee;
	}
}

static int compare_pending(const void *a, const void *b)
{
	const struct pending *one = a, *other = b;
	double size = fabs(one->pair.is.change), other_size = fabs(other->pair.is.change);

	/* The last one is taken first. */
	if (one->is_rest != other->is_rest)
		return one->is_rest ? -1 : 1;
	if (size != other_size)
		return size < other_size ? -1 : 1;
	return (one->node < other->node) - (one->node > other->node);
}

/* Everything that a line forks into. */
static int push_forks(struct finder *finder, uint32_t number, uint32_t level,
		      const struct difference_pair *rest)
{
	const struct flame_node *node = node_of(finder, number);
	size_t first = finder->nr_pending, nr;
	struct pending pending = {.node = number, .level = level, .is_rest = true, .pair = *rest};
	uint32_t at;

	for (at = number + 1; at < node->end; at = node_of(finder, at)->end) {
		const struct flame_node *callee = node_of(finder, at);
		struct pending fork = {.node = at, .level = level};

		fork.pair =
			pair_of(finder, &finder->paths->scale, at, callee->other, callee->count);
		if (finder->judged[at].telling && push(finder, &fork) < 0)
			return -ENOMEM;
	}
	nr = finder->nr_pending - first;
	if (nr && number && rest->is.kind != CHANGE_NONE && push(finder, &pending) < 0)
		return -ENOMEM;
	nr = finder->nr_pending - first;
	if (nr)
		qsort(&finder->pending[first], nr, sizeof(pending), compare_pending);
	for (; nr > 1; nr--)
		finder->pending[first + nr - 1].has_more = true;
	return 0;
}

static int add_line(struct finder *finder, const struct pending *pending)
{
	struct difference_paths *paths = finder->paths;
	struct difference_line line = {
		.first = pending->node,
		.last = pending->node,
		.level = pending->level,
		.is_rest = pending->is_rest,
		.has_more = pending->has_more,
		.pair = pending->pair,
	};
	struct difference_pair rest = {0};

	if (array_reserve(&paths->lines, &paths->cap, paths->nr + 1, sizeof(*paths->lines)) < 0)
		return -ENOMEM;
	if (!line.is_rest) {
		const struct flame_node *last;

		line.last = go_down(finder, line.first, &rest);
		last = node_of(finder, line.last);
		line.pair = pair_of(finder, &paths->scale, line.last, last->other, last->count);
	}
	paths->lines[paths->nr++] = line;
	return line.is_rest ? 0 : push_forks(finder, line.last, line.level + 1, &rest);
}

static int find_lines(struct finder *finder)
{
	const struct difference_pair none = {0};
	int err = push_forks(finder, 0, 0, &none);

	finder->paths->nr = 0;
	while (finder->nr_pending && !err) {
		struct pending pending = finder->pending[--finder->nr_pending];

		err = add_line(finder, &pending);
	}
	return err;
}

/* --- all of it ------------------------------------------------------------------------------- */

/* Samples that, all on one side, can't be told from chance. */
static double least_samples(const struct difference_scale *scale,
			    const struct difference_trust *trust)
{
	double chance = trust->sigma > 0 ? difference_chance_of_sigma(trust->sigma) : trust->chance;
	double before = scale->before / scale->before_sample;
	double after = scale->after / scale->after_sample;
	double lesser = (before < after ? before : after) / (before + after);

	return lesser > 0 ? fmax(1, floor(log(chance / 2) / log(lesser))) : 1;
}

static int find(struct finder *finder, size_t max_lines)
{
	struct difference_paths *paths = finder->paths;
	double all = fmax(paths->scale.before_all / paths->scale.before,
			  paths->scale.after_all / paths->scale.after);
	double least = 0;
	int i, err;

	judge_all(finder);
	for (i = 0; i < NR_CHANGES; i++) {
		mark_telling(finder, least);
		paths->least_change = least;
		err = find_lines(finder);
		if (err || !max_lines || paths->nr <= max_lines)
			return err;
		least = i ? 2 * least : FIRST_CHANGE * all;
	}
	return 0;
}

static int find_all(struct difference_paths *paths, const struct named_stacks *stacks,
		    const struct difference_spread *spread, const struct difference_trust *trust,
		    size_t max_lines)
{
	const struct flame_shape shape = {
		.other_weight = paths->scale.after_sample / paths->scale.before_sample,
		.least_width = least_samples(&paths->scale, trust) * paths->scale.after_sample,
	};
	struct finder finder = {.paths = paths, .stacks = stacks, .spread = spread};
	int err;

	if (flame_nodes_init(&paths->nodes, stacks, &shape) < 0 || set_parents(paths) < 0)
		return -ENOMEM;
	finder.judged = calloc(paths->nodes.nr, sizeof(*finder.judged));
	if (!finder.judged)
		return -ENOMEM;
	choose_sigma(paths, trust);
	err = find(&finder, max_lines);
	free(finder.judged);
	free(finder.pending);
	return err;
}

int difference_paths_init(struct difference_paths *paths, const struct named_stacks *stacks,
			  const struct difference_scale *scale,
			  const struct difference_spread *spread,
			  const struct difference_trust *trust, size_t max_lines)
{
	*paths = (struct difference_paths){.scale = *scale};
	if (find_all(paths, stacks, spread, trust, max_lines) < 0) {
		difference_paths_clear(paths);
		return -ENOMEM;
	}
	return 0;
}

void difference_paths_clear(struct difference_paths *paths)
{
	flame_nodes_clear(&paths->nodes);
	free(paths->parents);
	free(paths->lines);
	*paths = (struct difference_paths){0};
}
