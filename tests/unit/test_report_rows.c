/*
 * view/group_totals and the formats that have a report's rows: what is in them, and that it is
 * safe.
 */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/text/markdown.h"
#include "format/text/report_csv.h"
#include "format/text/report_json.h"
#include "format/text/report_rows.h"
#include "unit/make_profile.h"

static struct profile *some_profile(void)
{
	struct profile *profile = profile_new();

	(void)make_labelled(profile, (struct sample_labels){.pid = 1, .tid = 1},
			    "a;main;fib;fib@1;fib@2 10");
	(void)make_labelled(profile, (struct sample_labels){.pid = 1, .tid = 2},
			    "a;main;fib;liba.so!work;sys_read_[k] 5");
	(void)make_labelled(profile, (struct sample_labels){.pid = 2, .tid = 3, .cpu = 1},
			    "b;main;libb.so!work{/src/w.c:7} 3");
	(void)make_labelled(profile, (struct sample_labels){.pid = 2, .tid = 3},
			    "b;main;libb.so!;libb.so!@1 2");
	(void)make_labelled(profile, (struct sample_labels){.pid = 2, .tid = 3}, "b 1");
	return profile;
}

/* All rows as "KEY KEY self/total;". */
static void check_rows(const struct report_style *style, const char *expected)
{
	struct profile *profile = some_profile();
	char text[512] = "", buffer[REPORT_CELL_BYTES];
	struct report_rows rows;
	size_t i, k, nr = 0;

	CHECK_EQ(report_rows_init(&rows, profile, style, NULL), 0);
	for (i = 0; i < rows.nr; i++) {
		const struct group_total *group = &rows.totals.groups[i];

		for (k = 0; k < rows.nr_keys; k++)
			nr += (size_t)snprintf(
				text + nr, sizeof(text) - nr, "%s ",
				report_rows_text(&rows, group, rows.keys[k], buffer));
		nr += (size_t)snprintf(text + nr, sizeof(text) - nr, "%d/%d;", (int)group->self,
				       (int)group->total);
	}
	CHECK_STR(text, expected);
	report_rows_clear(&rows);
	profile_free(profile);
}

#define BY(...)                                          \
	(&(struct report_style){.groups = {__VA_ARGS__}, \
				.nr_groups = sizeof((int[]){__VA_ARGS__}) / sizeof(int)})

TEST(rows_by_function)
{
	check_rows(&(struct report_style){0},
		   "fib app 10/15;sys_read [kernel] 5/5;work libb.so 3/3;[unknown] libb.so 2/2;"
		   "main app 0/20;work liba.so 0/5;");
	check_rows(BY(GROUP_FUNCTION), "fib 10/15;sys_read 5/5;work 3/8;[unknown] 2/2;main 0/20;");
}

TEST(rows_by_place)
{
	check_rows(BY(GROUP_MODULE), "app 10/20;[kernel] 5/5;libb.so 5/5;liba.so 0/5;");
	check_rows(BY(GROUP_KIND), "user 15/20;kernel 5/5;");
	check_rows(BY(GROUP_LINE), "[unknown] 17/20;w.c:7 3/3;");
}

/* Neither folders, nor processes, nor who found no name is to be seen in a row. */
TEST(rows_that_read_the_same_are_one)
{
	struct profile *profile = make_profile("a;x/lib.so!f;[unknown]_[k] 1\n"
					       "a;y/lib.so!f;lib.so! 2\n"
					       "a;y/lib.so!f;main;y/lib.so! 4\n"
					       "a;f_[k] 8\n");
	const struct report_style by_symbol = {.groups = {GROUP_FUNCTION}, .nr_groups = 1};
	struct report_rows rows;

	CHECK_EQ(report_rows_init(&rows, profile, &(struct report_style){0}, NULL), 0);
	CHECK_EQ(rows.nr, 5); /* f and [unknown], of lib.so and of the kernel; main */
	report_rows_clear(&rows);
	CHECK_EQ(report_rows_init(&rows, profile, &by_symbol, NULL), 0);
	CHECK_EQ(rows.nr, 3);
	CHECK_EQ(rows.totals.groups[0].self, 8); /* f */
	CHECK_EQ(rows.totals.groups[0].total, 15);
	CHECK(!report_rows_kind(rows.totals.groups[0].place.kind));
	CHECK_EQ(rows.totals.groups[1].self, 7);
	report_rows_clear(&rows);
	profile_free(profile);
}

