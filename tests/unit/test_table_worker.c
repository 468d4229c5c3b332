/* collect/unwind/table_worker: compiles tables in parsers. */
#include "collect/unwind/table_worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/isolated.h"

#include "unit/code_file.h"
#include "unit/test.h"
#include "unit/unwind_reading.h"

#define PATIENCE_MS 60000

struct desk {
	struct worker *worker;
	struct table_worker *tables;
};

static struct desk open_desk_with(struct unwind_cache *cache)
{
	struct error error = {0};
	struct desk desk = {.worker = worker_new(&error)};

	CHECK(desk.worker != NULL);
	desk.tables = table_worker_new(desk.worker, cache, 32 << 20, &error);
	CHECK_STR(error.text, "");
	CHECK(desk.tables != NULL);
	return desk;
}

static struct desk open_desk(void)
{
	return open_desk_with(NULL);
}

static void close_desk(struct desk *desk)
{
	table_worker_free(desk->tables);
	worker_free(desk->worker);
}

static int ask(const struct desk *desk, uint32_t number, int fd)
{
	const struct table_wish wish = {
		.number = number, .fd = fd, .file = {1, 2, number + 1}, .may_cache = true};

	return table_worker_add(desk->tables, &wish);
}

static bool is_readable(const struct desk *desk, int timeout_ms)
{
	struct pollfd made = {.fd = worker_fd(desk->worker), .events = POLLIN};

	return poll(&made, 1, timeout_ms) == 1;
}

static struct made_table take(const struct desk *desk)
{
	const uint64_t until_ns = clock_now_ns() + PATIENCE_MS * NS_PER_MS;
	struct made_table made;

	/* A table that comes from the cache makes nothing readable. */
	while (!table_worker_take(desk->tables, &made)) {
		CHECK(clock_now_ns() < until_ns);
		(void)is_readable(desk, 10);
	}
	return made;
}

