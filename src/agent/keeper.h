/*
 * Keeps the epochs of a run in a store, whatever happens to it: while the disk is full or read-only, epochs are dropped
 * and counted; a damaged store is moved aside and a new one begun. Removes what is too old or too much.
 *
 * An epoch is stored when it ends, without names, and again when it has them. So keeper_keep() is for one thread, and
 * keeper_add() for another one, of which each waits while the other uses the store. The counts may be read from others.
 */
#ifndef STOOK_AGENT_KEEPER_H
#define STOOK_AGENT_KEEPER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/relabel.h"
#include "base/clock.h"
#include "base/error.h"
#include "bpf/walk_end.h"
#include "collect/session.h"
#include "run/intervals.h"
#include "run/process_labels.h"
#include "store/store.h"

/* On the heap; the keeper frees it. */
struct keeper_settings {
	uint64_t retain_ns; /* the age at which everything is removed; 0: never */
	uint64_t max_bytes; /* of the store; 0: no limit */
	struct relabel_rules rules;
};

/*
 * The wall clock as the removal by age believes it. A clock that was set far ahead, if only for a moment, would have all
 * removed: it is believed when it has stayed so for an hour. One that was set back is believed at once, and when it is
 * put right again.
 */
struct keeper_clock {
	uint64_t now_ns;   /* the latest time that was believed, as of the last reading */
	uint64_t boot_ns;  /* CLOCK_BOOTTIME at that reading */
	uint64_t ahead_ns; /* of what is believed; 0: not ahead */
	uint64_t since_ns; /* CLOCK_BOOTTIME, since when it has been that far ahead */
};

#define KEEPER_CLOCK_PATIENCE_NS (3600 * NS_PER_SEC)

/* Returns what is believed, from the wall clock and CLOCK_BOOTTIME as they are now. */
uint64_t keeper_clock_read(struct keeper_clock *clock, uint64_t wall_ns, uint64_t boot_ns);

struct keeper {
	char *path;
	const struct process_labels
		*own_labels;  /* the caller's, set after keeper_open(); NULL: none */
	pthread_mutex_t lock; /* of all below but the counts */
	struct store *store;  /* NULL: could not be opened again */
	bool is_settled;      /* nothing is left of a writer before */
	struct keeper_settings *settings;
	struct keeper_settings *_Atomic next_settings; /* for the next epoch; NULL: the same */
	struct keeper_clock clock;
	uint64_t expire_ns;	   /* when to remove what is too old next */
	uint64_t nr_dropped_now;   /* epochs, since the last that was stored */
	bool has_reported_unnamed; /* since then: that epochs stay without names */
	uint64_t
		kept_from; /* the store has all epochs from this number on, with names or without */
	atomic_size_t max_memory_bytes; /* of the store, from the next epoch on; 0: its own limit */
	atomic_uint_fast64_t nr_stored, nr_dropped, bytes;
	atomic_uint_fast64_t stored_ns;	  /* CLOCK_MONOTONIC, of the last epoch; 0: none */
	atomic_uint_fast64_t left_out_ns; /* of samples, by rules */
	atomic_uint_fast64_t upkeep_ns;	  /* CPU time of removing what is too old or too much */
	/* Time on a CPU, by how the walks of its stacks ended. */
	atomic_uint_fast64_t user_walks_ns[NR_WALK_ENDS], kernel_walks_ns[NR_WALK_ENDS];
};

/* The caller calls keeper_close(), also after a failure. Takes the settings. 0 or a negative errno. */
int keeper_open(struct keeper *keeper, const char *path, struct keeper_settings *settings,
		size_t max_memory_bytes, struct error *error);
void keeper_close(struct keeper *keeper);

/* From the next epoch on. For any thread. Takes the settings. */
void keeper_set(struct keeper *keeper, struct keeper_settings *settings);

/* Limits the memory of the store, from the next epoch on. For any thread. */
void keeper_limit_memory(struct keeper *keeper, size_t bytes);

/* Removes what is too old while no epochs are added, as in a pause. */
void keeper_expire(struct keeper *keeper);

/*
 * Labels the profile of an epoch and stores it until keeper_add() replaces it. What a rule leaves out, or could leave out
 * when all labels are known, is not stored yet. If is_naming, the own labels are in use, and are not read. profile: NULL:
 * out of memory. A failure is reported by keeper_add().
 */
void keeper_keep(struct keeper *keeper, struct profile *profile, const struct session_part *part,
		 struct interval_span span, bool is_naming);

/*
 * Labels the profile of an epoch with names and stores it. Reports what goes wrong itself, once until it goes well again,
 * and returns 0: there is nothing that a run should end for.
 */
int keeper_add(struct keeper *keeper, struct profile *profile, const struct session_part *part,
	       struct interval_span span);

#endif
