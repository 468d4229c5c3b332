/*
 * What happens first when a probe is hit: which one is it, and is its task wanted? Then it is
 * counted, by an atomic add to this CPU's own counter: programs of probes can be preempted by each
 * other, and a count that is read, raised and written back would lose.
 *
 * A program hit inside itself (the kernel skips it) is the kernel's to count.
 *
 * All of it is in line, because it is short, and calls are what it would cost: on a machine whose
 * kernel guards its returns, a call of the kernel's takes 20 ns and one of ours 5, all the rest
 * hardly any. So the maps stand here (bpftool 7.1 links extern maps wrongly), and just one file of
 * an object includes this: that with the programs.
 */
#ifndef STOOK_BPF_PROBE_HIT_H
#define STOOK_BPF_PROBE_HIT_H

#include "probe.bpf.h"

#include "follow.bpf.h"

const volatile bool filter_tasks; /* probe_wants_task() has something to say */
const volatile __u32 hits_stride; /* probes of a CPU, rounded up to whole cache lines */
const volatile __u32 nr_probes;
const volatile bool is_only_probe; /* number 0, and the programs are attached to nothing else */

/* All CPUs' counters, one CPU's behind the other's. Sized before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct wire_hits);
} hits SEC(".maps");

volatile __u64 nr_own_hits; /* of our own processes, if these are left out */

enum probe_verdict {
	HIT_WANTED,
	HIT_FILTERED, /* not wanted, or of no probe that we know */
	HIT_OWN,      /* our own process, also where it tries what a hit costs */
};

/* Counts a hit of a probe. *ret_nr: how many that makes, on this CPU. */
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
 * The probe's number where a link's cookies have it. Asking for the cookie is a call into the kernel,
 * which costs more than counting.
 */
static __always_inline __u32 cookie_number(void *ctx)
{
	return is_only_probe ? 0 : bpf_get_attach_cookie(ctx);
}

/* The number of a program that has one probe to itself. */
static __always_inline __u32 own_number(void)
{
	__u64 number;

	asm volatile("%0 = %1 ll" : "=r"(number) : "i"(WIRE_NUMBER_MARK));
	return number;
}

/*
 * The programs of one kind, for each way in which probes are attached (probe/attach/probe_links.h). body
 * is int body(void *ctx, enum probe_way way, __u32 number).
 *
 *	NAME_cookie		uprobe_multi, kprobe_multi: the link's cookies tell the number
 *	NAME_kernel_cookie	likewise; programs are loaded for one of the two
 *	NAME_user_place		one uprobe event in tracefs with many places
 *	NAME_kernel_place	the same of kprobes
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
		return body(ctx, WAY_TRACEPOINT, own_number());                      \
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
