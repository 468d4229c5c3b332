/*
 * Counters of perf_event_open(), without BPF.
 *
 * Each group of events is a group of counters, and each other event a group of one, so one read() has a leader's
 * count, its members', and the times. Counters are opened disabled; a process that was stopped or is still to exec
 * is thus counted from its first instruction on.
 *
 * Threads of a running process: a new thread inherits the counters that its creator had at this moment. Counting is
 * complete, without counting anything twice, if no thread appears while the counters are opened. Otherwise they are
 * opened again, up to TRIES times; threads that appear in the last try are not counted, and reported.
 *
 * A count of a task is the sum over its threads, which the kernel makes; with counts of several tasks or CPUs
 * it is added up here. The time for which counters were enabled and ran are added up the same way, and the
 * estimate is made of the sums, as perf does.
 *
 * When a CPU goes offline, the kernel takes all counters away from it for good: they keep their counts, also when the
 * CPU is back, and groups fall apart. So each CPU that is counted whole has a group of two events that are never
 * enabled: as soon as the first one is alone, the CPU was away. Reading it costs a system call and no interrupt of
 * that CPU, other than reading a counter. Counters of tasks are not tied to a CPU, and stay.
 */
#include "collect/counting.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/cpus.h"
#include "kernel/perf_open.h"
#include "proc/process_info.h"

#define TRIES	8
#define ANY_CPU (-1)
#define AGAIN	1 /* the counters have to be opened again, differently */

/* The target of a counter, besides the CPU. */
struct target {
	int id; /* a tid; a cgroup's descriptor; -1: all tasks */
	unsigned long flags;
	bool inherits;
	char *label;
};

struct counter {
	int fd, cpu;
	size_t event, row;
	size_t nr_members; /* of the group; 0: not its leader, which is before it */
	struct event_count before;
};

/* A CPU that is counted whole. */
struct watched_cpu {
	uint32_t cpu;
	int fds[2];	  /* the group of two; -1: the CPU is offline */
	uint64_t seen_ns; /* when its counters counted last */
	uint64_t away_ns; /* before that */
	bool was_away;
};

struct counting {
	struct counting_config config;
	struct event *events;
	struct counting_event *states;
	struct cpus *event_cpus; /* nr 0: all */
	uint64_t *buffer;
	struct target *targets;
	size_t nr_targets, cap_targets;
	struct cpus cpus; /* nr 0: threads, on any CPU */
	struct counting_row *rows;
	size_t nr_rows, cap_rows;
	struct number_index row_of; /* by label: there is a row for each of thousands of threads */
	struct counter *counters;
	size_t nr_counters, cap_counters;
	size_t nr_missed;
	bool follows_cpus, is_started;
	struct watched_cpu *watched;
	size_t nr_watched, cap_watched;
	uint64_t started_ns, followed_ns;
	bool are_read;		/* the rows' counts were handed out */
	struct error uncounted; /* why a CPU that came online is not counted */
};

/* --- targets ---------------------------------------------------------------------------------- */

static int add_target(struct counting *counting, const struct target *target)
{
	int err =
		ARRAY_ADD(counting->targets, counting->nr_targets, counting->cap_targets, *target);

	if (err)
		free(target->label);
	return err;
}

static int add_thread(struct counting *counting, uint32_t tid, bool inherits)
{
	struct target target = {.id = (int)tid, .inherits = inherits};
	struct process_status status = {.comm = ""};

	if (counting->config.by == COUNTING_THREAD) {
		(void)process_status_read((int32_t)tid, &status);
		target.label = text_printf("%s-%u", status.comm, tid);
		if (!target.label)
			return -ENOMEM;
	}
	return add_target(counting, &target);
}

static int add_threads(struct counting *counting, uint32_t pid)
{
	cleanup_free uint32_t *tids = NULL;
	size_t nr = 0, i;
	int err = process_threads((int32_t)pid, &tids, &nr);

	for (i = 0; i < nr && !err; i++)
		err = add_thread(counting, tids[i], true);
	return err == -ESRCH ? 0 : err;
}

