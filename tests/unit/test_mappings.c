/* proc/mappings: against a model that keeps every page by itself. */
#include "unit/test.h"

#include <errno.h>
#include <string.h>

#include "proc/mappings.h"

static struct mapping mapping_of(uint64_t start, uint64_t end, uint32_t file)
{
	return (struct mapping){.start = start, .end = end, .offset = start * 3, .file = file};
}

static int add(struct mappings **mappings, uint64_t start, uint64_t end, uint32_t file)
{
	struct mapping mapping = mapping_of(start, end, file);

	return mappings_add(mappings, &mapping);
}

static void check_item(const struct mappings *mappings, size_t i, uint64_t start, uint64_t end,
		       uint64_t offset, uint32_t file)
{
	const struct mapping *mapping = mappings_get(mappings, i);

	CHECK_EQ(mapping->start, start);
	CHECK_EQ(mapping->end, end);
	CHECK_EQ(mapping->offset, offset);
	CHECK_EQ(mapping->file, file);
}

TEST(mappings_of_nothing)
{
	struct mappings *mappings = mappings_new();

	CHECK(mappings_find(NULL, 5) == NULL);
	CHECK_EQ(mappings_nr(NULL), 0);
	CHECK(mappings_find(mappings, 0) == NULL);
	CHECK(mappings_find(mappings, UINT64_MAX) == NULL);
	CHECK_EQ(add(&mappings, 5, 5, 1), 0); /* empty, and the wrong way around: nothing */
	CHECK_EQ(add(&mappings, 6, 5, 1), 0);
	CHECK_EQ(mappings_nr(mappings), 0);
	CHECK(mappings_ref(NULL) == NULL);
	mappings_unref(NULL);
	mappings_unref(mappings);
}

TEST(mappings_ends_are_open)
{
	struct mappings *mappings = mappings_new();

	CHECK_EQ(add(&mappings, 10, 20, 1), 0);
	CHECK_EQ(add(&mappings, 20, 30, 2), 0);
	CHECK(mappings_find(mappings, 9) == NULL);
	CHECK_EQ(mappings_find(mappings, 10)->file, 1);
	CHECK_EQ(mappings_find(mappings, 19)->file, 1);
	CHECK_EQ(mappings_find(mappings, 20)->file, 2);
	CHECK(mappings_find(mappings, 30) == NULL);
	mappings_unref(mappings);
}

TEST(mappings_later_one_wins)
{
	struct mappings *mappings = mappings_new();

	CHECK_EQ(add(&mappings, 100, 200, 1), 0);
	CHECK_EQ(add(&mappings, 140, 160, 2), 0); /* cuts the first in two */
	CHECK_EQ(mappings_nr(mappings), 3);
	check_item(mappings, 0, 100, 140, 300, 1);
	check_item(mappings, 1, 140, 160, 420, 2);
	check_item(mappings, 2, 160, 200, 360, 1); /* its offset moves with its start */
	CHECK_EQ(add(&mappings, 120, 180, 3), 0);
	CHECK_EQ(mappings_nr(mappings), 3);
	check_item(mappings, 0, 100, 120, 300, 1);
	check_item(mappings, 1, 120, 180, 360, 3);
	check_item(mappings, 2, 180, 200, 380, 1);
	CHECK_EQ(add(&mappings, 0, UINT64_MAX, 4), 0);
	CHECK_EQ(mappings_nr(mappings), 1);
	mappings_unref(mappings);
}

TEST(mappings_shared_until_changed)
{
	struct mappings *parent = mappings_new(), *child;

	CHECK_EQ(add(&parent, 100, 200, 1), 0);
	child = mappings_ref(parent);
	CHECK(child == parent);
	CHECK_EQ(add(&child, 150, 160, 2), 0);
	CHECK(child != parent);
	CHECK_EQ(mappings_nr(parent), 1);
	CHECK_EQ(mappings_nr(child), 3);
	CHECK_EQ(add(&parent, 300, 400, 3), 0);
	CHECK(mappings_find(child, 350) == NULL);
	mappings_unref(parent);
	CHECK_EQ(mappings_find(child, 155)->file, 2);
	mappings_unref(child);
}

/* --- the model ------------------------------------------------------------------------------- */

#define NR_PAGES   64
#define NR_SHARERS 4
#define NR_ROUNDS  400
#define NR_CHANGES 60

