/*
 * sym/symbolizer: deleted files, files elsewhere, files to be symbolized on another machine, and
 * JIT-compiled code. The compiler builds the files in the test's folder.
 */
#include "sym/symbolizer.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit/look_here.h"
#include "unit/made_code.h"
#include "unit/symbolizer_fixture.h"
#include "unit/test.h"

#define NO_PID 2000000000

/* Files of make_code() are linked at address 0: addresses equal offsets. */
static void check_is_noted(const struct fixture *fixture, uint32_t module)
{
	const struct module_code *code = profile_code(fixture->profile, module);
	struct made_code real;

	open_code(&real, "code", "");
	CHECK(code != NULL && !code->is_gone);
	CHECK_EQ(code->build_id_bytes, real.image.build_id_bytes);
	CHECK(!memcmp(code->build_id, real.image.build_id, code->build_id_bytes));
	CHECK_EQ(code->nr_segments, 1);
	CHECK_EQ(code->segments[0].offset, real.image.segments[0].offset);
	CHECK_EQ(code->segments[0].vaddr, real.image.segments[0].vaddr);
	CHECK_EQ(code->segments[0].bytes, real.image.segments[0].bytes);
	close_code(&real);
}

/* Adds a debug file for the code below the folder "named". */
static void plant_debug_file(void)
{
	struct made_code code;
	char command[256];
	const char *id;

	open_code(&code, "code", "");
	id = build_id_of(&code);
	(void)snprintf(
		command, sizeof(command),
		"mkdir -p named/.build-id/%.2s && mv code.debug named/.build-id/%.2s/%s.debug", id,
		id, id + 2);
	CHECK(run_in_folder(command));
	close_code(&code);
}

static void look_in(struct fixture *fixture, const char *const *place)
{
	fixture->options.places = (struct debug_places){place, 1};
}

/* --- running programs ------------------------------------------------------------------------ */

TEST(symbolizer_leaves_files)
{
	struct fake_kernel kernel = {0};
	struct fixture fixture;
	uint32_t module, frame, in_kernel;

	make_code("sha1");
	open_fixture(&fixture, 10);
	fixture.options.leave_files = true;
	fixture.options.inlined = fixture.options.lines = true;
	fixture.options.kernel = fake_source(&kernel);
	module = add_file(&fixture, in_folder("code"));
	frame = add_frame(&fixture, module, address_in_code("hidden"));
	in_kernel = add_frame(&fixture, MODULE_NR_KERNEL, 0x20);
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, frame), "");
	CHECK_EQ(profile_frame(fixture.profile, frame)->nr_lines, 0);
	check_is_noted(&fixture, module);
	CHECK_STR(name_of(&fixture, in_kernel), "kernel_20"); /* only the kernel can */
	close_fixture(&fixture);
	leave_folder();
}

TEST(symbolizer_notes_what_is_gone)
{
	struct file_id id = {250, 7, 1, 0};
	const struct module_code *code;
	struct fixture fixture;
	uint32_t module, frame;
	int64_t file;

	open_fixture(&fixture, 10);
	file = add_file_here(fixture.files, &id, "/gone/program", NO_PID, 0, 0);
	CHECK(file >= 0);
	module = add_module(&fixture, MODULE_FILE, (uint32_t)file, "/gone/program");
	frame = add_frame(&fixture, module, 0x1000);
	CHECK(profile_code(fixture.profile, module) == NULL);
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, frame), "");
	CHECK_EQ(fixture.result.nr_files_failed, 1);
	code = profile_code(fixture.profile, module);
	CHECK(code && code->is_gone && !code->build_id_bytes && !code->nr_segments);
	close_fixture(&fixture);
}

/* Frames are added between two calls, after the table closed the file to stay within its limit. */
TEST(symbolizer_names_what_came_later)
{
	struct fixture fixture;
	uint32_t module, first, second;

	make_code("sha1");
	open_fixture(&fixture, 1);
	module = add_file(&fixture, in_folder("code"));
	first = add_frame(&fixture, module, address_in_code("hidden"));
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, first), "hidden");
	(void)add_frame(&fixture, add_file(&fixture, in_folder("stripped")), 1ULL << 50);
	CHECK_EQ(file_table_get(fixture.files, 0)->state, FILE_CLOSED);
	second = add_frame(&fixture, module, address_in_code("shown"));
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, first), "hidden");
	CHECK_STR(name_of(&fixture, second), "shown");
	CHECK_EQ(fixture.result.nr_named, 2);
	CHECK_EQ(fixture.result.nr_unnamed, 1);
	CHECK_EQ(fixture.result.nr_files_failed, 0);
	close_fixture(&fixture);
	leave_folder();
}