static int list_targets(struct counting *counting, struct error *error)
{
	const struct counting_config *config = &counting->config;
	const struct wanted_tasks *tasks = config->tasks;
	const struct target all = {.id = -1};
	int err = 0;
	size_t i;

	for (i = 0; i < tasks->nr_pids && !err; i++)
		err = add_threads(counting, tasks->pids[i]);
	for (i = 0; i < tasks->nr_tids && !err; i++)
		err = add_thread(counting, tasks->tids[i], false);
	for (i = 0; i < config->nr_cgroups && !err; i++) {
		struct target target = {.id = config->cgroups[i].fd, .flags = PERF_FLAG_PID_CGROUP};

		target.label = strdup(config->cgroups[i].name);
		err = target.label ? add_target(counting, &target) : -ENOMEM;
	}
	if (!err && !tasks->nr_pids && !tasks->nr_tids && !config->nr_cgroups)
		err = add_target(counting, &all);
	if (err)
		return error_no_memory(error, "");
	return counting->nr_targets
		       ? 0
		       : error_set(error, -ESRCH, "the targets have exited: nothing to count");
}

/* Returns how many threads of the pids are not among the targets. */
static size_t count_new_threads(const struct counting *counting)
{
	const struct wanted_tasks *tasks = counting->config.tasks;
	size_t nr_new = 0, i, k, t;

	for (i = 0; i < tasks->nr_pids; i++) {
		cleanup_free uint32_t *tids = NULL;
		size_t nr = 0;

		(void)process_threads((int32_t)tasks->pids[i], &tids, &nr);
		/* Both lists have the order of the kernel's, so the search is short. */
		for (k = 0, t = 0; k < nr; k++) {
			size_t tried = 0;

			while (tried < counting->nr_targets &&
			       counting->targets[t % counting->nr_targets].id != (int)tids[k]) {
				tried++;
				t++;
			}
			nr_new += tried == counting->nr_targets;
		}
	}
	return nr_new;
}

/* --- rows ------------------------------------------------------------------------------------- */

static char *make_label(const struct counting *counting, const struct target *target, int cpu)
{
	struct cpu_place place;

	switch (counting->config.by) {
	case COUNTING_ALL:
		return strdup("");
	case COUNTING_CPU:
		return text_printf("%d", cpu);
	case COUNTING_THREAD:
	case COUNTING_CGROUP:
		return strdup(target->label);
	case COUNTING_CORE:
	case COUNTING_SOCKET:
		break;
	}
	cpu_place_read((uint32_t)cpu, &place);
	if (counting->config.by == COUNTING_SOCKET)
		return text_printf("S%u", (unsigned)place.socket);
	return text_printf("S%u-D%u-C%u", (unsigned)place.socket, (unsigned)place.die,
			   (unsigned)place.core);
}

/* Finds the row of a target on a CPU, or adds it. Returns its number or -ENOMEM. */
static int64_t find_row(struct counting *counting, const struct target *target, int cpu)
{
	cleanup_free char *label = make_label(counting, target, cpu);
	const uint64_t hash = label ? hash_key(label, strlen(label)) : 0;
	struct counting_row row = {0};
	size_t probe = 0;
	uint32_t number;

	if (!label)
		return -ENOMEM;
	while (number_index_next(&counting->row_of, hash, &probe, &number))
		if (!strcmp(counting->rows[number].label, label))
			return number;
	row.counts = calloc(counting->config.nr_events, sizeof(*row.counts));
	row.label = label;
	if (!row.counts || number_index_reserve(&counting->row_of) < 0 ||
	    ARRAY_ADD(counting->rows, counting->nr_rows, counting->cap_rows, row)) {
		free(row.counts);
		return -ENOMEM;
	}
	(void)take_pointer(&label);
	number_index_add(&counting->row_of, hash, (uint32_t)counting->nr_rows - 1);
	return (int64_t)counting->nr_rows - 1;
}

/* --- opening ---------------------------------------------------------------------------------- */

