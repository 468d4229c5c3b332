/*
 * The life of a session; see session.h.
 *
 * A poll reads what lies in the rings: memory only, no system call that would keep the kernel from
 * sampling this CPU, ten times a second. New files and processes are looked at there, at once. An
 * epoch ends when its count map fills up, when something wants the profile whole, or after five
 * seconds: only then maps are exchanged and read.
 */
#include "session/session.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "proc/cgroup.h"
#include "proc/file_table.h"
#include "proc/process_info.h"
#include "proc/process_table.h"
#include "session/absence.h"
#include "session/drain.h"
#include "session/ring.h"
#include "session/sideband.h"
#include "session/sizes.h"

#define POLL_NS		(100 * NS_PER_MS)
#define BUSY_POLL_NS	(10 * NS_PER_MS) /* while the ring fills quickly */
#define EPOCH_NS	(5 * NS_PER_SEC)
#define SIDEBAND_NAP_NS (2 * NS_PER_MS) /* at most so often is the sideband worth waking up for */

#define PRELOAD_NS     (50 * NS_PER_MS)
#define SETTLE_NS      (200 * NS_PER_MS) /* at the end of an interval … */
#define LAST_SETTLE_NS (3 * NS_PER_SEC)	 /* … and of the run, for tables that are being made */

#define NR_OWN_FDS 2 /* to wait for, besides the sideband's */

#define SAMPLING_NICE (-20)

#define OTHER_DESCRIPTORS 40 /* maps, programs, outputs; two a CPU come on top */
#define MAX_OPEN_FILES	  8192
#define MAX_FOLLOWED	  65536

struct session {
	struct session_options options;
	struct event event;
	struct file_table *files;
	struct process_table *processes;
	struct profile *profile;
	struct drain *drain;
	struct sampler *sampler;
	struct unwinder *unwinder; /* NULL: frame pointers */
	struct sideband *sideband;
	struct sampling *sampling;
	struct ring ring;
	int cgroup_root_fd;
	int statistics_fd;
	struct pollfd *pollfds;

