/*
 * Functions by address: appended in any order, sorted once, then found by binary search.
 *
 * Sorting is a radix sort by address only: one pass for each byte in which the addresses differ,
 * three to five in a program, from the lowest byte to the highest; each pass is stable. With
 * qsort_r(), loading the symbols of a large program takes twice as long.
 *
 * Among the symbols at one address, the best is then chosen in one pass: one with a size; then one
 * with a type; then the name that programmers use. A C library has `write` beside __write,
 * __libc_write and __GI___libc_write, and callers use the first one, which is weak. So an exported
 * name is preferred to a local one, then a name without the library's own prefixes and leading
 * underscores, then the shorter one. perf uses other criteria (see symbol_name_compare()); where it
 * would show another name, perf's name is stored in a separate array.
 *
 * A symbol of size 0 extends to the next symbol or the end of its section, as in perf; after a
 * symbol with a size there may be a gap without a symbol. (addr2line names gaps after the symbol
 * before them; in a stripped library that is some exported function, and wrong.) A symbol without a
 * type, an assembly label, is used only where no other symbol covers the address.
 *
 * ELF symbol tables: the string tables are read completely, one after the other, into one block
 * that names point into. The symbol tables are read in small pieces, so the peak is the strings
 * plus 16 bytes per function, or twice that while sorting.
 *
 * Functions are STT_FUNC and STT_GNU_IFUNC in an executable section, and STT_NOTYPE there (assembly
 * labels). The section is found by the address, because `objcopy -R` removes sections without
 * adjusting the section numbers in .dynsym. It is looked up in the image that has the symbol: a
 * debug file has the headers of all sections, though not their content.
 *
 * Not supported: symbols without section headers (PT_DYNAMIC only).
 */
#include "elf/symbols/symbol_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/symbols/symbol_table_state.h"

/* --- sorting by address ---------------------------------------------------------------------- */

struct items {
	size_t nr, item_bytes;
};

static uint64_t address_at(const struct items *items, const uint8_t *bytes, size_t i)
{
	uint64_t address;

	memcpy(&address, bytes + i * items->item_bytes, sizeof(address));
	return address;
}

/* Sorts items by one byte of their addresses; false if all are equal in it. */
static bool sort_by_byte(const struct items *items, const uint8_t *from, uint8_t *to,
			 unsigned shift)
{
	size_t places[256] = {0}, i, at = 0;

	for (i = 0; i < items->nr; i++)
		places[address_at(items, from, i) >> shift & 0xff]++;
	if (places[address_at(items, from, 0) >> shift & 0xff] == items->nr)
		return false;
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		size_t here = places[i];

		places[i] = at;
		at += here;
	}
	for (i = 0; i < items->nr; i++) {
		at = places[address_at(items, from, i) >> shift & 0xff]++;
		memcpy(to + at * items->item_bytes, from + i * items->item_bytes,
		       items->item_bytes);
	}
	return true;
}

int address_sort(void *items, size_t nr, size_t item_bytes)
{
	const struct items all = {nr, item_bytes};
	uint8_t *from = items, *to, *spare;
	unsigned shift;
	size_t i;

	for (i = 1; i < nr; i++)
		if (address_at(&all, from, i - 1) > address_at(&all, from, i))
			break;
	if (i >= nr)
		return 0;
	to = spare = malloc(nr * item_bytes);
	if (!spare)
		return -ENOMEM;
	for (shift = 0; shift < 64; shift += 8) {
		uint8_t *last = from;

		if (!sort_by_byte(&all, from, to, shift))
			continue;
		from = to;
		to = last;
	}
	if (from == spare)
		memcpy(items, spare, nr * item_bytes);
	free(spare);
	return 0;
}

/* Limit of symbols, against hostile files; twice the limit of one ELF table. */
#define SYMBOLS_MAX (32u << 20)

#define NESTED_MAX     1024 /* nested symbols that a lookup may skip */
#define COMPARED_BYTES 256  /* of a name, when choosing an alias */

