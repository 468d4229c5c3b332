/*
 * proc/mappings: compared with a model that stores every page separately; lines of /proc/PID/maps,
 * including this process' own; users of a file, found among child processes.
 */
#include "proc/mappings.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "unit/folder.h"
#include "unit/test.h"

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
	CHECK_EQ(add(&mappings, 5, 5, 1), 0); /* empty or reversed: no-op */
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
	CHECK_EQ(add(&mappings, 140, 160, 2), 0); /* splits the first */
	CHECK_EQ(mappings_nr(mappings), 3);
	check_item(mappings, 0, 100, 140, 300, 1);
	check_item(mappings, 1, 140, 160, 420, 2);
	check_item(mappings, 2, 160, 200, 360, 1); /* the offset moves with the start */
	CHECK_EQ(add(&mappings, 120, 180, 3), 0);
	CHECK_EQ(mappings_nr(mappings), 3);
	check_item(mappings, 0, 100, 120, 300, 1);
	check_item(mappings, 1, 120, 180, 360, 3);
	check_item(mappings, 2, 180, 200, 380, 1);
	CHECK_EQ(add(&mappings, 0, UINT64_MAX, 4), 0);
	CHECK_EQ(mappings_nr(mappings), 1);
	mappings_unref(mappings);
}

/* A JIT compiler protects its memory page by page, and again and again. */
TEST(mappings_of_the_same_code_become_one)
{
	struct mappings *mappings = mappings_new(), *shared;
	struct mapping mapping = {.kind = MAPPING_ANON};
	uint64_t i;

	for (i = 0; i < 3000; i++) {
		mapping.start = i * 7 % 1000;
		mapping.end = mapping.start + 1;
		CHECK_EQ(mappings_add(&mappings, &mapping), 0);
	}
	CHECK_EQ(mappings_nr(mappings), 1);
	CHECK_EQ(mappings_get(mappings, 0)->end, 1000);
	shared = mappings_ref(mappings);
	CHECK_EQ(mappings_add(&mappings, &mapping), 0);
	CHECK(mappings == shared); /* no copy: nothing has changed */
	mapping = (struct mapping){.start = 400, .end = 500, .kind = MAPPING_FILE, .file = 1};
	CHECK_EQ(mappings_add(&mappings, &mapping), 0);
	CHECK(mappings != shared && mappings_nr(mappings) == 3);
	mapping = (struct mapping){
		.start = 500, .end = 600, .offset = 100, .kind = MAPPING_FILE, .file = 1};
	CHECK_EQ(mappings_add(&mappings, &mapping), 0); /* the next bytes of the file */
	CHECK(mappings_nr(mappings) == 3 && mappings_get(mappings, 1)->end == 600);
	mapping = (struct mapping){.start = 600, .end = 700, .kind = MAPPING_FILE, .file = 1};
	CHECK_EQ(mappings_add(&mappings, &mapping), 0); /* others */
	CHECK_EQ(mappings_nr(mappings), 4);
	mappings_unref(shared);
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
	uint32_t file; /* 0: unmapped */
	uint64_t offset;
};

struct sharer {
	struct mappings *mappings;
	struct page pages[NR_PAGES];
};

static uint64_t model_random = 42;

static uint64_t random_below(uint64_t limit)
{
	model_random = model_random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (model_random >> 33) % limit;
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
	CHECK_EQ(mappings_find(mappings, 0)->file, 1); /* existing mappings stay */
	mappings_unref(mappings);
}

/* A failed add leaves both sharing processes unchanged. */
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

/* --- /proc/PID/maps --------------------------------------------------------------------------- */

static bool parse(const char *text, struct maps_entry *entry)
{
	static char line[512];

	(void)snprintf(line, sizeof(line), "%s", text);
	return maps_parse_line(line, entry);
}

TEST(maps_line_of_a_file)
{
	struct maps_entry entry;

	CHECK(parse("7f5a1c000000-7f5a1c022000 r-xp 00026000 103:0a 123456789      "
		    "            /usr/lib/libc.so.6",
		    &entry));
	CHECK_EQ(entry.start, 0x7f5a1c000000);
	CHECK_EQ(entry.end, 0x7f5a1c022000);
	CHECK_EQ(entry.offset, 0x26000);
	CHECK(entry.executable);
	CHECK_EQ(entry.id.major, 0x103);
	CHECK_EQ(entry.id.minor, 0xa);
	CHECK_EQ(entry.id.inode, 123456789);
	CHECK_EQ(entry.id.generation, 0);
	CHECK_STR(entry.path, "/usr/lib/libc.so.6");
}

