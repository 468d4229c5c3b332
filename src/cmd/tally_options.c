/* Parsing of `stook tally`'s options. What expressions say is for src/event to find out. */
#include "cmd/tally_options.h"

#include <errno.h>
#include <limits.h>

#include "base/array.h"

#define ROWS_MAX (1U << 20)

static int take_by(void *context, const char *value, struct error *error)
{
	((struct tally_options *)context)->by = value;
	return 0;
}

static int take_value(void *context, const char *value, struct error *error)
{
	((struct tally_options *)context)->value = value;
	return 0;
}

static int take_where(void *context, const char *value, struct error *error)
{
	((struct tally_options *)context)->where = value;
	return 0;
}

static int take_hist(void *context, const char *value, struct error *error)
{
	((struct tally_options *)context)->log2 = true;
	return 0;
}

static int take_linear(void *context, const char *value, struct error *error)
{
	((struct tally_options *)context)->linear = value;
	return 0;
}

static int take_top(void *context, const char *value, struct error *error)
{
	static const struct option_number top = {"--top", 1, INT_MAX,
						 "a number of rows, at least 1"};
	struct tally_options *options = context;

	return option_take_number(&top, value, &options->top, error);
}

static int take_sort(void *context, const char *value, struct error *error)
{
	static const char *const names[] = {
		[TALLY_BY_COUNT] = "count", [TALLY_BY_KEY] = "key", [TALLY_BY_SUM] = "sum",
		[TALLY_BY_MIN] = "min",	    [TALLY_BY_AVG] = "avg", [TALLY_BY_MAX] = "max",
	};
	struct tally_options *options = context;
	int order = option_take_choice("--sort", value, names, ARRAY_SIZE(names), error);

	if (order < 0)
		return order;
	options->order = (enum tally_order)order;
	return 0;
}

static int take_limit(const char *option, const char *value, size_t *ret, struct error *error)
{
	const struct option_number limit = {option, 1, ROWS_MAX, "a number from 1 to 1048576"};

	return option_take_number(&limit, value, ret, error);
}

static int take_max_rows(void *context, const char *value, struct error *error)
{
	struct tally_options *options = context;

	return take_limit("--max-rows", value, &options->max_rows, error);
}

static int take_max_calls(void *context, const char *value, struct error *error)
{
	struct tally_options *options = context;

	return take_limit("--max-calls", value, &options->max_calls, error);
}

static int take_timestamp(void *context, const char *value, struct error *error)
{
	((struct tally_options *)context)->timestamp = true;
	return 0;
}

static const struct option_row rows[] = {
	{0, "by", "KEY,…", take_by, "func (default), comm, pid, tid, cpu, …, or any expression"},
	{0, "value", "EXPR", take_value, "what to sum up: arg2, retval, latency, args.bytes, …"},
	{0, "where", "EXPR", take_where, "only hits of which this is true: 'arg2 > 4K'"},
	{0, "hist", NULL, take_hist, "a histogram of the value for each key, by powers of two"},
	{0, "linear", "MIN,MAX,STEP", take_linear, "a histogram with steps of one size"},
	{0, "top", "N", take_top, "only the N largest rows"},
	{0, "sort", "WHAT", take_sort,
	 "by count (default), key, sum, min, avg or max, largest last"},
	{0, "max-rows", "N", take_max_rows, "how many keys are told apart (8192)"},
	{0, "max-calls", "N", take_max_calls, "how many calls may be under way at a time (32768)"},
	{'T', "timestamp", NULL, take_timestamp, "the time of day above each table"},
};

#define USAGE                                                                                 \
	"usage: stook tally [OPTIONS] PATTERN… [SECS] [-- CMD ARG…]\n"                    \
	"\n"                                                                                  \
	"Counts hits of functions, tracepoints and static probes by key, and sums up a\n"     \
	"value of them. Patterns are those of 'stook funccount'. Keys and values:\n"          \
	"  arg1 … arg6, retval         of functions; arg1 … arg12 of static probes\n"     \
	"  args.FIELD                  of tracepoints\n"                                      \
	"  latency                     nanoseconds from call to return\n"                     \
	"  str(arg1)                   the text at an address\n"                              \
	"  func comm pid tid uid cpu cgroup\n"                                                \
	"and what C makes of numbers: (int)arg1, arg2 >> 12, arg3 & 0xff; hex(…) shows a\n" \
	"key in hexadecimal.\n"

#define EXAMPLES                                                                           \
	"\nexamples:\n"                                                                    \
	"  stook tally c:malloc --value arg1 --by comm --hist 10\n"                        \
	"  stook tally vfs_read --value latency --by comm --top 10 -i 1\n"                 \
	"  stook tally t:block:block_rq_issue --by args.dev --value args.bytes\n"          \
	"  stook tally c:open --by 'str(arg1)' --where '(int)retval < 0' -- ls /nowhere\n" \
	"  stook tally c:write --value arg3 --where 'arg1 == 1 && arg3 > 4K' -p 4711"

struct tally_query_options tally_options_query(const struct tally_options *options)
{
	return (struct tally_query_options){
		.by = options->by,
		.value = options->value,
		.where = options->where,
		.log2 = options->log2,
		.linear = options->linear,
	};
}

/* What does not depend on the probes. It is compiled again for these. */
static int check_query(const struct tally_options *options, struct error *error)
{
	const struct tally_query_options wanted = tally_options_query(options);
	struct tally_query query;

	return tally_query_compile(&wanted, &query, error);
}

static int check(const struct tally_options *options, struct error *error)
{
	int err = probe_options_check(&options->probes, "hits of what?", "vfs_read or c:malloc",
				      error);

	if (!err)
		err = check_query(options, error);
	if (!err && !options->value && options->order > TALLY_BY_KEY)
		err = error_set(error, -EINVAL, "--sort by what? --value is missing");
	return err ? err : row_output_options_check(&options->output, options->probes.list, error);
}

int tally_options_parse(int argc, char **argv, struct tally_options *ret, struct error *error)
{
	const struct option_group groups[] = {
		{rows, ARRAY_SIZE(rows), ret},
		row_output_options_group(&ret->output),
		probe_options_group(&ret->probes),
		task_options_group(&ret->tasks),
	};
	struct probe_words words = {&ret->probes, &ret->tasks};
	const struct option_table table = {
		.groups = groups,
		.nr_groups = ARRAY_SIZE(groups),
		.take_word = probe_options_take_word,
		.context = &words,
		.usage = USAGE,
		.examples = EXAMPLES,
	};
	int err;

	*ret = (struct tally_options){
		.probes = PROBE_OPTIONS_INIT,
		.max_rows = TALLY_ROWS_DEFAULT,
		.max_calls = TALLY_CALLS_DEFAULT,
	};
	err = option_table_parse(&table, argc, argv, error);
	if (!err)
		err = task_options_finish(&ret->tasks, argc, argv, error);
	return err ? err : check(ret, error);
}

void tally_options_clear(struct tally_options *options)
{
	task_options_clear(&options->tasks);
}
