/*
 * Notices CPUs that go offline and come back: their perf events are gone then. The kernel passes this tracepoint
 * after each of the few dozen steps that take a CPU down or up, so also after the ones that remove its events and that
 * allow new ones; during a suspend, too, of which the kernel reports nothing else about CPUs.
 */
#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "claim.bpf.h"

/* By CPU number: steps so far. Sized before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64);
} cpu_steps SEC(".maps");

SEC("raw_tracepoint/cpuhp_exit")
int note_cpu_step(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 cpu = ctx->args[0];
	__u64 *steps = bpf_map_lookup_elem(&cpu_steps, &cpu);

	if (steps)
		ATOMIC_ADD(*steps, 1);
	return 0;
}
