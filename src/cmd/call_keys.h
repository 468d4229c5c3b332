/*
 * Calls told apart by function and keys (`funccount --by pid,comm`): they go to the rows of the
 * tallier (collect/tallier.h), of which an interval is an epoch. What is known of each function
 * besides comes from call_counts.h.
 */
#ifndef STOOK_CMD_CALL_KEYS_H
#define STOOK_CMD_CALL_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cmd/call_counts.h"
#include "cmd/tally_places.h"
#include "cmd/tally_sheet.h"
#include "collect/tallier.h"

struct call_keys {
	struct tally_places places;
	struct tallier *tallier;
	struct tally_collection collection;
	struct tally_counters total; /* of all intervals */
	struct call_row *rows;	     /* of the last one */
};

/* Whether --by asks for what there is: 0 or -EINVAL. */
int call_keys_check(const char *by, struct error *error);

/* Compiles, and loads. The run's list must outlive it, and *keys not move. 0 or a negative errno. */
int call_keys_init(struct call_keys *keys, const char *by, size_t max_rows, struct probe_list *list,
		   struct probe_features *features, const struct wanted_tasks *tasks,
		   struct error *error);

/*
 * What has come since the last time. The interval's own rows, one for each function, become those of
 * its keys; they are good until the next reading. 0 or a negative errno.
 */
int call_keys_read(struct call_keys *keys, const struct call_counts *counts,
		   struct call_interval *interval, struct error *error);

/* Also of {0}. */
void call_keys_clear(struct call_keys *keys);

#endif