TEST(maps_lines_of_other_memory)
{
	struct maps_entry entry;

	CHECK(parse("00400000-00401000 rw-p 00000000 00:00 0 ", &entry));
	CHECK(!entry.executable);
	CHECK_EQ(entry.id.inode, 0);
	CHECK_STR(entry.path, "");
	CHECK(parse("00400000-00401000 rwxp 00000000 00:00 0", &entry));
	CHECK(entry.executable);
	CHECK_STR(entry.path, "");
	CHECK(parse("7ffd1000-7ffd2000 r-xp 00000000 00:00 0     [vdso]", &entry));
	CHECK_STR(entry.path, "[vdso]");
	CHECK(parse(
		"1000-2000 --xs fffffffffffff000 00:01 18446744073709551615 /dev/zero (deleted)",
		&entry));
	CHECK_EQ(entry.offset, 0xfffffffffffff000);
	CHECK_EQ(entry.id.inode, UINT64_MAX);
	CHECK_STR(entry.path, "/dev/zero (deleted)");
	CHECK(parse("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   [vsyscall]",
		    &entry));
	CHECK_EQ(entry.start, 0xffffffffff600000);
}

TEST(maps_refuses_what_is_no_line)
{
	static const char *const wrong[] = {
		"",
		"hello",
		"1000",
		"1000-",
		"1000-2000",
		"1000-2000 ",
		"1000-2000 r-xp",
		"1000-2000 r-xp0 00:00 0",
		"1000-2000 r-xp 0 00 00 0",
		"1000-2000 r-xp 0 00:00",
		"1000-2000 r-xp 0 00:00 ",
		"1000-2000 r-xp 0 00:00 12x",
		"2000-1000 r-xp 0 00:00 0",
		"1000-1000 r-xp 0 00:00 0",
		"10000000000000000-20000000000000000 r-xp 0 00:00 0",
		"1000 2000 r-xp 0 00:00 0",
	};
	struct maps_entry entry;
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (parse(wrong[i], &entry)) {
			fprintf(stderr, "  accepted: '%s'\n", wrong[i]);
			CHECK(false);
		}
}

/* Every truncation in front of a guard page: accepted or refused, and never read past the end. */
TEST(maps_truncated_lines)
{
	static const char line[] =
		"7f5a1c000000-7f5a1c022000 r-xp 00026000 08:01 1234   /usr/lib/x";
	size_t nr;

	for (nr = 0; nr < sizeof(line); nr++) {
		char cut[sizeof(line)] = "";
		struct maps_entry entry;
		char *guarded;
		bool has_inode = nr > strlen("7f5a1c000000-7f5a1c022000 r-xp 00026000 08:01 ");

		memcpy(cut, line, nr);
		guarded = test_guarded(cut, nr + 1);
		CHECK_EQ(maps_parse_line(guarded, &entry), has_inode);
		CHECK(!has_inode || strlen(entry.path) < sizeof(line));
	}
}

/* Characters replaced at random: if a line is accepted, its path lies within the line. */
TEST(maps_damaged_lines)
{
	static const char line[] =
		"7f5a1c000000-7f5a1c022000 r-xp 00026000 08:01 1234   /usr/lib/x";
	static const char instead[] = "-: 0fxX/\n\t+z";
	char *guarded = test_guarded(line, sizeof(line));
	uint32_t state = 1;
	int round;

	for (round = 0; round < 20000; round++) {
		struct maps_entry entry;
		int k;

		memcpy(guarded, line, sizeof(line));
		for (k = 0; k < 1 + round % 3; k++) {
			state = state * 1664525 + 1013904223;
			guarded[(state >> 8) % (sizeof(line) - 1)] =
				instead[(state >> 24) % sizeof(instead)];
		}
		if (!maps_parse_line(guarded, &entry))
			continue;
		CHECK(entry.start < entry.end);
		CHECK(entry.path >= guarded && entry.path < guarded + sizeof(line));
	}
}

/* Status of the link's target: some tools that run the tests do not give us the file itself. */
static void stat_ourselves(struct stat *st)
{
	char path[4096] = "";

	CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	CHECK_EQ(stat(path, st), 0);
}

