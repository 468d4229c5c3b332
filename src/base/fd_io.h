/*
 * Reading and writing all of it: short counts and interrupted calls are taken care of. And what
 * descriptors there have to be for that: the standard streams', and enough of them.
 */
#ifndef STOOK_BASE_FD_IO_H
#define STOOK_BASE_FD_IO_H

#include <stddef.h>
#include <stdint.h>

/* Reads exactly nr bytes at an offset: 0, -ENODATA if the file ends before that, or -errno. */
int fd_read_at(int fd, uint64_t offset, void *to, size_t nr);

/* Writes all of them: 0 or -errno. */
int fd_write_at(int fd, uint64_t offset, const void *from, size_t nr);

/*
 * Standard streams that are closed become /dev/null: a file that is opened later must not become
 * standard output or standard error, and get what is said there.
 */
void fd_open_standard_streams(void);

/*
 * Allows ourselves as many descriptors as we may have, which programs that are begun after it
 * inherit. How many that is; UINT64_MAX: no limit, or it can't be told.
 */
uint64_t fd_allow_all(void);

#endif
