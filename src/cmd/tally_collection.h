/*
 * The rows of an interval, as they come from the kernel, made into what format/text/tally_rows.h
 * shows, and what became of the hits: sums over the intervals of a run.
 */
#ifndef STOOK_CMD_TALLY_COLLECTION_H
#define STOOK_CMD_TALLY_COLLECTION_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "collect/tallier.h"
#include "format/text/tally_rows.h"
#include "probe/expression/probe_list.h"
#include "probe/expression/tally_query.h"

struct tally_collection {
	const struct tally_query *query;
	const struct probe_list *list;
	int cgroup_root_fd;
	struct tally_counters counters;
	uint64_t *words; /* of each row: the key, then the row */
	size_t nr, capacity;
	struct tally_line *lines; /* of the sheet */
	struct key_cell *cells;
	size_t nr_cells;
	const char *keys[TALLY_KEYS_MAX];
	struct histogram_range ranges[TALLY_MAX_BUCKETS];
	struct tally_figure figures[sizeof(struct tally_counters) / sizeof(uint64_t)];
};

void tally_collection_init(struct tally_collection *collection, const struct tally_query *query,
			   const struct probe_list *list);
void tally_collection_clear(struct tally_collection *collection);

/* The first word of a line's key, by the line's place as collected. */
uint64_t tally_collection_word(const struct tally_collection *collection, size_t line, size_t key);

/*
 * Ends the tallier's epoch, adds its counters to the total, and makes its rows a sheet, without the
 * times, which is good until the next reading. 0 or a negative errno.
 */
int tally_collection_read(struct tally_collection *collection, struct tallier *tallier,
			  struct tally_counters *total, struct tally_sheet *ret,
			  struct error *error);

/* Hits that are in no row, for whatever reason. */
uint64_t tally_totals_lost(const struct tally_counters *counters);

/* A line on stderr for each reason. */
void tally_totals_tell_lost(const struct tally_counters *total);

#endif
