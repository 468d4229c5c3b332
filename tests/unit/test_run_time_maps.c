/*
 * sym/run_time_maps: the maps of a process whose root is a folder of the test, as they come, grow
 * and are written anew. What is in the files is tested in test_perf_map.c and test_jitdump.c.
 */
#include "sym/run_time_maps.h"

#include <errno.h>
#include <string.h>

#include "unit/folder.h"
#include "unit/test.h"

#define PID	  4711
#define NOBODY	  65534
#define INNER_PID 7

/* One process in a root of its own, and what is read of it. */
struct fixture {
	struct file_table *files;
	struct run_time_maps *maps;
	struct runtime_process process;
	const struct code_map *map; /* as of the last read */
};

static void open_fixture(struct fixture *fixture, size_t max_bytes)
{
	need_openat2();
	enter_folder();
	make_folder("tmp");
	*fixture = (struct fixture){
		.files = file_table_new(1),
		.maps = run_time_maps_new(max_bytes, NULL),
		.process = {.pid = PID,
			    .inner_pid = INNER_PID,
			    .uid = geteuid(),
			    .gid = getegid(),
			    .root_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC),
			    .pidfd = -1,
			    .jitdump = -1},
	};
	CHECK(fixture->files && fixture->maps && fixture->process.root_fd >= 0);
}

static void close_fixture(struct fixture *fixture)
{
	(void)close(fixture->process.root_fd);
	run_time_maps_free(fixture->maps);
	file_table_free(fixture->files);
	leave_folder();
}

static const char *map_path(void)
{
	return in_folder("tmp/perf-7.map");
}

static void append(const char *path, const char *text)
{
	FILE *file = fopen(path, "a");

	CHECK(file != NULL);
	CHECK(fputs(text, file) >= 0);
	CHECK_EQ(fclose(file), 0);
}

static void read_as(struct fixture *fixture, uint32_t number)
{
	fixture->map = NULL;
	CHECK_EQ(run_time_maps_get(fixture->maps, number, &fixture->process, fixture->files,
				   &fixture->map),
		 0);
}

static const char *find(const struct fixture *fixture, uint64_t address)
{
	const char *name = fixture->map ? code_map_find(fixture->map, address, NULL) : NULL;

	return name ? name : "";
}

TEST(run_time_maps_without_a_map)
{
	struct fixture fixture;

	open_fixture(&fixture, 1 << 20);
	read_as(&fixture, 0);
	CHECK(fixture.map == NULL);
	make_file(map_path(), "1000 10 half a li");
	read_as(&fixture, 0);
	CHECK(fixture.map == NULL);
	append(map_path(), "ne\n");
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x1000), "half a line");
	run_time_maps_free(NULL);
	close_fixture(&fixture);
}

TEST(run_time_maps_read_on)
{
	struct fixture fixture;

	open_fixture(&fixture, 1 << 20);
	make_file(map_path(), "1000 10 first\n2000 10 second\n");
	read_as(&fixture, 3);
	CHECK_STR(find(&fixture, 0x1008), "first");
	append(map_path(), "2000 10 moved here\n3000 10 third\n");
	read_as(&fixture, 3);
	CHECK_STR(find(&fixture, 0x1008), "first");
	CHECK_STR(find(&fixture, 0x2008), "moved here");
	CHECK_STR(find(&fixture, 0x3008), "third");
	read_as(&fixture, 3);
	CHECK_EQ(code_map_nr(fixture.map), 3);
	close_fixture(&fixture);
}

TEST(run_time_maps_of_another_file)
{
	struct fixture fixture;

	open_fixture(&fixture, 1 << 20);
	make_file(map_path(), "1000 10 first\n2000 10 second\n");
	read_as(&fixture, 0);
	make_file(in_folder("tmp/new"),
		  "1000 10 replaced\n4000 10 a\n5000 10 much\n6000 10 longer\n");
	CHECK_EQ(rename(in_folder("tmp/new"), map_path()), 0);
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x1000), "replaced");
	CHECK_STR(find(&fixture, 0x2000), "");
	make_file(map_path(), "1000 10 anew\n"); /* the same file from its beginning */
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x1000), "anew");
	CHECK_STR(find(&fixture, 0x4000), "");
	CHECK_EQ(unlink(map_path()), 0);
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x1000), "anew"); /* what was known is still true */
	close_fixture(&fixture);
}