/* The build id noted while the file existed is kept and finds the debug file. */
TEST(symbolizer_of_a_file_that_goes)
{
	const char *named;
	struct fixture fixture;
	uint32_t module, first, second;

	make_code("sha1");
	named = in_folder("named");
	open_fixture(&fixture, 1);
	look_in(&fixture, &named);
	module = add_file(&fixture, in_folder("stripped"));
	first = add_frame(&fixture, module, address_in_code("shown"));
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, first), "shown");
	(void)add_file(&fixture, "/proc/self/exe");
	CHECK_EQ(file_table_get(fixture.files, 0)->state, FILE_CLOSED);
	CHECK_EQ(unlink(in_folder("stripped")), 0);
	plant_debug_file();
	second = add_frame(&fixture, module, address_in_code("hidden"));
	name_all(&fixture);
	check_is_noted(&fixture, module);
	CHECK_STR(name_of(&fixture, second), "hidden");
	close_fixture(&fixture);
	leave_folder();
}

/* --- recorded on other machines -------------------------------------------------------------- */

/* Adds a frame of hidden(), recorded from a file at `path` with the code's build id. */
static uint32_t add_recorded(struct fixture *fixture, const char *path)
{
	uint32_t module = add_module(fixture, MODULE_FILE, 0, path);
	struct module_code noted = {.nr_segments = 1};
	struct made_code code;

	open_code(&code, "code", path);
	noted.build_id_bytes = (uint8_t)code.image.build_id_bytes;
	memcpy(noted.build_id, code.image.build_id, noted.build_id_bytes);
	noted.segments[0] =
		(struct module_segment){code.image.segments[0].offset, code.image.segments[0].vaddr,
					code.image.segments[0].bytes};
	close_code(&code);
	CHECK_EQ(profile_set_code(fixture->profile, module, &noted), 0);
	fixture->options.files = NULL;
	fixture->options.runtimes = NULL;
	return add_frame(fixture, module, address_in_code("hidden"));
}

TEST(symbolizer_finds_the_file_at_its_path)
{
	struct fixture fixture;
	uint32_t frame;

	make_code("sha1");
	open_fixture(&fixture, 1);
	frame = add_recorded(&fixture, in_folder("code"));
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, frame), "hidden");
	check_is_noted(&fixture, profile_frame(fixture.profile, frame)->module);
	close_fixture(&fixture);
	leave_folder();
}

TEST(symbolizer_takes_no_other_file_at_that_path)
{
	struct fixture fixture;
	uint32_t frame, fifo;

	make_code("sha1");
	open_fixture(&fixture, 1);
	frame = add_recorded(&fixture, in_folder("code"));
	fifo = add_recorded(&fixture, in_folder("fifo"));
	CHECK(run_in_folder("cc -shared -fPIC -Wl,--build-id=0x$(printf %040d 7) -o code code.c"));
	CHECK_EQ(mkfifo(in_folder("fifo"), 0600), 0);
	(void)alarm(20);
	name_all(&fixture);
	(void)alarm(0);
	CHECK_STR(name_of(&fixture, frame), "");
	CHECK_STR(name_of(&fixture, fifo), "");
	CHECK_EQ(fixture.result.nr_files_failed, 2);
	close_fixture(&fixture);
	leave_folder();
}

TEST(symbolizer_finds_the_debug_file_alone)
{
	const char *named;
	struct fixture fixture;
	uint32_t frame, unknown;

	need_pidfd();
	make_code("sha1");
	named = in_folder("named");
	open_fixture(&fixture, 1);
	look_in(&fixture, &named);
	fixture.options.lines = true;
	frame = add_recorded(&fixture, "/nowhere/code");
	unknown = add_frame(&fixture, add_module(&fixture, MODULE_FILE, 1, "/nowhere/else"), 1);
	plant_debug_file();
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, frame), "hidden");
	CHECK_EQ(profile_frame(fixture.profile, frame)->nr_lines, 1);
	CHECK_STR(name_of(&fixture, unknown), "");
	check_is_noted(&fixture, profile_frame(fixture.profile, frame)->module);
	close_fixture(&fixture);
	leave_folder();
}

