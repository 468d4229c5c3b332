/*
 * "Did you mean …": finds the names that are closest to a misspelt one.
 *
 *	struct closest closest;
 *	closest_init(&closest, "mallc");
 *	for each name: closest_offer(&closest, name);
 *	nr = closest_names(&closest, names);       malloc, calloc
 *	closest_clear(&closest);
 *
 * A name is close if it differs in case only; if a few letters are missing, added, replaced or
 * swapped; or if it contains the whole wanted name. Names that are too different to be helpful are
 * dropped.
 */
#ifndef STOOK_BASE_CLOSEST_H
#define STOOK_BASE_CLOSEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define CLOSEST_NAMES	   3
#define CLOSEST_WANTED_MAX 64 /* letters that are compared */

struct closest {
	char wanted[CLOSEST_WANTED_MAX + 1];
	size_t nr_wanted;
	char folded[CLOSEST_WANTED_MAX]; /* the wanted name in lower case */
	char *names[CLOSEST_NAMES];	 /* closest first */
	unsigned costs[CLOSEST_NAMES];
	size_t nr_names;
};

/*
 * text: a name, a glob or a regular expression. Its longest part without `*`, `(`, `|` and `)` is
 * the wanted name. A wanted name of a single letter has no close names.
 */
void closest_init(struct closest *closest, const char *text);
void closest_clear(struct closest *closest);

/*
 * Keeps a copy of the name if it is among the closest; duplicates are dropped. Out of memory, the
 * name is dropped too.
 */
void closest_offer(struct closest *closest, const char *name);

/*
 * Returns the number of names found and sets names[], closest first; the strings are owned by
 * closest.
 */
size_t closest_names(const struct closest *closest, const char *names[CLOSEST_NAMES]);

/* Sets a hint that asks if one of them was meant; false if there are none. */
bool closest_hint(const struct closest *closest, struct error *error);

#endif
