/*
 * A session, from opening everything to the summary.
 *
 * A poll reads the rings, ten times a second. That is memory only, without a system call during
 * which the kernel would not sample this CPU. New files and processes are looked up in the poll,
 * before they are gone. An epoch ends when its count map fills up, when the profile has to be up to
 * date, at the end of a time slice, or after five seconds; only then maps are replaced and read.
 */
#include "collect/session.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd_io.h"
#include "collect/drain.h"
#include "collect/sideband.h"
#include "kernel/ring.h"
#include "probe/find/program.h"
#include "proc/cgroup.h"
#include "proc/mappings.h"
#include "proc/process_info.h"
#include "profile/profile.h"

#define SESSION_OWN_FDS 2 /* descriptors to wait for, besides the sideband's */

#define PRELOAD_NS (50 * NS_PER_MS)

#define OTHER_DESCRIPTORS 40 /* maps, programs, outputs; plus three per CPU */
#define MAX_OPEN_FILES	  8192

/* CPU time per hit: a walk by unwind tables takes 3 to 5 µs. */
#define STACK_NS 4000

#define POLL_NS	     (100 * NS_PER_MS)
#define BUSY_POLL_NS (10 * NS_PER_MS) /* while the ring fills quickly */
#define EPOCH_NS     (5 * NS_PER_SEC)

/*
 * While process events or raw records keep coming, user space is not woken for each but polls at
 * these intervals. After the last of them it polls QUIET_NAPS more times, the last time with
 * wake-ups enabled.
 */
#define SIDEBAND_NAP_NS (2 * NS_PER_MS)
#define RAW_NAP_NS	NS_PER_MS
#define QUIET_NAPS	3

/* Longest wait for unwind tables, at the end of an interval and at the end of the run. */
#define SETTLE_NS      (15 * NS_PER_MS)
#define LAST_SETTLE_NS (3 * NS_PER_SEC)

/*
 * Longest wait for looks at files and processes: before the first sample, at the end of an epoch, at the end of
 * the run. Whoever does not answer until then goes without names.
 */
#define LOOK_NS	      NS_PER_SEC
#define EPOCH_LOOK_NS (10 * NS_PER_MS)
#define LAST_LOOK_NS  (2 * NS_PER_SEC)

#define SAMPLING_NICE (-20)

struct session {
	struct session_options options;
	struct event event;
	struct file_table *files;
	struct runtime_table *runtimes;
	struct process_table *processes;
	struct profile *profile;
	struct drain *drain;
	struct drain_probe *probes; /* see struct drain_options */
	uint8_t *given;		    /* by file: its state + 1 when it was last copied; 0: never */
	size_t nr_given, cap_given;
	struct sampler *sampler;
	struct epochs *epochs; /* the sampler's */
	struct worker *worker; /* looks at other people's files and processes, and parses files */
	struct unwinder *unwinder; /* NULL: frame pointers */
	struct sideband *sideband;
	struct sampling *sampling; /* NULL if the session attaches probes */
	struct probing *probing;   /* NULL if the session samples */
	uint64_t probing_next_ns;  /* when to call probing_step() next */
	struct ring ring;
	int raw_fd; /* readable when the kernel sent a wake-up for a raw record */
	int cgroup_root_fd;
	int statistics_fd;
	struct pollfd *pollfds;

	uint64_t polled_ns; /* when the last poll began */
	uint64_t epoch_began_ns;
	struct slicing slicing;
	uint64_t epoch_records; /* received in this epoch */
	bool ring_is_busy;
	bool has_raw;	  /* the last read of the ring brought raw records */
	unsigned nr_naps; /* polls left before wake-ups are used again; 0: wake-ups are on */

	struct accounting accounting;
	bool complete;
	uint64_t nr_lost_events;
	struct absence absence;
	uint64_t started_ns, stopped_ns;
	int nice;		  /* our nice value before the start */
	uint64_t sampling_cpu_ns; /* ours: until the start; after the stop, since the start */
	struct sampling_reading reading;
};

/* --- opening ------------------------------------------------------------------------------------ */

/* bpf_get_stack() never returns more than kernel.perf_event_max_stack frames. */
static uint32_t clip_frames(uint32_t wanted)
{
	uint64_t most = process_sysctl("kernel/perf_event_max_stack", 127);

	return wanted < most ? wanted : (uint32_t)most;
}

/* Returns N if one probe hit in N is recorded even without a budget. */
static uint32_t every_hit(const struct session_options *options)
{
	return options->probes && options->probes->every ? options->probes->every : 1;
}

/* Returns N if a budget thins hits further, to one in 1 << bits of every_hit(). */
static uint32_t thinned_to(const struct session_options *options, unsigned bits)
{
	uint64_t one_of = (uint64_t)every_hit(options) << bits;

	return one_of < UINT32_MAX ? (uint32_t)one_of : UINT32_MAX;
}

