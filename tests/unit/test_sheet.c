/* view/table and its renderers: a made-up table in the four formats. */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "format/text/sheet_write.h"

static char *rendered(const struct sheet *sheet, enum media medium, struct sheet_style style)
{
	char *text = NULL;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	CHECK_EQ(sheet_write(sheet, medium, &style, out), 0);
	(void)fclose(out);
	return text;
}

static void check_sheet(const struct sheet *sheet, enum media medium, struct sheet_style style,
			const char *expected)
{
	cleanup_free char *text = rendered(sheet, medium, style);

	if (strcmp(text, expected) != 0)
		fprintf(stderr, "--- got:\n%s--- wanted:\n%s---\n", text, expected);
	CHECK_STR(text, expected);
}

/* --- a new kind of table ---------------------------------------------------------------------- */

struct disk {
	const char *name, *model;
	uint64_t reads, wait_ns;
	double busy, change, error;
	bool is_ssd;
};

static const struct disk disks[] = {
	{"sda", "=cmd|' /C calc'!A0", 1234567, 98765432, 12.345, 2.671, 0.4812, true},
	{"nvme0n1", "\033[31m``x``|<b>", 89, 1500, 0.71, -0.04, 0.00214, false},
	{"md\xc3\xbc\xff", NULL, 0, 0, 0, 0, 0, false},
};

static const struct column disk_columns[] = {
	{"busy", "BUSY", UNIT_PERCENT, COLUMN_HEAT, .decimals = 1, .precise = 4, .least_width = 6},
	{"change.points", "CHANGE", UNIT_PERCENT, COLUMN_SIGNED | COLUMN_ERROR, .decimals = 2,
	 .precise = 6, .significant = true},
	{"change.is_more", "MORE", .flags = COLUMN_ROOMY},
	{"reads", "READS", UNIT_COUNT},
	{"wait", "WAIT", UNIT_NANOSECONDS},
	{"name", "DISK", .flags = COLUMN_NAME | COLUMN_MAIN},
	{"model", "MODEL", .flags = COLUMN_NAME},
	{"note", "NOTE", .flags = COLUMN_OPTIONAL},
};

static void read_disk(const void *context, size_t number, struct row *row)
{
	const struct disk *disk = (const struct disk *)context + number;

	if (number == ARRAY_SIZE(disks)) {
		row->kind = ROW_REST;
		row->cells[0] = cell_real(50);
		row->cells[5] = cell_text("… 204 more, ± some");
		return;
	}
	row->cells[0] = cell_real(disk->busy);
	row->cells[1] = cell_real(disk->change);
	row->cells[1].error = disk->error;
	row->cells[2] = cell_bool(disk->change > 0);
	row->cells[3] = cell_count(disk->reads);
	row->cells[4] = cell_count(disk->wait_ns);
	row->cells[5] = cell_text(disk->name);
	row->cells[6] = cell_text(disk->model);
	row->tone = disk->change > 0 ? TONE_MORE : TONE_NONE;
}

static void fill(struct sheet *sheet)
{
	static const struct column host = {"host.name", "host", .flags = COLUMN_NAME},
				   kernel = {"host.kernel", NULL},
				   seconds = {"seconds", "seconds", .decimals = 1, .precise = 3};
	const struct table table = {.name = "disks",
				    .columns = disk_columns,
				    .nr_columns = ARRAY_SIZE(disk_columns),
				    .nr_rows = ARRAY_SIZE(disks) + 1,
				    .read_row = read_disk,
				    .context = disks};

	sheet_add_line(sheet, MEDIA_PEOPLE, LINE_HEADING);
	sheet_add_words(sheet, "%d disks… of ", 3);
	sheet_add_name(sheet, "a`b");
	sheet_add_figure(sheet, MEDIA_ALL, &host, cell_text("db\"1"));
	sheet_add_figure(sheet, MEDIA_PROGRAMS, &kernel, cell_text(NULL));
	sheet_add_figure(sheet, MEDIA_ALL, &seconds, cell_real(2.5));
	sheet_add_notes(sheet, MEDIA_JSON | MEDIA_MARKDOWN, "comments");
	sheet_add_note(sheet, "*all* of them");
	sheet_add_note(sheet, "- none");
	sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
	sheet_add_table(sheet, MEDIA_ALL, &table);
}

