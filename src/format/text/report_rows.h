/*
 * The rows of a report, for all formats that have them: what the samples add up to by function,
 * module, thread, …, heaviest first, and by category.
 */
#ifndef STOOK_FORMAT_TEXT_REPORT_ROWS_H
#define STOOK_FORMAT_TEXT_REPORT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/text/report_style.h"
#include "view/categories.h"
#include "view/group_totals.h"

struct report_rows {
	const struct profile *profile;	     /* not owned, nor is the next one */
	const struct categories *categories; /* NULL: not asked for */
	uint64_t total;
	enum group_key keys[NR_GROUP_KEYS]; /* the columns */
	size_t nr_keys;
	bool keys_are_asked_for;    /* else they are what reports have by default */
	bool has_totals;	    /* else a row's total is its self */
	bool kind_is_known;	    /* of the functions; without being a column */
	bool category_is_functions; /* that of the row's function, not of its samples */
	struct group_totals totals;
	size_t nr; /* of the groups so many are to be shown, the first ones */
	uint64_t *category_counts;
	uint32_t *heavy_categories; /* those with a count, heaviest first */
	size_t nr_heavy_categories;
};

/* 0 or -ENOMEM. */
int report_rows_init(struct report_rows *rows, const struct profile *profile,
		     const struct report_style *style, const struct categories *categories);
void report_rows_clear(struct report_rows *rows);

/*
 * For people: no column of modules that nobody asked for, where no row has one, as in folded stacks.
 * Other programs count on their columns.
 */
void report_rows_drop_modules(struct report_rows *rows);

double report_rows_percent(const struct report_rows *rows, uint64_t count);

/* "function", "module", … */
const char *report_rows_key_name(enum group_key key);
const char *report_rows_kind(enum group_kind kind); /* "user", "kernel", "jit"; NULL: several */
bool report_rows_key_is_number(enum group_key key);

/* What stands in a row's column of this key. Either in the buffer or of the profile. */
#define REPORT_CELL_BYTES 512
const char *report_rows_text(const struct report_rows *rows, const struct group_total *group,
			     enum group_key key, char buffer[REPORT_CELL_BYTES]);

#endif