	uint64_t polled_ns; /* when the last poll began */
	uint64_t epoch_began_ns;
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

/* --- beginning and end ----------------------------------------------------------------------- */

/* bpf_get_stack() gives no more than kernel.perf_event_max_stack, whatever it is asked for. */
static uint32_t clip_frames(uint32_t wanted)
{
	uint64_t most = process_sysctl("kernel/perf_event_max_stack", 127);

	return wanted < most ? wanted : (uint32_t)most;
}

static int load_sampler(struct session *session, struct error *error)
{
	const struct session_options *options = &session->options;
	bool follows = options->nr_pids > 0 && options->follow;
	struct sampler_config config = {
		.include_idle = options->include_idle,
		.by_tid = options->labels & LABEL_TID,
		.by_cpu = options->labels & LABEL_CPU,
		.by_cgroup = options->labels & LABEL_CGROUP,
		.max_user_frames = clip_frames(options->max_user_frames),
		.max_kernel_frames = clip_frames(options->max_kernel_frames),
		.max_walk_frames = options->by_tables ? options->max_user_frames : 0,
		.pidns_inum = process_own_pidns(),
		.filter_pids = options->nr_pids > 0,
		.filter_tids = options->nr_tids > 0,
		.follow = follows,
		.max_pids = options->nr_pids + (follows ? MAX_FOLLOWED : 0),
		.max_tids = options->nr_tids,
		.cgroup_fd = options->cgroup_fd,
		.ring_bytes = options->ring_bytes,
		.max_counts = options->max_counts,
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
	size_t others = 2 * nr_cpus + OTHER_DESCRIPTORS;
	size_t most;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return MAX_OPEN_FILES;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	most = limit.rlim_cur > others ? (limit.rlim_cur - others) / 2 : 0;
	return most < MAX_OPEN_FILES ? most : MAX_OPEN_FILES;
}

static int make_tables(struct session *session, struct error *error)
{
	const struct session_options *options = &session->options;

	session->files = file_table_new(max_open_files(options->nr_online_cpus));
	session->profile = profile_new();
	if (!session->files || !session->profile)
		return no_memory(error);
	profile_set_limit(session->profile, options->max_profile_bytes);
	session->processes = process_table_new(session->files);
	if (options->labels & LABEL_CGROUP) {
		session->cgroup_root_fd = cgroup_open_root(error);
		if (session->cgroup_root_fd < 0)
			return session->cgroup_root_fd;
	}
	session->pollfds = calloc(options->nr_online_cpus + NR_OWN_FDS + SESSION_MAX_CALLER_FDS,
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

static int make_drain(struct session *session, struct error *error)
{
	struct drain_options options = {
		.labels = session->options.labels,
		.comm = session->options.comm,
		.cgroup_root_fd = session->cgroup_root_fd,
		.files = session->files,
		.processes = session->processes,
		.profile = session->profile,
		.unwinder = session->unwinder,
	};

	session->drain = drain_new(&options);
	return session->drain ? 0 : no_memory(error);
}

/* Looks at a process before its first sample, and makes the kernel ready to walk it. */
static int meet_target(struct session *session, int32_t pid)
{
	const struct mappings *mappings;
	int err = process_table_meet(session->processes, pid);

	if (err || !session->unwinder)
		return err;
	mappings = process_table_mappings(session->processes, pid, clock_now_ns());
	unwinder_preload(session->unwinder, mappings);
	return unwinder_publish(session->unwinder, (uint32_t)pid, 0, 0, mappings);
}

/*
 * Tables of the targets, mostly out of the cache, are worth a moment; samples that come before the
 * rest of them are walked later.
 */
static void wait_for_tables(struct session *session, uint64_t until_ns)
{
	struct pollfd made = {.events = POLLIN};
	uint64_t now_ns;

	if (!session->unwinder)
		return;
	made.fd = unwinder_fd(session->unwinder);
	while (unwinder_nr_waiting(session->unwinder) && (now_ns = clock_now_ns()) < until_ns) {
		(void)poll(&made, 1, (int)((until_ns - now_ns) / NS_PER_MS) + 1);
		(void)unwinder_poll(session->unwinder);
	}
}

/* The processes that were asked for are known before their first sample. */
static int want_targets(struct session *session, struct error *error)
{
	const struct session_options *options = &session->options;
	int err = 0;
	size_t i;

	for (i = 0; i < options->nr_pids && !err; i++) {
		err = sampler_want_pid(session->sampler, (int32_t)options->pids[i]);
		if (!err)
			err = meet_target(session, (int32_t)options->pids[i]);
	}
	for (i = 0; i < options->nr_tids && !err; i++) {
		int64_t pid = process_of_thread((int32_t)options->tids[i]);

		if (pid < 0)
			return error_set(error, -ESRCH, "no such thread: %u", options->tids[i]);
		err = sampler_want_tid(session->sampler, (int32_t)options->tids[i]);
		if (!err)
			err = meet_target(session, (int32_t)pid);
	}
	wait_for_tables(session, clock_now_ns() + PRELOAD_NS);
	return err ? error_set(error, err, "cannot add the targets: %s", strerror(-err)) : 0;
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
	session->sampling =
		sampling_open(&session->event, &options->rate, options->cpus, options->nr_cpus,
			      session->sideband, sampler_program_fd(session->sampler), error);
	if (!session->sampling)
		return error->code;
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
	session->event = *options->event;
	session->event.exclude_idle = event_is_clock(options->event) && !options->include_idle;
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
	sampling_close(session->sampling);
	sideband_close(session->sideband);
	ring_close(&session->ring);
	sampler_free(session->sampler);
	drain_free(session->drain);
	unwinder_free(session->unwinder);
	profile_free(session->profile);
	process_table_free(session->processes);
	file_table_free(session->files);
	absence_clear(&session->absence);
	if (session->cgroup_root_fd >= 0)
		(void)close(session->cgroup_root_fd);
	if (session->statistics_fd >= 0)
		(void)close(session->statistics_fd);
	free(session->pollfds);
	free(session);
}

static uint64_t own_cpu_ns(void)
{
	struct timespec used;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * NS_PER_SEC + (uint64_t)used.tv_nsec;
}

/*
 * While it samples, user space needs little, but soon: on an overloaded host the ring would fill up
 * before an ordinary process gets its turn. Without the right to it, things stay as they are.
 */
static void hurry(struct session *session)
{
	session->nice = getpriority(PRIO_PROCESS, 0);
	(void)setpriority(PRIO_PROCESS, 0, SAMPLING_NICE);
}

static void hurry_no_more(const struct session *session)
{
	(void)setpriority(PRIO_PROCESS, 0, session->nice);
}

int session_start(struct session *session, struct error *error)
{
	absence_begin(&session->absence, session->options.cpus, session->options.nr_cpus);
	session->sampling_cpu_ns = own_cpu_ns();
	session->started_ns = clock_now_ns();
	session->polled_ns = session->epoch_began_ns = session->started_ns;
	hurry(session);
	return sampling_start(session->sampling, error);
}

/* --- reading --------------------------------------------------------------------------------- */

static int take_event(void *context, struct sideband_event *event)
{
	struct session *session = context;

	switch (event->kind) {
	case SIDEBAND_PROCESS:
		return drain_add_event(session->drain, &event->process, event->path);
	case SIDEBAND_LOST:
		session->nr_lost_events += event->nr_lost;
		process_table_distrust(session->processes);
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

/* Everything in the ring up to a position. */
static int read_ring(struct session *session, uint64_t end)
{
	const struct wire_record *record;
	uint32_t epoch = sampler_epoch(session->sampler);
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

/* The ring, then the sideband that tells of its records' processes, then what is still unknown. */
static int read_all(struct session *session)
{
	int err = read_ring(session, ring_producer_position(&session->ring));

	if (!err)
		err = sideband_read(session->sideband, take_event, session);
	if (!err)
		err = drain_meet(session->drain);
	if (!err) /* an exec while maps were read makes them another program's */
		err = sideband_read(session->sideband, take_event, session);
	return err;
}

static int poll_once(struct session *session)
{
	uint64_t until_ns = session->polled_ns;
	int err;

	session->polled_ns = clock_now_ns();
	err = read_all(session);
	if (!err)
		err = drain_replay(session->drain, until_ns);
	if (!err && session->unwinder && unwinder_poll(session->unwinder))
		err = drain_retry(session->drain, false);
	return err;
}

static int take_count(void *context, uint64_t id, uint64_t count)
{
	struct session *session = context;

	return drain_add_count(session->drain, sampler_epoch(session->sampler) - 1, id, count);
}

/* Ends the epoch and brings all of it into the profile. */
static int end_epoch(struct session *session, struct error *error)
{
	struct wire_counters counters;
	uint64_t ended_ns;
	int err = sampler_end_epoch(session->sampler, &ended_ns, error);

	if (err)
		return err;
	if (session->unwinder)
		unwinder_epoch_ended(session->unwinder, sampler_epoch(session->sampler) - 1);
	session->epoch_began_ns = ended_ns;
	session->epoch_records = 0;
	err = sampler_read_counters(session->sampler, &counters);
	if (!err)
		err = read_all(session);
	if (!err)
		err = sampler_read_counts(session->sampler, take_count, session);
	if (!err)
		err = drain_close_epoch(session->drain, sampler_epoch(session->sampler) - 1,
					ended_ns);
	if (err)
		return error_set(error, err, "cannot drain the samples: %s", strerror(-err));
	accounting_close_epoch(&session->accounting, &counters);
	process_table_purge(session->processes, ended_ns);
	return 0;
}

static bool epoch_is_full(const struct session *session, uint64_t now_ns)
{
	return session->epoch_records > session->options.max_counts / 4 * 3 ||
	       now_ns - session->epoch_began_ns > EPOCH_NS;
}

/* --- waiting --------------------------------------------------------------------------------- */

static uint64_t next_wakeup(const struct session *session, uint64_t deadline_ns)
{
	uint64_t poll_ns = session->polled_ns + (session->ring_is_busy ? BUSY_POLL_NS : POLL_NS);

	/* A raw record is replayed by the poll after the one that read it. */
	if (session->has_raw)
		poll_ns = session->polled_ns + SIDEBAND_NAP_NS;

	return poll_ns < deadline_ns ? poll_ns : deadline_ns;
}

static void nap(uint64_t ns)
{
	struct timespec time = {.tv_nsec = (long)ns};

	(void)nanosleep(&time, NULL);
}

/*
 * Waits for the caller's descriptors, the sideband's, or the time; false when the caller's are
 * ready.
 */
static bool wait_once(struct session *session, uint64_t until_ns, struct pollfd *fds, size_t nr_fds)
{
	size_t nr_rings = sideband_nr(session->sideband), nr_own = nr_rings, i;
	uint64_t now_ns = clock_now_ns();
	uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct timespec left = {(time_t)(left_ns / NS_PER_SEC), (long)(left_ns % NS_PER_SEC)};
	bool caller_ready = false;
	int nr_ready;

	for (i = 0; i < nr_rings; i++)
		session->pollfds[i] =
			(struct pollfd){.fd = sideband_fd(session->sideband, i), .events = POLLIN};
	if (session->unwinder) { /* raw records, and tables for them */
		session->pollfds[nr_own++] =
			(struct pollfd){.fd = sampler_ring_fd(session->sampler), .events = POLLIN};
		session->pollfds[nr_own++] =
			(struct pollfd){.fd = unwinder_fd(session->unwinder), .events = POLLIN};
	}
	memcpy(&session->pollfds[nr_own], fds, nr_fds * sizeof(*fds));
	nr_ready = ppoll(session->pollfds, nr_own + nr_fds, &left, NULL);
	for (i = 0; i < nr_fds; i++) {
		fds[i].revents = nr_ready > 0 ? session->pollfds[nr_own + i].revents : 0;
		caller_ready |= fds[i].revents != 0;
	}
	if (nr_ready > 0 && !caller_ready)
		nap(SIDEBAND_NAP_NS);
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
			err = end_epoch(session, error);
		if (err)
			return err;
	}
	return 0;
}

/* Walks what still waits for unwind tables; for some time, and then as far as it goes. */
static int settle(struct session *session, uint64_t until_ns, bool last, struct error *error)
{
	int err = 0;

	while (!err && drain_nr_deferred(session->drain) && clock_now_ns() < until_ns &&
	       unwinder_nr_waiting(session->unwinder)) {
		wait_for_tables(session, until_ns);
		err = drain_retry(session->drain, false);
	}
	if (!err)
		err = drain_retry(session->drain, last);
	return err ? error_set(error, err, "cannot walk the samples: %s", strerror(-err)) : 0;
}

int session_flush(struct session *session, struct error *error)
{
	int err = end_epoch(session, error);

	return err ? err : settle(session, clock_now_ns() + SETTLE_NS, false, error);
}

int session_stop(struct session *session, struct error *error)
{
	int err;

	sampling_stop(session->sampling);
	session->stopped_ns = clock_now_ns();
	session->sampling_cpu_ns = own_cpu_ns() - session->sampling_cpu_ns;
	sampling_read(session->sampling, &session->reading);
	absence_end(&session->absence, session->stopped_ns);
	err = end_epoch(session, error);
	if (!err)
		err = settle(session, clock_now_ns() + LAST_SETTLE_NS, true, error);
	session->complete = !err;
	hurry_no_more(session);
	return err;
}

/* --- what it says of itself ------------------------------------------------------------------ */

struct profile *session_profile(struct session *session)
{
	return session->profile;
}

struct file_table *session_files(struct session *session)
{
	return session->files;
}

uint64_t session_progress(const struct session *session)
{
	return session->accounting.sum.recorded + session->accounting.sum.counted +
	       sampler_read_progress(session->sampler);
}

/*
 * What the event counted while CPUs were busy. A clock runs on idle and on stolen CPUs too; that
 * time is taken off.
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

static void summarize_files(const struct session *session, struct session_summary *ret)
{
	size_t i;

	ret->nr_files = file_table_nr(session->files);
	for (i = 0; i < ret->nr_files; i++) {
		const struct file *file = file_table_get(session->files, (uint32_t)i);

		ret->nr_files_gone += file->sampled && file->state != FILE_OPEN;
	}
}

void session_summarize(const struct session *session, struct session_summary *ret)
{
	const struct drain_totals *totals = drain_totals(session->drain);
	const struct wire_counters *sum = &session->accounting.sum;

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
		.nr_lost_events = session->nr_lost_events,
		.nr_mismatches =
			(sum->recorded > totals->records ? sum->recorded - totals->records
							 : totals->records - sum->recorded) +
			(sum->counted > totals->counted ? sum->counted - totals->counted
							: totals->counted - sum->counted),
		.ring_bytes = session->options.ring_bytes,
		.nr_processes = process_table_nr(session->processes),
		.profile_bytes = profile_bytes(session->profile),
	};
	summarize_files(session, ret);
	sampler_read_cost(session->sampler, &ret->cost);
	if (session->unwinder)
		unwinder_read_cost(session->unwinder, &ret->unwinding);
}
