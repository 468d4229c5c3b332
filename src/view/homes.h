/*
 * The home of a function: the module that distinguishes functions of the same name, and in which
 * the function is shown.
 *
 * Builds of one program differ in paths, build ids and addresses, and libraries have a version in
 * their name. So modules of the same kind count as one if their names are equal without folders and
 * without the text after ".so" (libfoo.so.1.2.3, libfoo.so.1.2.4). All JIT-compiled code is one
 * module. The `main` of two programs, or a static `init` of two libraries, stay distinct.
 *
 * In a difference, a program or library may also have been renamed or replaced. A module on both
 * sides is compared only with itself. A function of a module on one side only is matched with the
 * function of the same name in a module on the other side only, if each side has exactly one such
 * function.
 *
 * A function whose module is not known (folded stacks) is matched with the function of that name in
 * a module, if there is exactly one. If one side of a difference has no modules at all, functions
 * are matched by name only.
 *
 * A place instead of a name (`libz.so.1+0x4a20`) is a different function in each build: such
 * functions are distinguished by build id, or by the module's whole name if it has none.
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
	bool by_name;	     /* a side of the difference has no modules */
	uint32_t *of_module; /* by module: the representative of its name */
	uint32_t *of_build;  /* by module: the representative of its build */
	struct u64_map
		of_function; /* function << 32 | of_module -> home, if it is another module */
};

/* The profile must outlive homes. 0 or -ENOMEM; the caller calls homes_clear() in both cases. */
int homes_init(struct homes *homes, const struct profile *profile);
void homes_clear(struct homes *homes);

/* Returns the home of a function in a module. function: the profile's string, 0: no name. */
uint32_t homes_find(const struct homes *homes, uint32_t module, uint32_t function);

/* Returns the representative of a module, even if some of its functions have another home. */
uint32_t homes_of_module(const struct homes *homes, uint32_t module);

#endif
