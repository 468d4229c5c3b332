/*
 * The report of a profile as a sheet: what its samples add up to by function, module, thread, …, heaviest
 * first, the shares of categories, and the heaviest paths.
 *
 * Text has the top rows, and how much the others are; then a tree, or whole stacks. Markdown, for a ticket,
 * has how the profile was taken, fewer rows, and the heaviest path. CSV and JSON have all rows:
 * docs/outputs.md says what is in them.
 */
#ifndef STOOK_VIEW_REPORT_H
#define STOOK_VIEW_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "profile/profile.h"
#include "view/call_tree.h"
#include "view/categories.h"
#include "view/group_totals.h"
#include "view/table.h"

/* A style of zeros is the default. */
struct report_style {
	struct call_paths_style paths;
	size_t max_rows;      /* of the table; 0: 20 in text, 10 in Markdown, all elsewhere */
	double least_percent; /* rows below it are left out */
	bool sort_by_total;   /* else by self */
	enum group_key groups[NR_GROUP_KEYS]; /* what the rows of the table are, each once */
	size_t nr_groups;		      /* 0: functions and modules */
	const struct categories *categories;  /* NULL: none */
};

/*
 * For a sheet that will be written as this medium, to which the profile and the categories must stay.
 * 0 or -ENOMEM.
 */
int report_sheet_fill(struct sheet *sheet, enum media medium, const struct profile *profile,
		      const struct report_style *style);

#endif
