/*
 * Joins three sources at the end of an interval: the list of threads with the kernel's own numbers,
 * the map with what the programs added up until each thread last left a CPU, and the ring with the
 * threads that have ended. A thread's sums are those of the map and, if it is on a CPU, the
 * difference of its numbers since it last left one.
 */
#include "collect/switches.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "collect/epochs.h"
#include "kernel/cpus.h"
#include "kernel/load.h"
#include "kernel/ring.h"
#include "proc/cgroup.h"
#include "proc/process_info.h"
#include "skel/switches.skel.h"

/* Room for four times as many threads as there are now. */
#define MIN_THREADS 16384
#define MAX_THREADS 1048576

/* No program takes longer from reading the time to sending a stint. */
#define STINT_LATE_NS NS_PER_MS

/* The sums of a thread, or of a CPU, that were handed out. */
struct shown {
	uint64_t start_ns;
	struct sched_sums sums;
};

/* By task_struct: the threads that were handed out in an earlier interval and may be again. */
struct shown_threads {
	struct u64_map numbers;
	struct shown *threads;
	uint64_t *ran_ns; /* by thread, then by CPU */
	size_t nr, cap, cap_ran;
};

struct switches {
	const struct switches_config *config;
	struct switches_bpf *bpf;
	struct bpf_link *listing;
	struct ring ring;
	struct cpus possible, online;
	bool by_clock;
	int cgroup_root_fd;
	char cgroup[PATH_MAX]; /* the path of --cgroup; "": none */

	struct sched_listed *listed;
	size_t nr_listed, cap_listed;
	struct u64_map listed_of;  /* by task: its index */
	struct u64_map running_on; /* by task: its CPU, after the end */
	struct u64_map ended; /* by task: start of those that ended since the threads were listed */

	/* The second one: of the interval before, while threads are read. */
	struct shown_threads shown, shown_before;
	struct sched_cpu *cpus;	     /* by number, as read last */
	struct sched_sums *open;     /* by CPU: of the thread that is on it, since it was there */
	struct shown *shown_cpus;    /* by CPU; start_ns is the idle time */
	struct switched_cpu *handed; /* for switches_cpus() */
	size_t nr_handed;
	uint64_t *ran_ns; /* scratch */

	struct sched_stint *stints; /* received, and not handed out yet */
	size_t nr_stints, cap_stints;

	struct sched_numbers ended_sum, rows_sum;
	struct switches_totals totals;
	uint32_t epoch; /* of the interval */
	uint64_t began_ns, interval_ns, interval_ended_ns;
	bool is_last, is_reading;
};

/* --- loading ---------------------------------------------------------------------------------- */

static size_t thread_bytes(const struct switches *switches)
{
	return sizeof(struct sched_thread) +
	       (switches->config->has_places ? switches->possible.end * sizeof(uint64_t) : 0);
}

static int configure_and_load(struct switches *switches, struct error *error)
{
	const struct switches_config *config = switches->config;
	struct switches_bpf *bpf = switches->bpf;
	uint64_t nr_threads = 4 * process_nr_threads();
	uint32_t bytes = (uint32_t)thread_bytes(switches);
	int err;

	nr_threads = nr_threads < MIN_THREADS	? MIN_THREADS
		     : nr_threads < MAX_THREADS ? nr_threads
						: MAX_THREADS;
	follow_configure(&FOLLOW_PARTS(bpf), config->tasks);
	bpf->rodata->by_clock = switches->by_clock;
	bpf->rodata->by_cgroup = config->by_cgroup;
	bpf->rodata->nr_ran_cpus = config->has_places ? switches->possible.end : 0;
	bpf->rodata->end_bytes = bytes;
	bpf->rodata->sends_stints = config->sends_stints;
	bpf->rodata->sends_idle = config->sends_idle;
	bpf->rodata->min_delay_ns = config->least_delay_ns;
	(void)bpf_program__set_autoload(bpf->progs.woken, switches->by_clock);
	(void)bpf_map__set_max_entries(bpf->maps.threads, (uint32_t)nr_threads);
	(void)bpf_map__set_value_size(bpf->maps.threads, bytes);
	(void)bpf_map__set_value_size(bpf->maps.new_thread, bytes);
	(void)bpf_map__set_max_entries(bpf->maps.cpus, switches->possible.end);
	(void)bpf_map__set_max_entries(bpf->maps.ring, (uint32_t)config->ring_bytes);
	err = switches_bpf__load(bpf);
	if (err)
		return load_explain(err, error);
	err = ring_open(&switches->ring, bpf_map__fd(bpf->maps.ring), config->ring_bytes, error);
	if (!err)
		err = follow_attach(&FOLLOW_PARTS(bpf), config->tasks, error);
	return err;
}

