/* format/text/columns. */
#include "unit/test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/text/columns.h"

static void check_cut(const char *text, size_t columns, const char *wanted)
{
	char *written = NULL;
	size_t nr, nr_columns;
	FILE *out = open_memstream(&written, &nr);
	const char *guarded = test_guarded(text, strlen(text) + 1);

	nr_columns = columns_write(out, guarded, columns, "…");
	(void)fclose(out);
	CHECK_STR(written, wanted);
	CHECK_EQ(nr_columns, columns_of(wanted));
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
		  20, "a??b"); /* CSI as a character of its own */
	check_cut("a\x80\xff", 20, "a??");
	check_cut("\xc0\xaf", 20, "??");	   /* "/", overlong */
	check_cut("\xed\xa0\x80", 20, "???");	   /* a surrogate */
	check_cut("\xf4\x90\x80\x80", 20, "????"); /* past U+10FFFF */
	check_cut("x\xe2\x82", 20, "x??");	   /* cut short */
	check_cut("x\xf0\x9d\x84", 20, "x???");
}

TEST(columns_numbers)
{
	char buffer[COLUMNS_NUMBER_BYTES];

	CHECK_STR(columns_number(buffer, 0), "0");
	CHECK_STR(columns_number(buffer, 999), "999");
	CHECK_STR(columns_number(buffer, 1000), "1,000");
	CHECK_STR(columns_number(buffer, 123456), "123,456");
	CHECK_STR(columns_number(buffer, UINT64_MAX), "18,446,744,073,709,551,615");
}
