/*
 * Turns patterns into probes: finds what matches on this host and can be probed. Reads lists of the kernel, and has
 * parsers without rights read files; attaches nothing.
 *
 * Patterns match mangled and demangled names. One address is one probe: its matching names are
 * shown together, sorted, as "a|b". Functions with the same name at different addresses (static
 * ones) are separate probes, distinguished by `detail`. The list is sorted by file, then address.
 * No place is listed twice, except for the call and the return of a function.
 */
#ifndef STOOK_PROBE_FIND_FIND_H
#define STOOK_PROBE_FIND_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/expression/probe_list.h"

struct worker;

struct target_options {
	struct worker *worker; /* its parsers read the files */
	const char *const *patterns;
	size_t nr_patterns;
	bool is_regex;
	/*
	 * Search programs and libraries among the files mapped by these processes, below their
	 * roots.
	 */
	const uint32_t *pids;
	size_t nr_pids;
	const char *const *debug_folders;
	size_t nr_debug_folders;
	bool force_returns; /* allow return probes that may kill programs */
	size_t max_probes;  /* -E2BIG beyond, with the actual number; 0: no limit */
};

/*
 * Fills an initialised list. Returns 0; or a negative errno, with *error naming the pattern that
 * matched nothing and, in its hint, similar names, where it searched, or what would help. If all
 * matches are refused and no probe is left, that is an error too (-EOPNOTSUPP). If some patterns
 * match and others do not, the latter are added as refusals by their text. The caller clears the
 * list in any case.
 */
int target_find(const struct target_options *options, struct probe_list *list, struct error *error);

#endif
