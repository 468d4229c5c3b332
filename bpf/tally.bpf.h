/* A hit of `stook tally`; each of the files bpf/tally_*.bpf.c processes one aspect of it. */
#ifndef STOOK_BPF_TALLY_H
#define STOOK_BPF_TALLY_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "probe.bpf.h"
#include "tally_steps.h"
#include "tally_wire.h"

extern const volatile struct tally_plan plan;

/* Scratch space for one hit that is being processed. */
struct tally_hit {
	__u32 busy;
	__u32 function; /* the probe's number; for a return, that of its call's probe */
	bool is_kernel;
	/*
	 * Position of the function's frame, the same at its call and its return: see find_place().
	 */
	__u64 at;
	__u64 return_address; /* of a user function's call; else 0 */
	struct tally_values values;
	__u64 key[TALLY_MAX_KEY + 1];
};

/* The operands that are available now. */
enum tally_moment {
	MOMENT_ONLY,   /* all: calls and returns are not paired */
	MOMENT_CALL,   /* the operands of a call */
	MOMENT_RETURN, /* the operands of a return; those of its call are restored */
};

/* Reads the operands. Operands that can't be read are marked unknown. */
__hidden int tally_fetch_operands(struct tally_hit *hit, void *ctx, __u32 number,
				  enum tally_moment moment, enum probe_way way);

/* Reads the texts, after the operands. Texts that can't be read are marked unknown. */
__hidden int tally_fetch_texts(struct tally_hit *hit, enum tally_moment moment);

/* Evaluates the plan's steps. */
__hidden int tally_evaluate(struct tally_hit *hit);

/* Adds a hit to its row, and counts it as tallied or lost. */
__hidden int tally_add(struct tally_hit *hit, struct tally_counters *counters, __u32 slot);

/* Saves a call and its operands until its return. */
__hidden int tally_call(struct tally_hit *hit, struct tally_counters *counters);

/*
 * Finds the call of a return and restores its operands and the latency. False if there is none;
 * that is counted.
 */
__hidden bool tally_return(struct tally_hit *hit, struct tally_counters *counters);

/* Begins a hit: returns the counters of its epoch's slot. */
__hidden struct tally_counters *tally_enter(__u32 *ret_slot);

/* Raises *most to value, or lowers *least to it, if needed: see tally_extremes.bpf.c. */
__hidden int tally_raise(__s64 *most, __s64 value);
__hidden int tally_lower(__s64 *least, __s64 value);

#endif
