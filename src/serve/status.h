/*
 * The agent's status, in memory that it shares with its server: the agent writes, the server can only read. Without an
 * agent there is none. Metrics and health follow from it and from the store.
 */
#ifndef STOOK_SERVE_STATUS_H
#define STOOK_SERVE_STATUS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bpf/walk_end.h"
#include "bpf/wire.h"
#include "store/store.h"

/* Numbers of what an agent had no room for. Stacks are cut short, or code has no name, where it is missing. */
struct shortages {
	uint64_t nr_tables_left_out; /* unwind tables that need too much memory to be made */
	uint64_t nr_tables_evicted;  /* times that one was unloaded for others, or had no room */
	uint64_t nr_lost_events;     /* of processes, which the kernel dropped */
	uint64_t nr_forgotten;	     /* processes whose mappings were dropped or read in part */
	uint64_t nr_names_left_out;  /* files, in an epoch, whose symbols need too much memory */
	uint64_t
		nr_unpublished; /* processes and files beyond the numbers that can be unwound at a time */
	uint64_t nr_unseen; /* processes and mappings not looked at, in time or for want of room */
};

/* Counters never fall. Times are CLOCK_MONOTONIC. */
struct status {
	uint64_t told_ns;	    /* when this was written */
	uint64_t started_ns;	    /* start of the agent */
	uint64_t stored_ns;	    /* when an epoch was last stored with names; 0: none */
	uint64_t epoch_ns;	    /* length of an epoch */
	uint64_t store_interval_ns; /* at which they are, at present; 0: an epoch */
	bool is_paused;
	/* End of the last epoch that did not lose all of its samples; 0: none. */
	uint64_t kept_ns;
	uint64_t entries, idle, own, filtered, ended, recorded, counted, thinned;
	uint64_t lost[WIRE_NR_LOSS_REASONS];
	/* Time on a CPU that was stored, by how the walks of its stacks ended. */
	uint64_t user_walks_ns[NR_WALK_ENDS], kernel_walks_ns[NR_WALK_ENDS];
	uint64_t nr_stored, nr_dropped; /* epochs */
	uint64_t own_ns, bpf_ns;	/* CPU time */
	uint64_t memory_bytes;
	struct shortages shortages;
	uint64_t nr_helpers_failed;
	double rate_hz, budget; /* samples per second and CPU; share of the machine, 0: none */
};

struct status_page {
	atomic_uint version; /* odd: being written */
	struct status status;
};

/* Zero-initialised: none. */
struct shared_status {
	struct status_page *page;	/* not mapped in processes that are forked */
	const struct status_page *view; /* the same memory, which nobody can make writable */
};

/* 0 or a negative errno. */
int shared_status_init(struct shared_status *shared);
void shared_status_clear(struct shared_status *shared);

/* One thread writes. */
void shared_status_write(const struct shared_status *shared, const struct status *status);

/* False if the writer ended in the middle. */
bool shared_status_read(const struct shared_status *shared, struct status *ret);

/* --- health ----------------------------------------------------------------------------------- */

struct health {
	bool is_red;
	char why[400]; /* empty: all is well */
};

/*
 * Red if data do not arrive in the store, for whatever reason. An agent may name several epochs together: the data are
 * late by its interval, not by its epoch. status: NULL without an agent, then only the times of the store count. error:
 * why the store cannot be read; NULL: it can.
 */
struct health health_of(const struct status *status, const struct store_extent *extent,
			const struct error *error, uint64_t wall_ns, uint64_t now_ns);

/* --- metrics ---------------------------------------------------------------------------------- */

/* Writes the text format of Prometheus, 0.0.4. */
void metrics_write(const struct status *status, const struct store_extent *extent,
		   uint64_t store_bytes, const struct health *health, FILE *out);

#endif
