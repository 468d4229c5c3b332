/*
 * Raw records that can't be walked yet, because an unwind table is still being made; each with the
 * mappings that its process had then. What they may hold together is limited.
 */
#ifndef STOOK_COLLECT_UNWIND_DEFERRED_H
#define STOOK_COLLECT_UNWIND_DEFERRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "proc/mappings.h"

#define DEFERRED_MAX_BYTES (32UL << 20)

struct deferred {
	struct wire_record *record; /* a copy */
	struct mappings *mappings;  /* a reference */
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
