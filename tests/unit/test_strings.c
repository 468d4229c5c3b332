/* base/strings. */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/strings.h"

TEST(strings_zero_is_empty)
{
	struct strings *strings = strings_new();

	CHECK(strings != NULL);
	CHECK_EQ(strings_nr(strings), 1);
	CHECK_STR(strings_get(strings, 0), "");
	CHECK_EQ(strings_add(strings, ""), 0);
	CHECK_STR(strings_get(strings, 12345), "");
	strings_free(strings);
}

TEST(strings_are_kept_once)
{
	struct strings *strings = strings_new();
	char text[32];
	int round, i;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < 20000; i++) {
			(void)snprintf(text, sizeof(text), "name %d", i);
			CHECK_EQ(strings_add(strings, text), i + 1);
		}
	}
	CHECK_EQ(strings_nr(strings), 20001);
	for (i = 0; i < 20000; i++) {
		(void)snprintf(text, sizeof(text), "name %d", i);
		CHECK_STR(strings_get(strings, (uint32_t)i + 1), text);
	}
	CHECK(strings_bytes(strings) > 20000 * sizeof("name"));
	strings_free(strings);
}

TEST(strings_by_length)
{
	struct strings *strings = strings_new();
	const char *guarded = test_guarded("abc", 3);
	int64_t abc = strings_add_bytes(strings, guarded, 3);
	int64_t ab = strings_add_bytes(strings, guarded, 2);

	CHECK_EQ(strings_add(strings, "abc"), abc);
	CHECK_EQ(strings_add(strings, "ab"), ab);
	CHECK(abc != ab);
	CHECK_STR(strings_get(strings, (uint32_t)ab), "ab");
	CHECK(strings_add_bytes(strings, "ab\0c", 4) != ab);
	CHECK_EQ(strings_add_bytes(strings, "ab\0c", 4), strings_add_bytes(strings, "ab\0c", 4));
	strings_free(strings);
}

TEST(strings_lengths_around_a_word)
{
	struct strings *strings = strings_new();
	char text[40] = "";
	size_t nr;

	for (nr = 1; nr < sizeof(text); nr++) {
		memset(text, 'x', nr);
		CHECK_EQ(strings_add_bytes(strings, test_guarded(text, nr), nr), (int64_t)nr);
	}
	strings_free(strings);
}

/* Adding can move the strings, and so the text that is added. */
TEST(strings_add_a_part_of_their_own)
{
	struct strings *strings = strings_new();
	char text[24];
	uint32_t i;

	for (i = 1; i < 1000; i++) {
		(void)snprintf(text, sizeof(text), "key=%u", i);
		CHECK_EQ(strings_add(strings, text), 2 * i - 1);
		CHECK_EQ(strings_add(strings, strings_get(strings, 2 * i - 1) + 4), 2 * i);
		CHECK_STR(strings_get(strings, 2 * i), text + 4);
	}
	strings_free(strings);
}

TEST(strings_new_without_memory)
{
	struct strings *strings = NULL;
	size_t nth;

	for (nth = 1; !strings; nth++) {
		(void)test_fail_allocation(nth);
		strings = strings_new();
		(void)test_fail_allocation(0);
	}
	CHECK(nth > 3);
	strings_free(strings);
	strings_free(NULL);
}

TEST(strings_add_without_memory)
{
	struct strings *strings = strings_new();
	char text[32];
	int failures = 0;
	int i;

	for (i = 1; i < 3000; i++) {
		int64_t number;

		(void)snprintf(text, sizeof(text), "text %d", i);
		(void)test_fail_allocation(1);
		number = strings_add(strings, text);
		(void)test_fail_allocation(0);
		if (number < 0) {
			CHECK_EQ(number, -ENOMEM);
			CHECK_EQ(strings_nr(strings), i);
			number = strings_add(strings, text);
			failures++;
		}
		CHECK_EQ(number, i);
	}
	CHECK(failures > 5);
	CHECK_STR(strings_get(strings, 1), "text 1");
	strings_free(strings);
}