static void unwatch(struct watched_cpu *watched)
{
	size_t i;

	for (i = ARRAY_SIZE(watched->fds); i--;) {
		if (watched->fds[i] >= 0)
			(void)close(watched->fds[i]);
		watched->fds[i] = -1;
	}
}

static void close_all(struct counting *counting)
{
	size_t i;

	/* Members first: a leader that is closed makes its members leaders. */
	for (i = counting->nr_counters; i--;)
		(void)close(counting->counters[i].fd);
	for (i = 0; i < counting->nr_watched; i++)
		unwatch(&counting->watched[i]);
	counting->nr_watched = 0;
	for (i = 0; i < counting->nr_targets; i++)
		free(counting->targets[i].label);
	for (i = 0; i < counting->nr_rows; i++) {
		free(counting->rows[i].label);
		free(counting->rows[i].counts);
	}
	number_index_reset(&counting->row_of);
	counting->nr_counters = counting->nr_targets = counting->nr_rows = 0;
}

/* Nothing is sampled: a rate or a precise level has no meaning, and some PMUs refuse it. */
static struct perf_event_attr attributes(const struct counting *counting, size_t number,
					 const struct target *target)
{
	const struct event *event = &counting->events[number];
	struct perf_event_attr attr = event->attr;
	bool is_leader = event->leader == number;

	attr.size = sizeof(attr);
	attr.freq = 0;
	attr.sample_period = 0;
	attr.precise_ip = 0;
	attr.read_format =
		PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr.disabled = is_leader;
	attr.enable_on_exec = is_leader && counting->config.on_exec;
	attr.inherit = target->inherits;
	attr.inherit_thread = target->inherits && !counting->config.tasks->follow;
	if (counting->states[number].is_user_only)
		attr.exclude_kernel = attr.exclude_hv = 1;
	return attr;
}

/* True if the kernel's answer is about the event, so that others may well be counted. */
static bool is_refusal(int code)
{
	return code != -ESRCH && code != -ENODEV && code != -EMFILE && code != -ENFILE &&
	       code != -ENOMEM && code != -EINTR;
}

/* Returns a descriptor or a negative errno. *ret_again: that works only if all counters of the event change. */
static int open_counter(struct counting *counting, size_t number, const struct target *target,
			int cpu, int group_fd, bool *ret_again)
{
	struct perf_event_attr attr = attributes(counting, number, target);
	struct counting_event *state = &counting->states[number];
	const char *filter = counting->events[number].filter;
	int fd = counting->config.open(&attr, target->id, cpu, group_fd, target->flags);
	int code = fd < 0 ? -errno : 0;

	if (fd >= 0 && filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) < 0) {
		code = -errno;
		(void)close(fd);
		return code;
	}
	if (fd >= 0)
		return fd;
	if ((code == -EACCES || code == -EPERM) && !attr.exclude_kernel && !attr.exclude_user) {
		state->is_user_only = true;
		*ret_again = true;
	}
	return code;
}

static bool counts_on(const struct counting *counting, size_t number, int cpu)
{
	const struct cpus *cpus = &counting->event_cpus[number];
	size_t i;

	for (i = 0; i < cpus->nr; i++)
		if (cpu == (int)cpus->numbers[i])
			return true;
	return cpu == ANY_CPU || !cpus->nr;
}

/* Each event of a weak group becomes a group of its own. */
static void ungroup(struct counting *counting, size_t leader)
{
	size_t i;

	for (i = counting->config.nr_events; i--;)
		if (counting->events[i].leader == leader) {
			counting->events[i].leader = i;
			counting->states[i].is_ungrouped = true;
		}
}

/* Returns 0 or a negative errno; -ENODEV: the CPU is offline. */
static int watch(const struct counting *counting, struct watched_cpu *watched)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.read_format = PERF_FORMAT_GROUP,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(watched->fds); i++) {
		watched->fds[i] = counting->config.open(&attr, -1, (int)watched->cpu,
							i ? watched->fds[0] : -1, 0);
		if (watched->fds[i] < 0) {
			const int code = -errno;

			unwatch(watched);
			return code;
		}
	}
	return 0;
}

