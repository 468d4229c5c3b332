/*
 * Readable names for C++, Rust and D symbols, by libiberty. Swift's stay mangled: libiberty doesn't
 * know them. The suffixes of clones in C++ and D are shown as c++filt shows C++'s (`f(int) [clone
 * .isra.0]`), and so in Rust, except for `.llvm.123`, which is never shown there.
 */
#ifndef STOOK_SYM_DEMANGLE_H
#define STOOK_SYM_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

enum demangle_mode {
	DEMANGLE_FULL,	 /* with parameters and template arguments; Rust without its hash */
	DEMANGLE_SIMPLE, /* without those lists, cut at matching brackets only */
	DEMANGLE_NO,
};

struct demangle_style {
	enum demangle_mode mode;
	bool fold_clones; /* what a compiler made of one function is shown as that: no `.isra.0`,
			     `.constprop.0`, `.part.0`, `.cold`, `.llvm.123`. In C++ any suffix
			     goes, in other names those of clone_suffix_find(); also if the mode is
			     DEMANGLE_NO */
};

/*
 * The name to show, to be freed by the caller. NULL if that is the name as it is: not mangled, not
 * wanted, or it would become unreasonably long (or memory is out).
 */
char *demangle(const char *name, const struct demangle_style *style);

/* --- suffixes of clones ----------------------------------------------------------------------- */

/*
 * What compilers append to the name of a function for a copy or a part of it that they made:
 * `f.isra.0`, `f.part.0.cold`, `f.llvm.1234`.
 *
 * How many bytes of the name come before such suffixes: all, if there are none. Only words that
 * compilers are known to use count, at the end of a C identifier or of a mangled name: others have
 * dots of their own (`main.(*T).cold`, `.L42.part.0`), and what looks like a variant for some
 * processor (`f.avx2`) may well be a name in Go.
 */
size_t clone_suffix_find(const char *name);

/* The bytes of the one suffix, with its number, that begins here; 0 if none does. */
size_t clone_suffix_bytes(const char *at);

#endif
