/*
 * A recursive parser, which emits instructions as it reads: each expression is given a label to jump to if it is true,
 * and one if it is false. Labels become offsets at the end.
 *
 * Comparisons are those of the kernel's filter_pred_*(): a number is compared in the size and sign of its field, and a
 * constant is truncated to that size; a fixed text is compared up to its field's length.
 */
#include "probe/find/tracepoint_filter.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "probe/find/tracepoints.h"

#define TEXT_BYTES	 64   /* of a text that is copied to the stack */
#define DEPTH_MAX	 32   /* of parentheses and negations */
#define INSTRUCTIONS_MAX 8192 /* jumps reach 32767 */
#define NO_LABEL	 SIZE_MAX

enum {
	REG_CONTEXT = BPF_REG_6,
	REG_VALUE = BPF_REG_7,
	REG_CONSTANT = BPF_REG_8,
};

struct compiler {
	const char *name, *format, *text, *at;
	bool is_compiled; /* else it is only parsed: what programs cannot evaluate is accepted */
	struct bpf_insn *instructions;
	size_t nr, cap;
	size_t *targets; /* by instruction: the label it jumps to, or NO_LABEL */
	size_t cap_targets;
	size_t *labels; /* by label: its instruction */
	size_t nr_labels, cap_labels;
	unsigned depth;
	struct error *error;
};

/* --- messages --------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static int refuse(struct compiler *compiler, const char *at,
							const char *format, ...)
{
	char names[300], what[200];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	tracepoint_field_names(compiler->format, names, sizeof(names));
	(void)error_set(compiler->error, -EINVAL, "bad filter '%.200s' of '%s': %s (column %zu)",
			compiler->text, compiler->name, what, (size_t)(at - compiler->text) + 1);
	error_hint(compiler->error, "its fields are %s", *names ? names : "(none)");
	return -EINVAL;
}

static int refuse_program(struct compiler *compiler, const char *what)
{
	(void)error_set(compiler->error, -EOPNOTSUPP,
			"filter '%.200s' of '%s': %s cannot be evaluated for stacks",
			compiler->text, compiler->name, what);
	error_hint(compiler->error, "the kernel does that for counts: stook stat -e %s --filter …",
		   compiler->name);
	return -EOPNOTSUPP;
}

/* --- instructions ----------------------------------------------------------------------------- */

/* Memory that runs out is noticed at the end. */
static void emit_jump(struct compiler *compiler, struct bpf_insn instruction, size_t label)
{
	if (!compiler->is_compiled || compiler->nr == INSTRUCTIONS_MAX)
		return;
	if (ARRAY_RESERVE(compiler->targets, compiler->cap_targets, compiler->nr + 1) < 0 ||
	    ARRAY_RESERVE(compiler->instructions, compiler->cap, compiler->nr + 1) < 0) {
		compiler->nr = INSTRUCTIONS_MAX;
		return;
	}
	compiler->targets[compiler->nr] = label;
	compiler->instructions[compiler->nr++] = instruction;
}

static void emit(struct compiler *compiler, uint8_t code, uint8_t to, uint8_t from, int16_t offset,
		 int32_t number)
{
	emit_jump(compiler,
		  (struct bpf_insn){.code = code,
				    .dst_reg = to & 0xf,
				    .src_reg = from & 0xf,
				    .off = offset,
				    .imm = number},
		  NO_LABEL);
}

static void emit_go(struct compiler *compiler, size_t label)
{
	emit_jump(compiler, (struct bpf_insn){.code = BPF_JMP | BPF_JA}, label);
}

static void emit_constant(struct compiler *compiler, uint8_t to, uint64_t number)
{
	emit(compiler, BPF_LD | BPF_IMM | BPF_DW, to, 0, 0, (int32_t)(uint32_t)number);
	emit(compiler, 0, 0, 0, 0, (int32_t)(uint32_t)(number >> 32));
}

/* BPF_K is 0. */
static void emit_add(struct compiler *compiler, uint8_t to, int32_t number)
{
	emit(compiler, BPF_ALU64 | BPF_ADD, to, 0, 0, number);
}

static void emit_load(struct compiler *compiler, uint8_t base, int16_t offset, unsigned bytes)
{
	static const uint8_t sizes[9] = {[1] = BPF_B, [2] = BPF_H, [4] = BPF_W, [8] = BPF_DW};

	emit(compiler, BPF_LDX | BPF_MEM | sizes[bytes], REG_VALUE, base, offset, 0);
}

