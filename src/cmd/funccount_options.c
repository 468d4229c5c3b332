/* Parsing of `stook funccount`'s options; letters are those that bcc's users have in their fingers. */
#include "cmd/funccount_options.h"

#include <errno.h>
#include <limits.h>

#include "base/array.h"
#include "cmd/call_keys.h"

#define ROWS_MAX (1U << 20)

static int take_top(void *context, const char *value, struct error *error)
{
	static const struct option_number top = {"--top", 1, INT_MAX,
						 "a number of functions, at least 1"};
	struct funccount_options *options = context;

	return option_take_number(&top, value, &options->top, error);
}

static int take_sort(void *context, const char *value, struct error *error)
{
	static const char *const names[] = {
		[CALL_BY_COUNT] = "count", [CALL_BY_NAME] = "name", [CALL_BY_RATE] = "rate"};
	struct funccount_options *options = context;
	int order = option_take_choice("--sort", value, names, ARRAY_SIZE(names), error);

	if (order < 0)
		return order;
	options->order = (enum call_order)order;
	return 0;
}

static int take_by(void *context, const char *value, struct error *error)
{
	struct funccount_options *options = context;

	options->by = value;
	return call_keys_check(value, error);
}

static int take_max_rows(void *context, const char *value, struct error *error)
{
	static const struct option_number max_rows = {"--max-rows", 1, ROWS_MAX,
						      "a number from 1 to 1048576"};
	struct funccount_options *options = context;

	return option_take_number(&max_rows, value, &options->max_rows, error);
}

static const struct option_row rows[] = {
	{0, "by", "KEY,…", take_by, "a row for each function and pid, tid, comm, cpu, cgroup"},
	{0, "max-rows", "N", take_max_rows, "how many rows of --by there may be (32768)"},
	{0, "top", "N", take_top, "only the N functions with the most calls"},
	{0, "sort", "KEY", take_sort, "by count (default), name or rate, largest last"},
	OPTION_SWITCH(0, "rate", struct funccount_options, rate, "a column of calls a second"),
	OPTION_SWITCH('T', "timestamp", struct funccount_options, timestamp,
		      "the time of day above each table"),
};

#define USAGE                                                                              \
	"usage: stook funccount [OPTIONS] PATTERN… [SECS] [-- CMD ARG…]\n"             \
	"\n"                                                                               \
	"Counts the calls of all functions that match, and prints a table. Patterns:\n"    \
	"  tcp_send*                   kernel functions\n"                                 \
	"  redis-server:(call*|*Read*) functions of a program on PATH, a path, or a PID\n" \
	"  c:malloc                    those of a library\n"                               \
	"  r:c:malloc                  returns instead of calls\n"                         \
	"  t:sched:sched_*             tracepoints\n"                                      \
	"  u:LIB:PROVIDER:PROBE        static probes (USDT)\n"                             \
	"  !c:mem*                     leaves out\n"

#define EXAMPLES                                                                               \
	"\nexamples:\n"                                                                        \
	"  stook funccount 'vfs_*'                      until Ctrl-C\n"                        \
	"  stook funccount -Ti 5 'tcp_*'                a table every five seconds\n"          \
	"  stook funccount 'redis-server:(call*|*Read*)' -p $(pgrep -d, redis-server) -d 60\n" \
	"  stook funccount --by pid,comm c:malloc 10    who calls it\n"                        \
	"  stook funccount --top 20 'c:*alloc*' -- ls -l /usr/bin"

static int check(const struct funccount_options *options, struct error *error)
{
	int err = probe_options_check(&options->probes, "which functions?", "'vfs_*' or c:malloc",
				      error);

	return err ? err : row_output_options_check(&options->output, options->probes.list, error);
}

int funccount_options_parse(int argc, char **argv, struct funccount_options *ret,
			    struct error *error)
{
	const struct option_group groups[] = {
		probe_options_group(&ret->probes),
		task_options_group(&ret->tasks),
		{rows, ARRAY_SIZE(rows), ret},
		row_output_options_group(&ret->output),
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

	*ret = (struct funccount_options){.probes = PROBE_OPTIONS_INIT,
					  .max_rows = FUNCCOUNT_ROWS_DEFAULT};
	err = option_table_parse(&table, argc, argv, error);
	if (!err)
		err = task_options_finish(&ret->tasks, argc, argv, error);
	return err ? err : check(ret, error);
}

void funccount_options_clear(struct funccount_options *options)
{
	task_options_clear(&options->tasks);
}