/* The addresses of this function and of the vdso are known from other sources. */
TEST(maps_of_our_own_process)
{
	uint64_t here = (uint64_t)(uintptr_t)&maps_parse_line;
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
	uint64_t last_end = 0;
	bool found = false, found_vdso = false;
	struct maps_entry entry;
	struct maps maps;
	struct stat st;

	stat_ourselves(&st);
	CHECK_EQ(maps_open(&maps, getpid()), 0);
	while (maps_next(&maps, &entry)) {
		CHECK(entry.start >= last_end);
		last_end = entry.end;
		if (entry.start == vdso) {
			CHECK_STR(entry.path, "[vdso]");
			CHECK(entry.executable);
			found_vdso = true;
		}
		if (here < entry.start || here >= entry.end)
			continue;
		CHECK(entry.executable);
		CHECK_EQ(entry.id.inode, st.st_ino);
		CHECK_EQ(entry.id.major, major(st.st_dev));
		CHECK_EQ(entry.id.minor, minor(st.st_dev));
		CHECK(strstr(entry.path, "unit_tests") != NULL);
		found = true;
	}
	CHECK(found);
	CHECK(found_vdso || !vdso);
	maps_close(&maps);
	maps_close(&maps);
}

TEST(maps_of_nobody)
{
	struct maps maps;

	CHECK_EQ(maps_open(&maps, 2000000000), -ENOENT);
	maps_close(&maps);
}

/* --- users of files --------------------------------------------------------------------------- */

#define LIMIT_NS (10 * NS_PER_SEC)

/* Makes a file that no other process uses. */
static uint64_t make_code(const char *path, int *ret_fd)
{
	struct stat st;

	make_file(path, "code");
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(*ret_fd >= 0 && fstat(*ret_fd, &st) == 0);
	return st.st_ino;
}

/* Starts a child; when this returns, the child has mapped the file. */
static pid_t start_user(int fd, int protection)
{
	int ready[2];
	char byte;
	pid_t pid;

	CHECK_EQ(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		if (mmap(NULL, 4, protection, MAP_PRIVATE, fd, 0) != MAP_FAILED)
			(void)!write(ready[1], "", 1);
		(void)pause();
		_exit(0);
	}
	(void)close(ready[1]);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	return pid;
}

static void end_user(pid_t pid)
{
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

static int64_t find_users(const uint64_t *inodes, size_t nr_inodes, const uint32_t *pids,
			  size_t nr_pids, uint64_t limit_ns)
{
	const struct file_users question = {.inodes = inodes,
					    .nr_inodes = nr_inodes,
					    .pids = pids,
					    .nr_pids = nr_pids,
					    .limit_ns = limit_ns};

	return file_users_find(&question);
}

TEST(file_users_others_are_found)
{
	uint64_t inodes[2] = {0};
	uint32_t pids[2] = {1};
	int fds[2];
	pid_t user;

	enter_folder();
	inodes[0] = make_code(in_folder("a"), &fds[0]);
	inodes[1] = make_code(in_folder("b"), &fds[1]);
	CHECK_EQ(find_users(inodes, 2, NULL, 0, LIMIT_NS), -ENOENT);
	user = start_user(fds[1], PROT_READ | PROT_EXEC);
	CHECK_EQ(find_users(inodes, 2, NULL, 0, LIMIT_NS), 1);
	CHECK_EQ(find_users(inodes, 1, NULL, 0, LIMIT_NS), -ENOENT);
	pids[1] = (uint32_t)user;
	CHECK_EQ(find_users(inodes, 2, pids, 2, LIMIT_NS), -ENOENT);
	end_user(user);
	leave_folder();
}

TEST(file_users_we_are_none)
{
	int fd;
	uint64_t inode;

	enter_folder();
	inode = make_code(in_folder("a"), &fd);
	CHECK(mmap(NULL, 4, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED);
	CHECK_EQ(find_users(&inode, 1, NULL, 0, LIMIT_NS), -ENOENT);
	leave_folder();
}

/* A process that reads the file does not execute it. */
TEST(file_users_readers_are_none)
{
	int fd;
	uint64_t inode;
	pid_t reader;

	enter_folder();
	inode = make_code(in_folder("a"), &fd);
	reader = start_user(fd, PROT_READ);
	CHECK_EQ(find_users(&inode, 1, NULL, 0, LIMIT_NS), -ENOENT);
	end_user(reader);
	leave_folder();
}

TEST(file_users_keep_to_their_time)
{
	uint64_t inode = UINT64_MAX;
	pid_t user = start_user(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), PROT_READ);

	CHECK_EQ(find_users(&inode, 1, NULL, 0, 0), -ETIMEDOUT);
	end_user(user);
}

static void note_process(void *context, int32_t pid)
{
	*(bool *)context |= pid == getpid();
}

/* Without files, only the locks of all processes are looked at. */
TEST(file_users_of_no_file)
{
	bool has_met_us = false;
	const struct file_users question = {.begins = note_process, .context = &has_met_us};

	CHECK_EQ(file_users_find(&question), -ENOENT);
	CHECK(has_met_us);
}
