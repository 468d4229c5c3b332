/* array_reserve() doubles, so that n appends cost O(n). */
#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#define FIRST_CAPACITY 16

int array_reserve(void *items_pointer, size_t *capacity, size_t nr, size_t item_bytes)
{
	void **items = items_pointer;
	size_t wanted = *capacity ? *capacity : FIRST_CAPACITY;
	void *grown;

	if (nr <= *capacity)
		return 0;
	while (wanted < nr) {
		if (wanted > SIZE_MAX / 2)
			return -ENOMEM;
		wanted *= 2;
	}
	if (wanted > SIZE_MAX / item_bytes)
		return -ENOMEM;
	grown = realloc(*items, wanted * item_bytes);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	*capacity = wanted;
	return 0;
}

void array_shrink(void *items_pointer, size_t *capacity, size_t nr, size_t item_bytes)
{
	void **items = items_pointer;
	void *shrunk = nr && nr < *capacity ? realloc(*items, nr * item_bytes) : NULL;

	if (!shrunk)
		return;
	*items = shrunk;
	*capacity = nr;
}
