/*
 * A flame graph as a picture: an SVG file that stands alone. Without a script (in a mail, in a
 * converter) it is a picture with tooltips; in a browser its script (svg.js) zooms and
 * searches.
 *
 * With a value of type "before" (view/diff/difference.h) it is a picture of what changed: red is
 * more, blue is less, grey is what chance may have done. Boxes are then as wide as what was there
 * before and what is there now together, so that what vanished is seen.
 *
 * Equal profiles give equal files.
 */
#ifndef STOOK_FORMAT_FLAME_SVG_H
#define STOOK_FORMAT_FLAME_SVG_H

#include <stdbool.h>
#include <stdio.h>

#include "format/flame/flame_style.h"
#include "format/format.h"
#include "profile/profile.h"

/*
 * True if the style's total is less than what the profile has, of which the picture's width cannot be
 * a part: it is drawn as if there were none.
 */
bool svg_ignores_total(const struct profile *profile, const struct flame_style *style);

/* Writes and flushes. 0, -ENOMEM, or the stream's errno. */
int svg_write(const struct profile *profile, const struct format_options *options, FILE *out);

#endif
