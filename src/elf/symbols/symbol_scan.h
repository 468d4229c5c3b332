/*
 * The symbols of an image's symbol tables, one after the other as they lie in the file, for those
 * in this folder who make something of them.
 */
#ifndef STOOK_ELF_SYMBOLS_SYMBOL_SCAN_H
#define STOOK_ELF_SYMBOLS_SYMBOL_SCAN_H

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "elf/image/elf_image.h"

/* An executable section's addresses. */
struct code_range {
	uint64_t start, end;
};

struct symbol_scan {
	const struct elf_image *image;
	struct error *error;	 /* of the open; filled by all that fails */
	struct code_range *code; /* by start */
	size_t nr_code;
	GElf_Shdr symtab, dynsym; /* sh_type is 0 if there is none */
};

/* An array of its user's, in which the strings of tables gather, one behind the other. */
struct symbol_strings {
	char **bytes;
	size_t *nr, *capacity;
};

/* name: where it begins in the strings; it ends there, and before a version `@…`. */
typedef int symbol_visit(void *context, const Elf64_Sym *symbol, uint32_t name);

/* 0, -ENOEXEC or -ENOMEM; then there is nothing to close. */
int symbol_scan_open(struct symbol_scan *scan, const struct elf_image *image, struct error *error);
void symbol_scan_close(struct symbol_scan *scan);

/*
 * Reads some tables (SYMBOLS_… of symbol_table.h) and visits each symbol whose name is there.
 * visit()'s first negative result ends it and is returned; -ENOEXEC and -ENOMEM also of its own.
 */
int symbol_scan_read(struct symbol_scan *scan, unsigned tables,
		     const struct symbol_strings *strings, symbol_visit *visit, void *context);

/* The code that a function starts in; NULL if it does not, or the symbol is of no section. */
const struct code_range *symbol_scan_code(const struct symbol_scan *scan, const Elf64_Sym *symbol);

/* The two ways to fail, for visitors too: fill *error, return -ENOEXEC or -ENOMEM. */
int symbol_scan_refuse(const struct symbol_scan *scan, const char *why);
int symbol_scan_out_of_memory(const struct symbol_scan *scan);

#endif