/* Functions of a stripped file are named by their starts until a source has their names. */
TEST(symbolizer_names_by_the_start)
{
	const char *named;
	struct fixture fixture;
	uint32_t frame, plt;
	uint64_t hidden;
	char expected[64];

	make_code("sha1");
	named = in_folder("named");
	hidden = address_in_code("hidden");
	open_fixture(&fixture, 10);
	frame = add_frame(&fixture, add_file(&fixture, in_folder("stripped")), hidden + 2);
	plt = add_frame(&fixture, add_file(&fixture, in_folder("stripped")), 0);
	name_all(&fixture);
	(void)snprintf(expected, sizeof(expected), "stripped+0x%lx", (long)hidden);
	CHECK_STR(name_of(&fixture, frame), expected);
	CHECK_STR(name_of(&fixture, plt), "");
	CHECK_EQ(fixture.result.nr_named, 0);
	CHECK_EQ(fixture.result.nr_unnamed, 2);
	symbolizer_free(fixture.symbolizer);
	fixture.symbolizer = NULL;
	fixture.options.files = NULL;
	look_in(&fixture, &named);
	plant_debug_file();
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, frame), "hidden");
	CHECK_EQ(fixture.result.nr_named, 1);
	close_fixture(&fixture);
	leave_folder();
}

/* DWARF has a name that is in no symbol table. */
TEST(symbolizer_prefers_names_of_lines)
{
	struct fixture fixture;
	uint32_t frame;

	make_code("sha1");
	CHECK(run_in_folder("objcopy --strip-symbol=hidden code nosymbol"));
	open_fixture(&fixture, 10);
	fixture.options.lines = true;
	frame = add_frame(&fixture, add_file(&fixture, in_folder("nosymbol")),
			  address_in_code("hidden") + 2);
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, frame), "hidden");
	CHECK_EQ(profile_frame(fixture.profile, frame)->nr_lines, 1);
	close_fixture(&fixture);
	leave_folder();
}

/* For a function with internal linkage, DWARF has no mangled name. */
TEST(symbolizer_simplifies_names_of_lines)
{
	struct fixture fixture;
	uint32_t module, frame, nr_inlined = 0;
	uint64_t outer = 0, offset;
	FILE *file;

	need_openat2();
	enter_folder();
	make_file(
		in_folder("code.cc"),
		"template <class T, int N> static inline __attribute__((always_inline)) T\n"
		"sum(T a) { volatile T x = a; for (int i = 0; i < N; i++) x = x + i; return x; }\n"
		"extern \"C\" long outer(long a) { return sum<long, 50>(a); }\n");
	if (!run_in_folder("c++ -g -O1 -shared -fPIC -o code code.cc")) {
		leave_folder();
		SKIP("needs c++");
	}
	CHECK(run_in_folder("nm code | sed -n 's/ T outer$//p' >address"));
	file = fopen(in_folder("address"), "r");
	CHECK(file && fscanf(file, "%lx", &outer) == 1);
	CHECK_EQ(fclose(file), 0);
	open_fixture(&fixture, 10);
	fixture.options.inlined = true;
	fixture.options.demangle.mode = DEMANGLE_SIMPLE;
	module = add_file(&fixture, in_folder("code"));
	frame = add_frame(&fixture, module, outer);
	for (offset = 1; offset < 24; offset++)
		(void)add_frame(&fixture, module, outer + offset);
	name_all(&fixture);
	for (; frame < profile_nr_frames(fixture.profile); frame++) {
		const struct frame *named = profile_frame(fixture.profile, frame);
		const struct code_line *lines = profile_lines(fixture.profile, named);

		if (named->nr_lines != 2)
			continue;
		nr_inlined++;
		CHECK_STR(profile_string(fixture.profile, lines[0].function), "sum");
		CHECK_STR(profile_string(fixture.profile, lines[1].function), "outer");
	}
	CHECK(nr_inlined > 0);
	close_fixture(&fixture);
	leave_folder();
}

TEST(symbolizer_leaves_starts_out)
{
	struct fixture fixture;
	uint32_t frame;

	make_code("sha1");
	open_fixture(&fixture, 10);
	fixture.options.no_starts = true;
	frame = add_frame(&fixture, add_file(&fixture, in_folder("stripped")),
			  address_in_code("hidden") + 2);
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, frame), "");
	close_fixture(&fixture);
	leave_folder();
}

