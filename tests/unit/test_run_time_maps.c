/*
 * sym/run_time_maps: maps of a process whose root is the test's folder, while they are created,
 * grow and are rewritten, and lines of real maps. The file formats are tested in test_perf_map.c
 * and test_jitdump.c.
 */
#include "sym/run_time_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "proc/runtime_table.h"
#include "unit/look_here.h"
#include "unit/folder.h"
#include "unit/test.h"

#define PID	  4711
#define NOBODY	  65534
#define INNER_PID 7

/* A process with its own root, and the map read from it. */
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
		.maps = run_time_maps_new(max_bytes),
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

/* Opens the process' files, and reads them. */
static int get(struct fixture *fixture, uint32_t number)
{
	const struct runtime_process *process = &fixture->process;
	cleanup_fd int perf_map = open_map_here(process), jitdump = -1;
	struct run_time_files files = {
		.perf_map = perf_map,
		.is_java = process->runtime && process->runtime->is_java,
		.is_superseded = process->is_superseded,
	};

	if (process->jitdump >= 0) {
		file_table_reopen(fixture->files, (uint32_t)process->jitdump);
		(void)look_here(fixture->files, NULL);
	}
	jitdump = runtime_process_jitdump(process, fixture->files);
	files.jitdump = jitdump = jitdump < 0 ? jitdump : file_open_handle(jitdump);
	fixture->map = NULL;
	return run_time_maps_get(fixture->maps, number, &files, NULL, &fixture->map);
}

static void read_as(struct fixture *fixture, uint32_t number)
{
	CHECK_EQ(get(fixture, number), 0);
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
	make_file(map_path(), "1000 10 anew\n"); /* the same file, rewritten */
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x1000), "anew");
	CHECK_STR(find(&fixture, 0x4000), "");
	CHECK_EQ(unlink(map_path()), 0);
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x1000), "anew"); /* earlier names are kept */
	close_fixture(&fixture);
}

/* A JVM rewrites the whole map on each request: a longer file does not mean appended lines. */
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

/* A map too large to keep is read each time, so that changes in place are seen. */
/* Numbers of processes only grow. */
TEST(run_time_maps_forget_processes)
{
	struct fixture fixture;
	uint32_t number;

	open_fixture(&fixture, 1 << 20);
	append(map_path(), "1000 10 early\n");
	read_as(&fixture, 4000000000);
	CHECK_STR(find(&fixture, 0x1000), "early");
	CHECK_EQ(unlink(map_path()), 0);
	for (number = 0; number < RUN_TIME_MAPS_MAX - 1; number++)
		read_as(&fixture, 1000000 * number);
	read_as(&fixture, 4000000000);
	CHECK_STR(find(&fixture, 0x1000), "early");
	read_as(&fixture, 1); /* takes the place of process 0 */
	read_as(&fixture, 4000000000);
	CHECK_STR(find(&fixture, 0x1000), "early");
	for (number = 2; number < RUN_TIME_MAPS_MAX + 2; number++)
		read_as(&fixture, number);
	read_as(&fixture, 4000000000);
	CHECK_STR(find(&fixture, 0x1000), "");
	close_fixture(&fixture);
}

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

/* Writes nr lines of code, at different addresses, or at the same one with distance 0. */
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
	CHECK_EQ(get(&fixture, 0), -EFBIG);
	CHECK(fixture.map == NULL);
	append(map_path(), "1000 10 more\n");
	read_as(&fixture, 0); /* reported once */
	CHECK(fixture.map == NULL);
	make_long_map(map_path(), nr, 0, name); /* the same length as before */
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

/* If two maps exceed the limit together, the requested one is read completely. */
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
	CHECK_STR(find(&fixture, 0x1000), "of 1__ 0"); /* was evicted in between */
	close_fixture(&fixture);
}

/* A later program owns the files: what was read before is kept, and nothing more is read. */
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

/* Within the limit, lines read before are not read again. */
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

/* Appends a JIT_CODE_LOAD of 16 bytes of code. */
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
	fixture->process.jitdump = add_fd_here(fixture->files, path, fd);
	CHECK(fixture->process.jitdump >= 0);
}