/* A JVM writes all of its map each time that it is asked: that it is longer means nothing. */
TEST(run_time_maps_of_a_jvm)
{
	static const struct runtime jvm = {.name = "Java", .is_java = true};
	struct fixture fixture;

	open_fixture(&fixture, 1 << 20);
	fixture.process.runtime = &jvm;
	make_file(map_path(), "1000 10 first\n2000 10 second\n");
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x2000), "second");
	make_file(map_path(), "1000 10 moved\n3000 10 a\n4000 10 much longer than it was\n");
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x1000), "moved");
	CHECK_STR(find(&fixture, 0x2000), "");
	CHECK_STR(find(&fixture, 0x3000), "a");
	close_fixture(&fixture);
}

TEST(run_time_maps_tell_processes_apart)
{
	struct fixture fixture;

	open_fixture(&fixture, 1 << 20);
	make_file(map_path(), "1000 10 of one\n");
	make_file(in_folder("tmp/perf-8.map"), "1000 10 of another\n");
	read_as(&fixture, 9);
	CHECK_STR(find(&fixture, 0x1000), "of one");
	fixture.process.inner_pid = 8;
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x1000), "of another");
	fixture.process.inner_pid = INNER_PID;
	read_as(&fixture, 9);
	CHECK_STR(find(&fixture, 0x1000), "of one");
	close_fixture(&fixture);
}

/* Too large to be kept, but not too large to be read: what has changed in place is seen then. */
TEST(run_time_maps_past_their_limit)
{
	struct fixture fixture;

	open_fixture(&fixture, 1);
	make_file(map_path(), "1000 10 first\n");
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x1000), "first");
	make_file(map_path(), "1000 10 third\n");
	read_as(&fixture, 1);
	CHECK_STR(find(&fixture, 0x1000), "third");
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x1000), "third");
	CHECK_EQ(code_map_nr(fixture.map), 1);
	close_fixture(&fixture);
}

/* Lines of code at different places, or at the same one again and again. */
static void make_long_map(const char *path, size_t nr, uint64_t distance, const char *name)
{
	FILE *file = fopen(path, "w");
	size_t i;

	CHECK(file != NULL);
	for (i = 0; i < nr; i++)
		CHECK(fprintf(file, "%llx 10 %s %zu\n", (unsigned long long)(0x1000 + i * distance),
			      name, i) > 0);
	CHECK_EQ(fclose(file), 0);
}

static int get(struct fixture *fixture)
{
	return run_time_maps_get(fixture->maps, 0, &fixture->process, fixture->files,
				 &fixture->map);
}

#define LONG_NAME_BYTES 4000

TEST(run_time_maps_too_large)
{
	const size_t nr = RUN_TIME_MAP_BYTES / LONG_NAME_BYTES + 10;
	char name[LONG_NAME_BYTES + 1];
	struct fixture fixture;

	memset(name, 'n', LONG_NAME_BYTES);
	name[LONG_NAME_BYTES] = '\0';
	open_fixture(&fixture, 1);
	make_long_map(map_path(), nr, 16, name);
	CHECK_EQ(get(&fixture), -EFBIG);
	CHECK(fixture.map == NULL);
	append(map_path(), "1000 10 more\n");
	read_as(&fixture, 0); /* which is told once */
	CHECK(fixture.map == NULL);
	make_long_map(map_path(), nr, 0, name); /* as long as it was */
	read_as(&fixture, 0);
	CHECK(fixture.map == NULL);
	make_long_map(in_folder("tmp/new"), nr, 0, name);
	CHECK_EQ(rename(in_folder("tmp/new"), map_path()), 0);
	read_as(&fixture, 0);
	CHECK_EQ(code_map_nr(fixture.map), 1);
	make_file(map_path(), "1000 10 short\n");
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x1000), "short");
	close_fixture(&fixture);
}

/* Where all that is allowed is not enough for two, the one that is asked for is whole. */
TEST(run_time_maps_take_the_room_of_others)
{
	struct fixture fixture;

	open_fixture(&fixture, 1 << 20);
	make_long_map(map_path(), 15000, 16, "of one");
	make_long_map(in_folder("tmp/perf-8.map"), 15000, 16, "of another");
	read_as(&fixture, 1);
	CHECK_STR(find(&fixture, 0x1000), "of one 0");
	fixture.process.inner_pid = 8;
	read_as(&fixture, 2);
	CHECK_STR(find(&fixture, 0x1000 + 14999 * 16), "of another 14999");
	fixture.process.inner_pid = INNER_PID;
	make_long_map(map_path(), 15000, 16, "of 1__");
	read_as(&fixture, 1);
	CHECK_STR(find(&fixture, 0x1000), "of 1__ 0"); /* it had to go meanwhile */
	close_fixture(&fixture);
}

