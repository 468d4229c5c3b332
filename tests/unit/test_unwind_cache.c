/* elf/unwind/unwind_cache: a stored table is loaded unchanged, or not at all. */
#include "elf/unwind/unwind_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit/test.h"
#include "unit/unwind_fixture.h"

#define MUCH (1ULL << 30)

static const uint8_t id[] = {0xab, 0xcd, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08};
#define ID	id, sizeof(id)
#define ID_NAME "abcd0102030405060708"

/* Each test works in its own folder, and leaves it empty. */
static char folder[64];

static void enter_folder(void)
{
	(void)snprintf(folder, sizeof(folder), "/tmp/stook-test-XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
	CHECK_EQ(chdir(folder), 0);
}

/* Removes all files from the current folder; returns their number. */
static size_t empty_folder(void)
{
	DIR *directory = opendir(".");
	struct dirent *entry;
	size_t nr = 0;

	CHECK(directory != NULL);
	while ((entry = readdir(directory)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
			CHECK_EQ(unlink(entry->d_name), 0);
			nr++;
		}
	(void)closedir(directory);
	return nr;
}

static void leave_folder(void)
{
	CHECK_EQ(chdir("/"), 0);
	CHECK_EQ(rmdir(folder), 0);
}

static struct unwind_cache *open_cache(uint64_t max_bytes)
{
	struct error error = {0};
	struct unwind_cache *cache = unwind_cache_open(folder, max_bytes, &error);

	CHECK_STR(error.text, "");
	CHECK(cache != NULL);
	return cache;
}

static struct unwind_table make_table(uint64_t seed, size_t nr_rows)
{
	const struct row_wishes wishes = {seed, 0x1000, nr_rows, 40, 50, 5, 20};
	struct unwind_table table;
	struct unwind_rows rows;

	rows_make(&rows, &wishes);
	CHECK_EQ(unwind_table_pack(&table, &rows, EM_X86_64), 0);
	rows_free(&rows);
	return table;
}

static bool bytes_equal(const void *a, const void *b, size_t nr)
{
	return nr == 0 || !memcmp(a, b, nr);
}

static bool are_equal(const struct unwind_table *a, const struct unwind_table *b)
{
	return a->machine == b->machine && a->start == b->start && a->nr_pages == b->nr_pages &&
	       a->nr_words == b->nr_words && a->nr_wide == b->nr_wide && a->nr_rows == b->nr_rows &&
	       a->nr_rows_dropped == b->nr_rows_dropped &&
	       bytes_equal(a->pages, b->pages, a->nr_pages * sizeof(*a->pages)) &&
	       bytes_equal(a->page_words, b->page_words, a->nr_pages * sizeof(*a->page_words)) &&
	       bytes_equal(a->words, b->words, a->nr_words * sizeof(*a->words)) &&
	       bytes_equal(a->wide, b->wide, a->nr_wide * sizeof(*a->wide));
}

static bool loads_as(struct unwind_cache *cache, const uint8_t *build_id, size_t nr,
		     const struct unwind_table *expected)
{
	struct unwind_table table;
	bool equal;

	if (unwind_cache_load(cache, build_id, nr, &table) < 0)
		return false;
	equal = are_equal(&table, expected);
	unwind_table_clear(&table);
	return equal;
}

TEST(unwind_cache_round_trip)
{
	struct unwind_table table = make_table(1, 20000), other = make_table(2, 100), got;
	struct unwind_cache *cache;
	struct stat status;

	enter_folder();
	cache = open_cache(MUCH);
	CHECK_EQ(unwind_cache_load(cache, ID, &got), -ENOENT);
	CHECK_EQ(unwind_cache_store(cache, ID, &table), 0);
	CHECK(loads_as(cache, ID, &table));
	CHECK_EQ(stat(ID_NAME, &status), 0);
	CHECK_EQ(status.st_mode & 07777, 0600);
	CHECK_EQ(status.st_size, unwind_file_bytes(&table));
	/* The same build again, and a different table for it. */
	CHECK_EQ(unwind_cache_store(cache, ID, &table), 0);
	CHECK(loads_as(cache, ID, &table));
	CHECK_EQ(unwind_cache_store(cache, ID, &other), 0);
	CHECK(loads_as(cache, ID, &other));
	CHECK_EQ(empty_folder(), 1);
	CHECK_EQ(unwind_cache_load(cache, ID, &got), -ENOENT);
	unwind_cache_close(cache);
	unwind_cache_close(NULL);
	leave_folder();
	unwind_table_clear(&table);
	unwind_table_clear(&other);
}

TEST(unwind_cache_of_an_empty_table)
{
	struct unwind_table empty = {.machine = EM_AARCH64};
	struct unwind_cache *cache;

	enter_folder();
	cache = open_cache(MUCH);
	CHECK_EQ(unwind_cache_store(cache, ID, &empty), 0);
	CHECK(loads_as(cache, ID, &empty));
	unwind_cache_close(cache);
	CHECK_EQ(empty_folder(), 1);
	leave_folder();
}

TEST(unwind_cache_build_ids)
{
	struct unwind_table table = make_table(1, 10), got;
	uint8_t long_id[BUILD_ID_MAX_BYTES + 1] = {1};
	struct unwind_cache *cache;

	enter_folder();
	cache = open_cache(MUCH);
	CHECK_EQ(unwind_cache_store(cache, long_id, 0, &table), -EINVAL);
	CHECK_EQ(unwind_cache_store(cache, long_id, sizeof(long_id), &table), -EINVAL);
	CHECK_EQ(unwind_cache_load(cache, long_id, sizeof(long_id), &got), -EINVAL);
	CHECK_EQ(unwind_cache_store(cache, long_id, BUILD_ID_MAX_BYTES, &table), 0);
	CHECK(loads_as(cache, long_id, BUILD_ID_MAX_BYTES, &table));
	CHECK_EQ(unwind_cache_load(cache, long_id, BUILD_ID_MAX_BYTES - 1, &got), -ENOENT);
	CHECK_EQ(unwind_cache_store(cache, id, 1, &table), 0);
	CHECK(loads_as(cache, id, 1, &table));
	/* A table stored under another build id is refused. */
	CHECK_EQ(rename("ab", "cd"), 0);
	CHECK_EQ(unwind_cache_load(cache, id + 1, 1, &got), -ENOENT);
	CHECK_EQ(access("cd", F_OK), -1);
	unwind_cache_close(cache);
	CHECK_EQ(empty_folder(), 1);
	leave_folder();
	unwind_table_clear(&table);
}

/* --- damage -------------------------------------------------------------------------------- */

static size_t read_stored(uint8_t *bytes, size_t room)
{
	cleanup_file FILE *file = fopen(ID_NAME, "r");

	CHECK(file != NULL);
	return fread(bytes, 1, room, file);
}

/* Replaces the table's file by these bytes, and expects that it is refused and removed. */
static void check_refused(struct unwind_cache *cache, const uint8_t *bytes, size_t nr)
{
	cleanup_fd int fd = open(ID_NAME, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct unwind_table got;

	CHECK_EQ(write(fd, bytes, nr), nr);
	CHECK_EQ(unwind_cache_load(cache, ID, &got), -ENOENT);
	CHECK_EQ(access(ID_NAME, F_OK), -1);
}

TEST(unwind_cache_file_damaged)
{
	struct unwind_table table = make_table(3, 40);
	struct unwind_cache *cache;
	uint8_t bytes[4096];
	size_t nr, i;

	enter_folder();
	cache = open_cache(MUCH);
	CHECK_EQ(unwind_cache_store(cache, ID, &table), 0);
	nr = read_stored(bytes, sizeof(bytes) - 1);
	CHECK_EQ(nr, unwind_file_bytes(&table));
	for (i = 0; i < nr; i++)
		check_refused(cache, bytes, i);
	bytes[nr] = 0;
	check_refused(cache, bytes, nr + 1);
	for (i = 0; i < 8 * nr; i++) {
		bytes[i / 8] ^= (uint8_t)(1u << i % 8);
		check_refused(cache, bytes, nr);
		bytes[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	unwind_cache_close(cache);
	CHECK_EQ(empty_folder(), 0);
	leave_folder();
	unwind_table_clear(&table);
}

/* Valid files with a correct checksum, but another version or an invalid table. */
TEST(unwind_cache_file_wrong_but_whole)
{
	struct unwind_table table = make_table(3, 40);
	struct unwind_file_header header;
	struct unwind_cache *cache;
	uint8_t bytes[4096];
	size_t nr;

	enter_folder();
	cache = open_cache(MUCH);
	CHECK_EQ(unwind_cache_store(cache, ID, &table), 0);
	nr = read_stored(bytes, sizeof(bytes));
	memcpy(&header, bytes, sizeof(header));
	CHECK_EQ(header.checksum, unwind_file_checksum(&header, &table));
	header.version++;
	header.checksum = unwind_file_checksum(&header, &table);
	memcpy(bytes, &header, sizeof(header));
	check_refused(cache, bytes, nr);

	table.words[0] = UNWIND_INDEX(60000, 256);
	CHECK_EQ(unwind_cache_store(cache, ID, &table), 0);
	nr = read_stored(bytes, sizeof(bytes));
	check_refused(cache, bytes, nr);
	unwind_cache_close(cache);
	CHECK_EQ(empty_folder(), 0);
	leave_folder();
	unwind_table_clear(&table);
}

TEST(unwind_cache_file_is_no_file)
{
	struct unwind_table table = make_table(1, 10), got;
	struct unwind_cache *cache;

	enter_folder();
	cache = open_cache(MUCH);
	CHECK_EQ(unwind_cache_store(cache, ID, &table), 0);
	CHECK_EQ(rename(ID_NAME, "elsewhere"), 0);
	CHECK_EQ(symlink("elsewhere", ID_NAME), 0);
	CHECK_EQ(unwind_cache_load(cache, ID, &got), -ENOENT);
	CHECK_EQ(access("elsewhere", F_OK), 0);
	CHECK_EQ(mkfifo(ID_NAME, 0600), 0);
	CHECK_EQ(unwind_cache_load(cache, ID, &got), -ENOENT);
	CHECK_EQ(rename("elsewhere", ID_NAME), 0);
	CHECK(loads_as(cache, ID, &table));
	CHECK_EQ(chmod(ID_NAME, 0620), 0);
	CHECK_EQ(unwind_cache_load(cache, ID, &got), -ENOENT);
	unwind_cache_close(cache);
	CHECK_EQ(empty_folder(), 0);
	leave_folder();
	unwind_table_clear(&table);
}

/* --- the folder ---------------------------------------------------------------------------- */

static void check_folder_refused(const char *path, int code)
{
	struct error error = {0};

	CHECK(!unwind_cache_open(path, MUCH, &error));
	CHECK_EQ(error.code, code);
	CHECK(strstr(error.text, path) != NULL);
}

static char *below(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

TEST(unwind_cache_folder_is_made)
{
	struct unwind_cache *cache;
	struct error error = {0};
	struct stat status;

	enter_folder();
	(void)umask(0);
	cache = unwind_cache_open(below("a/b/"), MUCH, &error);
	CHECK(cache != NULL);
	unwind_cache_close(cache);
	CHECK_EQ(stat("a", &status), 0);
	CHECK_EQ(status.st_mode & 07777, 0700);
	CHECK_EQ(stat("a/b", &status), 0);
	CHECK_EQ(status.st_mode & 07777, 0700);
	CHECK_EQ(rmdir("a/b"), 0);
	CHECK_EQ(rmdir("a"), 0);
	check_folder_refused(below("a/b/c"), -ENOENT);
	check_folder_refused("relative", -EINVAL);
	check_folder_refused("", -EINVAL);
	leave_folder();
}

TEST(unwind_cache_folder_that_others_can_change)
{
	enter_folder();
	CHECK_EQ(mkdir("above", 0700), 0);
	CHECK_EQ(mkdir("above/cache", 0700), 0);
	CHECK_EQ(chmod("above/cache", 0770), 0);
	check_folder_refused(below("above/cache"), -EPERM);
	CHECK_EQ(chmod("above/cache", 01707), 0); /* even with the sticky bit */
	check_folder_refused(below("above/cache"), -EPERM);
	CHECK_EQ(chmod("above/cache", 0755), 0);
	CHECK_EQ(chmod("above", 0777), 0);
	check_folder_refused(below("above/cache"), -EPERM);
	CHECK_EQ(chmod("above", 01777), 0);
	unwind_cache_close(unwind_cache_open(below("above/cache"), MUCH, NULL));
	CHECK_EQ(symlink("cache", "above/link"), 0);
	check_folder_refused(below("above/link"), -ENOTDIR);
	CHECK_EQ(symlink("above", "link"), 0);
	check_folder_refused(below("link/cache"), -ENOTDIR);
	CHECK_EQ(unlink("above/link"), 0);
	CHECK_EQ(unlink("link"), 0);
	CHECK_EQ(mknod("above/file", S_IFREG | 0600, 0), 0);
	check_folder_refused(below("above/file"), -ENOTDIR);
	CHECK_EQ(unlink("above/file"), 0);
	CHECK_EQ(rmdir("above/cache"), 0);
	CHECK_EQ(rmdir("above"), 0);
	leave_folder();
}

TEST(unwind_cache_folder_of_others)
{
	if (geteuid() != 0)
		SKIP("needs root, to give a folder away");
	enter_folder();
	CHECK_EQ(mkdir("above", 0755), 0);
	CHECK_EQ(mkdir("above/cache", 0755), 0);
	CHECK_EQ(chown("above/cache", 65534, 65534), 0);
	check_folder_refused(below("above/cache"), -EPERM);
	CHECK_EQ(chown("above/cache", 0, 0), 0);
	CHECK_EQ(chown("above", 65534, 65534), 0);
	check_folder_refused(below("above/cache"), -EPERM);
	/* A folder owned by the user is as good as one owned by root. */
	CHECK_EQ(chown("above/cache", 65534, 65534), 0);
	CHECK_EQ(chown(folder, 65534, 65534), 0);
	CHECK_EQ(seteuid(65534), 0);
	unwind_cache_close(unwind_cache_open(below("above/cache"), MUCH, NULL));
	CHECK_EQ(seteuid(0), 0);
	CHECK_EQ(rmdir("above/cache"), 0);
	CHECK_EQ(rmdir("above"), 0);
	leave_folder();
}

/* --- the limit ----------------------------------------------------------------------------- */

static void set_age(const char *name, time_t seconds)
{
	const struct timespec times[2] = {{time(NULL) - seconds, 0}, {time(NULL) - seconds, 0}};

	CHECK_EQ(utimensat(AT_FDCWD, name, times, 0), 0);
}

TEST(unwind_cache_removes_what_was_not_used)
{
	struct unwind_table table = make_table(1, 1000), large = make_table(2, 10000);
	uint64_t bytes = unwind_file_bytes(&table);
	const uint8_t ids[] = {0x10, 0x11, 0x12, 0x13};
	struct unwind_cache *cache;

	enter_folder();
	cache = open_cache(3 * bytes);
	CHECK(unwind_file_bytes(&large) > 3 * bytes);
	CHECK_EQ(unwind_cache_store(cache, &ids[0], 1, &table), 0);
	CHECK_EQ(unwind_cache_store(cache, &ids[1], 1, &table), 0);
	CHECK_EQ(unwind_cache_store(cache, &ids[2], 1, &table), 0);
	set_age("10", 300);
	set_age("11", 200);
	set_age("12", 100);
	/* Replacing the same table needs no room; neither does a table that is not stored. */
	CHECK_EQ(unwind_cache_store(cache, &ids[2], 1, &table), 0);
	CHECK_EQ(unwind_cache_store(cache, &ids[3], 1, &large), -EFBIG);
	CHECK(!access("10", F_OK) && !access("11", F_OK) && !access("12", F_OK));
	CHECK(loads_as(cache, &ids[0], 1, &table));
	CHECK_EQ(unwind_cache_store(cache, &ids[3], 1, &table), 0);
	CHECK(!access("10", F_OK) && access("11", F_OK) && !access("12", F_OK));
	CHECK(!access("13", F_OK));
	unwind_cache_close(cache);
	CHECK_EQ(empty_folder(), 3);
	leave_folder();
	unwind_table_clear(&table);
	unwind_table_clear(&large);
}

/* Only cache files are counted and removed; a killed process' temporary files go later. */
TEST(unwind_cache_leaves_other_files_alone)
{
	static const char *const names[] = {"README", "new-fresh", "new-old", "ABCD", "abc"};
	struct unwind_table table = make_table(1, 1000);
	const uint8_t ids[] = {0x10, 0x11};
	struct unwind_cache *cache;
	size_t i;

	enter_folder();
	cache = open_cache(unwind_file_bytes(&table));
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		CHECK_EQ(mknod(names[i], S_IFREG | 0600, 0), 0);
		CHECK_EQ(truncate(names[i], 1 << 20), 0);
		set_age(names[i], i == 1 ? 60 : 7200);
	}
	CHECK_EQ(unwind_cache_store(cache, &ids[0], 1, &table), 0);
	CHECK_EQ(unwind_cache_store(cache, &ids[1], 1, &table), 0);
	CHECK(access("10", F_OK) && !access("11", F_OK));
	CHECK(access("new-old", F_OK) && !access("new-fresh", F_OK));
	unwind_cache_close(cache);
	CHECK_EQ(empty_folder(), 5);
	leave_folder();
	unwind_table_clear(&table);
}

/* The disk is full: no new file and no partial file remains. */
TEST(unwind_cache_that_cannot_be_written)
{
	struct unwind_table table = make_table(1, 1000), got;
	const struct rlimit small = {1000, 1000};
	struct unwind_cache *cache;

	enter_folder();
	cache = open_cache(MUCH);
	(void)signal(SIGXFSZ, SIG_IGN);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
	CHECK_EQ(unwind_cache_store(cache, ID, &table), -EFBIG);
	CHECK_EQ(unwind_cache_load(cache, ID, &got), -ENOENT);
	CHECK_EQ(empty_folder(), 0);
	CHECK_EQ(chdir("/"), 0);
	CHECK_EQ(rmdir(folder), 0);
	CHECK_EQ(unwind_cache_store(cache, ID, &table), -ENOENT); /* the folder is gone */
	unwind_cache_close(cache);
	unwind_table_clear(&table);
}

TEST(unwind_cache_out_of_memory)
{
	struct unwind_table table = make_table(1, 1000), got;
	struct unwind_cache *cache = NULL;
	size_t nth;
	int err = -1;

	enter_folder();
	for (nth = 1; !cache; nth++) {
		struct error error = {0};

		(void)test_fail_allocation(nth);
		cache = unwind_cache_open(folder, MUCH, &error);
		(void)test_fail_allocation(0);
		CHECK(cache || error.code == -ENOMEM);
	}
	CHECK_EQ(unwind_cache_store(cache, ID, &table), 0);
	for (nth = 1; err; nth++) {
		(void)test_fail_allocation(nth);
		err = unwind_cache_load(cache, ID, &got);
		(void)test_fail_allocation(0);
		CHECK(!err || err == -ENOMEM);
	}
	CHECK(nth > 4);
	CHECK(are_equal(&table, &got));
	unwind_table_clear(&got);
	unwind_cache_close(cache);
	CHECK_EQ(empty_folder(), 1);
	leave_folder();
	unwind_table_clear(&table);
}

/* --- concurrent processes ------------------------------------------------------------------ */

/* Stores and loads four tables; only two fit. */
static int hammer(uint32_t seed)
{
	struct unwind_table tables[4];
	struct unwind_cache *cache;
	uint64_t state = seed;
	uint32_t round, i;

	for (i = 0; i < 4; i++)
		tables[i] = make_table(i, 1000);
	cache = open_cache(unwind_file_bytes(&tables[0]) * 5 / 2);
	for (round = 0; round < 300; round++) {
		uint8_t which = (uint8_t)fixture_random(&state, 4);
		struct unwind_table got;
		int err = unwind_cache_load(cache, &which, 1, &got);

		if (err == -ENOENT) {
			CHECK_EQ(unwind_cache_store(cache, &which, 1, &tables[which]), 0);
			continue;
		}
		CHECK_EQ(err, 0);
		CHECK(are_equal(&got, &tables[which]));
		unwind_table_clear(&got);
	}
	for (i = 0; i < 4; i++)
		unwind_table_clear(&tables[i]);
	unwind_cache_close(cache);
	return 0;
}

TEST(unwind_cache_shared_by_processes)
{
	pid_t children[4];
	uint32_t i;
	int status;

	enter_folder();
	for (i = 0; i < ARRAY_SIZE(children); i++) {
		children[i] = fork();
		CHECK(children[i] >= 0);
		if (children[i] == 0)
			exit(hammer(i + 1));
	}
	for (i = 0; i < ARRAY_SIZE(children); i++) {
		CHECK_EQ(waitpid(children[i], &status, 0), children[i]);
		CHECK_EQ(status, 0);
	}
	CHECK(empty_folder() <= 2);
	leave_folder();
}
