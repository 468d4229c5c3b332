/*
 * sym/symbolizer: frames of this test program, its libc, the vdso, and a fake kernel. Names from
 * debug files elsewhere, and names that processes give to JIT-compiled code, are tested in
 * test_symbolizer_places.c.
 */
#include "sym/symbolizer.h"

#include <dlfcn.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "elf/dwarf/debug_info.h"
#include "sym/naming.h"
#include "unit/symbolizer_fixture.h"
#include "unit/test.h"

/* A function with a mangled C++ name. */
int mangled_function(int number) __asm__("_ZN5stook4testEi");
__attribute__((noinline)) int mangled_function(int number)
{
	return number * 3;
}

/* --- code with names ------------------------------------------------------------------------- */

TEST(symbolizer_names_files)
{
	struct place own = place_of(mangled_function), libc = place_of(lfind);
	struct fixture fixture;
	uint32_t own_module, libc_module, frames[4];

	open_fixture(&fixture, 10);
	own_module = libc_module = add_file(&fixture, own.path);
	if (strcmp(libc.path, own.path) != 0)
		libc_module = add_file(&fixture, libc.path);
	frames[0] = add_frame(&fixture, own_module, own.offset);
	frames[1] = add_frame(&fixture, libc_module, libc.offset + 1);
	frames[2] = add_frame(&fixture, own_module, own.offset + 1);
	frames[3] = add_frame(&fixture, own_module, 1ULL << 60);
	CHECK_EQ(mangled_function(2), 6);
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, frames[0]), "stook::test(int)");
	CHECK_STR(name_of(&fixture, frames[1]), "lfind");
	CHECK_STR(name_of(&fixture, frames[2]), "stook::test(int)");
	CHECK_EQ(profile_frame(fixture.profile, frames[3])->function, 0);
	CHECK_EQ(profile_frame(fixture.profile, frames[0])->nr_lines, 0);
	CHECK_EQ(fixture.result.nr_named, 3);
	CHECK_EQ(fixture.result.nr_unnamed, 1);
	CHECK_EQ(fixture.result.nr_files_failed, 0);
	CHECK_EQ(fixture.result.kernel_error.code, 0);
	CHECK(fixture.result.debuginfod_trouble == NULL);
	close_fixture(&fixture);
	symbolizer_free(NULL);
}

/* More frames than a question has. The address of the last is the highest, and a file that is gone counts once. */
TEST(symbolizer_names_many_frames)
{
	const struct file_id id = {250, 7, 1, 0};
	struct place own = place_of(mangled_function);
	struct fixture fixture;
	uint32_t module, gone, frame;
	int64_t file;
	uint64_t i;

	open_fixture(&fixture, 10);
	file = add_file_here(fixture.files, &id, "/gone/program", 2000000000, 0, 0);
	CHECK(file >= 0);
	gone = add_module(&fixture, MODULE_FILE, (uint32_t)file, "/gone/program");
	module = add_file(&fixture, own.path);
	frame = add_frame(&fixture, module, own.offset);
	for (i = 1; i <= 20000; i++) {
		(void)add_frame(&fixture, module, own.offset - i);
		(void)add_frame(&fixture, gone, i);
	}
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, frame), "stook::test(int)");
	CHECK_EQ(fixture.result.nr_files_failed, 1);
	close_fixture(&fixture);
}

TEST(symbolizer_leaves_the_nameless)
{
	struct fixture fixture;

	open_fixture(&fixture, 10);
	(void)add_frame(&fixture, MODULE_NR_UNKNOWN, 0x1000);
	(void)add_frame(&fixture, MODULE_NR_KERNEL, 0x1000);
	(void)add_frame(&fixture, add_module(&fixture, MODULE_RUN_TIME, 0, "//anon"), 0x1000);
	(void)add_frame(&fixture, add_file(&fixture, "/"), 0x1000);
	(void)add_frame(&fixture, add_file(&fixture, "/etc/passwd"), 1);
	name_all(&fixture);
	CHECK_EQ(fixture.result.nr_named, 0);
	CHECK_EQ(fixture.result.nr_unnamed, 5);
	CHECK_EQ(fixture.result.nr_files_failed, 2);
	CHECK_EQ(fixture.result.kernel_error.code, 0);
	close_fixture(&fixture);
}

