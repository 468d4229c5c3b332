/*
 * What the parts of the compiler of expressions share: where it is in the text, and the steps that it
 * puts out. Only for expression*.c.
 */
#ifndef STOOK_PROBE_EXPRESSION_EXPRESSION_COMPILER_H
#define STOOK_PROBE_EXPRESSION_EXPRESSION_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/expression/expression.h"
#include "probe/expression/expression_token.h"

struct compiler {
	struct program *program;
	const char *text;
	size_t nr;
	struct token token; /* the next one */
	unsigned depth;
	struct error *error;
};

/* A literal text has no step: where is its number, and it can only be compared. */
struct value {
	struct expression is;
	bool is_literal;
	bool may_be_text; /* a field: see struct program */
};

/* "bad expression '…': what at N": at the next token, or at a byte (told from 1 on). -EINVAL. */
int compiler_wrong(const struct compiler *compiler, const char *what);
int compiler_wrong_at(const struct compiler *compiler, size_t at, const char *what);

/* "… more than LIMIT WHAT". -E2BIG. */
int compiler_too_large(const struct compiler *compiler, const char *what, unsigned limit);

/* To the next token, past a sign that must be there. 0 or -EINVAL. */
int compiler_advance(struct compiler *compiler);
int compiler_expect(struct compiler *compiler, const char *sign, const char *what);
bool compiler_is_sign(const struct compiler *compiler, const char *sign);

/* Put out a step, whose result has a word of its own. 0 or -E2BIG. */
int compiler_add_step(struct compiler *compiler, enum tally_operation operation, uint8_t left,
		      uint8_t right, int64_t number, uint8_t *ret_word);
int compiler_add_constant(struct compiler *compiler, uint64_t number, struct value *ret);

/* Take an operand, a text in quotes; see expression_operand.c. 0 or a negative errno. */
int compiler_take_name(struct compiler *compiler, struct value *ret);
int compiler_take_literal(struct compiler *compiler, struct value *ret);

#endif
