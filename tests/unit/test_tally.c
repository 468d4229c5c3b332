/* view/hits, tallies: the exact text of `stook tally` in each format. */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/text/sheet_write.h"
#include "view/hits.h"

static const struct histogram_range ranges[] = {{INT64_MIN, -1}, {0, 0}, {1, 1}, {2, 3}, {4, 7}};

static const struct cell cells[][2] = {
	{{CELL_TEXT, .text = "malloc"}, {CELL_INTEGER, .integer = 7}},
	{{CELL_TEXT, .text = "free"}, {CELL_INTEGER, .integer = 10}},
	{{CELL_TEXT, .text = "a\"b\n"}, {CELL_NONE}},
};

static const uint64_t buckets[][5] = {{0, 0, 10, 40, 0}, {1, 0, 0, 0, 3}, {0, 0, 0, 0, 0}};

#define HISTOGRAM(n)                                           \
	{                                                      \
		ranges, buckets[n], ARRAY_SIZE(ranges), "arg2" \
	}

static const struct tally_line lines[] = {
	{cells[0], 50, 100, 1, 3, HISTOGRAM(0)},
	{cells[1], 4, -10, -30, 7, HISTOGRAM(1)},
	{cells[2], 7, 0, 0, 0, HISTOGRAM(2)},
};

static const char *const figure_names[] = {"accounting.entries", "accounting.tallied"};
static const uint64_t figures[] = {61, 61};

static struct row_keys keys;

static struct tally_interval make_interval(struct tally_line *copy)
{
	memcpy(copy, lines, sizeof(lines));
	keys.nr = 0;
	row_keys_add(&keys, "func", false);
	row_keys_add(&keys, "(int)arg1", true);
	return (struct tally_interval){
		.keys = &keys,
		.value = "arg2",
		.lines = copy,
		.nr_lines = ARRAY_SIZE(lines),
		.time = 1763746015.5,
		.seconds = 1,
		.figure_names = figure_names,
		.figures = figures,
		.nr_figures = ARRAY_SIZE(figures),
	};
}

static void check_written(enum media medium, const struct tally_interval *interval, bool is_first,
			  const char *want)
{
	const struct sheet_style style = {.is_first = is_first};
	struct sheet sheet = {0};
	char *text = NULL;
	size_t nr = 0;
	FILE *out = open_memstream(&text, &nr);

	CHECK(out != NULL);
	tally_sheet_fill(&sheet, interval, false);
	CHECK_EQ(sheet_write(&sheet, medium, &style, out), 0);
	(void)fclose(out);
	CHECK_STR(text, want);
	sheet_clear(&sheet);
	free(text);
}

TEST(tally_rows_are_sorted)
{
	struct tally_line copy[ARRAY_SIZE(lines)];
	struct tally_interval interval = make_interval(copy);

	tally_interval_choose(&interval, TALLY_BY_COUNT, 0);
	CHECK_EQ(interval.lines[0].count, 4);
	CHECK_EQ(interval.lines[2].count, 50);
	tally_interval_choose(&interval, TALLY_BY_KEY, 0);
	CHECK_STR(interval.lines[0].keys[0].text, "a\"b\n");
	CHECK_STR(interval.lines[2].keys[0].text, "malloc");
	tally_interval_choose(&interval, TALLY_BY_MIN, 0);
	CHECK_EQ(interval.lines[0].least, -30);
	tally_interval_choose(&interval, TALLY_BY_MAX, 0);
	CHECK_EQ(interval.lines[2].most, 7);
	tally_interval_choose(&interval, TALLY_BY_AVG, 0);
	CHECK_EQ(interval.lines[0].sum, -10);
	tally_interval_choose(&interval, TALLY_BY_SUM, 0);
	CHECK_EQ(interval.lines[2].sum, 100);
}

/* The top rows are those with the largest counts, in any sort order. */
TEST(tally_rows_top)
{
	struct tally_line copy[ARRAY_SIZE(lines)];
	struct tally_interval interval = make_interval(copy);

	tally_interval_choose(&interval, TALLY_BY_KEY, 2);
	CHECK_EQ(interval.nr_lines, 2);
	CHECK_EQ(interval.lines[0].count, 7);
	CHECK_EQ(interval.lines[1].count, 50);
}

/* Numbers are sorted by value: 7 before 10. */
TEST(tally_rows_sort_numbers)
{
	struct tally_line copy[ARRAY_SIZE(lines)];
	struct tally_interval interval = make_interval(copy);
	const struct cell numbers[] = {cell_integer(10), cell_integer(7), cell_text(NULL)};
	const struct cell unsigned_numbers[] = {cell_count(UINT64_MAX), cell_count(10),
						cell_count(7)};
	size_t i;

	keys.nr = 1;
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		interval.lines[i].keys = &numbers[i];
	tally_interval_choose(&interval, TALLY_BY_KEY, 0);
	CHECK_EQ(interval.lines[0].keys->kind, CELL_NONE);
	CHECK_EQ(interval.lines[1].keys->integer, 7);
	CHECK_EQ(interval.lines[2].keys->integer, 10);
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		interval.lines[i].keys = &unsigned_numbers[i];
	tally_interval_choose(&interval, TALLY_BY_KEY, 0);
	CHECK_EQ(interval.lines[0].keys->count, 7);
	CHECK_EQ(interval.lines[2].keys->count, UINT64_MAX);
}

