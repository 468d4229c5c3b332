/* The folders in which the dynamic linker looks for libraries, below some root. */
#ifndef STOOK_PROBE_FIND_LIBRARY_FOLDERS_H
#define STOOK_PROBE_FIND_LIBRARY_FOLDERS_H

#include <stddef.h>

struct library_folders {
	char **paths; /* in the linker's order, each once */
	size_t nr, capacity;
};

/* Into an empty one: those of /etc/ld.so.conf, then the usual ones. 0 or -ENOMEM. root_fd: -1: ours. */
int library_folders_read(struct library_folders *folders, int root_fd);
void library_folders_clear(struct library_folders *folders);

#endif
