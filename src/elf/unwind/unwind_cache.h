/*
 * Unwind tables on disk, so that each file is compiled once for a host: one file a build id, with
 * the format's version and a checksum, below a folder that only we can write.
 *
 * It is only a cache: whatever is wrong with a file (old version, cut short, a bit flipped, not
 * ours) makes it as good as not there; it is removed, and made anew. Any number of processes may
 * use a folder at the same time: files appear whole.
 */
#ifndef STOOK_ELF_UNWIND_UNWIND_CACHE_H
#define STOOK_ELF_UNWIND_UNWIND_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "elf/image/elf_image.h"
#include "elf/unwind/unwind_table.h"

struct unwind_cache;

/*
 * Opens the folder, making it (and no parents but the last one) if need be, for us alone. NULL on
 * failure; that includes a folder that somebody else could put files into, now or by moving it:
 *
 *	the folder itself is ours, and nobody else may write it
 *	each folder above is root's or ours, and nobody else may write it, unless it is sticky
 *	no part of the path, which is absolute, is a symlink
 *
 * When a table is stored and the folder's tables come to more than max_bytes, those that were not
 * loaded for the longest time are removed.
 */
struct unwind_cache *unwind_cache_open(const char *folder, uint64_t max_bytes, struct error *error);
void unwind_cache_close(struct unwind_cache *cache);

/*
 * The table of a build id, which passed unwind_table_check(); 0, or -ENOENT if there is none (that
 * is good), or another negative errno. Clear *table on success.
 */
int unwind_cache_load(struct unwind_cache *cache, const uint8_t *build_id, size_t build_id_bytes,
		      struct unwind_table *table);

/*
 * Puts one in, whole or not at all. 0 or a negative errno; -EFBIG if it alone is more than
 * max_bytes. What is above max_bytes together is removed after that, which can fail, too.
 */
int unwind_cache_store(struct unwind_cache *cache, const uint8_t *build_id, size_t build_id_bytes,
		       const struct unwind_table *table);

/*
 * --- one file -------------------------------------------------------------------------------
 *
 * A header, then the table's arrays as they are in memory: for this host and this version. Here for
 * the tests.
 */

#define UNWIND_FILE_MAGIC 0x0a6b6f6f7473f55aULL /* "\x5a\xf5stook\n" */

struct unwind_file_header {
	uint64_t magic;
	uint64_t checksum; /* of all else: unwind_file_checksum() */
	uint32_t version;  /* UNWIND_FORMAT_VERSION */
	uint16_t machine;
	uint16_t build_id_bytes;
	uint8_t build_id[BUILD_ID_MAX_BYTES]; /* of the code that the table is for */
	uint64_t start;
	uint64_t nr_rows, nr_rows_dropped;
	uint32_t nr_pages, nr_words, nr_wide;
	uint32_t zero;
	/* pages, page_words, words, wide */
};

_Static_assert(sizeof(struct unwind_file_header) == 96, "no padding: it is written as it is");

/* The checksum of a header, whatever its own field says, and of the arrays of the table. */
uint64_t unwind_file_checksum(const struct unwind_file_header *header,
			      const struct unwind_table *table);

uint64_t unwind_file_bytes(const struct unwind_table *table);

/* 0 or a negative errno. */
int unwind_file_write(int fd, const uint8_t *build_id, size_t build_id_bytes,
		      const struct unwind_table *table);

/*
 * 0; -EBADMSG if it is not the whole and sound table of this build id in this version; or a
 * negative errno that says nothing about the file (-ENOMEM). Clear *ret on success.
 */
int unwind_file_read(int fd, const uint8_t *build_id, size_t build_id_bytes,
		     struct unwind_table *ret);

#endif
