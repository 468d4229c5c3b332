/*
 * The home of a function: the module by which functions of the same name are told apart, and that
 * they are shown in.
 *
 * Builds of one program have other paths, build ids and addresses, and libraries have their version in
 * their name. So modules of the same kind are one if their names are: without folders, and without
 * what stands behind ".so" (libfoo.so.1.2.3, libfoo.so.1.2.4). All JIT-compiled code is one module.
 * The `main` of two programs, or a static `init` of two libraries, stay apart.
 *
 * In a difference, a program or library may also have been renamed, or replaced. A module that both
 * sides have is compared with itself alone. A function of a module that only one side has is the function
 * of that name in a module that only the other side has, if each side has one such.
 *
 * A function whose module is not known (folded stacks) is the one of that name, if there is one; if one
 * side of a difference knows no modules at all, names alone count.
 *
 * A name that is a place (`libz.so.1+0x4a20`) is another function in each build: it is told apart by the
 * build id, or, of a module that has none, by the module's name.
 */
#ifndef STOOK_VIEW_HOMES_H
#define STOOK_VIEW_HOMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "profile/profile.h"

struct homes {
	const struct profile *profile;
	bool is_difference;
	bool by_name;		    /* a side of the difference knows no modules */
	uint32_t *of_module;	    /* by module: that of the same name */
	uint32_t *of_build;	    /* by module: that of the same build */
	struct u64_map of_function; /* by function << 32 | of_module; those that live elsewhere */
};

/* The profile must outlive it. 0 or -ENOMEM; to be cleared in each case. */
int homes_init(struct homes *homes, const struct profile *profile);
void homes_clear(struct homes *homes);

/* The home of code in a module; function: the profile's string, 0 for code without a name. */
uint32_t homes_find(const struct homes *homes, uint32_t module, uint32_t function);

/* The module's own home, also where a difference has some of its functions in another one. */
uint32_t homes_of_module(const struct homes *homes, uint32_t module);

#endif
