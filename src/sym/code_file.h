/* A file with code, as far as it takes to find names for the code. */
#ifndef STOOK_SYM_CODE_FILE_H
#define STOOK_SYM_CODE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image/elf_image.h"

struct code_file {
	int fd;		  /* -1: it is not to be had here, but perhaps what belongs to it */
	const char *path; /* as its process saw it */
	int root_fd;	  /* a handle of the root that the path is below; -1: ours */
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	size_t build_id_bytes; /* 0: none, or not known yet */
	/* See debug_files_find(). */
	bool debug_is_known;
	int debug_fd; /* then: of what belongs to it; below 0: nothing does */
};

#endif