/* This program, with all of the library in it: keeps the worker busy for a while. */
static int open_large(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

/* Waits until so many descriptors are open: a handle is closed at the reply of the opener, after the table is there. */
static void check_open(const struct desk *desk, size_t nr)
{
	int tries;

	for (tries = 0; test_nr_open() != nr && tries < 5000; tries++) {
		worker_step(desk->worker);
		(void)usleep(1000);
	}
	CHECK_EQ(test_nr_open(), nr);
}

static void check_table(const struct made_table *made, uint32_t nr_pages)
{
	CHECK_EQ(made->err, 0);
	CHECK_EQ(made->table.nr_pages, nr_pages);
	CHECK_EQ(made->table.start, 0x10000);
	CHECK(unwind_table_find(&made->table, 0x10000) != UNWIND_PACKED_NONE);
	CHECK(!made->from_cache);
}

TEST(table_worker_budget_is_not_saved_up)
{
	const uint64_t idle_ns = 10 * 3600 * NS_PER_SEC;
	const struct table_pace pace = {2 * NS_PER_SEC, 0.05};
	struct table_budget budget;

	table_budget_begin(&budget, &pace, NS_PER_SEC);
	CHECK(table_budget_allows(&budget, NS_PER_SEC, 2 * NS_PER_SEC));
	CHECK(!table_budget_allows(&budget, NS_PER_SEC, 3 * NS_PER_SEC));
	CHECK(!table_budget_allows(&budget, 20 * NS_PER_SEC, 3 * NS_PER_SEC));
	CHECK(table_budget_allows(&budget, 22 * NS_PER_SEC, 3 * NS_PER_SEC));
	CHECK(table_budget_allows(&budget, idle_ns, 3 * NS_PER_SEC));
	CHECK(table_budget_allows(&budget, idle_ns, 5 * NS_PER_SEC));
	CHECK(!table_budget_allows(&budget, idle_ns, 6 * NS_PER_SEC));
}

TEST(table_worker_makes_the_table_of_each_file)
{
	struct desk desk = open_desk();
	size_t nr = test_nr_open();
	uint32_t i, seen = 0;

	CHECK_EQ(table_worker_nr_waiting(desk.tables), 0);
	for (i = 1; i <= 20; i++)
		CHECK_EQ(ask(&desk, i, code_file_of_pages((uint8_t)i, i)), 0);
	CHECK_EQ(table_worker_nr_waiting(desk.tables), 20);
	for (i = 1; i <= 20; i++) {
		struct made_table made = take(&desk);

		CHECK(made.number >= 1 && made.number <= 20 && !(seen & 1U << made.number));
		seen |= 1U << made.number;
		check_table(&made, made.number);
		CHECK_EQ(table_worker_nr_waiting(desk.tables), 20 - i);
		unwind_table_clear(&made.table);
	}
	check_open(&desk, nr); /* it has closed all of them */
	close_desk(&desk);
}

/* Hands over a few files while the worker is busy; false if it was not busy for so long. */
static bool ask_behind_a_large_one(const struct desk *desk)
{
	static const uint32_t samples[] = {0, 2, 5, 1, 5, 9};
	uint32_t i, k;

	CHECK_EQ(ask(desk, 100, open_large()), 0);
	for (i = 0; i < 10; i++) /* it is the first one in any case */
		table_worker_prioritize(desk->tables, 100);
	for (i = 0; i < 6; i++)
		CHECK_EQ(ask(desk, i, code_file_of_pages(1, 1 + i)), 0);
	for (i = 0; i < 6; i++)
		for (k = 0; k < samples[i]; k++)
			table_worker_prioritize(desk->tables, i);
	table_worker_prioritize(desk->tables, 4711); /* not in the queue */
	return !is_readable(desk, 0);
}

/* Among equal ones, the oldest request comes first. */
TEST(table_worker_makes_first_what_most_samples_wait_for)
{
	static const uint32_t order[] = {100, 5, 2, 4, 1, 3, 0};
	int attempt;

	for (attempt = 0; attempt < 20; attempt++) {
		struct desk desk = open_desk();
		bool was_busy = ask_behind_a_large_one(&desk);
		size_t i;

		for (i = 0; i < 7; i++) {
			struct made_table made = take(&desk);

			CHECK(!was_busy || made.number == order[i]);
			unwind_table_clear(&made.table);
		}
		close_desk(&desk);
		if (was_busy)
			return;
	}
	SKIP("needs a file that takes longer to compile");
}

TEST(table_worker_fd_is_readable_while_tables_wait)
{
	struct desk desk = open_desk();
	struct made_table made;

	while (is_readable(&desk, 0)) /* the opener's word that it has started */
		CHECK(!table_worker_take(desk.tables, &made));
	CHECK_EQ(ask(&desk, 1, code_file_of_pages(1, 1)), 0);
	CHECK_EQ(ask(&desk, 2, code_file_of_pages(2, 1)), 0);
	CHECK(is_readable(&desk, PATIENCE_MS));
	made = take(&desk);
	unwind_table_clear(&made.table);
	made = take(&desk);
	unwind_table_clear(&made.table);
	CHECK(!table_worker_take(desk.tables, &made));
	CHECK(!is_readable(&desk, 0));
	close_desk(&desk);
}

/* Whatever is no file for us is told, and closed as well. */
TEST(table_worker_survives_what_is_no_elf_file)
{
	struct desk desk = open_desk();
	size_t nr = test_nr_open(), i;
	struct made_table made;
	int pipes[2], fds[4];

	CHECK_EQ(pipe(pipes), 0);
	(void)close(pipes[1]);
	fds[0] = pipes[0];
	fds[1] = open("/", O_RDONLY);
	fds[2] = open("/proc/self/maps", O_RDONLY);
	fds[3] = memfd_create("empty", 0);
	for (i = 0; i < 4; i++)
		CHECK_EQ(ask(&desk, (uint32_t)i, fds[i]), 0);
	for (i = 0; i < 4; i++) {
		made = take(&desk);
		CHECK_EQ(made.number, i);
		CHECK(made.err < 0);
		CHECK(!made.table.nr_pages && !made.table.words);
		unwind_table_clear(&made.table);
	}
	check_open(&desk, nr);
	CHECK_EQ(ask(&desk, 9, code_file_of_pages(1, 3)), 0); /* it goes on */
	made = take(&desk);
	check_table(&made, 3);
	unwind_table_clear(&made.table);
	close_desk(&desk);
}

/* One is being made, some wait, some are made and were not taken: nothing of it is left. */
TEST(table_worker_freed_while_busy)
{
	size_t nr = test_nr_open();
	uint32_t round, i;

	for (round = 0; round < 4; round++) {
		struct desk desk = open_desk();

		for (i = 0; i < 3; i++)
			CHECK_EQ(ask(&desk, i, code_file_of_pages(1, 2)), 0);
		if (round % 2)
			CHECK(is_readable(&desk, PATIENCE_MS));
		for (i = 0; i < round; i++)
			CHECK_EQ(ask(&desk, 7 + i, open_large()), 0);
		close_desk(&desk);
		CHECK_EQ(test_nr_open(), nr);
	}
	table_worker_free(NULL);
}

/* Makes a table. True if it came from the cache. */
static bool make_table(const struct desk *desk, int fd, bool may_cache, uint32_t nr_pages)
{
	const struct table_wish wish = {
		.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0), .file = {1, 2, 3}, .may_cache = may_cache};
	struct made_table made;

	CHECK_EQ(table_worker_add(desk->tables, &wish), 0);
	made = take(desk);
	CHECK_EQ(made.err, 0);
	CHECK_EQ(made.table.nr_pages, nr_pages);
	CHECK(unwind_table_find(&made.table, 0x10000) != UNWIND_PACKED_NONE);
	unwind_table_clear(&made.table);
	return made.from_cache;
}