TEST(tally_rows_table)
{
	struct tally_line copy[ARRAY_SIZE(lines)];
	struct tally_interval interval = make_interval(copy);

	check_written(MEDIA_TEXT, &interval, true,
		      "\n"
		      "FUNC       (int)arg1     COUNT       SUM       MIN       AVG       MAX\n"
		      "malloc             7        50       100         1       2.0         3\n"
		      "free              10         4       -10       -30      -2.5         7\n"
		      "a\"b?    [unreadable]         7         0         0       0.0         0\n");
	interval.value = NULL;
	check_written(MEDIA_TEXT, &interval, true,
		      "\n"
		      "FUNC       (int)arg1     COUNT\n"
		      "malloc             7        50\n"
		      "free              10         4\n"
		      "a\"b?    [unreadable]         7\n");
}

TEST(tally_rows_table_of_times)
{
	struct tally_line copy[ARRAY_SIZE(lines)];
	struct tally_interval interval = make_interval(copy);

	interval.is_time = true;
	keys.nr = 1;
	interval.nr_lines = 1;
	interval.lines[0].sum = 250000000;
	interval.lines[0].least = 800;
	interval.lines[0].most = 12345678;
	check_written(MEDIA_TEXT, &interval, true,
		      "\n"
		      "FUNC       COUNT     SUM(us)   MIN(us)   AVG(us)    MAX(us)\n"
		      "malloc        50  250000.000     0.800  5000.000  12345.678\n");
	interval.lines[0].most = 99999;
	interval.lines[0].sum = 1000;
	check_written(MEDIA_TEXT, &interval, true,
		      "\n"
		      "FUNC       COUNT   SUM(ns)   MIN(ns)   AVG(ns)   MAX(ns)\n"
		      "malloc        50      1000       800        20     99999\n");
}

TEST(tally_rows_histograms)
{
	struct tally_line copy[ARRAY_SIZE(lines)];
	struct tally_interval interval = make_interval(copy);

	interval.has_histogram = true;
	interval.nr_lines = 2;
	check_written(
		MEDIA_TEXT, &interval, true,
		"\n"
		"func malloc, (int)arg1 7: count 50, sum 100, min 1, avg 2.0, max 3\n"
		"     arg2                : count     distribution\n"
		"         1 -> 1          : 10       |**********                              |\n"
		"         2 -> 3          : 40       |****************************************|\n"
		"\n"
		"func free, (int)arg1 10: count 4, sum -10, min -30, avg -2.5, max 7\n"
		"     arg2                : count     distribution\n"
		"      less -> -1         : 1        |*************                           |\n"
		"         0 -> 0          : 0        |                                        |\n"
		"         1 -> 1          : 0        |                                        |\n"
		"         2 -> 3          : 0        |                                        |\n"
		"         4 -> 7          : 3        |****************************************|\n");
}

TEST(tally_rows_json)
{
	struct tally_line copy[ARRAY_SIZE(lines)];
	struct tally_interval interval = make_interval(copy);

	interval.has_histogram = true;
	interval.lines += 1;
	interval.nr_lines = 2;
	check_written(
		MEDIA_JSON, &interval, true,
		"{\"time\": 1763746015.500, \"seconds\": 1.000, \"value\": \"arg2\", \"unit\": "
		"null, \"rows\": [{\"key\": {\"func\": \"free\", \"(int)arg1\": 10}, \"count\": "
		"4, \"sum\": -10, \"min\": -30, \"max\": 7, \"avg\": -2.500, \"histogram\": "
		"[{\"from\": -9223372036854775808, \"to\": -1, \"count\": 1}, {\"from\": 4, "
		"\"to\": 7, \"count\": 3}]}, {\"key\": {\"func\": \"a\\\"b\\u000a\", "
		"\"(int)arg1\": null}, \"count\": 7, \"sum\": 0, \"min\": 0, \"max\": 0, "
		"\"avg\": 0.000, \"histogram\": []}], \"accounting\": {\"entries\": 61, "
		"\"tallied\": 61}}\n");
}

