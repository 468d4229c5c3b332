/*
 * Waits: the time between two events of a thread, which is added to the stack that it had at the first one (wire.h).
 * Shared by the waits of threads off their CPU (offcpu.bpf.c) and those for locks of the kernel (lock.bpf.c).
 */
#ifndef STOOK_BPF_WAIT_H
#define STOOK_BPF_WAIT_H

#include "record.bpf.h"

/*
 * When each epoch began, by slot. Written by user space before the epoch's number. The size is a
 * power of two, so that a mask shows the verifier that the index is in range.
 */
#define BEGAN_SLOTS 4
extern volatile __u64 began_ns[BEGAN_SLOTS];
_Static_assert(WIRE_EPOCH_SLOTS <= BEGAN_SLOTS, "a slot for each");

/* 0: it has not. Written by user space, once everything is attached. */
extern volatile __u64 run_began_ns;

extern const volatile __u64 min_wait_ns, max_wait_ns; /* other waits are not shown */
extern const volatile bool has_budget;

/* The beginning or end of a wait, as far as every step needs it. */
struct moment {
	struct wire_counters *counters;
	__u64 time_ns, epoch_began_ns;
	__u32 epoch;
};

static __always_inline bool begin(struct moment *moment)
{
	__u32 slot;

	if (!run_began_ns)
		return false;
	moment->counters = record_enter(&moment->time_ns, &moment->epoch);
	if (!moment->counters)
		return false;
	/* Nothing in an epoch is older than the epoch, so waits are cut at its beginning exactly. */
	slot = moment->epoch % WIRE_EPOCH_SLOTS;
	asm volatile("" : "+r"(slot)); /* or the compiler drops the mask */
	moment->epoch_began_ns = began_ns[slot & (BEGAN_SLOTS - 1)];
	if (moment->time_ns < moment->epoch_began_ns)
		moment->time_ns = moment->epoch_began_ns;
	return true;
}

/*
 * Adds a wait that ends now. Every nanosecond is added to one of the counters. This and what calls it are not inline,
 * because the walk of the thread that leaves needs most of the 512 bytes of stack.
 */
static __noinline void finish(const struct moment *now, __u64 task,
			      const struct wire_waiting *waiting)
{
	struct wire_counters *counters = now->counters;
	__u64 elapsed = now->time_ns - waiting->since_ns;
	struct wire_wait wait = {
		.task = task,
		.since_ns = waiting->since_ns,
		.id = waiting->id,
		.waited_ns = elapsed,
		.epoch = now->epoch,
		.one_of = waiting->one_of,
	};
	__u32 others = waiting->one_of - 1;
	struct wire_count_key key = {.id = waiting->id};
	struct wire_count *count = NULL;

	if (waiting->woken_ns)
		wait.waker = key.waker = waiting->waker;
	if (now->time_ns < waiting->since_ns)
		wait.waited_ns = elapsed = 0;
	if (waiting->woken_ns && waiting->woken_ns < now->time_ns) {
		wait.waited_ns = waiting->woken_ns > waiting->since_ns
					 ? waiting->woken_ns - waiting->since_ns
					 : 0;
		wait.queued_ns = elapsed - wait.waited_ns;
	}
	ATOMIC_ADD(counters->waits, 1);
	ATOMIC_ADD(counters->waited_ns, elapsed);
	if (elapsed < min_wait_ns || elapsed > max_wait_ns) {
		ATOMIC_ADD(counters->passed, 1);
		ATOMIC_ADD(counters->passed_ns, elapsed);
		return;
	}
	if (wait.id && waiting->epoch == now->epoch)
		count = record_count(now->epoch, &key);
	if (count) {
		ATOMIC_ADD(count->weight, wait.waited_ns);
		ATOMIC_ADD(count->queued_ns, wait.queued_ns);
		ATOMIC_ADD(count->nr_waited, wait.waited_ns > 0);
		ATOMIC_ADD(count->nr_queued, wait.queued_ns > 0);
		ATOMIC_ADD(counters->counted_ns, elapsed);
		if (has_budget && waiting->one_of > 1) {
			ATOMIC_ADD(count->stands_for_ns, others * wait.waited_ns);
			ATOMIC_ADD(count->stands_for_queued_ns, others * wait.queued_ns);
			ATOMIC_ADD(count->stands_for_waited, wait.waited_ns ? others : 0);
			ATOMIC_ADD(count->stands_for_queued, wait.queued_ns ? others : 0);
			ATOMIC_ADD(count->variance, wire_variance(elapsed, waiting->one_of));
		}
	} else if (wait.id && !record_send_wait(&wait)) {
		ATOMIC_ADD(counters->sent, 1);
		ATOMIC_ADD(counters->sent_ns, elapsed);
	} else {
		ATOMIC_ADD(counters->cut, 1);
		ATOMIC_ADD(counters->cut_ns, elapsed);
	}
}

#endif
