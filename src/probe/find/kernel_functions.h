/*
 * The functions of the running kernel and its modules, by /proc/kallsyms; and which of them can be
 * traced, by tracefs' available_filter_functions, where that is to be had.
 */
#ifndef STOOK_PROBE_FIND_KERNEL_FUNCTIONS_H
#define STOOK_PROBE_FIND_KERNEL_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strings.h"
#include "probe/find/closest.h"
#include "probe/find/exclusions.h"

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

/* Whether tracefs lists it by this name; true where there is no such list. */
bool kernel_function_is_listed(const struct kernel_functions *kernel, uint32_t number);

/* Whether it does by any of the names that its address has. */
bool kernel_function_is_traceable(const struct kernel_functions *kernel, uint32_t number);

/* The first of the functions that begin where the one does that an address lies in; or -ENOENT. */
int64_t kernel_function_at(const struct kernel_functions *kernel, uint64_t address);

/* Up to the next one; UINT64_MAX if that is not known. */
uint64_t kernel_function_bytes(const struct kernel_functions *kernel, uint32_t number);

void kernel_functions_offer(const struct kernel_functions *kernel, struct closest *closest);

#endif
