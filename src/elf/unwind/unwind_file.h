/*
 * An unwind table as a file: a header, then the table's arrays as they are in memory. It is for
 * this host and this version; unwind_cache.h says where such files are.
 */
#ifndef STOOK_ELF_UNWIND_UNWIND_FILE_H
#define STOOK_ELF_UNWIND_UNWIND_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "elf/image/elf_image.h"
#include "elf/unwind/unwind_table.h"

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

/* Of a header, whatever its own checksum says, and the arrays of the table. */
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
