/* What a table of categories is made of; for categories.c and categories_parse.c alone. */
#ifndef STOOK_VIEW_CATEGORIES_TABLE_H
#define STOOK_VIEW_CATEGORIES_TABLE_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/categories.h"

#define CATEGORIES_NR_BYTES 256 /* that names may begin with */

enum where {
	WHERE_ANY,
	WHERE_KERNEL,
	WHERE_USER,
	WHERE_MODULE,
};

struct pattern {
	uint32_t category;
	enum where where;
	char *module; /* glob, of WHERE_MODULE */
	char *glob;   /* NULL: it is a regular expression */
	regex_t regex;
};

struct categories {
	char **names; /* by number */
	size_t nr, cap;
	struct pattern *patterns;
	size_t nr_patterns, cap_patterns;
	uint32_t *by_byte; /* patterns for names that begin with byte 0, with byte 1, …, in order */
	uint32_t first_of_byte[CATEGORIES_NR_BYTES + 1]; /* in by_byte */
	bool of_kernel; /* the built-in table: patterns are about the kernel unless they say more */
};

#endif
