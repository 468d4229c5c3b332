/*
 * A parser that climbs the table of operators by precedence and puts out a step for each operator
 * that it has passed. How deep parentheses go is limited, since the parser calls itself.
 */
#include "probe/expression/expression.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "probe/expression/expression_compiler.h"

#define DEPTH_MAX	 32
#define UNARY_PRECEDENCE 20

static const struct type {
	const char *name;
	unsigned bits;
	bool is_unsigned;
} types[] = {
	{"int", 32, false}, {"s32", 32, false},	  {"i32", 32, false}, {"unsigned", 32, true},
	{"u32", 32, true},  {"short", 16, false}, {"s16", 16, false}, {"i16", 16, false},
	{"u16", 16, true},  {"s8", 8, false},	  {"i8", 8, false},   {"char", 8, false},
	{"u8", 8, true},    {"long", 64, false},  {"s64", 64, false}, {"i64", 64, false},
	{"u64", 64, true},
};

/* Binary operators bind as in C, tighter with a higher precedence, and all of them to the left. */
static const struct binary {
	const char *sign;
	unsigned precedence;
	enum tally_operation operation, without_sign;
	bool swaps, negates; /* a > b is b < a; a != b is !(a == b) */
} binaries[] = {
	{"||", 1, TALLY_EITHER, TALLY_EITHER, false, false},
	{"&&", 2, TALLY_BOTH, TALLY_BOTH, false, false},
	{"|", 3, TALLY_BIT_OR, TALLY_BIT_OR, false, false},
	{"^", 4, TALLY_BIT_XOR, TALLY_BIT_XOR, false, false},
	{"&", 5, TALLY_BIT_AND, TALLY_BIT_AND, false, false},
	{"==", 6, TALLY_EQUAL, TALLY_EQUAL, false, false},
	{"!=", 6, TALLY_EQUAL, TALLY_EQUAL, false, true},
	{"<", 7, TALLY_LESS, TALLY_LESS_UNSIGNED, false, false},
	{">", 7, TALLY_LESS, TALLY_LESS_UNSIGNED, true, false},
	{"<=", 7, TALLY_LESS, TALLY_LESS_UNSIGNED, true, true},
	{">=", 7, TALLY_LESS, TALLY_LESS_UNSIGNED, false, true},
	{"<<", 8, TALLY_LEFT, TALLY_LEFT, false, false},
	{">>", 8, TALLY_RIGHT, TALLY_RIGHT_UNSIGNED, false, false},
	{"+", 9, TALLY_ADD, TALLY_ADD, false, false},
	{"-", 9, TALLY_SUBTRACT, TALLY_SUBTRACT, false, false},
	{"*", 10, TALLY_MULTIPLY, TALLY_MULTIPLY, false, false},
	{"/", 10, TALLY_DIVIDE, TALLY_DIVIDE_UNSIGNED, false, false},
	{"%", 10, TALLY_REMAINDER, TALLY_REMAINDER_UNSIGNED, false, false},
};

static const struct binary *next_binary(const struct compiler *compiler)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(binaries); i++)
		if (compiler_is_sign(compiler, binaries[i].sign))
			return &binaries[i];
	return NULL;
}

static const struct type *find_type(const struct compiler *compiler)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types) && compiler->token.kind == TOKEN_NAME; i++)
		if (token_is(&compiler->token, types[i].name))
			return &types[i];
	return NULL;
}

/* Comparisons and logic give a number with a sign; a shift has its left side's. */
static bool is_result_unsigned(const struct binary *binary, bool left, bool right)
{
	switch (binary->operation) {
	case TALLY_EITHER:
	case TALLY_BOTH:
	case TALLY_EQUAL:
	case TALLY_LESS:
		return false;
	case TALLY_LEFT:
	case TALLY_RIGHT:
		return left;
	default:
		return left || right;
	}
}

static int negate(struct compiler *compiler, struct value *value)
{
	return compiler_add_step(compiler, TALLY_NOT, value->is.where, 0, 0, &value->is.where);
}

static int compare_texts(struct compiler *compiler, const struct binary *binary, size_t at,
			 const struct value *left, const struct value *right, struct value *ret)
{
	const struct value *literal = left->is_literal ? left : right;
	const struct value *text = left->is_literal ? right : left;
	struct value result = {0};
	int err;

	if (binary->operation != TALLY_EQUAL || !literal->is_literal ||
	    !(text->is.is_text || text->may_be_text))
		return compiler_wrong_at(
			compiler, at, "a text can only be compared (== or !=) with one in quotes");
	err = compiler_add_step(compiler, TALLY_SAME_TEXT, text->is.where, 0, literal->is.where,
				&result.is.where);
	if (!err && binary->negates)
		err = negate(compiler, &result);
	*ret = result; /* which may be one of the sides */
	return err;
}

