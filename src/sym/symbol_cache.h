/*
 * The names of files, kept from one call to the next within a limit of bytes: the one not used for
 * the longest time goes first. Files with the same build id, of the same size and below the same
 * root, are one: a build id is but a claim, and a file in a container that has copied libc's must
 * not name libc for anybody else.
 */
#ifndef STOOK_SYM_SYMBOL_CACHE_H
#define STOOK_SYM_SYMBOL_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "sym/file_symbols.h"

struct symbol_cache;

struct symbol_cache *symbol_cache_new(size_t max_bytes); /* NULL when out of memory */
void symbol_cache_free(struct symbol_cache *cache);

/* What tells files apart: by build id, size and root if there is a build id, else by a number. */
struct symbol_cache_key {
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	size_t build_id_bytes; /* 0: none */
	uint64_t file_bytes;
	int root; /* the handle of the root that it lies below, as in struct code_file; -1: ours */
	uint64_t number; /* not compared if there is a build id */
};

/* Those of a file, new ones if need be; good until the next call. NULL when out of memory. */
struct file_symbols *symbol_cache_get(struct symbol_cache *cache,
				      const struct symbol_cache_key *key);

size_t symbol_cache_nr(const struct symbol_cache *cache);
size_t symbol_cache_bytes(struct symbol_cache *cache);

#endif
