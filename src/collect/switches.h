/*
 * The BPF side of `stook sched`: loads bpf/sched.bpf.c, and adds what its programs and the kernel
 * know of each thread (bpf/sched_wire.h). The only file that includes the skeleton.
 *
 * Sums never start again in the kernel: what is handed out at the end of an interval is the
 * difference to what was handed out before, so that intervals add up. Between two intervals the
 * kernel goes on counting; a switch that happens meanwhile is in one of them.
 */
#ifndef STOOK_COLLECT_SWITCHES_H
#define STOOK_COLLECT_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/sched_wire.h"
#include "kernel/follow.h"

/* A thread that ran or waited since the last call, with that part of its sums. */
struct switched_thread {
	uint32_t pid, tid;
	uint64_t cgroup; /* if asked for */
	char comm[SCHED_COMM_BYTES + 1];
	struct sched_sums sums;
	struct sched_longest longest; /* epoch 0: none */
	const uint64_t *ran_ns;	      /* by CPU number, if asked for */
};

/* The state in a stint that the end of the run cuts off: the thread is still on its CPU. */
#define STINT_GOES_ON '>'

/* Takes all that is handed out. Each function returns 0 or a negative errno, which ends the run. */
struct switches_receiver {
	int (*add_thread)(void *context, const struct switched_thread *thread);
	int (*add_stint)(void *context, const struct sched_stint *stint);
	void *context;
};

struct switches_config {
	struct switches_receiver receiver;
	const struct wanted_tasks *tasks;
	const uint32_t *cpus; /* only these; NULL: all */
	size_t nr_cpus;
	bool by_clock;	 /* do not use the kernel's accounts of waits */
	bool by_cgroup;	 /* threads have their cgroup */
	bool has_places; /* threads have ran_ns */
	bool sends_stints; /* through add_stint(), in the order of their ends, at last what goes on … */
	bool sends_idle;	 /* … also those of idle CPUs … */
	uint64_t least_delay_ns; /* … with at least this delay */
	size_t ring_bytes;	 /* a power of two */
};

/* A CPU in an interval. */
struct switched_cpu {
	uint32_t number;
	uint64_t idle_ns;
	struct sched_sums sums;
	struct sched_longest longest;
};

/* Totals of the whole run so far. */
struct switches_totals {
	uint64_t switches, idle, own, filtered, counted;
	uint64_t lost_threads, lost_stints, lost_ends;
	uint64_t lost_run_ns;
	uint64_t unsplit, unsplit_ns;
	uint64_t violations; /* after the end: sums that do not hold */
};

struct switches;

/* Returns NULL on failure. The config must outlive the result, except its CPUs. */
struct switches *switches_load(const struct switches_config *config, struct error *error);
void switches_free(struct switches *switches);

/* Returns the size of ran_ns: one more than the highest CPU number. */
size_t switches_cpus_end(const struct switches *switches);

/* True if waits are measured by the clock, as asked for or because the kernel has no accounts. */
bool switches_are_by_clock(const struct switches *switches);

/* When switches began to be counted, by CLOCK_MONOTONIC. */
uint64_t switches_began_ns(const struct switches *switches);

int switches_start(struct switches *switches, struct error *error);

/* Hands out ended threads and stints. Call it often: it is all that the ring has room for. */
int switches_poll(struct switches *switches, struct error *error);

/*
 * Ends the interval, and hands out all threads. After the last one nothing is counted any more, and
 * the totals are checked.
 */
int switches_end_interval(struct switches *switches, bool is_last, struct error *error);

/* The CPUs that are online or were used, in the interval that ended, by number. */
const struct switched_cpu *switches_cpus(const struct switches *switches, size_t *ret_nr);

const struct switches_totals *switches_totals(const struct switches *switches);

/* Returns the length of the interval that ended. */
uint64_t switches_interval_ns(const struct switches *switches);

#endif