/* Under a budget, hits are thinned out before probes are detached. */
static bool may_thin(const struct session_options *options)
{
	return options->probes && (options->probes->budget_share > 0 || every_hit(options) > 1);
}

static int load_sampler(struct session *session, struct error *error)
{
	const struct session_options *options = &session->options;
	struct sampler_config config = {
		.include_idle = options->include_idle,
		.by_tid = options->labels & LABEL_TID,
		.by_cpu = options->labels & LABEL_CPU,
		.by_cgroup = options->labels & LABEL_CGROUP,
		.max_user_frames = clip_frames(options->max_user_frames),
		.max_kernel_frames = clip_frames(options->max_kernel_frames),
		.max_walk_frames = options->by_tables ? options->max_user_frames : 0,
		.tasks = options->tasks,
		.ring_bytes = options->ring_bytes,
		.max_counts = options->max_counts,
		.probes = options->probes ? options->probes->list : NULL,
		.features = options->probes ? options->probes->features : NULL,
		.weights = options->probes ? options->probes->weights : NULL,
		.may_thin = may_thin(options),
		.every = every_hit(options),
	};

	session->sampler = sampler_load(&config, error);
	if (!session->sampler)
		return error->code;
	session->epochs = sampler_epochs(session->sampler);
	return 0;
}

/*
 * Files stay open until their symbols are read. Raises the descriptor limit as far as possible, and
 * leaves half of the descriptors for everything else.
 */
static size_t max_open_files(size_t nr_cpus)
{
	uint64_t others = 3 * nr_cpus + OTHER_DESCRIPTORS;
	uint64_t allowed = fd_raise_limit();
	uint64_t most = allowed > others ? (allowed - others) / 2 : 0;

	return most < MAX_OPEN_FILES ? most : MAX_OPEN_FILES;
}

static struct profile *make_profile(const struct session *session)
{
	struct profile *profile = profile_new();

	if (!profile)
		return NULL;
	profile_set_limit(profile, session->options.max_profile_bytes);
	profile_set_spare_labels(profile, session->options.spare_labels);
	return profile;
}

static int make_tables(struct session *session, struct error *error)
{
	const struct session_options *options = &session->options;

	session->files = file_table_new(max_open_files(options->nr_online_cpus));
	session->profile = make_profile(session);
	session->runtimes = runtime_table_new();
	if (!session->files || !session->runtimes || !session->profile)
		return error_no_memory(error, "");
	session->processes = process_table_new(session->files);
	session->worker = worker_new(error);
	if (!session->worker)
		return error->code;
	worker_set_tables(session->worker, session->files, session->processes, session->runtimes);
	if (options->labels & LABEL_CGROUP) {
		session->cgroup_root_fd = cgroup_open_root(error);
		if (session->cgroup_root_fd < 0)
			return session->cgroup_root_fd;
	}
	session->pollfds =
		calloc(options->nr_online_cpus + SESSION_OWN_FDS + SESSION_MAX_CALLER_FDS,
		       sizeof(*session->pollfds));
	return session->processes && session->pollfds ? 0 : error_no_memory(error, "");
}

static int make_unwinder(struct session *session, struct error *error)
{
	struct epoll_event woken = {.events = EPOLLIN | EPOLLET};
	struct unwind_pool_fds fds;
	struct unwinder_options options = {
		.fds = &fds,
		.files = session->files,
		.worker = session->worker,
		.max_bytes = session->options.max_table_bytes,
		.cache_folder = session->options.table_folder,
		.max_frames = session->options.max_user_frames,
	};

	if (!session->options.by_tables || !options.max_frames)
		return 0;
	sampler_pool_fds(session->sampler, &fds);
	session->unwinder = unwinder_new(&options, error);
	if (!session->unwinder)
		return error->code;
	/*
	 * Polling the ring directly would nearly always report it readable, as soon as it holds any
	 * record. Edge-triggered epoll reports only wake-ups, which the BPF side sends for raw
	 * records.
	 */
	session->raw_fd = epoll_create1(EPOLL_CLOEXEC);
	if (session->raw_fd < 0 || epoll_ctl(session->raw_fd, EPOLL_CTL_ADD,
					     sampler_ring_fd(session->sampler), &woken) < 0)
		return error_set_errno(error, "cannot wait for the ring buffer");
	return 0;
}

/* Adds the names of probes to a profile, and their named frames, as kernel or user frames. */
static int make_probes(const struct session *session, struct profile *profile)
{
	const struct session_probes *probes = session->options.probes;
	size_t i;

	for (i = 0; i < probes->list->nr_probes; i++) {
		bool is_user = probe_is_user(&probes->list->probes[i]);
		int64_t name = profile_add_string(profile, probes->names[i].text);
		const struct code_line line = {.function = (uint32_t)name};
		int64_t frame = NO_PROBE_FRAME;

		if (name < 0)
			return -ENOMEM;
		if (probes->names[i].is_leaf)
			frame = profile_add_named_frame(
				profile, is_user ? FRAME_USER : FRAME_KERNEL,
				is_user ? MODULE_NR_UNKNOWN : MODULE_NR_KERNEL, &line, 1);
		if (frame < 0)
			return -ENOMEM;
		session->probes[i] = (struct drain_probe){(uint32_t)name, (uint32_t)frame};
	}
	return 0;
}

