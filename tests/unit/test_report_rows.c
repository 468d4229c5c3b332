/*
 * view/group_totals, view/report, and the formats that show a report's rows: their contents, with
 * unsafe characters removed.
 */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "format/format.h"
#include "unit/make_profile.h"
#include "view/categories.h"
#include "view/report.h"

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

/* Returns the table of rows that a medium shows; the sheet must outlive it. */
static const struct table *table_of(struct sheet *sheet, enum media medium,
				    const struct profile *profile, const struct report_style *style)
{
	struct report_style without_paths = *style;
	size_t i;

	without_paths.paths.form = REPORT_NONE;
	CHECK_EQ(report_sheet_fill(sheet, medium, profile, &without_paths), 0);
	for (i = 0; i < sheet->nr; i++)
		if (sheet->blocks[i].kind == BLOCK_TABLE)
			return &sheet->blocks[i].table;
	return NULL;
}

static struct row row_of(const struct table *table, size_t number)
{
	struct row row = {.kind = ROW_PLAIN};

	table->read_row(table->context, number, &row);
	return row;
}

static uint64_t count_of(const struct table *table, size_t number, const char *name)
{
	const struct row row = row_of(table, number);
	size_t i;

	for (i = 0; i < table->nr_columns; i++)
		if (!strcmp(table->columns[i].name, name))
			return row.cells[i].count;
	CHECK(!"a column of this name");
	return 0;
}