static int apply(struct compiler *compiler, const struct binary *binary, size_t at,
		 const struct value *left, const struct value *right, struct value *ret)
{
	bool is_unsigned =
		left->is.is_unsigned || (right->is.is_unsigned && binary->operation != TALLY_RIGHT);
	uint8_t a = binary->swaps ? right->is.where : left->is.where;
	uint8_t b = binary->swaps ? left->is.where : right->is.where;
	struct value result = {0};
	int err;

	if (left->is.is_text || left->is_literal || right->is.is_text || right->is_literal)
		return compare_texts(compiler, binary, at, left, right, ret);
	result.is.is_unsigned =
		is_result_unsigned(binary, left->is.is_unsigned, right->is.is_unsigned);
	err = compiler_add_step(compiler, is_unsigned ? binary->without_sign : binary->operation, a,
				b, 0, &result.is.where);
	if (!err && binary->negates)
		err = negate(compiler, &result);
	*ret = result;
	return err;
}

/* NOLINTBEGIN(misc-no-recursion): DEPTH_MAX bounds it */
static int take_expression(struct compiler *compiler, unsigned precedence, struct value *ret);

/* Behind the parenthesis: a type and what is cast to it, or an expression. */
static int take_parenthesis(struct compiler *compiler, struct value *ret)
{
	const struct type *type = find_type(compiler);
	size_t at = compiler->token.at;
	int err;

	if (!type) {
		err = take_expression(compiler, 0, ret);
		return err ? err : compiler_expect(compiler, ")", "a ')' expected");
	}
	err = compiler_advance(compiler);
	if (!err)
		err = compiler_expect(compiler, ")", "a ')' expected");
	if (!err)
		err = take_expression(compiler, UNARY_PRECEDENCE, ret);
	if (!err && (ret->is.is_text || ret->is_literal))
		err = compiler_wrong_at(compiler, at, "a text can't be cast");
	if (err)
		return err;
	ret->is.is_time = ret->may_be_text = false;
	ret->is.is_unsigned = type->is_unsigned && type->bits == 64;
	if (type->bits == 64)
		return 0;
	return compiler_add_step(compiler, type->is_unsigned ? TALLY_UNSIGNED : TALLY_SIGNED,
				 ret->is.where, 0, 64 - (int64_t)type->bits, &ret->is.where);
}

static int take_unary(struct compiler *compiler, char sign, struct value *ret)
{
	size_t at = compiler->token.at;
	struct value constant;
	int err = take_expression(compiler, UNARY_PRECEDENCE, ret);

	if (err)
		return err;
	if (ret->is.is_text || ret->is_literal)
		return compiler_wrong_at(compiler, at, "a number expected");
	ret->is.is_time = ret->may_be_text = false;
	switch (sign) {
	case '!':
		ret->is.is_unsigned = false;
		return negate(compiler, ret);
	case '-':
		err = compiler_add_constant(compiler, 0, &constant);
		return err ? err
			   : compiler_add_step(compiler, TALLY_SUBTRACT, constant.is.where,
					       ret->is.where, 0, &ret->is.where);
	case '~':
		err = compiler_add_constant(compiler, UINT64_MAX, &constant);
		return err ? err
			   : compiler_add_step(compiler, TALLY_BIT_XOR, constant.is.where,
					       ret->is.where, 0, &ret->is.where);
	default:
		return 0;
	}
}

static int take_primary(struct compiler *compiler, struct value *ret)
{
	struct token token = compiler->token;
	int err;

	switch (token.kind) {
	case TOKEN_NUMBER:
		err = compiler_advance(compiler);
		return err ? err : compiler_add_constant(compiler, token.number, ret);
	case TOKEN_TEXT:
		return compiler_take_literal(compiler, ret);
	case TOKEN_NAME:
		return compiler_take_name(compiler, ret);
	case TOKEN_SIGN:
		break;
	case TOKEN_END:
		return compiler_wrong(compiler, "a number or an operand expected");
	}
	if (token.nr != 1 || !strchr("(!-~+", *token.text))
		return compiler_wrong(compiler, "a number or an operand expected");
	err = compiler_advance(compiler);
	if (err)
		return err;
	return *token.text == '(' ? take_parenthesis(compiler, ret)
				  : take_unary(compiler, *token.text, ret);
}

static int take_expression(struct compiler *compiler, unsigned precedence, struct value *ret)
{
	const struct binary *binary;
	struct value left;
	int err;

	if (++compiler->depth > DEPTH_MAX)
		return compiler_too_large(compiler, "expressions inside of another", DEPTH_MAX);
	err = take_primary(compiler, &left);
	while (!err && (binary = next_binary(compiler)) && binary->precedence > precedence) {
		size_t at = compiler->token.at;
		struct value right;

		err = compiler_advance(compiler);
		if (!err)
			err = take_expression(compiler, binary->precedence, &right);
		if (!err)
			err = apply(compiler, binary, at, &left, &right, &left);
	}
	compiler->depth--;
	if (!err)
		*ret = left;
	return err;
}
/* NOLINTEND(misc-no-recursion) */

int expression_compile(struct program *program, const char *text, size_t nr, struct expression *ret,
		       struct error *error)
{
	struct compiler compiler = {.program = program, .text = text, .nr = nr, .error = error};
	struct value value;
	int err = compiler_advance(&compiler);

	if (!err)
		err = take_expression(&compiler, 0, &value);
	if (!err && compiler.token.kind != TOKEN_END)
		err = compiler_wrong(&compiler, "an operator expected");
	if (!err && value.is_literal)
		err = compiler_wrong_at(&compiler, 0,
					"a text in quotes has nothing to be compared with");
	if (!err)
		*ret = value.is;
	return err;
}
