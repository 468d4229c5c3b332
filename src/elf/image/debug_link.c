/*
 * .gnu_debuglink is a name with its NUL, zeros up to a multiple of four, and four bytes of CRC.
 *
 * The CRC is over a whole file, which whoever planted it may have made as large as a sparse file
 * can be: past DEBUG_FILE_MAX_BYTES it is not read at all.
 */
#include "elf/image/debug_link.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/fd_io.h"
#include "elf/image/elf_section.h"

#define DEBUG_FILE_MAX_BYTES (4ULL << 30) /* those of browsers have half of it */
#define PIECE_BYTES	     (16u << 10)

static bool is_file_name(const char *name)
{
	return name[0] && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
}

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
	if (!name || !is_file_name(name))
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

int debug_link_crc(int fd, uint32_t *ret)
{
	uint8_t piece[PIECE_BYTES];
	struct stat status;
	uint64_t at, bytes;
	uLong crc = crc32(0, NULL, 0);

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	bytes = (uint64_t)status.st_size;
	if (bytes > DEBUG_FILE_MAX_BYTES)
		return -EFBIG;
	for (at = 0; at < bytes; at += PIECE_BYTES) {
		size_t nr = bytes - at < PIECE_BYTES ? (size_t)(bytes - at) : PIECE_BYTES;
		int err = fd_read_at(fd, at, piece, nr);

		if (err < 0)
			return err;
		crc = crc32(crc, piece, (uInt)nr);
	}
	*ret = (uint32_t)crc;
	return 0;
}
