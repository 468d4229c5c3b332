/* base/array and base/error. */
#include "unit/test.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

TEST(array_grows_and_keeps_content)
{
	uint32_t *items = NULL;
	size_t capacity = 0;
	uint32_t i;

	for (i = 0; i < 1000; i++) {
		CHECK_EQ(array_reserve(&items, &capacity, i + 1, sizeof(*items)), 0);
		CHECK(capacity > i);
		items[i] = i;
	}
	for (i = 0; i < 1000; i++)
		CHECK_EQ(items[i], i);
	free(items);
}

TEST(array_adds_items_or_stays_as_it_was)
{
	struct pair {
		uint32_t number;
		const char *name;
	} *pairs = NULL;
	size_t nr = 0, capacity = 0;
	uint32_t i;

	(void)test_fail_allocation(1);
	CHECK_EQ(ARRAY_ADD(pairs, nr, capacity, (struct pair){1, "one"}), -ENOMEM);
	(void)test_fail_allocation(0);
	CHECK(!pairs && !nr && !capacity);
	for (i = 0; i < 1000; i++)
		CHECK_EQ(ARRAY_ADD(pairs, nr, capacity, (struct pair){.number = i, "n"}), 0);
	CHECK_EQ(nr, 1000);
	for (i = 0; i < 1000; i++)
		CHECK_EQ(pairs[i].number, i);
	free(pairs);
}

TEST(array_gives_room_back)
{
	uint32_t *items = NULL;
	size_t capacity = 0;

	array_shrink(&items, &capacity, 0, sizeof(*items));
	CHECK(!items && !capacity);
	CHECK_EQ(array_reserve(&items, &capacity, 1000, sizeof(*items)), 0);
	items[2] = 7;
	(void)test_fail_allocation(1);
	array_shrink(&items, &capacity, 3, sizeof(*items));
	(void)test_fail_allocation(0);
	CHECK(capacity >= 1000 && items[2] == 7); /* only larger, still correct */
	array_shrink(&items, &capacity, 3, sizeof(*items));
	CHECK_EQ(capacity, 3);
	CHECK_EQ(items[2], 7);
	free(items);
}

TEST(array_does_nothing_when_there_is_room)
{
	uint32_t *items = NULL;
	size_t capacity = 0;

	CHECK_EQ(array_reserve(&items, &capacity, 10, sizeof(*items)), 0);
	(void)test_fail_allocation(1);
	CHECK_EQ(array_reserve(&items, &capacity, capacity, sizeof(*items)), 0);
	CHECK_EQ(test_fail_allocation(0), 0);
	free(items);
}

TEST(array_is_as_it_was_after_a_failure)
{
	uint32_t *items = NULL;
	size_t capacity = 0, before;
	uint32_t *old;

	CHECK_EQ(array_reserve(&items, &capacity, 1, sizeof(*items)), 0);
	items[0] = 7;
	before = capacity;
	old = items;
	(void)test_fail_allocation(1);
	CHECK_EQ(array_reserve(&items, &capacity, before + 1, sizeof(*items)), -ENOMEM);
	(void)test_fail_allocation(0);
	CHECK(items == old && capacity == before && items[0] == 7);
	free(items);
}

TEST(array_sizes_do_not_overflow)
{
	void *items = NULL;
	size_t capacity = 0;

	CHECK_EQ(array_reserve(&items, &capacity, SIZE_MAX, 1), -ENOMEM);
	CHECK_EQ(array_reserve(&items, &capacity, SIZE_MAX / 2 + 2, 1), -ENOMEM);
	CHECK_EQ(array_reserve(&items, &capacity, SIZE_MAX / 8 + 1, 16), -ENOMEM);
	CHECK(!items && !capacity);
}

TEST(error_text_and_hint)
{
	struct error error = {0};

	CHECK_EQ(error_set(&error, -EINVAL, "no such thing as '%s'", "x"), -EINVAL);
	CHECK_EQ(error.code, -EINVAL);
	CHECK_STR(error.text, "no such thing as 'x'");
	CHECK_STR(error.hint, "");
	error_hint(&error, "try %d", 2);
	CHECK_STR(error.hint, "try 2");
	CHECK_EQ(error_set(&error, -ENOENT, "another"), -ENOENT);
	CHECK_STR(error.hint, "");
}

TEST(error_of_a_system_call)
{
	struct error error = {0};

	errno = ENOENT;
	CHECK_EQ(error_set_errno(&error, "cannot open '%s'", "/x"), -ENOENT);
	CHECK_EQ(error.code, -ENOENT);
	CHECK_STR(error.text, "cannot open '/x': No such file or directory");
}

TEST(error_may_be_null)
{
	errno = EPERM;
	CHECK_EQ(error_set(NULL, -EIO, "x"), -EIO);
	CHECK_EQ(error_set_errno(NULL, "x"), -EPERM);
	error_hint(NULL, "x");
}

TEST(error_cuts_long_texts)
{
	struct error error = {0};
	char text[1000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	(void)error_set(&error, -EIO, "%s", text);
	CHECK_EQ(strlen(error.text), sizeof(error.text) - 1);
	errno = EIO;
	(void)error_set_errno(&error, "%s", text);
	CHECK_EQ(strlen(error.text), sizeof(error.text) - 1);
	error_hint(&error, "%s", text);
	CHECK_EQ(strlen(error.hint), sizeof(error.hint) - 1);
}
