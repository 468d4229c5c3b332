/* The formats that a profile can be written in: a row each in one table. */
#ifndef STOOK_FORMAT_FORMAT_H
#define STOOK_FORMAT_FORMAT_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/profile.h"

/* What the user may ask of any of them; each takes what concerns it. */
struct format_options {
	unsigned labels; /* enum label bits that were told apart */
	bool delimited, annotate;
	bool no_user, no_kernel; /* such stacks were not asked for */
	unsigned width;		 /* columns of the terminal; 0: none */
	bool ascii;		 /* it does not show UTF-8 */
};

struct format {
	const char *name;
	const char *extension; /* of the files that are written so */
	/* 0, -ENOMEM, or the stream's errno. */
	int (*write)(const struct profile *profile, const struct format_options *options,
		     FILE *out);
};

/* NULL if there is no such format. */
const struct format *format_by_name(const char *name);
const struct format *format_by_path(const char *path);

/* "folded, report", for messages. */
const char *format_names(void);
const char *format_extensions(void);

#endif
