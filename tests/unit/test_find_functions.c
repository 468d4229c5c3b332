/*
 * probe/find/find, functions of a file: a program of two sources with the difficult kinds of names.
 * It is built by the compiler, so its notes, clones and relocations are real.
 */
#include "probe/find/find.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "probe/find/user_file.h"
#include "proc/mappings.h"
#include "unit/find_fixture.h"
#include "unit/folder.h"
#include "unit/test.h"

/* In `pair` an instruction of two bytes begins at 0 and one of four at 2, on x86-64. */
#define SOURCE                                                                                    \
	"static __attribute__((noinline)) int twin(int n) { asm(\"\"); return n + 1; }\n"         \
	"static inline __attribute__((always_inline)) int copied(int n) { return n * 3; }\n"      \
	"int other(int); int cpp(int) asm(\"_ZN4geom4areaEi\");\n"                                \
	"__attribute__((noinline)) int first(int n) { asm(\"\"); return n * 2; }\n"               \
	"int second(int) __attribute__((alias(\"first\")));\n"                                    \
	"int __hidden(int) __attribute__((alias(\"first\")));\n"                                  \
	"__attribute__((noinline)) int cpp(int n) { asm(\"\"); return n; }\n"                     \
	"static void *choose(void) { return cpp; }\n"                                             \
	"int chosen(int) __attribute__((ifunc(\"choose\")));\n"                                   \
	"asm(\".pushsection .text; .type part.cold, @function; part.cold: ret; .size part.cold, " \
	"1;\""                                                                                    \
	"\".type pair, @function; pair: .byte 0x31,0xc0, 0x48,0x83,0xc0,0x01, 0xc3;\"\n"          \
	"\".size pair, 7; .popsection\");\n"                                                      \
	"int main(int argc, char **argv)\n"                                                       \
	"{ return twin(argc) + other(argc) + first(argc) + cpp(argc) + copied(argc); }\n"

#define OTHER                                                                             \
	"static __attribute__((noinline)) int twin(int n) { asm(\"\"); return n + 7; }\n" \
	"int other(int n) { return twin(n) * 3; }\n"

static const char *pattern(const char *name)
{
	static char texts[8][512];
	static unsigned next;
	char *text = texts[next++ % 8];

	(void)snprintf(text, sizeof(texts[0]), "%s/prog:%s", folder, name);
	return text;
}

static void make_program(void)
{
	need_openat2();
	enter_folder();
	make_file(in_folder("one.c"), SOURCE);
	make_file(in_folder("two.c"), OTHER);
	if (run_in_folder("cc -g -O1 -fcf-protection=none -o prog one.c two.c"))
		return;
	if (run_in_folder("cc -g -O1 -o prog one.c two.c"))
		return;
	leave_folder();
	SKIP("needs cc that knows ifunc");
}

TEST(find_functions_by_name)
{
	struct found found = {0};

	make_program();
	found_find(&found, pattern("main"), NULL, NULL);
	CHECK_STR(found_names(&found), "main");
	CHECK_EQ(found.list.probes[0].kind, PROBE_USER);
	CHECK_STR(found.list.files[0].path, in_folder("prog"));
	CHECK(found.list.probes[0].offset > 0);
	found_find(&found, pattern("(main|oth*)"), pattern("main"), NULL);
	CHECK_EQ(found.list.nr_probes, 2);
	found.options.is_regex = true;
	found_find(&found, pattern("mai[n]"), NULL, NULL);
	CHECK_STR(found_names(&found), "main");
	probe_list_clear(&found.list);
	leave_folder();
}

/* Returns how many mappings of a file our children have. */
static size_t mappings_of_children(const struct stat *st)
{
	char path[64], line[64];
	cleanup_file FILE *children = NULL;
	struct maps_entry entry;
	struct maps maps;
	size_t nr = 0;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	children = fopen(path, "re");
	if (!children)
		SKIP("needs CONFIG_PROC_CHILDREN");
	while (fscanf(children, "%63s", line) == 1) {
		CHECK_EQ(maps_open(&maps, (int32_t)strtol(line, NULL, 10)), 0);
		while (maps_next(&maps, &entry))
			nr += entry.id.inode == st->st_ino;
		maps_close(&maps);
	}
	return nr;
}

