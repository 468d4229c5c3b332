/* cmd/options/probe_options and cmd/funccount: command lines, parsed and refused. */
#include "cmd/funccount_test.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "probe/attach/probe_features.h"
#include "unit/test.h"

static struct funccount_options options;
static struct error error;

static int parse(int argc, const char *const *words)
{
	task_options_clear(&options.tasks);
	error = (struct error){0};
	optind = 0; /* glibc: full reset */
	return funccount_options_parse(argc, (char **)(uintptr_t)words, &options, &error);
}

#define PARSE(...)                                                                      \
	({                                                                              \
		static const char *const words_[] = {"funccount", ##__VA_ARGS__, NULL}; \
                                                                                        \
		parse((int)ARRAY_SIZE(words_) - 1, words_);                             \
	})

#define CHECK_REFUSES(expected, ...)                   \
	do {                                           \
		CHECK_EQ(PARSE(__VA_ARGS__), -EINVAL); \
		CHECK_STR(error.text, (expected));     \
	} while (0)

TEST(probe_options_words_are_patterns_and_a_duration)
{
	CHECK_EQ(PARSE("vfs_*", "2.5", "c:malloc", "!c:mem*", "--", "ls", "7"), 0);
	CHECK_EQ(options.probes.nr_patterns, 3);
	CHECK_STR(options.probes.patterns[0], "vfs_*");
	CHECK_STR(options.probes.patterns[2], "!c:mem*");
	CHECK_EQ(options.tasks.duration_ns, 5 * NS_PER_SEC / 2);
	CHECK_STR(options.tasks.command[1], "7");
	CHECK_EQ(PARSE("vfs_*", "10s"), 0);
	CHECK_EQ(options.probes.nr_patterns, 1);
	CHECK_EQ(options.tasks.duration_ns, 10 * NS_PER_SEC);
	CHECK_EQ(PARSE("500ms", "vfs_*", "-i", "100ms"), 0);
	CHECK_EQ(options.tasks.duration_ns, NS_PER_SEC / 2);
	CHECK_EQ(options.tasks.interval_ns, NS_PER_SEC / 10);
	/* An address, functions of a pid, a name that begins with a digit. */
	CHECK_EQ(PARSE("0xffffffff81000000", "123:main", "9p_read", ".", "1e3"), 0);
	CHECK_EQ(options.probes.nr_patterns, 5);
	CHECK_EQ(options.tasks.duration_ns, 0);
	CHECK_REFUSES("more than one duration: '3'", "vfs_*", "2", "3");
	CHECK_REFUSES("bad value '0' for --duration: seconds above 0, or with a unit: 500ms, "
		      "10s, 2m, 1h",
		      "vfs_*", "0");
	CHECK_REFUSES("no pattern given: which functions?", "5");
	CHECK_EQ(PARSE("+1"), -EINVAL);
	CHECK_REFUSES("bad pattern 'c:(a': no ')' for this '(' (column 3)", "vfs_*", "c:(a");
	CHECK_EQ(PARSE("c:a++"), 0);
	CHECK_EQ(PARSE("c:a(", "-r"), -EINVAL);
	task_options_clear(&options.tasks);
}

TEST(probe_options_patterns_have_a_limit)
{
	const char *words[PROBE_PATTERNS_MAX + 3] = {"funccount"};
	size_t i;

	for (i = 1; i <= PROBE_PATTERNS_MAX + 1; i++)
		words[i] = "x";
	CHECK_EQ(parse(PROBE_PATTERNS_MAX + 1, words), 0);
	CHECK_EQ(options.probes.nr_patterns, PROBE_PATTERNS_MAX);
	CHECK_EQ(parse(PROBE_PATTERNS_MAX + 2, words), -E2BIG);
}

TEST(probe_options_budget)
{
	CHECK_EQ(PARSE("x"), 0);
	CHECK(options.probes.budget == BUDGET_UNSET);
	CHECK_EQ(PARSE("x", "--budget", "5%"), 0);
	CHECK(options.probes.budget > 0.0499 && options.probes.budget < 0.0501);
	CHECK_EQ(PARSE("x", "--budget", "0.5%"), 0);
	CHECK(options.probes.budget > 0.00499 && options.probes.budget < 0.00501);
	CHECK_EQ(PARSE("x", "--budget", "off"), 0);
	CHECK(options.probes.budget == 0);
	CHECK_REFUSES("bad value '5' for --budget: a share of each CPU such as 5%, or off", "x",
		      "--budget", "5");
	CHECK_EQ(PARSE("x", "--budget", ""), -EINVAL);
	CHECK_EQ(PARSE("x", "--budget", "%"), -EINVAL);
	CHECK_EQ(PARSE("x", "--budget", "0%"), -EINVAL);
	CHECK_EQ(PARSE("x", "--budget", "101%"), -EINVAL);
	CHECK_EQ(PARSE("x", "--budget", "-5%"), -EINVAL);
	CHECK_EQ(PARSE("x", "--budget", "nan%"), -EINVAL);
	CHECK_EQ(PARSE("x", "--budget", "5 %"), -EINVAL);
}

TEST(probe_options_without_features)
{
	CHECK_EQ(PARSE("x", "--without", "uprobe_multi,fentry", "--without=uprobe_pid"), 0);
	CHECK_EQ(options.probes.without, 1U << PROBE_FEATURE_UPROBE_MULTI |
						 1U << PROBE_FEATURE_FENTRY |
						 1U << PROBE_FEATURE_UPROBE_PID);
	CHECK_EQ(PARSE("x", "--without", "uprobe"), -EINVAL);
	CHECK(strstr(error.text, "'uprobe'") != NULL);
	CHECK_EQ(PARSE("x", "--without", ",fentry"), -EINVAL);
}

TEST(probe_options_max_probes)
{
	CHECK_EQ(PARSE("x", "--max-probes", "20000"), 0);
	CHECK_EQ(options.probes.max_probes, 20000);
	CHECK_EQ(PARSE("x", "--max-probes", "0"), -EINVAL);
	CHECK_EQ(PARSE("x", "--max-probes", "many"), -EINVAL);
}

TEST(funccount_options_output)
{
	CHECK_EQ(PARSE("x", "-o", "a.csv"), 0);
	CHECK_EQ(options.output.path_format, MEDIA_CSV);
	CHECK_EQ(PARSE("x", "-o", "a.json"), 0);
	CHECK_EQ(options.output.path_format, MEDIA_JSON);
	CHECK_EQ(PARSE("x", "-o", "a.txt"), 0);
	CHECK_EQ(options.output.path_format, MEDIA_TEXT);
	CHECK_EQ(PARSE("x", "-o", "a.md"), 0);
	CHECK_EQ(options.output.path_format, MEDIA_MARKDOWN);
	CHECK_EQ(PARSE("x", "-o", "/dev/null"), 0);
	CHECK_EQ(options.output.path_format, MEDIA_TEXT);
	CHECK_REFUSES("unknown format of 'a.xml': the name must end in .txt, .md, .json or .csv",
		      "x", "-o", "a.xml");
	CHECK_REFUSES("--json cannot be combined with --csv", "x", "--json", "--csv");
	CHECK_EQ(PARSE("x", "--format", "md"), 0);
	CHECK_EQ(options.output.format, MEDIA_MARKDOWN);
	CHECK_REFUSES("bad value 'svg' for --format: text, md, json or csv", "x", "--format",
		      "svg");
	CHECK_REFUSES("--format cannot be combined with --csv", "x", "--csv", "--format", "csv");
	CHECK_REFUSES("-o cannot be combined with --list", "x", "-l", "-o", "a.csv");
}

TEST(funccount_options_order)
{
	CHECK_EQ(PARSE("x", "--sort", "rate", "--top", "9", "-Ti", "1"), 0);
	CHECK_EQ(options.order, CALL_BY_RATE);
	CHECK_EQ(options.top, 9);
	CHECK(options.timestamp);
	CHECK_EQ(options.tasks.interval_ns, NS_PER_SEC);
	CHECK_REFUSES("bad value 'size' for --sort: count, name or rate", "x", "--sort", "size");
	CHECK_REFUSES("bad value '0' for --top: a number of functions, at least 1", "x", "--top",
		      "0");
}

TEST(task_options_contradictions)
{
	CHECK_REFUSES("-a cannot be combined with -p or -t", "x", "-a", "-p", "1");
	CHECK_REFUSES("-p or -t cannot be combined with '-- CMD'", "x", "-t", "1", "--", "ls");
	CHECK_REFUSES("no command after '--'", "x", "--");
	CHECK_EQ(PARSE("x", "-p", "3,1", "-t", "2"), 0);
	CHECK_EQ(options.tasks.nr_pids, 2);
	task_options_clear(&options.tasks);
}
