/*
 * Off-CPU time: where threads wait, why, and for how long.
 *
 * When a thread leaves its CPU, it is still the current one: both of its stacks are walked there and
 * then, like a sample's, and the record is sent or counted (wire.h). The map of waiting threads has
 * the id of its stack and the time. When the thread is back on a CPU, the time that has passed is
 * added to that id in the count map, if it left in the same epoch; else it is sent through the ring,
 * and user space, which has kept the stack, adds it.
 *
 * All of this runs with the lock of the run queue held. So nothing here is shared with programs that
 * run in NMIs, which are in objects with maps of their own; nothing allocates, sleeps or wakes up
 * anybody; and no stack memory is sent (never_raw).
 *
 * With wakers, the one who wakes a thread is recorded, too, by the same rule: sched_waking comes in its
 * context, with the lock of the sleeping task held, and interrupts disabled, as for a switch. So both
 * programs use the same scratch space: neither can interrupt the other on a CPU. The thread's entry has the
 * id of the waker's stack, and its time is added to the pair of both.
 *
 * For one thread, the switch away, the wake-up and the switch back happen one after the other, each
 * visible to the next: sched_wakeup follows the switch, because it needs the lock of the run queue,
 * or waits until the thread is off its CPU. (sched_waking does not: it may come first.) So an entry
 * of the map has one writer at a time, and no locks; user space detects entries that are being
 * written by their check.
 */
#include "wait.bpf.h"

#include <bpf/bpf_core_read.h>

#include "follow.bpf.h"
#include "unwind.bpf.h"

volatile __u64 began_ns[BEGAN_SLOTS];
volatile __u64 run_began_ns;

/* The run has begun, and the iterator is on its way. Written by user space. */
volatile bool is_finding;

const volatile __u64 min_wait_ns, max_wait_ns = ~0ULL;
const volatile __u32 wanted_states = ~0U; /* bits: enum wire_state */
const volatile bool only_io_waits;
const volatile bool finds_futexes; /* a thread that sleeps in futex() is in the state WIRE_FUTEX */
const volatile __u32 has_prev_state; /* sched_switch has it as an argument (Linux 5.18) */
const volatile __u32 spare_slot;     /* scratch space of the iterator */
const volatile bool has_budget;

/* Under a budget: walk once in so many nanoseconds of waiting, about. 0: at each switch. Written by user space. */
volatile __u64 walk_each_ns;

/* By CPU number. Sized before loading; read by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct wire_cost);
} wait_costs SEC(".maps");

/*
 * Where the kernel's code begins that enters and leaves interrupts, by architecture and kernel; it is followed by the
 * interrupted code in stacks. Set before loading if wakers are wanted.
 */
const volatile struct wire_code_range interrupt_entries[WIRE_INTERRUPT_ENTRIES];

/* By task_struct. Both sizes are set before loading; preallocated. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u64));
	__uint(value_size, sizeof(struct wire_followed));
} waiting_threads SEC(".maps");

#define PF_KTHREAD 0x00200000

static __always_inline enum wire_state classify(__u32 state)
{
	if (!state)
		return WIRE_RUNNABLE;
	if (state & (TASK_STOPPED | TASK_TRACED))
		return WIRE_STOPPED;
	if (state & TASK_PARKED || (state & TASK_UNINTERRUPTIBLE && state & TASK_NOLOAD))
		return WIRE_IDLE;
	return state & (TASK_UNINTERRUPTIBLE | TASK_SHOWN_AS_D) ? WIRE_BLOCKED : WIRE_SLEEPING;
}

static __always_inline enum wire_state refine(struct task_struct *task, enum wire_state state)
{
	if (!finds_futexes || state != WIRE_SLEEPING || task->flags & PF_KTHREAD)
		return state;
	return is_in_futex(task) ? WIRE_FUTEX : state;
}

/* A wait for I/O is what the kernel counts as such, in /proc/stat and as the delay of a task. */
static __always_inline bool is_wanted_wait(struct task_struct *task, enum wire_state state)
{
	if (!(wanted_states & (1U << state | 1U << WIRE_RUNNABLE)))
		return false;
	return !only_io_waits ||
	       (state != WIRE_RUNNABLE && BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait));
}

