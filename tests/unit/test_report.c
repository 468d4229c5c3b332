/* view/report as text: the contents of its lines; the layout is a golden, see test_writers.c. */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "format/format.h"
#include "unit/make_profile.h"
#include "view/report.h"

static char *report(const struct profile *profile, struct format_options options)
{
	char *text = NULL;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	CHECK_EQ(format_by_name("report")->write(profile, &options, out), 0);
	(void)fclose(out);
	return text;
}

/* Checks that the report contains each of these lines; frees the profile. */
static void check_has(struct profile *profile, struct format_options options,
		      const char *const *lines)
{
	char *text;

	options.labels |= LABEL_COMM;
	text = report(profile, options);
	for (; *lines; lines++) {
		if (!strstr(text, *lines))
			fprintf(stderr, "no '%s' in:\n%s", *lines, text);
		CHECK(strstr(text, *lines) != NULL);
	}
	free(text);
	profile_free(profile);
}

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(report_of_nothing)
{
	struct profile *profile = profile_new();
	char *text = report(profile, (struct format_options){0});

	CHECK_STR(text, "No samples.\n");
	free(text);
	profile_free(profile);
}

TEST(report_table_counts_functions_once)
{
	struct profile *profile = profile_new();

	(void)make_sample(profile, "a;main;fib;fib@1;fib@2 1000");
	(void)make_sample(profile, "a;main;libc.so!read;sys_read_[k] 1000");
	check_has(profile, (struct format_options){0},
		  LINES("2,000 samples\n", " 50.0%    1,000   50.0%  fib       app\n",
			" 50.0%    1,000   50.0%  sys_read  [kernel]\n"));
}

TEST(report_of_sums_says_so)
{
	struct profile *profile = profile_new();
	const struct profile_origin origin = {.period = 1};
	char *text;

	profile_set_origin(profile, &origin);
	set_main_value(profile, "arg1\033[2J", "count");
	text = report(profile, (struct format_options){0});
	CHECK_STR(text, "The sum is 0.\n");
	free(text);
	(void)make_sample(profile, "a;main;f 1000");
	check_has(profile, (struct format_options){0},
		  LINES("1,000, the sum of arg1?[2J\n", "  SELF    SUM   TOTAL  FUNCTION",
			"100.0%  1,000  100.0%  f "));
}

static void check_sum(const char *unit, const char *line, const char *head, const char *row)
{
	struct profile *profile = profile_new();
	const struct profile_origin origin = {.period = 1};

	profile_set_origin(profile, &origin);
	set_main_value(profile, "cpu", unit);
	(void)make_sample(profile, line);
	check_has(profile, (struct format_options){0}, LINES(head, row));
}

TEST(report_of_times_has_seconds)
{
	check_sum("nanoseconds", "a;f 9969939800", "9.970 s of cpu\n",
		  "100.0%    9,970  100.0%  f ");
	check_sum("nanoseconds", "a;f 9969939800", "  SELF  SUM, MS   TOTAL", "f ");
	check_sum("nanoseconds", "a;f 1234567", "1.235 ms of cpu\n", "100.0%    1,235  100.0%  f ");
	check_sum("nanoseconds", "a;f 999", "999 ns of cpu\n", "  SELF  SUM, NS   TOTAL");
	check_sum("nanoseconds", "a;f 12345678900000", "12,345.679 s of cpu\n", "SUM, S ");
	check_sum("bytes", "a;f 4096", "4,096 bytes of cpu\n", "  SELF  SUM, BYTES   TOTAL");
}

TEST(report_of_one_sample)
{
	check_has(make_profile("a;f 1\n"), (struct format_options){0},
		  LINES("1 sample\n", "  SELF  SAMPLES   TOTAL  FUNCTION"));
}

