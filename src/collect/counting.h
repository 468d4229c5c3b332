/*
 * Counts events, for `stook stat`: opens a counter for each event, task and CPU, and reads them as rows.
 *
 *	counting = counting_open(&config, &error);
 *	counting_start(counting, now_ns);
 *	…
 *	counting_follow(counting, now_ns);
 *	counting_stop(counting);
 *	rows = counting_read(counting, &nr_rows);
 *
 * The kernel adds up the counts of threads and children that the tasks create, and of the ones that have ended.
 */
#ifndef STOOK_COLLECT_COUNTING_H
#define STOOK_COLLECT_COUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "event/event.h"
#include "kernel/cpus.h"
#include "kernel/follow.h"

enum counting_by {
	COUNTING_ALL, /* one row */
	COUNTING_CPU,
	COUNTING_CORE,
	COUNTING_SOCKET,
	COUNTING_THREAD, /* one of the tasks, with the threads and children that it creates */
	COUNTING_CGROUP, /* one of the config */
};

struct counting_cgroup {
	char *name;
	int fd;
};

struct counting_config {
	const struct event *events; /* copied */
	size_t nr_events;
	const struct wanted_tasks *tasks; /* pids, tids, follow */
	const struct counting_cgroup *cgroups;
	size_t nr_cgroups; /* without cgroups, pids and tids: all tasks */
	const uint32_t *cpus;
	size_t nr_cpus; /* 0: all that are online */
	enum counting_by by;
	bool on_exec; /* from the next execve() of the pids on */
	/* Opens a counter: -1 with errno, as perf_event_open(). NULL: the kernel; tests have others. */
	int (*open)(struct perf_event_attr *attr, int pid, int cpu, int group_fd,
		    unsigned long flags);
	/* Reads the CPUs that are online. NULL: the kernel's; tests have others. */
	int (*online)(struct cpus *ret, struct error *error);
};

struct counting_row {
	char *label; /* "0", "S0-D0-C1", "S0", "COMM-TID", a cgroup; "" for the only row */
	size_t nr_cpus;
	struct event_count *counts; /* by event; since the read before */
};

struct counting_event {
	int refused; /* 0, or the negative errno with which the kernel refused it everywhere */
	bool is_user_only; /* not permitted to count in the kernel */
	bool is_ungrouped; /* its weak group does not fit */
};

struct counting;

/*
 * Opens the counters. An event that the kernel refuses is no failure. Returns NULL with *error if no counter can be
 * opened for other reasons, such as too many descriptors or a thread that ended.
 */
struct counting *counting_open(const struct counting_config *config, struct error *error);
void counting_free(struct counting *counting);

/* By event. */
const struct counting_event *counting_events(const struct counting *counting);

/* Returns how many threads, created while the counters were opened, are not counted. */
size_t counting_nr_missed(const struct counting *counting);

/* Begins to count, unless that is done on exec. */
void counting_start(struct counting *counting, uint64_t now_ns);
void counting_stop(struct counting *counting);

/* Reads the counters. The rows are valid until the next call of this function or of counting_follow(). */
const struct counting_row *counting_read(struct counting *counting, size_t *ret_nr);

/*
 * Looks for CPUs that went offline or came online, and opens new counters on the latter: a few system calls. To be
 * called now and then if CPUs, and not tasks, are counted; else it does nothing.
 */
void counting_follow(struct counting *counting, uint64_t now_ns);
bool counting_follows_cpus(const struct counting *counting);

/* CPUs that were not counted all the time: their number, one of them, and the time without counts until the last look. */
struct counting_absence {
	size_t nr_cpus;
	uint32_t cpu;
	uint64_t away_ns;
	struct error uncounted; /* why a CPU that came online could not be counted; code 0: none */
};

/* Adds this run to the sum, zero-initialised, of several: of their numbers of CPUs, it has the largest. */
void counting_add_absence(const struct counting *counting, struct counting_absence *sum);

#endif