/* --- the budget ------------------------------------------------------------------------------- */

/*
 * The walk is most of the cost, and due before the length of the wait is known. So the length is expected to be that
 * of the thread's last waits in the same place, and a wait is walked with a probability in proportion to that: the
 * error of the result is that of one walk for each walk_each_ns of waiting, be it in few long or in many short waits.
 */
#define FIRST_EXPECTED_NS 1000000 /* of a thread's first wait in a place */
#define MIN_EXPECTED_NS	  1000
#define MAX_EXPECTED_NS	  (1U << 31)

/* waiting: in the map. */
static __always_inline struct wire_wait_place *place_of(struct wire_waiting *waiting, __u32 hash)
{
	asm volatile("" : "+r"(hash)); /* or the compiler drops the mask */
	return &((struct wire_followed *)waiting)->places[hash & (WIRE_PLACES - 1)];
}

/* More than the mean after a long wait: long ones are rare, and most of the time. */
static __always_inline void expect(struct wire_waiting *waiting, __u64 now_ns)
{
	__u64 elapsed = now_ns > waiting->since_ns ? now_ns - waiting->since_ns : 0;
	struct wire_wait_place *place = place_of(waiting, waiting->place);
	__u64 expected = place->expected_ns;

	if (elapsed < MIN_EXPECTED_NS)
		elapsed = MIN_EXPECTED_NS;
	if (elapsed > MAX_EXPECTED_NS)
		elapsed = MAX_EXPECTED_NS;
	if (!expected)
		expected = elapsed;
	else if (elapsed > expected)
		expected += (elapsed - expected) / 2;
	else
		expected -= (expected - elapsed) / 16;
	place->expected_ns = expected;
}

/*
 * Returns the hash of the place where prev begins to wait. Only in a system call: where a thread is preempted or has
 * a page fault, it will hardly be again. The registers do not fit on the stack.
 */
static __noinline __u32 find_place(struct task_struct *prev, __u32 state)
{
	struct scratch *scratch = record_scratch(bpf_get_smp_processor_id());
	user_registers *saved;
	__u32 hash = state;

	if (scratch && state != WIRE_RUNNABLE && !(prev->flags & PF_KTHREAD)) {
		saved = (user_registers *)scratch->frames;
		if (!bpf_probe_read_kernel(saved, sizeof(*saved), (void *)task_registers()) &&
		    (state == WIRE_SLEEPING || IS_SYSTEM_CALL(saved)))
			hash = mix(mix(mix(hash_seed, state), USER_PC(saved)), saved->sp);
	}
	return hash | WIRE_PLACE_BIT;
}

/*
 * Returns the number of waits in its place of which this one is chosen to be walked; 0: it is not. A place that is
 * new in its slot is expected to be like the one before.
 */
static __noinline __u32 choose(struct wire_waiting *waiting, __u32 hash)
{
	struct wire_wait_place *place = place_of(waiting, hash);
	__u64 expected, one_of;

	waiting->place = hash;
	if (place->hash != hash) {
		place->hash = hash;
		place->id = 0;
	}
	expected = place->expected_ns ? place->expected_ns : FIRST_EXPECTED_NS;
	one_of = walk_each_ns / expected;
	if (one_of < 2)
		return 1;
	if (one_of > WIRE_MAX_ONE_OF)
		one_of = WIRE_MAX_ONE_OF;
	return bpf_get_prandom_u32() % one_of ? 0 : one_of;
}

/* --- what it costs ---------------------------------------------------------------------------- */

/*
 * One run of the programs in so many is timed; under a budget, each one with a walk, too. The programs do not interrupt
 * each other on a CPU: interrupts are off. A prime number hits no pattern of switches.
 */
#define TIME_ONE_IN 61

static __always_inline struct wire_cost *cost_here(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&wait_costs, &cpu);
}

/* The time, if this run is timed; else 0. */
static __always_inline __u64 begin_timing(bool may_walk)
{
	struct wire_cost *cost = cost_here();

	return (has_budget && may_walk) || (cost && !cost->next_timed) ? bpf_ktime_get_ns() : 0;
}

