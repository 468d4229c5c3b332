/*
 * The language of `stook tally`: what is taken from a hit and calculated with it, compiled into the
 * steps of a plan (bpf/tally_wire.h). Pure.
 *
 *	arg2 > 4096 && retval < 0
 *	comm == "redis-server" || str(arg1) == "/tmp/x"
 *	(int)arg1 < 0
 *	latency / 1us
 *
 * Operators, their precedence and their meaning are C's, without assignment, `?:` and `,`; all
 * numbers have 64 bits and a sign. What a register holds behind a shorter argument is not defined:
 * a cast says what is meant. (u64) makes a number one without a sign, and what is calculated from
 * it, as C does. Both sides of && and || are calculated; dividing by 0 gives 0; shifts go by the
 * lowest six bits. A number may have a unit: K M G T (powers of 1024), or ns us ms s (nanoseconds).
 */
#ifndef STOOK_PROBE_EXPRESSION_EXPRESSION_H
#define STOOK_PROBE_EXPRESSION_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/tally_wire.h"

#define EXPRESSION_FIELD_BYTES	 64
#define EXPRESSION_ARGUMENTS_MAX 12

/* An operand of the plan. */
struct operand {
	enum tally_operand kind;
	unsigned argument; /* its number, from 1 on; 0: a field, or a result */
	bool is_address;   /* of a field that is a text */
	char field[EXPRESSION_FIELD_BYTES];
};

/* The program that has been compiled so far. Zero-initialised, apart from is_text, it is empty. */
struct program {
	struct tally_plan plan; /* its operands, texts, steps and literals */
	struct operand operands[TALLY_MAX_OPERANDS];
	uint8_t nr_literals;
	/*
	 * True if a field of a tracepoint is a text. NULL: that is not known yet, and fields are
	 * taken for what they are used as; compiling such a program finds mistakes, but it must not
	 * be run with texts.
	 */
	bool (*is_text)(void *context, const char *field);
	void *context;
};

struct expression {
	bool is_text, is_unsigned;
	bool is_time;  /* the latency itself: nanoseconds */
	uint8_t where; /* the word of a number, the number of a text */
};

/*
 * Compiles an expression, which ends at nr. 0; or -EINVAL with the text, what is wrong, and where,
 * counted from 1: "bad expression 'arg1 >': a number or an operand expected at 7"; -E2BIG if it is
 * too large for a plan.
 */
int expression_compile(struct program *program, const char *text, size_t nr, struct expression *ret,
		       struct error *error);

#endif
