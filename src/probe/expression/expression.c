/*
 * Compiles expressions: a scanner of tokens, the operands, and a precedence-climbing parser that
 * emits a step for each operator. The parser is recursive, so the depth of parentheses is limited.
 * Expressions need not be NUL-terminated: nothing is read at nr or beyond.
 */
#include "probe/expression/expression.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

/* --- tokens: numbers, names, quoted strings, operators ---------------------------------------- */

enum token_kind {
	TOKEN_END,
	TOKEN_NUMBER, /* also a character in quotes */
	TOKEN_NAME,
	TOKEN_TEXT,
	TOKEN_SIGN,
};

struct token {
	enum token_kind kind;
	size_t at, nr; /* position and length in the whole text */
	const char *text;
	uint64_t number;
};

static const struct unit {
	const char *name;
	uint64_t times;
} units[] = {
	{"K", 1ULL << 10}, {"M", 1ULL << 20}, {"G", 1ULL << 30},      {"T", 1ULL << 40},
	{"ns", 1},	   {"us", 1000},      {"ms", 1000ULL * 1000}, {"s", 1000ULL * 1000 * 1000},
};

static const char *const signs[] = {
	"||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "|", "&", "^", "<",
	">",  "+",  "-",  "*",	"/",  "%",  "!",  "~",	"(", ")", ".", ",",
};

static bool is_name_byte(char byte)
{
	return isalnum((unsigned char)byte) || byte == '_';
}

static bool take_unit(const char *text, size_t nr, uint64_t *ret_times)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (strlen(units[i].name) != nr || memcmp(units[i].name, text, nr) != 0)
			continue;
		*ret_times = units[i].times;
		return true;
	}
	*ret_times = 1;
	return nr == 0;
}

static const char *take_number(const char *text, size_t nr, struct token *token)
{
	bool is_hex = nr > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') &&
		      text_hex_digit(text[2]) >= 0;
	uint64_t base = is_hex ? 16 : 10, number = 0, times;
	size_t at = is_hex ? 2 : 0, end;

	for (; at < nr && (unsigned)text_hex_digit(text[at]) < base; at++)
		if (__builtin_mul_overflow(number, base, &number) ||
		    __builtin_add_overflow(number, (unsigned)text_hex_digit(text[at]), &number))
			return "a number of more than 64 bits";
	for (end = at; end < nr && is_name_byte(text[end]); end++)
		;
	if (!take_unit(text + at, end - at, &times))
		return "a number with an unknown unit (K M G T ns us ms s)";
	if (__builtin_mul_overflow(number, times, &token->number))
		return "a number of more than 64 bits";
	token->kind = TOKEN_NUMBER;
	token->nr = end;
	return NULL;
}

/* Reads one character of a quoted string. Returns the number of bytes consumed; 0: invalid. */
static size_t take_character(const char *text, size_t nr, char *ret)
{
	static const char names[] = "ntr0\\\"'", meant[] = "\n\t\r\0\\\"'";
	const char *name;

	if (!nr)
		return 0;
	if (text[0] != '\\') {
		*ret = text[0];
		return 1;
	}
	if (nr >= 4 && text[1] == 'x' && text_hex_digit(text[2]) >= 0 &&
	    text_hex_digit(text[3]) >= 0) {
		*ret = (char)(text_hex_digit(text[2]) << 4 | text_hex_digit(text[3]));
		return 4;
	}
	name = nr >= 2 ? memchr(names, text[1], sizeof(names) - 1) : NULL;
	if (!name)
		return 0;
	*ret = meant[name - names];
	return 2;
}

static const char *take_quoted(const char *text, size_t nr, struct token *token)
{
	size_t at = 1, nr_characters = 0;
	char character = 0;

	while (at < nr && text[at] != text[0]) {
		size_t bytes = take_character(text + at, nr - at, &character);

		if (!bytes)
			return "an unknown escape sequence after '\\'";
		at += bytes;
		nr_characters++;
	}
	if (at >= nr)
		return "a closing quote expected";
	token->nr = at + 1;
	token->kind = text[0] == '"' ? TOKEN_TEXT : TOKEN_NUMBER;
	token->number = (uint64_t)(int64_t)(signed char)character;
	if (text[0] == '\'' && nr_characters != 1)
		return "not one character in single quotes (strings have double quotes)";
	return NULL;
}

