/*
 * The protocol between user space and the programs of `stook tally`: which values are read from a
 * hit, which hits count, and what is recorded of them. User space compiles the query to a plan
 * (src/probe/expression/tally_query.h); the programs are loaded with the plan as constants.
 *
 * A hit has words, which are signed 64-bit numbers. First come its operands, each fetched from its
 * location; then the results of the plan's steps, one word each; then its texts, TALLY_TEXT_WORDS
 * each. A word can be unknown: if it is read from memory that can't be read, or computed from an
 * unknown word.
 *
 * The words selected by --by are the hit's key. They are preceded by a word whose bit n says that
 * key word n is unknown. A row has the sums over all hits with the same key. Rows are in one hash
 * map per epoch, in WIRE_EPOCH_SLOTS slots used in turn (wire.h).
 *
 * At rest, for each epoch, in hits and exactly:
 *	entries = calls + excluded + tallied + the sum of lost[]
 * and for paired calls and returns, over all epochs:
 *	calls = returns + abandoned + calls still open
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
#define TALLY_TEXT_BYTES   64  /* including the terminating zero; longer texts are truncated */
#define TALLY_MAX_WORDS	   128 /* a power of two, with room for all of the above */
#define TALLY_MAX_STEPS	   48
#define TALLY_MAX_LITERALS 8
#define TALLY_MAX_KEY	   40 /* words, not counting the leading one */
#define TALLY_MAX_BUCKETS  258
#define TALLY_NO_WORD	   0xff

/* Hits that may be in progress on a CPU at the same time. */
#define TALLY_HITS_A_CPU 4

/* Open calls per thread that are recorded: more than the kernel's limit of nested uretprobes. */
#define TALLY_MAX_DEPTH 64

_Static_assert(TALLY_MAX_NUMBERS + TALLY_MAX_TEXTS * TALLY_TEXT_WORDS <= TALLY_MAX_WORDS,
	       "texts lie behind the numbers");

/* id, name, and the text in the report of a run. */
#define TALLY_LOSS_REASONS(X)                                                           \
	X(FULL, "full", "table of keys full: raise --max-rows, or use fewer --by keys") \
	X(BUSY, "busy", "table of keys busy")                                           \
	X(UNREADABLE, "unreadable", "operand of --where or --value could not be read")  \
	X(NESTED, "nested", "no scratch space: too many nested hits on one CPU")        \
	X(NO_CALL, "no_call", "return without its call, usually from before the start") \
	X(TOO_DEEP, "too_deep", "more than 64 nested calls in a thread")                \
	X(CALLS_FULL, "calls_full", "table of open calls full: raise --max-calls")

enum tally_loss {
#define X(id, name, sentence) TALLY_LOST_##id,
	TALLY_LOSS_REASONS(X)
#undef X
		TALLY_NR_LOSS_REASONS
};

/*
 * One per CPU and slot, never cleared: an epoch's counts are the difference to the last reading.
 * All 64-bit.
 */
struct tally_counters {
	__u64 entries;
	__u64 calls;	 /* saved until they return */
	__u64 returns;	 /* matched with their call; also counted as excluded, tallied or lost */
	__u64 abandoned; /* calls that can't return any more: longjmp, exceptions, missed returns */
	__u64 excluded;	 /* rejected by --where */
	__u64 tallied;
	__u64 lost[TALLY_NR_LOSS_REASONS];
};

/* The kind of an operand. */
enum tally_operand {
	TALLY_AT_CALL,	 /* read at a call as the probe's tally_fetch says: an argument, a field */
	TALLY_AT_RETURN, /* the same, read at a return */
	TALLY_FUNCTION,	 /* the probe's number; for a return, that of its call's probe */
	TALLY_PID,
	TALLY_TID,
	TALLY_UID,
	TALLY_CPU,
	TALLY_CGROUP,
	TALLY_LATENCY, /* nanoseconds from call to return */
};

/* How to read an operand at one probe. */
enum tally_fetch_kind {
	TALLY_FETCH_NOTHING,  /* not available at this probe: unknown */
	TALLY_FETCH_CONSTANT, /* the value of add */
	TALLY_FETCH_REGISTER, /* of struct pt_regs, at base */
	TALLY_FETCH_MEMORY,   /* at [base register + index register << shift + add] */
	TALLY_FETCH_FIELD,    /* of the context, at base: tracepoints; fentry's arguments */
	TALLY_FETCH_ADDRESS,  /* the address of such a field */
	TALLY_FETCH_DATA_LOC, /* address of a variable-length field: its __data_loc plus index */
	TALLY_FETCH_RESULT,   /* the function's result, in fexit */
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

/* By probe. */
struct tally_probe {
	__u32 function; /* its own number; of a return, that of the probe of its call */
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
	TALLY_NOT,	 /* 1 if the left side is 0, else 0 */
	TALLY_BOTH,	 /* known if both sides are, or if one is known to be 0 */
	TALLY_EITHER,	 /* known if both sides are, or if one is known not to be 0 */
	TALLY_SIGNED,	 /* the lowest (64 - number) bits of the left side, sign-extended */
	TALLY_UNSIGNED,	 /* the same, zero-extended */
	TALLY_SAME_TEXT, /* text number left equals literal number */
};

/* Words are identified by their numbers; a step can only use words computed by earlier steps. */
struct tally_step {
	__u8 operation;
	__u8 to, left, right;
	__u32 zero;
	__s64 number;
};

enum tally_text_kind {
	TALLY_TEXT_COMM, /* the thread's name */
	TALLY_TEXT_AT,	 /* at the address in a word, in process or kernel memory */
};

struct tally_text {
	__u8 kind;
	__u8 at_call; /* read when the function is called */
	__u8 word;
};

/*
 * Assigns values to buckets of a histogram. The first bucket is for lower values, the last for
 * higher ones.
 */
enum tally_histogram {
	TALLY_NO_HISTOGRAM,
	TALLY_LOG2,   /* < 0; 0; 1; 2, 3; 4 … 7; … */
	TALLY_LINEAR, /* < from; then buckets of width step; … */
};

#define TALLY_LOG2_BUCKETS 65

struct tally_plan {
	__u8 nr_operands, nr_texts, nr_steps, nr_key;
	__u8 where, value; /* words; TALLY_NO_WORD: all hits, no value */
	__u8 has_pairs;	   /* calls are saved until they return */
	__u8 histogram;
	__u32 nr_buckets;
	__u32 divisor; /* values are divided by it before they are put into a bucket */
	__s64 from, step;
	__u8 operands[TALLY_MAX_OPERANDS];
	struct tally_text texts[TALLY_MAX_TEXTS];
	__u8 key[TALLY_MAX_KEY]; /* words */
	struct tally_step steps[TALLY_MAX_STEPS];
	__u64 literals[TALLY_MAX_LITERALS][TALLY_TEXT_WORDS];
};

/* A row. Only count is present without a value; buckets only if there is a histogram. */
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

/* A saved call. Its words are the operands, then the texts. */
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
