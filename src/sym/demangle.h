/*
 * Readable names for C++, Rust and D symbols, by libiberty. Swift's stay mangled: it doesn't know
 * them. In C++ and D the suffixes of clones are shown as c++filt shows those of C++ (`f(int) [clone
 * .isra.0]`), and so in Rust but for `.llvm.123`, which is never shown there.
 */
#ifndef STOOK_SYM_DEMANGLE_H
#define STOOK_SYM_DEMANGLE_H

#include <stdbool.h>

enum demangle_mode {
	DEMANGLE_FULL,	 /* with parameters and template arguments; Rust without its hash */
	DEMANGLE_SIMPLE, /* without those lists, cut at matching brackets only */
	DEMANGLE_NO,
};

struct demangle_style {
	enum demangle_mode mode;
	bool fold_clones; /* what a compiler made of one function is shown as that: no `.isra.0`,
			     `.constprop.0`, `.part.0`, `.cold`, `.llvm.123`. In C++ any suffix
			     goes, in other names those of sym/clone_suffix.h; also if the mode is
			     DEMANGLE_NO */
};

/*
 * The name to show, to be freed by the caller. NULL if that is the name as it is: not mangled, not
 * wanted, or it would become unreasonably long (or memory is out).
 */
char *demangle(const char *name, const struct demangle_style *style);

#endif
