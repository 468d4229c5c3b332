/*
 * Growable arrays without a type of their own: a pointer, a count and a capacity that live in the
 * struct that uses them.
 *
 *	struct item *items;  size_t nr_items, cap_items;
 *	if (array_reserve(&items, &cap_items, nr_items + 1, sizeof(*items)) < 0)
 *		return -ENOMEM;
 *	items[nr_items++] = item;
 *
 * On failure the array is as it was.
 */
#ifndef STOOK_BASE_ARRAY_H
#define STOOK_BASE_ARRAY_H

#include <stddef.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* Makes room for `nr` items; items_pointer is the address of the pointer. 0 or -ENOMEM. */
int array_reserve(void *items_pointer, size_t *capacity, size_t nr, size_t item_bytes);

/* Gives back the room behind `nr` items. If that fails, the array is merely larger. */
void array_shrink(void *items_pointer, size_t *capacity, size_t nr, size_t item_bytes);

#endif
