/*
 * The content of an epoch whose code has no names yet: a whole profile as compressed bytes, which refer to nothing else
 * in the store. So it can go without leaving anything behind when the names are there: nearly each sample has an address
 * of its own, and rows for frames and stacks that occur once would make the store many times as large.
 */
#ifndef STOOK_STORE_UNNAMED_H
#define STOOK_STORE_UNNAMED_H

#include <stdbool.h>

#include "base/bytes.h"
#include "profile/profile.h"
#include "store/objects.h"

/* Appends the bytes of a profile: what store_append() would keep of it. 0 or -ENOMEM. */
int unnamed_write(const struct profile *profile, struct content *to);

/* Chooses the samples that are read. Zero-initialised: all of them. */
struct unnamed_choice {
	/* Changes the labels of a sample, with strings of the profile. 1: it is wanted; 0: it is not; or a negative errno. */
	int (*choose)(void *context, struct profile *profile, struct sample_labels *labels);
	void *context;
	bool no_stacks;
};

/* Makes a profile of the bytes, which the caller frees. 0, -EBADMSG, -ENOMEM, or what choose() returned. */
int unnamed_read(struct bytes bytes, const struct unnamed_choice *choice, struct profile **ret);

#endif
