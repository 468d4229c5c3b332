/*
 * Sums up which tasks ran where, and which waited for a CPU for how long (sched_wire.h).
 *
 * One program follows the switches, and does all of its work for the thread that leaves: that thread
 * is still the current one, and the kernel has just brought its numbers up to date. The difference
 * to those of the last time is one run and the wait before it. No wake-up has to be followed, and
 * nothing is lost if the kernel does not report a switch: the next difference has it.
 *
 * The kernel does not account waits if it is built without SCHED_INFO, or before Linux 5.14 without
 * SCHEDSTATS. Then (by_clock) a wait is the time from the wake-up to the switch.
 *
 * All of this runs with the lock of the run queue held: nothing is shared with programs that run in
 * NMIs, allocates, sleeps or wakes up anybody.
 */
#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "follow.bpf.h"
#include "sched_wire.h"

const volatile bool by_clock;
const volatile bool by_cgroup;
const volatile __u32 nr_ran_cpus; /* ran_ns[] follows each thread; 0: not asked for */
const volatile __u32 end_bytes = sizeof(struct sched_thread); /* with ran_ns[] */
const volatile bool sends_stints, sends_idle;
const volatile __u64 min_delay_ns; /* of stints that are sent */

volatile __u64 run_began_ns;
volatile __u32 epoch = 1;
volatile __u32 has_begun; /* the iterator makes no entries any more */
volatile __u32 has_ended; /* nothing is counted any more */

/* By task_struct. Sizes are set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u64));
	__uint(value_size, sizeof(struct sched_thread));
} threads SEC(".maps");

/* One thread of zeros, to insert: the largest value does not fit on the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct sched_thread));
} new_thread SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct sched_cpu));
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

/* The switch, as far as every step needs it. */
struct moment {
	struct sched_cpu *cpu;
	__u64 now_ns;
	__u64 arrived_ns; /* when the thread that leaves got the CPU; 0: not known */
	__u32 cpu_number;
	__u32 epoch; /* in which it got the CPU */
};

/* --- threads ---------------------------------------------------------------------------------- */

static __always_inline void read_numbers(struct task_struct *task, struct sched_numbers *ret)
{
	ret->run_ns = task->se.sum_exec_runtime;
	ret->delay_ns = ret->waits = 0;
	if (!by_clock && bpf_core_field_exists(task->sched_info.run_delay)) {
		ret->delay_ns = task->sched_info.run_delay;
		ret->waits = task->sched_info.pcount;
	}
	ret->voluntary = task->nvcsw;
	ret->involuntary = task->nivcsw;
	ret->migrations = task->se.nr_migrations;
}

/*
 * Makes the entry of a thread. One that is older than the run starts with the numbers that it has
 * now, a newer one with zeros.
 */
static __always_inline struct sched_thread *add_thread(struct task_struct *task)
{
	__u64 key = (__u64)task;
	__u32 zero = 0;
	void *fresh = bpf_map_lookup_elem(&new_thread, &zero);
	struct sched_thread *thread;

	if (!fresh)
		return NULL;
	bpf_map_update_elem(&threads, &key, fresh, BPF_NOEXIST);
	thread = bpf_map_lookup_elem(&threads, &key);
	if (!thread)
		return NULL;
	thread->task = key;
	thread->start_ns = task->start_time;
	if (thread->start_ns <= run_began_ns)
		read_numbers(task, &thread->last);
	return thread;
}

/*
 * Notes the ids of the thread: an exec gives a thread its leader's tid. The name, which can change at any time,
 * is read when it is needed: user space lists the names of all threads that have not ended.
 */
static __always_inline void identify(struct sched_thread *thread, struct task_struct *task,
				     bool needs_name)
{
	if (needs_name)
		BPF_CORE_READ_INTO(&thread->comm, task, comm);
	if (thread->kernel_tid == task->pid)
		return;
	thread->kernel_tid = task->pid;
	thread->tid = visible_pid(task);
	thread->pid = visible_pid(BPF_CORE_READ(task, group_leader));
}

/* --- a wait ----------------------------------------------------------------------------------- */

/* If the kernel did not report the arrival, it was as long ago as the thread ran since. */
static __always_inline __u64 arrival_ns(const struct moment *now, __u64 run_ns)
{
	return now->arrived_ns ?: now->now_ns - run_ns;
}

static __always_inline void keep_longest(struct sched_longest longest[2], const struct moment *now,
					 const struct sched_numbers *more)
{
	struct sched_longest *of_epoch = &longest[now->epoch & 1];

	if (of_epoch->epoch > now->epoch ||
	    (of_epoch->epoch == now->epoch && more->delay_ns <= of_epoch->delay_ns))
		return;
	of_epoch->delay_ns = more->delay_ns;
	of_epoch->end_ns = arrival_ns(now, more->run_ns);
	of_epoch->cpu = now->cpu_number;
	of_epoch->epoch = now->epoch;
}

static __always_inline void add_numbers(struct sched_numbers *sum, const struct sched_numbers *more)
{
	sum->run_ns += more->run_ns;
	sum->delay_ns += more->delay_ns;
	sum->waits += more->waits;
	sum->voluntary += more->voluntary;
	sum->involuntary += more->involuntary;
	sum->migrations += more->migrations;
}

