/*
 * stook tally: counts hits by key, with sums and histograms. The query is compiled in user space to
 * a plan, which is constant here (tally_wire.h), so the verifier removes the unused code.
 *
 *	tally_operands	the values of a hit: arguments, fields, results, task, texts
 *	tally_calls	matches returns with their calls
 *	tally_steps.h	evaluates --where, --by and --value from these
 *	tally_rows	adds the hit to its row
 *
 * A program can be preempted or interrupted by others on its CPU, so scratch space is claimed; a
 * hit that finds none is counted as lost.
 */
#include "probe_hit.bpf.h"
#include "tally.bpf.h"

#include "claim.bpf.h"

#if defined(__TARGET_ARCH_x86)
#define STACK_POINTER(ctx)   ((ctx)->sp)
#define RETURN_ADDRESS_BYTES 8 /* popped by the return */
#else
#define STACK_POINTER(ctx)   ((ctx)->sp)
#define RETURN_ADDRESS_BYTES 0
#endif

const volatile struct tally_plan plan = {};

volatile __u32 epoch; /* written by user space only */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WIRE_EPOCH_SLOTS);
	__type(key, __u32);
	__type(value, struct tally_counters);
} counters_by_slot SEC(".maps");

/* TALLY_HITS_A_CPU for each possible CPU, sized before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TALLY_HITS_A_CPU);
	__type(key, __u32);
	__type(value, struct tally_hit);
} scratch_space SEC(".maps");

/* By probe. Sized before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tally_probe);
} probes SEC(".maps");

__hidden struct tally_counters *tally_enter(__u32 *ret_slot)
{
	*ret_slot = epoch % WIRE_EPOCH_SLOTS;
	return bpf_map_lookup_elem(&counters_by_slot, ret_slot);
}

static struct tally_hit *claim_hit(void)
{
	__u32 first = bpf_get_smp_processor_id() * TALLY_HITS_A_CPU, i;

	for (i = 0; i < TALLY_HITS_A_CPU; i++) {
		__u32 index = first + i;
		struct tally_hit *hit = bpf_map_lookup_elem(&scratch_space, &index);

		if (hit && claim(&hit->busy))
			return hit;
	}
	return NULL;
}

/* The return address at a function's entry, before its code can move it. */
static __u64 return_address(bpf_user_pt_regs_t *registers)
{
#if defined(__TARGET_ARCH_x86)
	__u64 address = 0;

	bpf_probe_read_user(&address, sizeof(address), (void *)registers->sp);
	return address;
#else
	return registers->regs[30];
#endif
}

/* Sets what distinguishes this call from other calls of its thread. */
static __always_inline void find_place(struct tally_hit *hit, void *ctx, enum probe_way way,
				       bool is_return)
{
	bpf_user_pt_regs_t *registers = ctx;

	hit->return_address = 0;
	if (way == WAY_REGISTERS) {
		hit->at = STACK_POINTER(registers) - (is_return ? RETURN_ADDRESS_BYTES : 0);
		if (!hit->is_kernel && !is_return)
			hit->return_address = return_address(registers);
	} else {
		/* ctx is the argument array on the stack of the function's trampoline. */
		hit->at = (__u64)ctx;
	}
}

static void apply_plan(struct tally_hit *hit, struct tally_counters *counters, __u32 slot)
{
	tally_evaluate(hit);
	if (plan.where != TALLY_NO_WORD && tally_is_unknown(&hit->values, plan.where)) {
		ATOMIC_ADD(counters->lost[TALLY_LOST_UNREADABLE], 1);
	} else if (plan.where != TALLY_NO_WORD &&
		   !hit->values.words[plan.where % TALLY_MAX_NUMBERS]) {
		ATOMIC_ADD(counters->excluded, 1);
	} else if (plan.value != TALLY_NO_WORD && tally_is_unknown(&hit->values, plan.value)) {
		ATOMIC_ADD(counters->lost[TALLY_LOST_UNREADABLE], 1);
	} else {
		tally_add(hit, counters, slot);
	}
}

static __always_inline void tally_pair(struct tally_hit *hit, void *ctx, enum probe_way way,
				       __u32 number, bool is_return,
				       struct tally_counters *counters, __u32 slot)
{
	find_place(hit, ctx, way, is_return);
	if (!is_return) {
		tally_fetch_operands(hit, ctx, number, MOMENT_CALL, way);
		tally_fetch_texts(hit, MOMENT_CALL);
		tally_call(hit, counters);
	} else if (tally_return(hit, counters)) {
		tally_fetch_operands(hit, ctx, number, MOMENT_RETURN, way);
		tally_fetch_texts(hit, MOMENT_RETURN);
		apply_plan(hit, counters, slot);
	}
}

static __always_inline int tally(void *ctx, enum probe_way way, __u32 number)
{
	struct tally_counters *counters;
	struct tally_probe *probe;
	struct tally_hit *hit;
	__u64 nr;
	__u32 slot;

	if (probe_hit(number, &nr) != HIT_WANTED)
		return 0;
	counters = tally_enter(&slot);
	probe = bpf_map_lookup_elem(&probes, &number);
	if (!counters || !probe)
		return 0;
	ATOMIC_ADD(counters->entries, 1);
	hit = claim_hit();
	if (!hit) {
		ATOMIC_ADD(counters->lost[TALLY_LOST_NESTED], 1);
		return 0;
	}
	hit->function = probe->function;
	hit->is_kernel = probe->is_kernel;
	hit->values.unknown = hit->values.unknown_texts = 0;
	if (plan.has_pairs) {
		tally_pair(hit, ctx, way, number, probe->is_return, counters, slot);
	} else {
		tally_fetch_operands(hit, ctx, number, MOMENT_ONLY, way);
		tally_fetch_texts(hit, MOMENT_ONLY);
		apply_plan(hit, counters, slot);
	}
	hit->busy = 0;
	return 0;
}

PROBE_PROGRAMS(tally, tally)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
