/*
 * "Did you mean …": of a stream of names, those that are nearest to one that was not there.
 *
 *	struct closest closest;
 *	closest_init(&closest, "mallc");
 *	for each name: closest_offer(&closest, name);
 *	nr = closest_names(&closest, names);       malloc, calloc
 *	closest_clear(&closest);
 *
 * Near is: equal but for case; a few letters missing, too many, other ones or the wrong way round;
 * or all of it inside a longer name. What is not near enough to be of help is not told.
 */
#ifndef STOOK_PROBE_FIND_CLOSEST_H
#define STOOK_PROBE_FIND_CLOSEST_H

#include <stddef.h>
#include <stdint.h>

#define CLOSEST_NAMES	   3
#define CLOSEST_WANTED_MAX 64 /* letters that are compared */

struct closest {
	char wanted[CLOSEST_WANTED_MAX + 1];
	size_t nr_wanted;
	uint64_t letters[256]; /* by byte: where it stands in `wanted`; capitals as small letters */
	char *names[CLOSEST_NAMES]; /* the nearest first */
	unsigned costs[CLOSEST_NAMES];
	size_t nr_names;
};

/*
 * text: a name, a glob or a regular expression, of which the longest part without `*`, `(`, `|` and
 * `)` is what is wanted. A part of one letter is near to nothing.
 */
void closest_init(struct closest *closest, const char *text);
void closest_clear(struct closest *closest);

/* Keeps a copy of the name if it is among the nearest, once. Without memory it is not kept. */
void closest_offer(struct closest *closest, const char *name);

/* How many there are, and which: the nearest first, the closest's own. */
size_t closest_names(const struct closest *closest, const char *names[CLOSEST_NAMES]);

#endif