/* The kernel checks only instructions in files that somebody has mapped. */
TEST(find_functions_maps_their_code)
{
	struct found found = {0};
	struct stat st;

	if (geteuid() != 0)
		SKIP("needs root, to read the mappings of a parser");
	make_program();
	CHECK_EQ(stat(in_folder("prog"), &st), 0);
	found_find(&found, pattern("none"), NULL, NULL);
	CHECK_EQ(mappings_of_children(&st), 0);
	found_find(&found, pattern("main"), NULL, NULL);
	CHECK_EQ(mappings_of_children(&st), 1);
	CHECK(fcntl(found.list.files[0].handle, F_GETFL) & O_PATH);
	probe_list_clear(&found.list);
	leave_folder();
}

TEST(find_functions_aliases)
{
	struct found found = {0};

	make_program();
	found_find(&found, pattern("(first|second|__hidden)"), NULL, NULL);
	CHECK_STR(found_names(&found), "__hidden|first|second");
	found_find(&found, pattern("second"), NULL, NULL);
	CHECK_STR(found_names(&found), "second");
	found_find(&found, pattern("second"), pattern("first"), NULL);
	CHECK_STR(found_names(&found), "first|second");
	probe_list_clear(&found.list);
	leave_folder();
}

TEST(find_functions_returns)
{
	struct found found = {0};
	char text[512];

	make_program();
	(void)snprintf(text, sizeof(text), "r:%s", pattern("fir*"));
	found_find(&found, text, pattern("second"), NULL);
	CHECK_STR(found_names(&found), "second r:first");
	CHECK_EQ(found.list.probes[0].offset, found.list.probes[1].offset);
	probe_list_clear(&found.list);
	leave_folder();
}

TEST(find_functions_twins)
{
	struct found found = {0};

	make_program();
	found_find(&found, pattern("twin"), NULL, NULL);
	CHECK_STR(found_names(&found), "twin[one.c] twin[two.c]");
	CHECK(found.list.probes[0].offset < found.list.probes[1].offset);
	/* Without source file names, functions of one name are distinguished by address. */
	CHECK(run_in_folder("strip --strip-symbol=one.c --strip-symbol=two.c prog || "
			    "objcopy -N one.c -N two.c prog"));
	found_find(&found, pattern("twin"), NULL, NULL);
	CHECK_EQ(found.list.nr_probes, 2);
	CHECK(!strncmp(found.list.probes[0].detail, "+0x", 3));
	CHECK(strcmp(found.list.probes[0].detail, found.list.probes[1].detail) != 0);
	probe_list_clear(&found.list);
	leave_folder();
}

TEST(find_functions_in_two_files)
{
	struct found found = {0};
	char copy[512];

	make_program();
	CHECK(run_in_folder("cp prog copy"));
	(void)snprintf(copy, sizeof(copy), "%s/copy:(main|twin)", folder);
	found_find(&found, pattern("(main|twin)"), copy, NULL);
	CHECK_EQ(found.list.nr_files, 2);
	CHECK(strstr(found_names(&found), "main[prog]") != NULL);
	CHECK(strstr(found_names(&found), "main[copy]") != NULL);
	CHECK(strstr(found_names(&found), "twin[copy:two.c]") != NULL);
	probe_list_clear(&found.list);
	leave_folder();
}

TEST(find_functions_demangled)
{
	struct found found = {0};

	make_program();
	found_find(&found, pattern("geom::area"), NULL, NULL);
	CHECK_STR(found_names(&found), "geom::area(int)");
	found_find(&found, pattern("geom::area(int)"), NULL, NULL);
	CHECK_STR(found_names(&found), "geom::area(int)");
	found_find(&found, pattern("_ZN4geom*"), NULL, NULL);
	CHECK_STR(found_names(&found), "geom::area(int)");
	probe_list_clear(&found.list);
	leave_folder();
}

TEST(find_functions_left_out)
{
	struct found found = {0};
	char text[512];

	make_program();
	found_find(&found, pattern("(first|second|main|other)"), "!__*", "!mai*");
	CHECK(!strstr(found_names(&found), "main"));
	CHECK(strstr(found_names(&found), "first|second") != NULL);
	/* A pattern excludes names; a full name excludes the function with all of its names. */
	found_find(&found, pattern("(first|second)"), "!fir*", NULL);
	CHECK_STR(found_names(&found), "second");
	found_find(&found, pattern("(first|other)"), "!second", NULL);
	CHECK_STR(found_names(&found), "other");
	(void)snprintf(text, sizeof(text), "!%s", pattern("other"));
	found_find(&found, pattern("(first|other)"), text, NULL);
	CHECK_STR(found_names(&found), "first");
	(void)snprintf(text, sizeof(text), "!r:%s", pattern("other"));
	found_find(&found, pattern("other"), text, NULL);
	CHECK_STR(found_names(&found), "other");
	found_find(&found, pattern("other"), "!other", NULL);
	CHECK_EQ(found.err, -ENOENT);
	CHECK(strstr(found.error.text, "excluded") != NULL);
	found_find(&found, "!other", NULL, NULL);
	CHECK_EQ(found.err, -EINVAL);
	probe_list_clear(&found.list);
	leave_folder();
}

