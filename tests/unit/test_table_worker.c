/* collect/unwind/table_worker: a thread that receives files and returns unwind tables. */
#include "collect/unwind/table_worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "unit/code_file.h"
#include "unit/test.h"
#include "unit/unwind_reading.h"

#define PATIENCE_MS 60000

static size_t nr_open(void)
{
	DIR *directory = opendir("/proc/self/fd");
	size_t nr = 0;

	CHECK(directory != NULL);
	while (readdir(directory))
		nr++;
	(void)closedir(directory);
	return nr;
}

static struct table_worker *open_worker(void)
{
	struct error error = {0};
	struct table_worker *worker = table_worker_new(NULL, &error);

	CHECK_STR(error.text, "");
	CHECK(worker != NULL);
	return worker;
}

static bool is_readable(const struct table_worker *worker, int timeout_ms)
{
	struct pollfd made = {.fd = table_worker_fd(worker), .events = POLLIN};

	return poll(&made, 1, timeout_ms) == 1;
}

static struct made_table take(struct table_worker *worker)
{
	struct made_table made;

	while (!table_worker_take(worker, &made))
		CHECK(is_readable(worker, PATIENCE_MS));
	return made;
}

/* This program, with the whole library in it: keeps the worker busy for a while. */
static int open_large(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

static void check_table(const struct made_table *made, uint32_t nr_pages)
{
	CHECK_EQ(made->err, 0);
	CHECK_EQ(made->table.nr_pages, nr_pages);
	CHECK_EQ(made->table.start, 0x10000);
	CHECK(unwind_table_find(&made->table, 0x10000) != UNWIND_PACKED_NONE);
	CHECK(!made->from_cache);
}

TEST(table_worker_makes_the_table_of_each_file)
{
	struct table_worker *worker = open_worker();
	size_t nr = nr_open();
	uint32_t i, seen = 0;

	CHECK_EQ(table_worker_nr_waiting(worker), 0);
	for (i = 1; i <= 20; i++)
		CHECK_EQ(table_worker_add(worker, i, code_file_of_pages((uint8_t)i, i), true), 0);
	CHECK_EQ(table_worker_nr_waiting(worker), 20);
	for (i = 1; i <= 20; i++) {
		struct made_table made = take(worker);

		CHECK(made.number >= 1 && made.number <= 20 && !(seen & 1U << made.number));
		seen |= 1U << made.number;
		check_table(&made, made.number);
		CHECK_EQ(table_worker_nr_waiting(worker), 20 - i);
		unwind_table_clear(&made.table);
	}
	CHECK_EQ(nr_open(), nr); /* all were closed */
	table_worker_free(worker);
}

/* Queues a few files while the worker is busy; returns false if the worker finished too early. */
static bool ask_behind_a_large_one(struct table_worker *worker)
{
	static const uint32_t samples[] = {0, 2, 5, 1, 5, 9};
	uint32_t i, k;

	CHECK_EQ(table_worker_add(worker, 100, open_large(), true), 0);
	for (i = 0; i < 10; i++) /* it stays the first one */
		table_worker_prioritize(worker, 100);
	for (i = 0; i < 6; i++)
		CHECK_EQ(table_worker_add(worker, i, code_file_of_pages(1, 1 + i), true), 0);
	for (i = 0; i < 6; i++)
		for (k = 0; k < samples[i]; k++)
			table_worker_prioritize(worker, i);
	table_worker_prioritize(worker, 4711); /* not in the queue */
	return !is_readable(worker, 0);
}

/* Among equals, the file queued first comes first. */
TEST(table_worker_makes_first_what_most_samples_wait_for)
{
	static const uint32_t order[] = {100, 5, 2, 4, 1, 3, 0};
	int attempt;

	for (attempt = 0; attempt < 20; attempt++) {
		struct table_worker *worker = open_worker();
		bool was_busy = ask_behind_a_large_one(worker);
		size_t i;

		for (i = 0; i < 7; i++) {
			struct made_table made = take(worker);

			CHECK(!was_busy || made.number == order[i]);
			unwind_table_clear(&made.table);
		}
		table_worker_free(worker);
		if (was_busy)
			return;
	}
	SKIP("needs a file that takes longer to compile");
}

TEST(table_worker_fd_is_readable_while_tables_wait)
{
	struct table_worker *worker = open_worker();
	struct made_table made;

	CHECK(!is_readable(worker, 0));
	CHECK(!table_worker_take(worker, &made));
	CHECK_EQ(table_worker_add(worker, 1, code_file_of_pages(1, 1), true), 0);
	CHECK_EQ(table_worker_add(worker, 2, code_file_of_pages(2, 1), true), 0);
	CHECK(is_readable(worker, PATIENCE_MS));
	made = take(worker);
	unwind_table_clear(&made.table);
	made = take(worker);
	unwind_table_clear(&made.table);
	CHECK(!table_worker_take(worker, &made));
	CHECK(!is_readable(worker, 0));
	table_worker_free(worker);
}

/* An invalid file is reported and closed. */
TEST(table_worker_survives_what_is_no_elf_file)
{
	struct table_worker *worker = open_worker();
	size_t nr = nr_open(), i;
	struct made_table made;
	int pipes[2], fds[4];

	CHECK_EQ(pipe(pipes), 0);
	(void)close(pipes[1]);
	fds[0] = pipes[0];
	fds[1] = open("/", O_RDONLY);
	fds[2] = open("/proc/self/maps", O_RDONLY);
	fds[3] = memfd_create("empty", 0);
	for (i = 0; i < 4; i++)
		CHECK_EQ(table_worker_add(worker, (uint32_t)i, fds[i], true), 0);
	for (i = 0; i < 4; i++) {
		made = take(worker);
		CHECK_EQ(made.number, i);
		CHECK(made.err < 0);
		CHECK(!made.table.nr_pages && !made.table.words);
		unwind_table_clear(&made.table);
	}
	CHECK_EQ(nr_open(), nr);
	CHECK_EQ(table_worker_add(worker, 9, code_file_of_pages(1, 3), true), 0); /* still works */
	made = take(worker);
	check_table(&made, 3);
	unwind_table_clear(&made.table);
	table_worker_free(worker);
}

/* One table in progress, some waiting, some ready but not taken: all are freed. */
TEST(table_worker_freed_while_busy)
{
	size_t nr = nr_open();
	uint32_t round, i;

	for (round = 0; round < 4; round++) {
		struct table_worker *worker = open_worker();

		for (i = 0; i < 3; i++)
			CHECK_EQ(table_worker_add(worker, i, code_file_of_pages(1, 2), true), 0);
		if (round % 2)
			CHECK(is_readable(worker, PATIENCE_MS));
		for (i = 0; i < round; i++)
			CHECK_EQ(table_worker_add(worker, 7 + i, open_large(), true), 0);
		table_worker_free(worker);
		CHECK_EQ(nr_open(), nr);
	}
	table_worker_free(NULL);
}

TEST(table_worker_without_memory)
{
	struct table_worker *worker = NULL;
	size_t nth, nr = nr_open();
	int err = -1;

	for (nth = 1; !worker; nth++) {
		struct error error = {0};

		(void)test_fail_allocation(nth);
		worker = table_worker_new(NULL, &error);
		(void)test_fail_allocation(0);
		CHECK(worker || error.code == -ENOMEM);
		CHECK(worker || nr_open() == nr);
	}
	nr = nr_open();
	for (nth = 1; err; nth++) {
		int fd = memfd_create("empty", 0);

		(void)test_fail_allocation(nth);
		err = table_worker_add(worker, 1, fd, true);
		CHECK(!err || err == -ENOMEM);
		CHECK(!err || nr_open() == nr);
	}
	CHECK_EQ(table_worker_nr_waiting(worker), 1);
	(void)take(worker);
	(void)test_fail_allocation(0);
	table_worker_free(worker);
}
