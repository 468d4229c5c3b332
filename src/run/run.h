/*
 * One way for every run: whatever a command collects for a while, it has targets, perhaps a program of
 * its own to start, and ends with the duration, the targets, that program, or a signal.
 *
 * The command fills a run_config and builds a collector (run/stacks.h, run/probes.h); run_collector()
 * calls its operations in their order, and owns all the rest: time, signals, the program behind `--`,
 * progress, messages about failures, and the exit status. Whatever fails on the way, what was
 * collected before is shown.
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

/* Time comes from here, so that tests can jump, suspend and compress it. */
struct clock {
	uint64_t (*now)(void *context); /* in nanoseconds; never goes back */
	/*
	 * Until this time (UINT64_MAX: forever) or until a descriptor is ready: see their revents. It
	 * may return early. 0 or a negative errno.
	 */
	int (*wait)(void *context, uint64_t until_ns, struct pollfd *fds, size_t nr_fds);
	void *context;
};

/* The run as its collector sees it. */
struct run {
	const struct run_config *config;
	struct clock clock;
	struct wanted_tasks tasks; /* with the child, once it is prepared: from load() on */
	int signal_fd;	     /* readable when a signal has come that ends what is being done */
	uint64_t entered_ns; /* when run_collector() was called, by the clock */
	bool has_started;    /* start() went well */
	bool child_failed;   /* it could not be executed: there is nothing to show */
};

struct collector;

/* Each returns 0 or a negative errno, unless it says otherwise. */
struct collector_ops {
	/*
	 * Finds what there is to collect, and opens outputs: before signals are heard and the child is
	 * forked, what can't be is known. 1: all is done, there is nothing to run.
	 */
	int (*prepare)(struct collector *collector, struct error *error);
	/* Loads programs and opens events for run->tasks. */
	int (*load)(struct collector *collector, struct error *error);
	int (*start)(struct collector *collector, struct error *error);
	/* Works and waits, until this time or until one of the descriptors is ready. */
	int (*wait)(struct collector *collector, uint64_t until_ns, struct pollfd *fds,
		    size_t nr_fds, struct error *error);
	/*
	 * Writes what came since the last call. is_last: after the end of the run, also of one that
	 * failed. -EPIPE: nobody reads stdout any more, which ends the run and is no failure.
	 */
	int (*interval)(struct collector *collector, bool is_last, struct error *error);
	/* Nothing is collected any more. */
	int (*stop)(struct collector *collector, struct error *error);
	/* Says on stderr what the run was like; also after a start() that failed. */
	int (*summarize)(struct collector *collector, struct error *error);

	/* True when the child may begin; NULL: at once. */
	bool (*is_ready)(const struct collector *collector);
	/* How many of which unit so far, for a line on the terminal; NULL: there is no such line. */
	uint64_t (*progress)(struct collector *collector, const char **ret_unit);
	/* To stop takes long, and what comes meanwhile does no harm: results are written before. */
	bool stops_last;
};

struct collector {
	const struct collector_ops *ops;
	void *context;
	const struct run *run; /* set by run_collector() for as long as it lasts */
};

/*
 * From targets to the end of the run. Returns the exit status: of a failure, which was complained of;
 * or the child's own, which is waited for. clock: NULL is the system's, CLOCK_MONOTONIC. Once a
 * process, because of signals. The collector is the caller's to clear.
 */
int run_collector(const struct run_config *config, const struct clock *clock,
		  struct collector *collector);

/* The exit status of a command line that makes no sense; with `-- CMD` it is none of CMD's. */
int run_usage_status(char **argv);

#endif
