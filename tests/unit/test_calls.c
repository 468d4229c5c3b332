/* view/hits, calls: the order of rows, and the exact text of each format. */
#include "view/hits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "format/text/sheet_write.h"
#include "unit/test.h"

static const struct call_row rows[] = {
	{.label = "postponeClientRead",
	 .name = "postponeClientRead",
	 .kind = "function",
	 .file = "/usr/bin/redis-check-rdb",
	 .count = 514,
	 .per_second = 51.4},
	{.label = "never", .name = "never", .kind = "function", .file = "/bin/a"},
	{.label = "call",
	 .name = "call",
	 .kind = "function",
	 .file = "/usr/bin/redis-check-rdb",
	 .count = 334,
	 .per_second = 334},
	{.label = "r:init (hash.c)",
	 .name = "init",
	 .detail = "hash.c",
	 .kind = "function",
	 .file = "/bin/a",
	 .is_return = true,
	 .count = 334,
	 .per_second = 33.4},
	{.label = "vfs_read", .name = "vfs_read", .kind = "kernel", .count = 7, .per_second = 0.7},
};

/* A copy of the rows, from which tests choose. */
static struct call_row chosen[ARRAY_SIZE(rows)];

static size_t choose(enum call_order order, size_t top)
{
	struct call_interval interval = {.rows = chosen, .nr = ARRAY_SIZE(rows)};

	memcpy(chosen, rows, sizeof(rows));
	call_interval_choose(&interval, order, top);
	return interval.nr;
}

/* Returns the rows' labels in one line. */
static const char *labels(size_t nr)
{
	static char text[256];
	size_t i;

	text[0] = '\0';
	for (i = 0; i < nr; i++) {
		strcat(text, i ? " " : "");
		strcat(text, chosen[i].label);
	}
	return text;
}

TEST(call_rows_without_hits_are_left_out)
{
	CHECK_STR(labels(choose(CALL_BY_COUNT, 0)),
		  "vfs_read call r:init (hash.c) postponeClientRead");
}

TEST(call_rows_are_sorted)
{
	CHECK_STR(labels(choose(CALL_BY_NAME, 0)),
		  "call postponeClientRead r:init (hash.c) vfs_read");
	CHECK_STR(labels(choose(CALL_BY_RATE, 0)),
		  "vfs_read r:init (hash.c) postponeClientRead call");
}

TEST(call_rows_top_are_the_most_called)
{
	CHECK_STR(labels(choose(CALL_BY_COUNT, 2)), "r:init (hash.c) postponeClientRead");
	CHECK_STR(labels(choose(CALL_BY_NAME, 2)), "postponeClientRead r:init (hash.c)");
	CHECK_STR(labels(choose(CALL_BY_RATE, 1)), "call");
	CHECK_EQ(choose(CALL_BY_COUNT, 99), 4);
}

TEST(call_rows_cut_stay_though_nothing_is_counted_any_more)
{
	struct call_row cut[] = {
		{.label = "a", .state = CALL_WAITING},
		{.label = "b", .state = CALL_CUT},
		{.label = "c", .state = CALL_REFUSED},
		{.label = "d"},
	};

	struct call_interval interval = {.rows = cut, .nr = ARRAY_SIZE(cut)};

	call_interval_choose(&interval, CALL_BY_COUNT, 0);
	CHECK_EQ(interval.nr, 2);
	CHECK_STR(cut[0].label, "b");
	CHECK_STR(cut[1].label, "c");
	interval.nr = 0;
	call_interval_choose(&interval, CALL_BY_COUNT, 3);
	CHECK_EQ(interval.nr, 0);
}

/* --- formats --------------------------------------------------------------------------------- */

static struct call_interval interval_of(struct call_row *its_rows, size_t nr)
{
	return (struct call_interval){.rows = its_rows,
				      .nr = nr,
				      .time = 1763746015.1234,
				      .seconds = 10.0004,
				      .missed = UINT64_MAX};
}