static int open_cgroup(struct switches *switches, struct error *error)
{
	switches->cgroup_root_fd = -1;
	if (switches->config->tasks->cgroup_fd < 0)
		return 0;
	switches->cgroup_root_fd = cgroup_open_root(error);
	if (switches->cgroup_root_fd < 0)
		return switches->cgroup_root_fd;
	if (!process_own_fd_path(switches->config->tasks->cgroup_fd, switches->cgroup))
		return error_set(error, -ENOENT, "the cgroup does not exist any more");
	return 0;
}

static int set_cpus(struct switches *switches, struct error *error)
{
	const struct switches_config *config = switches->config;
	int fd = bpf_map__fd(switches->bpf->maps.cpus);
	struct sched_cpu cpu = {.is_wanted = true};
	size_t nr = config->cpus ? config->nr_cpus : switches->possible.nr, i;

	for (i = 0; i < nr; i++) {
		uint32_t number = config->cpus ? config->cpus[i] : switches->possible.numbers[i];

		if (number >= switches->possible.end)
			return error_set(error, -EINVAL, "no CPU %u", number);
		if (bpf_map_update_elem(fd, &number, &cpu, BPF_ANY) < 0)
			return error_set_errno(error, "cannot write to a BPF map");
	}
	return 0;
}

static int allocate(struct switches *switches)
{
	size_t nr = switches->possible.end;

	switches->cpus = calloc(nr, sizeof(*switches->cpus));
	switches->open = calloc(nr, sizeof(*switches->open));
	switches->shown_cpus = calloc(nr, sizeof(*switches->shown_cpus));
	switches->handed = calloc(nr, sizeof(*switches->handed));
	switches->ran_ns = calloc(nr, sizeof(*switches->ran_ns));
	return switches->cpus && switches->open && switches->shown_cpus && switches->handed &&
			       switches->ran_ns
		       ? 0
		       : -ENOMEM;
}

static int load(struct switches *switches, struct error *error)
{
	LIBBPF_OPTS(bpf_object_open_opts, options);
	struct load_types types;
	int err = cpus_read(&switches->possible, "possible", error);

	if (!err)
		err = cpus_read(&switches->online, "online", error);
	if (!err && allocate(switches) < 0)
		err = error_no_memory(error, "");
	if (!err)
		err = open_cgroup(switches, error);
	if (err)
		return err;
	switches->by_clock = switches->config->by_clock || !process_has_delays();
	load_types_open(&types, &options);
	switches->bpf = switches_bpf__open_opts(&options);
	err = switches->bpf ? configure_and_load(switches, error) : load_explain(-errno, error);
	load_types_close(&types);
	return err ? err : set_cpus(switches, error);
}

struct switches *switches_load(const struct switches_config *config, struct error *error)
{
	struct switches *switches = calloc(1, sizeof(*switches));

	if (!switches) {
		(void)error_no_memory(error, "");
		return NULL;
	}
	switches->config = config;
	if (load(switches, error) < 0) {
		switches_free(switches);
		return NULL;
	}
	return switches;
}

static void shown_clear(struct shown_threads *shown)
{
	u64_map_clear(&shown->numbers);
	free(shown->threads);
	free(shown->ran_ns);
	*shown = (struct shown_threads){0};
}

