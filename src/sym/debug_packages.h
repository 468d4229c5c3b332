/* Finds the distribution's packages with the symbols of stripped files. */
#ifndef STOOK_SYM_DEBUG_PACKAGES_H
#define STOOK_SYM_DEBUG_PACKAGES_H

#include <stddef.h>

#define DEBUG_PACKAGES_MAX_PATHS 8

/* Limits on dpkg's file lists that are read; packages past a limit are not found. */
#define DPKG_LISTS_MAX	     65536
#define DPKG_LISTS_MAX_BYTES (256U << 20)

/*
 * For each of nr files of the host, writes to ret[] how to install its debug package, as a hint for
 * users: "install zlib1g-dbgsym"; NULL if no package is known to have the file. The caller frees
 * the texts. root: where the distribution is installed, "" for ours. 0 or -ENOMEM.
 */
int debug_packages_find(const char *root, const char *const *paths, size_t nr,
			char *ret[DEBUG_PACKAGES_MAX_PATHS]);

#endif
