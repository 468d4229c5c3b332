/*
 * How often functions were called in an interval: the rows that `stook funccount` shows, in order,
 * as JSON and as CSV; call_table.h has them as a table.
 *
 * JSON is a line for each interval, an object:
 *
 *	{"time": 1763746015.123, "seconds": 1.000, "missed": null, "functions": [
 *	 {"name": "call", "detail": null, "return": false, "kind": "function",
 *	  "file": "/usr/bin/redis-check-rdb", "count": 334, "per_second": 333.9,
 *	  "state": "counted", "cut_per_second": null, "why": null}, …]}
 *
 * "time" is when the interval ended, in seconds since 1970; "missed" are hits so far that the kernel
 * could not run the program for, null where it does not count them. "state" is "counted"; "waiting",
 * not attached yet; "cut", detached at the rate "cut_per_second"; or "refused", for the reason "why".
 *
 * Where calls are told apart by more than their function, a row's keys come first, {"pid": 812, …, and
 * the interval has "lost" behind "missed": calls that are in no row.
 *
 * CSV (RFC 4180) is a line of names, once, and a line for each function and interval with the same
 * values under the same names, "missed" and "lost" left out.
 */
#ifndef STOOK_FORMAT_TEXT_CALL_ROWS_H
#define STOOK_FORMAT_TEXT_CALL_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "format/text/key_cell.h"

enum call_state { CALL_COUNTED, CALL_WAITING, CALL_CUT, CALL_REFUSED };

struct call_row {
	const char *label; /* in tables: "r:name (hash.c)" */
	const char *name;
	const char *detail; /* what tells it from others of the name; NULL: no need */
	const char *kind;   /* "function", "usdt", "kernel", "tracepoint" */
	const char *file;   /* NULL: the kernel */
	bool is_return;
	uint64_t count;
	double seconds;	   /* how long it was attached */
	double per_second; /* in that time */
	enum call_state state;
	double cut_per_second; /* CALL_CUT */
	const char *why;       /* CALL_REFUSED */
	/* What else it is told apart by. NULL: nothing, or no call was counted. */
	const struct key_cell *cells;
	size_t nr_cells;
};

struct call_interval {
	struct call_row *rows;
	size_t nr;
	double time;	 /* when it ended, seconds since 1970 */
	double seconds;	 /* how long it was */
	uint64_t missed; /* UINT64_MAX: not told */
	const char *const *keys;
	size_t nr_keys;
	uint64_t lost; /* with keys */
};

enum call_order { CALL_BY_COUNT, CALL_BY_NAME, CALL_BY_RATE };

/*
 * Keeps the rows that are to be shown, at the front, sorted: with hits, or cut or refused, and of
 * these the most called if top is not 0. Counts and rates go upwards, so that the largest stand last
 * where a terminal shows them; names decide between equals, then keys. Returns how many; those
 * behind are void.
 */
size_t call_rows_choose(struct call_row *rows, size_t nr, enum call_order order, size_t top);

/* Write, and leave flushing to the caller, who asks the stream whether all went well. */
void call_rows_write_json(const struct call_interval *interval, FILE *out);
void call_rows_write_csv_head(const struct call_interval *interval, FILE *out);
void call_rows_write_csv(const struct call_interval *interval, FILE *out);

#endif
