/*
 * ELF files as a hostile user might plant them, read by the code that finds places to probe. The
 * first byte chooses the reader; the rest is the file, or machine code for instruction_length().
 *
 *	make fuzz && tests/fuzz/seeds_functions.sh FOLDER && build/fuzz/fuzz_function_list FOLDER
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "elf/image/instructions.h"
#include "elf/image/usdt_notes.h"
#include "elf/symbols/function_list.h"
#include "fuzz/fuzz.h"

static void check_order(const struct function_list *list)
{
	size_t i;

	for (i = 0; i < list->nr; i++) {
		const struct listed_function *function = &list->functions[i];
		const char *name = function_list_text(list, function->name);

		expect(function->name + strlen(name) < list->nr_string_bytes);
		expect(function->source < list->nr_string_bytes);
		expect(i == 0 || function[-1].vaddr < function->vaddr ||
		       (function[-1].vaddr == function->vaddr &&
			strcmp(function_list_text(list, function[-1].name), name) < 0));
	}
}

/*
 * Lists the functions of a program and its debug file, here the same file, and of its symbol table.
 */
static void list_functions(const struct elf_image *image)
{
	const struct symbol_part part = {image, SYMBOLS_STATIC};
	struct symbol_table *table = symbol_table_read(&part, 1, NULL);
	struct function_list list = {0};
	struct error error = {0};
	int err = function_list_read(&list, image, SYMBOLS_DYNAMIC, &error);

	expect(err == error.code);
	expect(err == 0 || list.nr == 0);
	err = function_list_read(&list, image, SYMBOLS_STATIC, NULL);
	expect(err == 0 || err == -ENOMEM || err == -E2BIG || err == -ENOEXEC);
	if (table)
		expect(function_list_add_table(&list, table) == 0);
	expect(function_list_settle(&list) == 0);
	check_order(&list);
	function_list_clear(&list);
	symbol_table_free(table);
}

static void read_notes(const struct elf_image *image)
{
	struct usdt_notes notes = {0};
	struct error error = {0};
	int err = usdt_notes_read(&notes, image, &error);
	size_t i;

	expect(err == error.code);
	expect(err == 0 || (!notes.notes && !notes.text));
	for (i = 0; i < notes.nr; i++) {
		const struct usdt_note *note = &notes.notes[i];

		expect(strlen(note->provider) + strlen(note->name) + strlen(note->arguments) <
		       image->bytes);
		expect(note->semaphore < image->bytes);
	}
	usdt_notes_clear(&notes);
}

/* Works on a heap copy, so that AddressSanitizer sees a read past its end. */
static void walk_code(uint16_t machine, const uint8_t *bytes, size_t nr)
{
	uint8_t *code = malloc(nr + !nr);
	size_t at = 0, length;

	expect(code);
	memcpy(code, bytes, nr);
	while (at < nr) {
		length = instruction_length(machine, code + at, nr - at);
		expect(length <= nr - at && length <= INSTRUCTION_MAX_BYTES);
		(void)uprobe_code_breaks(machine, code + at, nr - at);
		at += length ? length : 1;
	}
	free(code);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	struct elf_image image;

	if (!nr)
		return 0;
	if (bytes[0] % 4 >= 2) {
		walk_code(bytes[0] % 4 == 2 ? EM_X86_64 : EM_AARCH64, bytes + 1, nr - 1);
		return 0;
	}
	if (elf_image_open_memory(&image, bytes + 1, nr - 1, NULL) < 0)
		return 0;
	if (bytes[0] % 4 == 0)
		list_functions(&image);
	else
		read_notes(&image);
	elf_image_close(&image);
	return 0;
}
