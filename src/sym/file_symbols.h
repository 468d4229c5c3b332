/*
 * The names of one file's functions, from all sources that there may be, in order of trust; last comes
 * where functions begin, for those whose name is nowhere. And the cache that keeps them from one call
 * to the next. A source is read when an address has no name in the ones before it, and never twice.
 */
#ifndef STOOK_SYM_FILE_SYMBOLS_H
#define STOOK_SYM_FILE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image/elf_image.h"
#include "sym/debug_files.h"

struct debuginfod;

struct file_symbols;

/* Where symbols are read from. The pointers stay the caller's. */
struct file_symbols_input {
	struct code_file *file;
	const struct elf_image *image; /* of the file; NULL if it is not to be had */
	const struct debug_places *places;
	struct debuginfod *debuginfod; /* NULL: nobody is to be asked */
	struct read_budget *budget; /* NULL: none. A source that it cuts short is not tried yet */
	bool raw_aliases;	    /* of a function's names the one that perf shows */
	bool no_starts;		    /* a function without a name is not looked for */
};

struct file_symbols *file_symbols_new(void); /* NULL when out of memory */
void file_symbols_free(struct file_symbols *symbols);

struct file_function {
	const char
		*name;	/* as in the file, mangled; "": only the start is known; NULL: nothing is */
	uint64_t start; /* as linked */
};

/*
 * The function that covers an address, as linked; its name is good until the free. 0 or -ENOMEM.
 */
int file_symbols_find(struct file_symbols *symbols, const struct file_symbols_input *input,
		      uint64_t vaddr, struct file_function *ret);

size_t file_symbols_bytes(const struct file_symbols *symbols);	   /* memory held */
size_t file_symbols_nr_failed(const struct file_symbols *symbols); /* malformed sources */

/* --- a cache of them -------------------------------------------------------------------------- */

struct symbol_cache;

struct symbol_cache *symbol_cache_new(size_t max_bytes); /* NULL when out of memory */
void symbol_cache_free(struct symbol_cache *cache);

/* The identity of a file: build id and size if there is a trusted build id, else a number. */
struct symbol_cache_key {
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	size_t build_id_bytes; /* 0: none to be believed */
	uint64_t file_bytes;
	uint64_t number; /* not compared if there is a build id */
};

/* The symbols of a file, empty ones if it is new; good until the next call. NULL when out of memory. */
struct file_symbols *symbol_cache_get(struct symbol_cache *cache,
				      const struct symbol_cache_key *key);

size_t symbol_cache_nr(const struct symbol_cache *cache);
size_t symbol_cache_bytes(struct symbol_cache *cache);

#endif