static const char *take_sign(const char *text, size_t nr, struct token *token)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signs); i++) {
		size_t bytes = strlen(signs[i]);

		if (bytes > nr || memcmp(signs[i], text, bytes) != 0)
			continue;
		token->kind = TOKEN_SIGN;
		token->nr = bytes;
		return NULL;
	}
	return "an unknown operator";
}

/* Reads the token after *token (initially zeros). Returns the mistake at token->at; NULL: none. */
static const char *token_next(const char *text, size_t nr, struct token *token)
{
	size_t at = token->at + token->nr;

	while (at < nr && isspace((unsigned char)text[at]))
		at++;
	*token = (struct token){.kind = TOKEN_END, .at = at, .text = text + at};
	if (at == nr)
		return NULL;
	if (isdigit((unsigned char)text[at]))
		return take_number(text + at, nr - at, token);
	if (text[at] == '"' || text[at] == '\'')
		return take_quoted(text + at, nr - at, token);
	if (!is_name_byte(text[at]))
		return take_sign(text + at, nr - at, token);
	token->kind = TOKEN_NAME;
	while (at + token->nr < nr && is_name_byte(text[at + token->nr]))
		token->nr++;
	return NULL;
}

static bool token_is(const struct token *token, const char *word)
{
	return token->nr == strlen(word) && !memcmp(token->text, word, token->nr);
}

/* Copies the string between the quotes; false if it is longer than max. */
static bool token_text(const struct token *token, char *ret, size_t max, size_t *ret_nr)
{
	size_t at = 1, nr = 0;

	while (at < token->nr - 1) {
		if (nr == max)
			return false;
		at += take_character(token->text + at, token->nr - 1 - at, &ret[nr++]);
	}
	*ret_nr = nr;
	return true;
}

/* --- state of the compiler, and emitting steps ------------------------------------------------ */

struct compiler {
	struct program *program;
	const char *text;
	size_t nr;
	struct token token; /* next token */
	unsigned depth;
	struct error *error;
};

/* A literal string has no step: `where` is its index, and it can only be compared. */
struct value {
	struct expression is;
	bool is_literal;
	bool may_be_text; /* a field of unknown type: see struct program */
};

#define FIRST_STEP_WORD TALLY_MAX_OPERANDS

static int compiler_wrong_at(const struct compiler *compiler, size_t at, const char *what)
{
	return error_set(compiler->error, -EINVAL, "bad expression '%.*s': %s (column %zu)",
			 (int)compiler->nr, compiler->text, what, at + 1);
}

/* Reports a mistake at the next token. Returns -EINVAL. */
static int compiler_wrong(const struct compiler *compiler, const char *what)
{
	return compiler_wrong_at(compiler, compiler->token.at, what);
}

/* Reports "… more than LIMIT WHAT". Returns -E2BIG. */
static int compiler_too_large(const struct compiler *compiler, const char *what, unsigned limit)
{
	return error_set(compiler->error, -E2BIG, "expression '%.*s' is too large: more than %u %s",
			 (int)compiler->nr, compiler->text, limit, what);
}

/* Advances to the next token. Returns 0 or -EINVAL. */
static int compiler_advance(struct compiler *compiler)
{
	const char *what = token_next(compiler->text, compiler->nr, &compiler->token);

	return what ? compiler_wrong(compiler, what) : 0;
}

static bool compiler_is_sign(const struct compiler *compiler, const char *sign)
{
	return compiler->token.kind == TOKEN_SIGN && token_is(&compiler->token, sign);
}

static int compiler_expect(struct compiler *compiler, const char *sign, const char *what)
{
	return compiler_is_sign(compiler, sign) ? compiler_advance(compiler)
						: compiler_wrong(compiler, what);
}

/* Emits a step, whose result gets its own word. Returns 0 or -E2BIG. */
static int compiler_add_step(struct compiler *compiler, enum tally_operation operation,
			     uint8_t left, uint8_t right, int64_t number, uint8_t *ret_word)
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

static int compiler_add_constant(struct compiler *compiler, uint64_t number, struct value *ret)
{
	*ret = (struct value){.is.is_unsigned = number > INT64_MAX};
	return compiler_add_step(compiler, TALLY_CONSTANT, 0, 0, (int64_t)number, &ret->is.where);
}

