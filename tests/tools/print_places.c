/*
 * Prints the places of a file that can be probed: print_places functions|dynamic|usdt FILE
 *
 *	functions, dynamic	from .symtab, .dynsym: address, FUNC or IFUNC, name, its source file
 *	usdt			provider, name, address, semaphore's offset in the file, arguments
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/image/usdt_notes.h"
#include "elf/symbols/function_list.h"

static void fail(const char *what)
{
	fprintf(stderr, "print_places: %s\n", what);
	exit(1);
}

static void print_functions(const struct elf_image *image, unsigned tables)
{
	struct function_list list = {0};
	struct error error = {0};
	size_t i;

	if (function_list_read(&list, image, tables, &error) < 0)
		fail(error.text);
	if (function_list_settle(&list) < 0)
		fail("out of memory");
	for (i = 0; i < list.nr; i++) {
		const struct listed_function *function = &list.functions[i];

		printf("%016" PRIx64 " %s %s %s\n", function->vaddr,
		       function->is_ifunc ? "IFUNC" : "FUNC",
		       function_list_text(&list, function->name),
		       function_list_text(&list, function->source));
	}
	function_list_clear(&list);
}

static void print_notes(const struct elf_image *image)
{
	struct usdt_notes notes = {0};
	struct error error = {0};
	size_t i;

	if (usdt_notes_read(&notes, image, &error) < 0)
		fail(error.text);
	for (i = 0; i < notes.nr; i++) {
		const struct usdt_note *note = &notes.notes[i];

		printf("%s %s %016" PRIx64 " %" PRIx64 " %s\n", note->provider, note->name,
		       note->vaddr, note->semaphore, note->arguments);
	}
	usdt_notes_clear(&notes);
}

int main(int argc, char **argv)
{
	struct error error = {0};
	struct elf_image image;
	int fd = argc == 3 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;

	if (argc != 3)
		fail("usage: print_places functions|dynamic|usdt FILE");
	if (fd < 0 || elf_image_open(&image, fd, &error) < 0)
		fail("cannot read the file");
	if (!strcmp(argv[1], "functions"))
		print_functions(&image, SYMBOLS_STATIC);
	else if (!strcmp(argv[1], "dynamic"))
		print_functions(&image, SYMBOLS_DYNAMIC);
	else
		print_notes(&image);
	elf_image_close(&image);
	return 0;
}
