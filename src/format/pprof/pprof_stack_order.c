/*
 * Multikey quicksort: stacks are parted by their places at one depth into those that have a lower
 * one there, the same, and a higher one; only those with the same are looked at deeper. So what
 * stacks have in common is read once for each of them, not once for each comparison: stacks are
 * deep, and most of them begin alike.
 *
 * Parts that wait lie on a heap of their own, in order; there are never more than stacks.
 */
#include "format/pprof/pprof_stack_order.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "format/pprof/pprof_values.h"

#define AT_END 0 /* no place: a stack that ends comes before those that go on */

struct stack {
	const uint32_t *frames; /* leaf first */
	uint32_t nr_frames;
	uint32_t number;
	uint32_t place; /* + 1, at the depth that is being looked at */
};

/* Stacks that are the same above the depth; their places there have been read. */
struct part {
	size_t first, end; /* in the sorter's stacks */
	size_t depth;
};

struct sorter {
	const uint32_t *place_of_frame;
	struct stack *stacks;
	size_t nr_stacks;
	struct part *parts; /* to be sorted, the next one last */
	size_t nr_parts, cap_parts;
	uint32_t *ranks;
	uint32_t nr_ranks;
};

/* --- one part --------------------------------------------------------------------------------- */

static uint32_t place_at(const struct sorter *sorter, const struct stack *stack, size_t depth)
{
	if (depth >= stack->nr_frames)
		return AT_END;
	return sorter->place_of_frame[stack->frames[stack->nr_frames - 1 - depth]] + 1;
}

static void read_places(struct sorter *sorter, const struct part *part)
{
	size_t i;

	for (i = part->first; i < part->end; i++)
		sorter->stacks[i].place = place_at(sorter, &sorter->stacks[i], part->depth);
}

static void swap(struct stack *a, struct stack *b)
{
	struct stack was = *a;

	*a = *b;
	*b = was;
}

/* A place of the part, drawn so that no order of the input is the worst one. */
static uint32_t pivot_of(const struct sorter *sorter, const struct part *part)
{
	uint64_t drawn = hash_add(part->first, part->end);

	return sorter->stacks[part->first + drawn % (part->end - part->first)].place;
}

/* Lower places to the front, higher ones to the back; the part becomes what is between. */
static void split(struct sorter *sorter, uint32_t pivot, struct part *part)
{
	struct stack *stacks = sorter->stacks;
	size_t i = part->first;

	while (i < part->end)
		if (stacks[i].place < pivot)
			swap(&stacks[i++], &stacks[part->first++]);
		else if (stacks[i].place > pivot)
			swap(&stacks[i], &stacks[--part->end]);
		else
			i++;
}

/* --- all of them ------------------------------------------------------------------------------ */

static void give_rank(struct sorter *sorter, const struct part *part)
{
	size_t i;

	for (i = part->first; i < part->end; i++)
		sorter->ranks[sorter->stacks[i].number] = sorter->nr_ranks;
	sorter->nr_ranks++;
}

static int push(struct sorter *sorter, const struct part *part)
{
	if (part->first == part->end)
		return 0;
	if (array_reserve(&sorter->parts, &sorter->cap_parts, sorter->nr_parts + 1, sizeof(*part)) <
	    0)
		return -ENOMEM;
	sorter->parts[sorter->nr_parts++] = *part;
	return 0;
}

/* What comes last in the order is pushed first. */
static int sort_part(struct sorter *sorter, const struct part *part)
{
	uint32_t pivot = pivot_of(sorter, part);
	struct part same = *part, lower = *part, higher = *part;

	split(sorter, pivot, &same);
	lower.end = same.first;
	higher.first = same.end;
	same.depth++;
	if (pivot != AT_END)
		read_places(sorter, &same);
	if (push(sorter, &higher) < 0 || push(sorter, &same) < 0 || push(sorter, &lower) < 0)
		return -ENOMEM;
	return 0;
}

/* Of one stack, or of stacks that all have come to their end. */
static bool is_sorted(const struct sorter *sorter, const struct part *part)
{
	const struct stack *first = &sorter->stacks[part->first];

	return part->end - part->first == 1 || part->depth > first->nr_frames;
}

static int sort(struct sorter *sorter)
{
	struct part part = {.end = sorter->nr_stacks};
	int result;

	read_places(sorter, &part);
	result = push(sorter, &part);
	while (!result && sorter->nr_parts) {
		part = sorter->parts[--sorter->nr_parts];
		if (is_sorted(sorter, &part))
			give_rank(sorter, &part);
		else
			result = sort_part(sorter, &part);
	}
	return result;
}

/* Each stack of a sample with a value once. The ranks serve to note which were there. */
static void collect(struct sorter *sorter, const struct profile *profile)
{
	size_t nr = profile_nr_samples(profile);
	uint32_t i;

	for (i = 0; i < nr; i++) {
		const struct sample *sample = profile_sample(profile, i);

		if (sorter->ranks[sample->stack] || !pprof_values_any(profile, i))
			continue;
		sorter->ranks[sample->stack] = 1;
		sorter->stacks[sorter->nr_stacks++] = (struct stack){
			.frames = profile_sample_frames(profile, sample),
			.nr_frames = sample->nr_frames,
			.number = sample->stack,
		};
	}
}

static size_t nr_stacks(const struct profile *profile)
{
	size_t nr = 0, i;

	for (i = 0; i < profile_nr_samples(profile); i++) {
		const struct sample *sample = profile_sample(profile, (uint32_t)i);

		nr = sample->stack >= nr ? (size_t)sample->stack + 1 : nr;
	}
	return nr;
}

uint32_t *pprof_stack_order(const struct pprof_code *code)
{
	size_t nr = nr_stacks(code->profile);
	cleanup_free struct stack *stacks = calloc(nr + 1, sizeof(*stacks));
	cleanup_free uint32_t *ranks = calloc(nr + 1, sizeof(*ranks));
	struct sorter sorter = {
		.place_of_frame = code->place_of_frame, .stacks = stacks, .ranks = ranks};
	int result;

	if (!stacks || !ranks)
		return NULL;
	collect(&sorter, code->profile);
	result = sort(&sorter);
	free(sorter.parts);
	return result < 0 ? NULL : take_pointer(&ranks);
}
