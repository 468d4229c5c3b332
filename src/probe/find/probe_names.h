/*
 * The names of the probes of one search: those of one place are joined, probes of one name are
 * distinguished, the list is sorted; and the matches that can't be probed are kept by reason.
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

/* Linkers fold hundreds of equal functions into one: a longer text ends in "|and 7 more". */
#define JOINED_MAX_BYTES 1024

struct joined_names {
	char **names;
	size_t nr, capacity;
	char text[JOINED_MAX_BYTES];
};

/* Adds `name`, or `name+0xoffset` if that is not 0. 0 or -ENOMEM. */
int joined_names_add(struct joined_names *joined, const char *name, uint64_t offset);

/* The names that were added since the last call as one text, good until the next call. */
const char *joined_names_take(struct joined_names *joined);

void joined_names_clear(struct joined_names *joined);

/* --- probes of one name ----------------------------------------------------------------------- */

struct twin {
	uint32_t number; /* in the list */
	uint64_t address;
	const char *source; /* a source file, a module; NULL: not known */
};

struct twins {
	struct twin *items; /* all probes, most of which turn out to have no twin */
	size_t nr, capacity;
};

/* 0 or -ENOMEM. */
int twins_add(struct twins *twins, uint32_t number, uint64_t address, const char *source);

/*
 * Sets `detail` of the probes whose name other probes have too: to the source if all their sources
 * differ, else to the address with the prefix `before`. 0 or -ENOMEM.
 */
int twins_tell_apart(struct twins *twins, struct probe_list *list, const char *before);

void twins_clear(struct twins *twins);

/*
 * Sorts the list by file, then address; the kernel's probes go last. Each place stays once. Probes
 * of one name in several files get the file's name before their detail. 0 or -ENOMEM.
 */
int probe_names_order(struct probe_list *list);

/* --- what matched and can't be probed --------------------------------------------------------- */

/*
 * A wildcard can match thousands that nobody asked for: of many matches with one reason a few are
 * named, and the others counted.
 */
#define REFUSALS_NAMED 4

struct refused {
	char *why;
	char *names[REFUSALS_NAMED];
	size_t nr; /* of all, named or not */
};

struct refusals {
	struct refused *reasons; /* in the order in which they came up */
	size_t nr, capacity;
};

/* 0 or -ENOMEM. */
int refusals_add(struct refusals *refusals, const char *name, const char *why);

/* Puts them into the list. 0 or -ENOMEM. */
int refusals_tell(const struct refusals *refusals, struct probe_list *list);

void refusals_clear(struct refusals *refusals);

/*
 * True for a part that the compiler has split off a function: `f.cold`, `f.isra.0.cold`. It is
 * jumped to, not called, and returns for the function that it belongs to.
 */
static inline bool is_cold_part(const char *name)
{
	return strstr(name + clone_suffix_find(name), ".cold") != NULL;
}

#endif