void switches_free(struct switches *switches)
{
	if (!switches)
		return;
	(void)bpf_link__destroy(switches->listing);
	ring_close(&switches->ring);
	switches_bpf__destroy(switches->bpf);
	if (switches->cgroup_root_fd > 0)
		(void)close(switches->cgroup_root_fd);
	shown_clear(&switches->shown);
	shown_clear(&switches->shown_before);
	u64_map_clear(&switches->listed_of);
	u64_map_clear(&switches->running_on);
	u64_map_clear(&switches->ended);
	cpus_clear(&switches->possible);
	cpus_clear(&switches->online);
	free(switches->listed);
	free(switches->cpus);
	free(switches->open);
	free(switches->shown_cpus);
	free(switches->handed);
	free(switches->ran_ns);
	free(switches->stints);
	free(switches);
}

size_t switches_cpus_end(const struct switches *switches)
{
	return switches->possible.end;
}

uint64_t switches_began_ns(const struct switches *switches)
{
	return switches->began_ns;
}

bool switches_are_by_clock(const struct switches *switches)
{
	return switches->by_clock;
}

/* --- listing threads -------------------------------------------------------------------------- */

#define LIST_CHUNK 256 /* threads a read */

static int read_list(struct switches *switches, int fd)
{
	size_t bytes = 0;
	ssize_t nr;

	do {
		size_t have = bytes / sizeof(*switches->listed) + 1;

		if (ARRAY_RESERVE(switches->listed, switches->cap_listed, have + LIST_CHUNK) < 0)
			return -ENOMEM;
		nr = read(fd, (char *)switches->listed + bytes,
			  switches->cap_listed * sizeof(*switches->listed) - bytes);
		if (nr > 0)
			bytes += (size_t)nr;
	} while (nr > 0 || (nr < 0 && (errno == EAGAIN || errno == EINTR)));
	switches->nr_listed = bytes / sizeof(*switches->listed);
	return nr < 0 ? -errno : 0;
}

static int list_threads(struct switches *switches, struct error *error)
{
	cleanup_fd int fd = bpf_iter_create(bpf_link__fd(switches->listing));
	int err = fd < 0 ? -errno : read_list(switches, fd);
	size_t i;

	u64_map_clear(&switches->listed_of);
	for (i = 0; i < switches->nr_listed && !err; i++)
		err = u64_map_set(&switches->listed_of, switches->listed[i].task, i);
	return err ? error_set(error, err, "cannot list the threads: %s", strerror(-err)) : 0;
}

int switches_start(struct switches *switches, struct error *error)
{
	struct switches_bpf *bpf = switches->bpf;
	int err = follow_want_all(&FOLLOW_PARTS(bpf), switches->config->tasks, error);

	if (err)
		return err;
	switches->listing = bpf_program__attach_iter(bpf->progs.list_threads, NULL);
	if (!switches->listing)
		return error_set_errno(error, "cannot iterate over the threads");
	switches->began_ns = switches->interval_ended_ns = clock_now_ns();
	bpf->bss->run_began_ns = switches->began_ns;
	switches->epoch = bpf->data->epoch;
	err = list_threads(switches, error);
	if (err)
		return err;
	bpf->bss->has_begun = true;
	if (switches->by_clock)
		bpf->links.woken = bpf_program__attach(bpf->progs.woken);
	if (!switches->by_clock || bpf->links.woken)
		bpf->links.switched = bpf_program__attach(bpf->progs.switched);
	return bpf->links.switched
		       ? 0
		       : error_set_errno(error, "cannot attach to the scheduler's tracepoints");
}

/* --- sums ------------------------------------------------------------------------------------- */

#define NR_SUMS (sizeof(struct sched_sums) / sizeof(uint64_t))

static void add_numbers(struct sched_numbers *sum, const struct sched_numbers *more)
{
	add_words(sum, more, sizeof(*sum));
}

static void add_sums(struct sched_sums *sums, const struct sched_sums *more)
{
	add_words(sums, more, sizeof(*sums));
}

/*
 * Returns what is new, and notes it as shown. Readings of different moments are combined, so a sum
 * can be behind what was shown; it is then shown next time.
 */
static void take_new(struct sched_sums *shown, const struct sched_sums *now, struct sched_sums *ret)
{
	uint64_t *before = (uint64_t *)shown, *difference = (uint64_t *)ret;
	const uint64_t *after = (const uint64_t *)now;
	size_t i;

	for (i = 0; i < NR_SUMS; i++) {
		difference[i] = after[i] > before[i] ? after[i] - before[i] : 0;
		before[i] += difference[i];
	}
}

