/* Control groups (version 2): where their tree is mounted, and names for their ids. */
#ifndef STOOK_PROC_CGROUP_H
#define STOOK_PROC_CGROUP_H

#include <stdint.h>

#include "base/error.h"

/* A descriptor of the directory of a cgroup, whose path is absolute or below the tree's root. */
int cgroup_open(const char *path, struct error *error);

/* A descriptor of the tree's root, for cgroup_path(). */
int cgroup_open_root(struct error *error);

/* The path of the cgroup with this id, below the root, to be freed ("/a/b"); NULL if it is gone. */
char *cgroup_path(int root_fd, uint64_t id);

#endif
