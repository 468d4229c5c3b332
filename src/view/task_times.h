/*
 * The activity of tasks in an interval (`stook sched`): the time that they ran, how often, and how long
 * they waited for a CPU. Tasks are threads, or threads that have the same name, process or cgroup,
 * or all that ran on a CPU. docs/outputs.md lists the members of the JSON and the CSV's columns.
 *
 * For people it is the table of `perf sched latency`, with two columns more; or a histogram for
 * each row, in the buckets of bcc's runqlat; or a map, the share of each CPU's time:
 *
 *	TASK          RUNTIME(ms)  SWITCHES  AVG DELAY(ms)  MAX DELAY(ms)  …
 *	cc1:(15)         1170.300       217          1.721          5.165
 *	sleep:6091          2.506         1          0.000          0.000
 */
#ifndef STOOK_VIEW_TASK_TIMES_H
#define STOOK_VIEW_TASK_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "bpf/sched_wire.h"
#include "view/table.h"

/* By what tasks are told apart, as bits. 0: not at all. */
enum task_key {
	TASK_COMM = 1,
	TASK_PID = 2,
	TASK_TID = 4,
	TASK_CGROUP = 8,
	TASK_CPU = 16, /* alone */
};

struct task_time {
	char comm[SCHED_COMM_BYTES + 1];
	uint32_t pid, tid, cpu;
	uint64_t cgroup;
	char *cgroup_path; /* set by whoever shows the rows, owned by them; NULL: show the number */
	size_t nr_threads;
	struct sched_sums sums;
	struct sched_longest longest; /* epoch 0: none */
	uint64_t idle_ns;	      /* of a CPU */
};

struct task_times {
	unsigned keys;	 /* enum task_key */
	size_t max_rows; /* further tasks are one row without a name */
	size_t nr_cpus;	 /* of ran_ns; 0: no map */
	struct task_time *rows;
	size_t nr, cap;
	uint64_t *ran_ns; /* by row, then by CPU */
	size_t cap_ran;
	struct number_index index;
	uint64_t nr_over; /* threads in the row without a name */
	uint32_t *order;  /* of the rows that are shown: task_times_choose() */
	size_t nr_shown;
};

void task_times_clear(struct task_times *times);

/* Adds a thread or a CPU to its row; ran_ns by CPU, or NULL. Returns 0 or -ENOMEM. */
int task_times_add(struct task_times *times, const struct task_time *one, const uint64_t *ran_ns);

enum task_order {
	TASK_BY_AVG,
	TASK_BY_MAX,
	TASK_BY_RUNTIME,
	TASK_BY_SWITCHES,
	TASK_BY_DELAY,
	TASK_BY_MIGRATIONS,
	TASK_BY_NAME,
};

/* Sorts the rows, the largest first, and keeps only the first `top` of them, if top > 0. */
int task_times_choose(struct task_times *times, enum task_order order, size_t top);

struct task_times_style {
	bool shows_time; /* the time of day above the table */
	bool has_histograms;
	bool is_plain;	      /* keys were not asked for: one column for the task, as perf has it */
	double time, seconds; /* the end of the interval, seconds since 1970; its length */
	const struct task_time *cpus; /* for a map: each CPU's own row */
	size_t nr_cpus;
	const char *const *figure_names; /* of the whole run: "accounting.switches" */
	const uint64_t *figures;
	size_t nr_figures;
};

/* Fills the sheet; times and style must outlive it. */
void task_times_fill(struct sheet *sheet, const struct task_times *times,
		     const struct task_times_style *style);

#endif