/* Compares all rows as "KEY KEY self/total;". */
static void check_rows(const struct report_style *style, const char *expected)
{
	cleanup(sheet_clear) struct sheet sheet = {0};
	struct profile *profile = some_profile();
	const struct table *table = table_of(&sheet, MEDIA_CSV, profile, style);
	char text[512] = "";
	size_t i, k, nr = 0;

	for (i = 0; i < table->nr_rows; i++) {
		struct row row = {.kind = ROW_PLAIN};

		table->read_row(table->context, i, &row);
		for (k = 0; strcmp(table->columns[k].name, "self") != 0; k++)
			nr += row.cells[k].kind == CELL_TEXT
				      ? (size_t)snprintf(text + nr, sizeof(text) - nr, "%s ",
							 row.cells[k].text)
				      : (size_t)snprintf(text + nr, sizeof(text) - nr, "%d ",
							 (int)row.cells[k].integer);
		nr += (size_t)snprintf(text + nr, sizeof(text) - nr, "%d/%d;",
				       (int)row.cells[k].count, (int)row.cells[k + 1].count);
	}
	CHECK_STR(text, expected);
	sheet_clear(&sheet);
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

/* Rows do not show folders, processes or the reason for a missing name. */
TEST(rows_that_read_the_same_are_one)
{
	struct profile *profile = make_profile("a;x/lib.so!f;[unknown]_[k] 1\n"
					       "a;y/lib.so!f;lib.so! 2\n"
					       "a;y/lib.so!f;main;y/lib.so! 4\n"
					       "a;f_[k] 8\n");
	const struct report_style by_symbol = {.groups = {GROUP_FUNCTION}, .nr_groups = 1};
	cleanup(sheet_clear) struct sheet sheet = {0}, other = {0};
	const struct table *table;

	table = table_of(&sheet, MEDIA_JSON, profile, &(struct report_style){0});
	CHECK_EQ(table->nr_rows, 5); /* f and [unknown], each in lib.so and in the kernel; main */
	table = table_of(&other, MEDIA_JSON, profile, &by_symbol);
	CHECK_EQ(table->nr_rows, 3);
	CHECK_EQ(count_of(table, 0, "self"), 8); /* f */
	CHECK_EQ(count_of(table, 0, "total"), 15);
	CHECK_STR(table->columns[1].name, "kind");
	CHECK_EQ(row_of(table, 0).cells[1].kind, CELL_NONE);
	CHECK_EQ(count_of(table, 1, "self"), 7);
	sheet_clear(&sheet);
	sheet_clear(&other);
	profile_free(profile);
}

TEST(rows_by_label)
{
	check_rows(BY(GROUP_COMM), "a 15/15;b 6/6;");
	check_rows(BY(GROUP_PID), "1 15/15;2 6/6;");
	check_rows(BY(GROUP_TID), "1 10/10;3 6/6;2 5/5;");
	check_rows(BY(GROUP_CPU, GROUP_COMM), "0 a 15/15;0 b 3/3;1 b 3/3;");
}

TEST(rows_by_probe)
{
	struct profile *profile = profile_new();
	struct sample_labels labels = {0};
	const struct report_style style = {.groups = {GROUP_PROBE}, .nr_groups = 1};
	cleanup(sheet_clear) struct sheet sheet = {0};
	const struct table *table;

	labels.probe = (uint32_t)profile_add_string(profile, "read");
	(void)make_labelled(profile, labels, "a;main 1");
	(void)make_labelled(profile, labels, "a;main;f 2");
	labels.probe = (uint32_t)profile_add_string(profile, "r:read");
	(void)make_labelled(profile, labels, "a;main 4");
	table = table_of(&sheet, MEDIA_JSON, profile, &style);
	CHECK_EQ(table->nr_rows, 2);
	CHECK_STR(table->columns[0].name, "probe");
	CHECK_STR(row_of(table, 0).cells[0].text, "r:read");
	CHECK_EQ(count_of(table, 0, "self"), 4);
	CHECK_EQ(count_of(table, 1, "self"), 3);
	profile_free(profile);
}

/* Time of waits, with the number of waits in another value; a sample on a CPU is none. */
TEST(rows_by_state)
{
	struct profile *profile = make_profile("a;[sleeping];main;f 1000\n"
					       "a;[sleeping];main;g 501\n"
					       "b;[runnable];main;f 300\n"
					       "b;[running];main 5\n"
					       "b;main;[sleeping] 4\n");
	const struct report_style style = {.groups = {GROUP_STATE}, .nr_groups = 1};
	cleanup(sheet_clear) struct sheet sheet = {0};
	const struct table *table;
	struct value_type type;
	uint32_t i;

	CHECK_EQ(profile_make_value_type(profile, "offcpu", "nanoseconds", &type), 0);
	profile_set_main_type(profile, type);
	CHECK_EQ(profile_make_value_type(profile, "waits", "count", &type), 0);
	CHECK_EQ(profile_add_value_type(profile, &type), 1);
	for (i = 0; i < 3; i++)
		CHECK_EQ(profile_add_value(profile, i, 1, i + 1), 0);
	table = table_of(&sheet, MEDIA_JSON, profile, &style);
	CHECK_EQ(table->nr_rows, 4);
	CHECK_STR(table->columns[0].name, "state");
	CHECK_STR(row_of(table, 0).cells[0].text, "[sleeping]");
	CHECK_EQ(count_of(table, 0, "self"), 1501);
	CHECK_EQ(count_of(table, 0, "waits"), 3);
	CHECK_EQ(count_of(table, 0, "mean_ns"), 500);
	CHECK_STR(row_of(table, 1).cells[0].text, "[runnable]");
	CHECK_EQ(count_of(table, 1, "mean_ns"), 100);
	CHECK_STR(row_of(table, 2).cells[0].text, "[running]");
	CHECK_EQ(row_of(table, 2).cells[table->nr_columns - 1].kind, CELL_NONE);
	CHECK_EQ(row_of(table, 3).cells[0].kind, CELL_NONE);
	profile_free(profile);
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

static char *written(const char *format, const struct profile *profile,
		     const struct format_options *options)
{
	char *text = NULL;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	CHECK_EQ(format_by_name(format)->write(profile, options, out), 0);
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
	static const struct format_options options = {.labels = LABEL_COMM};
	struct profile *profile = hostile_profile();
	char *json = written("json", profile, &options);
	char *csv = written("csv", profile, &options);
	char *markdown = written("md", profile, &options);

	check_has(json, "{\"function\": \"\\u001b[2J\\\"quoted\\\"\\\\,\\u000a\",");
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

/* Functions without a known module, as in folded stacks. */
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
	cleanup(sheet_clear) struct sheet sheet = {0};

	return table_of(&sheet, MEDIA_TEXT, profile, style)->nr_columns -
	       3; /* SELF SAMPLES TOTAL */
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
	static const struct format_options options = {.labels = LABEL_COMM};
	struct profile *profile = profile_new();
	char *json = written("json", profile, &options);
	char *csv = written("csv", profile, &options);
	char *markdown = written("md", profile, &options);

	check_has(json, "\"total\": 0,\n");
	check_has(json, "\"rows\": []\n}\n");
	CHECK_STR(csv, "function,module,self,total,self_percent,total_percent\r\n");
	CHECK_STR(markdown, "### 0 samples\n");
	free(json);
	free(csv);
	free(markdown);
	profile_free(profile);
}

/* The heaviest path ends where it splits into branches of similar weight. */
TEST(rows_markdown_ends_its_path_where_it_forks)
{
	static const struct format_options options = {.labels = LABEL_COMM};
	struct profile *profile = profile_new();
	char *markdown;

	(void)make_sample(profile, "a;main;f;g 40");
	(void)make_sample(profile, "a;main;f;h 30");
	(void)make_sample(profile, "a;main;f;i 30");
	markdown = written("md", profile, &options);
	check_has(markdown, "The heaviest path, 100.0% of all:\n\n    a\n    main\n    f\n");
	CHECK(!strstr(markdown, "    g\n"));
	free(markdown);
	profile_free(profile);
}

static void check_without_memory(const char *format)
{
	struct categories *categories = categories_parse("x: *", 4, NULL);
	const struct format_options options = {
		.labels = LABEL_COMM,
		.categories = categories,
		.report = &(struct report_style){.groups = {GROUP_COMM, GROUP_FUNCTION, GROUP_LINE},
						 .nr_groups = 3},
	};
	struct profile *profile = some_profile();
	FILE *out = fopen("/dev/null", "w");
	size_t nth = 1;
	int result;

	do {
		(void)test_fail_allocation(nth++);
		result = format_by_name(format)->write(profile, &options, out);
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
	check_without_memory("json");
	check_without_memory("csv");
	check_without_memory("md");
}
