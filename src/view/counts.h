/*
 * Counts of events (`stook stat`) with the metrics that follow from them, as perf stat prints them:
 *
 *	          1,234.56 msec task-clock                #    0.998 CPUs utilized
 *	     3,012,345,678      cycles                    #    2.440 GHz                  (75.02%)
 *	     5,123,456,789      instructions              #    1.70  insn per cycle
 *	   <not supported>      LLC-load-misses
 *
 * docs/outputs.md lists the members of the JSON and the CSV's columns.
 */
#ifndef STOOK_VIEW_COUNTS_H
#define STOOK_VIEW_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "view/table.h"

struct counted {
	double value; /* as the kernel counts: not multiplied by the event's scale */
	uint64_t enabled_ns, running_ns; /* running_ns 0: not counted */
	double spread;			 /* of several runs: standard error of the mean */
};

/* All events of a CPU, a thread, … */
struct counts_row {
	const char *label;	      /* a CPU's number, "S0-D0-C1", "COMM-TID", a path */
	size_t nr_cpus;		      /* of a core or socket; else 0 */
	const struct counted *counts; /* by event */
};

enum count_state { COUNT_SUPPORTED, COUNT_UNSUPPORTED, COUNT_HIDDEN };

struct counts {
	const struct event *events;
	const enum count_state *states; /* by event */
	size_t nr_events;
	const struct counts_row *rows;
	size_t nr_rows;
	const char *by;	   /* what a row is: "cpu", "core", …; NULL: there is one row */
	const char *title; /* "process id '123'"; NULL: one of many intervals */
	bool has_heading;  /* in text, above the table */
	double time,
		seconds; /* the end, since 1970, and the length of the interval, or of a run on average */
	double since_start;		     /* seconds from the start to the end of the interval */
	double user_seconds, system_seconds; /* of the command; negative: unknown */
	size_t nr_runs;
	double seconds_spread; /* of several runs */
};

/* A derived number: insn per cycle, GHz, … The unit of a rate is "/sec". */
struct metric {
	double value;
	const char *unit; /* NULL: there is none for this event */
};

/* The metric of an event, from the counts of the same row. */
struct metric counts_metric(const struct counts *counts, const struct counts_row *row,
			    size_t event);

/* Fills the sheet; counts must outlive it. */
void counts_fill(struct sheet *sheet, const struct counts *counts);

#endif
