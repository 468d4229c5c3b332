/*
 * Stubs are decoded first (see plt_decode.h), and sorted by the slot through which each jumps; then
 * the relocations pass by, and those that fill one of the slots name its stubs. Only stubs and the
 * dynamic symbols are held, not the relocations, of which Chromium has a million.
 *
 * A slot without a symbol is filled with the result of a resolver (IRELATIVE); its stub is named as
 * binutils does, by where that is: `*ABS*+0x8d5d0@plt`.
 */
#include "elf/symbols/plt_stubs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/image/elf_section.h"
#include "elf/image/relocations.h"
#include "elf/symbols/plt_decode.h"

/* libcrypto has 3,100 stubs, with names of 70 KB; Chromium 1,750. */
#define STUBS_MAX	      (256u << 10)
#define SECTION_MAX_BYTES     (8u << 20)
#define SYMBOLS_MAX_BYTES     (256u << 20) /* .dynsym, .dynstr: each */
#define NAME_MAX_BYTES	      (16u << 10)
#define NAMES_TOTAL_MAX_BYTES (64u << 20) /* stubs may share one long name */

struct stub {
	uint64_t slot; /* the address of the word that it jumps through */
	uint64_t start;
	uint32_t bytes;
	bool is_named;
};

struct stubs {
	const struct elf_image *image;
	struct stub *stubs;
	size_t nr, capacity;
	uint8_t *symbols, *strings; /* of .dynsym */
	size_t nr_symbols, nr_string_bytes;
	size_t nr_name_bytes;
	struct symbol_table *table;
};

/* The sections with stubs, and how far apart these are where the section does not say. */
static const struct plt_section {
	const char *name;
	size_t unit;
} sections[] = {{".plt", 16}, {".plt.sec", 16}, {".plt.got", 8}, {".iplt", 16}};

/* --- decoding ------------------------------------------------------------------------------ */

static int decode_code(struct stubs *stubs, struct bytes code, uint64_t address, size_t unit)
{
	const struct plt_machine *machine = plt_machine_find(stubs->image->machine);
	size_t step = machine->step ? machine->step : unit, length;
	uint64_t slot = 0;

	for (; code.nr; (void)bytes_skip(&code, length), address += length) {
		length = machine->decode(code, address, unit, &slot);
		if (length) {
			if (stubs->nr == STUBS_MAX)
				return -ENOEXEC;
			if (array_reserve(&stubs->stubs, &stubs->capacity, stubs->nr + 1,
					  sizeof(*stubs->stubs)) < 0)
				return -ENOMEM;
			stubs->stubs[stubs->nr++] = (struct stub){
				.slot = slot, .start = address, .bytes = (uint32_t)length};
		}
		length = length ? length : step;
		length = length < code.nr ? length : code.nr;
	}
	return 0;
}

static int decode_sections(struct stubs *stubs)
{
	size_t i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(sections) && !err; i++) {
		cleanup_free uint8_t *code = NULL;
		size_t unit = sections[i].unit;
		GElf_Shdr header;

		if (elf_section_find(stubs->image, sections[i].name, &header) < 0 ||
		    !(header.sh_flags & SHF_EXECINSTR) || header.sh_type == SHT_NOBITS)
			continue;
		if (header.sh_entsize == 8 || header.sh_entsize == 16)
			unit = header.sh_entsize;
		err = elf_section_read(stubs->image, &header, SECTION_MAX_BYTES, &code);
		if (err == 0)
			err = decode_code(stubs, bytes_of(code, header.sh_size), header.sh_addr,
					  unit);
	}
	return err;
}

