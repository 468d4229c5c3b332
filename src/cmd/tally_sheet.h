/* The rows of an interval, as they come from the kernel, made into what format/text/tally_rows.h shows. */
#ifndef STOOK_CMD_TALLY_SHEET_H
#define STOOK_CMD_TALLY_SHEET_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
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

/* Forgets the rows, for those of the next interval. */
void tally_collection_reset(struct tally_collection *collection);

/* For tallier_end_epoch(); the context is the collection. 0 or -ENOMEM. */
int tally_collection_add(void *context, const uint64_t *key, const struct tally_row *row);

/* The first word of a line's key, by the line's place as collected. */
uint64_t tally_collection_word(const struct tally_collection *collection, size_t line, size_t key);

/* What is to be shown, but for the times. Good until the reset. 0 or -ENOMEM. */
int tally_collection_show(struct tally_collection *collection, struct tally_sheet *ret);

#endif
