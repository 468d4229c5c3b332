/* See expression_compiler.h. */
#include "probe/expression/expression_compiler.h"

#include <errno.h>

#define FIRST_STEP_WORD TALLY_MAX_OPERANDS

int compiler_wrong_at(const struct compiler *compiler, size_t at, const char *what)
{
	return error_set(compiler->error, -EINVAL, "bad expression '%.*s': %s at %zu",
			 (int)compiler->nr, compiler->text, what, at + 1);
}

int compiler_wrong(const struct compiler *compiler, const char *what)
{
	return compiler_wrong_at(compiler, compiler->token.at, what);
}

int compiler_too_large(const struct compiler *compiler, const char *what, unsigned limit)
{
	return error_set(compiler->error, -E2BIG, "expression '%.*s' is too large: more than %u %s",
			 (int)compiler->nr, compiler->text, limit, what);
}

int compiler_advance(struct compiler *compiler)
{
	const char *what = token_next(compiler->text, compiler->nr, &compiler->token);

	return what ? compiler_wrong(compiler, what) : 0;
}

bool compiler_is_sign(const struct compiler *compiler, const char *sign)
{
	return compiler->token.kind == TOKEN_SIGN && token_is(&compiler->token, sign);
}

int compiler_expect(struct compiler *compiler, const char *sign, const char *what)
{
	return compiler_is_sign(compiler, sign) ? compiler_advance(compiler)
						: compiler_wrong(compiler, what);
}

int compiler_add_step(struct compiler *compiler, enum tally_operation operation, uint8_t left,
		      uint8_t right, int64_t number, uint8_t *ret_word)
{
	struct tally_plan *plan = &compiler->program->plan;
	struct tally_step *step = &plan->steps[plan->nr_steps];

	if (plan->nr_steps == TALLY_MAX_STEPS)
		return compiler_too_large(compiler, "operators and numbers", TALLY_MAX_STEPS);
	*step = (struct tally_step){
		.operation = (uint8_t)operation,
		.to = (uint8_t)(FIRST_STEP_WORD + plan->nr_steps),
		.left = left,
		.right = right,
		.number = number,
	};
	plan->nr_steps++;
	*ret_word = step->to;
	return 0;
}

int compiler_add_constant(struct compiler *compiler, uint64_t number, struct value *ret)
{
	*ret = (struct value){.is.is_unsigned = number > INT64_MAX};
	return compiler_add_step(compiler, TALLY_CONSTANT, 0, 0, (int64_t)number, &ret->is.where);
}
