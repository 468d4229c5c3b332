/* What stands in expressions beside operators and numbers: operands, texts, and texts in quotes. */
#include "probe/expression/expression_compiler.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"

#define COMPARED_TEXT_BYTES (TALLY_TEXT_BYTES - 2) /* one that was cut is longer than that */

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
		return compiler_too_large(compiler, "texts", TALLY_MAX_TEXTS);
	if (i == plan->nr_texts)
		plan->texts[plan->nr_texts++] = *text;
	*ret = (struct value){.is = {.is_text = true, .where = i}};
	return 0;
}

int compiler_take_literal(struct compiler *compiler, struct value *ret)
{
	struct program *program = compiler->program;
	char bytes[TALLY_TEXT_BYTES] = {0};
	size_t nr = 0;

	if (!token_text(&compiler->token, bytes, COMPARED_TEXT_BYTES, &nr))
		return compiler_wrong(compiler, "a text of more than 62 bytes");
	if (memchr(bytes, 0, nr))
		return compiler_wrong(compiler, "a text with a zero byte in it");
	if (program->nr_literals == TALLY_MAX_LITERALS)
		return compiler_too_large(compiler, "texts in quotes", TALLY_MAX_LITERALS);
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

/* arg1 … arg12; 0 if it is none. */
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

/* Behind `args.` */
static int take_field(struct compiler *compiler, struct operand *operand)
{
	const struct token *name = &compiler->token;
	int err = compiler_advance(compiler);

	if (!err)
		err = compiler_expect(compiler, ".", "a '.' and the name of a field expected");
	if (err)
		return err;
	if (name->kind != TOKEN_NAME || name->nr >= sizeof(operand->field))
		return compiler_wrong(compiler, "the name of a field expected");
	operand->kind = TALLY_AT_CALL;
	memcpy(operand->field, name->text, name->nr);
	return compiler_advance(compiler);
}

/* A name that stands for a number, or for a field that may be a text. */
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

/* str(OPERAND) */
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

int compiler_take_name(struct compiler *compiler, struct value *ret)
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
