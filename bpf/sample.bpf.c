/*
 * Entry point of samples: a perf event fires on whatever the CPU was doing. Idle and unselected
 * tasks are filtered first, cheaply; then the record is filled with the task and its stacks.
 *
 * A sample weighs its period: it stands for as many events. In frequency mode, in which the kernel
 * changes the period all the time, that is the number of events since the sample before it.
 *
 * Under a budget (stook agent), user space reads how long the program takes, and has samples left out: the ones that
 * are taken weigh the more.
 *
 * The filters are constants set before loading, so the verifier removes the unused ones.
 */
#include "unwind.bpf.h"

#include "follow.bpf.h"
#include "ratio.bpf.h"

const volatile bool include_idle;
const volatile __u32 sample_state; /* enum wire_state, if records have states */
const volatile bool may_rotate;	   /* events may have to share counters */
const volatile __u32 varying;	   /* bits by event: periods vary */
const volatile bool is_governed;

/* If it is governed: one sample in so many is taken; 0: each. Written by user space. */
volatile __u32 sample_one_of;

/* A CPU's counter. */
struct counter {
	__u64 counted; /* at the last sample */
	/* At the beginning of a window; and in the window before: enabled / running time, 0: 1. */
	__u64 enabled_ns, running_ns, factor;
};

#define FACTOR_BITS 10		 /* binary digits after the point */
#define WINDOW_NS   100000000ULL /* several turns, of a tick each */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WIRE_MAX_EVENTS);
	__type(key, __u32);
	__type(value, struct counter);
} event_counters SEC(".maps");

/* While events take turns on a counter, samples also stand for the time in which others had it. */
static __always_inline __u64 scale(__u64 count, const struct bpf_perf_event_value *now,
				   struct counter *counter)
{
	__u64 enabled_ns = now->enabled - counter->enabled_ns;
	__u64 running_ns = now->running - counter->running_ns;

	if (running_ns && (enabled_ns > WINDOW_NS || !counter->factor)) {
		counter->factor = (enabled_ns << FACTOR_BITS) / running_ns;
		counter->enabled_ns = now->enabled;
		counter->running_ns = now->running;
	}
	return counter->factor > 1 << FACTOR_BITS ? count * counter->factor >> FACTOR_BITS : count;
}

/*
 * *ret: the sample's period, and its weight. Where the period varies, the kernel's number is not the number of events:
 * if it shortens the period, the next sample comes early, and still has the long one.
 */
static __always_inline void weigh(struct bpf_perf_event_data *ctx, __u32 event,
				  struct wire_event *ret)
{
	bool varies = varying & (1U << event);
	struct bpf_perf_event_value now;
	struct counter *counter;

	ret->periods = ret->weight = ctx->sample_period;
	if ((!may_rotate && !varies) || bpf_perf_prog_read_value(ctx, &now, sizeof(now)))
		return;
	counter = bpf_map_lookup_elem(&event_counters, &event);
	if (!counter)
		return;
	/* An event that was opened anew, on a CPU that came back, begins at 0. */
	if (now.counter < counter->counted)
		counter->counted = counter->enabled_ns = counter->running_ns = 0;
	if (varies)
		ret->weight = now.counter - counter->counted;
	counter->counted = now.counter;
	if (now.enabled == now.running)
		return;
	ret->periods = scale(ret->periods, &now, counter);
	ret->weight = scale(ret->weight, &now, counter);
}

/* The number of samples that this one represents, which is the nr-th on this CPU and in this slot. */
static __always_inline __u64 samples_represented(__u64 nr)
{
	return is_governed ? represented(sample_one_of, bpf_get_smp_processor_id(), nr) : 1;
}

static __always_inline void finish(struct wire_counters *counters, struct scratch *scratch)
{
	__u64 began_ns = scratch->record.time_ns, weight = scratch->record.weight;
	int is_known = record_submit(scratch, counters);

	if (!is_governed)
		return;
	if (is_known)
		ATOMIC_ADD(counters->taken_weight, weight);
	ATOMIC_ADD(counters->run_ns, bpf_ktime_get_ns() - began_ns);
}

static __always_inline int take(struct bpf_perf_event_data *ctx, __u32 event)
{
	struct wire_counters *counters;
	struct task_struct *task;
	struct scratch *scratch;
	struct wire_event weighed;
	__u64 time_ns, pid_tgid, nr_represented;
	__u32 epoch_nr;

	counters = record_enter(&time_ns, &epoch_nr);
	if (!counters)
		return 0;
	weigh(ctx, event, &weighed);
	ATOMIC_ADD(counters->events[event].entries, 1);
	ATOMIC_ADD(counters->events[event].periods, weighed.periods);
	ATOMIC_ADD(counters->events[event].weight, weighed.weight);
	pid_tgid = bpf_get_current_pid_tgid();
	if (!pid_tgid && !include_idle) {
		ATOMIC_ADD(counters->idle, 1);
		return 0;
	}
	if (is_own(pid_tgid >> 32)) {
		ATOMIC_ADD(counters->own, 1);
		return 0;
	}
	task = (struct task_struct *)bpf_get_current_task();
	if (!is_wanted(task) || has_refused_name(task)) {
		ATOMIC_ADD(counters->filtered, 1);
		return 0;
	}
	nr_represented = samples_represented(counters->events[event].entries);
	if (!nr_represented) {
		ATOMIC_ADD(counters->thinned, 1);
		return 0;
	}
	scratch = record_begin(counters, time_ns, epoch_nr, task);
	if (!scratch)
		return 0;
	scratch->record.probe = sample_state + event;
	if (by_weight)
		scratch->record.weight = weighed.weight * nr_represented;
	if (has_ratio)
		scratch->record.numerator = ratio_take(weighed.weight);
	unwind_user((struct stack_context *)ctx, true, scratch);
	unwind_kernel(ctx, 0, scratch);
	finish(counters, scratch);
	return 0;
}

/* A program for each event: before Linux 5.15, one program cannot find out which event it runs for. */
#define SAMPLE(name, event)                       \
	SEC("perf_event")                         \
	int name(struct bpf_perf_event_data *ctx) \
	{                                         \
		return take(ctx, event);          \
	}

WIRE_EVENTS(SAMPLE)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
