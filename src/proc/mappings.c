/* A process' executable memory; see mappings.h. */
#include "proc/mappings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct mappings {
	unsigned refs;
	struct mapping *items;
	size_t nr, capacity;
};

struct mappings *mappings_new(void)
{
	struct mappings *mappings = calloc(1, sizeof(*mappings));

	if (mappings)
		mappings->refs = 1;
	return mappings;
}

struct mappings *mappings_ref(struct mappings *mappings)
{
	if (mappings)
		mappings->refs++;
	return mappings;
}

void mappings_unref(struct mappings *mappings)
{
	if (!mappings || --mappings->refs)
		return;
	free(mappings->items);
	free(mappings);
}

static struct mappings *copy(const struct mappings *from)
{
	struct mappings *to = mappings_new();

	if (!to || array_reserve(&to->items, &to->capacity, from->nr + 1, sizeof(*to->items)) < 0) {
		mappings_unref(to);
		return NULL;
	}
	if (from->nr)
		memcpy(to->items, from->items, from->nr * sizeof(*to->items));
	to->nr = from->nr;
	return to;
}

/* The first mapping that ends above address; nr if there is none. */
static size_t first_above(const struct mappings *mappings, uint64_t address)
{
	size_t low = 0, high = mappings->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (mappings->items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void cut_front(struct mapping *mapping, uint64_t start)
{
	mapping->offset += start - mapping->start;
	mapping->start = start;
}

/* Replaces items[first, last) by the nr given ones; the room is there. */
static void splice(struct mappings *mappings, size_t first, size_t last, const struct mapping *with,
		   size_t nr)
{
	memmove(&mappings->items[first + nr], &mappings->items[last],
		(mappings->nr - last) * sizeof(*mappings->items));
	memcpy(&mappings->items[first], with, nr * sizeof(*with));
	mappings->nr += nr - (last - first);
}

int mappings_add(struct mappings **mappings_pointer, const struct mapping *mapping)
{
	struct mappings *mappings = *mappings_pointer;
	struct mapping with[3]; /* what is left of the first overlapped, the new one, of the last */
	size_t first, last, nr = 0;

	if (mapping->end <= mapping->start)
		return 0;
	if (mappings->nr + 2 > MAPPINGS_MAX)
		return -ENOSPC;
	if (mappings->refs > 1) {
		mappings = copy(*mappings_pointer);
		if (!mappings)
			return -ENOMEM;
		mappings_unref(*mappings_pointer);
		*mappings_pointer = mappings;
	}
	if (array_reserve(&mappings->items, &mappings->capacity, mappings->nr + 2,
			  sizeof(*mappings->items)) < 0)
		return -ENOMEM;

	first = first_above(mappings, mapping->start);
	last = first;
	while (last < mappings->nr && mappings->items[last].start < mapping->end)
		last++;
	if (first < last && mappings->items[first].start < mapping->start) {
		with[nr] = mappings->items[first];
		with[nr++].end = mapping->start;
	}
	with[nr++] = *mapping;
	if (first < last && mappings->items[last - 1].end > mapping->end) {
		with[nr] = mappings->items[last - 1];
		cut_front(&with[nr++], mapping->end);
	}
	splice(mappings, first, last, with, nr);
	return 0;
}

const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address)
{
	size_t i;

	if (!mappings)
		return NULL;
	i = first_above(mappings, address);
	if (i == mappings->nr || mappings->items[i].start > address)
		return NULL;
	return &mappings->items[i];
}

size_t mappings_nr(const struct mappings *mappings)
{
	return mappings ? mappings->nr : 0;
}

const struct mapping *mappings_get(const struct mappings *mappings, size_t i)
{
	return &mappings->items[i];
}
