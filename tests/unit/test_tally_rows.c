/* format/text/tally_rows, tally_table, histogram: what `stook tally` shows. */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/text/histogram.h"
#include "format/text/tally_rows.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct histogram_range ranges[] = {
	{INT64_MIN, -1, true}, {0, 0, false}, {1, 1, false}, {2, 3, false}, {4, 7, false}};

static char text_malloc[] = "malloc", text_free[] = "free", text_7[] = "7", text_10[] = "10";
static char text_odd[] = "a\"b\n";

static struct key_cell cells[][2] = {
	{{text_malloc, false}, {text_7, true}},
	{{text_free, false}, {text_10, true}},
	{{text_odd, false}, {NULL, true}},
};

static const uint64_t buckets[][5] = {{0, 0, 10, 40, 0}, {1, 0, 0, 0, 3}, {0, 0, 0, 0, 0}};

static struct tally_line lines[] = {
	{cells[0], 50, 100, 1, 3, buckets[0]},
	{cells[1], 4, -10, -30, 7, buckets[1]},
	{cells[2], 7, 0, 0, 0, buckets[2]},
};

static const char *const keys[] = {"func", "(int)arg1"};
static const struct tally_figure figures[] = {{"entries", 61}, {"tallied", 61}};

static struct tally_sheet make_sheet(struct tally_line *copy)
{
	memcpy(copy, lines, sizeof(lines));
	return (struct tally_sheet){
		.keys = keys,
		.nr_keys = 2,
		.value = "arg2",
		.lines = copy,
		.nr_lines = COUNT(lines),
		.time = 1763746015.5,
		.seconds = 1,
		.figures = figures,
		.nr_figures = COUNT(figures),
	};
}

static char *written(void (*write)(const struct tally_sheet *sheet, FILE *out),
		     const struct tally_sheet *sheet)
{
	char *text = NULL;
	size_t nr = 0;
	FILE *out = open_memstream(&text, &nr);

	CHECK(out != NULL);
	write(sheet, out);
	(void)fclose(out);
	return text;
}

static void write_table(const struct tally_sheet *sheet, FILE *out)
{
	tally_rows_write_table(sheet, false, out);
}

static void check_written(void (*write)(const struct tally_sheet *sheet, FILE *out),
			  const struct tally_sheet *sheet, const char *want)
{
	char *text = written(write, sheet);

	CHECK_STR(text, want);
	free(text);
}

TEST(tally_rows_are_sorted)
{
	struct tally_line copy[COUNT(lines)];
	struct tally_sheet sheet = make_sheet(copy);

	tally_rows_choose(&sheet, TALLY_BY_COUNT, 0);
	CHECK_EQ(sheet.lines[0].count, 4);
	CHECK_EQ(sheet.lines[2].count, 50);
	tally_rows_choose(&sheet, TALLY_BY_KEY, 0);
	CHECK_STR(sheet.lines[0].cells[0].text, "a\"b\n");
	CHECK_STR(sheet.lines[2].cells[0].text, "malloc");
	tally_rows_choose(&sheet, TALLY_BY_MIN, 0);
	CHECK_EQ(sheet.lines[0].least, -30);
	tally_rows_choose(&sheet, TALLY_BY_MAX, 0);
	CHECK_EQ(sheet.lines[2].most, 7);
	tally_rows_choose(&sheet, TALLY_BY_AVG, 0);
	CHECK_EQ(sheet.lines[0].sum, -10);
	tally_rows_choose(&sheet, TALLY_BY_SUM, 0);
	CHECK_EQ(sheet.lines[2].sum, 100);
}

/* The top ones are those with the most, in whatever order they are shown. */
TEST(tally_rows_top)
{
	struct tally_line copy[COUNT(lines)];
	struct tally_sheet sheet = make_sheet(copy);

	tally_rows_choose(&sheet, TALLY_BY_KEY, 2);
	CHECK_EQ(sheet.nr_lines, 2);
	CHECK_EQ(sheet.lines[0].count, 7);
	CHECK_EQ(sheet.lines[1].count, 50);
}

/* Numbers by their value: 7 before 10. */
TEST(tally_rows_sort_numbers)
{
	struct tally_line copy[COUNT(lines)];
	struct tally_sheet sheet = make_sheet(copy);
	struct key_cell numbers[] = {{text_10, true}, {text_7, true}, {NULL, true}};
	size_t i;

	sheet.nr_keys = 1;
	for (i = 0; i < COUNT(numbers); i++)
		sheet.lines[i].cells = &numbers[i];
	tally_rows_choose(&sheet, TALLY_BY_KEY, 0);
	CHECK(sheet.lines[0].cells->text == NULL);
	CHECK_STR(sheet.lines[1].cells->text, "7");
	CHECK_STR(sheet.lines[2].cells->text, "10");
}