static __always_inline void note_cost(__u64 began_ns, bool has_walked)
{
	struct wire_cost *cost = cost_here();
	bool is_timed;

	if (!cost)
		return;
	is_timed = !cost->next_timed;
	cost->next_timed = is_timed ? TIME_ONE_IN - 1 : cost->next_timed - 1;
	cost->runs++;
	if (has_walked) {
		cost->walks++;
		if (is_timed || has_budget) {
			cost->timed_walks++;
			cost->walk_ns += bpf_ktime_get_ns() - began_ns;
		}
	} else if (is_timed) {
		cost->timed++;
		cost->timed_ns += bpf_ktime_get_ns() - began_ns;
	}
}

static __always_inline void note_switch(__u64 began_ns, bool has_walked)
{
	struct wire_cost *cost = cost_here();

	if (cost)
		cost->switches++;
	note_cost(began_ns, has_walked);
}

/* --- the beginning of a wait ------------------------------------------------------------------ */

/* Remembers the task's wait. id: of its record, 0: lost; one_of: see struct wire_waiting. */
static __always_inline void wait_from(const struct moment *now, struct task_struct *task,
				      __u64 since_ns, enum wire_state state, __u64 id, __u32 one_of,
				      struct wire_waiting *ret)
{
	ret->since_ns = since_ns;
	ret->woken_ns = 0;
	ret->run_ns = task->se.sum_exec_runtime;
	ret->epoch = now->epoch;
	ret->state = state;
	ret->id = id;
	ret->one_of = one_of;
	ret->check = wire_waiting_check(ret);
}

/* Completes a record that is identified and has its stacks. Returns its id; 0: it is lost. */
static __always_inline __u64 submit(const struct moment *now, struct scratch *scratch)
{
	return record_submit(scratch, now->counters) ? scratch->record.id : 0;
}

/* Both stacks of a task that is not running: only the kernel's can be read. */
static __always_inline void unwind_other(struct task_struct *task, struct scratch *scratch)
{
	struct wire_record *record = &scratch->record;
	__u32 bytes = max_kernel_frames * sizeof(__u64);
	long got;

	record->nr_user = record->nr_kernel = 0;
	record->user_end = record->kernel_end = WALK_NONE;
	if (!bytes || bytes > WIRE_MAX_KERNEL_FRAMES * sizeof(__u64))
		return;
	got = bpf_get_task_stack(task, scratch->frames, bytes, 0);
	if (got <= 0)
		return;
	record->nr_kernel = (__u32)got / sizeof(__u64);
	record->kernel_end = got == bytes ? WALK_TRUNCATED : WALK_UNWOUND;
}

/* Not on the stack, which the walk needs. */
static const struct wire_followed none;

/* The thread's entry, which is made if it has none yet; NULL if the map is full. */
static __always_inline struct wire_waiting *entry_of(__u64 key)
{
	struct wire_waiting *waiting = bpf_map_lookup_elem(&waiting_threads, &key);

	if (waiting)
		return waiting;
	bpf_map_update_elem(&waiting_threads, &key, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&waiting_threads, &key);
}

/*
 * A thread outside the selected cgroup may be moved into it later. Its entry shows that it was not off its CPU
 * all the time since the run began or the thread was created.
 */
static __always_inline void note_seen(__u64 key)
{
	if (filter_cgroup)
		entry_of(key);
}

/*
 * Ends the wait of a thread that leaves its CPU, though its return was not seen: some virtual
 * machines hide threads of their own, and the switch from these to others. (The switch to them is
 * reported.) Since it returned, it has run for the CPU time that was added to it since it left.
 */
static __noinline void finish_unseen(const struct moment *now, __u64 key,
				     struct wire_waiting *waiting, __u64 ran_ns)
{
	__u64 least_ns = waiting->since_ns;
	struct moment back = *now;

	/* User space has added all of its time before this epoch. */
	if (waiting->epoch != now->epoch && least_ns < now->epoch_began_ns)
		least_ns = now->epoch_began_ns;
	back.time_ns = now->time_ns - ran_ns;
	if (ran_ns > now->time_ns || back.time_ns < least_ns)
		back.time_ns = least_ns;
	ATOMIC_ADD(now->counters->unseen, 1);
	finish(&back, key, waiting);
	waiting->since_ns = 0;
}

