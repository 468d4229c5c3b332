/*
 * elf/unwind/function_starts: compared with the symbols of this test program, and on handmade code:
 * a function and the part that the compiler split off.
 */
#include "elf/unwind/function_starts.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "elf/symbols/function_list.h"
#include "unit/folder.h"
#include "unit/test.h"

static void open_image(struct elf_image *image, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(elf_image_open(image, fd, NULL), 0);
}

static void close_image(struct elf_image *image)
{
	int fd = image->fd;

	elf_image_close(image);
	CHECK_EQ(close(fd), 0);
}

TEST(function_starts_are_those_of_the_symbols)
{
	struct function_list list = {0};
	struct symbol_table *starts;
	struct elf_image image;
	struct error error;
	size_t i, nr = 0, nr_same = 0;
	uint64_t start;

	open_image(&image, "/proc/self/exe");
	CHECK_EQ(function_starts_read(&starts, &image, &error), 0);
	CHECK_EQ(function_list_read(&list, &image, SYMBOLS_STATIC, &error), 0);
	CHECK_EQ(function_list_settle(&list), 0);
	for (i = 0; i < list.nr; i++) {
		const struct listed_function *function = &list.functions[i];

		if (!function->bytes)
			continue;
		nr++;
		start = 0;
		if (symbol_table_find(starts, function->vaddr + function->bytes - 1, &start))
			nr_same += start == function->vaddr;
	}
	CHECK(nr > 1000);
	CHECK(nr_same * 1000 > nr * 995);
	symbol_table_free(starts);
	function_list_clear(&list);
	close_image(&image);
}

/* `part` starts with the frame of `whole` at its jump; `part` and `inner` share a CFI entry. */
#define SOURCE                                                                            \
	"__asm__(\".text\\nwhole: .cfi_startproc\\n.rept 16\\nnop\\n.endr\\n"             \
	".cfi_def_cfa_offset 32\\nnop\\n.cfi_endproc\\n\"\n"                              \
	"\".rept 16\\nnop\\n.endr\\nbare: nop\\n.rept 16\\nnop\\n.endr\\n\"\n"            \
	"\"part: .cfi_startproc\\n.cfi_def_cfa_offset 32\\n.rept 16\\nnop\\n.endr\\n\"\n" \
	"\"inner: nop\\n.cfi_endproc\\n\");\n"

static uint64_t address_of(const char *name)
{
	unsigned long address = 0;
	char command[128];
	FILE *file;

	(void)snprintf(command, sizeof(command), "nm code | sed -n 's/ t %s$//p' >address", name);
	CHECK(run_in_folder(command));
	file = fopen(in_folder("address"), "r");
	CHECK(file && fscanf(file, "%lx", &address) == 1);
	CHECK_EQ(fclose(file), 0);
	return address;
}

static bool make_image(struct elf_image *image)
{
	enter_folder();
	make_file(in_folder("code.c"), SOURCE "int puts(const char *);\n"
					      "int f(void) { return puts(\"\"); }\n");
	if (!run_in_folder("cc -shared -fPIC -o code code.c"))
		return false;
	open_image(image, in_folder("code"));
	return true;
}

TEST(function_starts_of_parts)
{
	struct symbol_table *starts;
	uint64_t whole, part, start = 0;
	struct elf_image image;
	GElf_Shdr stubs;

	if (!make_image(&image)) {
		leave_folder();
		SKIP("needs cc");
	}
	whole = address_of("whole");
	part = address_of("part");
	CHECK_EQ(function_starts_read(&starts, &image, NULL), 0);
	CHECK_STR(symbol_table_find(starts, whole + 7, &start), "");
	CHECK_EQ(start, whole);
	CHECK_STR(symbol_table_find(starts, address_of("inner"), &start), "");
	CHECK_EQ(start, part);
	CHECK(symbol_table_find(starts, address_of("bare"), NULL) == NULL);
	CHECK_EQ(elf_section_find(&image, ".plt", &stubs), 0);
	CHECK(symbol_table_find(starts, stubs.sh_addr + 1, NULL) == NULL);
	CHECK(function_start_is_called(&image, whole));
	CHECK(!function_start_is_called(&image, part));
	CHECK(!function_start_is_called(&image, whole + 4));
	CHECK(!function_start_is_called(&image, address_of("bare")));
	symbol_table_free(starts);
	close_image(&image);
	leave_folder();
}

TEST(function_starts_without_memory)
{
	struct symbol_table *starts;
	struct elf_image image;
	struct error error;
	size_t nth, nr = SIZE_MAX;
	int err = 0;

	if (!make_image(&image)) {
		leave_folder();
		SKIP("needs cc");
	}
	for (nth = 1; nr >= nth - 1; nth++) {
		(void)test_fail_allocation(nth);
		err = function_starts_read(&starts, &image, &error);
		nr = test_fail_allocation(0);
		CHECK(err == 0 || err == -ENOMEM);
		CHECK(err == 0 || !starts);
		symbol_table_free(starts);
	}
	CHECK_EQ(err, 0);
	CHECK(nth > 3);
	for (nth = 1; nth < 10; nth++) {
		(void)test_fail_allocation(nth);
		(void)function_start_is_called(&image, address_of("whole"));
		(void)test_fail_allocation(0);
	}
	close_image(&image);
	leave_folder();
}
