/*
 * A page that shows a profile: one file that asks for nothing else, for profiles too large for a
 * picture. Equal profiles give equal bytes.
 */
#ifndef STOOK_FORMAT_PAGE_HTML_H
#define STOOK_FORMAT_PAGE_HTML_H

#include <stdio.h>

#include "format/format.h"
#include "profile/profile.h"

/* Writes and flushes. 0, -ENOMEM, or the stream's errno. */
int html_write(const struct profile *profile, const struct format_options *options, FILE *out);

#endif
