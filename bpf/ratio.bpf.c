/*
 * The ratio of two counters, by stack: instructions per cycle, cache misses per 1,000 instructions. The denominator is
 * the event that is sampled; the numerator is in its group, so that both count at the same time, also where events take
 * turns on the PMU.
 *
 * The counters are per CPU. A sample's span begins at the sample before it on its CPU, or later, when its thread got
 * the CPU: both are read there, too. So nothing that other threads did is attributed to a sample, although the span
 * often covers less than the sample stands for. What it stands for is its weight, in events of the denominator; the
 * numerator is in proportion, weight * (numerator of the span / denominator of the span). If the thread had the CPU all
 * the time, that is the numerator's own count.
 *
 * Between the readings of two counters time passes: little, or much if the CPU is taken away then, by firmware or by the
 * host of a virtual machine. A short span would make that a ratio of a hundred. So the denominator is read before and
 * after the numerator, and a span that is not several times as long as what lies between is not used. Nor does a sample
 * have a span that interrupts the program that runs when a thread gets the CPU.
 */
#include "ratio.bpf.h"

#include "claim.bpf.h"

const volatile bool has_ratio;

volatile __u64 nr_unmeasured; /* samples whose numerator is not known */

/* By CPU: the numerator, the denominator. Sized before loading; filled while events are opened. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} ratio_counters SEC(".maps");

struct reading {
	__u64 numerator, denominator;
};

/* Counters begin at 0, and so does the first span of a CPU. */
struct span {
	__u32 is_written, reserved;
	struct reading began;
	__u64 slack; /* events of the denominator while its beginning was read: it is exact to a half of them */
};

/* So its ratio is exact to 1/16. */
#define LEAST_SPAN(slack) (8 * (slack))

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct span);
} ratio_spans SEC(".maps");

enum { NUMERATOR, DENOMINATOR };

/* Errors are negative. */
static __always_inline __s64 read_counter(__u32 number)
{
	return bpf_perf_event_read(&ratio_counters, 2 * bpf_get_smp_processor_id() + number);
}

static __always_inline bool read_counters(struct reading *ret)
{
	ret->numerator = read_counter(NUMERATOR);
	ret->denominator = read_counter(DENOMINATOR);
	return (__s64)ret->numerator >= 0 && (__s64)ret->denominator >= 0;
}

static __always_inline struct span *this_span(void)
{
	const __u32 only = 0;

	return bpf_map_lookup_elem(&ratio_spans, &only);
}

/*
 * weight * numerator / denominator, rounded. Large counts lose low digits of all three: a sample of a CPU that was not
 * sampled for minutes.
 */
#define FACTOR_BITS 31

static __always_inline __u64 in_proportion(__u64 weight, __u64 numerator, __u64 denominator)
{
	__u32 shifted = 0;

	if (weight == denominator)
		return numerator;
	if (numerator >> FACTOR_BITS) {
		numerator >>= FACTOR_BITS / 2;
		denominator >>= FACTOR_BITS / 2;
	}
	if (weight >> FACTOR_BITS) {
		weight >>= FACTOR_BITS / 2;
		shifted = FACTOR_BITS / 2;
	}
	if (!denominator)
		return 0;
	return (weight * numerator + denominator / 2) / denominator << shifted;
}

__hidden __u64 ratio_take(__u64 weight)
{
	struct span *span = this_span();
	struct reading now, began;
	__u64 slack;

	if (!span)
		return 0;
	if (span->is_written || !read_counters(&now)) {
		ATOMIC_ADD(nr_unmeasured, 1);
		return 0;
	}
	began = span->began;
	slack = span->slack;
	span->began = now;
	span->slack = 0; /* most CPUs stop their counters for a sample */
	/* Events that were opened anew, on a CPU that came back, begin at 0. */
	if (now.numerator < began.numerator || now.denominator <= began.denominator ||
	    now.denominator - began.denominator < LEAST_SPAN(slack)) {
		ATOMIC_ADD(nr_unmeasured, 1);
		return 0;
	}
	return in_proportion(weight, now.numerator - began.numerator,
			     now.denominator - began.denominator);
}

/* A thread gets the CPU. */
SEC("raw_tracepoint/sched_switch")
int begin_span(void *ctx)
{
	struct span *span = this_span();
	struct reading now;
	__s64 before;

	if (!span)
		return 0;
	/* In this order, also for the compiler: a sample that interrupts this program must see it. */
	*(volatile __u32 *)&span->is_written = 1;
	asm volatile("" ::: "memory");
	before = read_counter(DENOMINATOR);
	if (before >= 0 && read_counters(&now)) {
		span->slack = now.denominator - before;
		now.denominator -= span->slack / 2;
		span->began = now;
	}
	asm volatile("" ::: "memory");
	*(volatile __u32 *)&span->is_written = 0;
	return 0;
}