TEST(report_says_what_is_counted)
{
	struct profile *profile = profile_new();
	const struct profile_origin origin = {.period = 1};
	char *text;

	profile_set_origin(profile, &origin);
	set_main_value(profile, "hits", "count");
	text = report(profile, (struct format_options){0});
	CHECK_STR(text, "No hits.\n");
	free(text);
	(void)make_sample(profile, "a;main;f 1000");
	check_has(profile, (struct format_options){0},
		  LINES("1,000 hits\n", "  SELF   HITS   TOTAL  FUNCTION",
			"100.0%  1,000  100.0%  f "));
}

TEST(report_table_ends_with_the_rest)
{
	struct profile *profile = profile_new();

	(void)make_sample(profile, "a;f 50");
	(void)make_sample(profile, "a;g 30");
	(void)make_sample(profile, "a;h 11");
	(void)make_sample(profile, "a;i 5");
	(void)make_sample(profile, "a 4");
	check_has(profile, (struct format_options){.report = &(struct report_style){.max_rows = 2}},
		  LINES(" 30.0%       30   30.0%  g         app\n",
			" 16.0%       16          … 2 more\n",
			"  4.0%        4          (no stack)\n"));
}

TEST(report_chain_does_not_indent)
{
	struct profile *profile = profile_new();

	(void)make_sample(profile, "a;main;f;g;h 60");
	(void)make_sample(profile, "a;main;f;g;i;j;sys_[k] 40");
	check_has(profile, (struct format_options){0},
		  LINES("100.0%  a\n"
			"100.0%  └ main\n"
			"          f\n"
			"          g\n"
			" 60.0%    ├ h\n"
			" 40.0%    └ i\n"
			"            j\n"
			"            sys [k]\n"));
}

TEST(report_forks_at_own_time)
{
	struct profile *profile = profile_new();

	(void)make_sample(profile, "a;main;f 30");
	(void)make_sample(profile, "a;main;f;g 60");
	(void)make_sample(profile, "a;main;f;h 10");
	check_has(profile, (struct format_options){0},
		  LINES("          f\n"
			" 60.0%    ├ g\n"
			" 30.0%    ├ (self)\n"
			" 10.0%    └ h\n"));
}

TEST(report_sums_what_is_small)
{
	struct profile *profile = profile_new();

	(void)make_sample(profile, "a;main;f 90");
	(void)make_sample(profile, "a;main;g 4");
	(void)make_sample(profile, "a;main;h 3");
	(void)make_sample(profile, "b;main 3");
	check_has(profile,
		  (struct format_options){
			  .report = &(struct report_style){.paths.has_threshold = true,
							   .paths.threshold = 5}},
		  LINES("CALL PATH (below 5% left out)\n", " 90.0%    ├ f\n",
			"  7.0%    └ … 2 others\n"));
}

TEST(report_heads_are_not_callers)
{
	struct profile *profile = profile_new();

	(void)make_labelled(profile, (struct sample_labels){.pid = 1, .tid = 2, .cpu = 3},
			    "a;main 75");
	(void)make_labelled(profile, (struct sample_labels){.pid = 1, .tid = 2, .cpu = 1}, "a 25");
	check_has(profile, (struct format_options){.labels = LABEL_TID | LABEL_CPU},
		  LINES("100.0%  a-1/2\n"
			" 75.0%  ├ cpu 3\n"
			" 75.0%  │ └ main\n"
			" 25.0%  └ cpu 1\n"
			" 25.0%    └ (no stack)\n"));
}

TEST(report_keeps_the_module_of_unknown_frames)
{
	struct profile *profile = profile_new();

	(void)make_sample(profile, "a;main;libx.so!;libx.so!@1;liby.so!;! 1");
	check_has(profile, (struct format_options){0},
		  LINES("          [unknown] (libx.so)\n"
			"          [unknown] (liby.so)\n"
			"          [unknown]\n",
			"  [unknown]  [unknown]\n"));
}