/* True if a CPU cannot be counted on at all; events of PMUs that are missing are refused by the same code. */
static bool is_offline(const struct counting *counting, int cpu)
{
	struct watched_cpu watched = {.cpu = (uint32_t)cpu, .fds = {-1, -1}};
	int err = cpu == ANY_CPU ? 0 : watch(counting, &watched);

	unwatch(&watched);
	return err == -ENODEV;
}

/* Opens an event with the members of its group. Returns 0, AGAIN or a negative errno. */
static int open_group(struct counting *counting, size_t leader, const struct target *target,
		      int cpu, size_t row)
{
	const size_t first = counting->nr_counters;
	int leader_fd = -1;
	size_t i;

	if (!counts_on(counting, leader, cpu))
		return 0;
	for (i = leader; i < counting->config.nr_events; i++) {
		bool again = false;
		struct counter counter = {.cpu = cpu, .event = i, .row = row};

		if (counting->events[i].leader != leader || !counts_on(counting, i, cpu))
			continue;
		counter.fd = i > leader && leader_fd < 0
				     ? counting->states[leader].refused
				     : open_counter(counting, i, target, cpu, leader_fd, &again);
		if (again)
			return AGAIN;
		if (counter.fd < 0 && !is_refusal(counter.fd) &&
		    (counter.fd != -ENODEV || is_offline(counting, cpu)))
			return counter.fd == -ESRCH || counter.fd == -ENODEV ? 0 : counter.fd;
		if (counter.fd < 0 && i > leader && leader_fd >= 0 &&
		    counting->events[leader].is_weak) {
			ungroup(counting, leader);
			return AGAIN;
		}
		if (counter.fd < 0) {
			counting->states[i].refused =
				counting->states[i].is_user_only ? -EACCES : counter.fd;
			continue;
		}
		if (ARRAY_ADD(counting->counters, counting->nr_counters, counting->cap_counters,
			      counter)) {
			(void)close(counter.fd);
			return -ENOMEM;
		}
		counting->counters[first].nr_members++;
		if (i == leader)
			leader_fd = counter.fd;
	}
	return 0;
}

static int explain(const struct counting *counting, int code, struct error *error)
{
	if (code == -ENOMEM)
		return error_no_memory(error, "");
	(void)error_set(error, code, "cannot open more than %zu counters: %s",
			counting->nr_counters, strerror(-code));
	error_hint(error, "%zu events of %zu tasks on %zu CPUs need as many descriptors: ulimit -n",
		   counting->config.nr_events, counting->nr_targets,
		   counting->cpus.nr ? counting->cpus.nr : 1);
	return code;
}

/* Opens all events of a target on a CPU. Returns 0, AGAIN or a negative errno. */
static int open_target(struct counting *counting, const struct target *target, int cpu,
		       bool is_new_cpu)
{
	const int64_t row = find_row(counting, target, cpu);
	int err = 0;
	size_t i;

	if (row < 0)
		return -ENOMEM;
	for (i = 0; i < counting->config.nr_events && !err; i++)
		if (counting->events[i].leader == i)
			err = open_group(counting, i, target, cpu, (size_t)row);
	counting->rows[row].nr_cpus += !err && is_new_cpu;
	return err;
}

static int open_targets(struct counting *counting)
{
	const size_t nr_cpus = counting->cpus.nr ? counting->cpus.nr : 1;
	size_t t, c;
	int err = 0;

	for (t = 0; t < counting->nr_targets && !err; t++)
		for (c = 0; c < nr_cpus && !err; c++)
			err = open_target(
				counting, &counting->targets[t],
				counting->cpus.nr ? (int)counting->cpus.numbers[c] : ANY_CPU, !t);
	return err;
}

static struct watched_cpu *add_watched(struct counting *counting, uint32_t cpu)
{
	const struct watched_cpu watched = {.cpu = cpu, .fds = {-1, -1}};

	if (ARRAY_ADD(counting->watched, counting->nr_watched, counting->cap_watched, watched))
		return NULL;
	return &counting->watched[counting->nr_watched - 1];
}

