/*
 * Growable arrays without a type of their own: a pointer, a count and a capacity, which are members
 * of the struct that uses them.
 *
 *	struct item *items;  size_t nr_items, cap_items;
 *	if (ARRAY_ADD(items, nr_items, cap_items, item) < 0)
 *		return -ENOMEM;
 *
 * On failure the array is unchanged.
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
 * if there is none. If it is true for one i, it must be true for all larger ones.
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

/* Adds `more` to `sum`: structs, or arrays, of nothing but 64-bit numbers, `bytes` long. */
static inline void add_words(void *sum, const void *more, size_t bytes)
{
	const uint64_t *from = more;
	uint64_t *to = sum;
	size_t i;

	for (i = 0; i < bytes / sizeof(*to); i++)
		to[i] += from[i];
}

/*
 * For sorting: -1, 0 or 1 if a is less than, equal to or greater than b. Chain with ?: for more
 * keys.
 */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* Makes room for `nr` items; items_pointer is the address of the pointer. 0 or -ENOMEM. */
int array_reserve(void *items_pointer, size_t *capacity, size_t nr, size_t item_bytes);

/* Like array_reserve(), with the names of the array and its capacity as arguments. */
#define ARRAY_RESERVE(items, capacity, nr) \
	array_reserve(&(items), &(capacity), nr, sizeof(__typeof__(*(items))))

/*
 * Appends an item, making room for it: 0 or -ENOMEM. The item may be a compound literal.
 *
 *	return ARRAY_ADD(list->items, list->nr, list->capacity, (struct item){.name = name});
 */
#define ARRAY_ADD(items, nr, capacity, ...)                     \
	(ARRAY_RESERVE(items, capacity, (nr) + 1) < 0 ? -ENOMEM \
						      : ((items)[(nr)++] = (__VA_ARGS__), 0))

/*
 * Appends a text with its NUL to an array of texts, nr bytes so far. Returns its offset; -ENOMEM; or -EMSGSIZE if
 * offsets of 32 bits would not do.
 */
int64_t array_add_text(char **texts, size_t *capacity, size_t *nr, const char *text);

/* Frees the memory after `nr` items. If that fails, the array just stays larger. */
void array_shrink(void *items_pointer, size_t *capacity, size_t nr, size_t item_bytes);

/*
 * Binary search in items sorted by a number, a uint64_t at `offset` in each: returns how many items
 * have a number less than the key, which is the index of the first item with the key or a greater
 * number.
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

/*
 * Like array_nr_below(), with the name of the member; and the number of items whose member is less
 * than or equal to the key.
 */
#define ARRAY_NR_BELOW(items, nr, member, key) \
	array_nr_below(items, nr, sizeof(*(items)), offsetof(__typeof__(*(items)), member), key)
#define ARRAY_NR_UP_TO(items, nr, member, key) \
	((key) == UINT64_MAX ? (nr) : ARRAY_NR_BELOW(items, nr, member, (key) + 1))

#endif
