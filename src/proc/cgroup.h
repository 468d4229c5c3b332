/* Control groups (version 2): finds where their tree is mounted, and translates ids to paths. */
#ifndef STOOK_PROC_CGROUP_H
#define STOOK_PROC_CGROUP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Opens the directory of a cgroup, whose path is absolute or relative to the tree's root. Returns a
 * descriptor or a negative errno.
 */
int cgroup_open(const char *path, struct error *error);

/* The id of an open cgroup; 0 if it cannot be read. */
uint64_t cgroup_id(int fd);

/* Opens the tree's root, for cgroup_path(). Returns a descriptor or a negative errno. */
int cgroup_open_root(struct error *error);

/* Lists the names of the cgroups directly below one: an array, and each name, to be freed. 0 or a negative errno. */
int cgroup_children(int fd, char ***ret, size_t *ret_nr, struct error *error);

/*
 * The path of the cgroup with this id, relative to the root ("/a/b"), to be freed; NULL if it was
 * removed.
 */
char *cgroup_path(int root_fd, uint64_t id);

/*
 * The path of a process' cgroup in the hierarchies of version 1, the one that says most: the longest. To be freed;
 * NULL if it is in the root of each, or has exited.
 */
char *cgroup_of_process(int32_t pid);

#endif
