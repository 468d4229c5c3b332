/*
 * From the counters of probes to the rows that are shown: what each interval brought, which is the
 * difference to the last reading of counters that are never cleared. So the intervals' sum is the
 * total, whatever is counted while they are read.
 *
 * A row is a probe, but for static probes (USDT) of one name, which are one. Calls told apart by
 * function and keys (`funccount --by pid,comm`) go to the rows of the tallier (collect/tallier.h), of
 * which an interval is an epoch; what is known of each function besides comes from its counters.
 */
#ifndef STOOK_CMD_CALL_COUNTS_H
#define STOOK_CMD_CALL_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cmd/probe_operands.h"
#include "cmd/tally_collection.h"
#include "collect/tallier.h"
#include "format/text/call_rows.h"
#include "probe/attach/probe_object.h"
#include "probe/attach/probing.h"
#include "probe/expression/probe_list.h"

struct call_counts {
	const struct probe_list *list;
	struct call_row *rows; /* as many as there are probes at most */
	size_t nr_rows;
	uint32_t *row_of; /* of each probe */
	uint64_t *totals; /* of each probe, at the last reading */
	struct call_row *shown;
	uint64_t read_ns; /* when that was */
};

/* The list must outlive it, and *counts not move. now_ns: when the first interval begins. */
int call_counts_init(struct call_counts *counts, const struct probe_list *list, uint64_t now_ns,
		     struct error *error);

/*
 * Reads what has come since the last time. probing: NULL if everything has been attached all the
 * while. The rows are good until the next reading.
 */
struct call_interval call_counts_read(struct call_counts *counts, const struct hits *hits,
				      const struct probing *probing, uint64_t now_ns);

/* Also of {0}. */
void call_counts_clear(struct call_counts *counts);

struct call_keys {
	struct tally_places places;
	struct tallier *tallier;
	struct tally_collection collection;
	struct tally_counters total; /* of all intervals */
	struct call_row *rows;	     /* of the last one */
};

/* Checks that the keys of --by exist, each given once. 0 or -EINVAL. */
int call_keys_check(const char *by, struct error *error);

/* Compiles, and loads. The run's list must outlive it, and *keys not move. 0 or a negative errno. */
int call_keys_init(struct call_keys *keys, const char *by, size_t max_rows, struct probe_list *list,
		   struct probe_features *features, const struct wanted_tasks *tasks,
		   struct error *error);

/*
 * Reads the calls since the last reading. The interval's own rows, one for each function, become those of
 * its keys; they are good until the next reading. 0 or a negative errno.
 */
int call_keys_read(struct call_keys *keys, const struct call_counts *counts,
		   struct call_interval *interval, struct error *error);

/* Also of {0}. */
void call_keys_clear(struct call_keys *keys);

#endif