TEST(rows_by_label)
{
	check_rows(BY(GROUP_COMM), "a 15/15;b 6/6;");
	check_rows(BY(GROUP_PID), "1 15/15;2 6/6;");
	check_rows(BY(GROUP_TID), "1 10/10;3 6/6;2 5/5;");
	check_rows(BY(GROUP_CPU, GROUP_COMM), "0 a 15/15;0 b 3/3;1 b 3/3;");
}

TEST(rows_by_place_and_label)
{
	check_rows(BY(GROUP_COMM, GROUP_MODULE),
		   "a app 10/15;a [kernel] 5/5;b libb.so 5/5;b app 0/5;a liba.so 0/5;");
	check_rows(BY(GROUP_TID, GROUP_FUNCTION),
		   "1 fib 10/10;2 sys_read 5/5;3 work 3/3;3 [unknown] 2/2;1 main 0/10;2 fib 0/5;"
		   "2 main 0/5;3 main 0/5;2 work 0/5;");
}

TEST(rows_in_other_orders)
{
	check_rows(&(struct report_style){.sort_by_total = true, .max_rows = 2},
		   "main app 0/20;fib app 10/15;");
	check_rows(&(struct report_style){.least_percent = 20},
		   "fib app 10/15;sys_read [kernel] 5/5;");
}

static char *written(int (*write)(const struct profile *, const struct report_options *, FILE *),
		     const struct profile *profile, const struct report_options *options)
{
	char *text = NULL;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	CHECK_EQ(write(profile, options, out), 0);
	(void)fclose(out);
	return text;
}

static struct profile *hostile_profile(void)
{
	struct profile *profile = profile_new();

	(void)make_sample(profile, "a;\033[2J\"quoted\"\\,\n 3");
	(void)make_sample(profile, "a;``x``|<script>[l](http:)\n# h 2");
	(void)make_sample(profile, "a;\xff\xc0\x80 1");
	CHECK_EQ(profile_add_comment(profile, "50 % of *all* | <b>\033 are `bad`"), 0);
	return profile;
}

static void check_has(const char *text, const char *what)
{
	if (!strstr(text, what))
		fprintf(stderr, "no '%s' in:\n%s", what, text);
	CHECK(strstr(text, what) != NULL);
}

TEST(rows_are_escaped)
{
	static const struct report_options options = {.labels = LABEL_COMM};
	struct profile *profile = hostile_profile();
	char *json = written(report_json_write, profile, &options);
	char *csv = written(report_csv_write, profile, &options);
	char *markdown = written(markdown_write, profile, &options);

	check_has(json, "{\"function\":\"\\u001b[2J\\\"quoted\\\"\\\\,\\u000a\",");
	check_has(json, "\\ufffd\\ufffd\\ufffd");
	check_has(csv, "\r\n\"?[2J\"\"quoted\"\"\\,?\",\"app\",3,3,50.0000,50.0000\r\n");
	check_has(markdown, "* 50 % of \\*all\\* \\| \\<b\\>? are \\`bad\\`\n");
	check_has(markdown, "| ``` ``x``\\|<script>[l](http:)?# h ``` | `app` |\n");
	CHECK(!strchr(json, '\033') && !strchr(csv, '\033') && !strchr(markdown, '\033'));
	free(json);
	free(csv);
	free(markdown);
	profile_free(profile);
}

