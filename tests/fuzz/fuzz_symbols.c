/*
 * ELF files as a hostile user might plant them, read by every symbol source. The first byte chooses
 * the source; the rest is the file.
 *
 *	make fuzz && tests/fuzz/seeds.sh fuzz_symbols FOLDER && build/fuzz/fuzz_symbols FOLDER
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/image/debug_link.h"
#include "elf/symbols/debug_data.h"
#include "elf/symbols/go_functions.h"
#include "elf/symbols/plt_stubs.h"
#include "fuzz/fuzz.h"

#define PLACES 64 /* looked up in each executable segment */

static int read_symbols(struct symbol_table **ret, const struct elf_image *image,
			struct error *error)
{
	const struct symbol_part part = {image, SYMBOLS_STATIC | SYMBOLS_DYNAMIC};

	*ret = symbol_table_read(&part, 1, error);
	return *ret ? 0 : error->code;
}

/* Reads the image as a program and as its debug file. */
static int read_parts(struct symbol_table **ret, const struct elf_image *image, struct error *error)
{
	const struct symbol_part parts[] = {{image, SYMBOLS_DYNAMIC}, {image, SYMBOLS_STATIC}};

	*ret = symbol_table_read(parts, ARRAY_SIZE(parts), error);
	return *ret ? 0 : error->code;
}

static int read_link(struct symbol_table **ret, const struct elf_image *image, struct error *error)
{
	struct debug_link link;

	(void)error;
	*ret = NULL;
	if (debug_link_read(image, &link) == 0)
		expect(link.name[0] && strlen(link.name) < sizeof(link.name) &&
		       !strchr(link.name, '/'));
	return 0;
}

static int (*const sources[])(struct symbol_table **ret, const struct elf_image *image,
			      struct error *error) = {
	read_symbols, read_parts, debug_data_read, plt_stubs_read, go_functions_read, read_link,
};

static void look_up(const struct symbol_table *table, uint64_t vaddr)
{
	uint64_t start = 0;
	const char *name = symbol_table_find(table, vaddr, &start);

	expect(!name || (start <= vaddr && strlen(name) <= symbol_table_bytes(table)));
}

static void look_around(const struct symbol_table *table, const struct elf_image *image)
{
	size_t i, place;

	for (i = 0; i < image->nr_segments; i++)
		for (place = 0; place < PLACES; place++)
			look_up(table, image->segments[i].vaddr +
					       image->segments[i].bytes / PLACES * place);
	look_up(table, 0);
	look_up(table, UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	struct symbol_table *table;
	struct elf_image image;
	struct error error = {0};
	int err;

	if (!nr || elf_image_open_memory(&image, bytes + 1, nr - 1, NULL) < 0)
		return 0;
	err = sources[bytes[0] % ARRAY_SIZE(sources)](&table, &image, &error);
	expect(err == 0 ? !error.code : err == error.code && !table);
	if (table)
		look_around(table, &image);
	symbol_table_free(table);
	elf_image_close(&image);
	return 0;
}
