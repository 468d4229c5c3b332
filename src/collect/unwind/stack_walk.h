/*
 * Raw records (WALK_RAW in bpf/wire.h): the walk in user space, and a list of records that cannot
 * be walked yet.
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
	/*
	 * Returns the number of a mapping's unwind table; negative: none, walk by frame pointers.
	 */
	int64_t (*table_of)(void *argument, const struct mapping *mapping);
	void *argument;
	uint32_t max_frames;
	uint32_t epoch; /* current epoch; stored in tables as time of last use */
};

struct user_stack {
	uint64_t frames[WIRE_MAX_USER_FRAMES]; /* in the format of a record */
	uint32_t nr;
	enum walk_end end;     /* WALK_RAW: an unwind table is missing */
	uint32_t wanted_table; /* number of the missing unwind table, if end is WALK_RAW */
};

/*
 * Walks the stack of a raw record, given as nr words. Fewer than WIRE_RAW_HEAD words give an empty
 * stack.
 */
void stack_walk(const struct stack_walk_context *context, const uint64_t *words, size_t nr,
		struct user_stack *ret);

/* An unwind table that a walk lacked, and the unwinder's epoch then. Number 0: none that is being made. */
struct lacked_table {
	uint32_t number, epoch;
};

/*
 * Raw records that cannot be walked yet because an unwind table is not ready, each with the
 * mappings that its process had at the time. Their total memory is limited. Mappings count towards
 * it, because a process that changes its mappings while they are referenced gets a copy.
 */
#define DEFERRED_MAX_BYTES (32UL << 20)

struct deferred {
	struct wire_record *record; /* a copy */
	struct mappings *mappings;  /* a reference */
	size_t bytes;		    /* of both, as if the mappings were not shared */
	struct lacked_table lacked; /* by the latest walk */
};

struct deferred_list {
	struct deferred *items; /* in order of addition */
	size_t nr, capacity;
	size_t bytes;
};

/*
 * Copies the record and takes a reference to the mappings. Returns 0, -ENOSPC beyond the limit, or
 * -ENOMEM.
 */
int deferred_list_add(struct deferred_list *list, const struct wire_record *record, size_t bytes,
		      const struct mappings *mappings, const struct lacked_table *lacked);

/*
 * Calls take() for each record, in order; it may change `lacked`. Records for which it returns -EAGAIN stay in the list,
 * the others are removed. Returns 0, or the first other error of take(), after which all remaining
 * records stay.
 */
int deferred_list_retry(struct deferred_list *list,
			int (*take)(void *context, struct deferred *item), void *context);

void deferred_list_clear(struct deferred_list *list);

#endif