static bool is_nothing(const struct sched_sums *sums)
{
	static const struct sched_sums none;

	return !memcmp(sums, &none, sizeof(none));
}

/* Chooses the longest wait of the interval; a newer one if the thread has ended, since it has no later interval. */
static struct sched_longest choose_longest(const struct switches *switches,
					   const struct sched_longest longest[2], bool has_ended)
{
	struct sched_longest chosen = {0};
	size_t i;

	for (i = 0; i < 2; i++)
		if ((longest[i].epoch == switches->epoch ||
		     (has_ended && longest[i].epoch > switches->epoch)) &&
		    (!chosen.epoch || longest[i].delay_ns > chosen.delay_ns))
			chosen = longest[i];
	return chosen;
}

/* --- handing out ------------------------------------------------------------------------------ */

/* Returns the thread's place among the shown ones, NULL if it was not; *ret_ran_ns likewise. */
static struct shown *find_shown(const struct switches *switches, const struct shown_threads *shown,
				uint64_t task, uint64_t start_ns, uint64_t **ret_ran_ns)
{
	const uint64_t *number = u64_map_find(&shown->numbers, task);

	if (!number || shown->threads[*number].start_ns != start_ns)
		return NULL;
	*ret_ran_ns = shown->ran_ns ? shown->ran_ns + *number * switches->possible.end : NULL;
	return &shown->threads[*number];
}

static int note_shown(const struct switches *switches, struct shown_threads *shown, uint64_t task,
		      const struct shown *thread, const uint64_t *ran_ns)
{
	size_t nr_cpus = switches->possible.end;

	if (ARRAY_RESERVE(shown->threads, shown->cap, shown->nr + 1) < 0 ||
	    u64_map_set(&shown->numbers, task, shown->nr) < 0)
		return -ENOMEM;
	if (switches->config->has_places) {
		if (ARRAY_RESERVE(shown->ran_ns, shown->cap_ran, (shown->nr + 1) * nr_cpus) < 0)
			return -ENOMEM;
		memcpy(shown->ran_ns + shown->nr * nr_cpus, ran_ns, nr_cpus * sizeof(*ran_ns));
	}
	shown->threads[shown->nr++] = *thread;
	return 0;
}

/*
 * Hands out what is new of a thread. thread->sums and ran_ns are all of it so far, and are changed.
 * next: the threads shown after this interval; NULL: the thread has ended.
 */
static int hand_out(struct switches *switches, uint64_t task, uint64_t start_ns,
		    struct switched_thread *thread, uint64_t *ran_ns, struct shown_threads *next)
{
	const struct switches_receiver *receiver = &switches->config->receiver;
	size_t nr_cpus = switches->config->has_places ? switches->possible.end : 0, i;
	uint64_t *ran_before = NULL;
	struct shown *before = find_shown(switches, &switches->shown, task, start_ns, &ran_before);
	const struct sched_sums sums = thread->sums;
	struct shown now;
	int err = 0;

	if (!before)
		before = find_shown(switches, &switches->shown_before, task, start_ns, &ran_before);
	now = before ? *before : (struct shown){.start_ns = start_ns};
	take_new(&now.sums, &sums, &thread->sums);
	for (i = 0; i < nr_cpus && ran_before; i++)
		if (ran_ns[i] < ran_before[i])
			ran_ns[i] = ran_before[i];
	if (next)
		err = note_shown(switches, next, task, &now, ran_ns);
	for (i = 0; i < nr_cpus && ran_before; i++)
		ran_ns[i] -= ran_before[i];
	thread->ran_ns = nr_cpus ? ran_ns : NULL;
	if (err || is_nothing(&thread->sums))
		return err;
	return receiver->add_thread(receiver->context, thread);
}

static void name_thread(struct switched_thread *thread, const char comm[SCHED_COMM_BYTES],
			uint32_t pid, uint32_t tid, uint64_t cgroup)
{
	memcpy(thread->comm, comm, SCHED_COMM_BYTES);
	thread->comm[SCHED_COMM_BYTES] = '\0';
	thread->pid = pid;
	thread->tid = tid;
	thread->cgroup = cgroup;
}

