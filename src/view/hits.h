/*
 * Hits of probes in an interval: calls of functions (`stook funccount`), and hits by key, with sums
 * and distributions of a value (`stook tally`). Both select and sort rows and fill a sheet;
 * docs/outputs.md lists the members of their JSON and the columns of their CSV.
 *
 * For people, calls are shown as the table of bcc's funccount, identical to it without further
 * options:
 *
 *	FUNC                                    COUNT
 *	call                                      334
 *	postponeClientRead                        514
 *
 * Further keys (--by) are columns on the left. Calls per second are a third column. The last
 * column, if not empty, marks functions whose probe was detached by the budget. Names are never
 * truncated, because scripts read them. Output for programs also has the functions that the kernel
 * refused to probe.
 *
 * A tally has a row for each key. Programs get times in nanoseconds, and the accounting of all
 * hits:
 *
 *	FUNC    COMM            COUNT          SUM     MIN         AVG     MAX
 *	malloc  redis-server      514        48102      16        93.6    4096
 */
#ifndef STOOK_VIEW_HITS_H
#define STOOK_VIEW_HITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/table.h"

/* --- keys ------------------------------------------------------------------------------------ */

#define ROW_KEYS_MAX	   8
#define ROW_KEY_NAME_BYTES 64

/* The keys of rows. A key is a word or an expression from the user: "comm", "args.dev". */
struct row_keys {
	size_t nr;
	struct row_key {
		char name[ROW_KEY_NAME_BYTES];
		char nested[ROW_KEY_NAME_BYTES + 4]; /* "key.comm" */
		char heading[ROW_KEY_NAME_BYTES];    /* "COMM" */
		bool is_number;
	} keys[ROW_KEYS_MAX];
};

/*
 * Adds a key. Keys beyond ROW_KEYS_MAX are ignored. The name is copied, and truncated if too long.
 */
void row_keys_add(struct row_keys *keys, const char *name, bool is_number);

/* --- calls ----------------------------------------------------------------------------------- */

enum call_state { CALL_COUNTED, CALL_WAITING, CALL_CUT, CALL_REFUSED };

struct call_row {
	const char *label; /* for people: "r:name (hash.c)" */
	const char *name;
	const char *detail; /* distinguishes functions of the same name; NULL: not needed */
	const char *kind;   /* "function", "usdt", "kernel", "tracepoint" */
	const char *file;   /* NULL: the kernel */
	bool is_return;
	uint64_t count;
	double seconds;	   /* time attached */
	double per_second; /* count / seconds */
	enum call_state state;
	double cut_per_second; /* CALL_CUT: rate at which the budget detached it */
	const char *why;       /* CALL_REFUSED: reason */
	/* Values of the interval's keys. NULL: no keys, or no call was counted. */
	const struct cell *keys;
	size_t nr_keys;
};

struct call_interval {
	struct call_row *rows;
	size_t nr;
	double time;	 /* end, seconds since 1970 */
	double seconds;	 /* length */
	uint64_t missed; /* hits since the start not counted by the kernel; UINT64_MAX: unknown */
	const struct row_keys *keys; /* NULL: none */
	uint64_t lost;		     /* with keys: calls that are in no row */
};

struct call_style {
	bool rate;	/* a column of calls per second */
	bool timestamp; /* the local time of day above the table */
};

enum call_order { CALL_BY_COUNT, CALL_BY_NAME, CALL_BY_RATE };

/*
 * Keeps the rows to show, sorted: the ones with calls, detached or refused; with top > 0, only the
 * most called of these. Counts and rates are ascending, so that the largest are last, where a
 * terminal shows them; ties are sorted by name, then by keys.
 */
void call_interval_choose(struct call_interval *interval, enum call_order order, size_t top);

/* The interval must outlive the sheet. */
void calls_sheet_fill(struct sheet *sheet, const struct call_interval *interval,
		      const struct call_style *style);

/* --- tallies --------------------------------------------------------------------------------- */

struct tally_line {
	const struct cell *keys; /* one per key: a text, a number, or none */
	uint64_t count;
	int64_t sum, least, most;   /* of the value, if there is one */
	struct histogram histogram; /* of the value, with has_histogram */
};

struct tally_interval {
	const struct row_keys *keys;
	const char *value;  /* name of the value; NULL: no value */
	bool is_time;	    /* the value is in nanoseconds */
	bool has_histogram; /* lines have a histogram */
	const char *unit;   /* of histogram ranges; NULL: plain numbers */
	struct tally_line *lines;
	size_t nr_lines;
	double time;			 /* end, seconds since 1970 */
	double seconds;			 /* length */
	const char *const *figure_names; /* accounting of all hits: "accounting.entries" */
	const uint64_t *figures;
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

/* Sorts lines in ascending order, and keeps only the last `top` lines if top > 0. */
void tally_interval_choose(struct tally_interval *interval, enum tally_order order, size_t top);

/* The interval must outlive the sheet. shows_time: print the time of day above the table. */
void tally_sheet_fill(struct sheet *sheet, const struct tally_interval *interval, bool shows_time);

#endif