/* Functions of no known module, as folded stacks have them. */
static struct profile *profile_without_modules(void)
{
	struct profile *profile = profile_new();
	const struct sample_labels labels = {0};
	uint32_t frame = (uint32_t)profile_add_frame(profile, FRAME_USER, MODULE_NR_UNKNOWN, 0);

	CHECK_EQ(profile_set_function(profile, frame, "main"), 0);
	CHECK(profile_add_sample(profile, &labels, &frame, 1, 0, 3) >= 0);
	return profile;
}

static size_t nr_keys_for_people(const struct profile *profile, const struct report_style *style)
{
	struct report_rows rows;
	size_t nr;

	CHECK_EQ(report_rows_init(&rows, profile, style, NULL), 0);
	report_rows_drop_modules(&rows);
	nr = rows.nr_keys;
	report_rows_clear(&rows);
	return nr;
}

TEST(rows_have_modules_only_where_they_tell_something)
{
	static const struct report_style by_default = {.nr_groups = 0};
	static const struct report_style asked_for = {.groups = {GROUP_FUNCTION, GROUP_MODULE},
						      .nr_groups = 2};
	struct profile *profile = profile_without_modules();

	CHECK_EQ(nr_keys_for_people(profile, &by_default), 1);
	CHECK_EQ(nr_keys_for_people(profile, &asked_for), 2);
	(void)make_sample(profile, "a;main 1"); /* of module `app` */
	CHECK_EQ(nr_keys_for_people(profile, &by_default), 2);
	profile_free(profile);
}

TEST(rows_of_nothing)
{
	static const struct report_options options = {.labels = LABEL_COMM};
	struct profile *profile = profile_new();
	char *json = written(report_json_write, profile, &options);
	char *csv = written(report_csv_write, profile, &options);
	char *markdown = written(markdown_write, profile, &options);

	check_has(json, "\"total\":0,\n");
	check_has(json, "\"rows\":[]\n}\n");
	CHECK_STR(csv, "function,module,self,total,self_percent,total_percent\r\n");
	CHECK_STR(markdown, "### 0 samples\n\n");
	free(json);
	free(csv);
	free(markdown);
	profile_free(profile);
}

/* One half above, one half below: it ends where it forks. */
TEST(rows_markdown_ends_its_path_where_it_forks)
{
	static const struct report_options options = {.labels = LABEL_COMM};
	struct profile *profile = profile_new();
	char *markdown;

	(void)make_sample(profile, "a;main;f;g 40");
	(void)make_sample(profile, "a;main;f;h 30");
	(void)make_sample(profile, "a;main;f;i 30");
	markdown = written(markdown_write, profile, &options);
	check_has(markdown, "The heaviest path, 100.0% of all:\n\n    a\n    main\n    f\n");
	CHECK(!strstr(markdown, "    g\n"));
	free(markdown);
	profile_free(profile);
}

static void check_without_memory(int (*write)(const struct profile *, const struct report_options *,
					      FILE *))
{
	struct categories *categories = categories_parse("x: *", 4, NULL);
	const struct report_options options = {
		.labels = LABEL_COMM,
		.categories = categories,
		.style = {.groups = {GROUP_COMM, GROUP_FUNCTION, GROUP_LINE}, .nr_groups = 3},
	};
	struct profile *profile = some_profile();
	FILE *out = fopen("/dev/null", "w");
	size_t nth = 1;
	int result;

	do {
		(void)test_fail_allocation(nth++);
		result = write(profile, &options, out);
		(void)test_fail_allocation(0);
		CHECK(result == 0 || result == -ENOMEM);
	} while (result < 0);
	CHECK(nth > 10);
	(void)fclose(out);
	categories_free(categories);
	profile_free(profile);
}

TEST(rows_without_memory)
{
	check_without_memory(report_json_write);
	check_without_memory(report_csv_write);
	check_without_memory(markdown_write);
}
