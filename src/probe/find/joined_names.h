/* The names of one place as one text, sorted, each once: "a|b|c". */
#ifndef STOOK_PROBE_FIND_JOINED_NAMES_H
#define STOOK_PROBE_FIND_JOINED_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* Linkers fold hundreds of equal functions into one: a longer text ends in "|and 7 more". */
#define JOINED_MAX_BYTES 1024

struct joined_names {
	char **names;
	size_t nr, capacity;
	char text[JOINED_MAX_BYTES];
};

/* Adds `name`, or `name+0xoffset` if that is not 0. 0 or -ENOMEM. */
int joined_names_add(struct joined_names *joined, const char *name, uint64_t offset);

/* The text of what was added since the last call, good until the next. */
const char *joined_names_take(struct joined_names *joined);

void joined_names_clear(struct joined_names *joined);

#endif
