/*
 * The report of a profile as a sheet: its samples summed by function, module, thread, …, heaviest
 * first; the shares of categories; and the heaviest paths.
 *
 * Text has the top rows, and the sum of the others; then a tree, or whole stacks. Markdown, for
 * tickets, has the recording parameters, fewer rows, and the heaviest path. CSV and JSON have all
 * rows, see docs/outputs.md.
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

/* A zero-initialised style is the default. */
struct report_style {
	struct call_paths_style paths;
	size_t max_rows;      /* of the table; 0: 20 in text, 10 in Markdown, all in other media */
	double least_percent; /* rows below it are left out */
	bool sort_by_total;   /* else by self */
	enum group_key groups[NR_GROUP_KEYS]; /* the keys of rows, without duplicates */
	size_t nr_groups;		      /* 0: by function and module */
	const struct categories *categories;  /* NULL: none */
};

/*
 * Fills a sheet for this medium. The profile and the categories must outlive the sheet. 0 or
 * -ENOMEM.
 */
int report_sheet_fill(struct sheet *sheet, enum media medium, const struct profile *profile,
		      const struct report_style *style);

#endif
