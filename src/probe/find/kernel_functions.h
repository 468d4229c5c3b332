/*
 * The functions of the running kernel and its modules, from /proc/kallsyms, and which of them can
 * be traced, from tracefs' available_filter_functions, if that can be read; choosing among them,
 * and making probes of those that were chosen.
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
	const char *name, *module; /* "": the kernel proper */
};

struct kernel_choice {
	uint64_t offset;
	uint32_t function;
	bool is_return;
};

struct kernel_functions {
	char *text;			   /* kallsyms, cut into names */
	struct kernel_function *functions; /* by address, where that is known, and name */
	size_t nr, capacity;
	uint64_t init_start,
		init_end;	   /* what is only there while the kernel starts; 0: not known */
	struct strings *traceable; /* "name" or "name [module]"; NULL: not known */
	uint32_t nr_traceable;
	struct kernel_choice *choices;
	size_t nr_choices, cap_choices;
	struct exclusions exclusions;
};

/*
 * Takes over kallsyms (allocated, NUL-ended); available may be NULL, and is cut up. 0; -ENODATA if
 * no functions are listed; -ENOMEM.
 */
int kernel_functions_parse(struct kernel_functions *kernel, char *kallsyms, char *available,
			   struct error *error);

/* Reads both; tracefs_fd below 0: not to be had. */
int kernel_functions_read(struct kernel_functions *kernel, int tracefs_fd, struct error *error);
void kernel_functions_clear(struct kernel_functions *kernel);

void kernel_functions_offer(const struct kernel_functions *kernel, struct closest *closest);

/* --- probes ----------------------------------------------------------------------------------- */

/*
 * Chooses the functions that fit a pattern of kind PATTERN_KERNEL, and no exclusion: adds to the
 * choices, or to the refusals. *ret_nr: how many names fit, refused or not. 0 or a negative errno.
 */
int kernel_probes_choose(struct kernel_functions *kernel, const struct pattern *pattern,
			 struct refusals *refusals, size_t *ret_nr, struct error *error);

/* Sorts the choices. Returns the number of places. */
size_t kernel_probes_settle(struct kernel_functions *kernel);

/* Adds a probe for each place. 0 or -ENOMEM. */
int kernel_probes_add(const struct kernel_functions *kernel, struct probe_list *list,
		      struct error *error);

#endif
