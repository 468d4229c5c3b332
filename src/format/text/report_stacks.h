/*
 * Whole stacks, heaviest first; used by report.c alone, which has filled in the options' defaults.
 */
#ifndef STOOK_FORMAT_TEXT_REPORT_STACKS_H
#define STOOK_FORMAT_TEXT_REPORT_STACKS_H

#include <stdio.h>

#include "format/text/report.h"

/* 0 or -ENOMEM; errors of the stream are left in it. */
int report_stacks_write(const struct profile *profile, const struct report_options *options,
			FILE *out);

#endif