static int make_drain(struct session *session, struct error *error)
{
	struct drain_options options = {
		.labels = session->options.labels,
		.comm = session->options.comm,
		.cgroup_root_fd = session->cgroup_root_fd,
		.by_weight = may_thin(&session->options) ||
			     (session->options.probes && session->options.probes->weights),
		.files = session->files,
		.runtimes = session->runtimes,
		.processes = session->processes,
		.profile = session->profile,
		.unwinder = session->unwinder,
		.slicing = &session->slicing,
	};
	const struct session_probes *probes = session->options.probes;

	if (probes) {
		session->probes = calloc(probes->list->nr_probes + 1, sizeof(*session->probes));
		if (!session->probes || make_probes(session, session->profile) < 0)
			return error_no_memory(error, "");
		options.probes = session->probes;
		options.nr_probes = probes->list->nr_probes;
	}
	session->drain = drain_new(&options);
	return session->drain ? 0 : error_no_memory(error, "");
}

/*
 * Asks for the unwind tables of a target before its first sample. Mappings are published to the kernel at its
 * first sample, which shows what program it then runs.
 */
static void preload_target(struct session *session, int32_t pid)
{
	unwinder_preload(session->unwinder,
			 process_table_mappings(session->processes, pid, clock_now_ns()));
}

/*
 * Asks for the unwind tables of a program that is about to be executed and has not mapped anything
 * yet. Best effort: files not found here are handled when they are sampled.
 */
static int preload_program(struct session *session)
{
	struct mappings *mappings = mappings_new();
	struct program program = {0};
	int err =
		mappings ? program_find_started(session->options.command, session->worker, &program)
			 : -ENOMEM;
	size_t i;

	for (i = 0; i < program.nr && !err; i++) {
		struct mapping mapping = {
			.start = i << 32, .end = (i << 32) + 1, .kind = MAPPING_FILE};
		char link[64], path[PATH_MAX] = "";
		struct stat st;
		int64_t file;

		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", program.files[i].fd);
		if (fstat(program.files[i].fd, &st) < 0 ||
		    readlink(link, path, sizeof(path) - 1) < 0) /* as the kernel will report it */
			continue;
		file = file_table_add(
			session->files,
			&(struct file_id){major(st.st_dev), minor(st.st_dev), st.st_ino, 0}, path,
			getpid(), 0, 0);
		mapping.file = (uint32_t)file;
		err = file < 0 ? (int)file : mappings_add(&mappings, &mapping);
	}
	(void)worker_wait_for_looks(session->worker, clock_now_ns() + LOOK_NS, -1);
	if (mappings)
		unwinder_preload(session->unwinder, mappings);
	mappings_unref(mappings);
	program_clear(&program);
	return err == -ENOMEM ? err : 0;
}

/* Adds the targets to the filter, and has their mappings read before their first samples. */
static int want_targets(struct session *session, struct error *error)
{
	const struct wanted_tasks *tasks = &session->options.tasks;
	const size_t nr = tasks->nr_pids + tasks->nr_tids;
	cleanup_free int32_t *pids = calloc(nr + 1, sizeof(*pids));
	int err = pids ? sampler_want(session->sampler, tasks, error) : error_no_memory(error, "");
	size_t i;

	if (err)
		return err;
	for (i = 0; i < nr && !err; i++) {
		const bool is_thread = i >= tasks->nr_pids;
		const uint32_t tid = is_thread ? tasks->tids[i - tasks->nr_pids] : 0;
		int64_t pid = is_thread ? process_of_thread((int32_t)tid) : tasks->pids[i];

		if (pid < 0)
			return error_set(error, -ESRCH, "no such thread: %u", tid);
		pids[i] = (int32_t)pid;
		err = process_table_ensure(session->processes, pids[i]);
	}
	(void)worker_wait_for_looks(session->worker, clock_now_ns() + LOOK_NS, -1);
	for (i = 0; i < nr && !err && session->unwinder; i++)
		preload_target(session, pids[i]);
	if (!err && session->unwinder && session->options.command)
		err = preload_program(session);
	/*
	 * Wait a moment for their unwind tables, which mostly come from the cache; samples that
	 * arrive before the rest are walked later.
	 */
	if (session->unwinder)
		unwinder_wait(session->unwinder, clock_now_ns() + PRELOAD_NS);
	return err ? error_set(error, err, "cannot add the target processes: %s", strerror(-err))
		   : 0;
}

static void thin_hits(void *context, uint32_t number, unsigned bits)
{
	const struct session *session = context;

	sampler_thin(session->sampler, number, thinned_to(&session->options, bits));
}

