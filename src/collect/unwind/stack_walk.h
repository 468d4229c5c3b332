/*
 * Raw records (WALK_RAW in bpf/wire.h): their walk in user space, and a list of those that can't be
 * walked yet.
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

/*
 * Raw records that can't be walked yet, because an unwind table is still being made; each with the
 * mappings that its process had then. Their memory is limited in sum; mappings count, since
 * a process that changes its own while they are referred to gets a copy.
 */
#define DEFERRED_MAX_BYTES (32UL << 20)

struct deferred {
	struct wire_record *record; /* a copy */
	struct mappings *mappings;  /* a reference */
	size_t bytes;		    /* of both, as if nobody shared the mappings */
};

struct deferred_list {
	struct deferred *items; /* in the order of adding */
	size_t nr, capacity;
	size_t bytes;
};

/* 0, -ENOSPC past the limit, or -ENOMEM. */
int deferred_list_add(struct deferred_list *list, const struct wire_record *record, size_t bytes,
		      const struct mappings *mappings);

/*
 * Hands each one to take(), in order; those of which that returns -EAGAIN stay. 0, or the error
 * that take() returned.
 */
int deferred_list_retry(struct deferred_list *list,
			int (*take)(void *context, const struct wire_record *record,
				    const struct mappings *mappings),
			void *context);

void deferred_list_clear(struct deferred_list *list);

#endif
