/* format/flame/svg_text: numbers as printf() would write them, and shortened texts. */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "format/flame/svg_text.h"

static void check_number(double number, unsigned decimals, const char *wanted)
{
	char *text = NULL;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	svg_number(out, number, decimals);
	(void)fclose(out);
	CHECK_STR(text, wanted);
	free(text);
}

TEST(svg_numbers)
{
	check_number(0, 6, "0");
	check_number(12.5, 6, "12.5");
	check_number(1.0 / 3, 6, "0.333333");
	check_number(99.9999999, 6, "100");
	check_number(10, 0, "10");
	check_number(100.04, 1, "100");
	check_number(-1, 3, "0");
	check_number(0.000001, 6, "0.000001");
}

static void check_cut(const char *text, size_t characters, const char *wanted)
{
	char *written = NULL;
	size_t nr;
	FILE *out = open_memstream(&written, &nr);

	svg_text_cut(out, text, characters);
	(void)fclose(out);
	CHECK_STR(written, wanted);
	free(written);
}

TEST(svg_texts_are_cut)
{
	check_cut("abcdef", 6, "abcdef");
	check_cut("abcdef", 5, "abc..");
	check_cut("a<cdef", 5, "a&lt;c..");
	check_cut("\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6", 3, "\xc3\xb6..");
	check_cut("\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6", 4, "\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6");
}
