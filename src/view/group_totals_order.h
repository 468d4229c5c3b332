/*
 * Groups of group_totals.h in the order that they are shown in: heaviest first; what weighs the
 * same by what is shown of it, not by numbers, so that equal profiles print equally.
 *
 * Used by group_totals.c alone.
 */
#ifndef STOOK_VIEW_GROUP_TOTALS_ORDER_H
#define STOOK_VIEW_GROUP_TOTALS_ORDER_H

#include <stdbool.h>

#include "view/group_totals.h"

/* by_total: what is heavy; else by self. */
void group_totals_sort(struct group_totals *totals, const struct profile *profile, bool by_total);

#endif
