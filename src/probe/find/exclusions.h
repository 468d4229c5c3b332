/* The patterns that leave out matches, as far as they concern one file, or the kernel. */
#ifndef STOOK_PROBE_FIND_EXCLUSIONS_H
#define STOOK_PROBE_FIND_EXCLUSIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "probe/find/pattern.h"

struct exclusions {
	const struct pattern **patterns; /* which are somebody else's */
	size_t nr, capacity;
};

/* One that is there already is not added again. 0 or -ENOMEM. */
int exclusions_add(struct exclusions *exclusions, const struct pattern *pattern);
void exclusions_clear(struct exclusions *exclusions);

/* Whether it is about matches of this kind: `!NAME` is about all; `!r:…` about returns only. */
bool exclusion_is_about(const struct pattern *pattern, enum pattern_kind kind, bool is_return);

#endif
