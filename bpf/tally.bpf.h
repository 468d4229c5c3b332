/* A hit as `stook tally` works on it; the files of bpf/tally_*.bpf.c each do a part. */
#ifndef STOOK_BPF_TALLY_H
#define STOOK_BPF_TALLY_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "probe.bpf.h"
#include "tally_steps.h"
#include "tally_wire.h"

extern const volatile struct tally_plan plan;

/* Scratch space: one for each hit that is being worked on. */
struct tally_hit {
	__u32 busy;
	__u32 function; /* the number of the probe, or of its call's */
	bool is_kernel;
	/* Where the function's stack begins, the same at its call and its return: see at_of(). */
	__u64 at;
	__u64 return_address; /* of a user function's call: where it is to go on; else 0 */
	struct tally_values values;
	__u64 key[TALLY_MAX_KEY + 1];
};

/* Which operands there are now. */
enum tally_moment {
	MOMENT_ONLY,   /* all: nothing is paired */
	MOMENT_CALL,   /* those of a call */
	MOMENT_RETURN, /* of a return, beside those that its call had */
};

/* Operands that can't be read become unknown. */
__hidden int tally_fetch_operands(struct tally_hit *hit, void *ctx, __u32 number,
				  enum tally_moment moment, enum probe_way way);

/* Likewise texts, once the operands are there. */
__hidden int tally_fetch_texts(struct tally_hit *hit, enum tally_moment moment);

/* The plan's steps. */
__hidden int tally_evaluate(struct tally_hit *hit);

/* Adds a hit to its row; what became of it is counted. */
__hidden int tally_add(struct tally_hit *hit, struct tally_counters *counters, __u32 slot);

/* Remembers a call with its operands. */
__hidden int tally_call(struct tally_hit *hit, struct tally_counters *counters);

/* Finds the call of a return: its operands, and the latency. False, and counted: there is none. */
__hidden bool tally_return(struct tally_hit *hit, struct tally_counters *counters);

/* Begins with a hit: the counters of its epoch's slot. */
__hidden struct tally_counters *tally_enter(__u32 *ret_slot);

/* Makes *most at least value, *least at most: see tally_extremes.bpf.c. */
__hidden int tally_raise(__s64 *most, __s64 value);
__hidden int tally_lower(__s64 *least, __s64 value);

#endif
