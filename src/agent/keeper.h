/*
 * Keeps the epochs of a run in a store, whatever happens to it: while the disk is full or read-only, epochs are dropped
 * and counted; a damaged store is moved aside and a new one begun. Removes what is too old or too much.
 *
 * All functions but keeper_open() are for the thread that names epochs; the counts may be read from others.
 */
#ifndef STOOK_AGENT_KEEPER_H
#define STOOK_AGENT_KEEPER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/walk_end.h"
#include "collect/session.h"
#include "store/store.h"

struct keeper {
	const char *path;
	struct store *store; /* NULL: could not be opened again */
	struct store_limits limits;
	uint64_t expire_ns;	 /* when to remove what is too old next */
	uint64_t nr_dropped_now; /* epochs, since the last that was stored */
	bool is_off_cpu;
	atomic_uint_fast64_t nr_stored, nr_dropped, bytes;
	atomic_uint_fast64_t stored_ns; /* CLOCK_MONOTONIC, of the last epoch; 0: none */
	atomic_uint_fast64_t user_walks_ns[NR_WALK_ENDS],
		kernel_walks_ns[NR_WALK_ENDS]; /* time on a CPU, by how walks of stacks ended */
};

/*
 * retain_ns: the age at which everything is removed, 0: never. The caller calls keeper_close(), also after a failure.
 * 0 or a negative errno.
 */
int keeper_open(struct keeper *keeper, const char *path, uint64_t retain_ns, uint64_t max_bytes,
		struct error *error);
void keeper_close(struct keeper *keeper);

/*
 * Labels the profile of an epoch and stores it. Reports what goes wrong itself, once until it goes well again, and
 * returns 0: there is nothing that a run should end for.
 */
int keeper_add(struct keeper *keeper, struct profile *profile, const struct session_part *part);

#endif
