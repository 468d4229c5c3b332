/*
 * stacks SECONDS [PROCESSES [MAX_DEPTH]]: has as many different stacks as samples.
 *
 * Sixteen functions call each other. A random number selects the next function, four bits per call,
 * so a stack of depth d is one of 16^d. Depths go up to 60 (below the kernel's default limit of 127
 * frames). A walk down and up takes a few microseconds, half of it at the deepest point; then the
 * next number is drawn.
 *
 * Property: any two samples taken more than a walk apart have different stacks with near certainty,
 * so N samples need about N entries of a count map and N records.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

#define NR_NODES      16
#define TURNS_A_NODE  10
#define TURNS_AT_LEAF 2000

struct walk {
	uint64_t random;
	unsigned depth;
	unsigned max_depth;
};

typedef void node_function(struct walk *walk);
static node_function *const nodes[NR_NODES];

/* Always inlined: it must not add frames between the nodes. */
static inline __attribute__((always_inline)) void walk_on(struct walk *walk)
{
	if (walk->depth == 0) {
		BURN_TURNS(TURNS_AT_LEAF);
		return;
	}
	BURN_TURNS(TURNS_A_NODE);
	walk->depth--;
	nodes[random_next(&walk->random) >> 60](walk);
	BURN_TURNS(TURNS_A_NODE); /* also prevents a tail call above */
}

#define NODE(number)                                \
	NAMED void node_##number(struct walk *walk) \
	{                                           \
		walk_on(walk);                      \
	}

NODE(0);
NODE(1);
NODE(2);
NODE(3);
NODE(4);
NODE(5);
NODE(6);
NODE(7);
NODE(8);
NODE(9);
NODE(10);
NODE(11);
NODE(12);
NODE(13);
NODE(14);
NODE(15);

static node_function *const nodes[NR_NODES] = {
	node_0, node_1, node_2,	 node_3,  node_4,  node_5,  node_6,  node_7,
	node_8, node_9, node_10, node_11, node_12, node_13, node_14, node_15,
};

NAMED void walk_until(uint64_t end_ns, uint64_t seed, unsigned max_depth)
{
	struct walk walk = {.random = seed, .max_depth = max_depth};

	while (monotonic_ns() < end_ns) {
		walk.depth = (unsigned)random_between(&walk.random, max_depth / 3, max_depth);
		nodes[random_next(&walk.random) >> 60](&walk);
	}
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 2;
	int processes = argc > 2 ? atoi(argv[2]) : 1;
	int max_depth = argc > 3 ? atoi(argv[3]) : 60;
	uint64_t end_ns = monotonic_ns() + (uint64_t)(seconds * 1e9);

	if (max_depth < 3 || max_depth > 500)
		return 2;
	for (int i = 1; i < processes; i++)
		if (fork() == 0)
			break;
	walk_until(end_ns, ((uint64_t)getpid() << 20) + 1, (unsigned)max_depth);
	while (wait(NULL) > 0)
		;
	return 0;
}
