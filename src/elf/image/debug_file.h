/* The file of debug information that belongs to a stripped one, by its build id. */
#ifndef STOOK_ELF_IMAGE_DEBUG_FILE_H
#define STOOK_ELF_IMAGE_DEBUG_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "elf/image/elf_image.h"

#define DEBUG_FILE_FOLDER "/usr/lib/debug"

/* "ab/cdef…", as in .build-id folders, with its NUL. */
#define DEBUG_FILE_ID_BYTES (2 * BUILD_ID_MAX_BYTES + 2)

/* Writes the build id so; an empty text for one of less than two bytes. */
void debug_file_id(const uint8_t *build_id, size_t build_id_bytes, char to[DEBUG_FILE_ID_BYTES]);

/* A descriptor for reading, of the one below DEBUG_FILE_FOLDER, or -ENOENT. */
int debug_file_open(const uint8_t *build_id, size_t build_id_bytes);

#endif