static size_t new_label(struct compiler *compiler)
{
	if (ARRAY_ADD(compiler->labels, compiler->nr_labels, compiler->cap_labels, 0) < 0) {
		compiler->nr = INSTRUCTIONS_MAX;
		return 0;
	}
	return compiler->nr_labels - 1;
}

static void place(struct compiler *compiler, size_t label)
{
	if (label < compiler->nr_labels)
		compiler->labels[label] = compiler->nr;
}

/* --- fields ----------------------------------------------------------------------------------- */

/* The kind of value that a name in a filter stands for. */
enum operand_kind {
	OPERAND_FIELD,
	OPERAND_PID, /* common_pid: programs cannot read the common fields */
	OPERAND_CPU,
	OPERAND_COMM,
};

struct filter_operand {
	enum operand_kind kind;
	struct tracepoint_field field; /* also of the kinds that are no fields */
	bool is_text;
};

/*
 * Programs do not see the first eight bytes of the record, and read numbers at multiples of their size only. Offsets in
 * instructions have 16 bits.
 */
#define FIRST_READABLE 8

static bool is_readable(const struct filter_operand *operand, const char *name)
{
	const struct tracepoint_field *field = &operand->field;

	return !text_starts_with(name, "common_") && field->offset >= FIRST_READABLE &&
	       (uint64_t)field->offset + field->bytes <= INT16_MAX &&
	       (operand->is_text || field->offset % field->bytes == 0);
}

/* The tracepoint's own fields come first, then the ones that all have. */
static int find_operand(struct compiler *compiler, const char *name, size_t nr,
			struct filter_operand *ret)
{
	static const struct {
		const char *name;
		enum operand_kind kind;
		struct tracepoint_field field;
	} others[] = {
		{"CPU", OPERAND_CPU, {.bytes = 4}},
		{"cpu", OPERAND_CPU, {.bytes = 4}},
		{"COMM", OPERAND_COMM, {.bytes = 16, .is_array = true, .is_char = true}},
		{"comm", OPERAND_COMM, {.bytes = 16, .is_array = true, .is_char = true}},
	};
	cleanup_free char *copy = strndup(name, nr);
	struct tracepoint_field *field = &ret->field;
	size_t i;

	if (!copy)
		return error_no_memory(compiler->error, "");
	*ret = (struct filter_operand){.kind = OPERAND_FIELD};
	if (tracepoint_field_find(compiler->format, copy, field)) {
		ret->is_text = tracepoint_field_is_text(field);
		if (!strcmp(copy, "common_pid"))
			ret->kind = OPERAND_PID;
		if (!ret->is_text &&
		    (!field->bytes || field->bytes > 8 || field->bytes & (field->bytes - 1)))
			return refuse(compiler, name, "'%s' is no number and no text", copy);
		return compiler->is_compiled && ret->kind == OPERAND_FIELD &&
				       !is_readable(ret, copy)
			       ? refuse_program(compiler, copy)
			       : 0;
	}
	for (i = 0; i < ARRAY_SIZE(others); i++)
		if (!strcmp(copy, others[i].name)) {
			ret->kind = others[i].kind;
			*field = others[i].field;
			ret->is_text = field->is_char;
			return 0;
		}
	return refuse(compiler, name, "no field '%.60s'", copy);
}

/* --- numbers ---------------------------------------------------------------------------------- */

enum comparison { EQUAL, UNEQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, HAS_BITS, LIKE };

static const struct {
	const char *text;
	uint8_t code, signed_code;
} comparisons[] = {
	[EQUAL] = {"==", BPF_JEQ, BPF_JEQ},	     [UNEQUAL] = {"!=", BPF_JNE, BPF_JNE},
	[LESS_EQUAL] = {"<=", BPF_JLE, BPF_JSLE},    [LESS] = {"<", BPF_JLT, BPF_JSLT},
	[GREATER_EQUAL] = {">=", BPF_JGE, BPF_JSGE}, [GREATER] = {">", BPF_JGT, BPF_JSGT},
	[HAS_BITS] = {"&", BPF_JSET, BPF_JSET},	     [LIKE] = {"~", 0, 0},
};

/* Truncates to the size and sign of a field, as a cast does. */
static uint64_t narrow(uint64_t number, const struct tracepoint_field *field)
{
	const unsigned unused = 64 - 8 * field->bytes;

	if (field->is_signed)
		return (uint64_t)((int64_t)(number << unused) >> unused);
	return number << unused >> unused;
}