/* The files are another program's by now: what was read of them is kept, and no more is read. */
TEST(run_time_maps_of_an_earlier_program)
{
	struct fixture fixture;

	open_fixture(&fixture, 1 << 20);
	make_file(map_path(), "1000 10 first\n");
	read_as(&fixture, 0);
	fixture.process.is_superseded = true;
	make_file(map_path(), "1000 10 by the later one\n2000 10 too\n");
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x1000), "first");
	CHECK_STR(find(&fixture, 0x2000), "");
	read_as(&fixture, 1);
	CHECK(fixture.map == NULL);
	fixture.process.is_superseded = false;
	read_as(&fixture, 2);
	CHECK_STR(find(&fixture, 0x1000), "by the later one");
	close_fixture(&fixture);
}

/* Within the limit what was read is not read again. */
TEST(run_time_maps_within_their_limit)
{
	struct fixture fixture;

	open_fixture(&fixture, 1 << 20);
	make_file(map_path(), "1000 10 first\n");
	read_as(&fixture, 0);
	make_file(map_path(), "1000 10 third\n2000 10 second\n");
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x1000), "first");
	CHECK_STR(find(&fixture, 0x2000), "second");
	close_fixture(&fixture);
}

/* --- jitdump --------------------------------------------------------------------------------- */

static void put_u32(FILE *file, uint32_t number)
{
	CHECK_EQ(fwrite(&number, sizeof(number), 1, file), 1);
}

static void put_u64(FILE *file, uint64_t number)
{
	CHECK_EQ(fwrite(&number, sizeof(number), 1, file), 1);
}

static void make_jitdump(const char *path)
{
	FILE *file = fopen(path, "w");

	CHECK(file != NULL);
	put_u32(file, 0x4A695444);
	put_u32(file, 1);
	put_u32(file, 40);
	put_u32(file, 62);
	put_u64(file, (uint64_t)INNER_PID << 32);
	put_u64(file, 0);
	put_u64(file, 0);
	CHECK_EQ(fclose(file), 0);
}

/* A JIT_CODE_LOAD of 16 bytes of code. */
static void append_load(const char *path, const char *name, uint64_t address)
{
	FILE *file = fopen(path, "a");

	CHECK(file != NULL);
	put_u32(file, 0);
	put_u32(file, (uint32_t)(16 + 40 + strlen(name) + 1 + 16));
	put_u64(file, 0);
	put_u32(file, INNER_PID);
	put_u32(file, INNER_PID);
	put_u64(file, address);
	put_u64(file, address);
	put_u64(file, 16);
	put_u64(file, 0);
	CHECK_EQ(fwrite(name, strlen(name) + 1, 1, file), 1);
	put_u64(file, 0);
	put_u64(file, 0);
	CHECK_EQ(fclose(file), 0);
}

static void add_to_files(struct fixture *fixture, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	fixture->process.jitdump = file_table_add_fd(fixture->files, path, fd);
	CHECK(fixture->process.jitdump >= 0);
}

TEST(run_time_maps_read_the_jitdump)
{
	struct fixture fixture;

	open_fixture(&fixture, 1 << 20);
	make_jitdump(in_folder("jit-7.dump"));
	append_load(in_folder("jit-7.dump"), "first", 0x1000);
	add_to_files(&fixture, in_folder("jit-7.dump"));
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x1008), "first");
	append_load(in_folder("jit-7.dump"), "second", 0x2000);
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x1008), "first");
	CHECK_STR(find(&fixture, 0x2008), "second");
	make_file(map_path(), "3000 10 by the map\n");
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x2008), "second");
	CHECK_STR(find(&fixture, 0x3008), "by the map");
	close_fixture(&fixture);
}