/* --- operands and quoted strings -------------------------------------------------------------- */

#define COMPARED_TEXT_BYTES (TALLY_TEXT_BYTES - 2) /* a truncated string is longer than that */

static bool is_same_operand(const struct operand *a, const struct operand *b)
{
	return a->kind == b->kind && a->argument == b->argument && a->is_address == b->is_address &&
	       !strcmp(a->field, b->field);
}

static int add_operand(struct compiler *compiler, const struct operand *operand, uint8_t *ret)
{
	struct program *program = compiler->program;
	uint8_t *nr = &program->plan.nr_operands;
	uint8_t i;

	for (i = 0; i < *nr; i++)
		if (is_same_operand(&program->operands[i], operand))
			break;
	if (i == TALLY_MAX_OPERANDS)
		return compiler_too_large(compiler, "operands", TALLY_MAX_OPERANDS);
	if (i == *nr) {
		program->operands[i] = *operand;
		program->plan.operands[i] = (uint8_t)operand->kind;
		(*nr)++;
	}
	*ret = i;
	return 0;
}

static int add_text(struct compiler *compiler, const struct tally_text *text, struct value *ret)
{
	struct tally_plan *plan = &compiler->program->plan;
	uint8_t i;

	for (i = 0; i < plan->nr_texts; i++)
		if (plan->texts[i].kind == text->kind && plan->texts[i].word == text->word)
			break;
	if (i == TALLY_MAX_TEXTS)
		return compiler_too_large(compiler, "strings", TALLY_MAX_TEXTS);
	if (i == plan->nr_texts)
		plan->texts[plan->nr_texts++] = *text;
	*ret = (struct value){.is = {.is_text = true, .where = i}};
	return 0;
}

static int compiler_take_literal(struct compiler *compiler, struct value *ret)
{
	struct program *program = compiler->program;
	char bytes[TALLY_TEXT_BYTES] = {0};
	size_t nr = 0;

	if (!token_text(&compiler->token, bytes, COMPARED_TEXT_BYTES, &nr))
		return compiler_wrong(compiler, "a string of more than 62 bytes");
	if (memchr(bytes, 0, nr))
		return compiler_wrong(compiler, "a string with a zero byte");
	if (program->nr_literals == TALLY_MAX_LITERALS)
		return compiler_too_large(compiler, "quoted strings", TALLY_MAX_LITERALS);
	memcpy(program->plan.literals[program->nr_literals], bytes, sizeof(bytes));
	*ret = (struct value){.is_literal = true, .is.where = program->nr_literals++};
	return compiler_advance(compiler);
}

static const struct named_operand {
	const char *name;
	enum tally_operand kind;
} named_operands[] = {
	{"retval", TALLY_AT_RETURN}, {"latency", TALLY_LATENCY}, {"pid", TALLY_PID},
	{"tid", TALLY_TID},	     {"uid", TALLY_UID},	 {"cpu", TALLY_CPU},
	{"cgroup", TALLY_CGROUP},
};

/* Parses arg1 … arg12. Returns 0 if the token is not an argument. */
static unsigned argument_number(const struct token *token)
{
	unsigned number = 0;
	size_t i;

	if (token->nr < 4 || token->nr > 5 || strncmp(token->text, "arg", 3) != 0 ||
	    token->text[3] == '0')
		return 0;
	for (i = 3; i < token->nr; i++) {
		if (!isdigit((unsigned char)token->text[i]))
			return 0;
		number = number * 10 + (unsigned)(token->text[i] - '0');
	}
	return number <= EXPRESSION_ARGUMENTS_MAX ? number : 0;
}

/* Parses the part after `args`. */
static int take_field(struct compiler *compiler, struct operand *operand)
{
	const struct token *name = &compiler->token;
	int err = compiler_advance(compiler);

	if (!err)
		err = compiler_expect(compiler, ".", "a '.' and a field name expected");
	if (err)
		return err;
	if (name->kind != TOKEN_NAME || name->nr >= sizeof(operand->field))
		return compiler_wrong(compiler, "a field name expected");
	operand->kind = TALLY_AT_CALL;
	memcpy(operand->field, name->text, name->nr);
	return compiler_advance(compiler);
}

