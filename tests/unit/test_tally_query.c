/* probe/expression/tally_query: options of `stook tally`, compiled. */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probe/expression/tally_query.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct tally_query compile(const struct tally_query_options *options)
{
	struct tally_query query = {0};
	struct error error = {0};
	int err = tally_query_compile(options, &query, &error);

	if (err)
		(void)fprintf(stderr, "%s\n", error.text);
	CHECK_EQ(err, 0);
	return query;
}

static void check_refused(const struct tally_query_options *options, int want, const char *what)
{
	struct tally_query query = {.nr_keys = 77};
	struct error error = {0};

	CHECK_EQ(tally_query_compile(options, &query, &error), want);
	if (!strstr(error.text, what))
		(void)fprintf(stderr, "%s\n", error.text);
	CHECK(strstr(error.text, what) != NULL);
	CHECK_EQ(query.nr_keys, 77);
}

TEST(tally_query_by_default_counts_by_function)
{
	const struct tally_query_options options = {0};
	struct tally_query query = compile(&options);

	CHECK_EQ(query.nr_keys, 1);
	CHECK_EQ(query.keys[0].kind, TALLY_KEY_FUNCTION);
	CHECK_STR(query.keys[0].name, "func");
	CHECK_EQ(query.program.plan.nr_key, 1);
	CHECK_EQ(query.program.plan.operands[query.program.plan.key[0]], TALLY_FUNCTION);
	CHECK_EQ(query.program.plan.value, TALLY_NO_WORD);
	CHECK_EQ(query.program.plan.where, TALLY_NO_WORD);
	CHECK(!query.needs_call && !query.needs_return && !query.program.plan.has_pairs);
	CHECK_EQ(tally_key_bytes(&query.program.plan), 16);
	CHECK_EQ(tally_row_bytes(&query.program.plan), 8);
}

TEST(tally_query_keys)
{
	const struct tally_query_options options = {
		.by = " func, comm ,str(arg1),(int)arg2 % 3,hex(arg3),(u64)arg4,cgroup,latency"};
	struct tally_query query = compile(&options);
	static const struct {
		const char *name;
		enum tally_key_kind kind;
		uint8_t first, nr;
	} want[] = {
		{"func", TALLY_KEY_FUNCTION, 0, 1},  {"comm", TALLY_KEY_TEXT, 1, 2},
		{"str(arg1)", TALLY_KEY_TEXT, 3, 8}, {"(int)arg2 % 3", TALLY_KEY_NUMBER, 11, 1},
		{"hex(arg3)", TALLY_KEY_HEX, 12, 1}, {"(u64)arg4", TALLY_KEY_UNSIGNED, 13, 1},
		{"cgroup", TALLY_KEY_CGROUP, 14, 1}, {"latency", TALLY_KEY_TIME, 15, 1},
	};
	size_t i;

	CHECK_EQ(query.nr_keys, COUNT(want));
	for (i = 0; i < COUNT(want); i++) {
		CHECK_STR(query.keys[i].name, want[i].name);
		CHECK_EQ(query.keys[i].kind, want[i].kind);
		CHECK_EQ(query.keys[i].first, want[i].first);
		CHECK_EQ(query.keys[i].nr, want[i].nr);
	}
	CHECK_EQ(query.program.plan.nr_key, 16);
	CHECK_EQ(query.program.plan.key[1], TALLY_MAX_NUMBERS);
	CHECK_EQ(query.program.plan.key[3], TALLY_MAX_NUMBERS + TALLY_TEXT_WORDS);
}

/* A comma in quotes or parentheses does not separate keys. */
TEST(tally_query_splits_keys)
{
	const struct tally_query_options options = {
		.by = "comm == \"a,b\\\",c\", arg1 == ',', ((arg2))"};
	struct tally_query query = compile(&options);

	CHECK_EQ(query.nr_keys, 3);
	CHECK_STR(query.keys[0].name, "comm == \"a,b\\\",c\"");
	CHECK_STR(query.keys[1].name, "arg1 == ','");
	CHECK_STR(query.keys[2].name, "((arg2))");
}

static void check_moments(const char *value, bool calls, bool returns, bool pairs)
{
	const struct tally_query_options options = {.value = value};
	struct tally_query query = compile(&options);

	CHECK_EQ(query.needs_call, calls);
	CHECK_EQ(query.needs_return, returns);
	CHECK_EQ(query.program.plan.has_pairs, pairs);
}

TEST(tally_query_tells_calls_from_returns)
{
	check_moments("arg1", true, false, false);
	check_moments("args.bytes", true, false, false);
	check_moments("retval", false, true, false);
	check_moments("retval + pid", false, true, false);
	check_moments("pid", false, false, false);
	check_moments("retval + arg1", true, true, true);
	check_moments("latency", true, true, true);
}

TEST(tally_query_values_and_filters)
{
	const struct tally_query_options options = {
		.value = "latency", .where = "comm == \"x\" && arg1", .log2 = true};
	struct tally_query query = compile(&options);

	CHECK_STR(query.value, "latency");
	CHECK(query.value_is_time);
	CHECK_EQ(query.program.plan.operands[query.program.plan.value], TALLY_LATENCY);
	CHECK(query.program.plan.where >= TALLY_MAX_OPERANDS);
	CHECK_EQ(query.program.plan.histogram, TALLY_LOG2);
	CHECK_EQ(query.program.plan.nr_buckets, TALLY_LOG2_BUCKETS);
	CHECK_EQ(query.program.plan.divisor, 1000);
	CHECK_EQ(tally_row_bytes(&query.program.plan), 32 + 8 * TALLY_LOG2_BUCKETS);
}

