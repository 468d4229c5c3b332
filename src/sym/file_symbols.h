/*
 * The function names of one file, from several sources in order of trust, and a cache of them
 * across calls. The last source has only start addresses, for functions without a name. A source is
 * read when the sources before it have no name for an address, and never twice. If a debug file could not be looked
 * for, the symbols are provisional: they are to be read anew another time.
 */
#ifndef STOOK_SYM_FILE_SYMBOLS_H
#define STOOK_SYM_FILE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image/elf_image.h"
#include "sym/debug_files.h"

struct file_symbols;

/* Where symbols are read from. The caller owns the pointers. */
struct file_symbols_input {
	struct code_file *file;
	const struct elf_image *image; /* of the file; NULL if it can't be read */
	const struct debug_places *places;
	struct read_budget *budget; /* NULL: none. A source cut short by it is retried later */
	bool raw_aliases;	    /* of a function's aliases, use the one that perf shows */
	bool no_starts;		    /* don't look up starts of functions without a name */
};

struct file_symbols *file_symbols_new(void); /* NULL when out of memory */
void file_symbols_free(struct file_symbols *symbols);

struct file_function {
	const char *name; /* mangled; "": only the start is known; NULL: not found */
	uint64_t start;	  /* as linked */
};

/*
 * Finds the function at a link-time address. The name is valid until file_symbols_free(). 0 or
 * -ENOMEM.
 */
int file_symbols_find(struct file_symbols *symbols, const struct file_symbols_input *input,
		      uint64_t vaddr, struct file_function *ret);

bool file_symbols_are_provisional(const struct file_symbols *symbols);
size_t file_symbols_bytes(const struct file_symbols *symbols);	   /* memory held */
size_t file_symbols_nr_failed(const struct file_symbols *symbols); /* malformed sources */

/* --- a cache of them -------------------------------------------------------------------------- */

struct symbol_cache;

struct symbol_cache *symbol_cache_new(size_t max_bytes);	       /* NULL when out of memory */
void symbol_cache_limit(struct symbol_cache *cache, size_t max_bytes); /* from now on */
void symbol_cache_free(struct symbol_cache *cache);

/* The identity of a file: build id and size if there is a trusted build id, else a number. */
struct symbol_cache_key {
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	size_t build_id_bytes; /* 0: none, or not trusted */
	uint64_t file_bytes;
	/* Not compared if there is a build id. */
	uint64_t number;
	uint64_t changed_ns; /* what was read before the file was changed is dropped; 0: unknown */
};

/*
 * Returns the symbols of a file, created empty if it is new; valid until the next call. NULL when
 * out of memory.
 */
struct file_symbols *symbol_cache_get(struct symbol_cache *cache,
				      const struct symbol_cache_key *key);

/* Forgets the symbols that symbol_cache_get() returned last. */
void symbol_cache_drop_last(struct symbol_cache *cache);

size_t symbol_cache_nr(const struct symbol_cache *cache);
size_t symbol_cache_bytes(struct symbol_cache *cache);

#endif
