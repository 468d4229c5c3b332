/* Readable names for C++ and Rust symbols, by libiberty. */
#ifndef STOOK_SYM_DEMANGLE_H
#define STOOK_SYM_DEMANGLE_H

/*
 * The demangled name, with parameters for C++ and without the hash for Rust, to be freed by the
 * caller. NULL if the name is not mangled, or would become unreasonably long: show it as it is.
 */
char *demangle(const char *name);

#endif