TEST(tally_rows_table)
{
	struct tally_line copy[COUNT(lines)];
	struct tally_sheet sheet = make_sheet(copy);

	check_written(write_table, &sheet,
		      "\n"
		      "FUNC       (int)arg1     COUNT       SUM       MIN       AVG       MAX\n"
		      "malloc             7        50       100         1       2.0         3\n"
		      "free              10         4       -10       -30      -2.5         7\n"
		      "a\"b?    [unreadable]         7         0         0       0.0         0\n");
	sheet.value = NULL;
	check_written(write_table, &sheet,
		      "\n"
		      "FUNC       (int)arg1     COUNT\n"
		      "malloc             7        50\n"
		      "free              10         4\n"
		      "a\"b?    [unreadable]         7\n");
}

TEST(tally_rows_table_of_times)
{
	struct tally_line copy[COUNT(lines)];
	struct tally_sheet sheet = make_sheet(copy);

	sheet.is_time = true;
	sheet.nr_keys = 1;
	sheet.nr_lines = 1;
	sheet.lines[0].sum = 250000000;
	sheet.lines[0].least = 800;
	sheet.lines[0].most = 12345678;
	check_written(write_table, &sheet,
		      "\n"
		      "FUNC       COUNT     SUM(us)   MIN(us)   AVG(us)    MAX(us)\n"
		      "malloc        50  250000.000     0.800  5000.000  12345.678\n");
	sheet.lines[0].most = 99999;
	sheet.lines[0].sum = 1000;
	check_written(write_table, &sheet,
		      "\n"
		      "FUNC       COUNT   SUM(ns)   MIN(ns)   AVG(ns)   MAX(ns)\n"
		      "malloc        50      1000       800        20     99999\n");
}

TEST(tally_rows_histograms)
{
	struct tally_line copy[COUNT(lines)];
	struct tally_sheet sheet = make_sheet(copy);

	sheet.ranges = ranges;
	sheet.nr_ranges = COUNT(ranges);
	sheet.nr_lines = 2;
	check_written(
		write_table, &sheet,
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
	struct tally_line copy[COUNT(lines)];
	struct tally_sheet sheet = make_sheet(copy);

	sheet.ranges = ranges;
	sheet.nr_ranges = COUNT(ranges);
	sheet.lines += 1;
	sheet.nr_lines = 2;
	check_written(
		tally_rows_write_json, &sheet,
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
	struct tally_line copy[COUNT(lines)];
	struct tally_sheet sheet = make_sheet(copy);

	check_written(tally_rows_write_csv_head, &sheet,
		      "time,\"func\",\"(int)arg1\",count,sum,min,max,avg\r\n");
	check_written(tally_rows_write_csv, &sheet,
		      "1763746015.500,\"malloc\",7,50,100,1,3,2.000\r\n"
		      "1763746015.500,\"free\",10,4,-10,-30,7,-2.500\r\n"
		      "1763746015.500,\"a\"\"b?\",,7,0,0,0,0.000\r\n");
	sheet.ranges = ranges;
	sheet.nr_ranges = COUNT(ranges);
	sheet.nr_lines = 1;
	check_written(tally_rows_write_csv, &sheet,
		      "1763746015.500,\"malloc\",7,50,100,1,3,2.000,1,1,10\r\n"
		      "1763746015.500,\"malloc\",7,50,100,1,3,2.000,2,3,40\r\n");
}

static char *drawn(const char *title, const uint64_t *counts)
{
	char *text = NULL;
	size_t nr = 0;
	FILE *out = open_memstream(&text, &nr);

	CHECK(out != NULL);
	histogram_write(title, ranges, counts, COUNT(ranges), out);
	(void)fclose(out);
	return text;
}

TEST(histogram_shows_the_least_of_counts)
{
	static const uint64_t counts[] = {0, 1, UINT64_MAX, 0, 0};
	char *text = drawn("x", counts);

	CHECK(strstr(text, "         0 -> 0          : 1        |*                        ") !=
	      NULL);
	CHECK(strstr(text, ": 18446744073709551615 |****************************************|"));
	free(text);
}

TEST(histogram_of_nothing)
{
	static const uint64_t counts[COUNT(ranges)] = {0};
	char *text = drawn("a title that is too long", counts);

	CHECK_STR(text, "     a title t~ too long : count     distribution\n");
	free(text);
}
