/* Local variables that are cleaned up when they go out of scope. */
#ifndef STOOK_BASE_CLEANUP_H
#define STOOK_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* `cleanup(f) type v` calls f(&v) at the end of the scope. */
#define cleanup(function) __attribute__((cleanup(function)))

/* Frees the memory, or closes the file; NULL and -1 are ignored. */
#define cleanup_free cleanup(cleanup_free_pointer)
#define cleanup_fd   cleanup(cleanup_close_fd)
#define cleanup_file cleanup(cleanup_close_file)

static inline void cleanup_free_pointer(void *pointer)
{
	free(*(void **)pointer);
}

static inline void cleanup_close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

static inline void cleanup_close_file(FILE **file)
{
	if (*file)
		(void)fclose(*file);
}

/* Transfers ownership of a cleaned-up local to the caller: `return take_pointer(&p)`. */
#define take_pointer(pointer)                               \
	({                                                  \
		__typeof__(*(pointer)) taken_ = *(pointer); \
		*(pointer) = NULL;                          \
		taken_;                                     \
	})

static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#endif
