/* The distribution's packages that would bring the names of stripped files. */
#ifndef STOOK_SYM_DEBUG_PACKAGES_H
#define STOOK_SYM_DEBUG_PACKAGES_H

#include <stddef.h>

#define DEBUG_PACKAGES_MAX_PATHS 8

/* Limits on dpkg's lists; packages behind these are not found. */
#define DPKG_LISTS_MAX	     65536
#define DPKG_LISTS_MAX_BYTES (256U << 20)

/*
 * For each of nr files of the host, by their paths, how its debug package is installed, in words for
 * users: "install zlib1g-dbgsym"; NULL where no package is known to have the file. root: where the
 * distribution is installed, "" for ours. The texts are the caller's. 0 or -ENOMEM.
 */
int debug_packages_find(const char *root, const char *const *paths, size_t nr,
			char *ret[DEBUG_PACKAGES_MAX_PATHS]);

#endif