/* --- the ring --------------------------------------------------------------------------------- */

static int take_end(struct switches *switches, const struct sched_thread *end)
{
	struct switched_thread thread = {
		.sums = end->sums,
		.longest = choose_longest(switches, end->longest, true),
	};

	add_numbers(&switches->ended_sum, &end->sums.numbers);
	if (!end->is_wanted)
		return 0;
	name_thread(&thread, end->comm, end->pid, end->tid, end->cgroup);
	if (switches->config->has_places)
		memcpy(switches->ran_ns, end + 1, switches->possible.end * sizeof(uint64_t));
	if (switches->is_reading && u64_map_set(&switches->ended, end->task, end->start_ns) < 0)
		return -ENOMEM;
	return hand_out(switches, end->task, end->start_ns, &thread, switches->ran_ns, NULL);
}

static int compare_stints(const void *a, const void *b)
{
	const struct sched_stint *left = a, *right = b;

	return COMPARE(left->end_ns, right->end_ns) ?: COMPARE(left->cpu, right->cpu);
}

/* Hands out the stints that ended before a time: from then on older ones may still arrive. */
static int hand_out_stints(struct switches *switches, uint64_t before_ns)
{
	const struct switches_receiver *receiver = &switches->config->receiver;
	size_t nr, i;
	int err = 0;

	qsort(switches->stints, switches->nr_stints, sizeof(*switches->stints), compare_stints);
	nr = ARRAY_NR_BELOW(switches->stints, switches->nr_stints, end_ns, before_ns);
	for (i = 0; i < nr && !err; i++)
		err = receiver->add_stint(receiver->context, &switches->stints[i]);
	switches->nr_stints -= nr;
	memmove(switches->stints, switches->stints + nr,
		switches->nr_stints * sizeof(*switches->stints));
	return err;
}

int switches_poll(struct switches *switches, struct error *error)
{
	uint64_t before_ns = switches->is_last ? UINT64_MAX : clock_now_ns() - STINT_LATE_NS;
	uint64_t end = ring_producer_position(&switches->ring);
	const void *record;
	size_t bytes;
	int err = 0;

	while (!err && (record = ring_next(&switches->ring, end, &bytes))) {
		if (bytes == sizeof(struct sched_stint))
			err = ARRAY_ADD(switches->stints, switches->nr_stints, switches->cap_stints,
					*(const struct sched_stint *)record);
		else if (bytes == thread_bytes(switches))
			err = take_end(switches, record);
		else
			err = -EPROTO;
	}
	if (!err && switches->nr_stints)
		err = hand_out_stints(switches, before_ns);
	if (err == -ENOMEM)
		return error_no_memory(error, "for switches");
	if (err && err != -EPIPE && !error->code)
		(void)error_set(error, err, "cannot take the switches: %s", strerror(-err));
	return err;
}

/* --- the end of an interval ------------------------------------------------------------------- */

static int read_cpus(struct switches *switches)
{
	int fd = bpf_map__fd(switches->bpf->maps.cpus);
	uint32_t i;
	int err = 0;

	u64_map_clear(&switches->running_on);
	memset(switches->open, 0, switches->possible.end * sizeof(*switches->open));
	for (i = 0; i < switches->possible.end && !err; i++) {
		if (bpf_map_lookup_elem(fd, &i, &switches->cpus[i]) < 0)
			return -errno;
		if (switches->cpus[i].task && !switches->cpus[i].is_idle)
			err = u64_map_set(&switches->running_on, switches->cpus[i].task, i);
	}
	return err;
}

/*
 * Returns the CPU that a thread is on; -1: none, or one that is not selected. After the end, that is
 * the one where it was then.
 */
static int64_t cpu_of(const struct switches *switches, const struct sched_listed *listed)
{
	const uint64_t *on = u64_map_find(&switches->running_on, listed->task);
	uint32_t cpu = listed->cpu;

	if (switches->is_last && on)
		cpu = (uint32_t)*on;
	else if (!listed->is_running || cpu >= switches->possible.end ||
		 (switches->is_last && switches->cpus[cpu].task))
		return -1;
	return switches->cpus[cpu].is_wanted ? (int64_t)cpu : -1;
}

