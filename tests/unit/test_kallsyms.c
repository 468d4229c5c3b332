/* sym/kallsyms: texts in the kernel's format, truncated, hidden, and the running kernel's. */
#include "sym/kallsyms.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "unit/test.h"

static const char sample[] = "0000000000000000 A fixed_percpu_data\n"
			     "ffffffff81000000 T _stext\n"
			     "ffffffff81000000 T _text\n"
			     "ffffffff81000000 t startup\n"
			     "ffffffff81000100 W weak_name\n"
			     "ffffffff81000100 t local_name\n"
			     "ffffffff81000200 t do_it.isra.0\n"
			     "ffffffff81000300 T __x64_sys_read\n"
			     "ffffffff81000300 T sys_read\n"
			     "ffffffff81000380 D some_data\n"
			     "ffffffff81000400 t $x\n"
			     "ffffffff81000800 T __entry_text_end\n"
			     "ffffffff81000900 t after_entries\n"
			     "ffffffff81001000 T _etext\n"
			     "ffffffff82000000 T _sinittext\n"
			     "ffffffff82000000 t init_one\n"
			     "ffffffff82001000 T _einittext\n"
			     "ffffffffc0300000 t b_init\t[module_b]\n"
			     "ffffffffc0100000 t a_init\t[module_a]\n"
			     "ffffffffc0100040 T a_run\t[module_a]\n"
			     "ffffffffc0100050 r a_table\t[module_a]\n"
			     "ffffffffc0400000 t bpf_prog_6deef7357e7b4530_sample\t[bpf]\n";

static struct kallsyms *read_text(const char *text, size_t nr, struct error *error)
{
	cleanup_file FILE *file =
		nr ? fmemopen((char *)(uintptr_t)text, nr, "r") : fopen("/dev/null", "r");

	CHECK(file);
	return kallsyms_read(file, error);
}

static void check_name(const struct kallsyms *kallsyms, uint64_t address, const char *expected,
		       const char *expected_module)
{
	const char *module = "";
	const char *name = kallsyms_find(kallsyms, address, &module);

	CHECK_STR(name ? name : "", expected);
	CHECK_STR(module, expected_module);
}

TEST(kallsyms_finds)
{
	struct kallsyms *kallsyms = read_text(sample, strlen(sample), NULL);

	CHECK(kallsyms);
	check_name(kallsyms, 0, "", "");
	check_name(kallsyms, 0xffffffff80ffffff, "", "");
	check_name(kallsyms, 0xffffffff81000000, "_stext", "");
	check_name(kallsyms, 0xffffffff810000ff, "_stext", "");
	check_name(kallsyms, 0xffffffff81000100, "local_name", "");
	check_name(kallsyms, 0xffffffff81000200, "do_it.isra.0", "");
	check_name(kallsyms, 0xffffffff81000410, "sys_read", "");
	check_name(kallsyms, 0xffffffff810007ff, "sys_read", "");
	check_name(kallsyms, 0xffffffff81000800, "", "");
	check_name(kallsyms, 0xffffffff81000fff, "after_entries", "");
	check_name(kallsyms, 0xffffffff81001000, "", "");
	check_name(kallsyms, 0xffffffff81fffff0, "", "");
	check_name(kallsyms, 0xffffffff82000010, "_sinittext", "");
	check_name(kallsyms, 0xffffffff82001010, "", "");
	check_name(kallsyms, 0xffffffffc010003f, "a_init", "module_a");
	check_name(kallsyms, 0xffffffffc0100050, "a_run", "module_a");
	check_name(kallsyms, 0xffffffffc0200000, "", "");
	check_name(kallsyms, 0xffffffffc0300010, "b_init", "module_b");
	check_name(kallsyms, 0xffffffffc0400000, "bpf_prog_6deef7357e7b4530_sample", "bpf");
	check_name(kallsyms, UINT64_MAX, "", "");
	CHECK_EQ(kallsyms_nr(kallsyms), 13);
	CHECK(kallsyms_bytes(kallsyms) > sizeof(sample) / 2);
	kallsyms_free(kallsyms);
	kallsyms_free(NULL);
}

