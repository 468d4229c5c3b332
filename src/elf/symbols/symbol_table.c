/*
 * Functions by address: appended in any order, sorted once, then found by binary search.
 *
 * Sorting goes by address only. Of the symbols at one address the best is then chosen by looking at
 * each once: one with a size; then one with a type; then not weak; then global; then the name as
 * symbol_name_compare() says, as perf does.
 *
 * A symbol of size 0 reaches to the next symbol or the end of its section, as with perf; behind a
 * symbol that has a size there is a gap without a name. (addr2line names gaps after the symbol
 * before them: in a stripped library that is some exported function, and wrong.) One without a
 * type, a label of assembly, counts where no other symbol covers the place.
 */
#include "elf/symbols/symbol_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/symbols/address_sort.h"
#include "elf/symbols/symbol_table_state.h"

/* What a hostile file can make us hold; twice of what one ELF table may have. */
#define SYMBOLS_MAX (32u << 20)

#define NESTED_MAX     1024 /* symbols inside another that a lookup steps over */
#define COMPARED_BYTES 256  /* of a name, when choosing an alias */

struct symbol_table *symbol_table_new(void)
{
	return calloc(1, sizeof(struct symbol_table));
}

void symbol_table_free(struct symbol_table *table)
{
	if (!table)
		return;
	free(table->symbols);
	free(table->strings);
	free(table);
}

/* --- adding -------------------------------------------------------------------------------- */

int symbol_table_append(struct symbol_table *table, const struct symbol *symbol)
{
	if (table->nr == SYMBOLS_MAX)
		return -E2BIG;
	if (array_reserve(&table->symbols, &table->capacity, table->nr + 1,
			  sizeof(*table->symbols)) < 0)
		return -ENOMEM;
	table->symbols[table->nr++] = *symbol;
	return 0;
}

int symbol_table_add(struct symbol_table *table, uint64_t start, uint64_t bytes, const char *name)
{
	size_t nr = strlen(name) + 1;
	struct symbol symbol = {
		.start = start,
		.name = (uint32_t)table->nr_string_bytes,
		.rank = SYMBOL_SIZED | SYMBOL_TYPED | SYMBOL_NOT_WEAK | SYMBOL_GLOBAL,
	};
	int err;

	if (nr > SYMBOL_STRINGS_MAX_BYTES - table->nr_string_bytes)
		return -E2BIG;
	if (bytes > UINT64_MAX - start)
		bytes = UINT64_MAX - start;
	symbol.bytes = bytes < SYMBOL_MAX_BYTES ? (uint32_t)bytes : SYMBOL_MAX_BYTES;
	if (array_reserve(&table->strings, &table->string_capacity, table->nr_string_bytes + nr,
			  1) < 0)
		return -ENOMEM;
	err = symbol_table_append(table, &symbol);
	if (err < 0)
		return err;
	memcpy(table->strings + table->nr_string_bytes, name, nr);
	table->nr_string_bytes += nr;
	return 0;
}

/* --- choosing ------------------------------------------------------------------------------ */

int symbol_name_compare(const char *a, const char *b)
{
	size_t underscores_a = strspn(a, "_"), underscores_b = strspn(b, "_");
	size_t length_a = strnlen(a, COMPARED_BYTES), length_b = strnlen(b, COMPARED_BYTES);

	if (underscores_a != underscores_b)
		return underscores_a < underscores_b ? -1 : 1;
	if (length_a != length_b)
		return length_a > length_b ? -1 : 1;
	return strncmp(a, b, COMPARED_BYTES);
}

static bool is_better(const struct symbol_table *table, const struct symbol *a,
		      const struct symbol *b)
{
	if (a->rank != b->rank)
		return a->rank > b->rank;
	return a->name != b->name &&
	       symbol_name_compare(table->strings + a->name, table->strings + b->name) < 0;
}

/* The best of those that start where symbols[*i] does; *i goes on to the first that does not. */
static struct symbol best_of_start(const struct symbol_table *table, size_t *i)
{
	const struct symbol *best = &table->symbols[*i];
	uint64_t start = best->start;

	while (++*i < table->nr && table->symbols[*i].start == start)
		if (is_better(table, &table->symbols[*i], best))
			best = &table->symbols[*i];
	return *best;
}

/* Keeps one symbol of each address, ends those without a size, marks those inside others. */
static void choose(struct symbol_table *table)
{
	uint64_t reach = 0; /* where the furthest symbol so far ends */
	size_t i = 0, nr = 0;

	while (i < table->nr) {
		struct symbol symbol = best_of_start(table, &i);
		uint64_t room =
			(i < table->nr ? table->symbols[i].start : UINT64_MAX) - symbol.start;

		if (symbol.start < reach && !(symbol.rank & SYMBOL_TYPED))
			continue;
		if (!(symbol.rank & SYMBOL_SIZED)) {
			if (symbol.start < reach && reach - symbol.start < room)
				room = reach - symbol.start;
			if (symbol.bytes > room)
				symbol.bytes = (uint32_t)room;
		}
		symbol.nested = symbol.start + symbol.bytes < reach;
		if (symbol.start + symbol.bytes > reach)
			reach = symbol.start + symbol.bytes;
		table->symbols[nr++] = symbol;
	}
	table->nr = nr;
}

int symbol_table_settle(struct symbol_table *table)
{
	int err = address_sort(table->symbols, table->nr, sizeof(*table->symbols));

	if (err < 0)
		return err;
	choose(table);
	array_shrink(&table->symbols, &table->capacity, table->nr, sizeof(*table->symbols));
	array_shrink(&table->strings, &table->string_capacity, table->nr_string_bytes, 1);
	return 0;
}

/* --- looking up ---------------------------------------------------------------------------- */

/* How many symbols start at or before vaddr. */
static size_t nr_started(const struct symbol_table *table, uint64_t vaddr)
{
	size_t low = 0, high = table->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->symbols[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const char *symbol_table_find(const struct symbol_table *table, uint64_t vaddr, uint64_t *ret_start)
{
	size_t i = nr_started(table, vaddr);
	size_t last = i > NESTED_MAX ? i - NESTED_MAX : 0;

	/* The nearest symbol may end before vaddr inside a longer one that started earlier. */
	while (i-- > last) {
		const struct symbol *symbol = &table->symbols[i];

		if (vaddr - symbol->start < symbol->bytes) {
			if (ret_start)
				*ret_start = symbol->start;
			return table->strings + symbol->name;
		}
		if (!symbol->nested)
			break;
	}
	return NULL;
}

size_t symbol_table_nr(const struct symbol_table *table)
{
	return table->nr;
}

size_t symbol_table_bytes(const struct symbol_table *table)
{
	return sizeof(*table) + table->capacity * sizeof(*table->symbols) + table->string_capacity;
}
