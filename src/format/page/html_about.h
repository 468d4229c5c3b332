/* What the page knows of the profile as a whole, as JSON in a script element. */
#ifndef STOOK_FORMAT_PAGE_HTML_ABOUT_H
#define STOOK_FORMAT_PAGE_HTML_ABOUT_H

#include <stddef.h>
#include <stdio.h>

#include "format/format.h"
#include "format/page/html_columns.h"
#include "profile/profile.h"
#include "view/diff/difference.h"

struct html_about {
	const struct profile *profile;
	const struct format_options *options;
	const struct html_columns *columns;
	size_t other;	    /* the value that the first tree has beside the count; 0: none */
	size_t nr_labels;   /* words in front of each stack */
	double least_share; /* of all, that calls have which are not left out */
	const struct difference_scale *scale; /* NULL: it is no difference */
};

/* The tree that a value is in, by its number. */
size_t html_about_tree(const struct html_about *about, size_t value);

/* 0 or -ENOMEM. No `<` or `>` is in it. */
int html_about_write(const struct html_about *about, FILE *out);

#endif