/* Makes the process' jitdump, with one function. */
static void add_jitdump(struct fixture *fixture, const char *name, const char *function,
			uint64_t address)
{
	make_jitdump(in_folder(name));
	append_load(in_folder(name), function, address);
	add_to_files(fixture, in_folder(name));
}

TEST(run_time_maps_read_the_jitdump)
{
	struct fixture fixture;

	open_fixture(&fixture, 1 << 20);
	add_jitdump(&fixture, "jit-7.dump", "first", 0x1000);
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

/* Any user may map a file that is readable. */
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
		CHECK_EQ(runtime_process_jitdump(&fixture.process, fixture.files), -EACCES);
		file_owners_add(&fixture.process.users, NOBODY); /* its earlier user id */
		read_as(&fixture, 0);
		CHECK_STR(find(&fixture, 0x1008), "first");
	}
	close_fixture(&fixture);
	if (!is_given)
		SKIP("needs root, to give files away");
}

/* The perf map was rewritten: names from the jitdump are kept. */
TEST(run_time_maps_keep_the_jitdump)
{
	struct fixture fixture;

	open_fixture(&fixture, 1 << 20);
	add_jitdump(&fixture, "jit-7.dump", "dumped", 0x1000);
	make_file(map_path(), "3000 10 by a long map\n");
	read_as(&fixture, 0);
	make_file(map_path(), "4000 10 short\n");
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x1008), "dumped");
	CHECK_STR(find(&fixture, 0x3008), "");
	CHECK_STR(find(&fixture, 0x4008), "short");
	close_fixture(&fixture);
}

/* A forked process inherits code and names of its parent, and adds its own. */
TEST(run_time_maps_read_another_jitdump)
{
	struct fixture fixture;

	open_fixture(&fixture, 1 << 20);
	add_jitdump(&fixture, "jit-7.dump", "parent", 0x1000);
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x1008), "parent");
	add_jitdump(&fixture, "jit-8.dump", "forked", 0x2000);
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x2008), "forked");
	CHECK_STR(find(&fixture, 0x1008), "parent");
	close_fixture(&fixture);
}

