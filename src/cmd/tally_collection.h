/*
 * Converts the rows of an interval, as they come from the kernel, into those of view/hits.h, and
 * sums up the counters of hits over the intervals of a run.
 */
#ifndef STOOK_CMD_TALLY_COLLECTION_H
#define STOOK_CMD_TALLY_COLLECTION_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "collect/tallier.h"
#include "probe/expression/probe_list.h"
#include "probe/expression/tally_query.h"
#include "view/hits.h"

struct tally_collection {
	const struct tally_query *query;
	const struct probe_list *list;
	struct row_keys keys;
	int cgroup_root_fd;
	struct tally_counters counters;
	uint64_t *words; /* for each row: the key, then the row */
	size_t nr, capacity;
	struct tally_line *lines;
	struct cell *cells; /* keys of the lines; their texts are owned */
	size_t nr_cells;
	struct histogram_range ranges[TALLY_MAX_BUCKETS];
	char title[TALLY_KEY_NAME_BYTES + 8]; /* title of histograms: "arg2 (us)" */
};

void tally_collection_init(struct tally_collection *collection, const struct tally_query *query,
			   const struct probe_list *list);
void tally_collection_clear(struct tally_collection *collection);

/* Returns the first word of a key in the line with this index, in the order of collection. */
uint64_t tally_collection_word(const struct tally_collection *collection, size_t line, size_t key);

/*
 * Ends the tallier's epoch, adds its counters to total, and returns its rows as an interval without
 * the times. The interval is valid until the next reading. Returns 0 or a negative errno.
 */
int tally_collection_read(struct tally_collection *collection, struct tallier *tallier,
			  struct tally_counters *total, struct tally_interval *ret,
			  struct error *error);

/* Returns the number of hits that are in no row. */
uint64_t tally_totals_lost(const struct tally_counters *counters);

/* Prints a line on stderr for each reason of loss. */
void tally_totals_report_lost(const struct tally_counters *total);

#endif
