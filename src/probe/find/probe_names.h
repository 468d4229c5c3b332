/*
 * Names of the probes of one search: names of one place are joined, probes with the same name are
 * distinguished, the list is sorted. Also collects the matches that cannot be probed, by reason.
 */
#ifndef STOOK_PROBE_FIND_PROBE_NAMES_H
#define STOOK_PROBE_FIND_PROBE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "probe/expression/probe_list.h"
#include "sym/demangle.h"

/* --- the names of one place, sorted, each once: "a|b|c" --------------------------------------- */

/* Linkers fold hundreds of identical functions into one; a longer text ends in "|and 7 more". */
#define JOINED_MAX_BYTES 1024

struct joined_names {
	char **names;
	size_t nr, capacity;
	char text[JOINED_MAX_BYTES];
};

/* Adds `name`, or `name+0xoffset` if offset is not 0. Returns 0 or -ENOMEM. */
int joined_names_add(struct joined_names *joined, const char *name, uint64_t offset);

/* Returns the names added since the last call, joined. Valid until the next call. */
const char *joined_names_take(struct joined_names *joined);

void joined_names_clear(struct joined_names *joined);

/* --- probes with the same name ---------------------------------------------------------------- */

struct twin {
	uint32_t number; /* in the list */
	uint64_t address;
	const char *source; /* a source file or a module; NULL: unknown */
};

struct twins {
	struct twin *items; /* all probes; most turn out to have no twin */
	size_t nr, capacity;
};

/* Returns 0 or -ENOMEM. */
int twins_add(struct twins *twins, uint32_t number, uint64_t address, const char *source);

/*
 * Sets `detail` of probes that share their name with others: to the source if all their sources
 * differ, else to the address with the prefix `before`. Returns 0 or -ENOMEM.
 */
int twins_distinguish(struct twins *twins, struct probe_list *list, const char *before);

void twins_clear(struct twins *twins);

/*
 * Sorts the list by file, then address; kernel probes come last. Removes duplicate places. If
 * probes with the same name are in several files, prefixes their detail with the file's name.
 * Returns 0 or -ENOMEM.
 */
int probe_names_order(struct probe_list *list);

/* --- matches that cannot be probed ------------------------------------------------------------ */

/*
 * A wildcard can match thousands of such functions: for each reason a few are named, and the others
 * only counted.
 */
#define REFUSALS_NAMED 4

struct refused {
	char *why;
	char *names[REFUSALS_NAMED];
	size_t nr; /* in total, named or not */
};

struct refusals {
	struct refused *reasons; /* in order of first occurrence */
	size_t nr, capacity;
};

/* Returns 0 or -ENOMEM. */
int refusals_add(struct refusals *refusals, const char *name, const char *why);

/* Adds nr matches with one reason, of which the first nr_names have names. Returns 0 or -ENOMEM. */
int refusals_add_many(struct refusals *refusals, const char *const *names, size_t nr_names,
		      uint64_t nr, const char *why);

/* Adds the refusals to the list. Returns 0 or -ENOMEM. */
int refusals_list(const struct refusals *refusals, struct probe_list *list);

void refusals_clear(struct refusals *refusals);

/*
 * True for a part that the compiler has split off a function: `f.cold`, `f.isra.0.cold`. It is
 * jumped to, not called, and returns to the caller of the function that it belongs to.
 */
static inline bool is_cold_part(const char *name)
{
	return strstr(name + clone_suffix_find(name), ".cold") != NULL;
}

#endif