TEST(sheet_as_text)
{
	cleanup(sheet_clear) struct sheet sheet = {0};

	fill(&sheet);
	CHECK_EQ(sheet_status(&sheet), 0);
	check_sheet(
		&sheet, MEDIA_TEXT, (struct sheet_style){.width = 100},
		"3 disks… of a`b\n"
		"host  db\"1\n"
		"seconds  2.5\n"
		"\n"
		"  BUSY           CHANGE  MORE      READS   WAIT(us)  DISK     MODEL\n"
		" 12.3%   +2.67 ±   0.48  yes   1,234,567  98765.432  sda      =cmd|' /C calc'!A0\n"
		"  0.7%  -0.040 ±  0.002  no           89      1.500  nvme0n1  ?[31m``x``|<b>\n"
		"  0.0%   +0.00 ±   0.00  no            0      0.000  mdü?\n"
		" 50.0%                                               … 204 more, ± some\n");
}

TEST(sheet_as_narrow_text)
{
	cleanup(sheet_clear) struct sheet sheet = {0};

	fill(&sheet);
	check_sheet(&sheet, MEDIA_TEXT, (struct sheet_style){.width = 10, .ascii = true},
		    "3 disks.. of a`b\n"
		    "host  db\"1\n"
		    "seconds  2.5\n"
		    "\n"
		    "  BUSY  CHANGE      READS   WAIT(us)  DISK     MODEL\n"
		    " 12.3%   +2.67  1,234,567  98765.432  sda      =cmd|'..c'!A0\n"
		    "  0.7%  -0.040         89      1.500  nvme0n1  ?[31m`..`|<b>\n"
		    "  0.0%   +0.00          0      0.000  mdü?\n"
		    " 50.0%                                .. 204 more, +- some\n");
}

TEST(sheet_in_colours)
{
	cleanup(sheet_clear) struct sheet sheet = {0};
	cleanup_free char *text = NULL;

	fill(&sheet);
	text = rendered(&sheet, MEDIA_TEXT, (struct sheet_style){.width = 100, .color = true});
	CHECK(strstr(text, "\n\033[31m \033[31m12.3%\033[m") != NULL);
	CHECK(strstr(text, "A0\033[0m\n  \033[32m0.7%\033[m  -0.040 ±  0.002") != NULL);
	CHECK(strstr(text, "\n 50.0%  ") != NULL); /* several keys: not hot */
}

TEST(sheet_as_markdown)
{
	cleanup(sheet_clear) struct sheet sheet = {0};

	fill(&sheet);
	check_sheet(&sheet, MEDIA_MARKDOWN, (struct sheet_style){0},
		    "### 3 disks… of `` a`b ``\n"
		    "\n"
		    "* host `db\"1`\n"
		    "* seconds 2.5\n"
		    "* \\*all\\* of them\n"
		    "* \\- none\n"
		    "\n"
		    "| busy | change | more | reads | wait(us) | disk | model |\n"
		    "|---:|---:|---|---:|---:|---|---|\n"
		    "| 12.3% | +2.67 ± 0.48 | yes | 1,234,567 | 98765.432 | `sda` | `=cmd\\|' /C "
		    "calc'!A0` |\n"
		    "| 0.7% | -0.040 ± 0.002 | no | 89 | 1.500 | `nvme0n1` | ``` ?[31m``x``\\|<b> "
		    "``` |\n"
		    "| 0.0% | +0.00 ± 0.00 | no | 0 | 0.000 | `mdü?` |  |\n"
		    "| 50.0% |  |  |  |  | … 204 more, ± some |  |\n");
}