/* The table is in the cache. If the host runs other things for so long that a table takes its place, it is asked again. */
static bool is_cached(const struct desk *desk, int fd, uint32_t nr_pages)
{
	const uint64_t until_ns = clock_now_ns() + 60 * NS_PER_SEC;
	bool is;

	while (!(is = make_table(desk, fd, true, nr_pages)) && clock_now_ns() < until_ns)
		;
	return is;
}

/* Waits until so many tables are stored, which a thread does. */
static void wait_for_stored(const char *folder, int nr)
{
	int found = -1, tries;

	for (tries = 0; found != nr && tries < 5000; tries++) {
		DIR *entries = opendir(folder);
		const struct dirent *entry;

		CHECK(entries != NULL);
		for (found = 0; (entry = readdir(entries));)
			found += entry->d_name[0] != '.' && strncmp(entry->d_name, "new-", 4) != 0;
		(void)closedir(entries);
		(void)usleep(1000);
	}
	CHECK_EQ(found, nr);
}

/* Tables are cached by build id, so files with equal build ids count as the same; untrusted files are not cached. */
TEST(table_worker_asks_the_cache_first)
{
	cleanup_fd int one = code_file_of_pages(0x51, 3), other = code_file_of_pages(0x52, 4);
	cleanup_fd int liar = code_file_of_pages(0x51, 9);
	char folder[] = "/tmp/stook-test-XXXXXX", command[64];
	struct desk desk;

	CHECK(mkdtemp(folder) != NULL);
	desk = open_desk_with(unwind_cache_open(folder, 1 << 20, NULL));
	CHECK(!make_table(&desk, one, true, 3));
	wait_for_stored(folder, 1);
	CHECK(!make_table(&desk, other, true, 4));
	CHECK(is_cached(&desk, one, 3));
	CHECK(is_cached(&desk, liar, 3));
	CHECK(!make_table(&desk, liar, false, 9));
	CHECK(is_cached(&desk, one, 3));
	close_desk(&desk);
	desk = open_desk_with(unwind_cache_open(folder, 1 << 20, NULL)); /* in another run */
	CHECK(is_cached(&desk, other, 4));
	close_desk(&desk);
	(void)snprintf(command, sizeof(command), "rm -r %s", folder);
	CHECK_EQ(system(command), 0);
}

/* A table that little memory is not enough for is made with much. */
TEST(table_worker_takes_more_memory)
{
	const struct worker_memory memory = {.little_bytes = 4096, .much_bytes = 256 << 20};
	struct made_table made;
	struct desk desk;
	size_t nr;

	if (ISOLATED_HAS_SHADOW)
		SKIP("AddressSanitizer's shadow memory rules out a limit of memory");
	desk = open_desk();
	worker_limit_memory(desk.worker, &memory);
	nr = test_nr_open();
	CHECK_EQ(ask(&desk, 7, open_large()), 0);
	made = take(&desk);
	CHECK_EQ(made.err, 0);
	CHECK_EQ(made.number, 7);
	CHECK(made.table.nr_pages > 0);
	CHECK_EQ(table_worker_nr_waiting(desk.tables), 0);
	unwind_table_clear(&made.table);
	worker_end(desk.worker);
	CHECK(test_nr_open() <= nr);
	close_desk(&desk);
}

TEST(table_worker_without_memory)
{
	struct desk desk = {.worker = worker_new(NULL)};
	size_t nth, nr = test_nr_open();
	int err = -1;

	for (nth = 1; !desk.tables; nth++) {
		struct error error = {0};

		(void)test_fail_allocation(nth);
		desk.tables = table_worker_new(desk.worker, NULL, 32 << 20, &error);
		(void)test_fail_allocation(0);
		CHECK(desk.tables || error.code == -ENOMEM);
		CHECK(desk.tables || test_nr_open() == nr);
	}
	for (nth = 1; err; nth++) {
		int fd = memfd_create("empty", 0);

		nr = test_nr_open();
		(void)test_fail_allocation(nth);
		err = ask(&desk, 1, fd);
		(void)test_fail_allocation(0);
		CHECK(!err || err == -ENOMEM);
		CHECK(!err || test_nr_open() == nr - 1);
	}
	CHECK_EQ(table_worker_nr_waiting(desk.tables), 1);
	CHECK(take(&desk).err < 0);
	close_desk(&desk);
}
