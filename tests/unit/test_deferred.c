/* collect/unwind/deferred: records wait in order, whole, within a limit, and go once. */
#include "collect/unwind/deferred.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit/test.h"

#define MAX_TAKEN 64

struct taker {
	uint64_t ids[MAX_TAKEN]; /* of those that were handed over, in order */
	size_t nr;
	uint64_t not_yet; /* ids with any of these bits have to stay */
	uint64_t failing; /* this one fails */
	const struct mappings *mappings;
};

/* Each record's words are its id, so that a copy which is not whole shows. */
static int take(void *context, const struct wire_record *record, const struct mappings *mappings)
{
	struct taker *taker = context;
	const uint64_t *words = (const uint64_t *)(record + 1);
	size_t i;

	for (i = 0; i < (size_t)record->nr_user + record->nr_kernel; i++)
		CHECK_EQ(words[i], record->id);
	CHECK(mappings == taker->mappings);
	CHECK(taker->nr < MAX_TAKEN);
	taker->ids[taker->nr++] = record->id;
	if (record->id == taker->failing)
		return -ENOMEM;
	return record->id & taker->not_yet ? -EAGAIN : 0;
}

static int add(struct deferred_list *list, uint64_t id, uint16_t nr_user, uint16_t nr_kernel,
	       const struct mappings *mappings)
{
	size_t nr = (size_t)nr_user + nr_kernel, bytes = sizeof(struct wire_record) + 8 * nr, i;
	struct wire_record *record = malloc(bytes);
	int err;

	if (!record)
		return -ENOMEM;
	memset(record, 0, sizeof(*record));
	record->id = id;
	record->nr_user = nr_user;
	record->nr_kernel = nr_kernel;
	for (i = 0; i < nr; i++)
		((uint64_t *)(record + 1))[i] = id;
	err = deferred_list_add(list, record, bytes, mappings);
	free(record);
	return err;
}

static void check_ids(struct taker *taker, uint64_t first, uint64_t step, size_t nr)
{
	size_t i;

	CHECK_EQ(taker->nr, nr);
	for (i = 0; i < nr; i++)
		CHECK_EQ(taker->ids[i], first + i * step);
	taker->nr = 0;
}

TEST(deferred_records_go_in_order_and_once)
{
	struct mappings *mappings = mappings_new();
	struct taker taker = {.mappings = mappings};
	struct deferred_list list = {0};
	uint64_t id;

	for (id = 1; id <= 10; id++)
		CHECK_EQ(add(&list, id, (uint16_t)id, (uint16_t)(10 - id), mappings), 0);
	mappings_unref(mappings); /* the list has its own references */
	CHECK_EQ(list.bytes, 10 * (sizeof(struct wire_record) + 80));
	taker.not_yet = 1;
	CHECK_EQ(deferred_list_retry(&list, take, &taker), 0);
	check_ids(&taker, 1, 1, 10);
	CHECK_EQ(list.nr, 5);
	CHECK_EQ(deferred_list_retry(&list, take, &taker), 0);
	check_ids(&taker, 1, 2, 5); /* those that stayed */
	CHECK_EQ(list.bytes, 5 * (sizeof(struct wire_record) + 80));
	taker.not_yet = 0;
	CHECK_EQ(deferred_list_retry(&list, take, &taker), 0);
	check_ids(&taker, 1, 2, 5);
	CHECK(list.nr == 0 && list.bytes == 0);
	CHECK_EQ(deferred_list_retry(&list, take, &taker), 0);
	CHECK_EQ(taker.nr, 0);
	deferred_list_clear(&list);
	deferred_list_clear(&list);
}

/* The one that fails and all behind it stay; the others have gone. */
TEST(deferred_records_stay_after_a_failure)
{
	struct taker taker = {.not_yet = 1, .failing = 6};
	struct deferred_list list = {0};
	uint64_t id;

	for (id = 1; id <= 10; id++)
		CHECK_EQ(add(&list, id, 3, 0, NULL), 0);
	CHECK_EQ(deferred_list_retry(&list, take, &taker), -ENOMEM);
	check_ids(&taker, 1, 1, 6);
	CHECK_EQ(list.nr, 8);
	taker.failing = taker.not_yet = 0;
	CHECK_EQ(deferred_list_retry(&list, take, &taker), 0);
	CHECK_EQ(taker.nr, 8);
	CHECK(taker.ids[0] == 1 && taker.ids[1] == 3 && taker.ids[2] == 5 && taker.ids[3] == 6 &&
	      taker.ids[7] == 10);
	CHECK_EQ(list.bytes, 0);
	deferred_list_clear(&list);
}

TEST(deferred_records_are_limited_in_bytes)
{
	size_t bytes = sizeof(struct wire_record) + 8 * WIRE_MAX_RAW_WORDS, nr = 0;
	struct deferred_list list = {0};
	int err = 0;

	while (!err) {
		err = add(&list, 1, WIRE_MAX_RAW_WORDS, 0, NULL);
		nr += !err;
	}
	CHECK_EQ(err, -ENOSPC);
	CHECK_EQ(nr, DEFERRED_MAX_BYTES / bytes);
	CHECK_EQ(list.bytes, nr * bytes);
	CHECK_EQ(add(&list, 1, 1, 0, NULL),
		 DEFERRED_MAX_BYTES - list.bytes < sizeof(struct wire_record) + 8 ? -ENOSPC : 0);
	deferred_list_clear(&list);
	CHECK(!list.items && !list.nr && !list.bytes);
	CHECK_EQ(add(&list, 1, WIRE_MAX_RAW_WORDS, 0, NULL), 0);
	deferred_list_clear(&list);
}

TEST(deferred_records_without_memory)
{
	struct mappings *mappings = mappings_new();
	struct deferred_list list = {0};
	size_t nth;
	int err = -1;

	for (nth = 1; err; nth++) {
		(void)test_fail_allocation(nth);
		err = add(&list, nth, 4, 4, mappings);
		(void)test_fail_allocation(0);
		CHECK(!err || (err == -ENOMEM && !list.nr && !list.bytes));
	}
	CHECK_EQ(nth, 5); /* the test's own, the array, the copy; then none */
	deferred_list_clear(&list);
	mappings_unref(mappings);
}
