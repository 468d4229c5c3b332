/*
 * The walk of a raw record (WALK_RAW in bpf/wire.h) in user space: the kernel side's own step over
 * the same tables, with the stack's memory taken from the record.
 */
#ifndef STOOK_COLLECT_UNWIND_STACK_WALK_H
#define STOOK_COLLECT_UNWIND_STACK_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "collect/unwind/unwind_pool.h"
#include "proc/mappings.h"

struct stack_walk_context {
	const struct unwind_pool *pool;
	const struct mappings *mappings; /* of the process */
	/* A mapping's table; negative: it has none, and is walked by frame pointers. */
	int64_t (*table_of)(void *argument, const struct mapping *mapping);
	void *argument;
	uint32_t max_frames;
	uint32_t epoch; /* the current one: what is noted in tables that are of use */
};

struct user_stack {
	uint64_t frames[WIRE_MAX_USER_FRAMES]; /* as in a record */
	uint32_t nr;
	enum walk_end end;     /* WALK_RAW: a table has to be loaded first … */
	uint32_t wanted_table; /* … this one */
};

/* words: nr of them, as in a raw record; fewer than WIRE_RAW_REGS make an empty stack. */
void stack_walk(const struct stack_walk_context *context, const uint64_t *words, size_t nr,
		struct user_stack *ret);

#endif
