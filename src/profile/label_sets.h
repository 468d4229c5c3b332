/*
 * Labels of samples that other programs made up: "request", "trace_id", as pprof files have them. All
 * that a sample has of them is one set, interned and known by a number; 0 is the empty set.
 */
#ifndef STOOK_PROFILE_LABEL_SETS_H
#define STOOK_PROFILE_LABEL_SETS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct set_label {
	uint32_t key;  /* strings, here and below */
	uint32_t text; /* 0: it is a number */
	uint32_t unit; /* of the number; 0: none */
	int64_t number;
};

/* More labels of one sample are refused. */
#define LABEL_SET_MAX 64

/* In any order, which is kept. The set's number; -ENOMEM; -E2BIG. */
int64_t profile_add_label_set(struct profile *profile, const struct set_label *labels, size_t nr);

/* The labels of a set into *ret, and how many they are. */
size_t profile_label_set(const struct profile *profile, uint32_t set,
			 struct set_label ret[LABEL_SET_MAX]);

#endif