/*
 * A thread that leaves its CPU has run since it came back. Its CPU time is less if the hypervisor ran
 * something else meanwhile, or interrupts are not counted as CPU time. Shorter differences than this
 * are between the switch and the program.
 */
#define MIN_STOLEN_NS 4000

static __always_inline void end_run(const struct moment *now, struct task_struct *prev, __u64 key,
				    struct wire_waiting *waiting)
{
	__u64 ran_ns = prev->se.sum_exec_runtime - waiting->run_ns;

	if (waiting->since_ns)
		finish_unseen(now, key, waiting, ran_ns);
	else if (waiting->back_ns && now->time_ns > waiting->back_ns + ran_ns + MIN_STOLEN_NS)
		ATOMIC_ADD(now->counters->stolen_ns, now->time_ns - waiting->back_ns - ran_ns);
}

/* The scratch space of this CPU, with the identity of the current task's record; NULL: lost. */
static __always_inline struct scratch *begin_record(const struct moment *now,
						    struct task_struct *current, __u32 probe,
						    __u32 place)
{
	struct scratch *scratch = record_scratch(bpf_get_smp_processor_id());

	if (!scratch) {
		ATOMIC_ADD(now->counters->lost[LOST_SCRATCH], 1);
		return NULL;
	}
	scratch->slot = bpf_get_smp_processor_id();
	record_identify(scratch, now->time_ns, now->epoch, current, true);
	scratch->record.probe = probe;
	scratch->record.place = place;
	scratch->record.weight = 0;
	return scratch;
}

/* The parts of the identity of a thread's and place's record that can change. */
static __always_inline __u64 name_of(const struct moment *now, struct task_struct *task)
{
	__u64 comm[WIRE_COMM_BYTES / sizeof(__u64)] = {}, hash;

	bpf_get_current_comm(comm, sizeof(comm));
	hash = mix(mix(mix(hash_seed, comm[0]), comm[1]), task->self_exec_id);
	hash = mix(hash, now->epoch);
	if (by_cgroup)
		hash = mix(hash, bpf_get_current_cgroup_id());
	return by_cpu ? mix(hash, bpf_get_smp_processor_id()) : hash;
}

/*
 * A wait that is not walked. Its time goes to a record without stacks; the thread remembers the ids of its own, so
 * that the record is not made again in the same epoch.
 */
static __noinline void wait_unwalked(const struct moment *now, struct task_struct *prev,
				     struct wire_waiting *waiting, __u32 state)
{
	struct wire_wait_place *place = place_of(waiting, waiting->place);
	struct wire_followed *followed = (struct wire_followed *)waiting;
	__u64 name = name_of(now, prev);
	struct scratch *scratch;
	__u32 i;

	if (followed->places_name != name) {
		for (i = 0; i < WIRE_PLACES; i++)
			followed->places[i].id = 0;
		followed->places_name = name;
	}
	if (place->id) {
		ATOMIC_ADD(now->counters->thinned, 1);
	} else {
		scratch = begin_record(now, prev, state | WIRE_UNWALKED,
				       wire_place_id(waiting->place));
		if (!scratch)
			return;
		scratch->record.nr_user = scratch->record.nr_kernel = 0;
		scratch->record.user_end = scratch->record.kernel_end = WALK_NONE;
		place->id = submit(now, scratch);
	}
	wait_from(now, prev, now->time_ns, state, place->id, 0, waiting);
}

