/*
 * What a session is made of: for the three files that make, run and sum it up (session_open.c,
 * session.c, session_summary.c), and for nobody else.
 */
#ifndef STOOK_COLLECT_SESSION_STATE_H
#define STOOK_COLLECT_SESSION_STATE_H

#include <poll.h>

#include "collect/absence.h"
#include "collect/drain.h"
#include "collect/session.h"
#include "collect/sideband.h"
#include "kernel/ring.h"

#define SESSION_OWN_FDS 2 /* to wait for, besides the sideband's */

struct session {
	struct session_options options;
	struct event event;
	struct file_table *files;
	struct runtime_table *runtimes;
	struct process_table *processes;
	struct profile *profile;
	struct drain *drain;
	struct sampler *sampler;
	struct unwinder *unwinder; /* NULL: frame pointers */
	struct sideband *sideband;
	struct sampling *sampling; /* this, … */
	struct probing *probing;   /* … or that */
	uint64_t probing_next_ns;  /* when it wants its next step */
	struct ring ring;
	int raw_fd; /* readable when the kernel has woken us for a raw record */
	int cgroup_root_fd;
	int statistics_fd;
	struct pollfd *pollfds;

	uint64_t polled_ns; /* when the last poll began */
	uint64_t epoch_began_ns;
	struct slicing slicing;
	uint64_t epoch_records; /* that came in this epoch */
	bool ring_is_busy;
	bool has_raw; /* the last read of the ring brought raw records */

	struct accounting accounting;
	bool complete;
	uint64_t nr_lost_events;
	struct absence absence;
	uint64_t started_ns, stopped_ns;
	int nice;		  /* our own, before the start */
	uint64_t sampling_cpu_ns; /* our own: at the start, then from start to stop */
	struct sampling_reading reading;
};

#endif
