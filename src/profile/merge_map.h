/*
 * What another profile has, in this one: its numbers of strings, frames and labels, mapped when a sample
 * first needs them.
 *
 * Used by merge.c alone.
 */
#ifndef STOOK_PROFILE_MERGE_MAP_H
#define STOOK_PROFILE_MERGE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "profile/profile.h"

struct merge_map {
	struct profile *into;
	const struct profile *from;
	uint32_t *
		strings; /* each by the other profile's number: the own one + 1; 0: not needed yet */
	uint32_t *modules, *frames;
	uint32_t *sets;
	size_t nr_sets;		   /* that sets has room for */
	struct number_index files; /* modules of the own profile, by what they say */
	uint32_t next_file;	   /* number that no file of the own profile has */
	struct code_line *lines;   /* of the frame being mapped */
	size_t cap_lines;
};

/* 0 or -ENOMEM; to be cleared in each case. */
int merge_map_init(struct merge_map *map, struct profile *into, const struct profile *from);
void merge_map_clear(struct merge_map *map);

/* The own profile's number, or -ENOMEM. */
int64_t merge_map_string(struct merge_map *map, uint32_t string);
int64_t merge_map_frame(struct merge_map *map, uint32_t frame);

/* Two strings, in place; all labels, in place. 0 or a negative errno. */
int merge_map_strings(struct merge_map *map, uint32_t *first, uint32_t *second);
int merge_map_labels(struct merge_map *map, struct sample_labels *labels);

#endif