static void check_written(const struct call_interval *interval, const struct call_style *style,
			  enum media medium, const char *wanted)
{
	const struct sheet_style first = {.is_first = true};
	struct sheet sheet = {0};
	char *text = NULL;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	calls_sheet_fill(&sheet, interval, style);
	CHECK_EQ(sheet_write(&sheet, medium, &first, out), 0);
	CHECK_EQ(fclose(out), 0);
	CHECK_STR(text, wanted);
	sheet_clear(&sheet);
	free(text);
}

static void check_table(const struct call_interval *interval, const struct call_style *style,
			const char *wanted)
{
	check_written(interval, style, MEDIA_TEXT, wanted);
}

static const struct call_style plain;

/* The output of bcc's funccount for the same counts. */
TEST(call_table_is_that_of_bcc)
{
	const struct call_style options = {0};
	struct call_interval interval = interval_of(chosen, choose(CALL_BY_COUNT, 0));

	check_table(&interval, &options,
		    "\n"
		    "FUNC                                    COUNT\n"
		    "vfs_read                                    7\n"
		    "call                                      334\n"
		    "r:init (hash.c)                           334\n"
		    "postponeClientRead                        514\n");
	interval.nr = 0;
	check_table(&interval, &options,
		    "\n"
		    "FUNC                                    COUNT\n");
}

TEST(call_table_does_not_cut)
{
	const struct call_style options = {0};
	struct call_row row = {.label = "a_name_of_more_than_thirty_six_characters",
			       .count = 123456789012};
	struct call_interval interval = interval_of(&row, 1);

	check_table(&interval, &options,
		    "\n"
		    "FUNC                                    COUNT\n"
		    "a_name_of_more_than_thirty_six_characters 123456789012\n");
	row.label = "Größe\033[2J"; /* width in columns, not bytes; no escape sequences */
	check_table(&interval, &options,
		    "\n"
		    "FUNC                                    COUNT\n"
		    "Größe?[2J                            123456789012\n");
}

TEST(call_table_with_time_rate_and_cuts)
{
	const struct call_style options = {.rate = true, .timestamp = true};
	struct call_row two[] = {
		{.label = "memcpy",
		 .state = CALL_CUT,
		 .cut_per_second = 2000000.4,
		 .per_second = 0},
		{.label = "malloc", .count = 99, .per_second = 9.94},
		{.label = "gone", .state = CALL_REFUSED, .why = "not there"},
	};
	struct call_interval interval = interval_of(two, ARRAY_SIZE(two));

	CHECK_EQ(setenv("TZ", "UTC", 1), 0);
	tzset();
	check_table(&interval, &options,
		    "\n"
		    "17:26:55\n"
		    "FUNC                                    COUNT   PER SECOND  NOTE\n"
		    "memcpy                                      0          0.0  detached at "
		    "2000000/s\n"
		    "malloc                                     99          9.9\n");
}

/* --- with keys ------------------------------------------------------------------------------- */

static const struct cell cells[][2] = {
	{{CELL_INTEGER, .integer = 812}, {CELL_TEXT, .text = "a"}},
	{{CELL_INTEGER, .integer = 9}, {CELL_TEXT, .text = "a longer name"}},
	{{CELL_INTEGER, .integer = 9}, {CELL_NONE}},
};

static struct row_keys keys;

/*
 * A function with a row for each key, and a function whose probe was detached before its first hit.
 */
static struct call_interval keyed_interval(struct call_row *keyed, size_t nr)
{
	struct call_interval interval;
	size_t i;

