/*
 * A cache of unwind tables on disk, so that each file is compiled only once on a host: one file per
 * build id, with the format's version and a checksum, in a directory that only we can write to.
 *
 * A file that is invalid in any way (old version, truncated, corrupt, not ours) is treated as
 * missing; it is removed and made again. Any number of processes may use a directory at the same
 * time: files appear complete.
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
 * Opens the directory, creating it (and at most its last parent) if necessary, accessible only to
 * us. NULL on failure, also if another user could put files into it, now or by moving directories:
 *
 *	the directory itself must be ours, and not writable by others
 *	each parent must be root's or ours, and not writable by others, unless it is sticky
 *	the path must be absolute, and no component a symlink
 *
 * When a table is stored and all tables exceed max_bytes, the least recently loaded ones are
 * removed.
 */
struct unwind_cache *unwind_cache_open(const char *folder, uint64_t max_bytes, struct error *error);
void unwind_cache_close(struct unwind_cache *cache);

/*
 * Loads the table of a build id and checks it with unwind_table_check(). 0, -ENOENT if there is no
 * valid one, or another negative errno. Clear *table on success.
 */
int unwind_cache_load(struct unwind_cache *cache, const uint8_t *build_id, size_t build_id_bytes,
		      struct unwind_table *table);

/*
 * Stores a table, completely or not at all. 0 or a negative errno; -EFBIG if it alone exceeds
 * max_bytes. Tables beyond max_bytes are removed afterwards, which can fail, too.
 */
int unwind_cache_store(struct unwind_cache *cache, const uint8_t *build_id, size_t build_id_bytes,
		       const struct unwind_table *table);

/*
 * --- one file -------------------------------------------------------------------------------
 *
 * A header, followed by the table's arrays as they are in memory: only for this host and version.
 * Declared here for the tests.
 */

#define UNWIND_FILE_MAGIC 0x0a6b6f6f7473f55aULL /* "\x5a\xf5stook\n" */

struct unwind_file_header {
	uint64_t magic;
	uint64_t checksum; /* of everything else: unwind_file_checksum() */
	uint32_t version;  /* UNWIND_FORMAT_VERSION */
	uint16_t machine;
	uint16_t build_id_bytes;
	uint8_t build_id[BUILD_ID_MAX_BYTES]; /* of the file with the code */
	uint64_t start;
	uint64_t nr_rows, nr_rows_dropped;
	uint32_t nr_pages, nr_words, nr_wide;
	uint32_t zero;
	/* pages, page_words, words, wide */
};

_Static_assert(sizeof(struct unwind_file_header) == 96,
	       "no padding: the header is written as raw bytes");

/* The checksum of a header (ignoring its checksum field) and of the arrays of the table. */
uint64_t unwind_file_checksum(const struct unwind_file_header *header,
			      const struct unwind_table *table);

uint64_t unwind_file_bytes(const struct unwind_table *table);

/* 0 or a negative errno. */
int unwind_file_write(int fd, const uint8_t *build_id, size_t build_id_bytes,
		      const struct unwind_table *table);

/* The largest table that there may be. */
#define UNWIND_FILE_MAX_BYTES                                                \
	(sizeof(struct unwind_file_header) + 8ULL * UNWIND_TABLE_MAX_PAGES + \
	 4ULL * UNWIND_TABLE_MAX_WORDS + UNWIND_MAX_WIDE * sizeof(struct unwind_rule))

/*
 * 0; -EBADMSG if it is not a complete and valid table of this build id in this version; or a
 * negative errno unrelated to the file's content (-ENOMEM). Clear *ret on success.
 */
int unwind_file_parse(const void *bytes, size_t nr, const uint8_t *build_id, size_t build_id_bytes,
		      struct unwind_table *ret);

#endif