/* Everybody may map a file that he can read. */
TEST(run_time_maps_read_no_other_users_jitdump)
{
	struct fixture fixture;
	bool is_given;

	open_fixture(&fixture, 1 << 20);
	make_jitdump(in_folder("jit-7.dump"));
	append_load(in_folder("jit-7.dump"), "first", 0x1000);
	is_given = chown(in_folder("jit-7.dump"), NOBODY, NOBODY) == 0;
	add_to_files(&fixture, in_folder("jit-7.dump"));
	if (is_given) {
		CHECK_EQ(run_time_maps_get(fixture.maps, 0, &fixture.process, fixture.files,
					   &fixture.map),
			 -EACCES);
		CHECK(fixture.map == NULL);
		file_owners_add(&fixture.process.users, NOBODY); /* that it was before */
		read_as(&fixture, 0);
		CHECK_STR(find(&fixture, 0x1008), "first");
	}
	close_fixture(&fixture);
	if (!is_given)
		SKIP("needs root, to give files away");
}

/* The map was written anew: what the dump has told is not lost with it. */
TEST(run_time_maps_keep_the_jitdump)
{
	struct fixture fixture;

	open_fixture(&fixture, 1 << 20);
	make_jitdump(in_folder("jit-7.dump"));
	append_load(in_folder("jit-7.dump"), "dumped", 0x1000);
	add_to_files(&fixture, in_folder("jit-7.dump"));
	make_file(map_path(), "3000 10 by a long map\n");
	read_as(&fixture, 0);
	make_file(map_path(), "4000 10 short\n");
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x1008), "dumped");
	CHECK_STR(find(&fixture, 0x3008), "");
	CHECK_STR(find(&fixture, 0x4008), "short");
	close_fixture(&fixture);
}

/* Closed to stay within the table's limit: it is opened again. */
TEST(run_time_maps_reopen_the_jitdump)
{
	struct fixture fixture;
	int64_t number;

	open_fixture(&fixture, 1 << 20);
	make_jitdump(in_folder("jit-7.dump"));
	append_load(in_folder("jit-7.dump"), "first", 0x1000);
	add_to_files(&fixture, in_folder("jit-7.dump"));
	number = file_table_add_fd(fixture.files, "/proc/self/exe",
				   open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	CHECK(number >= 0);
	CHECK_EQ(file_table_get(fixture.files, (uint32_t)fixture.process.jitdump)->state,
		 FILE_CLOSED);
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x1008), "first");
	close_fixture(&fixture);
}

/* What is wrong with one of the two is told, and takes nothing from the other. */
TEST(run_time_maps_of_a_file_that_is_no_jitdump)
{
	struct fixture fixture;
	int i;

	open_fixture(&fixture, 1 << 20);
	make_file(in_folder("jit-7.dump"), "nothing of the kind, though longer than a header");
	add_to_files(&fixture, in_folder("jit-7.dump"));
	make_file(map_path(), "3000 10 by the map\n");
	for (i = 0; i < 2; i++) {
		fixture.map = NULL;
		CHECK_EQ(run_time_maps_get(fixture.maps, 0, &fixture.process, fixture.files,
					   &fixture.map),
			 -ENOEXEC);
		CHECK_STR(find(&fixture, 0x3008), "by the map");
	}
	close_fixture(&fixture);
}

/* --- out of memory --------------------------------------------------------------------------- */

TEST(run_time_maps_without_memory)
{
	struct fixture fixture;
	size_t nth = 0;
	int err;

	(void)test_fail_allocation(1);
	CHECK(run_time_maps_new(1, NULL) == NULL);
	(void)test_fail_allocation(0);
	open_fixture(&fixture, 1 << 20);
	make_jitdump(in_folder("jit-7.dump"));
	append_load(in_folder("jit-7.dump"), "dumped", 0x1000);
	add_to_files(&fixture, in_folder("jit-7.dump"));
	make_file(map_path(), "3000 10 by the map\n");
	do {
		(void)test_fail_allocation(++nth);
		err = run_time_maps_get(fixture.maps, 5, &fixture.process, fixture.files,
					&fixture.map);
		(void)test_fail_allocation(0);
		CHECK(err == 0 || err == -ENOMEM);
	} while (err);
	CHECK(nth > 4);
	CHECK_STR(find(&fixture, 0x1008), "dumped");
	CHECK_STR(find(&fixture, 0x3008), "by the map");
	CHECK_EQ(code_map_nr(fixture.map), 2);
	close_fixture(&fixture);
}