/* prev, the current task, leaves its CPU. True if it was walked. */
static __always_inline bool leave(__u64 *ctx, struct task_struct *prev, const struct moment *now)
{
	struct wire_counters *counters = now->counters;
	__u64 key = (__u64)prev;
	__u32 raw_state = task_state(prev);
	struct wire_waiting *waiting;
	struct scratch *scratch;
	enum wire_state state;
	__u32 one_of = 1;

	if (!prev->pid) {
		ATOMIC_ADD(counters->idle, 1);
		return false;
	}
	if (raw_state & TASK_DEAD) {
		waiting = bpf_map_lookup_elem(&waiting_threads, &key);
		if (waiting)
			end_run(now, prev, key, waiting);
		bpf_map_delete_elem(&waiting_threads, &key);
		ATOMIC_ADD(counters->ended, 1);
		return false;
	}
	if (is_own(prev->tgid)) {
		ATOMIC_ADD(counters->own, 1);
		return false;
	}
	if (!is_wanted(prev)) {
		note_seen(key);
		ATOMIC_ADD(counters->filtered, 1);
		return false;
	}
	waiting = entry_of(key);
	if (!waiting) {
		ATOMIC_ADD(counters->lost[LOST_THREADS], 1);
		return false;
	}
	end_run(now, prev, key, waiting);
	/*
	 * A thread that was preempted is runnable, whatever it was about to become, and so is one
	 * that has a signal to handle: the kernel has reset its state by now. A state that was
	 * overwritten by somebody who is just waking the thread is only in the argument.
	 */
	if (has_prev_state && raw_state)
		raw_state = ctx[3];
	state = (bool)ctx[0] ? WIRE_RUNNABLE : refine(prev, classify(raw_state));
	/* A thread with a name that is left out keeps its entry: it may get another name. */
	if (!is_wanted_wait(prev, state) || has_refused_name(prev)) {
		waiting->since_ns = waiting->back_ns = 0;
		ATOMIC_ADD(counters->filtered, 1);
		return false;
	}
	if (has_budget)
		one_of = choose(waiting, find_place(prev, state));
	if (!one_of) {
		wait_unwalked(now, prev, waiting, state);
		return false;
	}
	scratch = begin_record(now, prev, state, has_budget ? wire_place_id(waiting->place) : 0);
	if (!scratch)
		return false;
	unwind_user((struct stack_context *)ctx, false, scratch);
	unwind_kernel(ctx, 0, scratch);
	wait_from(now, prev, now->time_ns, state, submit(now, scratch), one_of, waiting);
	return true;
}

/* --- threads that were off their CPU when the run began, and new ones ------------------------- */

static __always_inline bool has_user_memory(struct task_struct *task)
{
	return BPF_CORE_READ(task, mm) && !(BPF_CORE_READ(task, flags) & PF_KTHREAD);
}

/* Takes the stack of a task that was never seen. False if it is not selected. */
static __always_inline bool first_sight(const struct moment *now, struct task_struct *task,
					__u32 slot, enum wire_state state, struct wire_waiting *ret)
{
	__u64 since_ns = BPF_CORE_READ(task, start_time);
	__u32 tgid = BPF_CORE_READ(task, tgid);
	bool is_new = since_ns > run_began_ns;
	struct scratch *scratch;

	state = is_new ? WIRE_RUNNABLE : refine(task, state);
	if (!is_wanted_wait(task, state))
		return false;
	if (is_own_task(task, tgid))
		return false;
	if (!is_wanted_task(task) || has_refused_name(task))
		return false;
	scratch = record_scratch(slot);
	if (!scratch)
		return false;
	ATOMIC_ADD(now->counters->entries, 1);
	scratch->slot = slot;
	record_identify(scratch, now->time_ns, now->epoch, task, false);
	scratch->record.probe = state | (is_new ? 0 : WIRE_SINCE_BEFORE);
	scratch->record.place = 0;
	scratch->record.weight = has_user_memory(task);
	unwind_other(task, scratch);
	wait_from(now, task, is_new ? since_ns : run_began_ns, state, submit(now, scratch), 1, ret);
	return true;
}