TEST(kallsyms_hidden)
{
	static const char text[] = "0000000000000000 T _stext\n0000000000000000 t f\t[m]\n";
	char many[30000] = "";
	struct error error = {0};
	size_t i;

	CHECK(!read_text(text, strlen(text), &error));
	CHECK_EQ(error.code, -EPERM);
	CHECK(strstr(error.hint, "kptr_restrict"));
	CHECK(strstr(error.hint, "CAP_SYSLOG"));
	for (i = 0; i < 1000; i++)
		memcpy(many + i * 26, text, 26);
	CHECK(!read_text(many, strlen(many), &error));
	CHECK_EQ(error.code, -EPERM);
}

TEST(kallsyms_nothing)
{
	static const char data[] = "ffffffff81000380 D some_data\nrubbish\n\n \nffffffff81000380\n"
				   "ffffffff81000380 T\nffffffff81000380 T \n";
	struct error error = {0};

	CHECK(!read_text("", 0, &error));
	CHECK_EQ(error.code, -ENODATA);
	CHECK(!read_text(data, strlen(data), &error));
	CHECK_EQ(error.code, -ENODATA);
	CHECK(error.text[0]);
}

TEST(kallsyms_truncated)
{
	size_t nr, most = 0;

	for (nr = 1; nr <= strlen(sample); nr++) {
		char *guarded = test_guarded(sample, nr);
		struct kallsyms *kallsyms = read_text(guarded, nr, NULL);

		CHECK(!kallsyms || kallsyms_nr(kallsyms) >= most);
		most = kallsyms ? kallsyms_nr(kallsyms) : 0;
		kallsyms_free(kallsyms);
	}
	CHECK_EQ(most, 13);
}

TEST(kallsyms_out_of_memory)
{
	struct kallsyms *kallsyms = NULL;
	struct error error;
	size_t nth;

	for (nth = 1; !kallsyms; nth++) {
		cleanup_file FILE *file = fmemopen((char *)(uintptr_t)sample, strlen(sample), "r");

		error = (struct error){0};
		test_fail_allocation(nth);
		kallsyms = kallsyms_read(file, &error);
		test_fail_allocation(0);
		CHECK(kallsyms || error.code == -ENOMEM);
	}
	CHECK(nth > 5);
	kallsyms_free(kallsyms);
}

/* Returns an address that the running kernel's list has under this name only. */
static uint64_t own_address(const char *wanted)
{
	cleanup_file FILE *file = fopen("/proc/kallsyms", "r");
	char line[1024], type, name[513];
	uint64_t address;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%" SCNx64 " %c %512s", &address, &type, name) == 3 &&
		    !strcmp(name, wanted))
			return address;
	return 0;
}

static int keep_name(void *context, size_t i, const char *name, const char *module)
{
	CHECK(i < 2);
	CHECK_STR(module, "");
	snprintf((char *)context + 64 * i, 64, "%s", name);
	return 0;
}

static int refuse_name(void *context, size_t i, const char *name, const char *module)
{
	++*(int *)context;
	return -ENOMEM;
}

TEST(kallsyms_of_this_kernel)
{
	uint64_t addresses[3] = {own_address("vfs_read"), own_address("vfs_write") + 1, 1};
	char kept[3][64] = {"", "", ""};
	struct kallsyms *cache = NULL;
	struct kernel_names source = kallsyms_names(&cache);
	struct error error = {0};
	int nr_refused = 0;

	if (!addresses[0] || addresses[1] == 1)
		SKIP("needs a kernel that shows its addresses in /proc/kallsyms");
	CHECK(!cache);
	CHECK_EQ(source.name(source.self, addresses, 3, keep_name, kept, &error), 0);
	CHECK(cache);
	CHECK_STR(kept[0], "vfs_read");
	CHECK_STR(kept[1], "vfs_write");
	CHECK_STR(kept[2], "");
	CHECK_EQ(source.name(source.self, addresses, 3, refuse_name, &nr_refused, &error), -ENOMEM);
	CHECK_EQ(nr_refused, 1);
	CHECK_EQ(error.code, -ENOMEM);
	kallsyms_free(cache);
}
