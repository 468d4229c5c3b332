/*
 * The expression language of `stook tally`: values of a hit and calculations with them, compiled
 * into the steps of a plan (bpf/tally_wire.h). Pure.
 *
 *	arg2 > 4096 && retval < 0
 *	comm == "redis-server" || str(arg1) == "/tmp/x"
 *	(int)arg1 < 0
 *	latency / 1us
 *
 * Operators, their precedence and meaning are those of C, without assignment, `?:` and `,`; all
 * numbers are signed 64-bit integers. The upper bits of a register that holds a shorter argument
 * are undefined: a cast selects the size and sign. (u64) makes a number unsigned, and the results
 * calculated from it, as in C. Both sides of && and || are evaluated; dividing by 0 gives 0; shifts
 * use the lowest six bits of the count. A number may have a unit: K M G T (powers of 1024), or ns
 * us ms s (nanoseconds).
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
	unsigned argument; /* number of the argument, from 1; 0: a field or a result */
	bool is_address;   /* the operand is the address of a string field */
	char field[EXPRESSION_FIELD_BYTES];
};

/* The program compiled so far. Empty if zero-initialised except for is_text. */
struct program {
	struct tally_plan plan; /* operands, strings, steps and literals are filled in */
	struct operand operands[TALLY_MAX_OPERANDS];
	uint8_t nr_literals;
	/*
	 * True if a field of a tracepoint is a string. NULL: not known yet; the type of a field is
	 * then inferred from its use. Compiling such a program finds mistakes, but it must not be
	 * run with strings.
	 */
	bool (*is_text)(void *context, const char *field);
	void *context;
};

struct expression {
	bool is_text, is_unsigned;
	bool is_time;  /* the latency itself, in nanoseconds */
	uint8_t where; /* word of a number, or index of a string */
};

/*
 * Compiles an expression of nr bytes. Returns 0; -EINVAL, with an error that shows the expression,
 * the mistake and its column: "bad expression 'arg1 >': a number or an operand expected (column
 * 7)"; or -E2BIG if it is too large for a plan.
 */
int expression_compile(struct program *program, const char *text, size_t nr, struct expression *ret,
		       struct error *error);

#endif