	keyed[0] = (struct call_row){.label = "memcpy",
				     .name = "memcpy",
				     .kind = "function",
				     .file = "/bin/a",
				     .state = CALL_CUT,
				     .cut_per_second = 1e6};
	for (i = 1; i < nr; i++)
		keyed[i] = (struct call_row){.label = "call",
					     .name = "call",
					     .kind = "function",
					     .file = "/bin/a",
					     .count = 7,
					     .per_second = 0.7,
					     .keys = cells[i - 1],
					     .nr_keys = 2};
	interval = interval_of(keyed, nr);
	call_interval_choose(&interval, CALL_BY_COUNT, 0);
	keys.nr = 0;
	row_keys_add(&keys, "pid", true);
	row_keys_add(&keys, "comm", false);
	interval.keys = &keys;
	interval.lost = 3;
	return interval;
}

TEST(call_table_with_keys)
{
	const struct call_style options = {0};
	struct call_row keyed[4];
	struct call_interval interval = keyed_interval(keyed, ARRAY_SIZE(keyed));

	CHECK_EQ(interval.nr, 4);
	check_table(
		&interval, &options,
		"\n"
		"PID  COMM           FUNC                                    COUNT  NOTE\n"
		"  -  -              memcpy                                      0  detached at "
		"1000000/s\n"
		"  9  [unreadable]   call                                        7\n"
		"  9  a longer name  call                                        7\n"
		"812  a              call                                        7\n");
}

static struct call_row awkward[] = {
	{.label = "x",
	 .name = "say \"hi\"\\\n\x80\xc2\x9b",
	 .detail = "a,b.c",
	 .kind = "usdt",
	 .file = "/tmp/größe",
	 .count = UINT64_MAX,
	 .per_second = 0.25},
	{.label = "y",
	 .name = "vfs_read",
	 .is_return = true,
	 .kind = "kernel",
	 .state = CALL_CUT,
	 .cut_per_second = 1e6},
	{.label = "z",
	 .name = "z",
	 .kind = "kernel",
	 .state = CALL_REFUSED,
	 .why = "notrace: \"it\" can't"},
};

TEST(call_rows_as_json)
{
	struct call_interval interval = interval_of(awkward, ARRAY_SIZE(awkward));

	check_written(&interval, &plain, MEDIA_JSON,
		      "{\"time\": 1763746015.123, \"seconds\": 10.000, \"missed\": null, "
		      "\"functions\": ["
		      "{\"name\": \"say \\\"hi\\\"\\\\\\u000a\\ufffd\\u009b\", "
		      "\"detail\": \"a,b.c\", \"return\": false, \"kind\": \"usdt\", "
		      "\"file\": \"/tmp/größe\", \"count\": 18446744073709551615, "
		      "\"per_second\": 0.2, \"state\": \"counted\", \"cut_per_second\": null, "
		      "\"why\": null}, "
		      "{\"name\": \"vfs_read\", \"detail\": null, \"return\": true, "
		      "\"kind\": \"kernel\", \"file\": null, \"count\": 0, \"per_second\": 0.0, "
		      "\"state\": \"cut\", \"cut_per_second\": 1000000.0, \"why\": null}, "
		      "{\"name\": \"z\", \"detail\": null, \"return\": false, "
		      "\"kind\": \"kernel\", \"file\": null, \"count\": 0, \"per_second\": 0.0, "
		      "\"state\": \"refused\", \"cut_per_second\": null, "
		      "\"why\": \"notrace: \\\"it\\\" can't\"}]}\n");
	interval.nr = 0;
	interval.missed = 12;
	check_written(&interval, &plain, MEDIA_JSON,
		      "{\"time\": 1763746015.123, \"seconds\": 10.000, \"missed\": 12, "
		      "\"functions\": []}\n");
}

TEST(call_rows_as_csv)
{
	struct call_interval interval = interval_of(awkward, ARRAY_SIZE(awkward));

	check_written(
		&interval, &plain, MEDIA_CSV,
		"time,seconds,name,detail,return,kind,file,count,per_second,state,"
		"cut_per_second,why\r\n"
		"1763746015.123,10.000,\"say \"\"hi\"\"\\????\",\"a,b.c\",false,\"usdt\","
		"\"/tmp/größe\",18446744073709551615,0.2,\"counted\",,\r\n"
		"1763746015.123,10.000,\"vfs_read\",,true,\"kernel\",,0,0.0,\"cut\",1000000.0,"
		"\r\n"
		"1763746015.123,10.000,\"z\",,false,\"kernel\",,0,0.0,\"refused\",,"
		"\"notrace: \"\"it\"\" can't\"\r\n");
}