TEST(symbolizer_of_an_empty_profile)
{
	struct fixture fixture;

	open_fixture(&fixture, 10);
	name_all(&fixture);
	CHECK_EQ(fixture.result.nr_named, 0);
	CHECK_EQ(fixture.result.nr_unnamed, 0);
	close_fixture(&fixture);
}

static char *vdso_function(void)
{
	void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	char *function = vdso ? dlvsym(vdso, "__vdso_clock_gettime", "LINUX_2.6") : NULL;

	if (!function)
		SKIP("needs a vdso with __vdso_clock_gettime");
	return function;
}

TEST(symbolizer_names_the_vdso)
{
	char *function = vdso_function();
	struct fixture fixture;
	const struct module_code *code;
	uint32_t module, frame, none;

	open_fixture(&fixture, 10);
	module = add_module(&fixture, MODULE_VDSO, 0, "[vdso]");
	frame = add_frame(&fixture, module,
			  (uint64_t)(uintptr_t)function + 1 - getauxval(AT_SYSINFO_EHDR));
	none = add_frame(&fixture, module, 1ULL << 40);
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, frame), "__vdso_clock_gettime");
	CHECK_EQ(profile_frame(fixture.profile, none)->function, 0);
	CHECK_EQ(fixture.result.nr_files_failed, 0);
	code = profile_code(fixture.profile, module);
	CHECK(code && code->build_id_bytes && code->nr_segments);
	CHECK(!code->is_gone);
	close_fixture(&fixture);
}

/* Checks one way to show a name. */
static void check_style(struct demangle_style style, const char *expected)
{
	struct place own = place_of(mangled_function);
	struct fixture fixture;
	uint32_t frame;

	open_fixture(&fixture, 10);
	fixture.options.demangle = style;
	frame = add_frame(&fixture, add_file(&fixture, own.path), own.offset);
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, frame), expected);
	close_fixture(&fixture);
}

TEST(symbolizer_demangles_as_it_is_told)
{
	check_style((struct demangle_style){.mode = DEMANGLE_FULL}, "stook::test(int)");
	check_style((struct demangle_style){.mode = DEMANGLE_SIMPLE}, "stook::test");
	check_style((struct demangle_style){.mode = DEMANGLE_NO}, "_ZN5stook4testEi");
}

/* --- the kernel ------------------------------------------------------------------------------ */

TEST(symbolizer_asks_the_kernel_once)
{
	struct fake_kernel kernel = {0};
	struct fixture fixture;
	uint32_t frames[3];

	open_fixture(&fixture, 10);
	fixture.options.kernel = fake_source(&kernel);
	frames[0] = add_frame(&fixture, MODULE_NR_KERNEL, 0x20);
	frames[1] = add_frame(&fixture, MODULE_NR_KERNEL, 0x11);
	name_all(&fixture);
	name_all(&fixture);
	CHECK_EQ(kernel.nr_calls, 1);
	CHECK_EQ(kernel.nr_addresses, 2);
	frames[2] = add_frame(&fixture, MODULE_NR_KERNEL, 0x10);
	name_all(&fixture);
	CHECK_EQ(kernel.nr_calls, 2);
	CHECK_EQ(kernel.nr_addresses, 3);
	CHECK_STR(name_of(&fixture, frames[0]), "kernel_20");
	CHECK_STR(name_of(&fixture, frames[1]), "");
	CHECK_STR(name_of(&fixture, frames[2]), "kernel_10");
	CHECK_EQ(fixture.result.nr_named, 2);
	CHECK_EQ(fixture.result.nr_unnamed, 1);
	close_fixture(&fixture);
}