static int compare_stubs(const void *left, const void *right)
{
	const struct stub *a = left, *b = right;

	if (a->slot != b->slot)
		return a->slot < b->slot ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* --- naming -------------------------------------------------------------------------------- */

/* A file without dynamic symbols, a static program, has stubs too. */
static int read_dynamic_symbols(struct stubs *stubs)
{
	GElf_Shdr symbols, strings;
	int err;

	if (elf_section_find_type(stubs->image, SHT_DYNSYM, &symbols) < 0)
		return 0;
	if (!gelf_getshdr(elf_getscn(stubs->image->elf, symbols.sh_link), &strings))
		return -ENOEXEC;
	err = elf_section_read(stubs->image, &symbols, SYMBOLS_MAX_BYTES, &stubs->symbols);
	if (err < 0)
		return err;
	err = elf_section_read(stubs->image, &strings, SYMBOLS_MAX_BYTES, &stubs->strings);
	if (err < 0)
		return err;
	stubs->nr_symbols = symbols.sh_size / sizeof(Elf64_Sym);
	stubs->nr_string_bytes = strings.sh_size;
	return 0;
}

/* The symbol's name without its version; NULL if it is not there, or too long. */
static const char *symbol_name(const struct stubs *stubs, uint64_t number, int *ret_nr)
{
	const char *name;
	Elf64_Sym symbol;
	size_t room, nr;

	if (number >= stubs->nr_symbols)
		return NULL;
	memcpy(&symbol, stubs->symbols + number * sizeof(symbol), sizeof(symbol));
	if (symbol.st_name >= stubs->nr_string_bytes)
		return NULL;
	name = (const char *)stubs->strings + symbol.st_name;
	room = stubs->nr_string_bytes - symbol.st_name;
	nr = strnlen(name, room < NAME_MAX_BYTES ? room : NAME_MAX_BYTES);
	if (!nr || nr == room || nr == NAME_MAX_BYTES)
		return NULL;
	*ret_nr = (int)strcspn(name, "@");
	return name;
}

/* `write@plt`; false if the relocation has no name. */
static bool compose_name(const struct stubs *stubs, const GElf_Rela *relocation, char *to,
			 size_t room)
{
	uint64_t number = GELF_R_SYM(relocation->r_info);
	const char *name = "*ABS*";
	int nr = (int)strlen(name);

	if (number)
		name = symbol_name(stubs, number, &nr);
	if (!name)
		return false;
	if (relocation->r_addend)
		(void)snprintf(to, room, "%.*s+0x%" PRIx64 "@plt", nr, name,
			       (uint64_t)relocation->r_addend);
	else
		(void)snprintf(to, room, "%.*s@plt", nr, name);
	return true;
}

/* The first stub that jumps through the slot, or a later one. */
static size_t first_of_slot(const struct stubs *stubs, uint64_t slot)
{
	size_t low = 0, high = stubs->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (stubs->stubs[middle].slot < slot)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Names the stubs whose slot the relocation fills. The first of a slot's relocations counts. */
static int name_stubs(struct stubs *stubs, const GElf_Rela *relocation)
{
	size_t i = first_of_slot(stubs, relocation->r_offset);
	char name[NAME_MAX_BYTES + 32];
	int err = 0;

	if (i == stubs->nr || stubs->stubs[i].slot != relocation->r_offset ||
	    stubs->stubs[i].is_named || !compose_name(stubs, relocation, name, sizeof(name)))
		return 0;
	for (; i < stubs->nr && stubs->stubs[i].slot == relocation->r_offset && !err; i++) {
		struct stub *stub = &stubs->stubs[i];

		stubs->nr_name_bytes += strlen(name);
		if (stubs->nr_name_bytes > NAMES_TOTAL_MAX_BYTES)
			return -ENOEXEC;
		stub->is_named = true;
		err = symbol_table_add(stubs->table, stub->start, stub->bytes, name);
	}
	return err;
}

static int read_stubs(struct stubs *stubs)
{
	struct relocations relocations;
	GElf_Rela relocation;
	int err = decode_sections(stubs);

	if (err < 0 || !stubs->nr)
		return err;
	err = read_dynamic_symbols(stubs);
	if (err < 0)
		return err;
	stubs->table = symbol_table_new();
	if (!stubs->table)
		return -ENOMEM;
	qsort(stubs->stubs, stubs->nr, sizeof(*stubs->stubs), compare_stubs);
	relocations_init(&relocations, stubs->image);
	while (err == 0 && relocations_next(&relocations, &relocation))
		err = name_stubs(stubs, &relocation);
	return err < 0 ? err : symbol_table_settle(stubs->table);
}

int plt_stubs_read(struct symbol_table **ret, const struct elf_image *image, struct error *error)
{
	struct stubs stubs = {.image = image};
	int err;

	*ret = NULL;
	if (!image->is_64 || !plt_machine_find(image->machine))
		return 0;
	err = read_stubs(&stubs);
	free(stubs.stubs);
	free(stubs.symbols);
	free(stubs.strings);
	if (err == 0)
		*ret = stubs.table;
	else
		symbol_table_free(stubs.table);
	if (err == -ENOMEM)
		return error_set(error, err, "out of memory for the stubs of dynamic linking");
	return err < 0 ? error_set(error, -ENOEXEC, "no sound stubs of dynamic linking") : 0;
}