static int parse_number(struct compiler *compiler, const struct tracepoint_field *field,
			uint64_t *ret)
{
	const char *from = compiler->at;
	char *end;

	if (!isdigit((unsigned char)*from) && *from != '-')
		return refuse(compiler, from, "a number expected");
	errno = 0;
	*ret = *from == '-' ? (uint64_t)strtoll(from, &end, 0) : strtoull(from, &end, 0);
	if (errno || end == from || isalnum((unsigned char)*end) || *end == '_')
		return refuse(compiler, from, "bad number");
	compiler->at = end;
	*ret = narrow(*ret, field);
	return 0;
}

static void emit_call(struct compiler *compiler, int32_t function)
{
	emit(compiler, BPF_JMP | BPF_CALL, 0, 0, 0, function);
}

static int compile_number(struct compiler *compiler, const struct filter_operand *operand,
			  enum comparison comparison, size_t if_true, size_t if_false)
{
	const struct tracepoint_field *field = &operand->field;
	const uint8_t code = field->is_signed ? comparisons[comparison].signed_code
					      : comparisons[comparison].code;
	const int unused = (int)(64 - 8 * field->bytes);
	uint64_t number = 0;
	int err;

	if (comparison == LIKE)
		return refuse(compiler, compiler->at, "~ is for texts");
	err = parse_number(compiler, field, &number);
	if (err)
		return err;
	if (operand->kind == OPERAND_FIELD) {
		emit_load(compiler, REG_CONTEXT, (int16_t)field->offset, field->bytes);
	} else {
		emit_call(compiler, operand->kind == OPERAND_PID ? BPF_FUNC_get_current_pid_tgid
								 : BPF_FUNC_get_smp_processor_id);
		emit(compiler, BPF_ALU64 | BPF_MOV | BPF_X, REG_VALUE, BPF_REG_0, 0, 0);
	}
	if (unused) {
		emit(compiler, BPF_ALU64 | BPF_LSH | BPF_K, REG_VALUE, 0, 0, unused);
		emit(compiler, BPF_ALU64 | (field->is_signed ? BPF_ARSH : BPF_RSH) | BPF_K,
		     REG_VALUE, 0, 0, unused);
	}
	emit_constant(compiler, REG_CONSTANT, number);
	emit_jump(compiler,
		  (struct bpf_insn){.code = BPF_JMP | code | BPF_X,
				    .dst_reg = REG_VALUE,
				    .src_reg = REG_CONSTANT},
		  if_true);
	emit_go(compiler, if_false);
	return 0;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* Parses "text" or 'text'. */
static int parse_text(struct compiler *compiler, const char **ret, size_t *ret_nr)
{
	const char *from = compiler->at, *end;

	if (*from != '"' && *from != '\'')
		return refuse(compiler, from, "a text in quotes expected");
	end = strchr(from + 1, *from);
	if (!end)
		return refuse(compiler, from, "the quote is not closed");
	*ret = from + 1;
	*ret_nr = (size_t)(end - from - 1);
	compiler->at = end + 1;
	return 0;
}

/* Makes the text readable; returns the register and the offset of its first byte. A text that cannot be read differs. */
static uint8_t emit_text(struct compiler *compiler, const struct filter_operand *operand,
			 size_t if_unreadable, int16_t *ret_offset)
{
	const struct tracepoint_field *field = &operand->field;

	*ret_offset = (int16_t)field->offset;
	if (operand->kind == OPERAND_FIELD && !field->is_data_loc)
		return REG_CONTEXT;
	*ret_offset = -TEXT_BYTES;
	if (operand->kind == OPERAND_FIELD) {
		emit_load(compiler, REG_CONTEXT, (int16_t)field->offset, 4);
		emit(compiler, BPF_ALU64 | BPF_AND | BPF_K, REG_VALUE, 0, 0, 0xffff);
		emit(compiler, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_3, REG_CONTEXT, 0, 0);
		emit(compiler, BPF_ALU64 | BPF_ADD | BPF_X, BPF_REG_3, REG_VALUE, 0, 0);
		if (field->is_relative)
			emit_add(compiler, BPF_REG_3, (int32_t)(field->offset + field->bytes));
	}
	emit(compiler, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_10, 0, 0);
	emit_add(compiler, BPF_REG_1, -TEXT_BYTES);
	emit(compiler, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0,
	     operand->kind == OPERAND_COMM ? (int32_t)field->bytes : TEXT_BYTES);
	emit_call(compiler, operand->kind == OPERAND_COMM ? BPF_FUNC_get_current_comm
							  : BPF_FUNC_probe_read_kernel_str);
	emit_jump(compiler,
		  (struct bpf_insn){.code = BPF_JMP | BPF_JSLT | BPF_K, .dst_reg = BPF_REG_0},
		  if_unreadable);
	return BPF_REG_10;
}

static int compile_text(struct compiler *compiler, const struct filter_operand *operand,
			enum comparison comparison, size_t if_true, size_t if_false)
{
	const size_t room = operand->field.is_data_loc ? TEXT_BYTES : operand->field.bytes;
	const size_t same = comparison == UNEQUAL ? if_false : if_true;
	const size_t differs = comparison == UNEQUAL ? if_true : if_false;
	const char *text = NULL;
	bool is_start = false;
	int16_t offset;
	uint8_t base;
	size_t nr = 0, i;
	int err;