TEST(symbolizer_falls_back)
{
	struct fake_kernel refusing = {.answer = -EPERM}, answering = {0};
	struct fixture fixture;
	uint32_t frame;

	open_fixture(&fixture, 10);
	fixture.options.kernel = fake_source(&refusing);
	fixture.options.kernel_fallback = fake_source(&answering);
	frame = add_frame(&fixture, MODULE_NR_KERNEL, 0x20);
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, frame), "kernel_20");
	CHECK_EQ(fixture.result.kernel_error.code, 0);

	answering.answer = -EACCES;
	(void)add_frame(&fixture, MODULE_NR_KERNEL, 0x40);
	name_all(&fixture);
	CHECK_EQ(fixture.result.kernel_error.code, -EACCES);
	CHECK_STR(fixture.result.kernel_error.text, "the fake kernel refuses");
	CHECK_EQ(fixture.result.nr_named, 1);
	CHECK_EQ(fixture.result.nr_unnamed, 1);
	CHECK_EQ(refusing.nr_calls, 2);

	answering.answer = 0; /* unnamed addresses stay unnamed, and the first error is kept */
	(void)add_frame(&fixture, MODULE_NR_KERNEL, 0x60);
	name_all(&fixture);
	CHECK_EQ(fixture.result.kernel_error.code, -EACCES);
	CHECK_EQ(fixture.result.nr_named, 2);
	close_fixture(&fixture);
}

/* --- inlined calls and lines ----------------------------------------------------------------- */

static const void *return_address;
static volatile int one = 1; /* unknown to the compiler, which would clone for constants */

__attribute__((noinline)) static int note_return_address(int number)
{
	return_address = __builtin_return_address(0);
	return number + 1;
}

enum { INNER_LINE = __LINE__ + 4, OUTER_LINE = __LINE__ + 9 };

static inline __attribute__((always_inline)) int inner_function(int number)
{
	return note_return_address(number) * 2;
}

__attribute__((noinline)) static int outer_function(int number)
{
	return inner_function(number) + 3;
}

/* Adds a frame for a call in inner_function(), which is inlined into outer_function(). */
static uint32_t add_inlined_frame(struct fixture *fixture)
{
	struct place place;
	int fd;

	CHECK_EQ(outer_function(one), 7);
	place = place_of(return_address);
	fd = open(place.path, O_RDONLY | O_CLOEXEC);
	if (!debug_info_exists(fd))
		SKIP("needs to be compiled with -g");
	(void)close(fd);
	return add_frame(fixture, add_file(fixture, place.path), place.offset - 1);
}

static void check_line(const struct fixture *fixture, const struct code_line *line,
		       const char *function, uint32_t number)
{
	const char *file = profile_string(fixture->profile, line->file);
	const char *slash = strrchr(file, '/');

	CHECK_STR(profile_string(fixture->profile, line->function), function);
	CHECK_STR(slash ? slash + 1 : file, number ? "test_symbolizer.c" : "");
	CHECK_EQ(line->line, number);
}

static void check_both(const struct fixture *fixture, uint32_t number)
{
	const struct frame *frame = profile_frame(fixture->profile, number);
	const struct code_line *lines = profile_lines(fixture->profile, frame);

	CHECK_STR(name_of(fixture, number), "outer_function");
	CHECK_EQ(frame->nr_lines, 2);
	check_line(fixture, &lines[0], "inner_function", INNER_LINE);
	check_line(fixture, &lines[1], "outer_function", OUTER_LINE);
}

TEST(symbolizer_adds_inlined_calls_and_lines)
{
	struct fixture fixture;
	uint32_t frame;

	need_pidfd();
	open_fixture(&fixture, 10);
	fixture.options.inlined = fixture.options.lines = true;
	frame = add_inlined_frame(&fixture);
	name_all(&fixture);
	check_both(&fixture, frame);
	CHECK_EQ(fixture.result.lines_error.code, 0);
	CHECK_EQ(fixture.result.nr_split_lost, 0);
	name_all(&fixture);
	check_both(&fixture, frame);
	close_fixture(&fixture);
}

