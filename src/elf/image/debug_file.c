/*
 * Distributions put debug information below /usr/lib/debug/.build-id, by the build id in
 * hexadecimal: its first byte is the folder.
 */
#include "elf/image/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

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

int debug_file_open(const uint8_t *build_id, size_t build_id_bytes)
{
	char id[DEBUG_FILE_ID_BYTES];
	char path[sizeof(DEBUG_FILE_FOLDER "/.build-id/"
					   ".debug") +
		  sizeof(id)];
	int fd;

	debug_file_id(build_id, build_id_bytes, id);
	if (!*id)
		return -ENOENT;
	(void)snprintf(path, sizeof(path), DEBUG_FILE_FOLDER "/.build-id/%s.debug", id);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -ENOENT : fd;
}
