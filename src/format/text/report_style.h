/*
 * What the text report shows, and the formats that have its rows. A style of zeros is the default.
 */
#ifndef STOOK_FORMAT_TEXT_REPORT_STYLE_H
#define STOOK_FORMAT_TEXT_REPORT_STYLE_H

#include <stdbool.h>
#include <stddef.h>

#include "view/call_tree.h"
#include "view/group_totals.h"

struct report_style {
	enum report_order order;
	enum report_form form;
	double threshold;      /* percent below which a branch is left out; 0: what fits */
	unsigned max_branches; /* of a fork, or so many stacks; 0: any number */
	size_t max_rows;       /* of the table; 0: 20 in text, all elsewhere */
	double least_percent;  /* rows below it are left out */
	bool sort_by_total;    /* else by self */
	enum group_key groups[NR_GROUP_KEYS]; /* what the rows of the table are, each once */
	size_t nr_groups;		      /* 0: functions and modules */
};

#endif
