/*
 * The functions of the running kernel and its modules, from /proc/kallsyms; the ones that can be
 * traced, from tracefs' available_filter_functions if readable; choosing among the functions, and
 * making probes of the chosen ones.
 */
#ifndef STOOK_PROBE_FIND_KERNEL_FUNCTIONS_H
#define STOOK_PROBE_FIND_KERNEL_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/closest.h"
#include "base/error.h"
#include "base/strings.h"
#include "probe/expression/probe_list.h"
#include "probe/find/pattern.h"
#include "probe/find/probe_names.h"

struct kernel_function {
	uint64_t address;	   /* 0: hidden */
	const char *name, *module; /* "": the kernel itself */
};

struct kernel_choice {
	uint64_t offset;
	uint32_t function;
	bool is_return;
};

struct kernel_functions {
	char *text;			   /* kallsyms, split into names */
	struct kernel_function *functions; /* sorted by address, if known, and name */
	size_t nr, capacity;
	uint64_t init_start, init_end; /* __init code, freed after boot; 0: unknown */
	struct strings *traceable;     /* "name" or "name [module]"; NULL: unknown */
	uint32_t nr_traceable;
	struct kernel_choice *choices;
	size_t nr_choices, cap_choices;
	struct exclusions exclusions;
};

/*
 * Takes ownership of kallsyms (allocated, NUL-terminated). available may be NULL, and is modified.
 * Returns 0; -ENODATA if no functions are listed; or -ENOMEM.
 */
int kernel_functions_parse(struct kernel_functions *kernel, char *kallsyms, char *available,
			   struct error *error);

/* Reads both lists. tracefs_fd below 0: tracefs is not available. */
int kernel_functions_read(struct kernel_functions *kernel, int tracefs_fd, struct error *error);
void kernel_functions_clear(struct kernel_functions *kernel);

void kernel_functions_offer(const struct kernel_functions *kernel, struct closest *closest);

/* --- probes ----------------------------------------------------------------------------------- */

/*
 * Chooses the functions that match a pattern of kind PATTERN_KERNEL and no exclusion. Adds to the
 * choices, or to the refusals. *ret_nr: number of matching names, refused or not. Returns 0 or a
 * negative errno.
 */
int kernel_probes_choose(struct kernel_functions *kernel, const struct pattern *pattern,
			 struct refusals *refusals, size_t *ret_nr, struct error *error);

/* Sorts the choices. Returns the number of places. */
size_t kernel_probes_settle(struct kernel_functions *kernel);

/* Adds a probe for each place. Returns 0 or -ENOMEM. */
int kernel_probes_add(const struct kernel_functions *kernel, struct probe_list *list,
		      struct error *error);

#endif