/* next comes back to a CPU. */
static __noinline void arrive(struct task_struct *next, const struct moment *now)
{
	struct wire_waiting *waiting, first = {};
	__u64 key = (__u64)next;

	if (!next->pid)
		return;
	waiting = bpf_map_lookup_elem(&waiting_threads, &key);
	if (waiting) {
		if (waiting->since_ns) {
			finish(now, key, waiting);
			if (has_budget && waiting->place)
				expect(waiting, now->time_ns);
		}
		waiting->since_ns = 0;
		waiting->back_ns = now->time_ns;
		return;
	}
	/*
	 * The iterator has not come to it yet. A thread that had been asleep was found when it was woken, unless wake-ups
	 * are not followed: waits for futexes last until the thread runs.
	 */
	if (!first_sight(now, next, bpf_get_smp_processor_id(),
			 finds_futexes ? WIRE_SLEEPING : WIRE_RUNNABLE, &first)) {
		note_seen(key);
		return;
	}
	waiting = entry_of(key);
	/* No room: at each return it would be seen first, and all of its time would be added again. */
	if (!waiting)
		return;
	finish(now, key, &first);
	waiting->run_ns = first.run_ns;
	waiting->back_ns = now->time_ns;
}

SEC("tp_btf/sched_switch")
int switched(__u64 *ctx)
{
	struct task_struct *prev = (struct task_struct *)ctx[1];
	struct task_struct *next = (struct task_struct *)ctx[2];
	struct moment now;

	if (!begin(&now))
		return 0;
	arrive(next, &now);
	note_switch(now.time_ns, leave(ctx, prev, &now));
	return 0;
}

/* A thread is woken to which the iterator has not come yet. It was most likely asleep: its state is overwritten. */
static __noinline void find_woken(struct task_struct *task, __u64 key)
{
	struct wire_waiting first = {}, *waiting;
	struct moment now;

	/* One that is on its CPU has not left it, and will not. */
	if (!task || task->on_cpu || !begin(&now))
		return;
	ATOMIC_ADD(now.counters->entries, -1ULL); /* it is one only if it is selected */
	if (!first_sight(&now, task, bpf_get_smp_processor_id(), WIRE_SLEEPING, &first))
		return;
	waiting = entry_of(key);
	if (!waiting) /* no room: it is found again when it runs */
		return;
	*waiting = first;
	waiting->woken_ns = now.time_ns;
}

SEC("tp_btf/sched_wakeup")
int woken(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	__u64 key = (__u64)task;
	struct wire_waiting *waiting;
	__u64 began_ns;

	/* As in waking(): it has not left its CPU, and interrupts may be enabled. */
	if (task == (struct task_struct *)bpf_get_current_task())
		return 0;
	began_ns = begin_timing(false);
	waiting = bpf_map_lookup_elem(&waiting_threads, &key);
	if (!waiting && is_finding)
		find_woken(task, key);
	else if (waiting && waiting->since_ns && waiting->state != WIRE_RUNNABLE)
		waiting->woken_ns = began_ns ? began_ns : bpf_ktime_get_ns();
	note_cost(began_ns, false);
	return 0;
}

/* --- who ends a wait -------------------------------------------------------------------------- */

/* Kernel frames are taken behind the longest user stack, and moved when that is there. */
#define KERNEL_AT WIRE_MAX_USER_FRAMES

#define MIN_WAKER_FRAMES 64 /* looked at for an interrupt, though fewer may be wanted */

static __always_inline bool is_interrupt_entry(__u64 address)
{
	__u32 i;

#pragma unroll
	for (i = 0; i < WIRE_INTERRUPT_ENTRIES; i++)
		if (address - interrupt_entries[i].start < interrupt_entries[i].bytes)
			return true;
	return false;
}

/* Returns how many of the kernel frames are those of the innermost interrupt; 0: there is none. */
static __noinline __u32 nr_in_interrupt(const struct scratch *scratch, __u32 nr)
{
	__u32 i, found = 0;

	for (i = 0; i < WIRE_MAX_KERNEL_FRAMES; i++) {
		if (i >= nr)
			break;
		if (is_interrupt_entry(scratch->frames[KERNEL_AT + i]))
			found = i + 1;
		else if (found)
			break;
	}
	return found;
}

static __always_inline void forget_task(struct wire_record *record)
{
	record->start_time_ns = record->exec_id = record->cgroup = 0;
	record->pid = record->tid = 0;
	__builtin_memset(record->comm, 0, sizeof(record->comm));
}