struct symbol_table *symbol_table_new(void)
{
	return calloc(1, sizeof(struct symbol_table));
}

void symbol_table_free(struct symbol_table *table)
{
	if (!table)
		return;
	free(table->symbols);
	free(table->others);
	free(table->strings);
	free(table);
}

/* --- adding ---------------------------------------------------------------------------------- */

int symbol_table_append(struct symbol_table *table, const struct symbol *symbol)
{
	if (table->nr == SYMBOLS_MAX)
		return -E2BIG;
	return ARRAY_ADD(table->symbols, table->nr, table->capacity, *symbol);
}

int symbol_table_add(struct symbol_table *table, uint64_t start, uint64_t bytes, const char *name)
{
	size_t nr = strlen(name) + 1;
	struct symbol symbol = {
		.start = start,
		.name = (uint32_t)table->nr_string_bytes,
		.rank = SYMBOL_SIZED | SYMBOL_TYPED | SYMBOL_NOT_WEAK | SYMBOL_GLOBAL,
	};
	int err;

	if (nr > SYMBOL_STRINGS_MAX_BYTES - table->nr_string_bytes)
		return -E2BIG;
	if (bytes > UINT64_MAX - start)
		bytes = UINT64_MAX - start;
	symbol.bytes = bytes < SYMBOL_MAX_BYTES ? (uint32_t)bytes : SYMBOL_MAX_BYTES;
	if (ARRAY_RESERVE(table->strings, table->string_capacity, table->nr_string_bytes + nr) < 0)
		return -ENOMEM;
	err = symbol_table_append(table, &symbol);
	if (err < 0)
		return err;
	memcpy(table->strings + table->nr_string_bytes, name, nr);
	table->nr_string_bytes += nr;
	return 0;
}

/* --- choosing -------------------------------------------------------------------------------- */

/*
 * Number of underscores at the beginning of a name, within its first nr bytes: hostile names may be
 * megabytes long.
 */
static size_t nr_underscores(const char *name, size_t nr)
{
	size_t i = 0;

	while (i < nr && name[i] == '_')
		i++;
	return i;
}

int symbol_name_compare(const char *a, const char *b)
{
	size_t length_a = strnlen(a, COMPARED_BYTES), length_b = strnlen(b, COMPARED_BYTES);
	size_t underscores_a = nr_underscores(a, length_a);
	size_t underscores_b = nr_underscores(b, length_b);

	return COMPARE(underscores_a, underscores_b)
		       ?: COMPARE(length_b, length_a) ?: strncmp(a, b, COMPARED_BYTES);
}

static bool is_better_for_perf(const struct symbol_table *table, const struct symbol *a,
			       const struct symbol *b)
{
	if (a->rank != b->rank)
		return a->rank > b->rank;
	return a->name != b->name &&
	       symbol_name_compare(table->strings + a->name, table->strings + b->name) < 0;
}

/* Prefixes that glibc uses for its functions internally. */
static bool is_internal(const char *name)
{
	return !strncmp(name, "__GI_", 5) || !strncmp(name, "__libc_", 7);
}

/* Neither weak nor global. */
static bool is_local(const struct symbol *symbol)
{
	return (symbol->rank & (SYMBOL_GLOBAL | SYMBOL_NOT_WEAK)) == SYMBOL_NOT_WEAK;
}

/* Negative if a's name is the one that programmers use, positive if b's. */
static int compare_use(const struct symbol_table *table, const struct symbol *a,
		       const struct symbol *b)
{
	const char *name_a = table->strings + a->name, *name_b = table->strings + b->name;
	size_t length_a = strnlen(name_a, COMPARED_BYTES),
	       length_b = strnlen(name_b, COMPARED_BYTES);

	return COMPARE(is_local(a), is_local(b))
		       ?: COMPARE(is_internal(name_a), is_internal(name_b))
		       ?: COMPARE(nr_underscores(name_a, length_a), nr_underscores(name_b, length_b))
		       ?: COMPARE(length_a, length_b) ?: strncmp(name_a, name_b, COMPARED_BYTES);
}