struct page {
	uint32_t file; /* 0: nothing there */
	uint64_t offset;
};

struct sharer {
	struct mappings *mappings;
	struct page pages[NR_PAGES];
};

static uint64_t state = 42;

static uint64_t random_below(uint64_t limit)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state >> 33) % limit;
}

static void check_sharer(const struct sharer *sharer)
{
	uint64_t last_end = 0, page;
	size_t i;

	for (page = 0; page < NR_PAGES; page++) {
		const struct mapping *mapping = mappings_find(sharer->mappings, page);

		CHECK_EQ(mapping ? mapping->file : 0, sharer->pages[page].file);
		if (mapping)
			CHECK_EQ(page - mapping->start + mapping->offset,
				 sharer->pages[page].offset);
	}
	for (i = 0; i < mappings_nr(sharer->mappings); i++) {
		const struct mapping *mapping = mappings_get(sharer->mappings, i);

		CHECK(mapping->start >= last_end && mapping->start < mapping->end);
		last_end = mapping->end;
	}
	CHECK(last_end <= NR_PAGES);
}

static void map_at_random(struct sharer *sharer)
{
	uint64_t start = random_below(NR_PAGES), page;
	struct mapping mapping = {
		.start = start,
		.end = start + random_below(NR_PAGES - start + 1),
		.offset = random_below(1000),
		.file = 1 + (uint32_t)random_below(5),
	};

	CHECK_EQ(mappings_add(&sharer->mappings, &mapping), 0);
	for (page = start; page < mapping.end; page++)
		sharer->pages[page] = (struct page){mapping.file, mapping.offset + page - start};
}

static void fork_at_random(struct sharer *sharers)
{
	struct sharer *from = &sharers[random_below(NR_SHARERS)];
	struct sharer *to = &sharers[random_below(NR_SHARERS)];
	struct mappings *old = to->mappings;

	to->mappings = mappings_ref(from->mappings);
	mappings_unref(old);
	memmove(to->pages, from->pages, sizeof(to->pages));
}

TEST(mappings_are_what_the_model_says)
{
	int round, change, i;

	for (round = 0; round < NR_ROUNDS; round++) {
		struct sharer sharers[NR_SHARERS] = {{NULL}};

		for (i = 0; i < NR_SHARERS; i++)
			sharers[i].mappings = mappings_new();
		for (change = 0; change < NR_CHANGES; change++) {
			if (random_below(4))
				map_at_random(&sharers[random_below(NR_SHARERS)]);
			else
				fork_at_random(sharers);
			for (i = 0; i < NR_SHARERS; i++)
				check_sharer(&sharers[i]);
		}
		for (i = 0; i < NR_SHARERS; i++)
			mappings_unref(sharers[i].mappings);
	}
}

/* --- limits ---------------------------------------------------------------------------------- */

TEST(mappings_have_a_limit)
{
	struct mappings *mappings = mappings_new();
	uint64_t page = 0;
	size_t nr;

	while (add(&mappings, 2 * page, 2 * page + 1, 1) == 0)
		page++;
	CHECK_EQ(add(&mappings, 2 * page, 2 * page + 1, 1), -ENOSPC);
	nr = mappings_nr(mappings);
	CHECK(nr <= MAPPINGS_MAX && nr + 2 >= MAPPINGS_MAX);
	CHECK_EQ(mappings_find(mappings, 0)->file, 1); /* what was there stays */
	mappings_unref(mappings);
}

/* A failed add leaves both the sharers as they were. */
TEST(mappings_without_memory)
{
	struct mappings *parent = NULL, *child;
	size_t nth = 0;
	int err;

	(void)test_fail_allocation(1);
	CHECK(mappings_new() == NULL);
	(void)test_fail_allocation(0);
	parent = mappings_new();
	CHECK_EQ(add(&parent, 100, 200, 1), 0);
	child = mappings_ref(parent);
	do {
		(void)test_fail_allocation(++nth);
		err = add(&child, 150, 160, 2);
		(void)test_fail_allocation(0);
		CHECK(err == 0 || err == -ENOMEM);
		CHECK(err == 0 || child == parent);
		CHECK_EQ(mappings_nr(parent), 1);
	} while (err);
	CHECK(nth > 2);
	CHECK_EQ(mappings_nr(child), 3);
	mappings_unref(parent);
	mappings_unref(child);
}