/* The table closed the jitdump to stay within its limit: it is opened again. */
TEST(run_time_maps_reopen_the_jitdump)
{
	struct fixture fixture;
	int64_t number;

	open_fixture(&fixture, 1 << 20);
	add_jitdump(&fixture, "jit-7.dump", "first", 0x1000);
	number = add_fd_here(fixture.files, "/proc/self/exe",
			     open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	CHECK(number >= 0);
	CHECK_EQ(file_table_get(fixture.files, (uint32_t)fixture.process.jitdump)->state,
		 FILE_CLOSED);
	read_as(&fixture, 0);
	CHECK_STR(find(&fixture, 0x1008), "first");
	close_fixture(&fixture);
}

/* An error in one of the two files is reported, and the names of the other are kept. */
TEST(run_time_maps_of_a_file_that_is_no_jitdump)
{
	struct fixture fixture;
	int i;

	open_fixture(&fixture, 1 << 20);
	make_file(in_folder("jit-7.dump"), "nothing of the kind, though longer than a header");
	add_to_files(&fixture, in_folder("jit-7.dump"));
	make_file(map_path(), "3000 10 by the map\n");
	for (i = 0; i < 2; i++) {
		CHECK_EQ(get(&fixture, 0), -ENOEXEC);
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
	CHECK(run_time_maps_new(1) == NULL);
	(void)test_fail_allocation(0);
	open_fixture(&fixture, 1 << 20);
	add_jitdump(&fixture, "jit-7.dump", "dumped", 0x1000);
	make_file(map_path(), "3000 10 by the map\n");
	do {
		(void)test_fail_allocation(++nth);
		err = get(&fixture, 5);
		(void)test_fail_allocation(0);
		CHECK(err == 0 || err == -ENOMEM);
	} while (err);
	CHECK(nth > 4);
	CHECK_STR(find(&fixture, 0x1008), "dumped");
	CHECK_STR(find(&fixture, 0x3008), "by the map");
	CHECK_EQ(code_map_nr(fixture.map), 2);
	close_fixture(&fixture);
}

/* --- names in real maps ------------------------------------------------------------------- */

static const struct runtime_names_style whole, cut = {.cut_tiers = true};

static const char *shown(const char *name, bool is_java, const struct runtime_names_style *style)
{
	static char text[1000];

	runtime_name(name, is_java, style, text, sizeof(text));
	return text;
}

struct example {
	const char *name;
	const char *shown; /* NULL: unchanged */
};

static void check_java(const struct example *examples, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		const char *name = examples[i].name;

		CHECK_STR(shown(name, true, &whole), examples[i].shown ? examples[i].shown : name);
		CHECK_STR(shown(name, true, &cut), examples[i].shown ? examples[i].shown : name);
		/* The same name has another meaning in other runtimes. */
		CHECK_STR(shown(name, false, &whole), name);
	}
}

/* --- Java ---------------------------------------------------------------------------------- */

/* JDK 17: jcmd PID Compiler.perfmap. */
TEST(runtime_names_of_java_perfmap)
{
	static const struct example examples[] = {
		{"int java.lang.String.indexOf(int)", "java/lang/String.indexOf"},
		{"void java.util.TimSort.mergeHi(int, int, int, int)", "java/util/TimSort.mergeHi"},
		{"java.lang.Object[] java.util.ArrayList.grow(int)", "java/util/ArrayList.grow"},
		{"byte[] java.util.Arrays.copyOf(byte[], int)", "java/util/Arrays.copyOf"},
		{"int[][] App$Inner.grid(java.lang.String[], int[][])", "App$Inner.grid"},
		{"java.lang.Class java.lang.Object.getClass()", "java/lang/Object.getClass"},
		{"void java.lang.Object.<init>()", "java/lang/Object.<init>"},
		{"void App.<clinit>()", "App.<clinit>"},
		{"void App.main(java.lang.String[])", "App.main"},
		{"double App$1.area()", "App$1.area"},
		{"java.lang.Integer App.lambda$main$0(java.lang.Integer)", "App.lambda$main$0"},
		{"void java.util.stream.ReferencePipeline$4$1.accept(java.lang.Object)",
		 "java/util/stream/ReferencePipeline$4$1.accept"},
		{"java.lang.Object App$$Lambda$1/0x00007fed9c000c08.apply(java.lang.Object)",
		 "App$$Lambda$1/0x00007fed9c000c08.apply"},
		{"int java.util.stream.IntPipeline$$Lambda$4/0x00007fed9c041248.applyAsInt(int, "
		 "int)",
		 "java/util/stream/IntPipeline$$Lambda$4/0x00007fed9c041248.applyAsInt"},
		{"void com.shop.OrderTest.an empty order costs nothing()",
		 "com/shop/OrderTest.an empty order costs nothing"},
		{"I2C/C2I adapters", NULL},
		{"Interpreter", NULL},
		{"StubRoutines (1)", NULL},
		{"SafepointBlob", NULL},
		{"handle_exception Runtime1 stub", NULL},
		{"jni_fast_GetLongField", NULL},
		{"_complete_monitor_locking_Java", NULL},
		{"IncompatibleClassChangeError throw_exception", NULL},
	};

	check_java(examples, ARRAY_SIZE(examples));
}

TEST(runtime_names_of_java_agents)
{
	static const struct example examples[] = {
		{"Ljava/lang/String;::indexOf", "java/lang/String.indexOf"},
		{"LApp;::main", "App.main"},
		{"LApp$Inner;::<init>", "App$Inner.<init>"},
		{"Ljava/util/stream/ReferencePipeline$4$1;::accept",
		 "java/util/stream/ReferencePipeline$4$1.accept"},
		{"LApp$$Lambda$14/0x0000000800c03000;::run",
		 "App$$Lambda$14/0x0000000800c03000.run"},
		{"Ljava/lang/String;::indexOf(II)I", "java/lang/String.indexOf"},
		{"La/A;::f->Lb/B;::g", "a/A.f->b/B.g"},
		{"La/A;::f(I)V->Lb/B;::g()V->Lc/C;::h", "a/A.f->b/B.g->c/C.h"},
		{"La/A;::f->others", "a/A.f->others"},
		{"Ljava/lang/StringLatin1;equals([B[B)Z", "java/lang/StringLatin1.equals"},
		{"Ljava/lang/AbstractStringBuilder;appendChars(Ljava/lang/String;II)V",
		 "java/lang/AbstractStringBuilder.appendChars"},
		{"Ljava/lang/Object;<init>()V", "java/lang/Object.<init>"},
		{"call_stub", NULL},
		{"vtable stub", NULL},
	};

	check_java(examples, ARRAY_SIZE(examples));
}

TEST(runtime_names_nearly_java)
{
	static const struct example examples[] = {
		{"", NULL},
		{"L", NULL},
		{"L;", NULL},
		{"L;::f", NULL},
		{"La;", NULL},
		{"La;::", NULL},
		{"La;(I)V", NULL},
		{"La b;::f", NULL},
		{"Loop", NULL},
		{"int f(int)", NULL},
		{"int A.(int)", NULL},
		{"int .f(int)", NULL},
		{" A.f(int)", NULL},
		{"int A.f(int", NULL},
		{"int A.f", NULL},
		{"A.f(int)", NULL},
		{"A.f(int, B.c)", NULL},
		{"(", NULL},
		{"()", NULL},
		{" ()", NULL},
		{"->", NULL},
	};

	check_java(examples, ARRAY_SIZE(examples));
}

/* --- other runtimes ------------------------------------------------------------------------ */

struct tier_example {
	const char *name;
	const char *whole; /* NULL: unchanged */
	const char *cut;
};

static void check_tiers(const struct tier_example *examples, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		const struct tier_example *example = &examples[i];

		CHECK_STR(shown(example->name, false, &whole),
			  example->whole ? example->whole : example->name);
		CHECK_STR(shown(example->name, false, &cut),
			  example->cut ? example->cut : example->name);
	}
}

