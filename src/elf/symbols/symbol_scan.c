/*
 * Reading symbol tables. The string tables are read whole, one behind the other, into one block
 * that names point into. The symbol tables pass by in small pieces, so the peak is the strings and
 * what is made of the symbols.
 *
 * What is code: an executable section. It is found by the address: `objcopy -R` takes sections out
 * without adjusting the numbers in .dynsym. It is looked for in the image that has the symbol: a
 * file of debug information has the headers of all sections, though not their bytes.
 *
 * Left out on purpose: symbols without section headers (PT_DYNAMIC only).
 */
#include "elf/symbols/symbol_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/symbols/symbol_table.h"
#include "elf/symbols/symbol_table_state.h"

#define SYMBOLS_MAX (16u << 20) /* of one table, functions or not; the largest have a quarter */
#define CHUNK_BYTES (64u << 10) /* of a symbol table, in memory at one time */

int symbol_scan_refuse(const struct symbol_scan *scan, const char *why)
{
	return error_set(scan->error, -ENOEXEC, "no sound symbol table: %s", why);
}

int symbol_scan_out_of_memory(const struct symbol_scan *scan)
{
	return error_set(scan->error, -ENOMEM, "out of memory for symbols");
}

/* --- sections ------------------------------------------------------------------------------ */

/* An empty section may share the address of one that has code, and must not hide it. */
static void take_section(struct symbol_scan *scan, const GElf_Shdr *header)
{
	if (header->sh_flags & SHF_EXECINSTR && header->sh_size &&
	    header->sh_size <= UINT64_MAX - header->sh_addr)
		scan->code[scan->nr_code++] =
			(struct code_range){header->sh_addr, header->sh_addr + header->sh_size};
	if (header->sh_type == SHT_SYMTAB && !scan->symtab.sh_type)
		scan->symtab = *header;
	if (header->sh_type == SHT_DYNSYM && !scan->dynsym.sh_type)
		scan->dynsym = *header;
}

static int compare_code(const void *left, const void *right)
{
	const struct code_range *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static int read_sections(struct symbol_scan *scan)
{
	Elf *elf = scan->image->elf;
	size_t i, nr_sections;
	GElf_Shdr header;

	if (elf_getshdrnum(elf, &nr_sections) < 0)
		return symbol_scan_refuse(scan, elf_errmsg(-1));
	scan->code = calloc(nr_sections + 1, sizeof(*scan->code));
	if (!scan->code)
		return symbol_scan_out_of_memory(scan);
	for (i = 0; i < nr_sections; i++) {
		if (!gelf_getshdr(elf_getscn(elf, i), &header))
			return symbol_scan_refuse(scan, elf_errmsg(-1));
		take_section(scan, &header);
	}
	qsort(scan->code, scan->nr_code, sizeof(*scan->code), compare_code);
	return 0;
}

int symbol_scan_open(struct symbol_scan *scan, const struct elf_image *image, struct error *error)
{
	int err;

	*scan = (struct symbol_scan){.image = image, .error = error};
	err = read_sections(scan);
	if (err < 0)
		symbol_scan_close(scan);
	return err;
}

void symbol_scan_close(struct symbol_scan *scan)
{
	free(scan->code);
	*scan = (struct symbol_scan){0};
}

const struct code_range *symbol_scan_code(const struct symbol_scan *scan, const Elf64_Sym *symbol)
{
	uint64_t vaddr = symbol->st_value;
	size_t low = 0, high = scan->nr_code;

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (scan->code[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && vaddr < scan->code[low - 1].end ? &scan->code[low - 1] : NULL;
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
static int read_strings(struct symbol_scan *scan, const GElf_Shdr *symbols,
			const struct symbol_strings *strings, size_t *ret_nr)
{
	size_t base = *strings->nr;
	GElf_Shdr header;
	char *bytes;

	if (!gelf_getshdr(elf_getscn(scan->image->elf, symbols->sh_link), &header) ||
	    header.sh_type != SHT_STRTAB)
		return symbol_scan_refuse(scan, "its strings are missing");
	if (header.sh_size > scan->image->bytes ||
	    header.sh_size >= SYMBOL_STRINGS_MAX_BYTES - base)
		return symbol_scan_refuse(scan, "its strings are too long");
	bytes = realloc(*strings->bytes, base + header.sh_size + 1);
	if (!bytes)
		return symbol_scan_out_of_memory(scan);
	*strings->bytes = bytes;
	*strings->capacity = base + header.sh_size + 1;
	if (elf_image_read(scan->image, header.sh_offset, bytes + base, header.sh_size) < 0)
		return symbol_scan_refuse(scan, "its strings cannot be read");
	bytes[base + header.sh_size] = '\0';
	cut_versions(bytes + base, header.sh_size);
	*strings->nr = base + header.sh_size + 1;
	*ret_nr = header.sh_size;
	return 0;
}

/* --- symbols ------------------------------------------------------------------------------- */

/* A symbol table that is being read. */
struct pass {
	const struct symbol_scan *scan;
	symbol_visit *visit;
	void *context;
	size_t base, nr_strings; /* where its strings are */
};

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

static int visit_chunk(const struct pass *pass, const void *chunk, size_t nr)
{
	const Elf64_Sym *wide = chunk;
	const Elf32_Sym *narrow = chunk;
	size_t i;
	int err = 0;

	for (i = 0; i < nr && err >= 0; i++) {
		Elf64_Sym symbol = pass->scan->image->is_64 ? wide[i] : widened(&narrow[i]);

		if (symbol.st_name < pass->nr_strings)
			err = pass->visit(pass->context, &symbol,
					  (uint32_t)(pass->base + symbol.st_name));
	}
	return err < 0 ? err : 0;
}

static int visit_symbols(const struct pass *pass, const GElf_Shdr *header, size_t entry)
{
	cleanup_free void *chunk = malloc(CHUNK_BYTES);
	size_t at, nr;
	int err;

	if (!chunk)
		return symbol_scan_out_of_memory(pass->scan);
	for (at = 0; at + entry <= header->sh_size; at += nr * entry) {
		nr = (header->sh_size - at < CHUNK_BYTES ? header->sh_size - at : CHUNK_BYTES) /
		     entry;
		if (elf_image_read(pass->scan->image, header->sh_offset + at, chunk, nr * entry) <
		    0)
			return symbol_scan_refuse(pass->scan, "it cannot be read");
		err = visit_chunk(pass, chunk, nr);
		if (err < 0)
			return err;
	}
	return 0;
}

static int read_table(struct symbol_scan *scan, const GElf_Shdr *header,
		      const struct symbol_strings *strings, symbol_visit *visit, void *context)
{
	size_t entry = scan->image->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	struct pass pass = {scan, visit, context, *strings->nr, 0};
	int err;

	if (!header->sh_type)
		return 0;
	if (header->sh_size / entry > SYMBOLS_MAX)
		return symbol_scan_refuse(scan, "it has too many symbols");
	err = read_strings(scan, header, strings, &pass.nr_strings);
	return err < 0 ? err : visit_symbols(&pass, header, entry);
}

int symbol_scan_read(struct symbol_scan *scan, unsigned tables,
		     const struct symbol_strings *strings, symbol_visit *visit, void *context)
{
	int err = 0;

	if (tables & SYMBOLS_STATIC)
		err = read_table(scan, &scan->symtab, strings, visit, context);
	if (err == 0 && tables & SYMBOLS_DYNAMIC)
		err = read_table(scan, &scan->dynsym, strings, visit, context);
	return err;
}
