/*
 * Reads the functions of ELF symbol tables; a part of symbol_table.
 *
 * The string tables are read whole, one behind the other, into one block that the names point
 * into. The symbol tables pass by in small pieces, so the peak is the strings plus 16 bytes for
 * each function (twice that while they are sorted).
 *
 * What is a function: STT_FUNC and STT_GNU_IFUNC in an executable section, and STT_NOTYPE there,
 * the labels of assembly. The section is found by the address: `objcopy -R` takes sections out
 * without adjusting the numbers in .dynsym. It is looked for in the image that has the symbol:
 * a file of debug information has the headers of all sections, though not their bytes.
 *
 * Left out on purpose: symbols without section headers (PT_DYNAMIC only).
 */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/symbol_table.h"
#include "elf/symbol_table_state.h"

#define SYMBOLS_MAX (16u << 20) /* of one table, functions or not; the largest have a quarter */
#define CHUNK_BYTES (64u << 10) /* of a symbol table, in memory at one time */

/* An executable section's addresses. */
struct code_range {
	uint64_t start, end;
};

struct reader {
	const struct elf_image *image;
	struct symbol_table *table;
	struct code_range *code; /* by start */
	size_t nr_code;
	GElf_Shdr symtab, dynsym; /* sh_type is 0 if there is none */
	struct error *error;
};

static int refuse(const struct reader *reader, const char *why)
{
	return error_set(reader->error, -ENOEXEC, "no sound symbol table: %s", why);
}

static int out_of_memory(const struct reader *reader)
{
	return error_set(reader->error, -ENOMEM, "out of memory for symbols");
}

/* --- sections ------------------------------------------------------------------------------ */

/* An empty section may share the address of one that has code, and must not hide it. */
static void take_section(struct reader *reader, const GElf_Shdr *header)
{
	if (header->sh_flags & SHF_EXECINSTR && header->sh_size &&
	    header->sh_size <= UINT64_MAX - header->sh_addr)
		reader->code[reader->nr_code++] =
			(struct code_range){header->sh_addr, header->sh_addr + header->sh_size};
	if (header->sh_type == SHT_SYMTAB && !reader->symtab.sh_type)
		reader->symtab = *header;
	if (header->sh_type == SHT_DYNSYM && !reader->dynsym.sh_type)
		reader->dynsym = *header;
}

static int compare_code(const void *left, const void *right)
{
	const struct code_range *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static int read_sections(struct reader *reader)
{
	Elf *elf = reader->image->elf;
	size_t i, nr_sections;
	GElf_Shdr header;

	if (elf_getshdrnum(elf, &nr_sections) < 0)
		return refuse(reader, elf_errmsg(-1));
	reader->code = calloc(nr_sections + 1, sizeof(*reader->code));
	if (!reader->code)
		return out_of_memory(reader);
	for (i = 0; i < nr_sections; i++) {
		if (!gelf_getshdr(elf_getscn(elf, i), &header))
			return refuse(reader, elf_errmsg(-1));
		take_section(reader, &header);
	}
	qsort(reader->code, reader->nr_code, sizeof(*reader->code), compare_code);
	return 0;
}

/* The executable section that has the address, or NULL. */
static const struct code_range *code_at(const struct reader *reader, uint64_t vaddr)
{
	size_t low = 0, high = reader->nr_code;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (reader->code[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && vaddr < reader->code[low - 1].end ? &reader->code[low - 1] : NULL;
}

/* --- strings ------------------------------------------------------------------------------- */

/*
 * Ends every name at its version: `read@@GLIBC_2.2.5` becomes `read`. Names may share their tails,
 * but each of them that contains the '@' would end there anyway.
 */
static void cut_versions(char *strings, size_t nr)
{
	char *at = strings, *end = strings + nr;

	while ((at = memchr(at, '@', (size_t)(end - at)))) {
		if (at > strings && at[-1])
			*at = '\0';
		at++;
	}
}

/* Reads a symbol table's strings behind those that are there; *ret_nr is how many bytes. */
static int read_strings(struct reader *reader, const GElf_Shdr *symbols, size_t *ret_nr)
{
	struct symbol_table *table = reader->table;
	size_t base = table->nr_string_bytes;
	GElf_Shdr header;
	char *strings;

	if (!gelf_getshdr(elf_getscn(reader->image->elf, symbols->sh_link), &header) ||
	    header.sh_type != SHT_STRTAB)
		return refuse(reader, "its strings are missing");
	if (header.sh_size > reader->image->bytes ||
	    header.sh_size >= SYMBOL_STRINGS_MAX_BYTES - base)
		return refuse(reader, "its strings are too long");
	strings = realloc(table->strings, base + header.sh_size + 1);
	if (!strings)
		return out_of_memory(reader);
	table->strings = strings;
	if (elf_image_read(reader->image, header.sh_offset, strings + base, header.sh_size) < 0)
		return refuse(reader, "its strings cannot be read");
	strings[base + header.sh_size] = '\0';
	cut_versions(strings + base, header.sh_size);
	table->nr_string_bytes = table->string_capacity = base + header.sh_size + 1;
	*ret_nr = header.sh_size;
	return 0;
}

/* --- symbols ------------------------------------------------------------------------------- */

/* `$x`, `$d.42`: they mark code and data for disassemblers on arm64, and are no functions. */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && name[1] && (!name[2] || name[2] == '.');
}

static unsigned rank_of(const Elf64_Sym *symbol)
{
	unsigned binding = ELF64_ST_BIND(symbol->st_info);
	unsigned rank = 0;

	if (binding == STB_GLOBAL || binding == STB_GNU_UNIQUE)
		rank |= SYMBOL_GLOBAL;
	if (binding != STB_WEAK)
		rank |= SYMBOL_NOT_WEAK;
	if (ELF64_ST_TYPE(symbol->st_info) != STT_NOTYPE)
		rank |= SYMBOL_TYPED;
	if (symbol->st_size)
		rank |= SYMBOL_SIZED;
	return rank;
}

static int add_symbol(struct reader *reader, const Elf64_Sym *symbol, const struct code_range *code,
		      uint32_t name)
{
	uint64_t bytes = code->end - symbol->st_value; /* what is left of the section */
	struct symbol added = {
		.start = symbol->st_value,
		.name = name,
		.rank = rank_of(symbol),
	};
	int err;

	if (symbol->st_size && symbol->st_size < bytes)
		bytes = symbol->st_size;
	added.bytes = bytes < SYMBOL_MAX_BYTES ? (uint32_t)bytes : SYMBOL_MAX_BYTES;
	err = symbol_table_append(reader->table, &added);
	if (err == -E2BIG)
		return refuse(reader, "there are too many symbols");
	return err < 0 ? out_of_memory(reader) : 0;
}

/* Adds the symbol if it is a function; its name is in the nr_strings bytes at base. */
static int take_symbol(struct reader *reader, const Elf64_Sym *symbol, size_t base,
		       size_t nr_strings)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	const struct code_range *code;
	const char *name;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return 0;
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE)
		return 0;
	code = code_at(reader, symbol->st_value);
	if (!code || symbol->st_name >= nr_strings)
		return 0;
	name = reader->table->strings + base + symbol->st_name;
	if (!name[0] || (type == STT_NOTYPE && is_mapping_symbol(name)))
		return 0;
	return add_symbol(reader, symbol, code, (uint32_t)(base + symbol->st_name));
}

