/*
 * Files with and without debug information in the test's folder, made by the compiler and binutils
 * from a few functions:
 *
 *	code		everything: shown() in .dynsym and .symtab, hidden() in .symtab alone
 *	code.debug	what objcopy --only-keep-debug leaves
 *	stripped	without .symtab and DWARF
 *	linked		the same with a .gnu_debuglink to code.debug
 */
#ifndef STOOK_TESTS_UNIT_MADE_CODE_H
#define STOOK_TESTS_UNIT_MADE_CODE_H

#include <string.h>

#include "elf/symbols/symbol_table.h"
#include "sym/debug_files.h"
#include "unit/folder.h"
#include "unit/test.h"

#define MADE_CODE_SOURCE                                        \
	"int puts(const char *);\n"                             \
	"static int hidden(int);\n"                             \
	"int shown(int n) { return hidden(n) + puts(\"\"); }\n" \
	"static __attribute__((noinline)) int hidden(int n) { return n; }\n"

/* Enters the folder and builds the files. build_id: "sha1", "none", or 0x and hex digits. */
static inline void make_code(const char *build_id)
{
	char command[256];

	need_openat2();
	enter_folder();
	make_file(in_folder("code.c"), MADE_CODE_SOURCE);
	(void)snprintf(command, sizeof(command),
		       "cc -g -O0 -shared -fPIC -Wl,--build-id=%s -o code code.c", build_id);
	if (run_in_folder(command) && run_in_folder("objcopy --only-keep-debug code code.debug") &&
	    run_in_folder("strip -s -o stripped code") &&
	    run_in_folder("objcopy --add-gnu-debuglink=code.debug stripped linked"))
		return;
	leave_folder();
	SKIP("needs cc, objcopy and strip");
}

struct made_code {
	struct elf_image image;
	struct code_file file;
};

/* Opens a file of the folder; path is where the process had it mapped. */
static inline void open_code(struct made_code *code, const char *name, const char *path)
{
	int fd = open(in_folder(name), O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(elf_image_open(&code->image, fd, NULL), 0);
	code->file = (struct code_file){.fd = fd, .path = path, .root_fd = -1};
	code->file.build_id_bytes = code->image.build_id_bytes;
	memcpy(code->file.build_id, code->image.build_id, code->image.build_id_bytes);
}

static inline void close_code(struct made_code *code)
{
	elf_image_close(&code->image);
	debug_files_forget(&code->file);
	(void)close(code->file.fd);
}

/* Returns the build id in hexadecimal; valid until the next call. */
static inline const char *build_id_of(const struct made_code *code)
{
	static char text[2 * BUILD_ID_MAX_BYTES + 1];
	size_t i;

	text[0] = '\0';
	for (i = 0; i < code->file.build_id_bytes; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", code->file.build_id[i]);
	return text;
}

/* Returns the link-time address of a function in the unstripped file. */
static inline uint64_t address_in_code(const char *function)
{
	struct made_code code;
	struct symbol_part part = {&code.image, SYMBOLS_STATIC};
	struct symbol_table *table;
	const struct elf_segment *segment;
	uint64_t address = 0, at;

	open_code(&code, "code", "");
	table = symbol_table_read(&part, 1, NULL);
	CHECK(table != NULL && code.image.nr_segments == 1);
	segment = code.image.segments;
	for (at = segment->vaddr; !address && at < segment->vaddr + segment->bytes; at++) {
		const char *name = symbol_table_find(table, at, NULL);

		if (name && !strcmp(name, function))
			address = at;
	}
	CHECK(address != 0);
	symbol_table_free(table);
	close_code(&code);
	return address;
}

#endif