	if (comparison != EQUAL && comparison != UNEQUAL && comparison != LIKE)
		return refuse(compiler, compiler->at, "texts are compared by ==, != or ~");
	err = parse_text(compiler, &text, &nr);
	if (err || !compiler->is_compiled)
		return err;
	if (comparison == LIKE && nr && text[nr - 1] == '*') {
		is_start = true;
		nr--;
	}
	for (i = 0; i < nr && comparison == LIKE; i++)
		if (strchr("*?[!\\", text[i]))
			return refuse_program(compiler, "a glob other than 'text*'");
	if (operand->field.is_data_loc && nr >= room)
		return refuse_program(compiler, "a text of more than 63 bytes");
	base = emit_text(compiler, operand, differs, &offset);
	for (i = 0; i < room && i < nr + !is_start; i++) {
		emit_load(compiler, base, (int16_t)(offset + (int16_t)i), 1);
		emit_jump(compiler,
			  (struct bpf_insn){.code = BPF_JMP | BPF_JNE | BPF_K,
					    .dst_reg = REG_VALUE,
					    .imm = i < nr ? (unsigned char)text[i] : 0},
			  differs);
	}
	/* "*" is true for every text: code that nothing jumps to would be refused. */
	if (!i) {
		emit(compiler, BPF_ALU64 | BPF_MOV | BPF_K, REG_VALUE, 0, 0, 0);
		emit_jump(
			compiler,
			(struct bpf_insn){.code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = REG_VALUE},
			differs);
	}
	emit_go(compiler, same);
	return 0;
}

/* --- expressions ------------------------------------------------------------------------------ */

static void skip_blanks(struct compiler *compiler)
{
	while (isspace((unsigned char)*compiler->at))
		compiler->at++;
}

/* FIELD OPERATOR CONSTANT */
static int parse_predicate(struct compiler *compiler, size_t if_true, size_t if_false)
{
	/* Longer ones first. */
	static const enum comparison tried[] = {EQUAL,	       UNEQUAL, LESS_EQUAL, LESS,
						GREATER_EQUAL, GREATER, LIKE,	    HAS_BITS};
	const char *name = compiler->at;
	struct filter_operand operand;
	enum comparison comparison;
	size_t i = 0;
	int err;

	while (isalnum((unsigned char)*compiler->at) || *compiler->at == '_')
		compiler->at++;
	if (compiler->at == name || isdigit((unsigned char)*name))
		return refuse(compiler, name, "a field expected");
	err = find_operand(compiler, name, (size_t)(compiler->at - name), &operand);
	if (err)
		return err;
	skip_blanks(compiler);
	while (i < ARRAY_SIZE(tried) && !text_starts_with(compiler->at, comparisons[tried[i]].text))
		i++;
	if (i == ARRAY_SIZE(tried) || text_starts_with(compiler->at, "&&"))
		return refuse(compiler, compiler->at, "==, !=, <, <=, >, >=, & or ~ expected");
	comparison = tried[i];
	compiler->at += strlen(comparisons[comparison].text);
	skip_blanks(compiler);
	return operand.is_text ? compile_text(compiler, &operand, comparison, if_true, if_false)
			       : compile_number(compiler, &operand, comparison, if_true, if_false);
}

static int parse_either(struct compiler *compiler, size_t if_true, size_t if_false);

/* A negation, parentheses or a comparison; `!` negates a whole comparison, as the kernel's does. */
static int parse_single(struct compiler *compiler, size_t if_true, size_t if_false)
{
	int err;

	skip_blanks(compiler);
	if (*compiler->at != '!' && *compiler->at != '(')
		return parse_predicate(compiler, if_true, if_false);
	if (compiler->depth == DEPTH_MAX)
		return refuse(compiler, compiler->at, "too many levels");
	compiler->depth++;
	if (*compiler->at++ == '!') {
		err = parse_single(compiler, if_false, if_true);
	} else {
		err = parse_either(compiler, if_true, if_false);
		skip_blanks(compiler);
		if (!err && *compiler->at != ')')
			err = refuse(compiler, compiler->at, "')' expected");
		compiler->at += !err;
	}
	compiler->depth--;
	return err;
}

/* SINGLE && SINGLE … */
static int parse_both(struct compiler *compiler, size_t if_true, size_t if_false)
{
	for (;;) {
		const size_t next = new_label(compiler);
		int err = parse_single(compiler, next, if_false);

		if (err)
			return err;
		place(compiler, next);
		skip_blanks(compiler);
		if (!text_starts_with(compiler->at, "&&"))
			break;
		compiler->at += strlen("&&");
	}
	emit_go(compiler, if_true);
	return 0;
}

/* BOTH || BOTH … */
static int parse_either(struct compiler *compiler, size_t if_true, size_t if_false)
{
	for (;;) {
		const size_t next = new_label(compiler);
		int err = parse_both(compiler, if_true, next);

		if (err)
			return err;
		place(compiler, next);
		skip_blanks(compiler);
		if (!text_starts_with(compiler->at, "||"))
			break;
		compiler->at += strlen("||");
	}
	emit_go(compiler, if_false);
	return 0;
}

static int parse(struct compiler *compiler)
{
	const size_t if_true = new_label(compiler), if_false = new_label(compiler);
	size_t i;
	int err;

	if (strlen(compiler->text) >= TRACEPOINT_FILTER_BYTES)
		return error_set(compiler->error, -E2BIG, "the filter '%.40s…' is too long",
				 compiler->text);
	compiler->at = compiler->text;
	emit(compiler, BPF_ALU64 | BPF_MOV | BPF_X, REG_CONTEXT, BPF_REG_1, 0, 0);
	err = parse_either(compiler, if_true, if_false);
	skip_blanks(compiler);
	if (!err && *compiler->at)
		err = refuse(compiler, compiler->at, "&& or || expected");
	if (err)
		return err;
	place(compiler, if_false);
	/* With 0, the kernel would keep the hit from the perf events of others. */
	emit(compiler, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1);
	emit(compiler, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	place(compiler, if_true);
	emit(compiler, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, REG_CONTEXT, 0, 0);
	if (compiler->nr >= INSTRUCTIONS_MAX)
		return error_set(compiler->error, -E2BIG, "no memory for the filter '%.40s…'",
				 compiler->text);
	for (i = 0; i < compiler->nr; i++)
		if (compiler->targets[i] != NO_LABEL)
			compiler->instructions[i].off =
				(int16_t)(compiler->labels[compiler->targets[i]] - i - 1);
	return 0;
}

static void clear(struct compiler *compiler)
{
	free(compiler->instructions);
	free(compiler->targets);
	free(compiler->labels);
}

int tracepoint_filter_compile(const char *name, const char *format, const char *text,
			      struct bpf_insn **ret, size_t *ret_nr, struct error *error)
{
	struct compiler compiler = {
		.name = name, .format = format, .text = text, .is_compiled = true, .error = error};
	int err = parse(&compiler);

	if (!err) {
		*ret = take_pointer(&compiler.instructions);
		*ret_nr = compiler.nr;
	}
	clear(&compiler);
	return err;
}

int tracepoint_filter_explain(const char *name, const char *format, const char *text,
			      struct error *error)
{
	struct compiler compiler = {.name = name, .format = format, .text = text, .error = error};
	char names[300];

	if (!parse(&compiler)) {
		tracepoint_field_names(format, names, sizeof(names));
		(void)error_set(error, -EINVAL, "the kernel rejects the filter '%.200s' of '%s'",
				text, name);
		error_hint(error, "its fields are %s", *names ? names : "(none)");
	}
	clear(&compiler);
	return -EINVAL;
}