static int open_probing(struct session *session, struct error *error)
{
	const struct session_probes *probes = session->options.probes;
	const struct probing_options options = {
		.list = probes->list,
		.features = probes->features,
		.programs = sampler_programs(session->sampler),
		.hits = sampler_hits(session->sampler),
		.pid = probes->link_pid,
		.budget_share = probes->budget_share,
		.work_ns = (double)STACK_NS / every_hit(&session->options),
		.thin = thin_hits,
		.context = session,
	};

	session->probing = probing_new(&options, error);
	return session->probing ? 0 : error->code;
}

static int set_up(struct session *session, struct error *error)
{
	const struct session_options *options = &session->options;
	int err;

	sampling_choose_sizes(options->event, &options->rate, options->nr_cpus, options->by_tables,
			      &session->options.ring_bytes, &session->options.max_counts);
	err = make_tables(session, error);
	if (!err)
		err = load_sampler(session, error);
	if (!err)
		err = make_unwinder(session, error);
	if (!err)
		err = make_drain(session, error);
	if (!err)
		err = ring_open(&session->ring, sampler_ring_fd(session->sampler),
				options->ring_bytes, error);
	if (err)
		return err;
	/*
	 * Open the events before reading maps: what happens in between is then seen twice rather
	 * than missed.
	 */
	session->sideband = sideband_open(options->online_cpus, options->nr_online_cpus, error);
	if (!session->sideband)
		return error->code;
	err = want_targets(session, error);
	if (err)
		return err;
	if (options->probes)
		err = open_probing(session, error);
	else
		session->sampling = sampling_open(&session->event, &options->rate, options->cpus,
						  options->nr_cpus, session->sideband,
						  sampler_program_fd(session->sampler), error);
	if (err || (!options->probes && !session->sampling))
		return error->code;
	if (options->bpf_statistics)
		session->statistics_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	return 0;
}

struct session *session_new(const struct session_options *options, struct error *error)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session) {
		(void)error_no_memory(error, "");
		return NULL;
	}
	session->options = *options;
	/*
	 * Let the kernel drop ticks on idle CPUs. An idle CPU has no scheduler tick that would
	 * reset the kernel's throttling, so a CPU that is throttled while idle would go unsampled
	 * for a while after.
	 */
	if (options->event) {
		session->event = *options->event;
		session->event.exclude_idle =
			event_is_clock(options->event) && !options->include_idle;
	}
	session->raw_fd = -1;
	session->cgroup_root_fd = -1;
	session->statistics_fd = -1;
	if (set_up(session, error) < 0) {
		session_free(session);
		return NULL;
	}
	return session;
}

void session_free(struct session *session)
{
	if (!session)
		return;
	probing_free(session->probing);
	sampling_close(session->sampling);
	sideband_close(session->sideband);
	ring_close(&session->ring);
	sampler_free(session->sampler);
	drain_free(session->drain);
	unwinder_free(session->unwinder);
	worker_free(session->worker);
	profile_free(session->profile);
	process_table_free(session->processes);
	runtime_table_free(session->runtimes);
	file_table_free(session->files);
	absence_clear(&session->absence);
	if (session->raw_fd >= 0)
		(void)close(session->raw_fd);
	if (session->cgroup_root_fd >= 0)
		(void)close(session->cgroup_root_fd);
	if (session->statistics_fd >= 0)
		(void)close(session->statistics_fd);
	free(session->probes);
	free(session->given);
	free(session->pollfds);
	free(session);
}

/* --- reading ------------------------------------------------------------------------------------ */

static int take_event(void *context, struct sideband_event *event)
{
	struct session *session = context;

	switch (event->kind) {
	case SIDEBAND_PROCESS:
		return drain_add_event(session->drain, &event->process, event->path);
	case SIDEBAND_LOST:
		session->nr_lost_events += event->nr_lost;
		process_table_distrust(session->processes);
		if (session->unwinder)
			unwinder_forget_all(session->unwinder);
		return 0;
	case SIDEBAND_THROTTLE:
		return absence_throttle(&session->absence, event->id, event->time_ns);
	case SIDEBAND_UNTHROTTLE:
		absence_unthrottle(&session->absence, event->id, event->time_ns);
		return 0;
	default:
		return 0;
	}
}

/* Reads all records up to a ring position. */
static int read_ring(struct session *session, uint64_t end)
{
	const struct wire_record *record;
	uint32_t epoch = epochs_number(session->epochs);
	size_t bytes, read = 0;
	int err = 0;

	session->has_raw = false;
	while (!err && (record = ring_next(&session->ring, end, &bytes))) {
		err = drain_add_record(session->drain, record, bytes);
		session->epoch_records += record->epoch == epoch;
		session->has_raw |= record->user_end == WALK_RAW;
		read += bytes;
	}
	session->ring_is_busy = read > session->options.ring_bytes / 8;
	return err;
}

