/* What was compared with what, in the titles of pictures and pages. */
#ifndef STOOK_FORMAT_FLAME_COMPARED_NAMES_H
#define STOOK_FORMAT_FLAME_COMPARED_NAMES_H

#include <stdbool.h>
#include <stdio.h>

#include "view/diff/comparison.h"

/* Whether both names are known; style may be NULL. */
bool compared_names_known(const struct comparison_style *style);

/* "old.pb.gz → new.pb.gz", escaped for XML and HTML. Both names must be known. */
void compared_names_write(const struct comparison_style *style, FILE *out);

#endif