/* Parses the name of an operand: a number, or a field that may be a string. */
static int take_operand(struct compiler *compiler, struct operand *ret)
{
	const struct token *token = &compiler->token;
	size_t i;

	*ret = (struct operand){.kind = TALLY_AT_CALL};
	if (token_is(token, "args"))
		return take_field(compiler, ret);
	ret->argument = argument_number(token);
	if (ret->argument)
		return compiler_advance(compiler);
	for (i = 0; i < ARRAY_SIZE(named_operands); i++) {
		if (!token_is(token, named_operands[i].name))
			continue;
		ret->kind = named_operands[i].kind;
		return compiler_advance(compiler);
	}
	return compiler_wrong(compiler,
			      "no such operand (arg1 … arg12, retval, latency, pid, tid, uid, cpu, "
			      "cgroup, comm, str(…), args.FIELD)");
}

static int add_text_at(struct compiler *compiler, struct operand *operand, struct value *ret)
{
	struct tally_text text = {.kind = TALLY_TEXT_AT};
	int err;

	operand->is_address =
		operand->field[0] && compiler->program->is_text &&
		compiler->program->is_text(compiler->program->context, operand->field);
	text.at_call = operand->kind == TALLY_AT_CALL;
	err = add_operand(compiler, operand, &text.word);
	return err ? err : add_text(compiler, &text, ret);
}

/* Parses str(OPERAND). */
static int take_str(struct compiler *compiler, struct value *ret)
{
	struct operand operand;
	size_t at;
	int err = compiler_advance(compiler);

	if (!err)
		err = compiler_expect(compiler, "(", "a '(' expected");
	at = compiler->token.at;
	if (!err && compiler->token.kind != TOKEN_NAME)
		err = compiler_wrong(compiler, "an operand expected");
	if (!err)
		err = take_operand(compiler, &operand);
	if (!err && operand.kind != TALLY_AT_CALL && operand.kind != TALLY_AT_RETURN)
		err = compiler_wrong_at(compiler, at, "an argument, a field or retval expected");
	if (!err)
		err = compiler_expect(compiler, ")", "a ')' expected");
	return err ? err : add_text_at(compiler, &operand, ret);
}

static int compiler_take_name(struct compiler *compiler, struct value *ret)
{
	const struct program *program = compiler->program;
	struct tally_text comm = {.kind = TALLY_TEXT_COMM};
	struct operand operand;
	int err;

	if (token_is(&compiler->token, "str"))
		return take_str(compiler, ret);
	if (token_is(&compiler->token, "comm")) {
		err = add_text(compiler, &comm, ret);
		return err ? err : compiler_advance(compiler);
	}
	err = take_operand(compiler, &operand);
	if (err)
		return err;
	if (operand.field[0] && program->is_text &&
	    program->is_text(program->context, operand.field))
		return add_text_at(compiler, &operand, ret);
	*ret = (struct value){.is.is_time = operand.kind == TALLY_LATENCY,
			      .may_be_text = operand.field[0] && !program->is_text};
	return add_operand(compiler, &operand, &ret->is.where);
}

/* --- operators -------------------------------------------------------------------------------- */

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

/* Binary operators as in C: higher precedence binds tighter, all are left-associative. */
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

/* Comparisons and logic give signed numbers; a shift has the sign of its left side. */
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
			compiler, at,
			"a string can only be compared (== or !=) with a quoted string");
	err = compiler_add_step(compiler, TALLY_SAME_TEXT, text->is.where, 0, literal->is.where,
				&result.is.where);
	if (!err && binary->negates)
		err = negate(compiler, &result);
	*ret = result; /* ret may be left or right */
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

/* NOLINTBEGIN(misc-no-recursion): DEPTH_MAX bounds the recursion */
static int take_expression(struct compiler *compiler, unsigned precedence, struct value *ret);

/* Parses the part after `(`: a cast with its operand, or an expression. */
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
		err = compiler_wrong_at(compiler, at, "a string cannot be cast");
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
		return compiler_too_large(compiler, "nested expressions", DEPTH_MAX);
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
					"a quoted string can only be compared (== or !=)");
	if (!err)
		*ret = value.is;
	return err;
}
