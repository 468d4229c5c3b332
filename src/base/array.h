/*
 * Growable arrays without a type of their own: a pointer, a count and a capacity that live in the
 * struct that uses them.
 *
 *	struct item *items;  size_t nr_items, cap_items;
 *	if (ARRAY_ADD(items, nr_items, cap_items, item) < 0)
 *		return -ENOMEM;
 *
 * On failure the array is as it was.
 */
#ifndef STOOK_BASE_ARRAY_H
#define STOOK_BASE_ARRAY_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Binary search: the first i in [0, nr) for which the condition, an expression with i, is true; nr
 * if there is none. From the first one on it must be true for all.
 *
 *	i = array_first(nr_items, i, items[i].start > address);
 */
#define array_first(nr, i, condition)                         \
	({                                                    \
		size_t low_ = 0, high_ = (nr);                \
		while (low_ < high_) {                        \
			size_t i = low_ + (high_ - low_) / 2; \
			if (condition)                        \
				high_ = i;                    \
			else                                  \
				low_ = i + 1;                 \
		}                                             \
		low_;                                         \
	})

/* For sorting: -1, 0 or 1 as a is less than b, equal or more. COMPARE(…) ?: COMPARE(…) by more. */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* Makes room for `nr` items; items_pointer is the address of the pointer. 0 or -ENOMEM. */
int array_reserve(void *items_pointer, size_t *capacity, size_t nr, size_t item_bytes);

/* The same of an array and its capacity, which are named: ARRAY_RESERVE(items, cap_items, nr). */
#define ARRAY_RESERVE(items, capacity, nr) \
	array_reserve(&(items), &(capacity), nr, sizeof(__typeof__(*(items))))

/*
 * Puts one more item at the end, making room for it: 0 or -ENOMEM. The item may be a compound
 * literal.
 *
 *	return ARRAY_ADD(list->items, list->nr, list->capacity, (struct item){.name = name});
 */
#define ARRAY_ADD(items, nr, capacity, ...)                     \
	(ARRAY_RESERVE(items, capacity, (nr) + 1) < 0 ? -ENOMEM \
						      : ((items)[(nr)++] = (__VA_ARGS__), 0))

/* Gives back the room behind `nr` items. If that fails, the array is merely larger. */
void array_shrink(void *items_pointer, size_t *capacity, size_t nr, size_t item_bytes);

/*
 * Binary search in items sorted by a number, a uint64_t at `offset` in each: how many of them have
 * a number below the key. That is the place of the first one that has the key or more.
 */
static inline size_t array_nr_below(const void *items, size_t nr, size_t item_bytes, size_t offset,
				    uint64_t key)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t number;

		memcpy(&number, (const char *)items + middle * item_bytes + offset, sizeof(number));
		if (number < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The same by the name of a member; and how many have a number up to the key, this one included. */
#define ARRAY_NR_BELOW(items, nr, member, key) \
	array_nr_below(items, nr, sizeof(*(items)), offsetof(__typeof__(*(items)), member), key)
#define ARRAY_NR_UP_TO(items, nr, member, key) \
	((key) == UINT64_MAX ? (nr) : ARRAY_NR_BELOW(items, nr, member, (key) + 1))

#endif