static int watch_all(struct counting *counting)
{
	const struct wanted_tasks *tasks = counting->config.tasks;
	int err = 0;
	size_t i;

	counting->follows_cpus = !tasks->nr_pids && !tasks->nr_tids;
	for (i = 0; i < counting->cpus.nr && counting->follows_cpus && !err; i++) {
		struct watched_cpu *watched = add_watched(counting, counting->cpus.numbers[i]);

		err = watched ? watch(counting, watched) : -ENOMEM;
		if (err == -ENODEV)
			watched->was_away = true;
		if (err && is_refusal(err))
			counting->follows_cpus = false;
		if (err == -ENODEV || is_refusal(err))
			err = 0;
	}
	return err;
}

/* An event that is counted somewhere is supported. */
static void settle(struct counting *counting)
{
	size_t i;

	for (i = 0; i < counting->nr_counters; i++)
		counting->states[counting->counters[i].event].refused = 0;
}

static int open_all(struct counting *counting, struct error *error)
{
	unsigned tries = 0;
	int err;

	do {
		close_all(counting);
		err = list_targets(counting, error);
		if (err)
			return err;
		err = open_targets(counting);
		if (err < 0)
			return explain(counting, err, error);
		if (!err)
			counting->nr_missed = count_new_threads(counting);
	} while (err == AGAIN || (counting->nr_missed && ++tries < TRIES));
	settle(counting);
	err = watch_all(counting);
	return err ? explain(counting, err, error) : 0;
}

/* --- the beginning and the end ---------------------------------------------------------------- */

static int read_online(struct cpus *cpus, struct error *error)
{
	return cpus_read(cpus, "online", error);
}

static int read_cpus(struct counting *counting, struct error *error)
{
	const struct counting_config *config = &counting->config;
	const struct wanted_tasks *tasks = config->tasks;
	struct cpus *cpus = &counting->cpus;
	size_t i;

	for (i = 0; i < config->nr_events; i++)
		if (config->events[i].cpus[0] &&
		    cpus_parse(&counting->event_cpus[i], config->events[i].cpus) < 0)
			return error_set(error, -EIO, "cannot parse the CPUs of '%s': '%s'",
					 config->events[i].name, config->events[i].cpus);
	if (config->nr_cpus) {
		cpus->numbers = calloc(config->nr_cpus, sizeof(*cpus->numbers));
		if (!cpus->numbers)
			return error_no_memory(error, "");
		memcpy(cpus->numbers, config->cpus, config->nr_cpus * sizeof(*cpus->numbers));
		cpus->nr = config->nr_cpus;
		return 0;
	}
	if ((tasks->nr_pids || tasks->nr_tids) && config->by != COUNTING_CPU &&
	    config->by != COUNTING_CORE && config->by != COUNTING_SOCKET)
		return 0;
	return config->online(cpus, error);
}

struct counting *counting_open(const struct counting_config *config, struct error *error)
{
	struct counting *counting = calloc(1, sizeof(*counting));
	const size_t nr = config->nr_events;

	if (!counting) {
		(void)error_no_memory(error, "");
		return NULL;
	}
	counting->config = *config;
	if (!config->open)
		counting->config.open = perf_open_counter;
	if (!config->online)
		counting->config.online = read_online;
	counting->events = calloc(nr, sizeof(*counting->events));
	counting->states = calloc(nr, sizeof(*counting->states));
	counting->event_cpus = calloc(nr, sizeof(*counting->event_cpus));
	counting->buffer = calloc(nr + 3, sizeof(*counting->buffer));
	if (!counting->events || !counting->states || !counting->event_cpus || !counting->buffer) {
		(void)error_no_memory(error, "");
		counting_free(counting);
		return NULL;
	}
	memcpy(counting->events, config->events, nr * sizeof(*counting->events));
	(void)fd_raise_limit();
	if (!read_cpus(counting, error) && !open_all(counting, error))
		return counting;
	counting_free(counting);
	return NULL;
}

