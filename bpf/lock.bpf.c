/*
 * Waits for locks of the kernel: where threads and interrupts wait, for what kind of lock, and for how long. The kernel
 * reports the beginning and the end of each wait (contention_begin, contention_end: Linux 5.19), in the context of the
 * one who waits.
 *
 * Locks are waited for in any context: by a thread that will sleep, by one that spins with the lock of a run queue
 * held, by a softirq, by an interrupt. Waits nest, like interrupts, and one kind of lock is made of others: a mutex has
 * a spin lock. A thread may be interrupted in its wait and wait for something else meanwhile; each of these waits has
 * its own time. So an entry is found by the task and the lock. It has one writer at a time: the task itself, or what
 * interrupts it.
 *
 * Both stacks are walked at the beginning: at the end the lock is held, and others wait for it.
 *
 * Nothing here may wait for a lock that it might interrupt. The entries are in an array, and taken by compare and
 * exchange. The ring and the count map have locks, which report waits of their own: while one of these programs has the
 * CPU's scratch space, another one on this CPU gives up its wait, as a sample that interrupts another one
 * (LOST_SCRATCH). In an NMI, which can wait only in programs of others, the kernel's ring and hash map fail instead of
 * waiting.
 */
#include "wait.bpf.h"

#include "claim.bpf.h"
#include "follow.bpf.h"
#include "unwind.bpf.h"

/* Flags of contention_begin, unchanged since 5.19. */
#define LCB_F_SPIN   0x01
#define LCB_F_READ   0x02
#define LCB_F_WRITE  0x04
#define LCB_F_RT     0x08
#define LCB_F_PERCPU 0x10
#define LCB_F_MUTEX  0x20

/* Read by user space. Sized before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct wire_lock_wait);
} lock_waits SEC(".maps");

const volatile __u32 lock_waits_mask; /* one less than their number, which is a power of two */

#define SLOTS_TRIED 8 /* from the one that the hash of task and lock selects */
#define NO_SLOT	    (~0U)

static __always_inline __u32 first_slot(__u64 task, __u64 lock)
{
	return mix(mix(hash_seed, task), lock);
}

/* Returns the number of the slot with this wait. */
static __noinline __u32 find(__u64 task, __u64 lock)
{
	__u32 first = first_slot(task, lock), i;

	for (i = 0; i < SLOTS_TRIED; i++) {
		__u32 nr = (first + i) & lock_waits_mask;
		struct wire_lock_wait *slot = bpf_map_lookup_elem(&lock_waits, &nr);

		if (slot && slot->task == task && slot->lock == lock)
			return nr;
	}
	return NO_SLOT;
}

/* Likewise takes a free one. */
static __noinline __u32 take(__u64 task, __u64 lock)
{
	__u32 first = first_slot(task, lock), i;

	for (i = 0; i < SLOTS_TRIED; i++) {
		__u32 nr = (first + i) & lock_waits_mask;
		struct wire_lock_wait *slot = bpf_map_lookup_elem(&lock_waits, &nr);

		if (!slot || slot->task || __sync_val_compare_and_swap(&slot->task, 0, task))
			continue;
		slot->lock = lock;
		return nr;
	}
	return NO_SLOT;
}

static __always_inline void give_back(struct wire_lock_wait *slot)
{
	slot->waiting.since_ns = 0;
	barrier();
	/* First: whoever interrupts this must not find the next owner with this lock. */
	slot->lock = 0;
	/* Fully ordered: on another CPU, the stores above must not reach the next owner. */
	(void)__sync_lock_test_and_set(&slot->task, 0);
}

static __always_inline enum wire_state kind_of(__u32 flags)
{
	bool is_read = flags & LCB_F_READ, is_write = flags & LCB_F_WRITE;

	if (flags & LCB_F_MUTEX)
		return WIRE_MUTEX;
	if (flags & LCB_F_PERCPU)
		return is_read ? WIRE_PCPU_SEM_R : WIRE_PCPU_SEM_W;
	if (flags & LCB_F_RT)
		return is_read ? WIRE_RWLOCK_RT_R : is_write ? WIRE_RWLOCK_RT_W : WIRE_RT_MUTEX;
	if (flags & LCB_F_SPIN)
		return is_read ? WIRE_RWLOCK_R : is_write ? WIRE_RWLOCK_W : WIRE_SPINLOCK;
	return is_read ? WIRE_RWSEM_R : is_write ? WIRE_RWSEM_W : WIRE_SEMAPHORE;
}

/* True if the current task is to be followed. */
static __always_inline bool is_selected(struct wire_counters *counters, struct task_struct *task)
{
	if (is_own(bpf_get_current_pid_tgid() >> 32)) {
		ATOMIC_ADD(counters->own, 1);
		return false;
	}
	if (!is_wanted(task)) {
		ATOMIC_ADD(counters->filtered, 1);
		return false;
	}
	return true;
}

SEC("tp_btf/contention_begin")
int lock_wait_begins(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u64 lock = ctx[0];
	__u32 flags = ctx[1], nr = find((__u64)task, lock);
	struct wire_lock_wait *slot;
	struct scratch *scratch;
	struct moment now;

	/* It goes on with the same wait: now asleep, or awake again and spinning. */
	if (nr != NO_SLOT && flags & LCB_F_MUTEX)
		return 0;
	if (!begin(&now) || !is_selected(now.counters, task))
		return 0;
	scratch = record_begin(now.counters, now.time_ns, now.epoch, task);
	if (!scratch)
		return 0;
	/* A slot with this wait is one whose end the kernel did not report to us. */
	if (nr != NO_SLOT)
		ATOMIC_ADD(now.counters->unseen, 1);
	else
		nr = take((__u64)task, lock);
	slot = bpf_map_lookup_elem(&lock_waits, &nr);
	if (!slot) {
		ATOMIC_ADD(now.counters->lost[LOST_THREADS], 1);
		scratch->busy = 0;
		return 0;
	}
	scratch->record.probe = kind_of(flags);
	scratch->record.place = 0;
	scratch->record.weight = 0;
	unwind_user((struct stack_context *)ctx, false, scratch);
	unwind_kernel(ctx, 0, scratch);
	slot->waiting.since_ns = now.time_ns;
	slot->waiting.epoch = now.epoch;
	slot->waiting.state = scratch->record.probe;
	slot->waiting.id = record_send(scratch, now.counters) ? scratch->record.id : 0;
	slot->waiting.one_of = 1;
	slot->waiting.check = wire_waiting_check(&slot->waiting);
	scratch->busy = 0;
	return 0;
}

SEC("tp_btf/contention_end")
int lock_wait_ends(__u64 *ctx)
{
	__u32 nr = find(bpf_get_current_task(), ctx[0]);
	struct wire_lock_wait *slot = bpf_map_lookup_elem(&lock_waits, &nr);
	struct scratch *scratch = record_scratch(bpf_get_smp_processor_id());
	struct moment now;

	if (!slot || !scratch || !claim(&scratch->busy))
		return 0;
	if (begin(&now)) {
		ATOMIC_ADD(now.counters->entries, -1ULL); /* its beginning was one */
		finish(&now, nr + 1, &slot->waiting);
	}
	give_back(slot);
	scratch->busy = 0;
	return 0;
}
