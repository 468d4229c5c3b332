/*
 * Inlined calls and lines for the addresses of one file, looked up by elf/dwarf/debug_info in an isolated
 * child that has no more rights than the file's owner, within the file's own root.
 */
#ifndef STOOK_SYM_SOURCE_LINES_H
#define STOOK_SYM_SOURCE_LINES_H

#include <stdint.h>
#include <sys/types.h>

#include "elf/dwarf/debug_info.h"

struct source_lines_place {
	int fd;	     /* of the file with the DWARF; stays the caller's */
	int root_fd; /* of the root that paths in it are of; -1: ours */
	/* What this file may take where that is less than any file may; 0: as any. */
	uint64_t most_ns;
};

/*
 * As debug_info_find(): request->found() is called in this process. Also -ETIME, -EFAULT, -E2BIG
 * (more memory than the child may have): then what was found until then has been told. -ENOMEM is
 * ours, not the child's.
 */
int source_lines_find(const struct source_lines_place *place,
		      const struct debug_info_request *request, struct debug_info_work *ret,
		      struct error *error);

#endif