/* Fills the stacks of the current task, or those of the interrupt that it is in. */
static __always_inline void unwind_waker(__u64 *ctx, struct scratch *scratch)
{
	struct wire_record *record = &scratch->record;
	__u32 bytes, nr, nr_interrupt, to;
	__u64 kernel_bytes;
	long got;

	bytes = (max_kernel_frames > MIN_WAKER_FRAMES ? max_kernel_frames : MIN_WAKER_FRAMES) *
		sizeof(__u64);
	if (bytes > WIRE_MAX_KERNEL_FRAMES * sizeof(__u64))
		return;
	got = bpf_get_stack(ctx, &scratch->frames[KERNEL_AT], bytes, 0);
	nr = got > 0 ? (__u32)got / sizeof(__u64) : 0;
	nr_interrupt = nr_in_interrupt(scratch, nr);
	if (nr_interrupt) {
		record->probe |= WIRE_INTERRUPT;
		record->nr_user = 0;
		record->user_end = WALK_NONE;
		forget_task(record);
		nr = nr_interrupt;
	} else {
		unwind_user((struct stack_context *)ctx, false, scratch);
	}
	record->kernel_end = !max_kernel_frames	       ? WALK_NONE
			     : nr >= max_kernel_frames ? WALK_TRUNCATED
						       : WALK_UNWOUND;
	if (nr > max_kernel_frames)
		nr = max_kernel_frames;
	record->nr_kernel = nr;
	to = record->nr_user;
	kernel_bytes = nr * sizeof(__u64);
	asm volatile("" : "+r"(kernel_bytes)); /* or the compiler checks a copy of it */
	if (to <= KERNEL_AT && kernel_bytes <= WIRE_MAX_KERNEL_FRAMES * sizeof(__u64))
		bpf_probe_read_kernel(&scratch->frames[to], kernel_bytes,
				      &scratch->frames[KERNEL_AT]);
}

/* Notes who wakes the task. True if the stack was walked. */
static __always_inline bool note_waker(__u64 *ctx, struct task_struct *task,
				       struct task_struct *current)
{
	/* One on a CPU may be on the way to the switch. Read first: it is off its CPU only after the switch. */
	bool may_leave = task->on_cpu;
	struct wire_waiting *waiting;
	struct scratch *scratch;
	__u64 key = (__u64)task;
	struct moment now;

	waiting = bpf_map_lookup_elem(&waiting_threads, &key);
	if (!waiting || (waiting->since_ns ? waiting->state == WIRE_RUNNABLE : !may_leave))
		return false;
	waiting->waker = 0;
	if (!begin(&now))
		return false;
	scratch = begin_record(&now, current, WIRE_WAKER, 0);
	if (!scratch)
		return false;
	unwind_waker(ctx, scratch);
	waiting->waker = submit(&now, scratch);
	return true;
}

SEC("tp_btf/sched_waking")
int waking(__u64 *ctx)
{
	struct task_struct *current = (struct task_struct *)bpf_get_current_task();
	struct task_struct *task = (struct task_struct *)ctx[0];
	__u64 began_ns;

	/* A thread that is about to sleep wakes itself up: not a wait, and interrupts may be enabled. */
	if (task == current)
		return 0;
	began_ns = begin_timing(true);
	note_cost(began_ns, note_waker(ctx, task, current));
	return 0;
}

/* A new value of the map, by the iterator: too large for the stack. */
static struct wire_followed found;

/*
 * Run by user space once, after the other programs are attached: takes the stacks of the threads
 * that are off their CPU now, some of which will not run before the end.
 */
SEC("iter/task")
int find_waiting(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct moment now;
	__u64 key;

	if (!task || !task->pid || task->on_cpu || task_state(task) & TASK_DEAD)
		return 0;
	key = (__u64)task;
	if (bpf_map_lookup_elem(&waiting_threads, &key) || !begin(&now))
		return 0;
	ATOMIC_ADD(now.counters->entries, -1ULL); /* it is one only if it is selected */
	if (first_sight(&now, task, spare_slot, classify(task_state(task)), &found.waiting) &&
	    !bpf_map_update_elem(&waiting_threads, &key, &found, BPF_NOEXIST) &&
	    task_state(task) & TASK_DEAD) /* it has run and ended meanwhile */
		bpf_map_delete_elem(&waiting_threads, &key);
	return 0;
}
