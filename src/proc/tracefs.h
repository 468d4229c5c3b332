/*
 * Access to the kernel's tracefs. If it is not mounted, it is mounted for this process only,
 * without a mount point.
 */
#ifndef STOOK_PROC_TRACEFS_H
#define STOOK_PROC_TRACEFS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Opens its root. Returns an O_PATH handle for the *at() calls; or -errno, with *error. */
int tracefs_open(struct error *error);

/* Reads a whole file below it, NUL-terminated; the caller frees it. NULL with errno. */
char *tracefs_read(int tracefs_fd, const char *path, size_t *ret_bytes);

/*
 * Writes text to a file below it in one call, appending (as uprobe_events requires). 0 or -errno.
 */
int tracefs_append(int tracefs_fd, const char *path, const char *text);

/* The id of a tracepoint, "category/event"; or -errno. */
int64_t tracefs_event_id(int tracefs_fd, const char *event);

#endif
