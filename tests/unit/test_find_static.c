/* probe/find/find, static probes (USDT) as <sys/sdt.h> defines them. */
#include "probe/find/find.h"

#include <errno.h>

#include "unit/find_fixture.h"
#include "unit/folder.h"
#include "unit/test.h"

#define SOURCE                                                                               \
	"#include <sys/sdt.h>\n"                                                             \
	"int main(int argc, char **argv)\n"                                                  \
	"{ DTRACE_PROBE1(part, twice, argc); if (argc > 1) DTRACE_PROBE1(part, twice, 1);\n" \
	"DTRACE_PROBE(part, once); DTRACE_PROBE(other, once); return 0; }\n"

#define ASTRAY_SOURCE                                                                      \
	"#define _SDT_HAS_SEMAPHORES 1\n"                                                  \
	"#include <sys/sdt.h>\n"                                                           \
	"unsigned short part_sound_semaphore __attribute__((section(\".probes\"))) = 0;\n" \
	"extern unsigned short part_astray_semaphore;\n"                                   \
	"__asm__(\".globl part_astray_semaphore; .set part_astray_semaphore, -2\");\n"     \
	"int main(void)\n"                                                                 \
	"{ DTRACE_PROBE(part, sound); DTRACE_PROBE(part, astray); return 0; }\n"

static const char *pattern(const char *name)
{
	static char texts[4][256];
	static unsigned next;
	char *text = texts[next++ % 4];

	(void)snprintf(text, sizeof(texts[0]), "u:%s/prog:%s", folder, name);
	return text;
}

static void make_program(void)
{
	need_openat2();
	enter_folder();
	make_file(in_folder("prog.c"), SOURCE);
	if (run_in_folder("cc -O1 -o prog prog.c"))
		return;
	leave_folder();
	SKIP("needs cc and <sys/sdt.h>");
}

TEST(find_static_probes)
{
	struct found found = {0};
	const struct probe *probes;

	make_program();
	found_find(&found, pattern("part:*"), pattern("twice"), NULL);
	CHECK_EQ(found.err, 0);
	CHECK_EQ(found.list.nr_probes, 3);
	probes = found.list.probes;
	CHECK_EQ(probes[0].kind, PROBE_USDT);
	CHECK_STR(probes[0].name, "part:twice");
	CHECK_STR(probes[1].name, "part:twice");
	CHECK(!strncmp(probes[0].detail, "+0x", 3) && strcmp(probes[0].detail, probes[1].detail));
	CHECK(probes[0].arguments[0] != '\0');
	CHECK_STR(probes[2].name, "part:once");
	CHECK(!probes[2].detail);
	found_find(&found, pattern("once"), NULL, NULL);
	CHECK_EQ(found.list.nr_probes, 2);
	found_find(&found, pattern("once"), "!once", NULL);
	CHECK_EQ(found.err, -ENOENT);
	found_find(&found, pattern("o*"), pattern("onc"), NULL);
	CHECK_EQ(found.list.nr_probes, 2);
	CHECK_EQ(found.list.nr_refusals, 1);
	probe_list_clear(&found.list);
	leave_folder();
}

/* A probe whose semaphore address is invalid is refused; the file's other probes are found. */
TEST(find_static_probes_with_a_semaphore_astray)
{
	struct found found = {0};

	make_program();
	make_file(in_folder("prog.c"), ASTRAY_SOURCE);
	CHECK(run_in_folder("cc -O1 -o prog prog.c"));
	found_find(&found, pattern("part:*"), NULL, NULL);
	CHECK_EQ(found.err, 0);
	CHECK_EQ(found.list.nr_probes, 1);
	CHECK_STR(found.list.probes[0].name, "part:sound");
	CHECK(found.list.probes[0].semaphore != 0);
	CHECK_EQ(found.list.nr_refusals, 1);
	CHECK_STR(found.list.refusals[0].name, "part:astray");
	CHECK(strstr(found.list.refusals[0].why, "semaphore") != NULL);
	probe_list_clear(&found.list);
	leave_folder();
}

TEST(find_static_probes_nothing)
{
	struct found found = {0};

	make_program();
	found_find(&found, pattern("twcie"), NULL, NULL);
	CHECK_EQ(found.err, -ENOENT);
	CHECK(strstr(found.error.hint, "'twice'") != NULL);
	CHECK(run_in_folder("strip -R .note.stapsdt prog"));
	found_find(&found, pattern("twice"), NULL, NULL);
	CHECK(strstr(found.error.hint, "no static probes") != NULL);
	probe_list_clear(&found.list);
	leave_folder();
}