/* A thread that is still on its CPU at the end of the run has sent nothing of its time there. */
static int add_last_stint(struct switches *switches, uint32_t cpu, uint64_t since_ns,
			  const struct switched_thread *thread, uint64_t delay_ns, uint64_t left_ns)
{
	struct sched_stint stint = {
		.end_ns = switches->interval_ended_ns,
		.run_ns = switches->interval_ended_ns - since_ns,
		.delay_ns = delay_ns,
		.wait_ns = left_ns && since_ns > left_ns ? since_ns - left_ns : 0,
		.pid = thread->pid,
		.tid = thread->tid,
		.cpu = cpu,
		.state = STINT_GOES_ON,
	};

	if (delay_ns < switches->config->least_delay_ns)
		return 0;
	memcpy(stint.comm, thread->comm, sizeof(stint.comm));
	return ARRAY_ADD(switches->stints, switches->nr_stints, switches->cap_stints, stint);
}

/*
 * Adds the part of a thread's sums that is not in the map: of its time on the CPU where it is, and
 * of the wait before. last: its numbers when it left a CPU before, at left_ns; 0: it did not. 0 or -ENOMEM.
 */
static int add_open(struct switches *switches, const struct sched_listed *listed,
		    const struct sched_numbers *last, uint64_t left_ns,
		    struct switched_thread *thread, uint64_t *ran_ns)
{
	int64_t number = cpu_of(switches, listed);
	const struct sched_cpu *cpu = &switches->cpus[number < 0 ? 0 : number];
	const uint64_t *now = (const uint64_t *)&listed->numbers;
	const uint64_t *before = (const uint64_t *)last;
	struct sched_sums open = {0};
	uint64_t *difference = (uint64_t *)&open.numbers;
	uint64_t since_ns;
	size_t i;

	if (number < 0 || listed->numbers.run_ns < last->run_ns)
		return 0;
	for (i = 0; i < SCHED_NR_NUMBERS; i++)
		difference[i] = now[i] > before[i] ? now[i] - before[i] : 0;
	since_ns = cpu->task == listed->task ? cpu->since_ns : switches->began_ns;
	/* It has left since the end: its waits since then cannot be told apart. */
	if (switches->is_last && (open.numbers.voluntary || open.numbers.involuntary))
		open.numbers = (struct sched_numbers){.run_ns = open.numbers.run_ns};
	/* It was listed some milliseconds after the end. */
	if (switches->is_last && open.numbers.run_ns > switches->interval_ended_ns - since_ns)
		open.numbers.run_ns = switches->interval_ended_ns - since_ns;
	if (open.numbers.waits == 1) {
		open.slots[sched_slot(open.numbers.delay_ns)] = 1;
	} else {
		open.unsplit = open.numbers.waits;
		open.unsplit_ns = open.unsplit ? open.numbers.delay_ns : 0;
	}
	if (open.numbers.waits == 1 && cpu->task == listed->task && cpu->epoch == switches->epoch &&
	    (!thread->longest.epoch || open.numbers.delay_ns > thread->longest.delay_ns))
		thread->longest = (struct sched_longest){open.numbers.delay_ns, cpu->since_ns,
							 switches->epoch, (uint32_t)number};
	add_sums(&thread->sums, &open);
	add_sums(&switches->open[number], &open);
	if (switches->config->has_places)
		ran_ns[number] += open.numbers.run_ns;
	return switches->is_last && switches->config->sends_stints
		       ? add_last_stint(switches, (uint32_t)number, since_ns, thread,
					open.numbers.delay_ns, left_ns)
		       : 0;
}

/* For a thread that did not leave a CPU while it was selected: the kernel did not check its cgroup. */
static bool is_in_cgroup(const struct switches *switches, uint64_t id)
{
	cleanup_free char *path = NULL;
	char root[PATH_MAX];
	size_t nr_root, nr;

	if (switches->cgroup_root_fd < 0)
		return true;
	path = cgroup_path(switches->cgroup_root_fd, id);
	if (!path || !process_own_fd_path(switches->cgroup_root_fd, root))
		return false;
	nr_root = strlen(root);
	nr = strlen(switches->cgroup) - nr_root;
	return !nr ||
	       (!strncmp(path, switches->cgroup + nr_root, nr) && (!path[nr] || path[nr] == '/'));
}

