/*
 * What compilers append to the name of a function for a copy or a part of it that they made:
 * `f.isra.0`, `f.part.0.cold`, `f.llvm.1234`.
 */
#ifndef STOOK_SYM_CLONE_SUFFIX_H
#define STOOK_SYM_CLONE_SUFFIX_H

#include <stddef.h>

/*
 * How many bytes of the name come before such suffixes: all, if there are none. Only words that
 * compilers are known to use count, at the end of a C identifier or of a mangled name: others have
 * dots of their own (`main.(*T).cold`, `.L42.part.0`), and what looks like a variant for some
 * processor (`f.avx2`) may well be a name in Go.
 */
size_t clone_suffix_find(const char *name);

/* The bytes of the one suffix, with its number, that begins here; 0 if none does. */
size_t clone_suffix_bytes(const char *at);

#endif
