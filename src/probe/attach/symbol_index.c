/* Kernel functions by name; see symbol_index.h. */
#include "probe/attach/symbol_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *symbol_at(const struct symbol_index *index, size_t i)
{
	return index->list->probes[index->numbers[i]].symbol;
}

static int by_symbol(const void *a, const void *b, void *context)
{
	const struct probe_list *list = context;
	const uint32_t *left = a, *right = b;

	return strcmp(list->probes[*left].symbol, list->probes[*right].symbol);
}

int symbol_index_init(struct symbol_index *index, const struct probe_list *list,
		      const uint32_t *numbers, size_t nr)
{
	index->list = list;
	index->nr = nr;
	index->numbers = malloc((nr + 1) * sizeof(*numbers));
	if (!index->numbers)
		return -ENOMEM;
	memcpy(index->numbers, numbers, nr * sizeof(*numbers));
	qsort_r(index->numbers, nr, sizeof(*numbers), by_symbol, (void *)list);
	return 0;
}

void symbol_index_clear(struct symbol_index *index)
{
	free(index->numbers);
	index->numbers = NULL;
	index->nr = 0;
}

static int compare(const char *symbol, const char *name, size_t name_bytes)
{
	int order = strncmp(symbol, name, name_bytes);

	return order ? order : symbol[name_bytes] != '\0';
}

const uint32_t *symbol_index_find(const struct symbol_index *index, const char *name,
				  size_t name_bytes, size_t *ret_nr)
{
	size_t low = 0, high = index->nr, middle, end;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (compare(symbol_at(index, middle), name, name_bytes) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < index->nr && !compare(symbol_at(index, end), name, name_bytes); end++)
		;
	*ret_nr = end - low;
	return index->numbers + low;
}
