/*
 * What several profiles can be shown by together: values that all of them have. Samples of one and
 * nanoseconds of another have no sum, nor a difference; but a file of the other has its samples, too.
 */
#ifndef STOOK_CMD_COMMON_VALUES_H
#define STOOK_CMD_COMMON_VALUES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "profile/profile.h"

struct common_value {
	char *type, *unit;
};

/* Of zeros it is of no profile yet. */
struct common_values {
	struct common_value values[PROFILE_MAX_VALUES]; /* in the first one's order */
	size_t nr;
	size_t nr_profiles;
	bool has_first_count; /* values[0] is what the first one counts */
	const char *paths[2]; /* of the first one, and of the first that counts something else */
	char *counts[2];      /* what they count */
};

/* The path has to stay. 0, -ENOMEM, or -EINVAL if nothing is left that all have. */
int common_values_add(struct common_values *common, const struct profile *profile, const char *path,
		      struct error *error);

/*
 * Makes the counts of a profile what is common: what the first one counts, or else samples, or else
 * whatever there is. The profile is one of those, or has them merged. 0 or -ENOMEM.
 */
int common_values_choose(const struct common_values *common, struct profile *profile);

/* The line to be told of what was chosen; empty if all count the same. */
#define COMMON_VALUES_NOTE_BYTES 400
void common_values_note(const struct common_values *common, char note[COMMON_VALUES_NOTE_BYTES]);

void common_values_clear(struct common_values *common);

#endif
