/*
 * The labels of a profile's samples: for each label how many texts it has, and the heaviest ones.
 *
 *	 LABEL   TEXTS  HEAVIEST      SHARE
 *	 cgroup     12  /app.slice    61.2%
 *	                /init.scope    3.1%
 *	 comm       97  redis-server  41.0%
 *	…
 *
 * CSV and JSON have all texts, with their amounts.
 */
#ifndef STOOK_VIEW_LABEL_TOTALS_H
#define STOOK_VIEW_LABEL_TOTALS_H

#include <stddef.h>

#include "profile/profile.h"

struct sheet;

/* most: texts of a label that people see; 0: 5. The profile must outlive the sheet. 0 or -ENOMEM. */
int label_totals_fill(struct sheet *sheet, const struct profile *profile, size_t most);

#endif
