/*
 * Stints, the times of threads on CPUs, one by one: as lines like those of `perf sched timehist`, or
 * as a trace in Chrome's JSON format, which ui.perfetto.dev and chrome://tracing open.
 */
#ifndef STOOK_FORMAT_TEXT_STINTS_H
#define STOOK_FORMAT_TEXT_STINTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/hash.h"
#include "bpf/sched_wire.h"

/* --- lines ------------------------------------------------------------------------------------ */

void timehist_write_heading(FILE *out);
void timehist_write(FILE *out, const struct sched_stint *stint);

/* --- a trace ---------------------------------------------------------------------------------- */

/*
 * Each CPU has a track with the threads that ran on it, and each thread one in its process, on which
 * it is running or runnable. Zero-initialised except `out` and `began_ns`.
 */
struct trace {
	FILE *out;
	uint64_t began_ns; /* when stints began to be taken, by their clock */
	bool has_events;
	struct u64_map named;	  /* threads with a name in the trace: its hash */
	struct u64_map processes; /* likewise */
	struct u64_map cpus;
};

/* Returns 0 or -ENOMEM. Failed writes are found when the stream is closed. */
int trace_add(struct trace *trace, const struct sched_stint *stint);

/* Writes the end; without any stint it is a valid trace as well. Frees what the trace holds. */
void trace_end(struct trace *trace);

#endif
