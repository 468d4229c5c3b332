/*
 * Finds the debug file of a stripped file by its build id, or by the name and checksum in its
 * section .gnu_debuglink.
 */
#ifndef STOOK_ELF_IMAGE_DEBUG_LINK_H
#define STOOK_ELF_IMAGE_DEBUG_LINK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/file/read_budget.h"
#include "elf/image/elf_image.h"

#define DEBUG_LINK_NAME_BYTES 256

/* .gnu_debuglink: a file name without directories, and the CRC-32 of that file's content. */
struct debug_link {
	char name[DEBUG_LINK_NAME_BYTES];
	uint32_t crc;
};

/*
 * 0; -ENOENT if there is none; -ENOEXEC for a name that has a slash, is empty, or is not
 * terminated.
 */
int debug_link_read(const struct elf_image *image, struct debug_link *ret);

/* The CRCs of the files read last, since other programs may link to them as well. */
#define DEBUG_LINK_CRCS_MAX 64

struct debug_link_crcs {
	struct debug_link_file {
		dev_t device;
		ino_t inode;
		off_t bytes;
		struct timespec modified, changed;
		uint32_t crc;
	} files[DEBUG_LINK_CRCS_MAX];
	size_t nr; /* ever added; the next one goes to nr modulo the maximum */
};

/*
 * The CRC of a whole file, as in .gnu_debuglink: from `known`, or computed and added there. Both
 * `known` and `budget` may be NULL. 0; -EFBIG; -ENXIO for a file that is almost only a hole; an
 * error of read_budget_take(); or another -errno.
 */
int debug_link_crc(int fd, struct debug_link_crcs *known, struct read_budget *budget,
		   uint32_t *ret);

/* --- by build id ----------------------------------------------------------------------------- */

#define DEBUG_FILE_FOLDER "/usr/lib/debug"

/* "ab/cdef…", as in .build-id directories, with its NUL. */
#define DEBUG_FILE_ID_BYTES (2 * BUILD_ID_MAX_BYTES + 2)

/* Writes the build id in that form; an empty string if it has less than two bytes, or too many. */
void debug_file_id(const uint8_t *build_id, size_t build_id_bytes, char to[DEBUG_FILE_ID_BYTES]);

#endif