static bool is_better(const struct symbol_table *table, const struct symbol *a,
		      const struct symbol *b)
{
	const unsigned first = SYMBOL_SIZED | SYMBOL_TYPED;

	if ((a->rank ^ b->rank) & first)
		return (a->rank & first) > (b->rank & first);
	return a->name != b->name && compare_use(table, a, b) < 0;
}

/*
 * The best symbol among those starting at symbols[*i]'s address, and in *ret_for_perf perf's
 * choice; advances *i past them.
 */
static struct symbol best_of_start(const struct symbol_table *table, size_t *i,
				   struct symbol *ret_for_perf)
{
	const struct symbol *best = &table->symbols[*i], *for_perf = best;
	uint64_t start = best->start;

	while (++*i < table->nr && table->symbols[*i].start == start) {
		if (is_better(table, &table->symbols[*i], best))
			best = &table->symbols[*i];
		if (is_better_for_perf(table, &table->symbols[*i], for_perf))
			for_perf = &table->symbols[*i];
	}
	*ret_for_perf = *for_perf;
	return *best;
}

/* Records perf's name if it is another one. 0 or -ENOMEM. */
static int keep_other(struct symbol_table *table, const struct symbol *symbol,
		      const struct symbol *for_perf)
{
	const char *strings = table->strings;

	if (symbol->name == for_perf->name ||
	    !strncmp(strings + symbol->name, strings + for_perf->name, COMPARED_BYTES))
		return 0;
	return ARRAY_ADD(table->others, table->nr_others, table->cap_others,
			 (struct other_name){for_perf->start, for_perf->name});
}

/*
 * Keeps one symbol per address, sets the ends of those without a size, and marks nested ones. 0 or
 * -ENOMEM.
 */
