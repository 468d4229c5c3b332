/*
 * The life of a run, the same for every collector: it has targets, perhaps a program to start, and
 * ends with the duration, the targets, that program, or a signal.
 *
 * The command fills a run_config and builds a collector (run/stacks.h, run/probes.h).
 * run_collector() calls the collector's operations in order and owns everything else: time,
 * signals, the program after `--`, progress, error messages, and the exit status. If something
 * fails on the way, what was collected before is shown.
 */
#ifndef STOOK_RUN_RUN_H
#define STOOK_RUN_RUN_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/follow.h"
#include "run/config.h"
#include "worker/worker.h"

/* All time comes from here, so that tests can jump, suspend and compress it. */
struct clock {
	uint64_t (*now)(void *context); /* nanoseconds; never goes back */
	/*
	 * Waits until the given time (UINT64_MAX: forever) or until a descriptor is ready: see its
	 * revents. May return early. Returns 0 or a negative errno.
	 */
	int (*wait)(void *context, uint64_t until_ns, struct pollfd *fds, size_t nr_fds);
	void *context;
};

/* The part of a run that its collector sees. */
struct run {
	const struct run_config *config;
	struct clock clock;
	struct wanted_tasks tasks; /* from load() on with the child */
	int signal_fd;		   /* readable after a signal that ends the current step */
	uint64_t entered_ns;	   /* when run_collector() was called, by this clock */
	uint64_t began_ns;	   /* when collecting began, or the child was started */
	uint32_t child_pid; /* 0: none. It stays a zombie until the last interval was shown. */
	bool repeats;	    /* in interval(), when it is the last: the child is run again */
	uint64_t interval_due_ns; /* in interval(), when it is not the last: when it was to end */
	bool has_started;	  /* start() succeeded */
	bool child_failed;	  /* its exec failed: there is nothing to show */
};

struct collector;

/* Each returns 0 or a negative errno unless noted. */
struct collector_ops {
	/*
	 * Finds what to collect and opens outputs, so that errors are known before signals are
	 * handled and the child is forked. Returns 1 if everything is done and there is nothing to
	 * run.
	 */
	int (*prepare)(struct collector *collector, struct error *error);
	/* Loads programs and opens events for run->tasks. */
	int (*load)(struct collector *collector, struct error *error);
	int (*start)(struct collector *collector, struct error *error);
	/* Collects and waits, until the given time or until one of the descriptors is ready. */
	int (*wait)(struct collector *collector, uint64_t until_ns, struct pollfd *fds,
		    size_t nr_fds, struct error *error);
	/*
	 * Writes what was collected since the last call. is_last: after the end of the run, even if
	 * it failed. -EPIPE: the reader closed stdout, which ends the run and is not a failure.
	 */
	int (*interval)(struct collector *collector, bool is_last, struct error *error);
	/* Stops collecting. */
	int (*stop)(struct collector *collector, struct error *error);
	/* Prints the summary of the run on stderr; also after a start() that failed. */
	int (*summarize)(struct collector *collector, struct error *error);

	/* True when the child may start; NULL: at once. */
	bool (*is_ready)(const struct collector *collector);
	/* Called once, when it is ready: all events and probes are attached; NULL: nothing to do. */
	void (*attached)(struct collector *collector);
	/*
	 * Returns the number of samples or hits so far, for the progress line; NULL: no such line.
	 */
	uint64_t (*progress)(struct collector *collector, const char **ret_unit);
	/* stop() takes long, and collecting meanwhile does no harm: write results before stop(). */
	bool stops_last;
};

struct collector {
	const struct collector_ops *ops;
	void *context;
	const struct run *run; /* set by run_collector() while it runs */
};

/*
 * Runs the collector from targets to the end. Returns the exit status: of a failure, which was
 * reported, or of the child, which is waited for. clock: NULL means CLOCK_MONOTONIC. Call it once
 * per process, because of signals. The caller clears the collector.
 */
int run_collector(const struct run_config *config, const struct clock *clock,
		  struct collector *collector);

/* Returns the exit status for invalid usage; with `-- CMD` different from any status of CMD. */
int run_usage_status(char **argv);

/* The tasks of stook's workers, for worker_main(). */
extern const struct worker_task run_tasks[NR_TASKS];

#endif
