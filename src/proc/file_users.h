/* Whether processes that nobody asked for run the same files as those that were asked for. */
#ifndef STOOK_PROC_FILE_USERS_H
#define STOOK_PROC_FILE_USERS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Which of these files, by inode number, is mapped for execution by a process that is none of these
 * and not ourselves: its index; -ENOENT if none is; -ETIMEDOUT if that could not be found out in
 * limit_ns. Processes whose mappings may not be read count as ones that don't.
 */
int64_t file_users_find(const uint64_t *inodes, size_t nr_inodes, const uint32_t *pids,
			size_t nr_pids, uint64_t limit_ns);

#endif