TEST(find_functions_refused)
{
	struct found found = {0};
	char text[512];

	make_program();
	found_find(&found, pattern("(part*|main)"), NULL, NULL);
	CHECK_STR(found_names(&found), "main");
	CHECK(strstr(found_refusal(&found, "part.cold"), "jumped to") != NULL);
	found_find(&found, pattern("(part*|main)"), "!*.cold", NULL);
	CHECK_STR(found_names(&found), "main");
	CHECK_EQ(found.list.nr_refusals, 0);
	found_find(&found, pattern("part.cold"), NULL, NULL);
	CHECK_STR(found_names(&found), "part.cold");
	found_find(&found, pattern("chosen"), NULL, NULL);
	CHECK_EQ(found.err, -EOPNOTSUPP);
	CHECK(strstr(found.error.hint, "IFUNC") != NULL);
	CHECK(strstr(found_refusal(&found, "chosen"), "IFUNC") != NULL);
	(void)snprintf(text, sizeof(text), "r:%s", pattern("(_start|main)"));
	found_find(&found, text, NULL, NULL);
	CHECK_STR(found_names(&found), "r:main");
	CHECK(strstr(found_refusal(&found, "_start"), "not called") != NULL);
	found_find(&found, pattern("_start"), NULL, NULL);
	CHECK_STR(found_names(&found), "_start");
	CHECK(run_in_folder("echo x >note && objcopy --add-section .gopclntab=note prog"));
	(void)snprintf(text, sizeof(text), "r:%s", pattern("main"));
	found_find(&found, text, pattern("main"), NULL);
	CHECK_STR(found_names(&found), "main");
	CHECK(found.list.probes[0].is_go);
	CHECK(strstr(found_refusal(&found, "main"), "Go") != NULL);
	found.options.force_returns = true;
	found_find(&found, text, NULL, NULL);
	CHECK_STR(found_names(&found), "r:main");
	make_program();
	CHECK(run_in_folder("objcopy --add-symbol DW.ref.__gxx_personality_v0=0 prog"));
	(void)snprintf(text, sizeof(text), "r:%s", pattern("main"));
	found.options.force_returns = false;
	found_find(&found, text, NULL, NULL);
	CHECK(strstr(found_refusal(&found, "main"), "exception") != NULL);
	found.options.force_returns = true;
	found_find(&found, text, NULL, NULL);
	CHECK_STR(found_names(&found), "r:main");
	CHECK(found.list.probes[0].unwinds);
	probe_list_clear(&found.list);
	leave_folder();
}

#ifdef __x86_64__
TEST(find_functions_instructions)
{
	struct found found = {0};
	uint64_t start;

	make_program();
	found_find(&found, pattern("pair"), NULL, NULL);
	CHECK_EQ(found.list.nr_probes, 1);
	start = found.list.probes[0].offset;
	found_find(&found, pattern("pair+0x2"), pattern("pair+6"), NULL);
	CHECK_STR(found_names(&found), "pair+0x2 pair+0x6");
	CHECK_EQ(found.list.probes[0].offset, start + 2);
	found_find(&found, pattern("pair+0"), NULL, NULL);
	CHECK_STR(found_names(&found), "pair");
	found_find(&found, pattern("pair+3"), pattern("main"), NULL);
	CHECK_STR(found_names(&found), "main");
	CHECK_STR(found_refusal(&found, "pair+0x3"),
		  "in the middle of an instruction; the next one begins at +0x6");
	found_find(&found, pattern("pair+7"), NULL, NULL);
	CHECK_EQ(found.err, -EOPNOTSUPP);
	CHECK_STR(found_refusal(&found, "pair+0x7"), "beyond the end of the function");
	probe_list_clear(&found.list);
	leave_folder();
}

