/*
 * Distributions put debug information below /usr/lib/debug/.build-id, by the build id in
 * hexadecimal: its first byte is the folder.
 */
#include "elf/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "elf/elf_image.h"

int debug_file_open(const uint8_t *build_id, size_t build_id_bytes)
{
	char path[64 + 2 * BUILD_ID_MAX_BYTES];
	size_t at, i;
	int fd;

	if (build_id_bytes < 2 || build_id_bytes > BUILD_ID_MAX_BYTES)
		return -ENOENT;
	at = (size_t)snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%02x/", build_id[0]);
	for (i = 1; i < build_id_bytes; i++)
		at += (size_t)snprintf(path + at, sizeof(path) - at, "%02x", build_id[i]);
	(void)snprintf(path + at, sizeof(path) - at, ".debug");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -ENOENT : fd;
}
