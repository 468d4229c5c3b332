/*
 * When samples were, as columns of the page: for each node of its first tree the counts by slice of
 * time.
 */
#ifndef STOOK_FORMAT_PAGE_HTML_SLICES_H
#define STOOK_FORMAT_PAGE_HTML_SLICES_H

#include "format/page/html_columns.h"
#include "format/page/html_tree.h"
#include "profile/profile.h"

/* The tree's stacks must have slices. 0 or -ENOMEM. */
int html_slices_put(const struct profile *profile, const struct html_tree *tree,
		    struct html_columns *columns);

#endif
