/* What leads from a stripped file to the one with its debug information, besides the build id. */
#ifndef STOOK_ELF_IMAGE_DEBUG_LINK_H
#define STOOK_ELF_IMAGE_DEBUG_LINK_H

#include <stdint.h>

#include "elf/image/elf_image.h"

#define DEBUG_LINK_NAME_BYTES 256

/* .gnu_debuglink: a file name without folders, and the CRC-32 of that file's content. */
struct debug_link {
	char name[DEBUG_LINK_NAME_BYTES];
	uint32_t crc;
};

/* 0; -ENOENT if there is none; -ENOEXEC for a name with a slash, an empty or an unended one. */
int debug_link_read(const struct elf_image *image, struct debug_link *ret);

/* The CRC of a whole file, as .gnu_debuglink has it. 0 or -errno. */
int debug_link_crc(int fd, uint32_t *ret);

#endif
