/* Sorting brings twins together, and of these the ones with the same source. */
#include "probe/find/twins.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int twins_add(struct twins *twins, uint32_t number, uint64_t address, const char *source)
{
	if (array_reserve(&twins->items, &twins->capacity, twins->nr + 1, sizeof(*twins->items)) <
	    0)
		return -ENOMEM;
	twins->items[twins->nr++] = (struct twin){number, address, source};
	return 0;
}

/* Calls and returns of one function are no twins: they are told apart by that. */
static int compare_names(const struct probe *a, const struct probe *b)
{
	int order = strcmp(a->name, b->name);

	return order ? order : (int)a->is_return - (int)b->is_return;
}

static int compare_twins(const void *left, const void *right, void *context)
{
	const struct probe *probes = context;
	const struct twin *a = left, *b = right;
	int order = compare_names(&probes[a->number], &probes[b->number]);

	if (!order)
		order = strcmp(a->source ? a->source : "", b->source ? b->source : "");
	if (order)
		return order;
	return a->address < b->address ? -1 : a->address > b->address;
}

static int set_details(const struct twin *twins, size_t nr, struct probe_list *list,
		       const char *before)
{
	bool by_source = twins[0].source;
	char address[64];
	size_t i;

	for (i = 1; i < nr && by_source; i++)
		by_source = strcmp(twins[i].source, twins[i - 1].source) != 0;
	for (i = 0; i < nr; i++) {
		struct probe *probe = &list->probes[twins[i].number];

		(void)snprintf(address, sizeof(address), "%s0x%" PRIx64, before, twins[i].address);
		probe->detail = probe_list_text(list, by_source ? twins[i].source : address);
		if (!probe->detail)
			return -ENOMEM;
	}
	return 0;
}

int twins_tell_apart(struct twins *twins, struct probe_list *list, const char *before)
{
	const struct probe *probes = list->probes;
	size_t i, end;
	int err = 0;

	if (twins->nr)
		qsort_r(twins->items, twins->nr, sizeof(*twins->items), compare_twins,
			list->probes);
	for (i = 0; i < twins->nr && !err; i = end) {
		for (end = i + 1;
		     end < twins->nr && !compare_names(&probes[twins->items[i].number],
						       &probes[twins->items[end].number]);)
			end++;
		if (end - i > 1)
			err = set_details(&twins->items[i], end - i, list, before);
	}
	return err;
}

void twins_clear(struct twins *twins)
{
	free(twins->items);
	*twins = (struct twins){0};
}
