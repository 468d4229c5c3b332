/*
 * Interned stacks. The numbers of all stacks are stored one after the other in one growing array;
 * an index finds a stack by content.
 */
#include "profile/stack_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

static uint64_t hash_of(const uint32_t *numbers, size_t nr)
{
	return nr ? hash_key(numbers, nr * sizeof(*numbers)) : 0;
}

static int64_t find(const struct stack_table *table, const uint32_t *numbers, size_t nr,
		    uint64_t hash)
{
	size_t probe = 0;
	uint32_t stack;

	while (number_index_next(&table->index, hash, &probe, &stack)) {
		const struct stack_place *place = &table->places[stack];

		if (place->nr == nr &&
		    (!nr || !memcmp(table->numbers + place->first, numbers, nr * sizeof(*numbers))))
			return stack;
	}
	return -ENOENT;
}

int64_t stack_table_find(const struct stack_table *table, const uint32_t *numbers, size_t nr)
{
	return find(table, numbers, nr, hash_of(numbers, nr));
}

static int reserve(struct stack_table *table, size_t nr)
{
	if (table->nr >= UINT32_MAX - 1 || nr > UINT32_MAX - table->nr_numbers)
		return -ENOMEM;
	if (array_reserve(&table->numbers, &table->cap_numbers, table->nr_numbers + nr,
			  sizeof(*table->numbers)) < 0 ||
	    array_reserve(&table->places, &table->cap_places, table->nr + 1,
			  sizeof(*table->places)) < 0)
		return -ENOMEM;
	return number_index_reserve(&table->index);
}

/* Stores a stack without an entry in the index. Returns its number, or -ENOMEM. */
static int64_t put(struct stack_table *table, const uint32_t *numbers, size_t nr)
{
	if (reserve(table, nr) < 0)
		return -ENOMEM;
	if (nr)
		memcpy(table->numbers + table->nr_numbers, numbers, nr * sizeof(*numbers));
	table->places[table->nr] = (struct stack_place){(uint32_t)table->nr_numbers, (uint32_t)nr};
	table->nr_numbers += nr;
	return (int64_t)table->nr++;
}

int64_t stack_table_add(struct stack_table *table, const uint32_t *numbers, size_t nr)
{
	uint64_t hash = hash_of(numbers, nr);
	int64_t stack = find(table, numbers, nr, hash);

	if (stack >= 0)
		return stack;
	stack = put(table, numbers, nr);
	if (stack >= 0)
		number_index_add(&table->index, hash, (uint32_t)stack);
	return stack;
}

int64_t stack_table_append(struct stack_table *table, const uint32_t *numbers, size_t nr)
{
	const struct stack_place *last = table->nr ? &table->places[table->nr - 1] : NULL;

	if (last && last->nr == nr &&
	    (!nr || !memcmp(table->numbers + last->first, numbers, nr * sizeof(*numbers))))
		return (int64_t)table->nr - 1;
	return put(table, numbers, nr);
}

const uint32_t *stack_table_get(const struct stack_table *table, uint32_t stack, size_t *ret_nr)
{
	static const uint32_t nothing;
	const struct stack_place *place = &table->places[stack];

	*ret_nr = place->nr;
	return place->nr ? table->numbers + place->first : &nothing;
}

void stack_table_reset(struct stack_table *table)
{
	table->nr_numbers = 0;
	table->nr = 0;
	number_index_reset(&table->index);
}

void stack_table_clear(struct stack_table *table)
{
	free(table->numbers);
	free(table->places);
	number_index_clear(&table->index);
	memset(table, 0, sizeof(*table));
}

size_t stack_table_used_bytes(const struct stack_table *table)
{
	return table->nr_numbers * sizeof(*table->numbers) +
	       table->nr * (sizeof(*table->places) + NUMBER_INDEX_BYTES_EACH);
}

size_t stack_table_bytes(const struct stack_table *table)
{
	return table->cap_numbers * sizeof(*table->numbers) +
	       table->cap_places * sizeof(*table->places) + number_index_bytes(&table->index);
}