static int choose(struct symbol_table *table)
{
	uint64_t reach = 0; /* the highest end of the symbols so far */
	size_t i = 0, nr = 0;

	while (i < table->nr) {
		struct symbol for_perf, symbol = best_of_start(table, &i, &for_perf);
		uint64_t room =
			(i < table->nr ? table->symbols[i].start : UINT64_MAX) - symbol.start;

		if (symbol.start < reach && !(symbol.rank & SYMBOL_TYPED))
			continue;
		if (keep_other(table, &symbol, &for_perf) < 0)
			return -ENOMEM;
		if (!(symbol.rank & SYMBOL_SIZED)) {
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
	return 0;
}

int symbol_table_settle(struct symbol_table *table)
{
	int err = address_sort(table->symbols, table->nr, sizeof(*table->symbols));

	if (err == 0)
		err = choose(table);
	if (err < 0)
		return err;
	array_shrink(&table->others, &table->cap_others, table->nr_others, sizeof(*table->others));
	array_shrink(&table->symbols, &table->capacity, table->nr, sizeof(*table->symbols));
	array_shrink(&table->strings, &table->string_capacity, table->nr_string_bytes, 1);
	return 0;
}

/* --- looking up ------------------------------------------------------------------------------ */

const char *symbol_table_find(const struct symbol_table *table, uint64_t vaddr, uint64_t *ret_start)
{
	size_t i = ARRAY_NR_UP_TO(table->symbols, table->nr, start, vaddr);
	size_t last = i > NESTED_MAX ? i - NESTED_MAX : 0;

	/* The nearest symbol may end before vaddr, nested in a longer one that starts earlier. */
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

const char *symbol_table_find_for_perf(const struct symbol_table *table, uint64_t vaddr,
				       uint64_t *ret_start)
{
	uint64_t start;
	const char *name = symbol_table_find(table, vaddr, &start);
	size_t i = name ? ARRAY_NR_BELOW(table->others, table->nr_others, start, start) : 0;

	if (name && ret_start)
		*ret_start = start;
	if (!name || i == table->nr_others || table->others[i].start != start)
		return name;
	return table->strings + table->others[i].name;
}

size_t symbol_table_nr(const struct symbol_table *table)
{
	return table->nr;
}

size_t symbol_table_bytes(const struct symbol_table *table)
{
	return sizeof(*table) + table->capacity * sizeof(*table->symbols) +
	       table->cap_others * sizeof(*table->others) + table->string_capacity;
}

/* --- the symbols of an image ----------------------------------------------------------------- */

#define SCANNED_MAX (16u << 20) /* per table, not only functions; the largest have a quarter */
#define CHUNK_BYTES (64u << 10) /* of a symbol table, in memory at a time */

static int refuse(const struct symbol_scan *scan, const char *why)
{
	return error_set(scan->error, -ENOEXEC, "invalid symbol table: %s", why);
}

/* --- sections -------------------------------------------------------------------------------- */

static int compare_code(const void *left, const void *right)
{
	const struct code_range *a = left, *b = right;

	return COMPARE(a->start, b->start);
}

static int read_sections(struct symbol_scan *scan)
{
	Elf *elf = scan->image->elf;
	size_t i, nr_sections;
	GElf_Shdr header;

	if (elf_getshdrnum(elf, &nr_sections) < 0)
		return refuse(scan, elf_errmsg(-1));
	scan->code = calloc(nr_sections + 1, sizeof(*scan->code));
	if (!scan->code)
		return error_no_memory(scan->error, "for symbols");
	for (i = 0; i < nr_sections; i++) {
		if (!gelf_getshdr(elf_getscn(elf, i), &header))
			return refuse(scan, elf_errmsg(-1));
		/*
		 * An empty section may have the same address as one with code, and must not hide
		 * it.
		 */
		if (header.sh_flags & SHF_EXECINSTR && header.sh_size &&
		    header.sh_size <= UINT64_MAX - header.sh_addr)
			scan->code[scan->nr_code++] = (struct code_range){
				header.sh_addr, header.sh_addr + header.sh_size};
		if (header.sh_type == SHT_SYMTAB && !scan->symtab.sh_type)
			scan->symtab = header;
		if (header.sh_type == SHT_DYNSYM && !scan->dynsym.sh_type)
			scan->dynsym = header;
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
	const struct code_range *code = scan->code;
	size_t nr = ARRAY_NR_UP_TO(code, scan->nr_code, start, symbol->st_value);

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE)
		return NULL;
	return nr && symbol->st_value < code[nr - 1].end ? &code[nr - 1] : NULL;
}

/* --- strings --------------------------------------------------------------------------------- */

/*
 * Terminates every name at its version: `read@@GLIBC_2.2.5` becomes `read`. Names may share
 * suffixes, but each name that contains the '@' would end there anyway.
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

/* Appends a symbol table's strings to the ones read before; *ret_nr is the number of bytes. */
static int read_strings(struct symbol_scan *scan, const GElf_Shdr *symbols,
			const struct symbol_strings *strings, size_t *ret_nr)
{
	size_t base = *strings->nr;
	GElf_Shdr header;
	char *bytes;

	if (!gelf_getshdr(elf_getscn(scan->image->elf, symbols->sh_link), &header) ||
	    header.sh_type != SHT_STRTAB)
		return refuse(scan, "missing string table");
	if (header.sh_size > scan->image->bytes ||
	    header.sh_size >= SYMBOL_STRINGS_MAX_BYTES - base)
		return refuse(scan, "string table too large");
	bytes = realloc(*strings->bytes, base + header.sh_size + 1);
	if (!bytes)
		return error_no_memory(scan->error, "for symbols");
	*strings->bytes = bytes;
	*strings->capacity = base + header.sh_size + 1;
	if (elf_image_read(scan->image, header.sh_offset, bytes + base, header.sh_size) < 0)
		return refuse(scan, "unreadable string table");
	bytes[base + header.sh_size] = '\0';
	cut_versions(bytes + base, header.sh_size);
	*strings->nr = base + header.sh_size + 1;
	*ret_nr = header.sh_size;
	return 0;
}

/* --- symbols --------------------------------------------------------------------------------- */

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

static int read_table(struct symbol_scan *scan, const GElf_Shdr *header,
		      const struct symbol_strings *strings, symbol_visit *visit, void *context)
{
	bool is_64 = scan->image->is_64;
	size_t entry = is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	size_t base = *strings->nr, nr_string_bytes = 0, at, nr, i;
	cleanup_free void *chunk = NULL;
	int err;

	if (!header->sh_type)
		return 0;
	if (header->sh_size / entry > SCANNED_MAX)
		return refuse(scan, "too many symbols");
	err = read_strings(scan, header, strings, &nr_string_bytes);
	if (err < 0)
		return err;
	chunk = malloc(CHUNK_BYTES);
	if (!chunk)
		return error_no_memory(scan->error, "for symbols");
	for (at = 0; at + entry <= header->sh_size; at += nr * entry) {
		nr = (header->sh_size - at < CHUNK_BYTES ? header->sh_size - at : CHUNK_BYTES) /
		     entry;
		if (elf_image_read(scan->image, header->sh_offset + at, chunk, nr * entry) < 0)
			return refuse(scan, "unreadable section");
		for (i = 0; i < nr; i++) {
			Elf64_Sym symbol = is_64 ? ((const Elf64_Sym *)chunk)[i]
						 : widened((const Elf32_Sym *)chunk + i);

			if (symbol.st_name >= nr_string_bytes)
				continue;
			err = visit(context, &symbol, (uint32_t)(base + symbol.st_name));
			if (err < 0)
				return err;
		}
	}
	return 0;
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

/* --- from an image to a table ---------------------------------------------------------------- */

struct reader {
	struct symbol_scan scan;
	struct symbol_table *table;
};

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

/* Adds the symbol if it is a function. */
static int take_symbol(void *context, const Elf64_Sym *symbol, uint32_t name)
{
	struct reader *reader = context;
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	const char *text = reader->table->strings + name;
	struct symbol added = {.start = symbol->st_value, .name = name};
	const struct code_range *code;
	uint64_t bytes;
	int err;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return 0;
	code = symbol_scan_code(&reader->scan, symbol);
	/* Mapping symbols: `$x`, `$d.42` mark code and data on arm64, and are not functions. */
	if (!code || !text[0] ||
	    (type == STT_NOTYPE && text[0] == '$' && text[1] && (!text[2] || text[2] == '.')))
		return 0;
	bytes = code->end - symbol->st_value; /* the rest of the section */
	if (symbol->st_size && symbol->st_size < bytes)
		bytes = symbol->st_size;
	added.bytes = bytes < SYMBOL_MAX_BYTES ? (uint32_t)bytes : SYMBOL_MAX_BYTES;
	added.rank = rank_of(symbol);
	err = symbol_table_append(reader->table, &added);
	if (err == -E2BIG)
		return refuse(&reader->scan, "too many symbols");
	return err < 0 ? error_no_memory(reader->scan.error, "for symbols") : 0;
}

static int read_part(struct symbol_table *table, const struct symbol_part *part,
		     struct error *error)
{
	const struct symbol_strings strings = {&table->strings, &table->nr_string_bytes,
					       &table->string_capacity};
	struct reader reader = {.table = table};
	int err = symbol_scan_open(&reader.scan, part->image, error);

	if (err < 0)
		return err;
	err = symbol_scan_read(&reader.scan, part->tables, &strings, take_symbol, &reader);
	symbol_scan_close(&reader.scan);
	return err;
}

struct symbol_table *symbol_table_read(const struct symbol_part *parts, size_t nr,
				       struct error *error)
{
	struct symbol_table *table = symbol_table_new();
	int err = table ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; i < nr && err == 0; i++)
		err = read_part(table, &parts[i], error);
	if (err == 0)
		err = symbol_table_settle(table);
	if (err == 0)
		return table;
	if (err == -ENOMEM)
		(void)error_no_memory(error, "for symbols");
	symbol_table_free(table);
	return NULL;
}
