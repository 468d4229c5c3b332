/* The report's second half; used by report.c alone, which has filled in the options' defaults. */
#ifndef STOOK_FORMAT_TEXT_REPORT_TREE_H
#define STOOK_FORMAT_TEXT_REPORT_TREE_H

#include <stdio.h>

#include "format/text/report.h"

/* 0 or -ENOMEM; errors of the stream are left in it. */
int report_tree_write(const struct profile *profile, const struct report_options *options,
		      FILE *out);

#endif
