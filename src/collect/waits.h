/*
 * Waits that cross the end of an epoch (off-CPU time; protocol: bpf/wire.h). At the end of an epoch,
 * threads that are off their CPU get their time so far; when they are back, the rest. Pure
 * arithmetic: nothing is added twice or forgotten, in whatever order ends and readings arrive.
 */
#ifndef STOOK_COLLECT_WAITS_H
#define STOOK_COLLECT_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"

/* Time of waits until the thread was woken, and from then until it ran (struct wire_wait); the number of waits with some. */
struct wait_amount {
	uint64_t waited_ns, queued_ns;
	uint64_t nr_waited, nr_queued;
};

/* A wait as far as it has been added to its stack. */
struct wait_credit {
	uint64_t task, since_ns; /* which thread's wait */
	uint64_t id;		 /* of its stack */
	uint64_t waker; /* id of the stack of who woke it; 0: not known; or WAITS_NOT_WOKEN */
	uint64_t woken_ns;
	uint32_t one_of;	       /* see struct wire_waiting */
	uint64_t waited_ns, queued_ns; /* added so far, see struct wire_wait */
	unsigned age;		       /* readings since it was open; 0: it is */
};

struct waits {
	/* Limits of waits to add; max_ns 0: none. With one, or is_whole, there is no time so far before the last epoch. */
	uint64_t min_ns, max_ns;
	bool is_whole;
	struct wait_credit *credits; /* sorted by task */
	size_t nr_credits, cap_credits;
	struct wait_credit *found; /* by the reading of this epoch */
	size_t nr_found, cap_found;
	struct wire_wait *ends; /* not added yet */
	size_t nr_ends, cap_ends;

	uint64_t nr_sent, sent_ns; /* ends that arrived; must equal the kernel's count */
	uint64_t open_ns;	   /* added so far for waits that are still open … */
	uint64_t nr_open;	   /* … at the end of the last epoch: so many */
	uint64_t open_passed_ns;   /* not added at the end, of open waits: of another length … */
	uint64_t open_lost_ns;	   /* … or without the record of their stack */
	uint64_t cut_ns;	   /* added for waits whose end never arrived */
	uint64_t unknown_ns;	   /* ends of stacks whose record never arrived */
};

/* Accepts {0}. */
void waits_clear(struct waits *waits);

/* Adds the end of a wait, as read from the ring; a thread that is still off its CPU, as read from the map. 0 or
 * -ENOMEM. */
int waits_add_end(struct waits *waits, const struct wire_wait *end);
int waits_add_open(struct waits *waits, uint64_t task, const struct wire_waiting *waiting);

/*
 * Adds time to the wait's stack and waker. The wait is counted where its first nanosecond is. Returns 0, -ENOMEM, or
 * -EAGAIN if the record of the stack has not arrived; it is then asked again.
 */
#define WAITS_NOT_WOKEN UINT64_MAX
typedef int waits_add_fn(void *context, const struct wait_credit *wait,
			 const struct wait_amount *more);

/*
 * Call at the end of each epoch, when its records, its ends and its open waits were added; until_ns:
 * when the next epoch began. is_last: the run is over. Returns 0 or -ENOMEM.
 */
int waits_close_epoch(struct waits *waits, uint32_t epoch, uint64_t until_ns, bool is_last,
		      waits_add_fn *add, void *context);

/*
 * Returns the id of the i-th stack that is still needed, of a thread that waits or of its waker; false past the last
 * one. Ids may repeat, and be none.
 */
bool waits_needed(const struct waits *waits, size_t i, uint64_t *ret_id);

#endif