static __always_inline void add_sums(struct sched_sums *sums, const struct sched_numbers *more,
				     bool is_one)
{
	add_numbers(&sums->numbers, more);
	if (is_one) {
		__u32 slot = sched_slot(more->delay_ns);

		asm volatile("" : "+r"(slot)); /* or the compiler drops the check */
		if (slot < SCHED_SLOTS)
			sums->slots[slot]++;
	} else {
		sums->unsplit += more->waits;
		sums->unsplit_ns += more->waits ? more->delay_ns : 0;
	}
}

/* The wait that ended with the thread's arrival, where only the clock knows of it. */
static __always_inline void measure_wait(const struct moment *now, struct sched_thread *thread,
					 struct sched_numbers *more)
{
	__u64 since_ns = thread->was_queued ? thread->left_ns : thread->woken_ns;
	__u64 arrived_ns = arrival_ns(now, more->run_ns);

	if (by_clock && !thread->left_ns && thread->start_ns > run_began_ns)
		since_ns = thread->start_ns;
	if (!since_ns || arrived_ns < since_ns)
		return;
	more->waits = 1;
	more->delay_ns = arrived_ns - since_ns;
}

/* --- what is sent ----------------------------------------------------------------------------- */

static __always_inline void send_stint(const struct moment *now, const struct sched_thread *thread,
				       const struct sched_numbers *more, __u32 state)
{
	struct sched_stint stint = {
		.end_ns = now->now_ns,
		.run_ns = now->now_ns - arrival_ns(now, more->run_ns),
		.delay_ns = more->delay_ns,
		.pid = thread->pid,
		.tid = thread->tid,
		.cpu = now->cpu_number,
		.state = state,
	};

	if (more->delay_ns < min_delay_ns)
		return;
	if (thread->left_ns && now->arrived_ns > thread->left_ns)
		stint.wait_ns = now->arrived_ns - thread->left_ns;
	__builtin_memcpy(stint.comm, thread->comm, sizeof(stint.comm));
	if (bpf_ringbuf_output(&ring, &stint, sizeof(stint), BPF_RB_NO_WAKEUP))
		now->cpu->lost_stints++;
}

static __always_inline void send_idle_stint(const struct moment *now)
{
	struct sched_stint stint = {
		.end_ns = now->now_ns,
		.run_ns = now->now_ns - now->arrived_ns,
		.cpu = now->cpu_number,
	};

	if (!now->arrived_ns)
		return;
	if (bpf_ringbuf_output(&ring, &stint, sizeof(stint), BPF_RB_NO_WAKEUP))
		now->cpu->lost_stints++;
}

static __always_inline void send_end(const struct moment *now, __u64 key,
				     struct sched_thread *thread)
{
	struct sched_cpu *cpu = now->cpu;

	if (bpf_ringbuf_output(&ring, thread, end_bytes, BPF_RB_NO_WAKEUP)) {
		cpu->lost_ends++;
		add_numbers(&cpu->lost, &thread->sums.numbers);
	}
	bpf_map_delete_elem(&threads, &key);
}

static __always_inline __u32 state_letter(__u32 state, bool is_preempted)
{
	if (!state || is_preempted)
		return 'R';
	if (state & TASK_DEAD)
		return 'X';
	if (state & TASK_UNINTERRUPTIBLE)
		return state & TASK_NOLOAD ? 'I' : 'D';
	if (state & TASK_SHOWN_AS_D)
		return 'D';
	if (state & TASK_PARKED)
		return 'P';
	if (state & TASK_STOPPED)
		return 'T';
	return state & TASK_TRACED ? 't' : 'S';
}

/* --- switches --------------------------------------------------------------------------------- */

/* Adds the run that ends, and the wait before it. */
static __noinline void count(const struct moment *now, struct sched_thread *thread,
			     struct sched_numbers *numbers, __u32 state)
{
	struct sched_cpu *cpu = now->cpu;
	struct sched_numbers more = {
		.run_ns = numbers->run_ns - thread->last.run_ns,
		.delay_ns = numbers->delay_ns - thread->last.delay_ns,
		.waits = numbers->waits - thread->last.waits,
		.voluntary = numbers->voluntary - thread->last.voluntary,
		.involuntary = numbers->involuntary - thread->last.involuntary,
		.migrations = numbers->migrations - thread->last.migrations,
	};
	bool is_one;

	if (by_clock || (!more.waits && thread->was_queued))
		measure_wait(now, thread, &more);
	/* By the clock, several waits look like one if switches between them were not reported. */
	is_one = more.waits == 1 && (!by_clock || more.voluntary + more.involuntary <= 1);
	thread->is_wanted = true;
	cpu->counted++;
	add_sums(&thread->sums, &more, is_one);
	add_sums(&cpu->sums, &more, is_one);
	if (is_one) {
		keep_longest(thread->longest, now, &more);
		keep_longest(cpu->longest, now, &more);
	}
	if (now->cpu_number < nr_ran_cpus)
		((__u64 *)(thread + 1))[now->cpu_number] += more.run_ns;
	if (sends_stints)
		send_stint(now, thread, &more, state);
}