static Elf64_Sym widened(const Elf32_Sym *symbol)
{
	return (Elf64_Sym){
		.st_name = symbol->st_name,
		.st_info = symbol->st_info,
		.st_other = symbol->st_other,
		.st_shndx = symbol->st_shndx,
		.st_value = symbol->st_value,
		.st_size = symbol->st_size,
	};
}

static int take_chunk(struct reader *reader, const void *chunk, size_t nr, size_t base,
		      size_t nr_strings)
{
	const Elf64_Sym *wide = chunk;
	const Elf32_Sym *narrow = chunk;
	size_t i;
	int err = 0;

	for (i = 0; i < nr && err == 0; i++) {
		Elf64_Sym symbol = reader->image->is_64 ? wide[i] : widened(&narrow[i]);

		err = take_symbol(reader, &symbol, base, nr_strings);
	}
	return err;
}

static int read_symbols(struct reader *reader, const GElf_Shdr *header)
{
	size_t entry = reader->image->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	size_t base = reader->table->nr_string_bytes;
	cleanup_free void *chunk = NULL;
	size_t nr_strings = 0, at, nr;
	int err;

	if (!header->sh_type)
		return 0;
	if (header->sh_size / entry > SYMBOLS_MAX)
		return refuse(reader, "it has too many symbols");
	err = read_strings(reader, header, &nr_strings);
	if (err < 0)
		return err;
	chunk = malloc(CHUNK_BYTES);
	if (!chunk)
		return out_of_memory(reader);
	for (at = 0; at + entry <= header->sh_size; at += nr * entry) {
		nr = (header->sh_size - at < CHUNK_BYTES ? header->sh_size - at : CHUNK_BYTES) /
		     entry;
		if (elf_image_read(reader->image, header->sh_offset + at, chunk, nr * entry) < 0)
			return refuse(reader, "it cannot be read");
		err = take_chunk(reader, chunk, nr, base, nr_strings);
		if (err < 0)
			return err;
	}
	return 0;
}

/* --- tables -------------------------------------------------------------------------------- */

static int read_part(struct reader *reader, const struct symbol_part *part)
{
	int err;

	reader->image = part->image;
	err = read_sections(reader);
	if (err == 0 && part->tables & SYMBOLS_STATIC)
		err = read_symbols(reader, &reader->symtab);
	if (err == 0 && part->tables & SYMBOLS_DYNAMIC)
		err = read_symbols(reader, &reader->dynsym);
	free(reader->code);
	return err;
}

struct symbol_table *symbol_table_read(const struct symbol_part *parts, size_t nr,
				       struct error *error)
{
	struct symbol_table *table = symbol_table_new();
	int err = table ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; i < nr && err == 0; i++) {
		struct reader reader = {.table = table, .error = error};

		err = read_part(&reader, &parts[i]);
	}
	if (err == 0)
		err = symbol_table_settle(table);
	if (err == 0)
		return table;
	if (err == -ENOMEM)
		(void)error_set(error, err, "out of memory for symbols");
	symbol_table_free(table);
	return NULL;
}