TEST(tally_query_log2_buckets)
{
	const struct tally_query_options options = {.value = "arg1", .log2 = true};
	struct tally_query query = compile(&options);
	const struct tally_plan *plan = &query.program.plan;
	int64_t from, to;

	CHECK_EQ(plan->divisor, 1);
	CHECK(!tally_bucket_range(plan, 0, &from, &to));
	CHECK_EQ(to, -1);
	CHECK(tally_bucket_range(plan, 1, &from, &to));
	CHECK(from == 0 && to == 0);
	CHECK(tally_bucket_range(plan, 2, &from, &to));
	CHECK(from == 1 && to == 1);
	CHECK(tally_bucket_range(plan, 5, &from, &to));
	CHECK(from == 8 && to == 15);
	CHECK(tally_bucket_range(plan, TALLY_LOG2_BUCKETS - 1, &from, &to));
	CHECK(from == 1LL << 62 && to == INT64_MAX);
}

static struct tally_plan linear(const char *text)
{
	const struct tally_query_options options = {.value = "arg1", .linear = text};

	return compile(&options).program.plan;
}

TEST(tally_query_linear_buckets)
{
	struct tally_plan plan = linear("-10,10,3");
	int64_t from, to;

	CHECK_EQ(plan.nr_buckets, 9); /* 7 steps, the last ends beyond 10; two outside */
	CHECK_EQ(plan.from, -10);
	CHECK_EQ(plan.step, 3);
	CHECK(!tally_bucket_range(&plan, 0, &from, &to));
	CHECK(from == INT64_MIN && to == -11);
	CHECK(tally_bucket_range(&plan, 1, &from, &to));
	CHECK(from == -10 && to == -8);
	CHECK(tally_bucket_range(&plan, 7, &from, &to));
	CHECK(from == 8 && to == 10);
	CHECK(!tally_bucket_range(&plan, 8, &from, &to));
	CHECK(from == 11 && to == INT64_MAX);
	CHECK_EQ(linear("0,4K,1K").nr_buckets, 6);
	CHECK_EQ(linear("0,1ms,10us").nr_buckets, 102);
	CHECK_EQ(linear("0, 256, 1").nr_buckets, 258);
	CHECK_EQ(linear("-9223372036854775808,9223372036854775807,0x7fffffffffffffff").nr_buckets,
		 5);
}

TEST(tally_query_refuses_linear)
{
	static const char *const wrong[] = {
		"",	 "1",	    "1,2",   "1,2,3,4", "a,b,c",   "0,10,0",  "0,10,-1",  "10,0,1",
		"5,5,1", "0,257,1", "0,10,", ",,",	"pid,1,1", "1+1,5,1", "0,10,1 2", "0;10;1",
	};
	size_t i;

	for (i = 0; i < COUNT(wrong); i++) {
		const struct tally_query_options options = {.value = "arg1", .linear = wrong[i]};

		check_refused(&options, -EINVAL, "for --linear");
	}
}

TEST(tally_query_refuses)
{
	check_refused(&(struct tally_query_options){.by = ""}, -EINVAL, "expected (column 1)");
	check_refused(&(struct tally_query_options){.by = "func,"}, -EINVAL, "expected (column 1)");
	check_refused(&(struct tally_query_options){.by = "func,x"}, -EINVAL, "no such operand");
	check_refused(&(struct tally_query_options){.by = "stack"}, -EINVAL,
		      "cannot use stacks as keys");
	check_refused(&(struct tally_query_options){.by = "hex()"}, -EINVAL, "expected (column 1)");
	check_refused(&(struct tally_query_options){.by = "pid,pid,pid,pid,pid,pid,pid,pid,pid"},
		      -E2BIG, "more than 8 keys");
	check_refused(&(struct tally_query_options){.by = "str(arg1),str(arg2),str(arg3),str(arg4),"
							  "str(arg5)"},
		      -E2BIG, "too large");
	check_refused(&(struct tally_query_options){.value = "comm"}, -EINVAL, "is a string");
	check_refused(&(struct tally_query_options){.where = "comm"}, -EINVAL, "is a string");
	check_refused(&(struct tally_query_options){.where = "arg1 >"}, -EINVAL, "(column 7)");
	check_refused(&(struct tally_query_options){.log2 = true}, -EINVAL, "--value is missing");
	check_refused(
		&(struct tally_query_options){.value = "arg1", .log2 = true, .linear = "1,2,1"},
		-EINVAL, "--hist and --linear cannot be combined");
}

TEST(tally_query_names_are_cut)
{
	char by[300] = "arg1";
	struct tally_query_options options = {.by = by};

	while (strlen(by) < 100)
		(void)strcat(by, " + 1");
	CHECK_EQ(strlen(compile(&options).keys[0].name), TALLY_KEY_NAME_BYTES - 1);
}