/* prev, the current task, leaves its CPU. */
static __always_inline void leave(struct task_struct *prev, bool is_preempted,
				  const struct moment *now)
{
	struct sched_cpu *cpu = now->cpu;
	__u32 state = task_state(prev);
	__u64 key = (__u64)prev;
	struct sched_numbers numbers;
	struct sched_thread *thread;
	bool is_counted;

	cpu->switches++;
	if (!prev->pid) {
		cpu->idle++;
		if (now->arrived_ns)
			cpu->idle_ns += now->now_ns - now->arrived_ns;
		if (sends_idle)
			send_idle_stint(now);
		return;
	}
	if (is_own(prev->tgid)) {
		cpu->own++;
		return;
	}
	thread = bpf_map_lookup_elem(&threads, &key);
	if (thread && thread->start_ns != prev->start_time) {
		/* The kernel did not report the other one's end. */
		send_end(now, key, thread);
		thread = NULL;
	}
	/* A thread that has an entry was selected; cgroups are those of the moment. */
	is_counted = (thread && !filter_cgroup) || is_wanted(prev);
	if (is_counted && !thread) {
		thread = add_thread(prev);
		if (!thread) {
			cpu->lost_threads++;
			return;
		}
	}
	if (!is_counted || !cpu->is_wanted)
		cpu->filtered++;
	if (!thread)
		return;
	identify(thread, prev, sends_stints || state & TASK_DEAD);
	if (by_cgroup)
		thread->cgroup = bpf_get_current_cgroup_id();
	read_numbers(prev, &numbers);
	if (is_counted && cpu->is_wanted)
		count(now, thread, &numbers, state_letter(state, is_preempted));
	thread->last = numbers;
	thread->left_ns = now->now_ns;
	thread->woken_ns = 0;
	/* One that is about to sleep, and is preempted, is not queued in the kernel's accounts. */
	thread->was_queued = by_clock ? is_preempted || !state : is_preempted && state;
	if (state & TASK_DEAD)
		send_end(now, key, thread);
}

SEC("tp_btf/sched_switch")
int switched(__u64 *ctx)
{
	struct task_struct *prev = (struct task_struct *)ctx[1];
	struct task_struct *next = (struct task_struct *)ctx[2];
	struct moment now = {
		.now_ns = bpf_ktime_get_ns(),
		.cpu_number = bpf_get_smp_processor_id(),
	};
	struct sched_cpu *cpu = bpf_map_lookup_elem(&cpus, &now.cpu_number);

	if (!cpu || has_ended)
		return 0;
	now.cpu = cpu;
	now.epoch = cpu->epoch;
	if (cpu->task == (__u64)prev) {
		now.arrived_ns = cpu->since_ns;
	} else if (!cpu->task) {
		/* There was no switch here since the run began. */
		now.arrived_ns = run_began_ns;
		now.epoch = epoch;
	}
	leave(prev, ctx[0] & 1, &now);
	cpu->task = (__u64)next;
	cpu->since_ns = now.now_ns;
	cpu->epoch = epoch;
	cpu->is_idle = !next->pid;
	return 0;
}

static __always_inline void wake(__u64 key)
{
	struct sched_thread *thread = bpf_map_lookup_elem(&threads, &key);

	/* The first since it left: a later one found it running, about to sleep. */
	if (thread && !thread->woken_ns)
		thread->woken_ns = bpf_ktime_get_ns();
}

/* By the clock only. A new thread has no entry yet: it waits since it was created. */
SEC("tp_btf/sched_wakeup")
int woken(__u64 *ctx)
{
	wake(ctx[0]);
	return 0;
}

/* --- all threads ------------------------------------------------------------------------------ */

/*
 * Lists the selected threads, for user space. Before the switches are followed, it also makes their
 * entries, so that the first wait of each has a beginning.
 */
SEC("iter/task")
int list_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct sched_listed listed = {};
	struct sched_thread *thread;
	__u32 tgid;

	if (!task || !task->pid || task_state(task) & TASK_DEAD)
		return 0;
	tgid = task->tgid;
	if (is_own_task(task, tgid))
		return 0;
	if (!is_wanted_by_number(task))
		return 0;
	listed.task = (__u64)task;
	listed.start_ns = task->start_time;
	if (filter_cgroup || by_cgroup)
		listed.cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	read_numbers(task, &listed.numbers);
	listed.tid = visible_pid(task);
	listed.pid = visible_pid(BPF_CORE_READ(task, group_leader));
	listed.is_running = task->on_cpu;
	listed.cpu = task->wake_cpu;
	BPF_CORE_READ_INTO(&listed.comm, task, comm);
	if (!has_begun) {
		thread = add_thread(task);
		if (thread) {
			identify(thread, task, true);
			thread->last = listed.numbers;
			thread->cgroup = listed.cgroup;
		}
	}
	bpf_seq_write(ctx->meta->seq, &listed, sizeof(listed));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
