/*
 * The first part of handling a probe's hit: identify the probe, check if the task is selected, and
 * count the hit with an atomic add to this CPU's counter. The add is atomic because programs of
 * probes can preempt each other, and a plain read-modify-write would lose counts.
 *
 * A program that is hit inside itself is skipped by the kernel, which counts the miss.
 *
 * Everything is inline, because it is short and calls would dominate the cost: on a machine whose
 * kernel protects returns, a call into the kernel takes 20 ns, a BPF call 5 ns, and the rest almost
 * nothing. Therefore the maps are defined here (bpftool 7.1 links extern maps incorrectly), and
 * exactly one file of an object includes this header, the one with the programs.
 */
#ifndef STOOK_BPF_PROBE_HIT_H
#define STOOK_BPF_PROBE_HIT_H

#include "probe.bpf.h"

#include "follow.bpf.h"

const volatile bool filter_tasks; /* true if probe_wants_task() has a filter to check */
const volatile __u32 hits_stride; /* number of probes, rounded up to whole cache lines */
const volatile __u32 nr_probes;
const volatile bool is_only_probe; /* probe 0 only; the programs are attached nowhere else */

/* Counters of all CPUs: CPU 0's probes first, then CPU 1's, … Sized before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct wire_hits);
} hits SEC(".maps");

volatile __u64 nr_own_hits; /* hits by our own processes, if these are excluded */

enum probe_verdict {
	HIT_WANTED,
	HIT_FILTERED, /* not selected, or unknown probe */
	HIT_OWN,      /* our own process, including its measurements of a hit's cost */
};

/* Counts a hit of a probe. *ret_nr is the new count on this CPU. */
static __always_inline enum probe_verdict probe_hit(__u32 number, __u64 *ret_nr)
{
	__u32 index = bpf_get_smp_processor_id() * hits_stride + number;
	struct wire_hits *hit;

	if (number >= nr_probes)
		return number == WIRE_NO_NUMBER ? HIT_FILTERED : HIT_OWN;
	hit = bpf_map_lookup_elem(&hits, &index);
	if (!hit)
		return HIT_FILTERED;
	if (leaves_out_own && is_own(bpf_get_current_pid_tgid() >> 32)) {
		ATOMIC_ADD(hit->filtered, 1);
		ATOMIC_ADD(nr_own_hits, 1);
		return HIT_OWN;
	}
	if (filter_tasks && !probe_wants_task()) {
		ATOMIC_ADD(hit->filtered, 1);
		return HIT_FILTERED;
	}
	ATOMIC_ADD(hit->counted, 1);
	*ret_nr = hit->counted;
	return HIT_WANTED;
}

/*
 * The probe's number from the link's cookie. Reading the cookie is a call into the kernel, which
 * costs more than counting, so it is skipped if there is only one probe.
 */
static __always_inline __u32 cookie_number(void *ctx)
{
	return is_only_probe ? 0 : bpf_get_attach_cookie(ctx);
}

/* The number of a program copy that serves one probe. */
static __always_inline __u32 own_number(void)
{
	__u64 number;

	asm volatile("%0 = %1 ll" : "=r"(number) : "i"(WIRE_NUMBER_MARK));
	return number;
}

/*
 * Defines the programs of one kind, one for each way of attaching probes
 * (probe/attach/probe_links.h). body is int body(void *ctx, enum probe_way way, __u32 number).
 *
 *	NAME_cookie		uprobe_multi, kprobe_multi: the link's cookies are the numbers
 *	NAME_kernel_cookie	like NAME_cookie; only one of the two is loaded
 *	NAME_user_place		one uprobe event in tracefs with many places
 *	NAME_kernel_place	the same for kprobes
 *	NAME_tracepoint, NAME_entry, NAME_exit	a copy for each probe
 */
#define PROBE_PROGRAMS(name, body)                                                   \
	SEC("kprobe")                                                                \
	int name##_cookie(bpf_user_pt_regs_t *ctx)                                   \
	{                                                                            \
		return body(ctx, WAY_REGISTERS, cookie_number(ctx));                 \
	}                                                                            \
	SEC("kprobe")                                                                \
	int name##_kernel_cookie(bpf_user_pt_regs_t *ctx)                            \
	{                                                                            \
		return body(ctx, WAY_REGISTERS, cookie_number(ctx));                 \
	}                                                                            \
	SEC("kprobe")                                                                \
	int name##_user_place(bpf_user_pt_regs_t *ctx)                               \
	{                                                                            \
		return body(ctx, WAY_REGISTERS, user_place_number());                \
	}                                                                            \
	SEC("kprobe")                                                                \
	int name##_kernel_place(bpf_user_pt_regs_t *ctx)                             \
	{                                                                            \
		return body(ctx, WAY_REGISTERS, kernel_place_number(PROBE_IP(ctx))); \
	}                                                                            \
	SEC("copied_tracepoint")                                                     \
	int name##_tracepoint(void *ctx)                                             \
	{                                                                            \
		body(ctx, WAY_TRACEPOINT, own_number());                             \
		return 1; /* 0 would keep the hit from the perf events of others */  \
	}                                                                            \
	SEC("copied_fentry")                                                         \
	int name##_entry(void *ctx)                                                  \
	{                                                                            \
		return body(ctx, WAY_FUNCTION_ENTRY, own_number());                  \
	}                                                                            \
	SEC("copied_fexit")                                                          \
	int name##_exit(void *ctx)                                                   \
	{                                                                            \
		return body(ctx, WAY_FUNCTION_EXIT, own_number());                   \
	}

#endif