/*
 * Reads the ring, then the sideband with the events of the records' processes; has the mappings of
 * processes read that are still unknown, and new files looked at. look_ns: the longest wait for that.
 */
static int read_all(struct session *session, uint64_t look_ns)
{
	int err = read_ring(session, ring_producer_position(&session->ring));

	if (!err)
		err = sideband_read(session->sideband, take_event, session);
	if (!err)
		err = drain_ensure_processes(session->drain);
	(void)worker_wait_for_looks(session->worker, clock_now_ns() + look_ns, -1);
	if (!err) /* an exec before the answers: maps may be the wrong program's */
		err = sideband_read(session->sideband, take_event, session);
	return err;
}

/* Decides after a poll whether to continue polling without wake-ups. */
static void choose_naps(struct session *session, bool has_news)
{
	if (has_news)
		session->nr_naps = QUIET_NAPS;
	else if (session->nr_naps)
		session->nr_naps--;
	sampler_expect_raw(session->sampler, session->nr_naps > 1);
	if (session->nr_naps == 1)
		sideband_resume_alarms(session->sideband);
}

static int poll_once(struct session *session)
{
	uint64_t until_ns = session->polled_ns;
	bool has_events = sideband_pause_alarms(session->sideband), has_tables;
	int err;

	session->polled_ns = clock_now_ns();
	err = read_all(session, 0);
	choose_naps(session, has_events || session->has_raw);
	if (!err)
		err = drain_replay(session->drain, until_ns);
	has_tables = session->unwinder && unwinder_poll(session->unwinder);
	if (!err && (worker_has_looked(session->worker) || has_tables))
		err = drain_retry(session->drain, false);
	return err;
}

static int take_count(void *context, const void *key, const void *value)
{
	struct session *session = context;
	struct wire_count count = {0};

	memcpy(&count, value, session->epochs->options.value_bytes);
	return drain_add_count(session->drain, epochs_number(session->epochs) - 1,
			       *(const uint64_t *)key, &count);
}

/* Ends the epoch and adds all of its samples to the profile. look_ns: the longest wait for looks. */
static int end_epoch(struct session *session, uint64_t look_ns, struct error *error)
{
	struct wire_counters counters;
	uint64_t ended_ns;
	int err = epochs_turn(session->epochs, &ended_ns, error);

	if (err)
		return err;
	if (session->unwinder)
		unwinder_epoch_ended(session->unwinder, epochs_number(session->epochs) - 1);
	session->epoch_began_ns = ended_ns;
	slicing_begin_epoch(&session->slicing, epochs_number(session->epochs), ended_ns);
	session->epoch_records = 0;
	err = epochs_read_counters(session->epochs, &counters);
	if (!err)
		err = read_all(session, look_ns);
	if (!err)
		err = epochs_read_map(session->epochs, take_count, session);
	if (!err)
		err = drain_close_epoch(session->drain, epochs_number(session->epochs) - 1,
					ended_ns);
	if (err)
		return error_set(error, err, "cannot drain the samples: %s", strerror(-err));
	accounting_close_epoch(&session->accounting, &counters);
	process_table_purge(session->processes, ended_ns);
	return 0;
}

static uint64_t slice_end_ns(const struct session *session)
{
	return slicing_end_ns(&session->slicing, epochs_number(session->epochs));
}

static bool epoch_is_full(const struct session *session, uint64_t now_ns)
{
	return session->epoch_records > session->options.max_counts / 4 * 3 ||
	       now_ns - session->epoch_began_ns > EPOCH_NS || now_ns >= slice_end_ns(session);
}

/* --- waiting --------------------------------------------------------------------------------- */

static uint64_t next_wakeup(const struct session *session, uint64_t deadline_ns)
{
	uint64_t poll_ns = session->polled_ns + (session->ring_is_busy ? BUSY_POLL_NS : POLL_NS);

	/* A raw record is replayed by the poll after the one that read it. */
	if (session->nr_naps)
		poll_ns = session->polled_ns + (session->has_raw ? RAW_NAP_NS : SIDEBAND_NAP_NS);
	if (session->probing && session->probing_next_ns < poll_ns)
		poll_ns = session->probing_next_ns;
	if (slice_end_ns(session) < poll_ns)
		poll_ns = slice_end_ns(session);
	return poll_ns < deadline_ns ? poll_ns : deadline_ns;
}

/* Lists the descriptors that wake us: process events, replies of helper processes, and raw records. */
static size_t list_own_fds(struct session *session)
{
	size_t nr = sideband_nr(session->sideband), i;

	for (i = 0; i < nr; i++)
		session->pollfds[i] = (struct pollfd){.fd = sideband_alarm_fd(session->sideband, i),
						      .events = POLLIN};
	session->pollfds[nr++] =
		(struct pollfd){.fd = worker_fd(session->worker), .events = POLLIN};
	if (session->unwinder)
		session->pollfds[nr++] = (struct pollfd){.fd = session->raw_fd, .events = POLLIN};
	return nr;
}

