/*
 * Files of a store for SQLite, read-only: nothing is ever created, written or deleted, whatever the bytes are. Locks
 * are those of SQLite's own files, so that readers and the writer are safe from each other.
 *
 * All files are opened by a function of the caller, which may ask another process for them.
 */
#ifndef STOOK_STORE_READ_VFS_H
#define STOOK_STORE_READ_VFS_H

#include "base/error.h"
#include "store/store.h"

struct read_vfs;

/* Opens the store's main file and makes SQLite know the files, under the name read_vfs_name(). NULL: see *error. */
struct read_vfs *read_vfs_new(const char *path, store_open_fn *open, void *context,
			      struct error *error);
const char *read_vfs_name(const struct read_vfs *vfs);

/* After the database was closed. Accepts NULL. */
void read_vfs_free(struct read_vfs *vfs);

#endif
