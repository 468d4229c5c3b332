/*
 * "Did you mean …": finds in a stream of names the nearest to one that was not there.
 *
 *	struct closest closest;
 *	closest_init(&closest, "mallc");
 *	for each name: closest_offer(&closest, name);
 *	nr = closest_names(&closest, names);       malloc, calloc
 *	closest_clear(&closest);
 *
 * A name is near if it differs in case only; if a few letters are missing, added, replaced or
 * swapped; or if it holds all of what is wanted. Names that are too far to be of help are not kept.
 */
#ifndef STOOK_BASE_CLOSEST_H
#define STOOK_BASE_CLOSEST_H

#include <stddef.h>

#define CLOSEST_NAMES	   3
#define CLOSEST_WANTED_MAX 64 /* letters that are compared */

struct closest {
	char wanted[CLOSEST_WANTED_MAX + 1];
	size_t nr_wanted;
	char folded[CLOSEST_WANTED_MAX]; /* the same in small letters */
	char *names[CLOSEST_NAMES];	 /* the nearest first */
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