/*
 * After a wake-up: more events mostly follow, so disables wake-ups and lets events gather for a
 * moment.
 */
static void nap(struct session *session)
{
	struct timespec time = {.tv_nsec = session->has_raw ? RAW_NAP_NS : SIDEBAND_NAP_NS};
	struct epoll_event woken;

	if (session->raw_fd >= 0) /* clears readiness until the next wake-up */
		(void)epoll_wait(session->raw_fd, &woken, 1, 0);
	sampler_expect_raw(session->sampler, true);
	(void)sideband_pause_alarms(session->sideband);
	session->nr_naps = QUIET_NAPS;
	(void)nanosleep(&time, NULL);
}

/*
 * Waits for the caller's descriptors, our own, or the time. Returns false if one of the caller's is
 * ready.
 */
static bool wait_once(struct session *session, uint64_t until_ns, struct pollfd *fds, size_t nr_fds)
{
	size_t nr_own = session->nr_naps ? 0 : list_own_fds(session), i;
	uint64_t now_ns = clock_now_ns();
	uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct timespec left = {(time_t)(left_ns / NS_PER_SEC), (long)(left_ns % NS_PER_SEC)};
	bool caller_ready = false;
	int nr_ready;

	memcpy(&session->pollfds[nr_own], fds, nr_fds * sizeof(*fds));
	nr_ready = ppoll(session->pollfds, nr_own + nr_fds, &left, NULL);
	for (i = 0; i < nr_fds; i++) {
		fds[i].revents = nr_ready > 0 ? session->pollfds[nr_own + i].revents : 0;
		caller_ready |= fds[i].revents != 0;
	}
	if (nr_ready > 0 && !caller_ready)
		nap(session);
	return !caller_ready;
}

int session_wait(struct session *session, uint64_t deadline_ns, struct pollfd *fds, size_t nr_fds,
		 struct error *error)
{
	bool go_on = true;

	if (nr_fds > SESSION_MAX_CALLER_FDS)
		return error_set(error, -E2BIG, "too many descriptors to wait for: %zu", nr_fds);
	while (go_on && clock_now_ns() < deadline_ns) {
		int err;

		go_on = wait_once(session, next_wakeup(session, deadline_ns), fds, nr_fds);
		err = poll_once(session);
		if (err)
			return error_set(error, err, "cannot read the samples: %s", strerror(-err));
		if (epoch_is_full(session, session->polled_ns))
			err = end_epoch(session, EPOCH_LOOK_NS, error);
		/* Attach and watch probes step by step. */
		if (!err && session->probing && clock_now_ns() >= session->probing_next_ns)
			err = probing_step(session->probing, &session->probing_next_ns, error);
		if (err)
			return err;
	}
	return 0;
}

/* --- start, flush, stop ------------------------------------------------------------------------- */

int session_start(struct session *session, struct error *error)
{
	absence_begin(&session->absence, session->options.cpus, session->options.nr_cpus);
	session->sampling_cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
	session->started_ns = clock_now_ns();
	session->polled_ns = session->epoch_began_ns = session->started_ns;
	slicing_start(&session->slicing, session->options.slice_ns, session->started_ns,
		      clock_read_ns(CLOCK_REALTIME));
	/*
	 * While sampling, user space needs little CPU time but needs it promptly: on an overloaded
	 * host the ring would overflow before a process of normal priority runs. Without permission
	 * the priority stays unchanged.
	 */
	session->nice = getpriority(PRIO_PROCESS, 0);
	(void)setpriority(PRIO_PROCESS, 0, SAMPLING_NICE);
	worker_set_opener_niceness(session->worker, getpriority(PRIO_PROCESS, 0));
	if (session->sampling)
		return sampling_start(session->sampling, error);
	session->probing_next_ns = 0;
	return probing_start(session->probing, error);
}

/*
 * Waits until until_ns for unwind tables of deferred records and walks these; last: walks the
 * remaining records as far as possible.
 */
static int settle(struct session *session, uint64_t until_ns, bool last, struct error *error)
{
	int err = 0;

	while (!err && drain_nr_deferred(session->drain) && clock_now_ns() < until_ns &&
	       (unwinder_nr_waiting(session->unwinder) || worker_is_looking(session->worker))) {
		(void)worker_wait_for_looks(session->worker, until_ns, -1);
		unwinder_wait(session->unwinder, until_ns);
		err = drain_retry(session->drain, false);
	}
	if (!err)
		err = drain_retry(session->drain, last);
	return err ? error_set(error, err, "cannot walk the samples: %s", strerror(-err)) : 0;
}

int session_flush(struct session *session, struct error *error)
{
	int err = end_epoch(session, EPOCH_LOOK_NS, error);

	if (!err)
		err = settle(session, clock_now_ns() + SETTLE_NS, false, error);
	(void)worker_wait_for_looks(session->worker, clock_now_ns() + EPOCH_LOOK_NS, -1);
	return err;
}

