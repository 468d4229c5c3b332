/*
 * libiberty reads a mangled D name from left to right, with three exceptions:
 *
 *   - After an identifier, what looks like a function type is tried as such, and if that fails is
 *     read by the caller as something else: what follows is read twice.
 *   - A symbol as a template's argument, `S` and a number, is tried at each digit of the number.
 *   - A back reference `Q…` to a type reads from there, up to anywhere. In there only references
 *     before this one are followed (so it ends).
 *
 * Hence cost(p), the steps for reading on from p, is at most (1 + what a reference at p costs) +
 * times(p) * cost(p + 1), and a reference at p costs cost() of its target with no reference from p
 * on. Where such places are is read off the text without regard to what the text there means: each
 * number may be an identifier's length, each `Q` a reference. That can only make it more. A step
 * appends twenty bytes at most, or an identifier, whose bytes count as steps.
 *
 * The depth of recursion is at most the bytes between a target and the next reference, summed up
 * along a chain of them.
 */
#include "sym/d_cost.h"

#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NAME_MAX_BYTES 2048 /* and the depth of the recursion, all of which takes 1 MB of stack */
#define STEPS_MAX      (1 << 18)

struct place {
	uint32_t times;	    /* what follows is read, at most */
	uint32_t target;    /* of a back reference; 0 for none */
	uint32_t bytes;	    /* of an identifier referred to; 0: a type */
	uint32_t depth;	    /* of the reference */
	uint64_t plain;	    /* cost from here on without any reference to a type */
	uint64_t reference; /* what the reference costs */
};

static uint64_t limited(uint64_t steps)
{
	return steps < STEPS_MAX ? steps : STEPS_MAX;
}

static uint64_t read_number(const char *at, size_t *ret_digits)
{
	uint64_t number = 0;
	size_t i;

	for (i = 0; isdigit((unsigned char)at[i]); i++)
		number = number < NAME_MAX_BYTES ? number * 10 + (uint64_t)(at[i] - '0') : number;
	*ret_digits = i;
	return number;
}

/* Where an identifier may end: a function type may follow, or "this" and then one. */
static void mark_end(const char *name, size_t nr, struct place *places, uint64_t at)
{
	if (at < nr && strchr("FUVWRYM", name[at]))
		places[at].times = 2;
}

/* `Q`, upper case letters, a lower case one: a distance to the base of 26. */
static void mark_reference(const char *name, size_t nr, struct place *places, size_t at)
{
	uint64_t distance = 0;
	size_t end = at + 1, digits;

	while (isupper((unsigned char)name[end]) && distance <= nr)
		distance = distance * 26 + (uint64_t)(name[end++] - 'A');
	if (!islower((unsigned char)name[end]))
		return;
	distance = distance * 26 + (uint64_t)(name[end] - 'a');
	mark_end(name, nr, places, end + 1);
	if (!distance || distance > at)
		return;
	places[at].target = (uint32_t)(at - distance);
	if (isdigit((unsigned char)name[at - distance]))
		places[at].bytes = (uint32_t)read_number(name + at - distance, &digits);
}

/* What may follow the number of a symbol as an argument, so that it is tried from there as well. */
static bool is_tried(const char *at)
{
	return at[0] == '_' || at[0] == 'Q';
}

static void mark(const char *name, size_t nr, struct place *places)
{
	size_t i, digits;

	for (i = 0; i <= nr; i++)
		places[i] = (struct place){.times = 1};
	for (i = 0; i < nr; i++) {
		if (isdigit((unsigned char)name[i])) {
			uint64_t number = read_number(name + i, &digits);

			mark_end(name, nr, places, i + digits + number);
		} else if (name[i] == 'Q') {
			mark_reference(name, nr, places, i);
		} else if (name[i] == 'Z') {
			mark_end(name, nr, places, i + 1);
		} else if (name[i] == 'S' && isdigit((unsigned char)name[i + 1])) {
			(void)read_number(name + i + 1, &digits);
			digits += is_tried(name + i + 1 + digits);
			if (digits > 1)
				places[i].times = (uint32_t)digits;
		}
	}
}

/* The references in order, so that those within the text of one are known. */
static bool add_references(size_t nr, struct place *places)
{
	size_t i, p;

	for (i = 0; i < nr; i++) {
		uint64_t steps = places[i].plain;
		uint32_t depth;

		if (!places[i].target)
			continue;
		if (places[i].bytes) {
			places[i].reference = places[i].bytes;
			continue;
		}
		depth = (uint32_t)(nr - places[i].target);
		for (p = i; p-- > places[i].target;) {
			steps = limited(1 + places[p].reference + places[p].times * steps);
			if (depth < p - places[i].target + places[p].depth)
				depth = (uint32_t)(p - places[i].target + places[p].depth);
		}
		if (steps == STEPS_MAX || depth > NAME_MAX_BYTES)
			return false;
		places[i].reference = steps;
		places[i].depth = depth;
	}
	return true;
}

bool d_cost_is_low(const char *name)
{
	struct place places[NAME_MAX_BYTES + 1];
	size_t nr = strnlen(name, NAME_MAX_BYTES + 1), i;
	uint64_t steps = 0;

	if (nr > NAME_MAX_BYTES)
		return false;
	mark(name, nr, places);
	for (i = nr; i-- > 0;)
		steps = places[i].plain = limited(1 + places[i].times * steps);
	if (!add_references(nr, places))
		return false;
	steps = 0;
	for (i = nr; i-- > 0;) {
		steps = limited(1 + places[i].reference + places[i].times * steps);
		if (places[i].depth + i > NAME_MAX_BYTES)
			return false;
	}
	return steps < STEPS_MAX;
}