TEST(call_rows_with_keys_as_json_and_csv)
{
	struct call_row keyed[3];
	struct call_interval interval = keyed_interval(keyed, ARRAY_SIZE(keyed));

	check_written(
		&interval, &plain, MEDIA_CSV,
		"time,seconds,pid,comm,name,detail,return,kind,file,count,per_second,state,"
		"cut_per_second,why\r\n"
		"1763746015.123,10.000,,,\"memcpy\",,false,\"function\",\"/bin/a\",0,0.0,\"cut\","
		"1000000.0,\r\n"
		"1763746015.123,10.000,9,\"a longer name\",\"call\",,false,\"function\","
		"\"/bin/a\",7,0.7,\"counted\",,\r\n"
		"1763746015.123,10.000,812,\"a\",\"call\",,false,\"function\",\"/bin/a\",7,0.7,"
		"\"counted\",,\r\n");
	interval.rows++;
	interval.nr = 1;
	check_written(&interval, &plain, MEDIA_JSON,
		      "{\"time\": 1763746015.123, \"seconds\": 10.000, \"missed\": null, "
		      "\"lost\": 3, \"functions\": ["
		      "{\"pid\": 9, \"comm\": \"a longer name\", \"name\": \"call\", "
		      "\"detail\": null, \"return\": false, \"kind\": \"function\", "
		      "\"file\": \"/bin/a\", \"count\": 7, \"per_second\": 0.7, "
		      "\"state\": \"counted\", \"cut_per_second\": null, \"why\": null}]}\n");
	interval.rows--;
	interval.rows[0].state = CALL_REFUSED;
	check_written(&interval, &plain, MEDIA_JSON,
		      "{\"time\": 1763746015.123, \"seconds\": 10.000, \"missed\": null, "
		      "\"lost\": 3, \"functions\": ["
		      "{\"pid\": null, \"comm\": null, \"name\": \"memcpy\", "
		      "\"detail\": null, \"return\": false, \"kind\": \"function\", "
		      "\"file\": \"/bin/a\", \"count\": 0, \"per_second\": 0.0, "
		      "\"state\": \"refused\", \"cut_per_second\": null, \"why\": null}]}\n");
}

TEST(call_rows_as_markdown)
{
	const struct call_style options = {.rate = true, .timestamp = true};
	struct call_interval interval = interval_of(awkward, ARRAY_SIZE(awkward));

	CHECK_EQ(setenv("TZ", "UTC", 1), 0);
	tzset();
	awkward[0].label = "a|`b`";
	check_written(&interval, &options, MEDIA_MARKDOWN,
		      "17:26:55\n"
		      "\n"
		      "| func | count | per second | note |\n"
		      "|---|---:|---:|---|\n"
		      "| `` a\\|`b` `` | 18446744073709551615 | 0.2 |  |\n"
		      "| `y` | 0 | 0.0 | detached at 1000000/s |\n");
	awkward[0].label = "x";
}

TEST(calls_sheet_without_memory)
{
	const struct call_style options = {.rate = true, .timestamp = true};
	struct call_row keyed[3];
	struct call_interval interval = keyed_interval(keyed, ARRAY_SIZE(keyed));
	size_t n;

	for (n = 1; n < 100; n++) {
		struct sheet sheet = {0};
		int status;

		(void)test_fail_allocation(n);
		calls_sheet_fill(&sheet, &interval, &options);
		(void)test_fail_allocation(0);
		status = sheet_status(&sheet);
		sheet_clear(&sheet);
		if (!status)
			return;
		CHECK_EQ(status, -ENOMEM);
	}
	CHECK(false);
}