int session_stop(struct session *session, struct error *error)
{
	int err;

	if (session->sampling)
		sampling_stop(session->sampling);
	else
		probing_stop(session->probing);
	session->stopped_ns = clock_now_ns();
	session->sampling_cpu_ns =
		clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - session->sampling_cpu_ns;
	if (session->sampling)
		sampling_read(session->sampling, &session->reading);
	absence_end(&session->absence, session->stopped_ns);
	err = end_epoch(session, LAST_LOOK_NS, error);
	if (!err)
		err = settle(session, clock_now_ns() + LAST_SETTLE_NS, true, error);
	/* The replay may have met further processes. */
	(void)worker_wait_for_looks(session->worker, clock_now_ns() + LAST_LOOK_NS, -1);
	profile_end_slices(session->profile,
			   slicing_day_ns(&session->slicing, session->stopped_ns));
	session->complete = !err;
	(void)setpriority(PRIO_PROCESS, 0, session->nice);
	worker_set_opener_niceness(session->worker, session->nice);
	return err;
}

/* --- summary ------------------------------------------------------------------------- */

struct profile *session_profile(struct session *session)
{
	return session->profile;
}

/* --- parts --------------------------------------------------------------------------- */

/* Copies how the samples are taken. */
static int copy_origin(struct profile *to, const struct profile *from)
{
	const struct value_type main_type = profile_value_type(from, 0);
	struct profile_origin origin = *profile_origin(from);
	int64_t event = profile_add_string(to, profile_string(from, origin.event));
	int64_t unit = profile_add_string(to, profile_string(from, origin.unit));
	int64_t type = profile_add_string(to, profile_string(from, main_type.type));
	int64_t its_unit = profile_add_string(to, profile_string(from, main_type.unit));

	if (event < 0 || unit < 0 || type < 0 || its_unit < 0)
		return -ENOMEM;
	origin.event = origin.event ? (uint32_t)event : 0;
	origin.unit = origin.unit ? (uint32_t)unit : 0;
	profile_set_origin(to, &origin);
	profile_set_main_type(to, (struct value_type){main_type.type ? (uint32_t)type : 0,
						      main_type.unit ? (uint32_t)its_unit : 0});
	return 0;
}

/* Copies a file, unless it was copied before and has not changed. */
static int copy_file(struct session *session, struct file_table *to, uint32_t number)
{
	const uint8_t state = (uint8_t)(file_table_get(session->files, number)->state + 1);

	if (ARRAY_RESERVE(session->given, session->cap_given, (size_t)number + 1) < 0)
		return -ENOMEM;
	while (session->nr_given <= number)
		session->given[session->nr_given++] = 0;
	if (session->given[number] == state)
		return 0;
	session->given[number] = state;
	return file_table_copy(to, session->files, number);
}

static int copy_process(struct session *session, const struct session_part *part, uint32_t number)
{
	const struct runtime_process *process = runtime_table_get(session->runtimes, number);
	int err = runtime_table_copy(part->runtimes, session->runtimes, number);

	return err < 0 || process->jitdump < 0
		       ? err
		       : copy_file(session, part->files, (uint32_t)process->jitdump);
}

/* Copies the files and processes that the modules of a profile are of. */
static int copy_modules(struct session *session, const struct session_part *part,
			const struct profile *profile)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < profile_nr_modules(profile) && err == 0; i++) {
		const struct module *module = profile_module(profile, i);

		if (module->kind == MODULE_FILE)
			err = copy_file(session, part->files, module->file);
		if (module->kind == MODULE_RUN_TIME && module->file)
			err = copy_process(session, part, module->file - 1);
	}
	return err;
}

int session_take_part(struct session *session, struct session_part *ret, struct error *error)
{
	struct session_part part = {
		.profile = make_profile(session), /* for now the next one */
		.files = file_table_new(MAX_OPEN_FILES),
		.runtimes = runtime_table_new(),
		.ended_ns = clock_read_ns(CLOCK_REALTIME),
	};
	struct profile *taken = session->profile;

	if (!part.profile || !part.files || !part.runtimes ||
	    copy_origin(part.profile, taken) < 0 || copy_modules(session, &part, taken) < 0 ||
	    (session->options.probes && make_probes(session, part.profile) < 0) ||
	    drain_change_profile(session->drain, part.profile) < 0) {
		session_part_clear(&part);
		return error_no_memory(error, "");
	}
	session->profile = part.profile;
	part.profile = taken;
	*ret = part;
	return 0;
}

void session_part_clear(struct session_part *part)
{
	profile_free(part->profile);
	file_table_free(part->files);
	runtime_table_free(part->runtimes);
	*part = (struct session_part){0};
}

struct file_table *session_files(struct session *session)
{
	return session->files;
}

struct runtime_table *session_runtimes(struct session *session)
{
	return session->runtimes;
}

