/* The file that a process runs, and folders below the root that it sees. */
#ifndef STOOK_PROC_PROGRAM_FILE_H
#define STOOK_PROC_PROGRAM_FILE_H

#include <dirent.h>
#include <stdint.h>

/*
 * A descriptor for reading, of the file that a process executes, deleted or not; its path, as the
 * process sees it, is *ret_path, to be freed. -ESRCH: no such process; -ENOENT: a thread of the
 * kernel, which has none; or another negative errno.
 */
int program_file_open(int32_t pid, char **ret_path);

/*
 * A folder below a root (a handle; -1: ours), which no symbolic link leads out of, for reading its
 * entries. NULL with errno.
 */
DIR *program_folder_open(int root_fd, const char *path);

#endif