TEST(sheet_as_csv)
{
	cleanup(sheet_clear) struct sheet sheet = {0};

	fill(&sheet);
	check_sheet(
		&sheet, MEDIA_CSV, (struct sheet_style){0},
		"host_name,host_kernel,seconds,busy,change_points,change_is_more,reads,wait,name,"
		"model,note\r\n"
		"\"db\"\"1\",,2.500,12.3450,2.671,true,1234567,98765432,\"sda\",\"'=cmd|' /C "
		"calc'!A0\",\r\n"
		"\"db\"\"1\",,2.500,0.7100,-0.04,false,89,1500,\"nvme0n1\",\"?[31m``x``|<b>\",\r\n"
		"\"db\"\"1\",,2.500,0.0000,0,false,0,0,\"mdü?\",,\r\n");
}

TEST(sheet_as_json)
{
	cleanup(sheet_clear) struct sheet sheet = {0};

	fill(&sheet);
	check_sheet(
		&sheet, MEDIA_JSON, (struct sheet_style){0},
		"{\n"
		"\"host\": {\"name\": \"db\\\"1\", \"kernel\": null},\n"
		"\"seconds\": 2.500,\n"
		"\"comments\": [\n"
		"\"*all* of them\",\n"
		"\"- none\"],\n"
		"\"disks\": [\n"
		"{\"busy\": 12.3450, \"change\": {\"points\": 2.671, \"is_more\": true}, "
		"\"reads\": 1234567, \"wait\": 98765432, \"name\": \"sda\", \"model\": \"=cmd|' /C "
		"calc'!A0\", \"note\": null},\n"
		"{\"busy\": 0.7100, \"change\": {\"points\": -0.04, \"is_more\": false}, "
		"\"reads\": 89, \"wait\": 1500, \"name\": \"nvme0n1\", \"model\": "
		"\"\\u001b[31m``x``|<b>\", \"note\": null},\n"
		"{\"busy\": 0.0000, \"change\": {\"points\": 0, \"is_more\": false}, \"reads\": 0, "
		"\"wait\": 0, \"name\": \"mdü\\ufffd\", \"model\": null, \"note\": null}]\n"
		"}\n");
}

TEST(sheet_of_many_is_a_line)
{
	cleanup(sheet_clear) struct sheet sheet = {.is_line = true};
	static const struct column time = {"time", NULL, .precise = 3},
				   column = {"n", "N", UNIT_COUNT};
	const struct table table = {"rows", &column, 1, 0, NULL, NULL};

	sheet_add_figure(&sheet, MEDIA_PROGRAMS, &time, cell_real(1.5));
	sheet_add_notes(&sheet, MEDIA_JSON, "notes");
	sheet_add_note(&sheet, "x");
	sheet_add_table(&sheet, MEDIA_ALL, &table);
	check_sheet(&sheet, MEDIA_JSON, (struct sheet_style){0},
		    "{\"time\": 1.500, \"notes\": [\"x\"], \"rows\": []}\n");
	check_sheet(&sheet, MEDIA_CSV, (struct sheet_style){.is_first = true}, "time,n\r\n");
	check_sheet(&sheet, MEDIA_CSV, (struct sheet_style){0}, "");
	check_sheet(&sheet, MEDIA_TEXT, (struct sheet_style){0}, "N\n");
	check_sheet(&sheet, MEDIA_MARKDOWN, (struct sheet_style){.is_first = true},
		    "| n |\n|---:|\n");
	check_sheet(&sheet, MEDIA_MARKDOWN, (struct sheet_style){0}, "\n| n |\n|---:|\n");
}

