/*
 * What reads alike to people, though a profile tells it apart: files of the same name in different
 * folders or of different builds, code made at run time by different processes, functions without a
 * name and those that another tool has called `[unknown]`.
 */
#ifndef STOOK_VIEW_GROUP_LIKENESS_H
#define STOOK_VIEW_GROUP_LIKENESS_H

#include <stdint.h>

#include "profile/profile.h"

struct group_likeness {
	const struct profile *profile; /* not owned */
	uint32_t *modules;	       /* for each the first one that reads like it */
	uint32_t no_names[2];	       /* strings that stand for no name; 0: there is none */
};

/* 0 or -ENOMEM. */
int group_likeness_init(struct group_likeness *likeness, const struct profile *profile);
void group_likeness_clear(struct group_likeness *likeness);

/* The function, or 0 if it reads like one without a name in this module. */
uint32_t group_likeness_function(const struct group_likeness *likeness, uint32_t function,
				 uint32_t module);

#endif