/* --- JIT-compiled code ----------------------------------------------------------------------- */

/* The map of this process; it is removed after the test. */
static char map_path[64];

static void write_map(const char *text)
{
	(void)snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	make_file(map_path, text);
}

/* Adds a module of JIT-compiled code; only this process has a map. */
static uint32_t add_run_time(struct fixture *fixture, int32_t pid)
{
	int64_t number = add_runtime_here(fixture->runtimes, pid, 0, 0, NULL, fixture->files);

	CHECK(number >= 0);
	return add_module(fixture, MODULE_RUN_TIME, (uint32_t)number + 1, "//anon");
}

TEST(symbolizer_names_code_made_at_run_time)
{
	struct fixture fixture;
	uint32_t module, first, second, other;

	need_openat2();
	open_fixture(&fixture, 10);
	module = add_run_time(&fixture, getpid());
	first = add_frame(&fixture, module, 0x1008);
	second = add_frame(&fixture, module, 0x2008);
	other = add_frame(&fixture, add_run_time(&fixture, NO_PID), 0x1008);
	write_map("1000 10 first\n");
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, first), "first");
	CHECK_STR(name_of(&fixture, second), "");
	CHECK_STR(name_of(&fixture, other), ""); /* another process at the same address */
	CHECK_EQ(fixture.result.nr_named, 1);

	write_map("1000 10 first\n2000 10 second\n"); /* has grown */
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, first), "first");
	CHECK_STR(name_of(&fixture, second), "second");

	CHECK_EQ(unlink(map_path), 0);
	write_map("1000 10 replaced\n");
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, first), "replaced");
	CHECK_EQ(fixture.result.nr_named, 2);
	CHECK_EQ(fixture.result.nr_unnamed, 1);
	CHECK_EQ(unlink(map_path), 0);
	close_fixture(&fixture);
}

TEST(symbolizer_styles_names_of_run_time_code)
{
	struct fixture fixture;
	uint32_t module, script, native;

	need_openat2();
	open_fixture(&fixture, 10);
	fixture.options.run_time.cut_tiers = true;
	fixture.options.demangle.mode = DEMANGLE_SIMPLE;
	module = add_run_time(&fixture, getpid());
	script = add_frame(&fixture, module, 0x1000);
	native = add_frame(&fixture, module, 0x2000);
	write_map("1000 10 LazyCompile:*run /srv/app.js:12:3\n2000 10 _ZN5stook4testEi\n");
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, script), "run /srv/app.js:12:3");
	CHECK_STR(name_of(&fixture, native), "stook::test");
	CHECK_EQ(unlink(map_path), 0);
	close_fixture(&fixture);
}

/* --- out of memory --------------------------------------------------------------------------- */

TEST(symbolizer_places_out_of_memory)
{
	char folder_of_debug_files[64];
	const char *const named = folder_of_debug_files;
	bool failed = true;
	uint64_t hidden;
	size_t nth;

	need_pidfd();
	make_code("sha1");
	(void)snprintf(folder_of_debug_files, sizeof(folder_of_debug_files), "%s",
		       in_folder("named"));
	hidden = address_in_code("hidden");
	plant_debug_file();
	write_map("1000 10 first\n");
	for (nth = 1; failed; nth++) {
		struct fixture fixture;
		uint32_t in_stripped, in_memory;

		open_fixture(&fixture, 10);
		fixture.options.places = (struct debug_places){&named, 1};
		fixture.options.lines = true;
		in_stripped =
			add_frame(&fixture, add_file(&fixture, in_folder("stripped")), hidden);
		in_memory = add_frame(&fixture, add_run_time(&fixture, getpid()), 0x1000);
		failed = name_with_failure(&fixture, nth);
		CHECK_STR(name_of(&fixture, in_stripped), "hidden");
		/*
		 * After a failure in the child the file has no lines, since no second child is
		 * started for it.
		 */
		CHECK(profile_frame(fixture.profile, in_stripped)->nr_lines == 1 ||
		      fixture.result.lines_error.code == -E2BIG);
		CHECK_STR(name_of(&fixture, in_memory), "first");
		close_fixture(&fixture);
	}
	CHECK(nth > 10);
	CHECK_EQ(unlink(map_path), 0);
	leave_folder();
}