struct row_reader {
	struct switches *switches;
	struct shown_threads *next;
};

/* A row of the map of threads. */
static int take_row(void *context, const void *key, const void *value)
{
	const struct row_reader *reader = context;
	struct switches *switches = reader->switches;
	const struct sched_thread *row = value;
	uint64_t task = *(const uint64_t *)key;
	const uint64_t *number = u64_map_find(&switches->listed_of, task);
	struct sched_listed *listed = number ? &switches->listed[*number] : NULL;
	struct switched_thread thread = {
		.sums = row->sums,
		.longest = choose_longest(switches, row->longest, false),
	};

	add_numbers(&switches->rows_sum, &row->sums.numbers);
	if (listed && listed->start_ns != row->start_ns)
		listed = NULL;
	if (listed)
		listed->start_ns = 0; /* it has a row */
	if (!row->is_wanted && (!listed || !is_in_cgroup(switches, listed->cgroup)))
		return 0;
	name_thread(&thread, listed ? listed->comm : row->comm, row->pid, row->tid, row->cgroup);
	if (switches->config->has_places)
		memcpy(switches->ran_ns, row + 1, switches->possible.end * sizeof(uint64_t));
	if (listed &&
	    add_open(switches, listed, &row->last, row->left_ns, &thread, switches->ran_ns) < 0)
		return -ENOMEM;
	return hand_out(switches, task, row->start_ns, &thread, switches->ran_ns, reader->next);
}

/* A thread without a row: it is new, and has not left a CPU yet. */
static int take_new_thread(struct switches *switches, const struct sched_listed *listed,
			   struct shown_threads *next)
{
	static const struct sched_numbers none;
	const uint64_t *ended = u64_map_find(&switches->ended, listed->task);
	struct switched_thread thread = {0};

	if (listed->start_ns <= switches->began_ns || (ended && *ended == listed->start_ns) ||
	    !is_in_cgroup(switches, listed->cgroup))
		return 0;
	name_thread(&thread, listed->comm, listed->pid, listed->tid, listed->cgroup);
	memset(switches->ran_ns, 0, switches->possible.end * sizeof(*switches->ran_ns));
	if (add_open(switches, listed, &none, 0, &thread, switches->ran_ns) < 0)
		return -ENOMEM;
	return hand_out(switches, listed->task, listed->start_ns, &thread, switches->ran_ns, next);
}

static int take_threads(struct switches *switches, struct error *error)
{
	struct shown_threads next = {0};
	struct row_reader reader = {switches, &next};
	size_t i;
	int err;

	memset(&switches->rows_sum, 0, sizeof(switches->rows_sum));
	u64_map_clear(&switches->ended);
	switches->is_reading = true;
	err = epochs_read_hash(bpf_map__fd(switches->bpf->maps.threads), sizeof(uint64_t),
			       thread_bytes(switches), take_row, &reader);
	switches->shown_before = switches->shown;
	switches->shown = next;
	/* Threads that ended meanwhile, after which the ones without a row are new. */
	if (!err)
		err = switches_poll(switches, error);
	switches->is_reading = false;
	for (i = 0; i < switches->nr_listed && !err; i++)
		if (switches->listed[i].start_ns)
			err = take_new_thread(switches, &switches->listed[i], &switches->shown);
	if (!err && switches->is_last)
		err = hand_out_stints(switches, UINT64_MAX);
	shown_clear(&switches->shown_before);
	return err;
}

static bool is_online(const struct switches *switches, uint32_t number)
{
	const struct cpus *online = &switches->online;
	size_t i = array_first(online->nr, n, online->numbers[n] >= number);

	return i < online->nr && online->numbers[i] == number;
}

