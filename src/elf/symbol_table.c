/*
 * Function symbols, read in one pass and sorted once.
 *
 * The string tables are read whole, one behind the other, into one block that the names point
 * into. The symbol tables pass by in small pieces, so the peak is the strings plus 16 bytes for
 * each function (twice that while qsort merges).
 *
 * What is a function: STT_FUNC and STT_GNU_IFUNC in an executable section, and STT_NOTYPE there,
 * the labels of assembly, where no other symbol covers the place. The section is found by the
 * address: `objcopy -R` takes sections out without adjusting the numbers in .dynsym. A symbol of
 * size 0 reaches to the next symbol or the end of its section, as with perf; behind a symbol that
 * has a size there is a gap without a name. (addr2line names gaps after the symbol before them: in
 * a stripped library that is some exported function, and wrong.)
 *
 * Of several symbols at one address perf's choice is kept: one with a size; then one with a type;
 * then not weak; then global; then the name as symbol_name_compare() says.
 *
 * Left out on purpose: symbols without section headers (PT_DYNAMIC only), names for PLT slots.
 */
#include "elf/symbol_table.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

/* What a hostile file can make us hold; the largest programs have a quarter of it. */
#define STRINGS_MAX_BYTES (512u << 20)
#define SYMBOLS_MAX	  (16u << 20) /* of one table, functions or not */

#define CHUNK_BYTES	   (64u << 10) /* of a symbol table, in memory at one time */
#define FUNCTION_MAX_BYTES ((1u << 27) - 1)
#define NESTED_MAX	   1024 /* symbols inside another that a lookup steps over */
#define COMPARED_BYTES	   256	/* of a name, when choosing an alias */

enum rank {
	RANK_GLOBAL = 1 << 0,
	RANK_NOT_WEAK = 1 << 1,
	RANK_TYPED = 1 << 2,
	RANK_SIZED = 1 << 3,
};

struct symbol {
	uint64_t start;
	uint32_t name; /* offset in the strings */
	uint32_t bytes : 27;
	uint32_t nested : 1; /* an earlier symbol reaches past the end of this one */
	uint32_t rank : 4;   /* of enum rank; the greatest of one address wins */
};

struct symbol_table {
	struct symbol *symbols; /* by start, all different */
	size_t nr, capacity;
	char *strings;
	size_t nr_string_bytes;
};

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

static void take_section(struct reader *reader, const GElf_Shdr *header)
{
	if (header->sh_flags & SHF_EXECINSTR && header->sh_size <= UINT64_MAX - header->sh_addr)
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
	if (header.sh_size > reader->image->bytes || header.sh_size >= STRINGS_MAX_BYTES - base)
		return refuse(reader, "its strings are too long");
	strings = realloc(table->strings, base + header.sh_size + 1);
	if (!strings)
		return out_of_memory(reader);
	table->strings = strings;
	if (elf_image_read(reader->image, header.sh_offset, strings + base, header.sh_size) < 0)
		return refuse(reader, "its strings cannot be read");
	strings[base + header.sh_size] = '\0';
	cut_versions(strings + base, header.sh_size);
	table->nr_string_bytes = base + header.sh_size + 1;
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
		rank |= RANK_GLOBAL;
	if (binding != STB_WEAK)
		rank |= RANK_NOT_WEAK;
	if (ELF64_ST_TYPE(symbol->st_info) != STT_NOTYPE)
		rank |= RANK_TYPED;
	if (symbol->st_size)
		rank |= RANK_SIZED;
	return rank;
}

