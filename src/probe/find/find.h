/*
 * From patterns to probes: what on this host fits them and can be probed. Reads files and lists of
 * the kernel; attaches nothing.
 *
 * Names match mangled or demangled. One address is one probe: its names that fit are shown
 * together, "a|b", sorted. Functions of one name at several addresses (static ones) are probes of
 * their own, told apart by `detail`. The list is sorted by file, then address, and has no place
 * twice, but for calls and returns of one function.
 */
#ifndef STOOK_PROBE_FIND_FIND_H
#define STOOK_PROBE_FIND_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/expression/probe_list.h"

struct target_options {
	const char *const *patterns;
	size_t nr_patterns;
	bool is_regex;
	/* Programs and libraries are those that these processes have mapped, below their roots. */
	const uint32_t *pids;
	size_t nr_pids;
	const char *const *debug_folders;
	size_t nr_debug_folders;
	bool force_returns; /* return probes that may end programs */
	size_t max_probes;  /* -E2BIG beyond, with how many there are; 0: any number */
};

/*
 * Fills an initialised list. 0; or a negative errno, with *error saying what did not fit and, in
 * its hint, which names come close, where it looked, or what would help. A list of refusals alone,
 * and no probe, is an error too (-EOPNOTSUPP). A pattern that nothing fits, among others that
 * something does, is a refusal by its text. The list is to be cleared in any case.
 */
int target_find(const struct target_options *options, struct probe_list *list, struct error *error);

#endif