/* Long names, many forks and deep stacks: no line may exceed the width. */
static struct profile *unruly_profile(void)
{
	struct profile *profile = profile_new();
	char line[16000] = "a comm that is rather long indeed;main";
	size_t nr = strlen(line);
	int i;

	for (i = 0; i < 100; i++) {
		nr += (size_t)snprintf(
			line + nr, sizeof(line) - nr, ";%d.so!näme_%d_of_a_lengthy_kind%s", i % 3,
			i, i % 3 ? "" : "<with, arguments, of, a, template>::operator()");
		(void)snprintf(line + nr, sizeof(line) - nr, " %d", 100000 + i);
		(void)make_sample(profile, line);
	}
	return profile;
}

static void check_widths(const char *text, size_t width)
{
	char *copy = strdup(text);
	char *rest = copy;
	char *line;

	while ((line = strsep(&rest, "\n"))) {
		if (text_columns(line) > width)
			fprintf(stderr, "'%s'\n", line);
		CHECK(text_columns(line) <= width);
	}
	free(copy);
}

TEST(report_stays_within_its_width)
{
	struct profile *profile = unruly_profile();
	struct format_options options = {.labels = LABEL_COMM,
					 .report =
						 &(struct report_style){.paths.has_threshold = true,
									.paths.threshold = 0.01}};
	unsigned width;

	for (width = 60; width < 200; width += 7) {
		char *text;

		options.width = width;
		options.ascii = width % 2;
		text = report(profile, options);
		check_widths(text, width);
		free(text);
	}
	profile_free(profile);
}

TEST(report_is_short_unless_told)
{
	struct profile *profile = unruly_profile();
	char *text = report(profile, (struct format_options){.labels = LABEL_COMM});

	CHECK(strstr(text, "(below 1% left out)") || strstr(text, "(below 2% left out)"));
	free(text);
	profile_free(profile);
}

/* Sixty tasks that wait for the same time: none of them has 2 %. */
TEST(report_is_not_short_of_most)
{
	struct profile *profile = profile_new();
	char line[64];
	int i;

	for (i = 0; i < 60; i++) {
		(void)snprintf(line, sizeof(line), "task%d;main;wait;switch 10", i);
		(void)make_sample(profile, line);
	}
	check_has(profile, (struct format_options){0},
		  LINES("CALL PATH (below 1% left out)\n", "  1.7%  task0\n", "  1.7%  task59\n"));
}

TEST(report_tells_of_other_stacks)
{
	struct profile *profile = profile_new();

	profile_set_limit(profile, 1);
	(void)make_sample(profile, "a;main 10");
	(void)make_sample(profile, "a;work 5");
	check_has(profile, (struct format_options){0},
		  LINES("5 of them in [other stacks]: limit on stacks in memory reached\n",
			"[other stacks]\n"));
}

TEST(report_tells_when_it_cannot_write)
{
	struct profile *profile = profile_new();
	const struct format_options options = {.labels = LABEL_COMM};
	FILE *full = fopen("/dev/full", "w");

	if (!full)
		SKIP("needs /dev/full");
	(void)make_sample(profile, "a;main 1");
	CHECK_EQ(format_by_name("report")->write(profile, &options, full), -ENOSPC);
	(void)fclose(full);
	profile_free(profile);
}

TEST(report_without_memory)
{
	struct profile *profile = profile_new();
	const struct format_options options = {.labels = LABEL_COMM};
	FILE *out = fopen("/dev/null", "w");
	size_t nth = 1;
	int result;

	(void)make_sample(profile, "a;main;fib;fib@1;g 1");
	(void)make_sample(profile, "a;main;fib 1");
	(void)make_sample(profile, "b;main;fib 1");
	do {
		(void)test_fail_allocation(nth++);
		result = format_by_name("report")->write(profile, &options, out);
		(void)test_fail_allocation(0);
		CHECK(result == 0 || result == -ENOMEM);
	} while (result < 0);
	CHECK(nth > 20);
	(void)fclose(out);
	profile_free(profile);
}
