/*
 * A glob as a list of states, the form in which glob_walk runs it over names.
 *
 * A state leads to the one behind it, and some to another one farther on: never back, except that a
 * star also stays where it is. So the states reached without a byte are found in one pass over the
 * list, and from its end backwards it is known which states may be the last.
 */
#ifndef STOOK_PROBE_FIND_GLOB_H
#define STOOK_PROBE_FIND_GLOB_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/find/matcher.h"

/* A byte of text makes two states at most, and one stands at either end. */
#define GLOB_STATES_MAX (2 * MATCHER_TEXT_MAX + 2)

enum glob_kind {
	GLOB_BYTE, /* takes this byte */
	GLOB_ANY,  /* takes any byte */
	GLOB_SET,  /* takes a byte of set `to` */
	GLOB_STAR, /* takes any byte and stays, or takes none */
	GLOB_FORK, /* takes none: on to the next, and to `to` */
	GLOB_JUMP, /* takes none: on to `to` */
	GLOB_END,
};

struct glob_state {
	uint8_t kind; /* enum glob_kind */
	uint8_t byte;
	uint16_t to;
};

struct glob_set {
	uint64_t bytes[4]; /* one bit each */
};

struct glob {
	struct glob_state *states; /* from the first to GLOB_END */
	size_t nr_states, cap_states;
	struct glob_set *sets;
	size_t nr_sets, cap_sets;
};

/* text: at most MATCHER_TEXT_MAX bytes. 0, -EINVAL or -ENOMEM, with *error as in matcher.h. */
int glob_parse(const char *text, size_t nr, struct glob *ret, struct matcher_error *error);
void glob_clear(struct glob *glob);

static inline bool glob_set_has(const struct glob_set *set, uint8_t byte)
{
	return set->bytes[byte / 64] >> byte % 64 & 1;
}

/* Whether the state takes this byte. */
bool glob_takes(const struct glob *glob, size_t state, uint8_t byte);

#endif
