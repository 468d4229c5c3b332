/*
 * What user space and the programs of `stook tally` agree on: what is taken from a hit, which hits
 * count, and what is kept of them. User space compiles it (src/probe/expression/tally_query.h); the programs
 * are loaded with the plan as constants.
 *
 * A hit has words. First come its operands, each fetched from where it is; behind them what the
 * steps of the plan make of them, one word each; then its texts, of TALLY_TEXT_WORDS each. Words
 * are signed 64-bit numbers. A word can be unknown: memory that can't be read is, and what is
 * computed from it.
 *
 * The kept words of a hit are its key, in front of them a word whose bit n says that key word n is
 * unknown. A row is what the hits of one key have in sum. Rows lie in a hash map for each epoch, in
 * WIRE_EPOCH_SLOTS slots that take turns (wire.h).
 *
 * At rest, for each epoch, in hits and exactly:
 *	entries = calls + excluded + tallied + the sum of lost[]
 * and of what is paired, over all epochs:
 *	calls = returns + abandoned + those that have not returned yet
 */
#ifndef STOOK_BPF_TALLY_WIRE_H
#define STOOK_BPF_TALLY_WIRE_H

#ifndef STOOK_VMLINUX_H
#include <linux/types.h>
#include <stdbool.h>
#endif

#include "wire.h"

#define TALLY_MAX_OPERANDS 12
#define TALLY_MAX_NUMBERS  64 /* operands and results of steps */
#define TALLY_MAX_TEXTS	   4
#define TALLY_TEXT_WORDS   8
#define TALLY_TEXT_BYTES   64  /* with the zero at the end; what is longer is cut */
#define TALLY_MAX_WORDS	   128 /* a power of two, with room for all of the above */
#define TALLY_MAX_STEPS	   48
#define TALLY_MAX_LITERALS 8
#define TALLY_MAX_KEY	   40 /* words, without the one in front */
#define TALLY_MAX_BUCKETS  258
#define TALLY_NO_WORD	   0xff

/* Hits that may be under way on a CPU at a time. */
#define TALLY_HITS_A_CPU 4

/* Calls of one thread that are remembered at a time: more than the kernel hooks the returns of. */
#define TALLY_MAX_DEPTH 64

_Static_assert(TALLY_MAX_NUMBERS + TALLY_MAX_TEXTS * TALLY_TEXT_WORDS <= TALLY_MAX_WORDS,
	       "texts lie behind the numbers");

/* id, name, and the sentence that the report of a run has for it. */
#define TALLY_LOSS_REASONS(X)                                                                    \
	X(FULL, "full", "no room for another key: raise --max-rows, or tell fewer things apart") \
	X(BUSY, "busy", "the kernel's table of keys was busy")                                   \
	X(UNREADABLE, "unreadable", "what --where or --value asks for could not be read")        \
	X(NESTED, "nested", "no scratch space: the hit came inside too many others")             \
	X(NO_CALL, "no_call", "a return whose call was not seen, mostly from before the start")  \
	X(TOO_DEEP, "too_deep", "calls nested more than 64 deep in a thread")                    \
	X(CALLS_FULL, "calls_full", "no room to remember another call: raise --max-calls")

enum tally_loss {
#define X(id, name, sentence) TALLY_LOST_##id,
	TALLY_LOSS_REASONS(X)
#undef X
		TALLY_NR_LOSS_REASONS
};

/* One per CPU and slot, never cleared: what an epoch brought is the difference. All 64-bit. */
struct tally_counters {
	__u64 entries;
	__u64 calls;	 /* remembered until they return */
	__u64 returns;	 /* paired with their call; they are excluded, tallied or lost besides */
	__u64 abandoned; /* calls that can't return any more: longjmp, exceptions, missed returns */
	__u64 excluded;	 /* --where said no */
	__u64 tallied;
	__u64 lost[TALLY_NR_LOSS_REASONS];
};

/* What an operand is. */
enum tally_operand {
	TALLY_AT_CALL,	 /* where the probe's tally_fetch says, of a call: an argument, a field */
	TALLY_AT_RETURN, /* likewise, of a return */
	TALLY_FUNCTION,	 /* the number of the probe, or of its call's */
	TALLY_PID,
	TALLY_TID,
	TALLY_UID,
	TALLY_CPU,
	TALLY_CGROUP,
	TALLY_LATENCY, /* nanoseconds from call to return */
};

