/* Internals of `stook funccount`, for its tests: the command line, and rows from counters. */
#ifndef STOOK_CMD_FUNCCOUNT_TEST_H
#define STOOK_CMD_FUNCCOUNT_TEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "cmd/options/probe_options.h"
#include "cmd/options/task_options.h"
#include "cmd/outputs.h"
#include "probe/attach/probe_object.h"
#include "probe/attach/probing.h"
#include "probe/expression/probe_list.h"
#include "view/hits.h"

#define FUNCCOUNT_ROWS_DEFAULT 32768

struct funccount_options {
	struct probe_options probes;
	struct run_config tasks;
	enum call_order order;
	size_t top; /* 0: all functions */
	bool rate, timestamp;
	const char *by;	 /* NULL: rows by function only */
	size_t max_rows; /* limit with --by */
	struct row_output_options output;
};

/*
 * Returns 0; 1 if help was printed and nothing is left to do; -EINVAL for invalid usage, with
 * *error. The caller clears the options in each case, by task_options_clear().
 */
int funccount_options_parse(int argc, char **argv, struct funccount_options *ret,
			    struct error *error);

/* Checks that the keys of --by exist and each is given once. Returns 0 or -EINVAL. */
int call_keys_check(const char *by, struct error *error);

struct call_counts {
	const struct probe_list *list;
	const struct hits *hits;
	struct call_row *rows; /* at most one per probe */
	size_t nr_rows;
	uint32_t *row_of; /* probe -> row */
	uint64_t *totals; /* probe -> count at the last reading */
	struct call_row *shown;
	uint64_t read_ns; /* time of the last reading */
};

/* The list and the hits must outlive counts. now_ns: start of the first interval. 0 or -ENOMEM. */
int call_counts_init(struct call_counts *counts, const struct probe_list *list,
		     const struct hits *hits, uint64_t now_ns, struct error *error);

/*
 * Reads the calls since the last reading. probing: NULL if all probes were attached all the time.
 * The rows are valid until the next reading.
 */
struct call_interval call_counts_read(struct call_counts *counts, const struct probing *probing,
				      uint64_t now_ns);

/* counts may be {0}. */
void call_counts_clear(struct call_counts *counts);

#endif