TEST(find_functions_by_address)
{
	struct found found = {0};
	uint64_t vaddr = 0;
	FILE *file;
	char text[400], shown[64];

	make_program();
	CHECK(run_in_folder("nm prog | sed -n 's/ t pair$//p' >address"));
	file = fopen(in_folder("address"), "r");
	CHECK(file && fscanf(file, "%lx", &vaddr) == 1);
	CHECK_EQ(fclose(file), 0);
	(void)snprintf(text, sizeof(text), "0x%lx", vaddr);
	found_find(&found, pattern(text), NULL, NULL);
	CHECK_STR(found_names(&found), "pair");
	(void)snprintf(text, sizeof(text), "0x%lx", vaddr + 2);
	found_find(&found, pattern(text), pattern("pair+2"), NULL);
	CHECK_STR(found_names(&found), "pair+0x2");
	(void)snprintf(text, sizeof(text), "0x%lx", vaddr + 1);
	found_find(&found, pattern(text), NULL, NULL);
	CHECK_EQ(found.err, -EOPNOTSUPP);
	/* Without any names, .eh_frame has the functions' starts. */
	CHECK(run_in_folder("nm prog | sed -n 's/ t twin$//p' | head -1 >address && strip prog"));
	file = fopen(in_folder("address"), "r");
	CHECK(file && fscanf(file, "%lx", &vaddr) == 1);
	CHECK_EQ(fclose(file), 0);
	(void)snprintf(text, sizeof(text), "0x%lx", vaddr);
	(void)snprintf(shown, sizeof(shown), "prog+0x%lx", vaddr);
	found_find(&found, pattern(text), NULL, NULL);
	CHECK_STR(found_names(&found), shown);
	CHECK(found.list.probes[0].is_entry);
	(void)snprintf(text, sizeof(text), "%s+0x%lx", in_folder("prog"), vaddr);
	found_find(&found, text, NULL, NULL);
	CHECK_STR(found_names(&found), shown);
	(void)snprintf(text, sizeof(text), "r:%s+0x%lx", in_folder("prog"), vaddr);
	found_find(&found, text, NULL, NULL);
	CHECK_EQ(found.list.nr_probes, 1);
	CHECK(found.list.probes[0].is_return && !found.list.probes[0].is_entry);
	found_find(&found, pattern("0x10"), NULL, NULL);
	CHECK_EQ(found.err, -EOPNOTSUPP);
	CHECK_STR(found_refusal(&found, "0x10"), "no code at this address");
	probe_list_clear(&found.list);
	leave_folder();
}
#endif

TEST(find_functions_stripped)
{
	const char *debug = NULL;
	struct found found = {0};
	char id[128] = "", command[512];
	FILE *file;

	make_program();
	CHECK(run_in_folder("readelf -n prog | sed -n 's/.*Build ID: //p' >id && "
			    "objcopy --only-keep-debug prog prog.debug && strip prog"));
	file = fopen(in_folder("id"), "r");
	if (!file || !fgets(id, sizeof(id), file))
		id[0] = '\0';
	id[strcspn(id, "\n")] = '\0';
	if (file)
		CHECK_EQ(fclose(file), 0);
	found_find(&found, pattern("twin"), NULL, NULL);
	CHECK_EQ(found.err, -ENOENT);
	CHECK(strstr(found.error.hint, "stripped") != NULL);
	if (!id[0]) {
		leave_folder();
		SKIP("the compiler writes no build ids");
	}
	(void)snprintf(
		command, sizeof(command),
		"mkdir -p named/.build-id/%.2s && cp prog.debug named/.build-id/%.2s/%s.debug", id,
		id, id + 2);
	CHECK(run_in_folder(command));
	debug = in_folder("named");
	found.options.debug_folders = &debug;
	found.options.nr_debug_folders = 1;
	found_find(&found, pattern("twin"), NULL, NULL);
	CHECK_STR(found_names(&found), "twin[one.c] twin[two.c]");
	probe_list_clear(&found.list);
	leave_folder();
}

TEST(find_functions_nothing)
{
	struct found found = {0};

	make_program();
	found_find(&found, pattern("frist"), NULL, NULL);
	CHECK_EQ(found.err, -ENOENT);
	CHECK(strstr(found.error.text, "no function in") != NULL);
	CHECK(strstr(found.error.hint, "'first'") != NULL);
	found_find(&found, pattern("copied"), NULL, NULL);
	CHECK_EQ(found.err, -ENOENT);
	CHECK(strstr(found.error.hint, "inlined") != NULL);
	/* If another pattern matches, the failure is reported as a refusal. */
	found_find(&found, pattern("frist"), pattern("main"), NULL);
	CHECK_STR(found_names(&found), "main");
	CHECK(strstr(found_refusal(&found, pattern("frist")), "no function in") != NULL);
	found.options.max_probes = 1;
	found_find(&found, pattern("(main|twin)"), NULL, NULL);
	CHECK_EQ(found.err, -E2BIG);
	CHECK(strstr(found.error.text, "3 places") != NULL);
	CHECK(strstr(found.error.hint, "--max-probes 3") != NULL);
	probe_list_clear(&found.list);
	leave_folder();
}