TEST(tally_rows_csv)
{
	struct tally_line copy[ARRAY_SIZE(lines)];
	struct tally_interval interval = make_interval(copy);

	check_written(MEDIA_CSV, &interval, true,
		      "time,func,\"(int)arg1\",count,sum,min,max,avg\r\n"
		      "1763746015.500,\"malloc\",7,50,100,1,3,2.000\r\n"
		      "1763746015.500,\"free\",10,4,-10,-30,7,-2.500\r\n"
		      "1763746015.500,\"a\"\"b?\",,7,0,0,0,0.000\r\n");
	interval.has_histogram = true;
	check_written(MEDIA_CSV, &interval, false,
		      "1763746015.500,\"malloc\",7,50,100,1,3,2.000,1,1,10\r\n"
		      "1763746015.500,\"malloc\",7,50,100,1,3,2.000,2,3,40\r\n"
		      "1763746015.500,\"free\",10,4,-10,-30,7,-2.500,-9223372036854775808,-1,1\r\n"
		      "1763746015.500,\"free\",10,4,-10,-30,7,-2.500,4,7,3\r\n");
	interval.nr_lines = 0;
	check_written(MEDIA_CSV, &interval, true,
		      "time,func,\"(int)arg1\",count,sum,min,max,avg,from,to,in_range\r\n");
}

/* The user's expressions are names of columns and of members of "key", unchanged. */
TEST(tally_rows_have_keys_with_dots)
{
	struct tally_line copy[ARRAY_SIZE(lines)];
	struct tally_interval interval = make_interval(copy);

	keys.nr = 0;
	row_keys_add(&keys, "args.Dev,\"a.b\"", false);
	interval.nr_lines = 1;
	interval.value = NULL;
	interval.nr_figures = 0;
	check_written(MEDIA_CSV, &interval, true,
		      "time,\"args.Dev,\"\"a.b\"\"\",count\r\n"
		      "1763746015.500,\"malloc\",50\r\n");
	check_written(MEDIA_JSON, &interval, true,
		      "{\"time\": 1763746015.500, \"seconds\": 1.000, \"value\": null, \"unit\": "
		      "null, \"rows\": [{\"key\": {\"args.Dev,\\\"a.b\\\"\": \"malloc\"}, "
		      "\"count\": 50}]}\n");
}

TEST(tally_histogram_shows_the_least_of_counts)
{
	static const uint64_t counts[] = {0, 1, UINT64_MAX, 0, 0};
	struct tally_line copy[ARRAY_SIZE(lines)];
	struct tally_interval interval = make_interval(copy);

	interval.has_histogram = true;
	interval.nr_lines = 1;
	interval.lines[0].histogram.counts = counts;
	check_written(
		MEDIA_TEXT, &interval, true,
		"\n"
		"func malloc, (int)arg1 7: count 50, sum 100, min 1, avg 2.0, max 3\n"
		"     arg2                : count     distribution\n"
		"         0 -> 0          : 1        |*                                       |\n"
		"         1 -> 1          : 18446744073709551615 "
		"|****************************************|\n");
}

TEST(tally_histogram_of_nothing)
{
	static const uint64_t counts[ARRAY_SIZE(ranges)] = {0};
	struct tally_line copy[ARRAY_SIZE(lines)];
	struct tally_interval interval = make_interval(copy);

	interval.has_histogram = true;
	interval.nr_lines = 1;
	interval.lines[0].histogram.counts = counts;
	interval.lines[0].histogram.title = "a title that is too long";
	check_written(MEDIA_TEXT, &interval, true,
		      "\n"
		      "func malloc, (int)arg1 7: count 50, sum 100, min 1, avg 2.0, max 3\n"
		      "     a title t~ too long : count     distribution\n");
}

TEST(tally_rows_markdown)
{
	struct tally_line copy[ARRAY_SIZE(lines)];
	struct tally_interval interval = make_interval(copy);

	check_written(MEDIA_MARKDOWN, &interval, true,
		      "| func | (int)arg1 | count | sum | min | avg | max |\n"
		      "|---|---:|---:|---:|---:|---:|---:|\n"
		      "| `malloc` | 7 | 50 | 100 | 1 | 2.0 | 3 |\n"
		      "| `free` | 10 | 4 | -10 | -30 | -2.5 | 7 |\n"
		      "| `a\"b?` | `[unreadable]` | 7 | 0 | 0 | 0.0 | 0 |\n");
	interval.has_histogram = true;
	interval.nr_lines = 2;
	check_written(MEDIA_MARKDOWN, &interval, false,
		      "\n"
		      "func `malloc`, (int)arg1 7: count 50, sum 100, min 1, avg 2.0, max 3\n"
		      "\n"
		      "         arg2                : count     distribution\n"
		      "             1 -> 1          : 10       |**********                         "
		      "     |\n"
		      "             2 -> 3          : 40       "
		      "|****************************************|\n"
		      "\n"
		      "func `free`, (int)arg1 10: count 4, sum -10, min -30, avg -2.5, max 7\n"
		      "\n"
		      "         arg2                : count     distribution\n"
		      "          less -> -1         : 1        |*************                      "
		      "     |\n"
		      "             0 -> 0          : 0        |                                   "
		      "     |\n"
		      "             1 -> 1          : 0        |                                   "
		      "     |\n"
		      "             2 -> 3          : 0        |                                   "
		      "     |\n"
		      "             4 -> 7          : 3        "
		      "|****************************************|\n");
}
