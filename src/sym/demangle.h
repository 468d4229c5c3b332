/*
 * Demangles C++, Rust and D symbols by libiberty. Swift names stay mangled: libiberty doesn't
 * support them. Clone suffixes are shown as c++filt does it for C++ (`f(int) [clone .isra.0]`), in
 * Rust without `.llvm.123`.
 */
#ifndef STOOK_SYM_DEMANGLE_H
#define STOOK_SYM_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

enum demangle_mode {
	DEMANGLE_FULL,	 /* with parameters and template arguments; Rust without the hash */
	DEMANGLE_SIMPLE, /* without both, see profile/simple_name.h */
	DEMANGLE_NO,
};

struct demangle_style {
	enum demangle_mode mode;
	bool fold_clones; /* show a compiler's clones and parts of a function under its own name: no
			     `.isra.0`, `.constprop.0`, `.part.0`, `.cold`, `.llvm.123`. In C++ any
			     suffix is removed, elsewhere the ones that clone_suffix_find() knows;
			     also with DEMANGLE_NO */
};

/*
 * Returns the name to show, to be freed by the caller. NULL to show the name unchanged: it is not
 * mangled, demangling is off, or the result would be unreasonably long (or out of memory).
 */
char *demangle(const char *name, const struct demangle_style *style);

/* Longer names are truncated; some C++ templates come near this length. */
#define NAME_MAX_BYTES 8191

/*
 * Returns how a function's name is shown, to be freed by the caller: demangled, or unchanged; the stub `f@plt`
 * with f demangled. NULL when out of memory.
 */
char *demangle_function(const char *name, const struct demangle_style *style);

/* --- suffixes of clones ----------------------------------------------------------------------- */

/*
 * Suffixes that compilers append to a function's name for a copy or a part of the function:
 * `f.isra.0`, `f.part.0.cold`, `f.llvm.1234`.
 *
 * Returns the length of the name without such suffixes. Only words that compilers are known to use
 * count, at the end of a C identifier or of a mangled name: other names have dots of their own
 * (`main.(*T).cold`, `.L42.part.0`), and what looks like a variant for a processor (`f.avx2`) may
 * be a Go name.
 */
size_t clone_suffix_find(const char *name);

/* Returns the length of the one suffix, number included, at the start of the text; 0 if none. */
size_t clone_suffix_bytes(const char *at);

#endif