TEST(symbolizer_has_no_time_for_lines)
{
	struct fixture fixture;
	uint32_t frame;

	need_pidfd();
	open_fixture(&fixture, 10);
	fixture.options.inlined = fixture.options.lines = true;
	frame = add_inlined_frame(&fixture);
	fixture.symbolizer = symbolizer_new(&fixture.options);
	CHECK(fixture.symbolizer != NULL);
	fixture.symbolizer->lines_ns = UINT64_MAX;
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, frame), "outer_function");
	CHECK_EQ(profile_frame(fixture.profile, frame)->nr_lines, 0);
	CHECK_EQ(fixture.result.lines_error.code, -ETIME);
	CHECK(strstr(fixture.result.lines_error.text, "60 seconds reached"));
	close_fixture(&fixture);
}

TEST(symbolizer_adds_what_was_asked_for)
{
	struct fixture fixture;
	const struct frame *frame;
	const struct code_line *lines;
	uint32_t number;

	need_pidfd();
	open_fixture(&fixture, 10);
	fixture.options.inlined = true;
	number = add_inlined_frame(&fixture);
	name_all(&fixture);
	frame = profile_frame(fixture.profile, number);
	lines = profile_lines(fixture.profile, frame);
	CHECK_EQ(frame->nr_lines, 2);
	check_line(&fixture, &lines[0], "inner_function", 0);
	check_line(&fixture, &lines[1], "outer_function", 0);
	close_fixture(&fixture);

	open_fixture(&fixture, 10);
	fixture.options.lines = true;
	number = add_inlined_frame(&fixture);
	name_all(&fixture);
	frame = profile_frame(fixture.profile, number);
	CHECK_EQ(frame->nr_lines, 1);
	CHECK_STR(name_of(&fixture, number), "outer_function");
	check_line(&fixture, profile_lines(fixture.profile, frame), "outer_function", OUTER_LINE);
	close_fixture(&fixture);
}

/* --- out of memory --------------------------------------------------------------------------- */

TEST(symbolizer_new_without_memory)
{
	struct symbolizer_options options = {.max_bytes = 1};
	struct symbolizer *symbolizer = NULL;
	size_t nth;

	for (nth = 1; !symbolizer; nth++) {
		(void)test_fail_allocation(nth);
		symbolizer = symbolizer_new(&options);
		(void)test_fail_allocation(0);
	}
	CHECK(nth > 3);
	symbolizer_free(symbolizer);
}

/* If only the demangler's own allocation fails, the name stays mangled. */
TEST(symbolizer_out_of_memory)
{
	struct place own = place_of(mangled_function);
	char *in_vdso = vdso_function();
	bool failed = true;
	size_t nth;

	for (nth = 1; failed; nth++) {
		struct fake_kernel kernel = {0};
		struct fixture fixture;
		uint32_t user, vdso, in_kernel, unknown;

		open_fixture(&fixture, 10);
		fixture.options.kernel = fake_source(&kernel);
		user = add_frame(&fixture, add_file(&fixture, own.path), own.offset);
		in_kernel = add_frame(&fixture, MODULE_NR_KERNEL, 0x20);
		vdso = add_frame(&fixture, add_module(&fixture, MODULE_VDSO, 0, "[vdso]"),
				 (uint64_t)(uintptr_t)in_vdso - getauxval(AT_SYSINFO_EHDR));
		unknown = add_frame(&fixture, add_file(&fixture, "/etc/passwd"), 1);
		failed = name_with_failure(&fixture, nth);
		CHECK(strstr(name_of(&fixture, user), "test"));
		CHECK_STR(name_of(&fixture, in_kernel), "kernel_20");
		CHECK_STR(name_of(&fixture, vdso), "__vdso_clock_gettime");
		CHECK_STR(name_of(&fixture, unknown), "");
		CHECK_EQ(fixture.result.nr_named, 3);
		CHECK_EQ(fixture.result.kernel_error.code, 0);
		close_fixture(&fixture);
	}
	CHECK(nth > 10);
}

/*
 * Frames named before memory ran out get their lines in the next call. If the check for DWARF
 * itself fails, the file counts as having none.
 */