/* Node 20: --perf-basic-prof, --interpreted-frames-native-stack; older and newer terms of V8. */
TEST(runtime_names_of_javascript)
{
	static const struct tier_example examples[] = {
		{"JS:~spin /srv/app.js:7:14", "~spin /srv/app.js:7:14", "spin /srv/app.js:7:14"},
		{"JS:^spin /srv/app.js:7:14", "^spin /srv/app.js:7:14", "spin /srv/app.js:7:14"},
		{"JS:+spin /srv/app.js:7:14", "+spin /srv/app.js:7:14", "spin /srv/app.js:7:14"},
		{"JS:*spin /srv/app.js:7:14", "*spin /srv/app.js:7:14", "spin /srv/app.js:7:14"},
		{"JS:*'spin /srv/app.js:7:14", "*'spin /srv/app.js:7:14", "spin /srv/app.js:7:14"},
		{"JS:spin /srv/app.js:7:14", "spin /srv/app.js:7:14", "spin /srv/app.js:7:14"},
		{"JS:~#priv /srv/app.js:1:111", "~#priv /srv/app.js:1:111",
		 "#priv /srv/app.js:1:111"},
		{"JS:^get len /srv/app.js:1:48", "^get len /srv/app.js:1:48",
		 "get len /srv/app.js:1:48"},
		{"JS:~ /srv/app.js:7:164", "~(anonymous) /srv/app.js:7:164",
		 "(anonymous) /srv/app.js:7:164"},
		{"JS:*~odd /srv/app.js:1:1", "*~odd /srv/app.js:1:1", "~odd /srv/app.js:1:1"},
		{"JS:~Module._compile node:internal/modules/cjs/loader:1483:37",
		 "~Module._compile node:internal/modules/cjs/loader:1483:37",
		 "Module._compile node:internal/modules/cjs/loader:1483:37"},
		{"LazyCompile:*run /srv/app.js:12:3", "*run /srv/app.js:12:3",
		 "run /srv/app.js:12:3"},
		{"LazyCompile:~run /srv/app.js:12", "~run /srv/app.js:12", "run /srv/app.js:12"},
		{"LazyCompile:*", "*(anonymous)", "(anonymous)"},
		{"Function:~run /srv/app.js:12:3", "~run /srv/app.js:12:3", "run /srv/app.js:12:3"},
		{"InterpretedFunction:run /srv/app.js:12:3", "~run /srv/app.js:12:3",
		 "run /srv/app.js:12:3"},
		{"InterpretedFunction:run", "~run", "run"},
		{"Script:~ /srv/app.js:1:1", NULL, "Script: /srv/app.js:1:1"},
		{"Eval:~ node:internal/fs/promises:1:1", NULL,
		 "Eval: node:internal/fs/promises:1:1"},
		{"Eval:~ :1:1", NULL, "Eval: :1:1"},
		{"Builtin:ArrayPrototypeValues", NULL, NULL},
		{"BytecodeHandler:ExtraWide", NULL, NULL},
		{"RegExp:a(b+)c", NULL, NULL},
		{"Stub:js-to-wasm:i:i", NULL, NULL},
		{"JS:wasm-function[0]-0-liftoff", NULL, "JS:wasm-function[0]-0"},
		{"JS:wasm-function[0]-0-turbofan", NULL, "JS:wasm-function[0]-0"},
		{"Function:fib-12-turbofan", NULL, "Function:fib-12"},
		{"Function:my-turbofan", NULL, NULL},
		{"JS:", NULL, NULL},
		{"Function:plain", NULL, NULL},
		{"Function: :", NULL, NULL},
	};

	check_tiers(examples, ARRAY_SIZE(examples));
}

