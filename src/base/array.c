/* array_reserve() doubles, so that n appends cost O(n). */
#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

int64_t array_add_text(char **texts, size_t *capacity, size_t *nr, const char *text)
{
	const size_t text_bytes = strlen(text) + 1, before = *nr;

	if (text_bytes > UINT32_MAX - before)
		return -EMSGSIZE;
	if (ARRAY_RESERVE(*texts, *capacity, before + text_bytes) < 0)
		return -ENOMEM;
	memcpy(*texts + before, text, text_bytes);
	*nr = before + text_bytes;
	return (int64_t)before;
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