void counting_free(struct counting *counting)
{
	size_t i;

	if (!counting)
		return;
	close_all(counting);
	for (i = 0; i < counting->config.nr_events && counting->event_cpus; i++)
		cpus_clear(&counting->event_cpus[i]);
	cpus_clear(&counting->cpus);
	free(counting->events);
	free(counting->states);
	free(counting->event_cpus);
	free(counting->buffer);
	free(counting->targets);
	free(counting->rows);
	number_index_clear(&counting->row_of);
	free(counting->counters);
	free(counting->watched);
	free(counting);
}

const struct counting_event *counting_events(const struct counting *counting)
{
	return counting->states;
}

size_t counting_nr_missed(const struct counting *counting)
{
	return counting->nr_missed;
}

/* --- counting --------------------------------------------------------------------------------- */

/* Best effort: a counter whose task has ended, or whose CPU went away, keeps its count. */
static void control(const struct counting *counting, size_t first, unsigned long request)
{
	size_t i;

	for (i = first; i < counting->nr_counters; i++)
		if (counting->counters[i].nr_members)
			(void)ioctl(counting->counters[i].fd, request, 0);
}

void counting_start(struct counting *counting, uint64_t now_ns)
{
	size_t i;

	if (!counting->config.on_exec)
		control(counting, 0, PERF_EVENT_IOC_ENABLE);
	counting->is_started = true;
	counting->started_ns = counting->followed_ns = now_ns;
	for (i = 0; i < counting->nr_watched; i++)
		counting->watched[i].seen_ns = now_ns;
}

void counting_stop(struct counting *counting)
{
	control(counting, 0, PERF_EVENT_IOC_DISABLE);
}

