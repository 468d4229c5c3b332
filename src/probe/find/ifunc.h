/*
 * Functions of which a library has several, for different processors (IFUNC): their symbol is a
 * resolver's, which the dynamic linker calls once to learn which one is to be used here.
 */
#ifndef STOOK_PROBE_FIND_IFUNC_H
#define STOOK_PROBE_FIND_IFUNC_H

#include <stdint.h>

#include "probe/find/user_file.h"

/*
 * The address, as linked, of the function that stands behind one of the file's, which is an IFUNC,
 * on this machine. That can be told of a library that this process has loaded itself: -ENOENT of
 * others. -ERANGE: it is in another file (as gettimeofday is in the vDSO).
 */
int ifunc_resolve(const struct user_file *file, uint32_t function, uint64_t *ret_vaddr);

#endif