/* Where a probe has what an operand asks for. */
enum tally_fetch_kind {
	TALLY_FETCH_NOTHING,  /* it has none: unknown */
	TALLY_FETCH_CONSTANT, /* add */
	TALLY_FETCH_REGISTER, /* of struct pt_regs, at base */
	TALLY_FETCH_MEMORY,   /* at [base register + index register << shift + add] */
	TALLY_FETCH_FIELD,    /* of the context, at base: tracepoints; fentry's arguments */
	TALLY_FETCH_ADDRESS,  /* the address of such a field */
	TALLY_FETCH_DATA_LOC, /* of one of varying length: what the field says, and index */
	TALLY_FETCH_RESULT,   /* what fexit has as the function's result */
};

#define TALLY_NO_INDEX 0xffff

struct tally_fetch {
	__u8 kind;
	__u8 bytes; /* 1, 2, 4, 8 */
	__u8 is_signed;
	__u8 shift;
	__u16 base, index;
	__s64 add;
};

/* Of each probe. */
struct tally_probe {
	__u32 function; /* its own number, or that of the call which it is the return of */
	__u8 is_return;
	__u8 is_kernel;
	__u8 zero[2];
};

enum tally_operation {
	TALLY_CONSTANT, /* number */
	TALLY_ADD,
	TALLY_SUBTRACT,
	TALLY_MULTIPLY,
	TALLY_DIVIDE, /* by 0: 0 */
	TALLY_DIVIDE_UNSIGNED,
	TALLY_REMAINDER,
	TALLY_REMAINDER_UNSIGNED,
	TALLY_BIT_AND,
	TALLY_BIT_OR,
	TALLY_BIT_XOR,
	TALLY_LEFT, /* by the right side's lowest six bits */
	TALLY_RIGHT,
	TALLY_RIGHT_UNSIGNED,
	TALLY_EQUAL,
	TALLY_LESS,
	TALLY_LESS_UNSIGNED,
	TALLY_NOT,    /* 1 if the left side is 0, else 0 */
	TALLY_BOTH,   /* known if both are, or if one is known to be 0 */
	TALLY_EITHER, /* known if both are, or if one is known not to be 0 */
	TALLY_SIGNED, /* the lowest bits, number is 64 less how many, extended by their sign … */
	TALLY_UNSIGNED,	 /* … by zeros */
	TALLY_SAME_TEXT, /* text left is literal number */
};

/* Words are known by their numbers; a step only sees what steps before it have made. */
struct tally_step {
	__u8 operation;
	__u8 to, left, right;
	__u32 zero;
	__s64 number;
};

enum tally_text_kind {
	TALLY_TEXT_COMM, /* the thread's name */
	TALLY_TEXT_AT,	 /* at the address in a word, of the process or of the kernel */
};

struct tally_text {
	__u8 kind;
	__u8 at_call; /* read when the function is called */
	__u8 word;
};

/* From values to buckets of a histogram. The first is for what lies below, the last above. */
enum tally_histogram {
	TALLY_NO_HISTOGRAM,
	TALLY_LOG2,   /* below 0; 0; 1; 2, 3; 4 … 7; … */
	TALLY_LINEAR, /* below from; step wide; … */
};

#define TALLY_LOG2_BUCKETS 65

struct tally_plan {
	__u8 nr_operands, nr_texts, nr_steps, nr_key;
	__u8 where, value; /* words; TALLY_NO_WORD: all hits, no value */
	__u8 has_pairs;	   /* calls are remembered until they return */
	__u8 histogram;
	__u32 nr_buckets;
	__u32 divisor; /* of values before they go into a bucket */
	__s64 from, step;
	__u8 operands[TALLY_MAX_OPERANDS];
	struct tally_text texts[TALLY_MAX_TEXTS];
	__u8 key[TALLY_MAX_KEY]; /* words */
	struct tally_step steps[TALLY_MAX_STEPS];
	__u64 literals[TALLY_MAX_LITERALS][TALLY_TEXT_WORDS];
};

/* A row begins with the count; the rest is there if there is a value, buckets if there are any. */
struct tally_row {
	__u64 count;
	__s64 sum; /* modulo 2^64 */
	__s64 least, most;
	__u64 buckets[];
};

static inline __u32 tally_row_bytes(const struct tally_plan *plan)
{
	if (plan->value == TALLY_NO_WORD)
		return sizeof(__u64);
	return sizeof(struct tally_row) + plan->nr_buckets * sizeof(__u64);
}

/* A call that is remembered. Its words are the operands, then the texts. */
struct tally_call {
	__u64 at;
	__u64 time_ns;
	__u64 function;
	__u64 unknown, unknown_texts;
	__s64 words[];
};

static inline __u32 tally_call_bytes(const struct tally_plan *plan)
{
	return sizeof(struct tally_call) +
	       (plan->nr_operands + plan->nr_texts * TALLY_TEXT_WORDS) * sizeof(__s64);
}

static inline __u32 tally_key_bytes(const struct tally_plan *plan)
{
	return (plan->nr_key + 1U) * sizeof(__u64);
}

#endif
