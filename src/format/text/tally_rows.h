/*
 * What `stook tally` shows of an interval: a row for each key, as a table, as histograms, as JSON and
 * as CSV.
 *
 *	FUNC    COMM            COUNT          SUM     MIN         AVG     MAX
 *	malloc  redis-server      514        48102      16        93.6    4096
 *
 * JSON is a line for each interval, an object:
 *
 *	{"time": 1763746015.123, "seconds": 1.000, "rows": [
 *	 {"key": {"func": "malloc", "comm": "redis-server"}, "count": 514, "sum": 48102, "min": 16,
 *	  "max": 4096, "avg": 93.6, "histogram": [{"from": 16, "to": 31, "count": 500}, …]}, …],
 *	 "accounting": {"entries": 514, …}}
 *
 * Times are nanoseconds there, but in histograms what "unit" says. What could not be read is null.
 * CSV (RFC 4180) is a line of names, once, and a line for each row; with a histogram, for each of
 * its buckets.
 */
#ifndef STOOK_FORMAT_TEXT_TALLY_ROWS_H
#define STOOK_FORMAT_TEXT_TALLY_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "format/text/histogram.h"
#include "format/text/key_cell.h"

struct tally_line {
	struct key_cell *cells; /* one for each key */
	uint64_t count;
	int64_t sum, least, most;
	const uint64_t *buckets;
};

struct tally_figure {
	const char *name;
	uint64_t number;
};

struct tally_sheet {
	const char *const *keys;
	size_t nr_keys;
	const char *value; /* what it is called; NULL: there is none */
	bool is_time;	   /* its unit is the nanosecond */
	const char *unit;  /* of the histogram's ranges; NULL: just numbers */
	const struct histogram_range *ranges;
	size_t nr_ranges;
	struct tally_line *lines;
	size_t nr_lines;
	double time;			    /* when the interval ended, seconds since 1970 */
	double seconds;			    /* how long it was */
	const struct tally_figure *figures; /* the accounting */
	size_t nr_figures;
};

enum tally_order {
	TALLY_BY_COUNT,
	TALLY_BY_KEY,
	TALLY_BY_SUM,
	TALLY_BY_MIN,
	TALLY_BY_AVG,
	TALLY_BY_MAX,
};

double tally_line_average(const struct tally_line *line);

/* Sorts lines, upwards, and leaves the last `top` of them, unless that is 0. */
void tally_rows_choose(struct tally_sheet *sheet, enum tally_order order, size_t top);

/* Write, and leave flushing to the caller, who asks the stream whether all went well. */
void tally_rows_write_table(const struct tally_sheet *sheet, bool has_time, FILE *out);
void tally_rows_write_json(const struct tally_sheet *sheet, FILE *out);
void tally_rows_write_csv_head(const struct tally_sheet *sheet, FILE *out);
void tally_rows_write_csv(const struct tally_sheet *sheet, FILE *out);

#endif