TEST(symbolizer_lines_out_of_memory)
{
	bool failed = true;
	size_t nth, nr_without = 0;

	need_pidfd();
	for (nth = 1; failed; nth++) {
		struct fixture fixture;
		uint32_t frame;

		open_fixture(&fixture, 10);
		fixture.options.inlined = fixture.options.lines = true;
		frame = add_inlined_frame(&fixture);
		failed = name_with_failure(&fixture, nth);
		CHECK_STR(name_of(&fixture, frame), "outer_function");
		/* Failures in the child are reported, and only this file's lines are missing. */
		if (profile_frame(fixture.profile, frame)->nr_lines)
			check_both(&fixture, frame);
		else if (fixture.result.lines_error.code != -E2BIG)
			nr_without++;
		CHECK(fixture.result.lines_error.code == 0 ||
		      fixture.result.lines_error.code == -E2BIG);
		close_fixture(&fixture);
	}
	CHECK(nth > 10);
	CHECK(nr_without <= 1);
}

/* --- the budget ------------------------------------------------------------------------------ */

/* Frames left out for lack of budget are counted, and named when there is more. */
TEST(symbolizer_names_within_a_budget)
{
	struct place own = place_of(mangled_function);
	struct fixture fixture;
	struct read_budget budget;
	uint32_t frame;

	open_fixture(&fixture, 10);
	read_budget_init(&budget, 1000 * NS_PER_SEC, 1 << 27, -1);
	budget.left_bytes = 1 << 16; /* the symbols need more than half */
	fixture.options.budget = &budget;
	frame = add_frame(&fixture, add_file(&fixture, own.path), own.offset);
	name_all(&fixture);
	CHECK_EQ(profile_frame(fixture.profile, frame)->function, 0);
	CHECK_EQ(fixture.result.cuts.nr_by_bytes, 1);
	CHECK_EQ(fixture.result.cuts.nr_by_time, 0);
	CHECK_STR(fixture.result.cuts.first, own.path);
	CHECK_EQ(fixture.result.nr_tables_failed, 0);
	/* It may be named: it is not said to be stripped. */
	CHECK(profile_code(fixture.profile, 2)->is_unread);
	read_budget_refill(&budget, UINT64_MAX);
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, frame), "stook::test(int)");
	CHECK(!profile_code(fixture.profile, 2)->is_unread);
	CHECK_EQ(fixture.result.cuts.nr_by_bytes, 1);
	CHECK(budget.left_bytes < 1 << 27);
	close_fixture(&fixture);
}

/* No helper process could be started for a file: its names come with the next call, and nothing else is asked again. */
TEST(symbolizer_asks_again_when_nobody_could_answer)
{
	struct place own = place_of(mangled_function);
	struct rlimit before, none;
	struct fixture fixture;
	uint32_t frame;

	open_fixture(&fixture, 10);
	name_all(&fixture);
	frame = add_frame(&fixture, add_file(&fixture, own.path), own.offset);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	name_all(&fixture);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK_EQ(profile_frame(fixture.profile, frame)->function, 0);
	name_all(&fixture);
	CHECK_STR(name_of(&fixture, frame), "stook::test(int)");
	close_fixture(&fixture);
}

TEST(symbolizer_ends_when_the_user_wants_it)
{
	struct place own = place_of(mangled_function);
	struct fixture fixture;
	struct read_budget budget;
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(write(ends[1], "", 1), 1);
	open_fixture(&fixture, 10);
	read_budget_init(&budget, 1000 * NS_PER_SEC, 1 << 30, ends[0]);
	fixture.options.budget = &budget;
	(void)add_frame(&fixture, add_file(&fixture, own.path), own.offset);
	name_all(&fixture);
	CHECK_EQ(fixture.result.nr_unnamed, 1);
	CHECK(fixture.result.cuts.is_stopped);
	CHECK_EQ(fixture.result.cuts.nr_by_bytes + fixture.result.cuts.nr_by_time, 0);
	close_fixture(&fixture);
}
