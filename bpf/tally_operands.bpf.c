/*
 * Reads the values of a hit: arguments, fields, results, task ids and texts. The location of each
 * operand is looked up in a table, since it can differ between the probes of a run.
 */
#include "tally.bpf.h"

#include <bpf/bpf_core_read.h>

#include "fetch.bpf.h"
#include "follow.bpf.h"

/* By probe, one for each operand of the plan. Sized before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tally_fetch);
} fetches SEC(".maps");

/*
 * The address of a field is a pointer into the context, on which the verifier allows no arithmetic
 * but additions. It is stored directly into a word, from where it is read as a number.
 */
static bool fetch_place(struct tally_hit *hit, void *ctx, __u32 number, __u32 operand,
			enum probe_way way)
{
	__u32 index = number * plan.nr_operands + operand;
	const struct tally_fetch *fetch = bpf_map_lookup_elem(&fetches, &index);
	__s64 *word = &hit->values.words[operand % TALLY_MAX_NUMBERS];
	__u64 location = 0;

	if (!fetch)
		return false;
	if (fetch->kind == TALLY_FETCH_ADDRESS) {
		*word = (__s64)(ctx + fetch->base);
		return true;
	}
	if (fetch->kind == TALLY_FETCH_DATA_LOC) {
		if (!fetch_field(ctx, fetch->base, 4, &location))
			return false;
		*word = (__s64)(ctx + (location & 0xffff) + fetch->index);
		return true;
	}
	return fetch_number(ctx, fetch, way, word);
}

static __s64 fetch_task(enum tally_operand operand)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	switch (operand) {
	case TALLY_PID:
		return visible_pid(BPF_CORE_READ(task, group_leader));
	case TALLY_TID:
		return visible_pid(task);
	case TALLY_UID:
		return (__u32)bpf_get_current_uid_gid();
	case TALLY_CPU:
		return bpf_get_smp_processor_id();
	case TALLY_CGROUP:
		return bpf_get_current_cgroup_id();
	default:
		return 0;
	}
}

/*
 * Operands that are neither read at a location nor ids of the task are set elsewhere (the latency
 * by tally_return()).
 */
__hidden int tally_fetch_operands(struct tally_hit *hit, void *ctx, __u32 number,
				  enum tally_moment moment, enum probe_way way)
{
	__u32 i;

	for (i = 0; i < TALLY_MAX_OPERANDS; i++) {
		enum tally_operand operand = plan.operands[i];

		if (i >= plan.nr_operands)
			break;
		if (operand == TALLY_AT_CALL || operand == TALLY_AT_RETURN) {
			if (moment == MOMENT_ONLY ||
			    (operand == TALLY_AT_CALL) == (moment == MOMENT_CALL))
				if (!fetch_place(hit, ctx, number, i, way))
					tally_set_unknown(&hit->values, i);
		} else if (operand == TALLY_FUNCTION) {
			hit->values.words[i] = hit->function;
		} else if (operand != TALLY_LATENCY && moment != MOMENT_CALL) {
			hit->values.words[i] = fetch_task(operand);
		}
	}
	return 0;
}

static bool fetch_text(struct tally_hit *hit, __u32 number, __s64 *words)
{
	__u32 word = plan.texts[number].word, i;
	void *address;

	/*
	 * A name has 16 bytes; the rest of the words stays zero, because no other text uses them.
	 */
	if (plan.texts[number].kind == TALLY_TEXT_COMM)
		return bpf_get_current_comm(words, 16) == 0;
	for (i = 0; i < TALLY_TEXT_WORDS; i++)
		words[i] = 0;
	if (tally_is_unknown(&hit->values, word))
		return false;
	address = (void *)hit->values.words[word % TALLY_MAX_NUMBERS];
	/* The kernel's half of the addresses has the highest bit set. */
	if ((__s64)address < 0)
		return bpf_probe_read_kernel_str(words, TALLY_TEXT_BYTES, address) > 0;
	return bpf_probe_read_user_str(words, TALLY_TEXT_BYTES, address) > 0;
}

__hidden int tally_fetch_texts(struct tally_hit *hit, enum tally_moment moment)
{
	__u32 i;

	for (i = 0; i < TALLY_MAX_TEXTS; i++) {
		if (i >= plan.nr_texts)
			break;
		if (moment != MOMENT_ONLY && plan.texts[i].at_call != (moment == MOMENT_CALL))
			continue;
		if (!fetch_text(hit, i,
				&hit->values.words[TALLY_MAX_NUMBERS + i * TALLY_TEXT_WORDS]))
			hit->values.unknown_texts |= 1ULL << i;
	}
	return 0;
}
