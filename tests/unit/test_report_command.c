/* cmd/report: how the options of `stook report` are parsed. */
#include "cmd/report_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "cmd/options/output_options.h"
#include "unit/test.h"

static int parse_two(struct report_command_options *options, const char *option, const char *value,
		     struct error *error)
{
	const char *const words[] = {"report", option, value, NULL};

	*options = (struct report_command_options){.lines = false};
	optind = 0; /* glibc: full reset */
	return report_options_parse(options, ARRAY_SIZE(words) - 1, (char **)(uintptr_t)words,
				    error);
}

/* Parses -g and compares with "form order threshold limit". */
static void check_paths(const char *value, const char *expected)
{
	struct report_command_options options;
	struct error error = {0};
	char text[64];

	CHECK_EQ(parse_two(&options, "-g", value, &error), 0);
	(void)snprintf(text, sizeof(text), "%d %d %g %u", (int)options.style.paths.form,
		       (int)options.style.paths.order, options.style.paths.threshold,
		       options.style.paths.max_branches);
	CHECK_STR(text, expected);
	report_options_clear(&options);
}

TEST(report_options_of_paths_are_perfs)
{
	check_paths("graph,0.5,caller", "0 0 0.5 0");
	check_paths("caller,0.5,callee,fractal", "1 1 0.5 0");
	check_paths("flat,5,3,callee,function,percent", "2 1 5 3");
	check_paths("fol", "3 0 0 0");
	check_paths("f", "2 0 0 0"); /* "flat" has precedence over "fractal" and "folded" */
	check_paths("c", "0 0 0 0");
	check_paths("none", "4 0 0 0");
	check_paths("10", "0 0 10 0");
}

TEST(report_options_of_paths_that_make_no_sense)
{
	static const char *const wrong[] = {"",	   "graph,", "graphs", "101",	  "-1",	   "nan",
					    "1e1", "1,2,x",  "1,-2",   "address", "count", "0x10"};
	struct report_command_options options;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct error error = {0};

		CHECK_EQ(parse_two(&options, "-g", wrong[i], &error), -EINVAL);
		CHECK(strstr(error.text, "for --call-graph") != NULL);
		report_options_clear(&options);
	}
}

TEST(report_options_of_groups)
{
	struct report_command_options options;
	struct error error = {0};

	CHECK_EQ(parse_two(&options, "-s", "comm,dso,sym,dso", &error), 0);
	CHECK_EQ(options.style.nr_groups, 3);
	CHECK_EQ(options.style.groups[0], GROUP_COMM);
	CHECK_EQ(options.style.groups[1], GROUP_MODULE);
	CHECK_EQ(options.style.groups[2], GROUP_FUNCTION);
	CHECK(!options.request.categories);
	CHECK_EQ(parse_two(&options, "--group-by", "category", &error), 0);
	CHECK_STR(options.request.categories, "kernel");
	CHECK_EQ(parse_two(&options, "-s",
			   "comm,pid,tid,cpu,cgroup,probe,state,sym,dso,line,kind,category",
			   &error),
		 0);
	CHECK_EQ(options.style.nr_groups, NR_GROUP_KEYS);
	CHECK_EQ(parse_two(&options, "-s", "comm,", &error), -EINVAL);
	CHECK_EQ(parse_two(&options, "--by", "function", &error), -EINVAL);
	CHECK_EQ(parse_two(&options, "--by", "pid,cpu", &error), 0);
	CHECK_EQ(options.request.labels, LABEL_PID | LABEL_CPU);
	CHECK_EQ(parse_two(&options, "--by", "probe", &error), 0);
	CHECK_EQ(options.request.labels, LABEL_PROBE);
	report_options_clear(&options);
}

/* perf's names of columns that are always shown. */
TEST(report_options_of_columns)
{
	struct report_command_options options;
	struct error error = {0};

	CHECK_EQ(parse_two(&options, "-s", "overhead,overhead_children,sym,sample,period", &error),
		 0);
	CHECK_EQ(options.style.nr_groups, 1);
	CHECK_EQ(options.style.groups[0], GROUP_FUNCTION);
	CHECK_EQ(parse_two(&options, "-s", "overhead", &error), 0);
	CHECK_EQ(options.style.nr_groups, 0);
	CHECK_EQ(parse_two(&options, "-s", "overheads", &error), -EINVAL);
	report_options_clear(&options);
}

TEST(report_options_ask_for_what_is_there)
{
	struct report_command_options options;
	struct error error = {0};

	CHECK_EQ(parse_two(&options, "-s", "pid,sym", &error), 0);
	CHECK_EQ(label_keys_check(report_options_labels(&options), LABEL_COMM | LABEL_PID, &error),
		 0);
	CHECK_EQ(label_keys_check(report_options_labels(&options), LABEL_COMM, &error), -EINVAL);
	CHECK_STR(error.text, "the profile does not distinguish samples by pid");
	CHECK_STR(error.hint, "record it with --by pid; for perf's text, 'perf script -F +pid'");
	CHECK_EQ(parse_two(&options, "-s", "sym,kind", &error), 0);
	CHECK_EQ(label_keys_check(report_options_labels(&options), 0, &error), 0);
	report_options_clear(&options);
}

TEST(report_options_take_perfs_habits)
{
	static const char *const words[] = {
		"report",	   "-i",   "a",	    "--input", "b",	    "--stdio",
		"--dsos",	   "lib",  "--dso", "c",       "--symbols", "read",
		"--percent-limit", "1.5%", NULL};
	struct report_command_options options = {.lines = false};
	const struct filter_criterion(*criteria)[NR_FILTER_SENSES] =
		options.request.filter.filter.criteria;
	struct error error = {0};

	optind = 0;
	CHECK_EQ(report_options_parse(&options, ARRAY_SIZE(words) - 1, (char **)(uintptr_t)words,
				      &error),
		 0);
	CHECK_EQ(options.request.paths.nr, 2);
	CHECK_STR(options.request.paths.paths[1], "b");
	CHECK(options.style.least_percent == 1.5);
	CHECK(filter_criterion_is_used(&criteria[FILTER_MODULE][FILTER_WANTED]));
	CHECK(filter_criterion_is_used(&criteria[FILTER_SYMBOL][FILTER_WANTED]));
	report_options_clear(&options);
}

TEST(report_options_tell_what_perfs_n_is)
{
	struct report_command_options options;
	struct error error = {0};

	CHECK_EQ(parse_two(&options, "-n", "in.perf", &error), -EINVAL);
	CHECK_STR(error.hint,
		  "perf's -n (--show-nr-samples) is not needed: the table shows samples");
	CHECK_EQ(parse_two(&options, "-n", "0", &error), -EINVAL);
	CHECK_STR(error.text, "bad value '0' for --top: a number of rows, at least 1");
	CHECK_STR(error.hint, "");
	CHECK_EQ(parse_two(&options, "-n", "--stdio", &error), -EINVAL);
	CHECK(*error.hint);
	CHECK_EQ(parse_two(&options, "--percent-limit", "%", &error), -EINVAL);
	report_options_clear(&options);
}
