/*
 * probe/expression/expression: from text to steps, and the results of the steps, computed by the
 * code that runs in the kernel. The expected results are the C compiler's: each expression is
 * compiled by both.
 */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpf/tally_steps.h"
#include "probe/expression/expression.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef int32_t s32;
typedef uint32_t u32;
typedef int16_t s16;
typedef uint16_t u16;
typedef int8_t s8;
typedef uint8_t u8;
typedef int64_t s64;
typedef uint64_t u64;

/* Arguments of the hits on which expressions are evaluated. */
static const int64_t hits[][3] = {
	{0, 0, 0},
	{1, 2, 3},
	{-1, 1, 7},
	{4097, -5, 12},
	{INT64_MAX, INT64_MIN, -1},
	{INT64_MIN, -1, 63},
	{0x1234567890abcdefLL, 0xffffffffLL, 40},
	{-4096, 10000000, 64},
};

static struct expression compile(struct program *program, const char *text)
{
	struct expression expression = {0};
	struct error error = {0};
	int err = expression_compile(program, text, strlen(text), &expression, &error);

	if (err)
		(void)fprintf(stderr, "%s\n", error.text);
	CHECK_EQ(err, 0);
	return expression;
}

/* Returns a hit's operands; arguments whose bit is set in `unknown` cannot be read. */
static struct tally_values values_of(const struct program *program, const int64_t *arguments,
				     unsigned unknown)
{
	struct tally_values values = {0};
	size_t i;

	for (i = 0; i < program->plan.nr_operands; i++) {
		unsigned number = program->operands[i].argument;

		CHECK(number >= 1 && number <= 3);
		values.words[i] = arguments[number - 1];
		if (unknown >> number & 1) {
			values.words[i] = 0;
			tally_set_unknown(&values, (uint32_t)i);
		}
	}
	tally_run_steps(&values, &program->plan);
	return values;
}

static int64_t evaluate(const char *text, const int64_t *arguments)
{
	struct program program = {0};
	struct expression expression = compile(&program, text);
	struct tally_values values = values_of(&program, arguments, 0);

	CHECK(!expression.is_text);
	CHECK_EQ(values.unknown, 0);
	return values.words[expression.where];
}

