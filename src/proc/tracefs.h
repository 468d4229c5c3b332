/*
 * The kernel's tracefs, whether or not it is mounted somewhere: else it is mounted for this process
 * alone, at no path at all.
 */
#ifndef STOOK_PROC_TRACEFS_H
#define STOOK_PROC_TRACEFS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A handle (O_PATH) of its root, for the *at() calls; or -errno, with *error. */
int tracefs_open(struct error *error);

/* The whole of a file below it, ended by a zero; the caller frees. NULL with errno. */
char *tracefs_read(int tracefs_fd, const char *path, size_t *ret_bytes);

/* Writes text to a file below it in one call, appending (as uprobe_events wants); 0 or -errno. */
int tracefs_append(int tracefs_fd, const char *path, const char *text);

/* The id of a tracepoint, "category/event"; or -errno. */
int64_t tracefs_event_id(int tracefs_fd, const char *event);

#endif