static void take_cpus(struct switches *switches)
{
	uint32_t i;

	switches->nr_handed = 0;
	for (i = 0; i < switches->possible.end; i++) {
		const struct sched_cpu *cpu = &switches->cpus[i];
		struct shown *shown = &switches->shown_cpus[i];
		struct switched_cpu *handed = &switches->handed[switches->nr_handed];
		struct sched_sums sums = cpu->sums;
		uint64_t idle_ns = cpu->idle_ns;
		uint64_t since_ns = cpu->task ? cpu->since_ns : switches->began_ns;

		if (!cpu->is_wanted || (!is_online(switches, i) && !cpu->switches))
			continue;
		add_sums(&sums, &switches->open[i]);
		if (cpu->is_idle || (!cpu->task && !switches->open[i].numbers.run_ns))
			idle_ns += switches->interval_ended_ns - since_ns;
		*handed = (struct switched_cpu){.number = i};
		handed->idle_ns = idle_ns > shown->start_ns ? idle_ns - shown->start_ns : 0;
		shown->start_ns += handed->idle_ns;
		take_new(&shown->sums, &sums, &handed->sums);
		handed->longest = choose_longest(switches, cpu->longest, false);
		switches->nr_handed++;
	}
}

static void sum_up(struct switches *switches)
{
	struct switches_totals totals = {0};
	struct sched_numbers all = {0}, lost = {0};
	const uint64_t *one, *others[3];
	size_t i;

	for (i = 0; i < switches->possible.end; i++) {
		const struct sched_cpu *cpu = &switches->cpus[i];

		totals.switches += cpu->switches;
		totals.idle += cpu->idle;
		totals.own += cpu->own;
		totals.filtered += cpu->filtered;
		totals.counted += cpu->counted;
		totals.lost_threads += cpu->lost_threads;
		totals.lost_stints += cpu->lost_stints;
		totals.lost_ends += cpu->lost_ends;
		totals.unsplit += cpu->sums.unsplit + switches->open[i].unsplit;
		totals.unsplit_ns += cpu->sums.unsplit_ns + switches->open[i].unsplit_ns;
		add_numbers(&all, &cpu->sums.numbers);
		add_numbers(&lost, &cpu->lost);
	}
	totals.lost_run_ns = lost.run_ns;
	if (switches->is_last) {
		one = (const uint64_t *)&all;
		others[0] = (const uint64_t *)&switches->rows_sum;
		others[1] = (const uint64_t *)&switches->ended_sum;
		others[2] = (const uint64_t *)&lost;
		for (i = 0; i < SCHED_NR_NUMBERS; i++)
			totals.violations += one[i] != others[0][i] + others[1][i] + others[2][i];
		totals.violations += totals.switches != totals.idle + totals.own + totals.filtered +
								totals.counted +
								totals.lost_threads;
	}
	switches->totals = totals;
}

int switches_end_interval(struct switches *switches, bool is_last, struct error *error)
{
	struct switches_bpf *bpf = switches->bpf;
	uint64_t began_ns = switches->interval_ended_ns;
	int err = switches_poll(switches, error);

	if (err)
		return err;
	switches->is_last = is_last;
	if (is_last)
		__atomic_store_n(&bpf->bss->has_ended, 1, __ATOMIC_SEQ_CST);
	else
		__atomic_store_n(&bpf->data->epoch, switches->epoch + 1, __ATOMIC_SEQ_CST);
	switches->interval_ended_ns = clock_now_ns();
	switches->interval_ns = switches->interval_ended_ns - began_ns;
	if (is_last)
		load_wait_for_programs();
	err = read_cpus(switches);
	if (!err)
		err = list_threads(switches, error);
	if (!err)
		err = take_threads(switches, error);
	if (err)
		return err == -EPIPE || error->code
			       ? err
			       : error_set(error, err, "cannot read the threads: %s",
					   strerror(-err));
	take_cpus(switches);
	sum_up(switches);
	switches->epoch++;
	return 0;
}

const struct switched_cpu *switches_cpus(const struct switches *switches, size_t *ret_nr)
{
	*ret_nr = switches->nr_handed;
	return switches->handed;
}

const struct switches_totals *switches_totals(const struct switches *switches)
{
	return &switches->totals;
}

uint64_t switches_interval_ns(const struct switches *switches)
{
	return switches->interval_ns;
}