/* C leaves overflows and large shifts undefined; with -fwrapv the results would be equal. */
#define SAME(expression)                                                              \
	do {                                                                          \
		size_t same_i;                                                        \
		for (same_i = 0; same_i < COUNT(hits); same_i++) {                    \
			const int64_t arg1 = hits[same_i][0], arg2 = hits[same_i][1]; \
			const int64_t arg3 = hits[same_i][2];                         \
			(void)arg1, (void)arg2, (void)arg3;                           \
			CHECK_EQ(evaluate(#expression, hits[same_i]), (expression));  \
		}                                                                     \
	} while (0)

TEST(expression_comparisons)
{
	SAME(arg1 == arg2);
	SAME(arg1 != arg2);
	SAME(arg1 < arg2);
	SAME(arg1 <= arg2);
	SAME(arg1 > arg2);
	SAME(arg1 >= arg2);
	SAME((u64)arg1 < (u64)arg2);
	SAME((u64)arg1 > (u64)arg2);
	SAME((u64)arg1 >= (u64)0xffffffffffffffff);
}

TEST(expression_logic)
{
	SAME(arg1 && arg2);
	SAME(arg1 || arg2);
	SAME(!arg1);
	SAME(!!arg1);
	SAME(!arg1 == !arg2);
	SAME((arg1 > 0 && arg2 < 0) || arg3 == 7);
	SAME((arg1 || arg2) && arg3);
}

TEST(expression_bits)
{
	SAME(arg1 & arg2);
	SAME(arg1 | arg2);
	SAME(arg1 ^ arg2);
	SAME(~arg1);
	SAME(arg1 >> 3);
	SAME((u64)arg1 >> 3);
	SAME((s64)((u64)arg1 << 5));
	SAME((arg1 & 0xff) == 0xef);
	SAME((arg1 ^ arg2) | (arg3 & 1));
}

TEST(expression_casts)
{
	SAME((int)arg1);
	SAME((u32)arg1);
	SAME((s32)arg1 < 0);
	SAME((s16)arg1);
	SAME((u16)arg1);
	SAME((s8)arg2);
	SAME((u8)arg2);
	SAME((char)arg2);
	SAME((long)arg1);
	SAME((short)arg1 == (s16)arg1);
	SAME((unsigned)arg1 >> 4);
	SAME(-(s64)(int)arg2);
	SAME((s64)(u8)arg1 - (s64)(u8)arg2);
}

TEST(expression_arithmetic)
{
	SAME((s64)((u64)arg1 + (u64)arg2));
	SAME((s64)((u64)arg1 - (u64)arg2));
	SAME((s64)((u64)arg1 * (u64)arg2));
	SAME((s64)(s32)arg1 / 7);
	SAME((s64)(s32)arg1 % 7);
	SAME((s64)(s32)arg1 / -7);
	SAME((s64)(s32)arg1 % -7);
	SAME((u64)arg1 / 10);
	SAME((u64)arg1 % 10);
	SAME(+arg1);
}

/* Without parentheses, to compare precedence with C. */
TEST(expression_precedence)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wbool-compare"
	SAME(1 + 2 * 3);
	SAME(2 * 3 + 1);
	SAME(10 - 4 - 3);
	SAME(100 / 10 / 5);
	SAME(100 % 7 * 3);
	SAME(1 << 2 + 3);
	SAME(1 << 3 < 9);
	SAME(arg1 & 1 == 1);
	SAME(arg1 & 3 | arg2 & 4 ^ 5);
	SAME(arg1 == arg2 == arg3);
	SAME(arg1<arg2 == arg3> 1);
	SAME(arg1 || arg2 && arg3);
	SAME(arg1 && arg2 || arg3);
	SAME(-3 - -2);
	SAME(-3 * -2);
	SAME(~1 + 1);
	SAME(!arg1 + 1);
	SAME(7 > 5 > 3);
	SAME(64 >> 2 >> 1);
#pragma GCC diagnostic pop
}

static void check_value(const char *text, int64_t arg1, int64_t arg2, int64_t want)
{
	const int64_t arguments[3] = {arg1, arg2, 0};

	CHECK_EQ(evaluate(text, arguments), want);
}

/* Operations that C leaves undefined. */
TEST(expression_defines_the_undefined)
{
	check_value("arg1 / arg2", 5, 0, 0);
	check_value("arg1 % arg2", 5, 0, 0);
	check_value("(u64)arg1 / arg2", 5, 0, 0);
	check_value("(u64)arg1 % arg2", 5, 0, 0);
	check_value("arg1 / arg2", INT64_MIN, -1, INT64_MIN);
	check_value("arg1 % arg2", INT64_MIN, -1, 0);
	check_value("arg1 / arg2", INT64_MIN, 1, INT64_MIN);
	check_value("-arg1", INT64_MIN, 0, INT64_MIN);
	check_value("arg1 + arg2", INT64_MAX, 1, INT64_MIN);
	check_value("1 << 64", 0, 0, 1);
	check_value("1 << 65", 0, 0, 2);
	check_value("arg1 >> -1", -1, 0, -1);
	check_value("arg1 << 63", 1, 0, INT64_MIN);
}

TEST(expression_numbers)
{
	check_value("0x10", 0, 0, 16);
	check_value("0XfF", 0, 0, 255);
	check_value("007", 0, 0, 7);
	check_value("4K", 0, 0, 4096);
	check_value("1M + 1G", 0, 0, (1LL << 20) + (1LL << 30));
	check_value("2T", 0, 0, 2LL << 40);
	check_value("10ns", 0, 0, 10);
	check_value("10us", 0, 0, 10000);
	check_value("3ms", 0, 0, 3000000);
	check_value("2s", 0, 0, 2000000000);
	check_value("0x10K", 0, 0, 16384);
	check_value("'a'", 0, 0, 'a');
	check_value("'\\n' + '\\0' + '\\x7f'", 0, 0, '\n' + 127);
	check_value("'\\xff'", 0, 0, -1);
	check_value("'\\''", 0, 0, '\'');
	check_value("18446744073709551615", 0, 0, -1);
	check_value("9223372036854775808 > 1", 0, 0, 1);
	check_value("-9223372036854775808", 0, 0, INT64_MIN);
	check_value("\t(arg1\n+ arg2 ) ", 1, 2, 3);
}

TEST(expression_knows_its_operands)
{
	struct program program = {0};
	struct expression expression;
	size_t i;

	expression = compile(&program, "arg1 + arg2 + arg1 + retval + args.bytes + latency + pid + "
				       "tid + uid + cpu + cgroup");
	CHECK(!expression.is_text && !expression.is_time);
	CHECK_EQ(program.plan.nr_operands, 10);
	CHECK_EQ(program.operands[0].argument, 1);
	CHECK_EQ(program.operands[1].argument, 2);
	CHECK_EQ(program.operands[2].kind, TALLY_AT_RETURN);
	CHECK_STR(program.operands[3].field, "bytes");
	CHECK_EQ(program.operands[3].kind, TALLY_AT_CALL);
	CHECK_EQ(program.operands[4].kind, TALLY_LATENCY);
	for (i = 0; i < program.plan.nr_operands; i++)
		CHECK_EQ(program.plan.operands[i], program.operands[i].kind);
	CHECK(compile(&program, "latency").is_time);
	CHECK(compile(&program, "(latency)").is_time);
	CHECK(!compile(&program, "latency / 1us").is_time);
	CHECK(compile(&program, "(u64)arg1").is_unsigned);
	CHECK(!compile(&program, "(u32)arg1").is_unsigned);
	CHECK(!compile(&program, "(u64)arg1 < 5").is_unsigned);
	CHECK(compile(&program, "(u64)arg1 + arg2").is_unsigned);
	CHECK(!compile(&program, "arg1 >> (u64)arg2").is_unsigned);
}

/* --- texts ----------------------------------------------------------------------------------- */

static void set_text(struct tally_values *values, size_t number, const char *text)
{
	__s64 *words = &values->words[TALLY_MAX_NUMBERS + number * TALLY_TEXT_WORDS];

	memset(words, 0, TALLY_TEXT_BYTES);
	memcpy(words, text, strlen(text));
}

static int64_t compare(const char *text, const char *comm, bool is_unknown)
{
	struct program program = {0};
	struct expression expression = compile(&program, text);
	struct tally_values values = {.unknown_texts = is_unknown};

	CHECK_EQ(program.plan.nr_texts, 1);
	CHECK_EQ(program.plan.texts[0].kind, TALLY_TEXT_COMM);
	set_text(&values, 0, comm);
	tally_run_steps(&values, &program.plan);
	if (tally_is_unknown(&values, expression.where))
		return -1;
	return values.words[expression.where];
}

TEST(expression_texts)
{
	const char *long_text = "comm == \"12345678901234567890123456789012345678901234567890"
				"123456789012\"";

	CHECK_EQ(compare("comm == \"redis\"", "redis", false), 1);
	CHECK_EQ(compare("comm == \"redis\"", "redis2", false), 0);
	CHECK_EQ(compare("comm == \"redis\"", "redi", false), 0);
	CHECK_EQ(compare("\"redis\" == comm", "redis", false), 1);
	CHECK_EQ(compare("comm != \"redis\"", "redis", false), 0);
	CHECK_EQ(compare("comm != \"redis\"", "x", false), 1);
	CHECK_EQ(compare("comm == \"\"", "", false), 1);
	CHECK_EQ(compare("comm == \"a\\\"b\\\\c\\x41\"", "a\"b\\cA", false), 1);
	CHECK_EQ(compare("comm == \"a\" || comm == \"b\"", "b", false), 1);
	CHECK_EQ(compare(long_text, long_text + 9, false), 0); /* the quote is its last character */
	CHECK_EQ(compare("comm == \"a\"", "a", true), -1);
}

TEST(expression_of_two_texts)
{
	struct program program = {0};
	struct expression expression =
		compile(&program, "str(arg3) == \"odd one\" && comm == \"x\"");
	struct tally_values values = {0};

	CHECK_EQ(program.plan.nr_texts, 2);
	CHECK_EQ(program.plan.texts[0].kind, TALLY_TEXT_AT);
	CHECK_EQ(program.plan.texts[1].kind, TALLY_TEXT_COMM);
	set_text(&values, 0, "odd one");
	set_text(&values, 1, "x");
	tally_run_steps(&values, &program.plan);
	CHECK_EQ(values.words[expression.where], 1);
	set_text(&values, 1, "y");
	tally_run_steps(&values, &program.plan);
	CHECK_EQ(values.words[expression.where], 0);
}

static bool all_are_texts(void *context, const char *field)
{
	return !strcmp(field, context);
}

TEST(expression_text_fields)
{
	char name[] = "filename";
	struct program program = {.is_text = all_are_texts, .context = name};
	struct expression expression = compile(&program, "args.filename");

	CHECK(expression.is_text);
	CHECK(program.operands[0].is_address);
	CHECK(!compile(&program, "args.other").is_text);
	CHECK(compile(&program, "str(args.other)").is_text);
	CHECK(compile(&program, "str(arg1)").is_text);
	CHECK(compile(&program, "str(retval)").is_text);
	CHECK_EQ(program.plan.nr_texts, 4);
	CHECK(program.plan.texts[2].at_call && !program.plan.texts[3].at_call);
}

/* --- unknown values -------------------------------------------------------------------------- */

/* Returns -1 if the result is unknown. Bits of `unknown` are argument numbers. */
static int64_t evaluate_unknown(const char *text, int64_t arg1, int64_t arg2, unsigned unknown)
{
	const int64_t arguments[3] = {arg1, arg2, 0};
	struct program program = {0};
	struct expression expression = compile(&program, text);
	struct tally_values values = values_of(&program, arguments, unknown);

	return tally_is_unknown(&values, expression.where) ? -1 : values.words[expression.where];
}

TEST(expression_of_what_is_unknown)
{
	const unsigned first = 1u << 1, second = 1u << 2, both = first | second;

	CHECK_EQ(evaluate_unknown("arg1 + 1", 0, 0, first), -1);
	CHECK_EQ(evaluate_unknown("arg1 - arg1", 0, 0, first), -1);
	CHECK_EQ(evaluate_unknown("!arg1", 0, 0, first), -1);
	CHECK_EQ(evaluate_unknown("(int)arg1", 0, 0, first), -1);
	CHECK_EQ(evaluate_unknown("arg1 && arg2", 0, 0, first), 0);
	CHECK_EQ(evaluate_unknown("arg1 && arg2", 0, 1, first), -1);
	CHECK_EQ(evaluate_unknown("arg1 && arg2", 0, 0, second), 0);
	CHECK_EQ(evaluate_unknown("arg1 && arg2", 1, 0, second), -1);
	CHECK_EQ(evaluate_unknown("arg1 && arg2", 0, 0, both), -1);
	CHECK_EQ(evaluate_unknown("arg1 || arg2", 0, 1, first), 1);
	CHECK_EQ(evaluate_unknown("arg1 || arg2", 0, 0, first), -1);
	CHECK_EQ(evaluate_unknown("arg1 || arg2", 5, 0, second), 1);
	CHECK_EQ(evaluate_unknown("arg1 || arg2", 0, 0, both), -1);
	CHECK_EQ(evaluate_unknown("3 + 4", 0, 0, both), 7);
}

/* --- errors ---------------------------------------------------------------------------------- */

TEST(expression_refuses_and_says_where)
{
	static const struct {
		const char *text, *what;
	} wrong[] = {
		{"", "a number or an operand expected (column 1)"},
		{"arg1 >", "a number or an operand expected (column 7)"},
		{"arg1 arg2", "an operator expected (column 6)"},
		{"(arg1", "a ')' expected (column 6)"},
		{"arg1)", "an operator expected (column 5)"},
		{"foo", "no such operand"},
		{"arg0", "no such operand"},
		{"arg01", "no such operand"},
		{"arg13", "no such operand"},
		{"arg1x", "no such operand"},
		{"args", "a '.' and a field name expected (column 5)"},
		{"args.", "a field name expected (column 6)"},
		{"1x", "an unknown unit"},
		{"0x", "an unknown unit"},
		{"1KB", "an unknown unit"},
		{"18446744073709551616", "more than 64 bits"},
		{"99999999999T", "more than 64 bits"},
		{"arg1 = 1", "an unknown operator (column 6)"},
		{"arg1 ? 1 : 2", "an unknown operator (column 6)"},
		{"\"x", "a closing quote expected"},
		{"'ab'", "not one character"},
		{"''", "not one character"},
		{"'\\q'", "an unknown escape sequence"},
		{"\"x\"", "a quoted string can only be compared"},
		{"comm < \"x\"", "a string can only be compared"},
		{"comm == comm", "a string can only be compared"},
		{"arg1 == \"x\"", "a string can only be compared"},
		{"comm + 1", "a string can only be compared"},
		{"(int)comm", "a string cannot be cast"},
		{"-comm", "a number expected"},
		{"str(1)", "an operand expected (column 5)"},
		{"str(pid)", "an argument, a field or retval expected"},
		{"str arg1", "a '(' expected"},
		{"comm == \"a\\0b\"", "zero byte"},
	};
	size_t i;

	for (i = 0; i < COUNT(wrong); i++) {
		struct program program = {0};
		struct expression expression = {.where = 77};
		struct error error = {0};

		CHECK_EQ(expression_compile(&program, wrong[i].text, strlen(wrong[i].text),
					    &expression, &error),
			 -EINVAL);
		if (!strstr(error.text, wrong[i].what))
			(void)fprintf(stderr, "'%s': %s\n", wrong[i].text, error.text);
		CHECK(strstr(error.text, wrong[i].what) != NULL);
		CHECK_EQ(expression.where, 77);
	}
}

/* Before the tracepoints are known, a field may be compared with numbers and texts only. */
TEST(expression_fields_of_unknown_kind)
{
	struct program program = {0};
	struct expression expression;
	static const char wrong[] = "(int)args.name == \"x\"";

	CHECK(!compile(&program, "args.name == \"x\" && (args.name) != \"y\"").is_text);
	CHECK(!compile(&program, "args.name > 3").is_text);
	CHECK_EQ(expression_compile(&program, wrong, strlen(wrong), &expression, NULL), -EINVAL);
}

static int compile_repeated(const char *begin, const char *item, size_t nr, const char *end)
{
	char text[4096] = "";
	struct program program = {0};
	struct expression expression;
	struct error error = {0};
	size_t i;

	(void)strcpy(text, begin);
	for (i = 0; i < nr; i++)
		(void)strcat(text, item);
	(void)strcat(text, end);
	return expression_compile(&program, text, strlen(text), &expression, &error);
}

TEST(expression_has_limits)
{
	CHECK_EQ(compile_repeated("arg1", "+1", 24, ""), 0);
	CHECK_EQ(compile_repeated("arg1", "+1", 25, ""), -E2BIG);
	CHECK_EQ(compile_repeated("", "(", 31, "1"), -EINVAL); /* missing ')' */
	CHECK_EQ(compile_repeated("", "(", 1000, "1"), -E2BIG);
	CHECK_EQ(compile_repeated("", "!", 1000, "1"), -E2BIG);
	CHECK_EQ(compile_repeated("comm==\"x\"", "||comm==\"x\"", 7, ""), 0);
	CHECK_EQ(compile_repeated("comm==\"x\"", "||comm==\"x\"", 8, ""), -E2BIG);
}

/* Nothing is read past the end, at any length. */
TEST(expression_of_any_length)
{
	static const char text[] = "(int)arg1 + 0x1fK >= 'a' && comm != \"a\\x41\" || str(arg2) == "
				   "\"/tmp\" && args.name << 3";
	size_t nr;

	for (nr = 0; nr < sizeof(text); nr++) {
		struct program program = {0};
		struct expression expression;
		struct error error = {0};
		char *guarded = test_guarded(text, nr);

		(void)expression_compile(&program, guarded, nr, &expression, &error);
	}
}
