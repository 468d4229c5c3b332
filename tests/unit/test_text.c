/*
 * base/text: characters that are safe for terminals, and writers of untrusted texts that use it;
 * strict parsing of numbers, durations and lists.
 */
#include "base/text.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/text/json.h"
#include "format/text/sheet_write.h"
#include "unit/test.h"

static void check_safe(const char *text, const char *wanted)
{
	size_t nr = strlen(text), nr_written;
	const char *guarded = test_guarded(text, nr + 1);
	char *copy = strdup(text), *written = NULL;
	FILE *out = open_memstream(&written, &nr_written);

	CHECK(copy != NULL && out != NULL);
	text_make_safe(copy, guarded, nr);
	CHECK_STR(copy, wanted);
	memcpy(copy, text, nr);
	text_make_safe(copy, copy, nr);
	CHECK_STR(copy, wanted);
	text_write(out, guarded);
	(void)fclose(out);
	CHECK_STR(written, wanted);
	free(copy);
	free(written);
}

TEST(text_is_safe_for_terminals)
{
	check_safe("", "");
	check_safe("operator<< (a;b) ~", "operator<< (a;b) ~");
	check_safe("äé€𝄞日本 ‍",
		   "äé€𝄞日本 ‍"); /* with a zero-width joiner, which some scripts need */
	check_safe("\x01\t\n\x1b]0;x\a\x7f", "????]0;x??");
	check_safe("\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "??????\xc2\xa0");
	check_safe("a\x9b"
		   "b",
		   "a?b");			      /* CSI as one byte */
	check_safe("\xd8\x9c\xd8\x9b", "??\xd8\x9b"); /* the Arabic letter mark; a semicolon */
	check_safe("\xe2\x80\x8d\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\x90",
		   "\xe2\x80\x8d??????\xe2\x80\x90");
	check_safe("\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xaa\xe2\x80\xae\xe2\x80\xaf",
		   "\xe2\x80\xa7?????????\xe2\x80\xaf");
	check_safe("\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa",
		   "\xe2\x81\xa5??????\xe2\x81\xaa");
}

TEST(text_that_is_no_utf8)
{
	check_safe("caf\xe9", "caf?");
	check_safe("\xc0\xaf", "??");
	check_safe("\xc1\xbf\xe0\x9f\xbf", "?????");
	check_safe("\xed\xa0\x80", "???");
	check_safe("\xf4\x90\x80\x80\xf5", "?????");
	check_safe("\xe2\x80", "??");
	check_safe("\xf0\x9d\x84", "???");
	check_safe("\xe2\x80\x1b", "???");
}

TEST(text_utf8_numbers)
{
	uint32_t code = 0;

	CHECK_EQ(text_utf8("", &code), 0);
	CHECK(text_utf8("\x1b", &code) == 1 && code == 0x1b);
	CHECK(text_utf8("\xc2\x9b", &code) == 2 && code == 0x9b);
	CHECK(text_utf8("\xe2\x80\xae", &code) == 3 && code == 0x202e);
	CHECK(text_utf8("\xf4\x8f\xbf\xbf", &code) == 4 && code == 0x10ffff);
	CHECK_EQ(text_utf8("\x9b", &code), 0);
}

static void check_written(void (*write)(FILE *, const char *), const char *text, const char *wanted)
{
	char *written = NULL;
	size_t nr;
	FILE *out = open_memstream(&written, &nr);

	CHECK(out != NULL);
	write(out, text);
	(void)fclose(out);
	CHECK_STR(written, wanted);
	free(written);
}

static void read_text(const void *context, size_t number, struct row *row)
{
	row->cells[0] = cell_text(context);
}

/* Writes a row whose only cell is the text. */
static void write_csv(FILE *out, const char *text)
{
	static const struct column column = {"text"};
	const struct table table = {"rows", &column, 1, 1, read_text, text};
	const struct sheet_style style = {.is_first = false};
	struct sheet sheet = {.is_line = true};

	sheet_add_table(&sheet, MEDIA_CSV, &table);
	CHECK_EQ(sheet_write(&sheet, MEDIA_CSV, &style, out), 0);
	sheet_clear(&sheet);
}

/* Spreadsheets take such cells for formulas, quoted or not. */
TEST(text_is_no_formula_in_csv)
{
	check_written(write_csv, "=HYPERLINK(\"http://x\")",
		      "\"'=HYPERLINK(\"\"http://x\"\")\"\r\n");
	check_written(write_csv, "+1", "\"'+1\"\r\n");
	check_written(write_csv, "-[NSString init]", "\"'-[NSString init]\"\r\n");
	check_written(write_csv, "@SUM(A1)", "\"'@SUM(A1)\"\r\n");
	check_written(write_csv, "\t=1", "\"?=1\"\r\n");
	check_written(write_csv, "\r=1", "\"?=1\"\r\n");
	check_written(write_csv, "a=1", "\"a=1\"\r\n");
	check_written(write_csv, "", "\"\"\r\n");
	check_written(write_csv, NULL, "\r\n");
	check_written(write_csv, "\xe2\x80\xae\xc2\x9b", "\"?????\"\r\n");
}

TEST(text_in_json_keeps_what_it_can)
{
	check_written(json_write_string, "\x1b\x7f\"\\", "\"\\u001b\\u007f\\\"\\\\\"");
	check_written(json_write_string, "\xc2\x9b\xe2\x80\xae\xe2\x80\xa8",
		      "\"\\u009b\\u202e\\u2028\"");
	check_written(json_write_string, "\xff€\xe2\x82", "\"\\ufffd€\\ufffd\\ufffd\"");
}

/* --- numbers ---------------------------------------------------------------------------------- */

#define UNTOUCHED 0x5555

static void check_number(const char *text, uint64_t max, int err, uint64_t value)
{
	uint64_t got = UNTOUCHED;

	CHECK_EQ(number_parse(text, max, &got), err);
	CHECK_EQ(got, err ? UNTOUCHED : value);
}

TEST(number_parses_decimal_and_hex)
{
	check_number("0", 0, 0, 0);
	check_number("42", 42, 0, 42);
	check_number("007", 10, 0, 7);
	check_number("0x1F", 31, 0, 31);
	check_number("0Xff", UINT64_MAX, 0, 255);
	check_number("18446744073709551615", UINT64_MAX, 0, UINT64_MAX);
	check_number("0xffffffffffffffff", UINT64_MAX, 0, UINT64_MAX);
}

TEST(number_refuses_what_is_too_large)
{
	check_number("43", 42, -ERANGE, 0);
	check_number("5", 4, -ERANGE, 0);
	check_number("1", 0, -ERANGE, 0);
	check_number("0x20", 31, -ERANGE, 0);
	check_number("18446744073709551616", UINT64_MAX, -ERANGE, 0);
	check_number("0x10000000000000000", UINT64_MAX, -ERANGE, 0);
	check_number("99999999999999999999999999999999", UINT64_MAX, -ERANGE, 0);
}

TEST(number_refuses_rubbish)
{
	static const char *const rubbish[] = {"",   " 1", "1 ", "+1",  "-1",  "0x",  "x1", "1x",
					      "1.", "a",  "f",	"0xg", "1,2", "0-1", "\n", "1a"};
	size_t i;

	for (i = 0; i < sizeof(rubbish) / sizeof(rubbish[0]); i++)
		check_number(rubbish[i], UINT64_MAX, -EINVAL, 0);
}

/* Every printed number is parsed back, and a value above the limit is refused. */
TEST(number_comes_back)
{
	uint64_t value = 1;
	char text[32];
	int i;

	for (i = 0; i < 1000; i++) {
		value = value * 6364136223846793005ULL + 1442695040888963407ULL;
		value >>= i % 64;
		(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
		check_number(text, value, 0, value);
		if (value)
			check_number(text, value - 1, -ERANGE, 0);
		(void)snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
		check_number(text, value, 0, value);
	}
}

static void check_seconds(const char *text, int err, uint64_t ns)
{
	uint64_t got = UNTOUCHED;

	CHECK_EQ(number_parse_seconds(text, &got), err);
	CHECK_EQ(got, err ? UNTOUCHED : ns);
}

TEST(number_parses_seconds)
{
	check_seconds("0", 0, 0);
	check_seconds("2", 0, 2000000000);
	check_seconds("0.5", 0, 500000000);
	check_seconds(".25", 0, 250000000);
	check_seconds("7d", 0, 604800000000000);
	check_seconds("1.000000001", 0, 1000000001);
	check_seconds("1.0000000019", 0, 1000000001); /* below a nanosecond: dropped */
	check_seconds("9000000000", 0, 9000000000000000000);
	check_seconds("9300000000", -ERANGE, 0);
	check_seconds("99999999999999999999", -ERANGE, 0);
}

TEST(number_parses_units_of_time)
{
	check_seconds("10s", 0, 10000000000);
	check_seconds("500ms", 0, 500000000);
	check_seconds("0.5ms", 0, 500000);
	check_seconds("2m", 0, 120000000000);
	check_seconds("1.5h", 0, 5400000000000);
	check_seconds("2562047h", 0, 9223369200000000000);
	check_seconds("2562048h", -ERANGE, 0);
	check_seconds("9000000000h", -ERANGE, 0);
}

TEST(number_refuses_rubbish_for_seconds)
{
	static const char *const rubbish[] = {
		"",	 "..",	 ".",  "1.",  "1.x", "-1", "1e3", "1,5", "0x1", " 1",
		"1.2.3", "1sec", "1y", "1 s", "1ss", "s",  "ms",  "-1s", "1M",	"1s ",
	};
	size_t i;

	for (i = 0; i < sizeof(rubbish) / sizeof(rubbish[0]); i++)
		check_seconds(rubbish[i], -EINVAL, 0);
}

/* expected: the list as text, "1 2 3 "; with err, the parser must fail. */
static void check_list(const char *text, bool ranges, int err, const char *expected)
{
	char got[256] = "";
	uint32_t *list = NULL;
	size_t nr = 0, i;

	CHECK_EQ(number_parse_list(text, ranges, 100, 10, &list, &nr), err);
	for (i = 0; i < nr; i++)
		(void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%u ", list[i]);
	CHECK_STR(got, expected);
	free(list);
}

TEST(number_parses_lists)
{
	check_list("3", false, 0, "3 ");
	check_list("3,1,2", false, 0, "1 2 3 ");
	check_list("3,3,1,3", false, 0, "1 3 ");
	check_list("0-3", true, 0, "0 1 2 3 ");
	check_list("5,0-2,1-3", true, 0, "0 1 2 3 5 ");
	check_list("100", true, 0, "100 ");
	check_list("7-7", true, 0, "7 ");
	check_list("0-9", true, 0, "0 1 2 3 4 5 6 7 8 9 ");
}

TEST(number_refuses_bad_lists)
{
	check_list("", true, -EINVAL, "");
	check_list(",", true, -EINVAL, "");
	check_list("1,", true, -EINVAL, "");
	check_list(",1", true, -EINVAL, "");
	check_list("1;2", true, -EINVAL, "");
	check_list("1-", true, -EINVAL, "");
	check_list("-1", true, -EINVAL, "");
	check_list("1-2-3", true, -EINVAL, "");
	check_list("1-2", false, -EINVAL, "");
	check_list("101", true, -ERANGE, "");
	check_list("3-1", true, -ERANGE, "");
	check_list("0-10", true, -ERANGE, ""); /* eleven; the maximum is ten */
	check_list("0-8,10,11", true, -ERANGE, "");
}

TEST(number_list_without_memory)
{
	uint32_t *list = NULL;
	size_t nr = 0, nth = 0;
	int err;

	do {
		(void)test_fail_allocation(++nth);
		err = number_parse_list("0-29,40-60", true, 100, 100, &list, &nr);
		(void)test_fail_allocation(0);
		CHECK(err == 0 || err == -ENOMEM);
	} while (err);
	CHECK(nth > 1);
	CHECK_EQ(nr, 51);
	free(list);
}

TEST(text_file_name_is_behind_the_last_slash)
{
	CHECK_STR(text_file_name("/usr/bin/env"), "env");
	CHECK_STR(text_file_name("env"), "env");
	CHECK_STR(text_file_name("/usr/bin/"), "");
	CHECK_STR(text_file_name(""), "");
}

TEST(text_printf_makes_a_text)
{
	char *text = text_printf("%s %d", "number", 7);

	CHECK(text != NULL);
	CHECK_STR(text, "number 7");
	free(text);
}

/* --- columns of a terminal ---------------------------------------------------------------------- */

static void check_cut(const char *text, size_t columns, const char *wanted)
{
	char *written = NULL;
	size_t nr, nr_columns;
	FILE *out = open_memstream(&written, &nr);
	const char *guarded = test_guarded(text, strlen(text) + 1);

	nr_columns = text_write_columns(out, guarded, columns, "…");
	(void)fclose(out);
	CHECK_STR(written, wanted);
	CHECK_EQ(nr_columns, text_columns(wanted));
	free(written);
}

TEST(columns_cut_in_the_middle)
{
	check_cut("abcdefghij", 10, "abcdefghij");
	check_cut("abcdefghij", 9, "abcd…ghij");
	check_cut("abcdefghij", 8, "abcd…hij");
	check_cut("abcdefghij", 2, "a…");
	check_cut("abcdefghij", 1, "…");
	check_cut("abcdefghij", 0, "");
	check_cut("", 5, "");
}

TEST(columns_cut_between_characters)
{
	check_cut("äöüÄÖÜ", 6, "äöüÄÖÜ");
	check_cut("äöüÄÖÜ", 5, "äö…ÖÜ");
	check_cut("a€b𝄞c€d", 4, "a€…d");
}

TEST(columns_show_no_garbage)
{
	check_cut("a\x1b[31mb\n", 20, "a?[31mb?");
	check_cut("a\xc2\x9b"
		  "b",
		  20, "a??b"); /* CSI as a C1 character */
	check_cut("a\x80\xff", 20, "a??");
	check_cut("\xc0\xaf", 20, "??");	   /* "/", overlong */
	check_cut("\xed\xa0\x80", 20, "???");	   /* a surrogate */
	check_cut("\xf4\x90\x80\x80", 20, "????"); /* past U+10FFFF */
	check_cut("x\xe2\x82", 20, "x??");	   /* truncated */
	check_cut("x\xf0\x9d\x84", 20, "x???");
}

TEST(columns_numbers)
{
	char buffer[NUMBER_COMMAS_BYTES];

	CHECK_STR(number_commas(buffer, 0), "0");
	CHECK_STR(number_commas(buffer, 999), "999");
	CHECK_STR(number_commas(buffer, 1000), "1,000");
	CHECK_STR(number_commas(buffer, 123456), "123,456");
	CHECK_STR(number_commas(buffer, UINT64_MAX), "18,446,744,073,709,551,615");
}
