/*
 * Interned stacks: each sequence of 32-bit numbers (frames, or words, as the user likes) is kept
 * once and known by a number of its own, counted from 0 in the order of adding.
 *
 * A table of zeros is empty and needs no init.
 */
#ifndef STOOK_PROFILE_STACK_TABLE_H
#define STOOK_PROFILE_STACK_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct stack_place {
	uint32_t first; /* in the table's block of numbers */
	uint32_t nr;
};

struct stack_table {
	uint32_t *numbers;
	size_t nr_numbers, cap_numbers;
	struct stack_place *places; /* by the number of the stack */
	size_t nr, cap_places;
	struct number_index index;
};

/* The number of this stack; -ENOENT if it is not there. */
int64_t stack_table_find(const struct stack_table *table, const uint32_t *numbers, size_t nr);

/* Interns a stack (copied). Its number, or -ENOMEM. */
int64_t stack_table_add(struct stack_table *table, const uint32_t *numbers, size_t nr);

/* The numbers of a stack, good until the next add; never NULL. */
const uint32_t *stack_table_get(const struct stack_table *table, uint32_t stack, size_t *ret_nr);

/* Forgets all stacks and keeps the memory for the next ones. */
void stack_table_reset(struct stack_table *table);
void stack_table_clear(struct stack_table *table);

size_t stack_table_used_bytes(const struct stack_table *table); /* what the stacks need */
size_t stack_table_bytes(const struct stack_table *table);	/* memory held */

#endif
