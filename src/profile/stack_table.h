/*
 * Interned stacks: each distinct sequence of 32-bit numbers (frames, or anything else) is stored
 * once and identified by a number, counted from 0 in the order of adding.
 *
 * A zero-initialised table is empty and ready for use.
 */
#ifndef STOOK_PROFILE_STACK_TABLE_H
#define STOOK_PROFILE_STACK_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct stack_place {
	uint32_t first; /* index in the table's numbers */
	uint32_t nr;
};

struct stack_table {
	uint32_t *numbers;
	size_t nr_numbers, cap_numbers;
	struct stack_place *places; /* by the number of the stack */
	size_t nr, cap_places;
	struct number_index index;
};

/* Returns the number of this stack; -ENOENT if it was not added. */
int64_t stack_table_find(const struct stack_table *table, const uint32_t *numbers, size_t nr);

/* Interns a stack (copied). Returns its number, or -ENOMEM. */
int64_t stack_table_add(struct stack_table *table, const uint32_t *numbers, size_t nr);

/* Stores a stack (copied) unless it is the last one of the table, which cannot be searched then. As above. */
int64_t stack_table_append(struct stack_table *table, const uint32_t *numbers, size_t nr);

/* Returns the numbers of a stack, valid until the next add; never NULL. */
const uint32_t *stack_table_get(const struct stack_table *table, uint32_t stack, size_t *ret_nr);

/* Removes all stacks and keeps the memory for reuse. */
void stack_table_reset(struct stack_table *table);
void stack_table_clear(struct stack_table *table);

size_t stack_table_used_bytes(const struct stack_table *table); /* in use by stacks */
size_t stack_table_bytes(const struct stack_table *table);	/* memory held */

#endif
