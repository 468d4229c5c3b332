/*
 * A radix sort: a pass for each byte in which the addresses differ, three to five in a program,
 * from the lowest to the highest; each keeps the order of the one before. With qsort_r() loading
 * the symbols of a large program takes twice as long.
 */
#include "elf/symbols/address_sort.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct items {
	size_t nr, item_bytes;
};

static uint64_t address_at(const struct items *items, const uint8_t *bytes, size_t i)
{
	uint64_t address;

	memcpy(&address, bytes + i * items->item_bytes, sizeof(address));
	return address;
}

static bool is_sorted(const struct items *items, const uint8_t *bytes)
{
	size_t i;

	for (i = 1; i < items->nr; i++)
		if (address_at(items, bytes, i - 1) > address_at(items, bytes, i))
			return false;
	return true;
}

/* Moves items by one byte of their addresses; false if all have the same there. */
static bool sort_by_byte(const struct items *items, const uint8_t *from, uint8_t *to,
			 unsigned shift)
{
	size_t places[256] = {0}, i, at = 0;

	for (i = 0; i < items->nr; i++)
		places[address_at(items, from, i) >> shift & 0xff]++;
	if (places[address_at(items, from, 0) >> shift & 0xff] == items->nr)
		return false;
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		size_t here = places[i];

		places[i] = at;
		at += here;
	}
	for (i = 0; i < items->nr; i++) {
		at = places[address_at(items, from, i) >> shift & 0xff]++;
		memcpy(to + at * items->item_bytes, from + i * items->item_bytes,
		       items->item_bytes);
	}
	return true;
}

int address_sort(void *items, size_t nr, size_t item_bytes)
{
	const struct items all = {nr, item_bytes};
	uint8_t *from = items, *to, *spare;
	unsigned shift;

	if (is_sorted(&all, items))
		return 0;
	to = spare = malloc(nr * item_bytes);
	if (!spare)
		return -ENOMEM;
	for (shift = 0; shift < 64; shift += 8) {
		uint8_t *last = from;

		if (!sort_by_byte(&all, from, to, shift))
			continue;
		from = to;
		to = last;
	}
	if (from == spare)
		memcpy(items, spare, nr * item_bytes);
	free(spare);
	return 0;
}
