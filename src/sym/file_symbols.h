/*
 * The names of one file's functions, from all the sources that there may be, in order of trust. A
 * source is read when an address has no name in those before it, and never twice.
 */
#ifndef STOOK_SYM_FILE_SYMBOLS_H
#define STOOK_SYM_FILE_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "elf/image/elf_image.h"
#include "sym/code_file.h"
#include "sym/debug_files.h"

struct debuginfod;

struct file_symbols;

/* What they are read from; the caller's, good for one call. */
struct file_symbols_input {
	struct code_file *file;
	const struct elf_image *image; /* of the file; NULL if it is not to be had */
	const struct debug_places *places;
	struct debuginfod *debuginfod; /* NULL: nobody is to be asked */
};

struct file_symbols *file_symbols_new(void); /* NULL when out of memory */
void file_symbols_free(struct file_symbols *symbols);

/*
 * The name of the function that covers an address, as linked, and as it is in the file (mangled):
 * *ret is NULL if no source has one, else good until the free. 0 or -ENOMEM.
 */
int file_symbols_find(struct file_symbols *symbols, const struct file_symbols_input *input,
		      uint64_t vaddr, const char **ret);

size_t file_symbols_bytes(const struct file_symbols *symbols);	   /* memory held */
size_t file_symbols_nr_failed(const struct file_symbols *symbols); /* sources that made no sense */

#endif
