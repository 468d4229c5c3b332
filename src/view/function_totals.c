/* The most wanted kind of groups, see group_totals.h, which count. */
#include "view/function_totals.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "view/group_totals.h"

int function_totals_init(struct function_totals *totals, const struct profile *profile)
{
	const struct group_totals_style style = {.keys = GROUP_BIT(GROUP_FUNCTION) |
							 GROUP_BIT(GROUP_MODULE)};
	cleanup(group_totals_clear) struct group_totals groups = {0};

	*totals = (struct function_totals){0};
	if (group_totals_init(&groups, profile, &style) < 0 ||
	    array_reserve(&totals->functions, &totals->cap, groups.nr, sizeof(*totals->functions)) <
		    0)
		return -ENOMEM;
	for (; totals->nr < groups.nr; totals->nr++) {
		const struct group_total *group = &groups.groups[totals->nr];

		totals->functions[totals->nr] = (struct function_total){
			.name = group->place.function,
			.module = group->place.module,
			.kind = group->place.kind == GROUP_KIND_KERNEL ? FRAME_KERNEL : FRAME_USER,
			.self = group->self,
			.total = group->total,
		};
	}
	totals->no_frames_count = groups.no_frames_count;
	return 0;
}

void function_totals_clear(struct function_totals *totals)
{
	free(totals->functions);
	*totals = (struct function_totals){0};
}
