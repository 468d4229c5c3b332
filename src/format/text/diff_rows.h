/*
 * A difference for other programs and for tickets; see comparison.h.
 *
 * JSON is one object:
 *
 *	{"before": {"name": "a.pb.gz", "count": 10012, "seconds": 20.0}, "after": {…},
 *	 "by_time": false, "least_sigma": 4.1, "paths_least_sigma": 4.4, "comparisons": 812,
 *	 "dispersion": 1.3,
 *	 "rows": [{"name": "crc64", "module": "redis-server",
 *	   "self": {"before": 1235, "after": 1499, "before_share": 0.1234, "after_share": 0.1501,
 *		    "change": 0.0267, "error": 0.0048, "sigma": 5.4, "kind": "more"},
 *	   "total": {…}}, …],
 *	 "paths": [{"path": ["redis-server", "main", …], "besides": false, "before": …}, …]}
 *
 * dispersion is that of all functions, see difference.h. by_time has "before_rate" and
 * "after_rate". kind: more, less, new, gone, or null for what may be chance. CSV has the rows, all of
 * them; Markdown the rows and paths that changed.
 */
#ifndef STOOK_FORMAT_TEXT_DIFF_ROWS_H
#define STOOK_FORMAT_TEXT_DIFF_ROWS_H

#include <stdio.h>

#include "format/format.h"
#include "view/diff/comparison.h"

/* Each writes and flushes. 0, -ENOMEM, -EINVAL if it is no difference, or the stream's errno. */
int diff_rows_write_json(const struct profile *profile, const struct format_options *options,
			 const struct comparison_style *style, FILE *out);
int diff_rows_write_csv(const struct profile *profile, const struct format_options *options,
			const struct comparison_style *style, FILE *out);
int diff_rows_write_markdown(const struct profile *profile, const struct format_options *options,
			     const struct comparison_style *style, FILE *out);

/* The comparison as all of them name it. 0, -ENOMEM or -EINVAL. */
int diff_rows_compare(struct comparison *comparison, const struct profile *profile,
		      const struct format_options *options, const struct comparison_style *style);

/* The module of a row of functions; NULL: of another one, or not known. */
const char *diff_rows_module(const struct comparison *comparison, const struct difference_row *row);

#endif
