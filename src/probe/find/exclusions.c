/* See exclusions.h: who matches names, and how, is up to those who have them. */
#include "probe/find/exclusions.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

int exclusions_add(struct exclusions *exclusions, const struct pattern *pattern)
{
	size_t i;

	for (i = 0; i < exclusions->nr; i++)
		if (exclusions->patterns[i] == pattern)
			return 0;
	if (array_reserve(&exclusions->patterns, &exclusions->capacity, exclusions->nr + 1,
			  sizeof(const struct pattern *)) < 0)
		return -ENOMEM;
	exclusions->patterns[exclusions->nr++] = pattern;
	return 0;
}

void exclusions_clear(struct exclusions *exclusions)
{
	free(exclusions->patterns);
	*exclusions = (struct exclusions){0};
}

bool exclusion_is_about(const struct pattern *pattern, enum pattern_kind kind, bool is_return)
{
	if (pattern->is_return && !is_return)
		return false;
	return pattern->is_any_kind || pattern->kind == kind;
}