TEST(runtime_names_of_others)
{
	static const struct tier_example examples[] = {
		{"int32 [app] Program::Main(string[])[Tier0]", NULL,
		 "int32 [app] Program::Main(string[])"},
		{"instance void [System.Private.CoreLib] System.Threading.Thread::Run()[PreJIT]",
		 NULL, "instance void [System.Private.CoreLib] System.Threading.Thread::Run()"},
		{"void [app] A+<>c::<F>b__0(int32)[OptimizedTier1]", NULL,
		 "void [app] A+<>c::<F>b__0(int32)"},
		{"int32 [app] Program::Main(string[])", NULL, NULL},
		{"stub<1> GenerateLookupStub", NULL, NULL},
		{"f()[]", NULL, NULL},
		{"A::f()[]", NULL, NULL},
		{"A::f()[x]y", NULL, NULL},
		{"py::run:/srv/app.py", NULL, NULL},
		{"py::Worker.<locals>.<lambda>:/srv/my app.py", NULL, NULL},
		{"$lists:reverse/1", NULL, NULL},
		{"[JIT] Integer#times", NULL, NULL},
		{"[JIT] block in main@/srv/app.rb:12", NULL, NULL},
		{"trace_17", NULL, NULL},
	};

	check_tiers(examples, ARRAY_SIZE(examples));
}

/* --- limited room -------------------------------------------------------------------------- */

static const struct {
	const char *name;
	bool is_java;
} various[] = {
	{"La/A;::f(I)V->Lb/B;::g()V", true},
	{"void App$$Lambda$1/0x00.f(int)", true},
	{"JS:~ /srv/app.js:7:164", false},
	{"Eval:~ /srv/app.js:7:164", false},
	{"JS:wasm-function[0]-0-liftoff", false},
	{"int32 [app] P::Main(string[])[Tier0]", false},
	{"plain", false},
};

/* With any room, the result is a prefix of the full name and fits. */
TEST(runtime_names_cut_to_any_room)
{
	size_t i, nr;

	for (i = 0; i < ARRAY_SIZE(various); i++) {
		const char *full = shown(various[i].name, various[i].is_java, &cut);

		for (nr = 0; nr < 40; nr++) {
			char filler[40];
			char *guarded;

			memset(filler, '!', sizeof(filler));
			guarded = test_guarded(filler, nr);
			runtime_name(various[i].name, various[i].is_java, &cut, guarded, nr);
			CHECK(!nr || (strlen(guarded) == strnlen(full, nr - 1) &&
				      !memcmp(guarded, full, strlen(guarded))));
		}
	}
}

/* Every prefix of a name, in front of a guard page. */
TEST(runtime_names_truncated)
{
	size_t i, nr;

	for (i = 0; i < ARRAY_SIZE(various); i++)
		for (nr = 0; nr <= strlen(various[i].name); nr++) {
			char name[64] = "";
			const char *guarded;

			memcpy(name, various[i].name, nr);
			guarded = test_guarded(name, nr + 1);
			CHECK(strlen(shown(guarded, true, &cut)) <= nr);
			CHECK(strlen(shown(guarded, false, &whole)) <= nr + strlen("(anonymous)"));
			CHECK(nr < 1 || shown(guarded, false, &cut)[0]);
		}
}
