/*
 * Opening a file that some process has mapped, without being led astray by that process.
 */
#ifndef STOOK_PROC_FILE_OPEN_H
#define STOOK_PROC_FILE_OPEN_H

#include <stdint.h>

#include "proc/file_table.h"

/*
 * A descriptor for reading, of the regular file that is *id; or -ENOENT (gone), or -EACCES (not to
 * be opened). Tries the process' own mapping at [start, end), the path below the process' root,
 * and the path below ours.
 */
int file_open_mapped(const struct file_id *id, const char *path, int32_t pid, uint64_t start,
		     uint64_t end);

/* The generation of the inode behind a descriptor; 0 where the filesystem keeps none. */
uint64_t file_generation(int fd);

#endif
