/* collect/unwind/table_store: the cache of unwind tables, read and written by threads. */
#include "collect/unwind/table_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd_io.h"
#include "elf/unwind/unwind_compile.h"

#include "unit/code_file.h"
#include "unit/test.h"

struct place {
	char folder[32];
	struct table_store *store;
};

static struct table_store *open_store(const struct place *place)
{
	struct table_store *store =
		table_store_new(unwind_cache_open(place->folder, 1 << 20, NULL));

	CHECK(store != NULL);
	return store;
}

static struct place make_place(void)
{
	struct place place = {.folder = "/tmp/stook-test-XXXXXX"};

	CHECK(mkdtemp(place.folder) != NULL);
	place.store = open_store(&place);
	return place;
}

static void remove_place(struct place *place)
{
	char command[64];

	table_store_free(place->store);
	(void)snprintf(command, sizeof(command), "rm -r %s", place->folder);
	CHECK_EQ(system(command), 0);
}

/* Keeps a table of so many pages, as a parser writes it. */
static void keep(struct table_store *store, uint8_t id, uint32_t nr_pages)
{
	cleanup_fd int code = code_file_of_pages(id, nr_pages), written = memfd_create("table", 0);
	struct elf_image image;
	struct unwind_table table;
	size_t nr;
	void *bytes;

	CHECK_EQ(elf_image_open(&image, code, NULL), 0);
	CHECK_EQ(unwind_compile(&table, &image, NULL, NULL), 0);
	CHECK_EQ(unwind_file_write(written, &id, 1, &table), 0);
	nr = (size_t)unwind_file_bytes(&table);
	bytes = malloc(nr);
	CHECK_EQ(fd_read_at(written, 0, bytes, nr), 0);
	table_store_keep(store, &id, 1, bytes, nr);
	unwind_table_clear(&table);
	elf_image_close(&image);
}

/*
 * Returns the number of pages of a table that is there, or a negative errno. A host that runs other things for a second
 * is no slow disk: it is asked again.
 */
static int load(struct table_store *store, uint8_t id)
{
	const uint64_t until_ns = clock_now_ns() + 60 * NS_PER_SEC;
	struct unwind_table table;
	int err;

	do {
		err = table_store_begin_loading(store, &id, 1);
		while (err == 0 &&
		       (err = table_store_finish_loading(store, &table)) == -EINPROGRESS)
			err = 0;
	} while ((err == -ETIME || err == -EBUSY) && clock_now_ns() < until_ns);
	if (err < 0)
		return err;
	err = (int)table.nr_pages;
	unwind_table_clear(&table);
	return err;
}

TEST(table_store_keeps_all_that_it_was_given_until_the_end)
{
	struct place place = make_place();
	uint8_t id;

	CHECK_EQ(load(place.store, 1), -ENOENT);
	for (id = 1; id <= 20; id++)
		keep(place.store, id, id);
	table_store_free(place.store);
	place.store = open_store(&place);
	for (id = 1; id <= 20; id++)
		CHECK_EQ(load(place.store, id), id);
	remove_place(&place);
}

/* While the disk does not answer, nobody waits for more than a moment. */
TEST(table_store_on_a_disk_that_does_not_answer)
{
	struct place place = make_place();
	const uint64_t began_ns = clock_now_ns();
	const uint8_t id = 200; /* none of those that are kept */
	struct unwind_table table;
	uint8_t i;

	/* A load takes as long as the caller does not ask for its result. */
	CHECK_EQ(table_store_begin_loading(place.store, &id, 1), 0);
	for (i = 1; i <= 100; i++) /* more than are kept */
		keep(place.store, i, 1);
	CHECK(clock_now_ns() - began_ns < 10 * NS_PER_SEC);
	CHECK(table_store_finish_loading(place.store, &table) < 0);
	CHECK_EQ(table_store_finish_loading(place.store, &table), -ENOENT); /* nothing was begun */
	remove_place(&place);
}

/* A table that was read, and is not taken any more, is dropped. */
TEST(table_store_drops_what_nobody_waits_for)
{
	struct place place = make_place();
	const uint8_t one = 1;

	keep(place.store, 1, 3);
	table_store_free(place.store);
	place.store = open_store(&place);
	CHECK_EQ(table_store_begin_loading(place.store, &one, 1), 0);
	(void)usleep(20000);
	while (table_store_begin_loading(place.store, &one, 1) == -EBUSY)
		(void)usleep(1000);
	remove_place(&place); /* one is being read */
	CHECK(table_store_new(NULL) == NULL);
	table_store_free(NULL);
	table_store_step(NULL);
}
