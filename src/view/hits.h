/*
 * Hits of probes in an interval: calls of functions, as `stook funccount` shows them, and hits by key, with
 * sums and distributions of a value, as `stook tally` does. Both choose and sort rows and fill a sheet;
 * docs/outputs.md lists the members of their JSON and the columns of their CSV.
 *
 * For people calls are the table of bcc's funccount, line by line where no more is asked for:
 *
 *	FUNC                                    COUNT
 *	call                                      334
 *	postponeClientRead                        514
 *
 * Keys that calls are told apart by besides (--by) are columns in front, calls a second are a third
 * column, and the last one, there only if it has something to say, reports functions that the budget
 * cut. Names are never cut: scripts read them. Programs also get the functions that the kernel refused
 * to probe.
 *
 * A tally has a row for each key. Programs get times in nanoseconds, and what became of all hits:
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

/* What rows are told apart by. A key is a word or an expression of the user's: "comm", "args.dev". */
struct row_keys {
	size_t nr;
	struct row_key {
		char name[ROW_KEY_NAME_BYTES];
		char nested[ROW_KEY_NAME_BYTES + 4]; /* "key.comm" */
		char heading[ROW_KEY_NAME_BYTES];    /* "COMM" */
		bool is_number;
	} keys[ROW_KEYS_MAX];
};

/* Keys beyond ROW_KEYS_MAX are left out. The names are copied, cut where they are too long. */
void row_keys_add(struct row_keys *keys, const char *name, bool is_number);

/* --- calls ----------------------------------------------------------------------------------- */

enum call_state { CALL_COUNTED, CALL_WAITING, CALL_CUT, CALL_REFUSED };

struct call_row {
	const char *label; /* for people: "r:name (hash.c)" */
	const char *name;
	const char *detail; /* tells it from others of the name; NULL: no need */
	const char *kind;   /* "function", "usdt", "kernel", "tracepoint" */
	const char *file;   /* NULL: the kernel */
	bool is_return;
	uint64_t count;
	double seconds;	   /* how long it was attached */
	double per_second; /* in that time */
	enum call_state state;
	double cut_per_second; /* CALL_CUT */
	const char *why;       /* CALL_REFUSED */
	/* By the interval's keys. NULL: there are none, or no call was counted. */
	const struct cell *keys;
	size_t nr_keys;
};

struct call_interval {
	struct call_row *rows;
	size_t nr;
	double time;	 /* when it ended, seconds since 1970 */
	double seconds;	 /* how long it was */
	uint64_t missed; /* hits so far that the kernel could not count; UINT64_MAX: unknown */
	const struct row_keys *keys; /* NULL: none */
	uint64_t lost;		     /* with keys: calls that are in no row */
};

struct call_style {
	bool rate;	/* a column of calls a second */
	bool timestamp; /* the local time of day above the table */
};

enum call_order { CALL_BY_COUNT, CALL_BY_NAME, CALL_BY_RATE };

/*
 * Leaves the rows that are to be shown, sorted: with calls, or cut or refused, and of these the most called
 * if top is not 0. Counts and rates go upwards, so that the largest stand last where a terminal shows
 * them; names decide between equals, then keys.
 */
void call_interval_choose(struct call_interval *interval, enum call_order order, size_t top);

/* The interval must outlive the sheet. */
void calls_sheet_fill(struct sheet *sheet, const struct call_interval *interval,
		      const struct call_style *style);

/* --- tallies --------------------------------------------------------------------------------- */

struct tally_line {
	const struct cell *keys; /* one for each key: a text, a number, or none */
	uint64_t count;
	int64_t sum, least, most;   /* of the value, if there is one */
	struct histogram histogram; /* likewise */
};

struct tally_interval {
	const struct row_keys *keys;
	const char *value;  /* what it is called; NULL: there is none */
	bool is_time;	    /* its unit is the nanosecond */
	bool has_histogram; /* lines have one, whose ranges are in … */
	const char *unit;   /* … NULL: just numbers */
	struct tally_line *lines;
	size_t nr_lines;
	double time;			 /* when it ended, seconds since 1970 */
	double seconds;			 /* how long it was */
	const char *const *figure_names; /* what became of all hits: "accounting.entries" */
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

/* Sorts lines, upwards, and leaves the last `top` of them, unless that is 0. */
void tally_interval_choose(struct tally_interval *interval, enum tally_order order, size_t top);

/* The interval must outlive the sheet. shows_time: the time of day stands above the table. */
void tally_sheet_fill(struct sheet *sheet, const struct tally_interval *interval, bool shows_time);

#endif
