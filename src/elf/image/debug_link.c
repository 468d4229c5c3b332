/*
 * Finds the debug file of a stripped file.
 *
 * Distributions put debug files below /usr/lib/debug/.build-id, named by the build id in
 * hexadecimal: its first byte is the directory. .gnu_debuglink is a NUL-terminated name, zero
 * padding to a multiple of four, and four bytes of CRC.
 *
 * The CRC is over a whole file, which an attacker may have made as large as a sparse file can be:
 * files beyond DEBUG_FILE_MAX_BYTES, or of which almost nothing is stored, are not read at all.
 */
#include "elf/image/debug_link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "elf/image/elf_image.h"

#define DEBUG_FILE_MAX_BYTES (4ULL << 30) /* browsers' debug files have half of this */
#define CACHED_MAX_BYTES     (16u << 20)  /* larger files are dropped from the page cache */
#define PIECE_BYTES	     (256u << 10)

int debug_link_read(const struct elf_image *image, struct debug_link *ret)
{
	cleanup_free uint8_t *section = NULL;
	struct bytes bytes;
	const char *name;
	GElf_Shdr header;
	uint32_t crc;
	size_t nr;
	int err;

	if (elf_section_find(image, ".gnu_debuglink", &header) < 0)
		return -ENOENT;
	err = elf_section_read(image, &header, DEBUG_LINK_NAME_BYTES + sizeof(crc), &section);
	if (err < 0)
		return err;
	bytes = bytes_of(section, header.sh_size);
	name = bytes_string(&bytes);
	if (!name || !*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		return -ENOEXEC;
	nr = strlen(name) + 1;
	(void)bytes_skip(&bytes, (4 - nr % 4) % 4);
	crc = bytes_u32(&bytes);
	if (bytes.failed)
		return -ENOEXEC;
	memcpy(ret->name, name, nr);
	ret->crc = crc;
	return 0;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool find_known(const struct debug_link_crcs *known, const struct stat *status,
		       uint32_t *ret)
{
	size_t i;

	for (i = 0; known && i < known->nr && i < DEBUG_LINK_CRCS_MAX; i++) {
		const struct debug_link_file *file = &known->files[i];

		if (file->device != status->st_dev || file->inode != status->st_ino ||
		    file->bytes != status->st_size ||
		    !is_same_time(&file->modified, &status->st_mtim) ||
		    !is_same_time(&file->changed, &status->st_ctim))
			continue;
		*ret = file->crc;
		return true;
	}
	return false;
}

/* A large file is read only once and must not evict other data from the page cache. */
static int read_crc(int fd, uint64_t bytes, struct read_budget *budget, uint32_t *ret)
{
	cleanup_free uint8_t *piece = malloc(PIECE_BYTES);
	uLong crc = crc32(0, NULL, 0);
	uint64_t at;

	if (!piece)
		return -ENOMEM;
	for (at = 0; at < bytes; at += PIECE_BYTES) {
		size_t nr = bytes - at < PIECE_BYTES ? (size_t)(bytes - at) : PIECE_BYTES;
		int err = read_budget_take(budget, nr);

		if (!err)
			err = fd_read_at(fd, at, piece, nr);
		if (err < 0)
			return err;
		if (bytes > CACHED_MAX_BYTES)
			(void)posix_fadvise(fd, (off_t)at, (off_t)nr, POSIX_FADV_DONTNEED);
		crc = crc32(crc, piece, (uInt)nr);
	}
	*ret = (uint32_t)crc;
	return 0;
}

int debug_link_crc(int fd, struct debug_link_crcs *known, struct read_budget *budget, uint32_t *ret)
{
	struct stat status;
	uint64_t bytes;
	int err;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	bytes = (uint64_t)status.st_size;
	if (bytes > DEBUG_FILE_MAX_BYTES)
		return -EFBIG;
	if (find_known(known, &status, ret))
		return 0;
	if (fd_is_hollow(fd, 0, bytes))
		return -ENXIO;
	err = read_crc(fd, bytes, budget, ret);
	if (err == 0 && known)
		known->files[known->nr++ % DEBUG_LINK_CRCS_MAX] = (struct debug_link_file){
			status.st_dev,	status.st_ino,	status.st_size,
			status.st_mtim, status.st_ctim, *ret,
		};
	return err;
}

/* --- by build id ----------------------------------------------------------------------------- */

void debug_file_id(const uint8_t *build_id, size_t build_id_bytes, char to[DEBUG_FILE_ID_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	*to = '\0';
	if (build_id_bytes < 2 || build_id_bytes > BUILD_ID_MAX_BYTES)
		return;
	for (i = 0; i < build_id_bytes; i++) {
		*to++ = digits[build_id[i] >> 4];
		*to++ = digits[build_id[i] & 15];
		if (i == 0)
			*to++ = '/';
	}
	*to = '\0';
}