const struct error *session_table_cache_error(const struct session *session)
{
	return session->unwinder ? unwinder_cache_error(session->unwinder) : NULL;
}

uint64_t session_progress(const struct session *session)
{
	const struct wire_counters *sum = &session->accounting.sum;
	uint64_t drained = sum->recorded + sum->counted + sum->thinned;
	struct wire_counters now;

	if (epochs_read_progress(session->epochs, &now) < 0)
		return drained;
	return drained + now.recorded + now.counted + now.thinned;
}

const struct probing *session_probing(const struct session *session)
{
	return session->probing;
}

/*
 * Returns the events that were counted while CPUs were busy. A clock also runs on idle CPUs and
 * during steal time; both are subtracted.
 */
static uint64_t busy_events(const struct session *session)
{
	uint64_t events = session->reading.events;
	uint64_t absent_ns = session->absence.stolen_ns;

	if (!event_is_clock(&session->event))
		return events;
	if (!session->options.include_idle)
		absent_ns += session->absence.idle_ns;
	return events > absent_ns ? events - absent_ns : 0;
}

static void earlier(uint64_t *first_ns, uint64_t time_ns)
{
	if (!*first_ns || time_ns < *first_ns)
		*first_ns = time_ns;
}

static struct budget_result summarize_budget(const struct session *session)
{
	struct budget_result result = {0};
	size_t i;

	if (!session->options.probes || !(session->options.probes->budget_share > 0))
		return result;
	result.share = session->options.probes->budget_share;
	for (i = 0; i < session->options.probes->list->nr_probes; i++) {
		const struct probe_status *status = probing_status(session->probing, (uint32_t)i);
		uint32_t one_of = thinned_to(&session->options, status->most_bits);

		if (status->state == PROBE_CUT) {
			result.nr_cut++;
			earlier(&result.cut_ns, status->cut_ns - session->started_ns);
		}
		if (!status->most_bits)
			continue;
		result.nr_thinned++;
		earlier(&result.thinned_ns, status->thinned_ns - session->started_ns);
		if (one_of > result.one_of)
			result.one_of = one_of;
	}
	return result;
}

struct worker *session_worker(const struct session *session)
{
	return session->worker;
}

void session_end_reading(struct session *session)
{
	worker_end(session->worker);
}

void session_summarize(const struct session *session, struct session_summary *ret)
{
	const struct drain_totals *totals = drain_totals(session->drain);
	const struct wire_counters *sum = &session->accounting.sum;
	size_t i;

	*ret = (struct session_summary){
		.accounting = session->accounting,
		.complete = session->complete,
		.shown = totals->records + totals->counted - totals->hidden,
		.hidden = totals->hidden,
		.unseen = accounting_unseen(&session->accounting, busy_events(session)),
		.unseen_error = event_is_clock(&session->event)
					? accounting_samples_of(&session->accounting,
								absence_error_ns(&session->absence))
					: 0,
		.sampling_cpu_ns = session->sampling_cpu_ns,
		.sampled_ns = session->stopped_ns - session->started_ns,
		.first_sample_ns = totals->first_ns,
		.throttled_ns = session->absence.throttled_ns,
		.stolen_ns = session->absence.stolen_ns,
		.running_share = session->reading.enabled_ns
					 ? (double)session->reading.running_ns /
						   (double)session->reading.enabled_ns
					 : 1,
		.nr_process_events = totals->events,
		.nr_lost_events = session->nr_lost_events,
		.nr_forgotten = process_table_nr_forgotten(session->processes),
		.nr_mismatches =
			(sum->recorded > totals->records ? sum->recorded - totals->records
							 : totals->records - sum->recorded) +
			(sum->counted > totals->counted ? sum->counted - totals->counted
							: totals->counted - sum->counted),
		.budget = summarize_budget(session),
		.ring_bytes = session->options.ring_bytes,
		.nr_files = file_table_nr(session->files),
		.nr_paths_cut = file_table_nr_cut(session->files),
		.nr_processes = process_table_nr(session->processes),
		.nr_processes_refused = process_table_nr_refused(session->processes),
		.nr_processes_silent = process_table_nr_silent(session->processes),
		.profile_bytes = profile_bytes(session->profile),
	};
	for (i = 0; i < ret->nr_files; i++) {
		const struct file *file = file_table_get(session->files, (uint32_t)i);

		ret->nr_files_gone += file->sampled && file->state == FILE_GONE;
		ret->nr_files_refused += file->sampled && file->state == FILE_REFUSED;
		ret->nr_files_left_out += file->sampled && file->state == FILE_NOT_OPENED;
		ret->nr_files_silent +=
			file->sampled && (file->state == FILE_SILENT || file->state == FILE_ASKED);
	}
	sampler_read_cost(session->sampler, &ret->cost);
	if (session->unwinder)
		unwinder_read_cost(session->unwinder, &ret->unwinding);
	worker_troubles_add(session->worker, &ret->reading);
}