TEST(find_functions_chosen_by_ifunc)
{
	struct found found = {0};

	need_openat2();
	found_find(&found, "c:strlen", NULL, NULL);
	if (found.err < 0)
		SKIP("needs a C library that is shared, and chooses by IFUNC");
	CHECK_EQ(found.list.nr_probes, 1);
	CHECK_STR(found.list.probes[0].name, "strlen");
	probe_list_clear(&found.list);
}

TEST(find_functions_without_memory)
{
	struct found found = {0};
	size_t nth;

	make_program();
	found.options.worker = found_worker();
	found.options.patterns = found.patterns;
	found.options.nr_patterns = 2;
	found.patterns[0] = pattern("(first|second|twin|geom*|part*|chosen)");
	found.patterns[1] = "!second*";
	for (nth = 1; nth < 1000; nth++) {
		probe_list_clear(&found.list);
		(void)test_fail_allocation(nth);
		found.err = target_find(&found.options, &found.list, &found.error);
		if (test_fail_allocation(0) < nth)
			break;
	}
	CHECK(nth > 20 && nth < 1000);
	CHECK_EQ(found.err, 0);
	CHECK_STR(found_names(&found), "twin[one.c] geom::area(int) first twin[two.c]");
	probe_list_clear(&found.list);
	leave_folder();
}

/* --- returns ----------------------------------------------------------------------------------- */

/* Functions whose returns must not be probed are refused by their whole name only. */
TEST(returns_that_would_break)
{
	CHECK(no_return_why("_start") != NULL);
	CHECK(no_return_why("__sigsetjmp") != NULL);
	CHECK(no_return_why("dlsym") != NULL);
	CHECK(!no_return_why("longjmp"));
	CHECK(!no_return_why("setjmp_count"));
	CHECK(!no_return_why(""));
}

/* Makes a program `both` and a library libboth.so, in a separate root. */
static void make_both(void)
{
	need_openat2();
	enter_folder();
	make_file(in_folder("prog.c"), "void drive(void) {} int main(void) { return 0; }\n");
	make_file(in_folder("lib.c"), "void drive(void) {} void both_new(void) {}\n");
	if (run_in_folder("mkdir -p bin usr/lib && cc -g -O0 -o bin/both prog.c && "
			  "cc -g -O0 -shared -fPIC -o usr/lib/libboth.so.1 lib.c"))
		return;
	leave_folder();
	SKIP("needs cc");
}

TEST(find_in_a_program_before_its_library)
{
	struct found found = {0};
	uint32_t pid;

	make_both();
	pid = (uint32_t)start_in_folder();
	found.options.pids = &pid;
	found.options.nr_pids = 1;
	found_find(&found, "both:drive", "both:main", NULL);
	CHECK_EQ(found.list.nr_probes, 2);
	CHECK_STR(found.list.files[0].path, "/bin/both");
	CHECK_EQ(found.list.nr_notes, 1);
	CHECK_STR(found.list.notes[0],
		  "'both' is interpreted as the program /bin/both; use 'libboth' "
		  "for the library /usr/lib/libboth.so.1");
	found_find(&found, "both:both_*", NULL, NULL);
	CHECK_STR(found_names(&found), "both_new");
	CHECK_STR(found.list.files[0].path, "/usr/lib/libboth.so.1");
	CHECK_STR(found.list.notes[0],
		  "'both' is interpreted as the library /usr/lib/libboth.so.1: "
		  "nothing in /bin/both matches 'both:both_*'");
	found_find(&found, "libboth:drive", NULL, NULL);
	CHECK_STR(found.list.files[0].path, "/usr/lib/libboth.so.1");
	CHECK_EQ(found.list.nr_notes, 0);
	found_find(&found, "both:*", "!both:_*", "!both:drive");
	CHECK_STR(found.list.files[0].path, "/bin/both");
	CHECK_EQ(found.list.nr_files, 1);
	found_find(&found, "libboth:*", "!both:drive", "!libboth:b*");
	CHECK(!strstr(found_names(&found), "drive") && !strstr(found_names(&found), "both_new"));
	found_find(&found, "both:both_old", NULL, NULL);
	CHECK_EQ(found.err, -ENOENT);
	CHECK_STR(found.error.text, "no function in '/bin/both' or '/usr/lib/libboth.so.1' matches "
				    "'both:both_old'");
	CHECK_STR(found.error.hint, "did you mean 'both_new'?");
	probe_list_clear(&found.list);
	stop_in_folder((pid_t)pid);
	leave_folder();
}
