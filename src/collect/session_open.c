/*
 * Making a session: tables, BPF side, events, targets, in the order in which one needs the other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "base/fd_io.h"
#include "collect/session_state.h"
#include "collect/sizes.h"
#include "proc/cgroup.h"
#include "proc/process_info.h"

#define PRELOAD_NS (50 * NS_PER_MS)

#define OTHER_DESCRIPTORS 40 /* maps, programs, outputs; two a CPU come on top */
#define MAX_OPEN_FILES	  8192

/* Of a hit: a stack that is walked by tables takes 3 to 5 µs. */
#define STACK_NS 4000

/* bpf_get_stack() gives no more than kernel.perf_event_max_stack, whatever it is asked for. */
static uint32_t clip_frames(uint32_t wanted)
{
	uint64_t most = process_sysctl("kernel/perf_event_max_stack", 127);

	return wanted < most ? wanted : (uint32_t)most;
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
	};

	session->sampler = sampler_load(&config, error);
	return session->sampler ? 0 : error->code;
}

static int no_memory(struct error *error)
{
	return error_set(error, -ENOMEM, "out of memory");
}

/*
 * Files stay open until their symbols are read: takes as many descriptors as we may have, and
 * leaves half of them for everything else.
 */
static size_t max_open_files(size_t nr_cpus)
{
	uint64_t others = 2 * nr_cpus + OTHER_DESCRIPTORS;
	uint64_t allowed = fd_allow_all();
	uint64_t most = allowed > others ? (allowed - others) / 2 : 0;

	return most < MAX_OPEN_FILES ? most : MAX_OPEN_FILES;
}

static int make_tables(struct session *session, struct error *error)
{
	const struct session_options *options = &session->options;

	session->files = file_table_new(max_open_files(options->nr_online_cpus));
	session->profile = profile_new();
	session->runtimes = runtime_table_new();
	if (!session->files || !session->runtimes || !session->profile)
		return no_memory(error);
	profile_set_limit(session->profile, options->max_profile_bytes);
	session->processes = process_table_new(session->files);
	if (options->labels & LABEL_CGROUP) {
		session->cgroup_root_fd = cgroup_open_root(error);
		if (session->cgroup_root_fd < 0)
			return session->cgroup_root_fd;
	}
	session->pollfds =
		calloc(options->nr_online_cpus + SESSION_OWN_FDS + SESSION_MAX_CALLER_FDS,
		       sizeof(*session->pollfds));
	return session->processes && session->pollfds ? 0 : no_memory(error);
}

static int make_unwinder(struct session *session, struct error *error)
{
	struct unwind_pool_fds fds;
	struct unwinder_options options = {
		.fds = &fds,
		.files = session->files,
		.max_bytes = session->options.max_table_bytes,
		.cache_folder = session->options.table_folder,
		.max_frames = session->options.max_user_frames,
	};

	if (!session->options.by_tables || !options.max_frames)
		return 0;
	sampler_pool_fds(session->sampler, &fds);
	session->unwinder = unwinder_new(&options, error);
	return session->unwinder ? 0 : error->code;
}

/*
 * The ring itself is readable whenever anything is in it, which is nearly always: only being woken
 * counts, and the kernel side wakes for raw records.
 */
static int watch_raw(struct session *session, struct error *error)
{
	struct epoll_event woken = {.events = EPOLLIN | EPOLLET};

	if (!session->unwinder)
		return 0;
	session->raw_fd = epoll_create1(EPOLL_CLOEXEC);
	if (session->raw_fd < 0 || epoll_ctl(session->raw_fd, EPOLL_CTL_ADD,
					     sampler_ring_fd(session->sampler), &woken) < 0)
		return error_set_errno(error, "cannot wait for the ring buffer");
	return 0;
}