static int add_symbol(struct reader *reader, const Elf64_Sym *symbol, const struct code_range *code,
		      uint32_t name)
{
	struct symbol_table *table = reader->table;
	uint64_t bytes = code->end - symbol->st_value; /* what is left of the section */

	if (symbol->st_size && symbol->st_size < bytes)
		bytes = symbol->st_size;
	if (bytes > FUNCTION_MAX_BYTES)
		bytes = FUNCTION_MAX_BYTES;
	if (array_reserve(&table->symbols, &table->capacity, table->nr + 1,
			  sizeof(*table->symbols)) < 0)
		return out_of_memory(reader);
	table->symbols[table->nr++] = (struct symbol){
		.start = symbol->st_value,
		.name = name,
		.bytes = (uint32_t)bytes,
		.rank = rank_of(symbol),
	};
	return 0;
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

/* --- choosing ------------------------------------------------------------------------------ */

int symbol_name_compare(const char *a, const char *b)
{
	size_t underscores_a = strspn(a, "_"), underscores_b = strspn(b, "_");
	size_t length_a = strnlen(a, COMPARED_BYTES), length_b = strnlen(b, COMPARED_BYTES);

	if (underscores_a != underscores_b)
		return underscores_a < underscores_b ? -1 : 1;
	if (length_a != length_b)
		return length_a > length_b ? -1 : 1;
	return strncmp(a, b, COMPARED_BYTES);
}

/* By address; of one address the symbol to keep comes first. */
static int compare_symbols(const void *left, const void *right, void *strings)
{
	const struct symbol *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank > b->rank ? -1 : 1;
	if (a->name == b->name)
		return 0;
	return symbol_name_compare((char *)strings + a->name, (char *)strings + b->name);
}

/* The address of the first symbol that does not start where symbols[i] does. */
static uint64_t next_start(const struct symbol_table *table, size_t i)
{
	uint64_t start = table->symbols[i].start;

	while (i < table->nr && table->symbols[i].start == start)
		i++;
	return i < table->nr ? table->symbols[i].start : UINT64_MAX;
}

/* Keeps one symbol of each address, ends those without a size, marks those inside others. */
static void settle(struct symbol_table *table)
{
	size_t i, nr = 0;
	uint64_t reach = 0; /* where the furthest symbol so far ends */

	for (i = 0; i < table->nr; i++) {
		struct symbol symbol = table->symbols[i];
		uint64_t room;

		if (nr && table->symbols[nr - 1].start == symbol.start)
			continue;
		if (symbol.start < reach && !(symbol.rank & RANK_TYPED))
			continue;
		if (!(symbol.rank & RANK_SIZED)) {
			room = next_start(table, i) - symbol.start;
			if (symbol.start < reach && reach - symbol.start < room)
				room = reach - symbol.start;
			if (symbol.bytes > room)
				symbol.bytes = (uint32_t)room;
		}
		symbol.nested = symbol.start + symbol.bytes < reach;
		if (symbol.start + symbol.bytes > reach)
			reach = symbol.start + symbol.bytes;
		table->symbols[nr++] = symbol;
	}
	table->nr = nr;
}

/* Gives back what the array grew too much; if that fails it is merely larger. */
static void shrink(struct symbol_table *table)
{
	struct symbol *shrunk;

	if (!table->nr)
		return;
	shrunk = realloc(table->symbols, table->nr * sizeof(*shrunk));
	if (!shrunk)
		return;
	table->symbols = shrunk;
	table->capacity = table->nr;
}

static int read_table(struct reader *reader)
{
	struct symbol_table *table = reader->table;
	int err = read_sections(reader);

	if (err == 0)
		err = read_symbols(reader, &reader->symtab);
	if (err == 0)
		err = read_symbols(reader, &reader->dynsym);
	if (err == 0 && table->nr) {
		qsort_r(table->symbols, table->nr, sizeof(*table->symbols), compare_symbols,
			table->strings);
		settle(table);
		shrink(table);
	}
	return err;
}

struct symbol_table *symbol_table_read(const struct elf_image *image, struct error *error)
{
	struct reader reader = {.image = image, .error = error};
	int err;

	reader.table = calloc(1, sizeof(*reader.table));
	if (!reader.table) {
		(void)out_of_memory(&reader);
		return NULL;
	}
	err = read_table(&reader);
	free(reader.code);
	if (err == 0)
		return reader.table;
	symbol_table_free(reader.table);
	return NULL;
}

void symbol_table_free(struct symbol_table *table)
{
	if (!table)
		return;
	free(table->symbols);
	free(table->strings);
	free(table);
}

/* --- looking up ---------------------------------------------------------------------------- */

/* How many symbols start at or before vaddr. */
static size_t nr_started(const struct symbol_table *table, uint64_t vaddr)
{
	size_t low = 0, high = table->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->symbols[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const char *symbol_table_find(const struct symbol_table *table, uint64_t vaddr, uint64_t *ret_start)
{
	size_t i = nr_started(table, vaddr);
	size_t last = i > NESTED_MAX ? i - NESTED_MAX : 0;

	/* The nearest symbol may end before vaddr inside a longer one that started earlier. */
	while (i-- > last) {
		const struct symbol *symbol = &table->symbols[i];

		if (vaddr - symbol->start < symbol->bytes) {
			if (ret_start)
				*ret_start = symbol->start;
			return table->strings + symbol->name;
		}
		if (!symbol->nested)
			break;
	}
	return NULL;
}

size_t symbol_table_nr(const struct symbol_table *table)
{
	return table->nr;
}

size_t symbol_table_bytes(const struct symbol_table *table)
{
	return sizeof(*table) + table->capacity * sizeof(*table->symbols) + table->nr_string_bytes;
}