TEST(sheet_of_nothing)
{
	cleanup(sheet_clear) struct sheet sheet = {0};

	check_sheet(&sheet, MEDIA_JSON, (struct sheet_style){0}, "{\n\n}\n");
	check_sheet(&sheet, MEDIA_CSV, (struct sheet_style){0}, "");
	check_sheet(&sheet, MEDIA_TEXT, (struct sheet_style){0}, "");
	check_sheet(&sheet, MEDIA_MARKDOWN, (struct sheet_style){0}, "");
}

static void add_line(struct sheet *sheet, enum line_style style, const char *words,
		     const char *name)
{
	sheet_add_line(sheet, MEDIA_PEOPLE, style);
	sheet_add_words(sheet, "%s", words);
	if (name)
		sheet_add_name(sheet, name);
}

TEST(sheet_lines)
{
	static const char long_name[] = "a_name_of_more_than_half_a_line_since_it_goes_on_and_on";
	cleanup(sheet_clear) struct sheet sheet = {0};

	add_line(&sheet, LINE_HEADING, "# of *all*", NULL);
	add_line(&sheet, LINE_PLAIN, "in ", long_name);
	add_line(&sheet, LINE_PLAIN, "and ", "`");
	sheet_add_line(&sheet, MEDIA_PEOPLE, LINE_PLAIN);
	add_line(&sheet, LINE_PLAIN, "± means", NULL);
	add_line(&sheet, LINE_BULLET, "one", NULL);
	add_line(&sheet, LINE_BULLET, "two\033", NULL);
	add_line(&sheet, LINE_CODE, "", "*main*");
	add_line(&sheet, LINE_CODE, "… 3 more", NULL);
	add_line(&sheet, LINE_ROOMY, "wide", NULL);
	check_sheet(&sheet, MEDIA_TEXT, (struct sheet_style){.width = 60, .ascii = true},
		    "# of *all*\n"
		    "in a_name_of_more..goes_on_and_on\n"
		    "and `\n"
		    "\n"
		    "+- means\n"
		    "* one\n"
		    "* two?\n"
		    "*main*\n"
		    ".. 3 more\n");
	check_sheet(&sheet, MEDIA_MARKDOWN, (struct sheet_style){.width = 60},
		    "### \\# of \\*all\\*\n"
		    "\n"
		    "in `a_name_of_more_than_half_a_line_since_it_goes_on_and_on`\n"
		    "and `` ` ``\n"
		    "\n"
		    "± means\n"
		    "\n"
		    "* one\n"
		    "* two?\n"
		    "\n"
		    "<!-- -->\n"
		    "\n"
		    "    *main*\n"
		    "    … 3 more\n"
		    "\n"
		    "wide\n");
	check_sheet(&sheet, MEDIA_CSV, (struct sheet_style){0}, "" /* nothing */);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void read_cell(const void *context, size_t number, struct row *row)
{
	row->cells[0] = ((const struct cell *)context)[number];
}

static void check_number(struct column column, struct cell cell, const char *people,
			 const char *programs)
{
	cleanup(sheet_clear) struct sheet sheet = {0};
	const struct table table = {NULL, &column, 1, 1, read_cell, &cell};
	char expected[128];

	column.name = "n";
	column.heading = "";
	sheet_add_table(&sheet, MEDIA_ALL, &table);
	(void)snprintf(expected, sizeof(expected), "%s\n", people);
	check_sheet(&sheet, MEDIA_TEXT, (struct sheet_style){0}, expected);
	(void)snprintf(expected, sizeof(expected), "n\r\n%s\r\n", programs);
	check_sheet(&sheet, MEDIA_CSV, (struct sheet_style){0}, expected);
}

static struct cell with_error(double real, double error)
{
	struct cell cell = cell_real(real);

	cell.error = error;
	return cell;
}

TEST(sheet_numbers)
{
	const struct column count = {.unit = UNIT_COUNT}, plain = {.flags = COLUMN_SIGNED},
			    text = {.flags = COLUMN_NUMBER},
			    error = {.unit = UNIT_PERCENT,
				     .decimals = 2,
				     .precise = 3,
				     .significant = true};

	check_number(count, cell_count(UINT64_MAX), "18,446,744,073,709,551,615",
		     "18446744073709551615");
	check_number(count, cell_integer(INT64_MIN), "-9,223,372,036,854,775,808",
		     "-9223372036854775808");
	check_number(plain, cell_integer(7), "+7", "7");
	check_number(error, with_error(1.23456, 0.5), "1.23%", "1.23");
	check_number(error, with_error(1.23456, 0.005), "1.235%", "1.23");
	check_number(error, with_error(1.23456, 0.0005), "1.2346%", "1.23");
	check_number(error, with_error(12.3456, 0.0005), "12.346%", "12.3");
	check_number(error, with_error(12345.6, 0.0005), "12346%", "1.23e+04");
	check_number(error, with_error(0.0 / 0.0, 0), "-nan%", "");
	check_number(text, cell_text("12"), "12", "12");
	check_number(text, cell_text("0x12"), "0x12", "\"0x12\"");
	check_number(count, cell_bool(true), "yes", "true");
}

static void check_times(int64_t most, const char *expected)
{
	cleanup(sheet_clear) struct sheet sheet = {0};
	static const struct column column = {"t", "SUM", UNIT_NANOSECONDS, .precise = 1};
	const struct cell cells[] = {cell_integer(-5), cell_real(2500.25), cell_integer(most)};
	const struct table table = {"t", &column, 1, 3, read_cell, cells};
	char csv[64];

	sheet_add_table(&sheet, MEDIA_ALL, &table);
	check_sheet(&sheet, MEDIA_TEXT, (struct sheet_style){0}, expected);
	(void)snprintf(csv, sizeof(csv), "t\r\n-5\r\n2500.2\r\n%lld\r\n", (long long)most);
	check_sheet(&sheet, MEDIA_CSV, (struct sheet_style){0}, csv);
}

TEST(sheet_times_have_one_unit)
{
	check_times(99999, "SUM(ns)\n     -5\n   2500\n  99999\n");
	check_times(100000, "SUM(us)\n -0.005\n  2.500\n100.000\n");
	check_times(100000000, "SUM(ms)\n -0.000\n  0.003\n100.000\n");
	check_times(INT64_MAX, "        SUM(s)\n        -0.000\n         0.000\n9223372036.855\n");
}

/* --- trees, paths, histograms ----------------------------------------------------------------- */

struct tree_line {
	unsigned level;
	bool is_fork, has_more;
	const char *name;
};

static const struct tree_line tree_lines[] = {
	{0, false, false, "root"},	{1, true, true, "left"}, {1, false, false, "chain"},
	{2, true, true, "one"},		{2, true, false, "two"}, {1, true, false, "right"},
	{1, false, false, "chain too"}, {0, false, false, NULL}, {0, false, false, "root 2"},
};

static void read_tree_line(const void *context, size_t number, struct row *row)
{
	const struct tree_line *line = (const struct tree_line *)context + number;

	row->kind = line->name ? ROW_PLAIN : ROW_BLANK;
	row->level = line->level;
	row->is_fork = line->is_fork;
	row->has_more = line->has_more;
	row->cells[0] = cell_text(line->name);
}

static const struct column tree_column = {NULL, "PATH",
					  .flags = COLUMN_TREE | COLUMN_NAME | COLUMN_MAIN};

TEST(sheet_tree)
{
	cleanup(sheet_clear) struct sheet sheet = {0};
	const struct table table = {NULL,	    &tree_column, 1, ARRAY_SIZE(tree_lines),
				    read_tree_line, tree_lines};

	sheet_add_table(&sheet, MEDIA_ALL, &table);
	check_sheet(&sheet, MEDIA_TEXT, (struct sheet_style){0},
		    "PATH\n"
		    "root\n"
		    "├ left\n"
		    "│ chain\n"
		    "│ ├ one\n"
		    "│ └ two\n"
		    "└ right\n"
		    "  chain too\n"
		    "\n"
		    "root 2\n");
	check_sheet(&sheet, MEDIA_TEXT, (struct sheet_style){.ascii = true},
		    "PATH\n"
		    "root\n"
		    "|-left\n"
		    "| chain\n"
		    "| |-one\n"
		    "| `-two\n"
		    "`-right\n"
		    "  chain too\n"
		    "\n"
		    "root 2\n");
}

static void read_deep_line(const void *context, size_t number, struct row *row)
{
	row->level = (unsigned)number;
	row->is_fork = true;
	row->has_more = number % 2;
	row->cells[0] = cell_text("a_rather_long_name_of_a_function_that_is_called");
}

TEST(sheet_deep_tree_leaves_room_for_names)
{
	cleanup(sheet_clear) struct sheet sheet = {0};
	const struct table table = {NULL, &tree_column, 1, 300, read_deep_line, NULL};
	cleanup_free char *text = NULL;
	char *line, *rest;

	sheet_add_table(&sheet, MEDIA_ALL, &table);
	text = rendered(&sheet, MEDIA_TEXT, (struct sheet_style){.width = 60});
	for (rest = text; (line = strsep(&rest, "\n"));)
		CHECK(text_columns(line) <= 60);
	free(text);
	text = rendered(&sheet, MEDIA_TEXT, (struct sheet_style){.width = 60});
	CHECK(strstr(text, "\n… │   │   │   │   │   │   │   │   ├ a_rather_lon…t_is_called\n") !=
	      NULL);
}

TEST(sheet_paths)
{
	static const char *const names[] = {"redis-server", "main", "a_function_of_some_length",
					    "another_function", "the;last"};
	const struct cell cells[] = {
		{.kind = CELL_PATH, .path = {names, 5, false}},
		{.kind = CELL_PATH, .path = {names, 2, true}},
	};
	static const struct column column = {"path", "PATH", .flags = COLUMN_MAIN};
	const struct table table = {"rows", &column, 1, 2, read_cell, cells};
	cleanup(sheet_clear) struct sheet sheet = {0};

	sheet_add_table(&sheet, MEDIA_ALL, &table);
	check_sheet(&sheet, MEDIA_TEXT, (struct sheet_style){.width = 60},
		    "PATH\n"
		    "… › a_function_of_some_length › another_function › the;last\n"
		    "… › redis-server › main\n");
	check_sheet(&sheet, MEDIA_MARKDOWN, (struct sheet_style){0},
		    "| path |\n"
		    "|---|\n"
		    "| `redis-server` › `main` › `a_function_of_some_length` › `another_function` "
		    "› `the;last` |\n"
		    "| … › `redis-server` › `main` |\n");
	check_sheet(&sheet, MEDIA_CSV, (struct sheet_style){0},
		    "path\r\n"
		    "\"redis-server;main;a_function_of_some_length;another_function;the?last\"\r\n"
		    "\"redis-server;main\"\r\n");
	check_sheet(&sheet, MEDIA_JSON, (struct sheet_style){0},
		    "{\n"
		    "\"rows\": [\n"
		    "{\"path\": [\"redis-server\", \"main\", \"a_function_of_some_length\", "
		    "\"another_function\", \"the;last\"]},\n"
		    "{\"path\": [\"redis-server\", \"main\"]}]\n"
		    "}\n");
}

static void read_histogram(const void *context, size_t number, struct row *row)
{
	static const struct histogram_range ranges[] = {
		{INT64_MIN, -1}, {0, 3}, {4, 7}, {8, 15}, {16, INT64_MAX}};
	static const uint64_t counts[][5] = {{0, 1, 0, 120, 0}, {3, 0, 0, 0, 1}, {0}};
	static const struct histogram histograms[] = {
		{ranges, counts[0], 5, "usecs"},
		{ranges, counts[1], 5, NULL},
		{ranges, counts[2], 5, "usecs"},
	};

	row->cells[0] = cell_text(number ? "b|c" : "malloc");
	row->cells[1] = cell_integer((int64_t)number);
	row->cells[2] = cell_count(121);
	row->cells[3] = cell_count(1234567);
	row->cells[4] = (struct cell){.kind = CELL_HISTOGRAM, .histogram = &histograms[number]};
}

TEST(sheet_histograms)
{
	static const struct column columns[] = {
		{"key.func", "FUNC", .flags = COLUMN_NAME},
		{"key.args.dev", "args.dev", .flags = COLUMN_VERBATIM},
		{"count", "COUNT"},
		{"max", "MAX", UNIT_NANOSECONDS, COLUMN_SETS_UNIT},
		{"histogram", "HISTOGRAM", .flags = COLUMN_HISTOGRAM},
	};
	const struct table table = {"rows", columns, 5, 3, read_histogram, NULL};
	cleanup(sheet_clear) struct sheet sheet = {0};

	sheet_add_table(&sheet, MEDIA_ALL, &table);
	check_sheet(
		&sheet, MEDIA_TEXT, (struct sheet_style){0},
		"func malloc, args.dev 0: count 121, max 1234.567 us\n"
		"     usecs               : count     distribution\n"
		"         0 -> 3          : 1        |*                                       |\n"
		"         4 -> 7          : 0        |                                        |\n"
		"         8 -> 15         : 120      |****************************************|\n"
		"\n"
		"func b|c, args.dev 1: count 121, max 1234.567 us\n"
		"                         : count     distribution\n"
		"      less -> -1         : 3        |****************************************|\n"
		"         0 -> 3          : 0        |                                        |\n"
		"         4 -> 7          : 0        |                                        |\n"
		"         8 -> 15         : 0        |                                        |\n"
		"        16 -> more       : 1        |*************                           |\n"
		"\n"
		"func b|c, args.dev 2: count 121, max 1234.567 us\n"
		"     usecs               : count     distribution\n");
	check_sheet(&sheet, MEDIA_MARKDOWN, (struct sheet_style){0},
		    "func `malloc`, args.dev 0: count 121, max 1234.567 us\n"
		    "\n"
		    "         usecs               : count     distribution\n"
		    "             0 -> 3          : 1        |*                                    "
		    "   |\n"
		    "             4 -> 7          : 0        |                                     "
		    "   |\n"
		    "             8 -> 15         : 120      "
		    "|****************************************|\n"
		    "\n"
		    "func `b|c`, args.dev 1: count 121, max 1234.567 us\n"
		    "\n"
		    "                             : count     distribution\n"
		    "          less -> -1         : 3        "
		    "|****************************************|\n"
		    "             0 -> 3          : 0        |                                     "
		    "   |\n"
		    "             4 -> 7          : 0        |                                     "
		    "   |\n"
		    "             8 -> 15         : 0        |                                     "
		    "   |\n"
		    "            16 -> more       : 1        |*************                        "
		    "   |\n"
		    "\n"
		    "func `b|c`, args.dev 2: count 121, max 1234.567 us\n"
		    "\n"
		    "         usecs               : count     distribution\n");
	check_sheet(&sheet, MEDIA_CSV, (struct sheet_style){0},
		    "key_func,key.args.dev,count,max,from,to,in_range\r\n"
		    "\"malloc\",0,121,1234567,0,3,1\r\n"
		    "\"malloc\",0,121,1234567,8,15,120\r\n"
		    "\"b|c\",1,121,1234567,-9223372036854775808,-1,3\r\n"
		    "\"b|c\",1,121,1234567,16,9223372036854775807,1\r\n");
	check_sheet(&sheet, MEDIA_JSON, (struct sheet_style){0},
		    "{\n"
		    "\"rows\": [\n"
		    "{\"key\": {\"func\": \"malloc\", \"args.dev\": 0}, \"count\": 121, \"max\": "
		    "1234567, \"histogram\": [{\"from\": 0, \"to\": 3, \"count\": 1}, {\"from\": "
		    "8, \"to\": 15, \"count\": 120}]},\n"
		    "{\"key\": {\"func\": \"b|c\", \"args.dev\": 1}, \"count\": 121, \"max\": "
		    "1234567, \"histogram\": [{\"from\": -9223372036854775808, \"to\": -1, "
		    "\"count\": 3}, {\"from\": 16, \"to\": 9223372036854775807, \"count\": 1}]},\n"
		    "{\"key\": {\"func\": \"b|c\", \"args.dev\": 2}, \"count\": 121, \"max\": "
		    "1234567, \"histogram\": []}]\n"
		    "}\n");
}

/* --- layout ----------------------------------------------------------------------------------- */

static void read_call(const void *context, size_t number, struct row *row)
{
	row->kind = number == 2 ? ROW_HIDDEN : ROW_PLAIN;
	row->cells[0] =
		cell_text(number ? "a_function_whose_name_is_longer_than_its_column" : "call");
	row->cells[1] = cell_count(334);
}

/* As in bcc: scripts split at blanks, so names are not cut. */
TEST(sheet_that_is_never_cut)
{
	static const struct column columns[] = {
		{"name", "FUNC", .flags = COLUMN_NAME | COLUMN_OVERFLOWS, .least_width = 36},
		{"count", "COUNT", .least_width = 8, .gap = 1},
	};
	const struct table table = {"rows", columns, 2, 3, read_call, NULL, .never_cut = true};
	cleanup(sheet_clear) struct sheet sheet = {0};

	sheet_add_table(&sheet, MEDIA_ALL, &table);
	check_sheet(&sheet, MEDIA_TEXT, (struct sheet_style){0},
		    "FUNC                                    COUNT\n"
		    "call                                      334\n"
		    "a_function_whose_name_is_longer_than_its_column      334\n");
	check_sheet(&sheet, MEDIA_CSV, (struct sheet_style){0},
		    "name,count\r\n\"call\",334\r\n"
		    "\"a_function_whose_name_is_longer_than_its_column\",334\r\n"
		    "\"a_function_whose_name_is_longer_than_its_column\",334\r\n");
}

TEST(sheet_keeps_what_rows_are_made_of)
{
	struct sheet sheet = {0};

	CHECK_EQ(sheet_keep(&sheet, malloc(10), free), 0);
	CHECK_EQ(sheet_keep(&sheet, malloc(10), free), 0);
	sheet_clear(&sheet); /* AddressSanitizer finds leaks */
}

static int fill_and_write(FILE *out)
{
	cleanup(sheet_clear) struct sheet sheet = {0};
	const struct table table = {NULL,	    &tree_column, 1, ARRAY_SIZE(tree_lines),
				    read_tree_line, tree_lines};

	if (sheet_keep(&sheet, strdup("x"), free) < 0)
		return -ENOMEM;
	fill(&sheet);
	sheet_add_table(&sheet, MEDIA_TEXT, &table);
	return sheet_write(&sheet, MEDIA_TEXT, &(struct sheet_style){0}, out);
}

TEST(sheet_without_memory)
{
	cleanup_file FILE *out = fopen("/dev/null", "w");
	size_t nth = 1;
	int result;

	do {
		(void)test_fail_allocation(nth++);
		result = fill_and_write(out);
		(void)test_fail_allocation(0);
		CHECK(result == 0 || result == -ENOMEM);
	} while (result < 0);
	CHECK(nth > 5);
}

TEST(sheet_tells_when_it_cannot_be_written)
{
	cleanup_file FILE *full = fopen("/dev/full", "w");
	cleanup(sheet_clear) struct sheet sheet = {0};

	if (!full)
		SKIP("needs /dev/full");
	fill(&sheet);
	CHECK_EQ(sheet_write(&sheet, MEDIA_JSON, &(struct sheet_style){0}, full), -ENOSPC);
}
