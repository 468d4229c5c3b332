/* The file of debug information that belongs to a stripped one, by its build id. */
#ifndef STOOK_ELF_DEBUG_FILE_H
#define STOOK_ELF_DEBUG_FILE_H

#include <stddef.h>
#include <stdint.h>

/* A descriptor for reading, or -ENOENT. */
int debug_file_open(const uint8_t *build_id, size_t build_id_bytes);

#endif
