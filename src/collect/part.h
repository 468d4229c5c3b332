/*
 * Parts of a run, one for each interval, and the lifetimes of what a session knows about files and processes.
 */
#ifndef STOOK_COLLECT_PART_H
#define STOOK_COLLECT_PART_H

#include "collect/drain.h"

/*
 * All that was collected since the last part: samples without names, and copies of the entries of files and processes
 * that are needed to name them. Nothing is shared with the session, so another thread may work on it while that goes
 * on.
 */
struct session_part {
	struct profile *profile;
	struct file_table *files;
	struct runtime_table *runtimes;
	struct process_names names; /* if session_options has names_processes */
	/* By session_take_part(). When the first of its epochs began and the last one ended, CLOCK_REALTIME. */
	uint64_t began_ns, ended_ns;
	uint64_t measured_ns; /* in between, without suspensions and steps of that clock */
	/* Period of the clock, times the samples that one represents; 0: no clock, or it varied. */
	uint64_t period_ns;
	uint64_t lost; /* samples, hits or switches */
};

/* The tables that a session shares with its drain. */
struct part_source {
	struct drain *drain;
	struct file_table *files;
	struct runtime_table *runtimes;
	struct process_table *processes;
};

/*
 * Takes the drain's profile; the drain goes on with `next`, which is empty. 0; or -ENOMEM, and the drain keeps its
 * profile. Call it only after drain_close_epoch().
 */
int part_take(const struct part_source *source, struct profile *taken, struct profile *next,
	      struct session_part *ret);
void session_part_clear(struct session_part *part);

/*
 * Closes and forgets the files that no process has mapped any more, and the processes that are over
 * (file_table_sweep(), runtime_table_sweep()), except those in the drain's profile, which are still to be named.
 */
void part_forget_unused(const struct part_source *source, const struct profile *profile);

#endif