static int make_drain(struct session *session, struct error *error)
{
	struct drain_options options = {
		.labels = session->options.labels,
		.comm = session->options.comm,
		.cgroup_root_fd = session->cgroup_root_fd,
		.by_weight = session->options.probes && session->options.probes->weights,
		.files = session->files,
		.runtimes = session->runtimes,
		.processes = session->processes,
		.profile = session->profile,
		.unwinder = session->unwinder,
		.slicing = &session->slicing,
	};

	session->drain = drain_new(&options);
	return session->drain ? 0 : no_memory(error);
}

/*
 * Looks at a process before its first sample, and asks for its tables. The kernel learns of its
 * mappings with its first sample, which says what program it then is.
 */
static int meet_target(struct session *session, int32_t pid)
{
	int err = process_table_meet(session->processes, pid);

	if (!err && session->unwinder)
		unwinder_preload(session->unwinder,
				 process_table_mappings(session->processes, pid, clock_now_ns()));
	return err;
}

/* The processes that were asked for are known before their first sample. */
static int want_targets(struct session *session, struct error *error)
{
	const struct wanted_tasks *tasks = &session->options.tasks;
	int err = sampler_want(session->sampler, tasks);
	size_t i;

	for (i = 0; i < tasks->nr_pids && !err; i++)
		err = meet_target(session, (int32_t)tasks->pids[i]);
	for (i = 0; i < tasks->nr_tids && !err; i++) {
		int64_t pid = process_of_thread((int32_t)tasks->tids[i]);

		if (pid < 0)
			return error_set(error, -ESRCH, "no such thread: %u", tasks->tids[i]);
		err = meet_target(session, (int32_t)pid);
	}
	/*
	 * Their tables, mostly out of the cache, are worth a moment; samples that come before the
	 * rest of them are walked later.
	 */
	if (session->unwinder)
		unwinder_wait(session->unwinder, clock_now_ns() + PRELOAD_NS);
	return err ? error_set(error, err, "cannot add the targets: %s", strerror(-err)) : 0;
}

static int open_sampling(struct session *session, struct error *error)
{
	const struct session_options *options = &session->options;

	session->sampling =
		sampling_open(&session->event, &options->rate, options->cpus, options->nr_cpus,
			      session->sideband, sampler_program_fd(session->sampler), error);
	return session->sampling ? 0 : error->code;
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
		.work_ns = STACK_NS,
	};

	session->probing = probing_new(&options, error);
	return session->probing ? 0 : error->code;
}

static int set_up(struct session *session, struct error *error)
{
	const struct session_options *options = &session->options;
	int err;

	sizes_choose(options->event, &options->rate, options->nr_cpus, options->by_tables,
		     &session->options.ring_bytes, &session->options.max_counts);
	err = make_tables(session, error);
	if (!err)
		err = load_sampler(session, error);
	if (!err)
		err = make_unwinder(session, error);
	if (!err)
		err = watch_raw(session, error);
	if (!err)
		err = make_drain(session, error);
	if (!err)
		err = ring_open(&session->ring, sampler_ring_fd(session->sampler),
				options->ring_bytes, error);
	if (err)
		return err;
	/* Events first, then maps: what happens between is told twice, not missed. */
	session->sideband = sideband_open(options->online_cpus, options->nr_online_cpus, error);
	if (!session->sideband)
		return error->code;
	err = want_targets(session, error);
	if (err)
		return err;
	err = options->probes ? open_probing(session, error) : open_sampling(session, error);
	if (err)
		return err;
	if (options->bpf_statistics)
		session->statistics_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	return 0;
}

struct session *session_new(const struct session_options *options, struct error *error)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session) {
		(void)no_memory(error);
		return NULL;
	}
	session->options = *options;
	/*
	 * Ticks on idle CPUs are dropped by the kernel itself: there is no scheduler tick there
	 * that would reset its throttling, and a CPU throttled in its sleep goes unsampled for a
	 * while after.
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
	free(session->pollfds);
	free(session);
}