static uint64_t growth(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* The times of a member that is alone are its own and no longer its leader's, which may be a little more. */
static void add_count(struct counting *counting, struct counter *counter,
		      const struct event_count *now)
{
	struct event_count *sum = &counting->rows[counter->row].counts[counter->event];

	sum->value += now->value - counter->before.value;
	sum->enabled_ns += growth(now->enabled_ns, counter->before.enabled_ns);
	sum->running_ns += growth(now->running_ns, counter->before.running_ns);
	counter->before = *now;
}

/*
 * A pinned group that found no counters has nothing to read: its counts do not grow. A group of a CPU that went offline
 * has fallen apart: its members are read one by one. Old kernels (5.10) still return as many bytes as for the group.
 */
static void read_group(struct counting *counting, struct counter *leader)
{
	const uint64_t *buffer = counting->buffer;
	const size_t nr_members = leader->nr_members;
	const size_t bytes = (3 + nr_members) * sizeof(*buffer);
	ssize_t got = read(leader->fd, counting->buffer, bytes);
	size_t i;

	for (i = 0; i < nr_members; i++) {
		const bool is_whole = got == (ssize_t)bytes && buffer[0] == nr_members;
		const bool is_alone = got >= 4 * (ssize_t)sizeof(*buffer) && buffer[0] == 1;

		if (is_whole || is_alone)
			add_count(counting, &leader[i],
				  &(struct event_count){buffer[is_whole ? 3 + i : 3], buffer[1],
							buffer[2]});
		if (!is_whole && i + 1 < nr_members)
			got = got > 0 ? read(leader[i + 1].fd, counting->buffer, bytes) : 0;
	}
}

/* Adds what the counters of a CPU, or of all, have counted to the rows. */
static void read_counters(struct counting *counting, const struct watched_cpu *only)
{
	size_t i;

	for (i = 0; i < counting->nr_rows && counting->are_read; i++)
		memset(counting->rows[i].counts, 0,
		       counting->config.nr_events * sizeof(*counting->rows[i].counts));
	counting->are_read = false;
	for (i = 0; i < counting->nr_counters; i++)
		if (counting->counters[i].nr_members &&
		    (!only || counting->counters[i].cpu == (int)only->cpu))
			read_group(counting, &counting->counters[i]);
}

const struct counting_row *counting_read(struct counting *counting, size_t *ret_nr)
{
	read_counters(counting, NULL);
	counting->are_read = true;
	*ret_nr = counting->nr_rows;
	return counting->rows;
}

/* --- CPUs that come and go -------------------------------------------------------------------- */

static void close_counters(struct counting *counting, const struct watched_cpu *watched)
{
	size_t nr = 0, i;

	for (i = counting->nr_counters; i--;)
		if (counting->counters[i].cpu == (int)watched->cpu)
			(void)close(counting->counters[i].fd);
	for (i = 0; i < counting->nr_counters; i++)
		if (counting->counters[i].cpu != (int)watched->cpu)
			counting->counters[nr++] = counting->counters[i];
	counting->nr_counters = nr;
}

/* True if the CPU has been online since it was watched. */
static bool stayed(const struct watched_cpu *watched)
{
	uint64_t buffer[3]; /* the number of events in the group, and their counts */

	return read(watched->fds[0], buffer, sizeof(buffer)) == sizeof(buffer) && buffer[0] == 2;
}

static void leave(struct counting *counting, struct watched_cpu *watched)
{
	read_counters(counting, watched);
	close_counters(counting, watched);
	unwatch(watched);
	watched->was_away = true;
}

/* Opens the counters of a CPU that is online. Returns 0 or a negative errno; -ENODEV: it is offline again. */
static int join(struct counting *counting, uint32_t cpu, uint64_t now_ns)
{
	const size_t first = counting->nr_counters;
	struct watched_cpu *watched = NULL;
	size_t i;
	int err;

	for (i = 0; i < counting->nr_watched && !watched; i++)
		if (counting->watched[i].cpu == cpu)
			watched = &counting->watched[i];
	if (watched ? watched->fds[0] >= 0 : counting->config.nr_cpus > 0)
		return 0; /* it is counted, or not wanted */
	if (!watched) {
		watched = add_watched(counting, cpu);
		if (!watched)
			return -ENOMEM;
		watched->seen_ns = counting->started_ns;
	}
	err = watch(counting, watched);
	for (i = 0; i < counting->nr_targets && !err; i++)
		err = open_target(counting, &counting->targets[i], (int)cpu,
				  i + 1 == counting->nr_targets && !watched->was_away);
	settle(counting);
	if (err) {
		close_counters(counting, watched);
		unwatch(watched);
		return err == AGAIN ? -EINVAL : err;
	}
	control(counting, first, PERF_EVENT_IOC_ENABLE);
	watched->was_away = true;
	watched->away_ns += now_ns - watched->seen_ns;
	watched->seen_ns = now_ns;
	return 0;
}

bool counting_follows_cpus(const struct counting *counting)
{
	return counting->follows_cpus && counting->is_started;
}

void counting_follow(struct counting *counting, uint64_t now_ns)
{
	cleanup(cpus_clear) struct cpus online = {0};
	size_t i;

	if (!counting_follows_cpus(counting))
		return;
	counting->followed_ns = now_ns;
	for (i = 0; i < counting->nr_watched; i++) {
		struct watched_cpu *watched = &counting->watched[i];

		if (watched->fds[0] < 0)
			continue;
		if (stayed(watched))
			watched->seen_ns = now_ns;
		else
			leave(counting, watched);
	}
	if (counting->config.online(&online, NULL) < 0)
		return;
	for (i = 0; i < online.nr; i++) {
		const uint32_t cpu = online.numbers[i];
		const int err = join(counting, cpu, now_ns);

		if (err && err != -ENODEV && !counting->uncounted.code)
			(void)error_set(&counting->uncounted, err, "CPU %u: %s", cpu,
					strerror(-err));
	}
}

void counting_add_absence(const struct counting *counting, struct counting_absence *sum)
{
	size_t nr_cpus = 0, i;
	uint32_t cpu = 0;

	for (i = 0; i < counting->nr_watched; i++) {
		const struct watched_cpu *watched = &counting->watched[i];

		if (!watched->was_away)
			continue;
		nr_cpus++;
		cpu = watched->cpu;
		sum->away_ns += watched->away_ns + counting->followed_ns - watched->seen_ns;
	}
	if (nr_cpus > sum->nr_cpus) {
		sum->nr_cpus = nr_cpus;
		sum->cpu = cpu;
	}
	if (!sum->uncounted.code)
		sum->uncounted = counting->uncounted;
}
