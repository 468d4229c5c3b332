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
#include "base/file/fd_io.h"
#include "collect/drain.h"
#include "collect/sideband.h"
#include "kernel/kernel_ask.h"
#include "kernel/ring.h"
#include "probe/find/program.h"
#include "proc/cgroup.h"
#include "proc/mappings.h"
#include "proc/process_info.h"
#include "profile/profile.h"

#define SIDEBAND_SHARE 4 /* of max_buffer_bytes */

#define SESSION_OWN_FDS 2 /* descriptors to wait for, besides the sideband's */

#define PRELOAD_NS (50 * NS_PER_MS)

#define OTHER_DESCRIPTORS \
	40 /* maps, programs, outputs; plus two per CPU, and one per CPU and event */
#define MAX_OPEN_FILES 8192

/* CPU time per hit: a walk by unwind tables takes 3 to 5 µs. */
#define STACK_NS 4000

#define POLL_NS	     (100 * NS_PER_MS)
#define BUSY_POLL_NS (10 * NS_PER_MS) /* while the ring fills quickly */
#define EPOCH_NS     (5 * NS_PER_SEC)
#define LATE_CPU_NS  (5 * NS_PER_SEC) /* between tries to watch a CPU that is online */
#define TURN_NAP_NS  (2 * NS_PER_MS)  /* between readings of the rings while an epoch ends */
#define UNUSED_NS \
	(60 * NS_PER_SEC) /* files that nobody uses are closed so often, or with each interval */

/*
 * While process events or raw records keep coming, user space is not woken for each but polls at
 * these intervals. After the last of them it polls QUIET_NAPS more times, the last time with
 * wake-ups enabled.
 */
#define SIDEBAND_NAP_NS (2 * NS_PER_MS)
#define RAW_NAP_NS	NS_PER_MS
#define QUIET_NAPS	3

/*
 * The nap of a session that keeps its priority. Where processes come and go all the time, 500 polls a second are 1 % of
 * a CPU.
 */
#define CALM_NAP_NS (20 * NS_PER_MS)

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
#define IDLE_NICE     19

/* So soon after a part began, another rate is that of the whole next one. */
#define THIN_NS (100 * NS_PER_MS)

/*
 * One object of BPF programs. A session has one: samples of an event, hits of probes, or waits; or two, because
 * programs in NMIs or anywhere in the kernel must not share maps with those in the scheduler: samples and waits, or
 * waits for the kernel's locks and for futexes. Their epochs begin at the same time.
 */
struct source {
	struct sampler *sampler;
	struct epochs *epochs; /* the sampler's */
	struct ring ring;
	struct sampling_sizes sizes;
	const struct sampler_waits *waits; /* NULL: samples, or hits */
	bool has_kernel_locks;
	struct accounting accounting;
	uint64_t epoch_records; /* received in this epoch */
};

#define MAX_SOURCES 2

struct session {
	struct session_options options;
	struct source sources[MAX_SOURCES];
	size_t nr_sources;
	struct sampled_event *events; /* a copy of the options', as they are opened */
	struct file_table *files;
	struct runtime_table *runtimes;
	struct process_table *processes;
	struct profile *profile;
	struct drain *drain;
	struct drain_probe *probes; /* see struct drain_options */
	struct drain_waits waits;
	/* Kernel frames of programs at tracepoints, and callers that were looked up and are none, see learn_own_frames(). */
	struct drain_frame_set own_frames[DRAIN_NR_PROGRAMS], other_frames[DRAIN_NR_PROGRAMS];
	struct worker *worker; /* looks at other people's files and processes, and parses files */
	struct unwinder *unwinder; /* NULL: frame pointers */
	struct sideband *sideband;
	struct sampling *samplings[WIRE_MAX_EVENTS]; /* of each event */
	struct probing *probing;		     /* NULL if the session samples */
	uint64_t probing_next_ns;		     /* when to call probing_step() next */
	struct walk_budget budget;		     /* of waits; .share 0: none */
	uint64_t budget_next_ns;		     /* when to call judge_waits() next */
	int raw_fd; /* readable when the kernel sent a wake-up for a raw record */
	int cgroup_root_fd;
	int statistics_fd;
	struct pollfd *pollfds;
	size_t cap_pollfds;

	uint64_t polled_ns;		    /* when the last poll began */
	uint64_t idle_ns, longest_stall_ns; /* see note_drained() */
	uint64_t longest_turn_ns;	    /* see turn_epochs() */
	uint64_t epoch_began_ns;
	uint64_t epoch_time_ns; /* likewise, CLOCK_REALTIME */
	uint64_t swept_ns;	/* when unused files were last closed */
	struct slicing slicing;
	bool ring_is_busy;
	bool has_raw;	  /* the last read of the ring brought raw records */
	unsigned nr_naps; /* polls left before wake-ups are used again; 0: wake-ups are on */

	bool complete;
	uint64_t nr_lost_events;
	struct absence absence;
	struct error unwatched; /* why a CPU could not be watched after it came online */
	uint32_t *late_cpus;	/* that could not yet: they are tried again */
	size_t nr_late_cpus, cap_late_cpus;
	uint64_t tried_ns; /* when */
	uint64_t started_ns, stopped_ns;
	/* The next part: when it began, by two clocks; losses before it; one sample in how many is taken. */
	uint64_t part_began_ns, part_time_ns, lost_before;
	uint32_t one_of;
	bool period_varies;	  /* in it */
	int niceness;		  /* ours before session_new() */
	uint64_t sampling_cpu_ns; /* ours: until the start; after the stop, since the start */
	struct sampling_reading readings[WIRE_MAX_EVENTS];
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

/* The source of samples, of hits or of waits for the kernel's locks; or else of waits. */
static struct source *first_source(const struct session *session)
{
	return (struct source *)&session->sources[0];
}

/* The source of waits that follows switches, or NULL. */
static struct source *waits_source(const struct session *session)
{
	const struct source *last = &session->sources[session->nr_sources - 1];

	return last->waits ? (struct source *)last : NULL;
}

/* Iterates over all sources of waits: returns the one after *i; NULL: no more. */
static struct source *next_waits(const struct session *session, size_t *i)
{
	while (*i < session->nr_sources) {
		const struct source *source = &session->sources[(*i)++];

		if (source->waits)
			return (struct source *)source;
	}
	return NULL;
}

static uint32_t current_epoch(const struct session *session)
{
	return epochs_number(first_source(session)->epochs);
}

static int load_sampler(struct session *session, struct source *source, struct error *error)
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
		.max_table_bytes = options->max_table_bytes,
		.tasks = options->tasks,
		.ring_bytes = source->sizes.ring_bytes,
		.max_counts = source->sizes.max_counts,
		.max_threads = source->sizes.max_threads,
		.waits = source->waits,
		.has_kernel_locks = source->has_kernel_locks,
		.has_states = options->waits && !source->waits,
		.tables_of =
			source == first_source(session) ? NULL : first_source(session)->sampler,
		.probes = options->probes ? options->probes->list : NULL,
		.features = options->probes ? options->probes->features : NULL,
		.weights = options->probes ? options->probes->weights : NULL,
		.may_thin = may_thin(options),
		.events = session->events,
		.nr_events = source->waits ? 0 : options->nr_events,
		.by_period = (options->by_period || options->is_governed) && !source->waits,
		.is_governed = options->is_governed && !source->waits,
		.has_ratio = options->numerator && !source->waits,
		.every = every_hit(options),
	};

	config.tasks.by_name = options->names && !options->probes && !source->has_kernel_locks;
	source->sampler = sampler_load(&config, error);
	if (!source->sampler)
		return error->code;
	source->epochs = sampler_epochs(source->sampler);
	return ring_open(&source->ring, sampler_ring_fd(source->sampler), source->sizes.ring_bytes,
			 error);
}

/* Chooses the sizes of a source's buffers, in *room bytes (0: no limit), which are less afterwards. */
static void size_source(const struct session *session, struct source *source, size_t *room)
{
	const struct session_options *options = &session->options;
	const struct sampling_needs needs = {
		.events = session->events,
		.nr_events = source->waits ? 0 : options->nr_events,
		.nr_cpus = options->cpus ? options->nr_cpus : options->online->nr,
		.has_raw = options->by_tables,
		.has_waits = source->waits != NULL,
		.nr_threads = source->waits && !source->has_kernel_locks ? process_nr_threads() : 0,
		.max_bytes = *room,
	};
	size_t bytes;

	source->sizes.ring_bytes = options->ring_bytes;
	source->sizes.max_counts = options->max_counts;
	bytes = sampling_choose_sizes(&needs, &source->sizes);
	if (*room)
		*room = *room > bytes ? *room - bytes : 1;
}

static int load_samplers(struct session *session, struct error *error)
{
	const struct session_options *options = &session->options;
	size_t room = options->max_buffer_bytes - options->max_buffer_bytes / SIDEBAND_SHARE, i;
	int err = 0;

	if (options->nr_events || options->probes)
		session->nr_sources++;
	if (options->waits && options->waits->for_locks)
		session->sources[session->nr_sources++] =
			(struct source){.waits = options->waits, .has_kernel_locks = true};
	if (options->waits)
		session->sources[session->nr_sources++].waits = options->waits;
	for (i = 0; i < session->nr_sources && !err; i++) {
		struct source *source = &session->sources[i];

		size_source(session, source, &room);
		err = load_sampler(session, source, error);
	}
	return err;
}

/*
 * Files stay open until their symbols are read. Raises the descriptor limit as far as possible, and
 * leaves half of the descriptors for everything else.
 */
static size_t max_open_files(size_t nr_cpus, size_t nr_events)
{
	uint64_t others = (2 + nr_events) * nr_cpus + OTHER_DESCRIPTORS;
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

static int make_room_for_fds(struct session *session, size_t nr_cpus)
{
	return ARRAY_RESERVE(session->pollfds, session->cap_pollfds,
			     nr_cpus + SESSION_OWN_FDS + SESSION_MAX_CALLER_FDS);
}

static int make_tables(struct session *session, struct error *error)
{
	const struct session_options *options = &session->options;

	session->files = file_table_new(max_open_files(options->online->nr, options->nr_events));
	session->profile = make_profile(session);
	session->runtimes = runtime_table_new();
	if (!session->files || !session->runtimes || !session->profile)
		return error_no_memory(error, "");
	file_table_begin_at(session->files, options->first_file);
	runtime_table_begin_at(session->runtimes, options->first_runtime);
	session->processes = process_table_new(session->files);
	session->worker = worker_new(error);
	if (!session->worker)
		return error->code;
	worker_limit_memory(session->worker, &options->memory);
	worker_set_tables(session->worker, session->files, session->processes, session->runtimes);
	if (options->labels & LABEL_CGROUP) {
		session->cgroup_root_fd = cgroup_open_root(error);
		if (session->cgroup_root_fd < 0)
			return session->cgroup_root_fd;
	}
	return session->processes && make_room_for_fds(session, options->online->nr) == 0
		       ? 0
		       : error_no_memory(error, "");
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
	sampler_pool_fds(first_source(session)->sampler, &fds);
	session->unwinder = unwinder_new(&options, error);
	if (!session->unwinder)
		return error->code;
	/*
	 * Polling the ring directly would nearly always report it readable, as soon as it holds any
	 * record. Edge-triggered epoll reports only wake-ups, which the BPF side sends for raw
	 * records.
	 */
	session->raw_fd = epoll_create1(EPOLL_CLOEXEC);
	if (session->raw_fd < 0 ||
	    epoll_ctl(session->raw_fd, EPOLL_CTL_ADD,
		      sampler_ring_fd(first_source(session)->sampler), &woken) < 0)
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

/* Beside off-CPU time, a sample counts as the time between two. */
static uint64_t sample_ns(const struct session *session)
{
	const struct sampling_rate *rate = &session->events[0].rate;

	return rate->frequency ? NS_PER_SEC / rate->frequency : rate->period;
}

static void refuse_name(void *context, const char *name)
{
	const struct session *session = context;
	size_t i;

	for (i = 0; i < session->nr_sources; i++)
		sampler_refuse(session->sources[i].sampler, name);
}

static size_t held_bytes(const struct session_options *options)
{
	if (!options->max_buffer_bytes || options->max_buffer_bytes > DRAIN_HELD_MAX_BYTES)
		return DRAIN_HELD_MAX_BYTES;
	return options->max_buffer_bytes;
}

static int make_drain(struct session *session, struct error *error)
{
	struct drain_options options = {
		.labels = session->options.labels,
		.names = session->options.names,
		.refuse = refuse_name,
		.refuse_context = session,
		.cgroup_root_fd = session->cgroup_root_fd,
		.nr_events = session->options.by_period ? session->options.nr_events : 0,
		.by_weight = session->options.by_period || session->options.is_governed ||
			     may_thin(&session->options) ||
			     (session->options.probes && session->options.probes->weights),
		.has_ratio = session->options.numerator != NULL,
		.files = session->files,
		.runtimes = session->runtimes,
		.processes = session->processes,
		.profile = session->profile,
		.unwinder = session->unwinder,
		.slicing = &session->slicing,
		.kernel_names = session->options.kernel_names,
		.is_timed = session->options.is_governed,
		.names_processes = session->options.names_processes,
		.max_held_bytes = held_bytes(&session->options),
	};
	const struct session_probes *probes = session->options.probes;
	const struct sampler_waits *waits = session->options.waits;
	struct value_type type;

	if (waits) {
		int value = 0;

		/* The next profiles get it from this one. The agent makes a value of each state instead. */
		if (!session->options.is_governed)
			value = profile_make_value_type(session->profile, "waits", "count", &type);
		if (!session->options.is_governed && !value)
			value = profile_add_value_type(session->profile, &type);
		if (value < 0)
			return error_no_memory(error, "");
		session->waits = (struct drain_waits){
			.min_ns = waits->min_ns,
			.max_ns = waits->max_ns,
			.states = waits->states,
			.sample_ns = sample_ns(session),
			.nr_value = (size_t)value,
			.has_wakers = waits->has_wakers,
			.is_whole = waits->is_whole,
			.own = session->own_frames,
		};
		options.waits = &session->waits;
	}
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
			 process_table_mappings(session->processes, pid, NULL, clock_now_ns()));
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
		mappings ? program_find_started(session->worker, session->options.command, &program)
			 : -ENOMEM;
	size_t i;

	for (i = 0; i < program.nr && !err; i++) {
		struct mapping mapping = {
			.start = i << 32, .end = (i << 32) + 1, .kind = MAPPING_FILE};
		const struct program_file *found = &program.files[i];
		char path[PATH_MAX];
		int64_t file;

		/* As the kernel will report it. */
		if (!process_own_fd_path(found->handle, path))
			continue;
		file = file_table_add(session->files,
				      &(struct file_id){major(found->device), minor(found->device),
							found->inode, 0},
				      path, getpid(), 0, 0);
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
	int err = pids ? 0 : error_no_memory(error, "");
	size_t i;

	for (i = 0; i < session->nr_sources && !err; i++)
		err = sampler_want(session->sources[i].sampler, tasks, error);
	if (err)
		return err;
	for (i = 0; i < nr && !err; i++) {
		const bool is_thread = i >= tasks->nr_pids;
		const uint32_t tid = is_thread ? tasks->tids[i - tasks->nr_pids] : 0;
		int64_t pid = is_thread ? process_of_thread((int32_t)tid) : tasks->pids[i];

		if (pid < 0)
			return error_set(error, -ESRCH, "no such thread: %u", tid);
		pids[i] = (int32_t)pid;
		err = process_table_ensure(session->processes, pids[i], NULL, clock_now_ns());
		err = err < 0 ? err : 0;
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

	sampler_thin(first_source(session)->sampler, number, thinned_to(&session->options, bits));
}

static int open_probing(struct session *session, struct error *error)
{
	const struct session_probes *probes = session->options.probes;
	const struct probing_options options = {
		.list = probes->list,
		.features = probes->features,
		.programs = sampler_programs(first_source(session)->sampler),
		.hits = sampler_hits(first_source(session)->sampler),
		.pid = probes->link_pid,
		.budget_share = probes->budget_share,
		.work_ns = (double)STACK_NS / every_hit(&session->options),
		.thin = thin_hits,
		.context = session,
	};

	session->probing = probing_new(&options, error);
	return session->probing ? 0 : error->code;
}

static int open_samplings(struct session *session, struct error *error)
{
	size_t i;

	for (i = 0; i < session->options.nr_events; i++) {
		const struct sampling_options options = {
			.sampled = &session->events[i],
			.cpus = session->options.cpus,
			.nr_cpus = session->options.nr_cpus,
			.sideband = session->sideband,
			.program_fd = sampler_program_fd(first_source(session)->sampler, i),
			.numerator = session->options.numerator,
			.counters_fd = sampler_counters_fd(first_source(session)->sampler),
		};

		session->samplings[i] = sampling_open(&options, session->options.online, error);
		if (!session->samplings[i])
			return error->code;
	}
	return 0;
}

/*
 * User space needs little CPU time but needs it promptly: on an overloaded host, the first sample would be seconds
 * away, and the ring would overflow before a process of normal priority runs. Without permission the priority stays
 * unchanged. Helper processes have ordinary priority, except the opener: samples wait for its answers.
 */
static void raise_priority(struct session *session)
{
	if (session->options.keeps_priority)
		return;
	(void)setpriority(PRIO_PROCESS, 0, SAMPLING_NICE);
	worker_set_opener_niceness(session->worker, getpriority(PRIO_PROCESS, 0));
}

static void restore_priority(struct session *session)
{
	if (session->options.keeps_priority)
		return;
	(void)setpriority(PRIO_PROCESS, 0, session->niceness);
	if (session->worker)
		worker_set_opener_niceness(session->worker, session->niceness);
}

/* A run that keeps its priority wants no spike of CPU time, which unwind tables are at its beginning. */
static void lower_parsers(struct session *session)
{
	if (!session->options.keeps_priority)
		return;
	worker_set_niceness(session->worker, IDLE_NICE);
	worker_set_opener_niceness(session->worker, session->niceness);
	if (session->unwinder && session->options.table_pace.most_ns)
		unwinder_pace(session->unwinder, &session->options.table_pace);
}

static int set_up(struct session *session, struct error *error)
{
	const struct session_options *options = &session->options;
	int err;

	err = make_tables(session, error);
	if (err)
		return err;
	raise_priority(session);
	err = load_samplers(session, error);
	if (!err)
		err = make_unwinder(session, error);
	if (!err)
		err = make_drain(session, error);
	if (err)
		return err;
	lower_parsers(session);
	/*
	 * Open the events before reading maps: what happens in between is then seen twice rather
	 * than missed.
	 */
	session->sideband =
		sideband_open(options->online, options->max_buffer_bytes / SIDEBAND_SHARE, error);
	if (!session->sideband)
		return error->code;
	err = want_targets(session, error);
	if (err)
		return err;
	err = options->probes ? open_probing(session, error) : open_samplings(session, error);
	if (err)
		return err;
	if (options->bpf_statistics)
		session->statistics_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	return 0;
}

/*
 * Lets the kernel drop ticks on idle CPUs. An idle CPU has no scheduler tick that would reset the
 * kernel's throttling, so a CPU that is throttled while idle would go unsampled for a while after.
 */
static int copy_events(struct session *session, struct error *error)
{
	const struct session_options *options = &session->options;
	size_t i;

	session->events = calloc(options->nr_events + 1, sizeof(*session->events));
	if (!session->events)
		return error_no_memory(error, "");
	for (i = 0; i < options->nr_events; i++) {
		struct event *event = &session->events[i].event;

		session->events[i] = options->events[i];
		if (event_is_clock(event) && !options->include_idle)
			event->attr.exclude_idle = 1;
	}
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
	session->niceness = getpriority(PRIO_PROCESS, 0);
	session->raw_fd = -1;
	session->cgroup_root_fd = -1;
	session->statistics_fd = -1;
	if (copy_events(session, error) < 0 || set_up(session, error) < 0) {
		session_free(session);
		return NULL;
	}
	return session;
}

void session_free(struct session *session)
{
	size_t i;

	if (!session)
		return;
	restore_priority(session);
	probing_free(session->probing);
	for (i = 0; i < WIRE_MAX_EVENTS; i++)
		sampling_close(session->samplings[i]);
	sideband_close(session->sideband);
	for (i = 0; i < MAX_SOURCES; i++) {
		ring_close(&session->sources[i].ring);
		sampler_free(session->sources[i].sampler);
	}
	walk_budget_clear(&session->budget);
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
	free(session->events);
	free(session->late_cpus);
	free(session->probes);
	free(session->pollfds);
	free(session);
}

/* --- reading ------------------------------------------------------------------------------------ */

static int take_gone_code(struct session *session, const struct sideband_event *event)
{
	struct gone_code gone = {event->time_ns, event->gone.start, event->gone.end, ""};

	(void)snprintf(gone.name, sizeof(gone.name), "%s", event->path);
	return drain_add_gone_code(session->drain, &gone);
}

static int take_event(void *context, struct sideband_event *event)
{
	struct session *session = context;

	switch (event->kind) {
	case SIDEBAND_PROCESS:
		return drain_add_event(session->drain, &event->process, event->path);
	case SIDEBAND_GONE_CODE:
		return take_gone_code(session, event);
	case SIDEBAND_LOST:
		session->nr_lost_events += event->nr_lost;
		process_table_distrust(session->processes, event->time_ns ?: clock_now_ns());
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

/* --- off-CPU ---------------------------------------------------------------------------------- */

#define OWN_FRAMES_DEEP 8 /* at most, in one stack */

struct learning {
	const uint64_t *kernel;
	size_t nr; /* innermost frames that are own */
	struct drain_frame_set *own;
};

static void add_frame(struct drain_frame_set *set, uint64_t address)
{
	if (set->nr < DRAIN_FRAMES_MAX && !drain_has_frame(set, address))
		set->addresses[set->nr++] = address;
}

static int take_own_frame(void *context, size_t i, const char *name, const char *module)
{
	static const char *const own[] = {"bpf_", "__bpf_", "__traceiter_", "__probestub_"};
	struct learning *learning = context;
	size_t k;

	for (k = 0; k < ARRAY_SIZE(own) && i == learning->nr; k++) {
		if (strncmp(name, own[k], strlen(own[k])) != 0)
			continue;
		add_frame(learning->own, learning->kernel[i]);
		learning->nr++;
	}
	return 0;
}

/*
 * A program's own kernel frames are the same in nearly all stacks: the first record, of a thread that is leaving its CPU
 * or of a waker, shows them. A later one can have others, when another tool came to the tracepoint or left it; so a frame
 * that calls them is looked up when it is first seen. If the kernel can't name them (before Linux 5.13), they stay.
 */
static void learn_own_frames(struct session *session, const struct wire_record *record)
{
	const uint64_t *kernel = (const uint64_t *)(record + 1) + record->nr_user;
	const size_t program = drain_program(record);
	struct drain_frame_set *own = &session->own_frames[program];
	struct drain_frame_set *others = &session->other_frames[program];
	size_t known = drain_nr_own_frames(own, kernel, record->nr_kernel);
	struct learning learning = {.kernel = kernel + known, .own = own};
	size_t nr = record->nr_kernel - known;
	struct error unnamed;

	if (!nr || others->nr == DRAIN_FRAMES_MAX || record->probe & WIRE_SINCE_BEFORE ||
	    drain_has_frame(others, kernel[known]))
		return;
	nr = nr < OWN_FRAMES_DEEP ? nr : OWN_FRAMES_DEEP;
	if (kernel_ask(NULL, learning.kernel, nr, take_own_frame, &learning, &unnamed) < 0)
		others->nr = DRAIN_FRAMES_MAX; /* is asked once */
	known = drain_nr_own_frames(own, kernel, record->nr_kernel);
	if (known < record->nr_kernel)
		add_frame(others, kernel[known]);
}

static int take_waiting(void *context, uint64_t task, const struct wire_waiting *waiting)
{
	struct session *session = context;

	return drain_add_waiting(session->drain, task, waiting);
}

/* Reads all records of a source that are there now. */
static int read_ring(struct session *session, struct source *source)
{
	const uint64_t end = ring_producer_position(&source->ring);
	const struct wire_record *record;
	uint32_t epoch = current_epoch(session);
	size_t bytes, read = 0;
	int err = 0;

	while (!err && (record = ring_next(&source->ring, end, &bytes))) {
		read += bytes;
		if (source->waits && bytes == sizeof(struct wire_wait)) {
			err = drain_add_wait(session->drain, (const struct wire_wait *)record);
			/* Pairs with wakers fill the map, too, and then each wait is sent. */
			source->epoch_records += source->waits->has_wakers;
			continue;
		}
		if (source->waits && bytes >= sizeof(*record))
			learn_own_frames(session, record);
		err = drain_add_record(session->drain, record, bytes);
		source->epoch_records += record->epoch == epoch;
		session->has_raw |= record->user_end == WALK_RAW;
	}
	session->ring_is_busy |= read > source->sizes.ring_bytes / 8;
	return err;
}

/*
 * The rings were read. A stall is the time since they were read before, or since the wait for the next poll was to end:
 * meanwhile they fill up.
 */
static void note_drained(struct session *session)
{
	const uint64_t now_ns = clock_now_ns();

	if (!session->stopped_ns && now_ns - session->idle_ns > session->longest_stall_ns)
		session->longest_stall_ns = now_ns - session->idle_ns;
	session->idle_ns = now_ns;
}

/*
 * Reads the rings, then the sideband with the events of the records' processes; has the mappings of
 * processes read that are still unknown, and new files looked at. look_ns: the longest wait for that.
 */
static int read_all(struct session *session, uint64_t look_ns)
{
	const uint64_t nr_looked = process_table_nr_looked(session->processes);
	size_t i;
	int err = 0;

	session->has_raw = session->ring_is_busy = false;
	for (i = 0; i < session->nr_sources && !err; i++)
		err = read_ring(session, &session->sources[i]);
	if (!err)
		err = sideband_read(session->sideband, take_event, session);
	note_drained(session);
	if (!err)
		err = drain_ensure_processes(session->drain);
	(void)worker_wait_for_looks(session->worker, clock_now_ns() + look_ns, -1);
	/* An exec before the answers: maps may be the wrong program's. */
	if (!err && process_table_nr_looked(session->processes) != nr_looked)
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
	sampler_expect_raw(first_source(session)->sampler, session->nr_naps > 1);
	if (session->nr_naps == 1)
		sideband_resume_alarms(session->sideband);
}

/* Has a CPU tried with one of the next polls. */
static int add_late_cpu(struct session *session, uint32_t cpu)
{
	size_t i;

	for (i = 0; i < session->nr_late_cpus; i++)
		if (session->late_cpus[i] == cpu)
			return 0;
	return ARRAY_ADD(session->late_cpus, session->nr_late_cpus, session->cap_late_cpus, cpu);
}

/*
 * A CPU went offline or came back; its events are gone. If it is online, opens new ones. Programs that it executed in
 * between were not reported. Returns 1 if it is sampled, 0 if it is not, or -ENOMEM. One that should be, but cannot now, for
 * want of descriptors or memory, is tried again.
 */
static int follow_cpu(struct session *session, uint32_t cpu, bool is_again)
{
	const size_t nr = session->options.nr_events;
	bool is_sampled = false;
	struct error why = {0};
	uint64_t event_id;
	size_t i;
	int err;

	for (i = 0; i < nr; i++)
		if (sampling_leave(session->samplings[i], cpu, &event_id) == 0)
			absence_unthrottle(&session->absence, event_id, clock_now_ns());
	err = sideband_watch(session->sideband, cpu, &why);
	for (i = 0; i < nr && err >= 0; i++) {
		err = sampling_join(session->samplings[i], cpu, &why);
		is_sampled |= err > 0;
	}
	/*
	 * There are no events of what happened on that CPU before. A further try in vain distrusts nothing, or all mappings
	 * would be read again each time.
	 */
	if (err >= 0 || (err != -ENODEV && !is_again))
		process_table_distrust(session->processes, clock_now_ns());
	is_sampled &= err >= 0;
	if (err < 0 && err != -ENODEV) {
		if (!session->unwatched.code)
			session->unwatched = why;
		if (add_late_cpu(session, cpu) < 0)
			return -ENOMEM;
	}
	err = make_room_for_fds(session, sideband_nr(session->sideband));
	return err < 0 ? err : is_sampled;
}

/* CPUs that came online after the list was read, but before changes were reported, are watched with the first poll. */
static int find_late_cpus(struct session *session, struct error *error)
{
	const struct cpus *known = session->options.online;
	cleanup(cpus_clear) struct cpus online = {0};
	struct error is_new = {0};
	size_t i;

	if (cpus_read(&online, "online", error) < 0)
		return error->code;
	for (i = 0; i < online.nr; i++)
		if (cpus_check(known, &online.numbers[i], 1, &is_new) < 0 &&
		    add_late_cpu(session, online.numbers[i]) < 0)
			return error_no_memory(error, "");
	return 0;
}

/* The next CPU that changed, or one of the first *nr_late that are to be tried again. */
static bool next_cpu(struct session *session, size_t *nr_late, uint32_t *cpu)
{
	if (!*nr_late)
		return sampler_next_changed_cpu(first_source(session)->sampler, cpu);
	*cpu = session->late_cpus[0];
	memmove(session->late_cpus, session->late_cpus + 1,
		--session->nr_late_cpus * sizeof(*session->late_cpus));
	--*nr_late;
	return true;
}

static int follow_cpus(struct session *session)
{
	const bool is_due = clock_now_ns() - session->tried_ns > LATE_CPU_NS;
	size_t nr_late = is_due ? session->nr_late_cpus : 0;
	cleanup_free uint32_t *begun = NULL; /* CPUs that are sampled again */
	size_t nr_begun = 0, cap_begun = 0;
	uint32_t cpu = 0;
	int err = 0;

	if (is_due)
		session->tried_ns = clock_now_ns();
	for (;;) {
		const bool is_again = nr_late > 0;

		if (err < 0 || !next_cpu(session, &nr_late, &cpu))
			break;
		/* The last records of events that are gone are read before these are taken for ended. */
		err = sideband_read(session->sideband, take_event, session);
		if (!err)
			err = follow_cpu(session, cpu, is_again);
		if (err > 0)
			err = ARRAY_ADD(begun, nr_begun, cap_begun, cpu);
	}
	if (err >= 0 && nr_begun)
		err = absence_begin(&session->absence, begun, nr_begun);
	return err < 0 ? err : 0;
}

static int poll_once(struct session *session)
{
	uint64_t until_ns = session->polled_ns;
	bool has_events = sideband_pause_alarms(session->sideband), has_tables;
	int err = follow_cpus(session);

	session->polled_ns = clock_now_ns();
	if (!err)
		err = read_all(session, 0);
	choose_naps(session, has_events || session->has_raw);
	if (!err)
		err = drain_replay(session->drain, until_ns);
	has_tables = session->unwinder && unwinder_poll(session->unwinder);
	if (!err && (worker_has_looked(session->worker) || has_tables))
		err = drain_retry(session->drain, false);
	return err;
}

struct counts_reader {
	struct session *session;
	const struct source *source;
};

static int take_count(void *context, const void *key, const void *value)
{
	const struct counts_reader *reader = context;
	const struct session *session = reader->session;
	struct wire_count count = {0};
	struct wire_count_key id = {0};

	memcpy(&id, key, reader->source->epochs->options.key_bytes);
	memcpy(&count, value, reader->source->epochs->options.value_bytes);
	if (session->options.waits && !reader->source->waits && !session->options.is_governed)
		count.weight = count.count * session->waits.sample_ns;
	return drain_add_count(session->drain, current_epoch(session) - 1, &id, &count);
}

/* Reads all data of the epoch that has ended. */
static int read_epoch(struct session *session, struct wire_counters *counters, uint64_t look_ns)
{
	const struct source *waits;
	size_t i;
	int err = 0;

	for (i = 0; i < session->nr_sources && !err; i++)
		err = epochs_read_counters(session->sources[i].epochs, &counters[i]);
	for (i = 0;
	     !err && (waits = next_waits(session, &i));) /* before the ring, see collect/waits.c */
		err = sampler_read_waiting(waits->sampler, current_epoch(session) - 1, take_waiting,
					   session);
	if (!err)
		err = read_all(session, look_ns);
	for (i = 0; i < session->nr_sources && !err; i++) {
		struct counts_reader reader = {session, &session->sources[i]};

		err = epochs_read_map(reader.source->epochs, take_count, &reader);
	}
	return err;
}

static struct part_source source_of(const struct session *session)
{
	return (struct part_source){session->drain, session->files, session->runtimes,
				    session->processes};
}

static void forget_unused(struct session *session)
{
	const struct part_source source = source_of(session);

	part_forget_unused(&source, session->profile);
	session->swept_ns = clock_now_ns();
}

/*
 * Reads the rings and the sideband while epochs end, which takes seconds if other load keeps the kernel's RCU thread
 * from running. Rings are read once more after the map of waits, see collect/waits.c.
 */
static int read_meanwhile(struct session *session)
{
	size_t i;
	int err = 0;

	for (i = 0; i < session->nr_sources && !err; i++)
		err = read_ring(session, &session->sources[i]);
	if (!err)
		err = sideband_read(session->sideband, take_event, session);
	note_drained(session);
	return err;
}

static bool have_ended(struct session *session)
{
	size_t i;

	for (i = 0; i < session->nr_sources; i++)
		if (!epochs_has_ended(session->sources[i].epochs))
			return false;
	return true;
}

/*
 * All sources begin the next epoch at the same time. Reads the rings until no program adds to the ended epochs any
 * more.
 * *ret_ended_ns: as of epochs_turn().
 */
static int turn_epochs(struct session *session, uint64_t *ret_ended_ns, struct error *error)
{
	const struct timespec nap = {.tv_nsec = TURN_NAP_NS};
	uint64_t turned_ns;
	size_t i;
	int err = 0, read = 0;

	for (i = 0; i < session->nr_sources; i++) {
		*ret_ended_ns = epochs_begin_next(session->sources[i].epochs);
		session->sources[i].epoch_records = 0;
	}
	session->epoch_began_ns = *ret_ended_ns;
	session->epoch_time_ns = clock_read_ns(CLOCK_REALTIME);
	slicing_begin_epoch(&session->slicing, current_epoch(session), *ret_ended_ns,
			    clock_asleep_ns());
	if (session->unwinder)
		unwinder_epoch_ends(session->unwinder);
	for (i = 0; i < session->nr_sources; i++)
		epochs_begin_ending(session->sources[i].epochs);
	while (!have_ended(session)) {
		(void)nanosleep(&nap, NULL);
		if (!read)
			read = read_meanwhile(session);
	}
	turned_ns = clock_now_ns() - session->epoch_began_ns;
	if (turned_ns > session->longest_turn_ns)
		session->longest_turn_ns = turned_ns;
	for (i = 0; i < session->nr_sources && !err; i++)
		err = epochs_end_last(session->sources[i].epochs, error);
	if (!err && read)
		err = error_set(error, read, "cannot drain the samples: %s", strerror(-read));
	if (!err && session->unwinder)
		unwinder_epoch_ended(session->unwinder, current_epoch(session) - 1);
	return err;
}

/* Ends the epoch and adds all of its samples to the profile. look_ns: the longest wait for looks. */
static int end_epoch(struct session *session, uint64_t look_ns, struct error *error)
{
	struct wire_counters counters[MAX_SOURCES];
	const struct source *waits;
	uint64_t ended_ns = 0;
	size_t i = 0;
	int err = turn_epochs(session, &ended_ns, error);

	if (err)
		return err;
	err = read_epoch(session, counters, look_ns);
	/* The first source's epoch began first, so no wait of the others has ended before it. */
	waits = next_waits(session, &i);
	if (!err)
		err = drain_close_epoch(session->drain, current_epoch(session) - 1,
					waits ? sampler_epoch_began_ns(waits->sampler) : ended_ns);
	if (!err)
		err = sideband_read(session->sideband, take_event, session);
	if (!err)
		err = drain_correct_kernel_names(session->drain);
	if (err)
		return error_set(error, err, "cannot drain the samples: %s", strerror(-err));
	for (i = 0; i < session->nr_sources; i++)
		accounting_close_epoch(&session->sources[i].accounting, &counters[i]);
	drain_forget_exited(session->drain, ended_ns);
	if (file_table_is_crowded(session->files) || ended_ns - session->swept_ns > UNUSED_NS)
		forget_unused(session);
	return 0;
}

static uint64_t slice_end_ns(const struct session *session)
{
	return slicing_end_ns(&session->slicing, current_epoch(session));
}

static bool epoch_is_full(const struct session *session, uint64_t now_ns)
{
	size_t i;

	for (i = 0; i < session->nr_sources; i++)
		if (session->sources[i].epoch_records >
		    session->sources[i].sizes.max_counts / 4 * 3)
			return true;
	return now_ns - session->epoch_began_ns > EPOCH_NS || now_ns >= slice_end_ns(session) ||
	       slicing_has_slept(&session->slicing, clock_asleep_ns()) ||
	       (session->unwinder && unwinder_wants_epoch_end(session->unwinder));
}

/* Keeps the cost of following switches within its budget. */
static void judge_waits(struct session *session)
{
	const struct source *waits = waits_source(session);
	const uint64_t now_ns = clock_now_ns();

	if (!waits || !(session->budget.share > 0) || now_ns < session->budget_next_ns)
		return;
	session->budget_next_ns = walk_budget_judge(&session->budget, now_ns);
	sampler_walk_each(waits->sampler, session->budget.each_ns);
	drain_set_walk_ns(session->drain, walk_budget_walk_ns(&session->budget));
}

static uint64_t nap_ns(const struct session *session)
{
	if (session->has_raw)
		return RAW_NAP_NS;
	return session->options.keeps_priority ? CALM_NAP_NS : SIDEBAND_NAP_NS;
}

/* --- waiting --------------------------------------------------------------------------------- */

static uint64_t next_wakeup(const struct session *session, uint64_t deadline_ns)
{
	uint64_t poll_ns = session->polled_ns + (session->ring_is_busy ? BUSY_POLL_NS : POLL_NS);

	/* A raw record is replayed by the poll after the one that read it. */
	if (session->nr_naps)
		poll_ns = session->polled_ns + nap_ns(session);
	if (session->probing && session->probing_next_ns < poll_ns)
		poll_ns = session->probing_next_ns;
	if (session->budget.share > 0 && session->budget_next_ns < poll_ns)
		poll_ns = session->budget_next_ns;
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
	struct timespec time = {.tv_nsec = (long)nap_ns(session)};
	struct epoll_event woken;

	if (session->raw_fd >= 0) /* clears readiness until the next wake-up */
		(void)epoll_wait(session->raw_fd, &woken, 1, 0);
	sampler_expect_raw(first_source(session)->sampler, true);
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
	now_ns = clock_now_ns();
	if (now_ns > until_ns)
		now_ns = until_ns;
	/* An overdue poll, or the first one of probes: the rings were read after the wait was to end. */
	if (now_ns > session->idle_ns)
		session->idle_ns = now_ns;
	return !caller_ready;
}

int session_wait(struct session *session, uint64_t deadline_ns, struct pollfd *fds, size_t nr_fds,
		 struct error *error)
{
	bool go_on = true;

	if (nr_fds > SESSION_MAX_CALLER_FDS)
		return error_set(error, -E2BIG, "too many descriptors to wait for: %zu", nr_fds);
	do {
		int err;

		go_on = wait_once(session, next_wakeup(session, deadline_ns), fds, nr_fds);
		judge_waits(session);
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
	} while (go_on && clock_now_ns() < deadline_ns);
	return 0;
}

/* --- start, flush, stop ------------------------------------------------------------------------- */

int session_start(struct session *session, struct error *error)
{
	const struct session_options *options = &session->options;
	const uint32_t *cpus = options->cpus ? options->cpus : options->online->numbers;
	const size_t nr_cpus = options->cpus ? options->nr_cpus : options->online->nr;
	const struct source *waits;
	size_t i;

	if (absence_begin(&session->absence, cpus, nr_cpus) < 0)
		return error_no_memory(error, "");
	if (find_late_cpus(session, error) < 0)
		return error->code;
	for (i = 0; !session->probing && (waits = next_waits(session, &i));)
		if (sampler_attach_waits(waits->sampler, error) < 0)
			return error->code;
	session->sampling_cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
	session->started_ns = clock_now_ns();
	session->part_time_ns = session->epoch_time_ns = clock_read_ns(CLOCK_REALTIME);
	session->one_of = 1;
	session->polled_ns = session->idle_ns = session->started_ns;
	session->epoch_began_ns = session->part_began_ns = session->started_ns;
	session->swept_ns = session->started_ns;
	slicing_start(&session->slicing, session->options.slice_ns, session->started_ns,
		      clock_read_ns(CLOCK_REALTIME), clock_asleep_ns());
	session->probing_next_ns = 0;
	waits = waits_source(session);
	if (waits) {
		size_t nr_costs;
		const volatile struct wire_cost *costs =
			sampler_wait_costs(waits->sampler, &nr_costs);

		if (walk_budget_init(&session->budget, waits->waits->budget_share, costs, nr_costs,
				     session->started_ns) < 0)
			return error_no_memory(error, "");
	}
	if (session->probing)
		return probing_start(session->probing, error);
	if (options->numerator && sampler_start_ratio(first_source(session)->sampler, error) < 0)
		return error->code;
	for (i = 0; i < options->nr_events; i++)
		if (sampling_start(session->samplings[i], error) < 0)
			return error->code;
	for (i = 0; (waits = next_waits(session, &i));)
		if (sampler_start_waits(waits->sampler, session->started_ns, error) < 0)
			return error->code;
	/* The ring has a record of each thread that waits: unwind tables should be there when it does so again. */
	session->nr_naps = options->waits ? QUIET_NAPS : 0;
	return 0;
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

/* True if tables come so late that samples would wait for them into the next interval, or longer. */
static bool is_paced(const struct session *session)
{
	return session->options.table_pace.most_ns && session->unwinder &&
	       unwinder_is_in_debt(session->unwinder);
}

int session_flush(struct session *session, struct error *error)
{
	int err = end_epoch(session, EPOCH_LOOK_NS, error);

	if (!err)
		err = settle(session, clock_now_ns() + SETTLE_NS, is_paced(session), error);
	(void)worker_wait_for_looks(session->worker, clock_now_ns() + EPOCH_LOOK_NS, -1);
	return err;
}

int session_stop(struct session *session, struct error *error)
{
	const struct source *waits;
	size_t i;
	int err;

	for (i = 0; i < session->options.nr_events; i++)
		sampling_stop(session->samplings[i]);
	if (session->options.numerator)
		sampler_stop_ratio(first_source(session)->sampler);
	for (i = 0; (waits = next_waits(session, &i));)
		sampler_stop_waits(waits->sampler);
	if (session->probing)
		probing_stop(session->probing);
	session->stopped_ns = clock_now_ns();
	session->sampling_cpu_ns =
		clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - session->sampling_cpu_ns;
	for (i = 0; i < session->options.nr_events; i++)
		sampling_read(session->samplings[i], session->stopped_ns - session->started_ns,
			      &session->readings[i]);
	absence_end(&session->absence, session->stopped_ns);
	drain_expect_end(session->drain);
	err = end_epoch(session, LAST_LOOK_NS, error);
	if (!err)
		err = settle(session, clock_now_ns() + LAST_SETTLE_NS, true, error);
	/* The replay may have met further processes. */
	(void)worker_wait_for_looks(session->worker, clock_now_ns() + LAST_LOOK_NS, -1);
	profile_end_slices(session->profile,
			   slicing_day_ns(&session->slicing, session->stopped_ns));
	session->complete = !err;
	restore_priority(session);
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
	int64_t ratio = profile_add_string(to, profile_string(from, origin.ratio));
	struct value_type further;
	size_t i;

	if (event < 0 || unit < 0 || type < 0 || its_unit < 0 || ratio < 0)
		return -ENOMEM;
	origin.ratio = origin.ratio ? (uint32_t)ratio : 0;
	origin.event = origin.event ? (uint32_t)event : 0;
	origin.unit = origin.unit ? (uint32_t)unit : 0;
	profile_set_origin(to, &origin);
	profile_set_main_type(to, (struct value_type){main_type.type ? (uint32_t)type : 0,
						      main_type.unit ? (uint32_t)its_unit : 0});
	for (i = 1; i < profile_nr_values(from); i++)
		if (profile_make_value_type(to, profile_value_name(from, i),
					    profile_value_unit(from, i), &further) < 0 ||
		    profile_add_value_type(to, &further) < 0)
			return -ENOMEM;
	return 0;
}

static uint64_t nr_lost(const struct session *session)
{
	uint64_t lost = 0;
	size_t i;

	for (i = 0; i < session->nr_sources; i++)
		lost += accounting_lost(&session->sources[i].accounting);
	return lost;
}

static void note_part(struct session *session, struct session_part *part)
{
	const bool has_clock =
		session->options.nr_events == 1 && event_is_clock(&session->events[0].event);

	part->began_ns = session->part_time_ns;
	part->ended_ns = session->epoch_time_ns;
	part->measured_ns = session->epoch_began_ns - session->part_began_ns;
	part->lost = nr_lost(session) - session->lost_before;
	if (has_clock && !session->period_varies)
		part->period_ns = sample_ns(session) * session->one_of;
	session->part_time_ns = session->epoch_time_ns;
	session->part_began_ns = session->epoch_began_ns;
	session->lost_before += part->lost;
	session->period_varies = false;
}

int session_take_part(struct session *session, struct session_part *ret, struct error *error)
{
	const struct part_source source = source_of(session);
	struct profile *next = make_profile(session);

	if (!next || copy_origin(next, session->profile) < 0 ||
	    (session->options.probes && make_probes(session, next) < 0) ||
	    part_take(&source, session->profile, next, ret) < 0) {
		profile_free(next);
		return error_no_memory(error, "");
	}
	session->profile = next;
	note_part(session, ret);
	forget_unused(session);
	return 0;
}

/* --- under a budget ------------------------------------------------------------------ */

void session_thin(struct session *session, uint32_t one_of)
{
	if (one_of == session->one_of)
		return;
	sampler_take_one_in(first_source(session)->sampler, one_of);
	session->period_varies |= clock_now_ns() - session->part_began_ns > THIN_NS;
	session->one_of = one_of;
}

void session_read_cost(const struct session *session, struct session_cost *ret)
{
	const struct source *first = first_source(session);
	struct wire_counters now;

	*ret = (struct session_cost){
		.sample_ns = first->accounting.sum.run_ns,
		.switch_ns = walk_budget_paid_ns(&session->budget),
		.record_ns = drain_totals(session->drain)->record_ns,
	};
	if (!first->waits && epochs_read_progress(first->epochs, &now) == 0)
		ret->sample_ns += now.run_ns;
}

void session_pace_tables(struct session *session, const struct table_pace *pace)
{
	if (session->unwinder)
		unwinder_pace(session->unwinder, pace);
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

/* The number of samples, hits or switches that were not left out. */
static uint64_t nr_taken(const struct wire_counters *counters)
{
	return counters->recorded + counters->counted + counters->thinned;
}

uint64_t session_progress(const struct session *session)
{
	uint64_t nr = 0;
	size_t i;

	for (i = 0; i < session->nr_sources; i++) {
		const struct source *source = &session->sources[i];
		struct wire_counters now;

		nr += nr_taken(&source->accounting.sum);
		if (epochs_read_progress(source->epochs, &now) == 0)
			nr += nr_taken(&now);
	}
	return nr;
}

const struct probing *session_probing(const struct session *session)
{
	return session->probing;
}

/*
 * Returns the events that were counted while CPUs were busy. A clock also runs on idle CPUs and
 * during steal time; both are subtracted.
 */
static uint64_t busy_events(const struct session *session, size_t event)
{
	uint64_t events = session->readings[event].events;
	uint64_t absent_ns = session->absence.stolen_ns;

	if (!event_is_clock(&session->events[event].event))
		return events;
	if (!session->options.include_idle)
		absent_ns += session->absence.idle_ns;
	return events > absent_ns ? events - absent_ns : 0;
}

static void summarize_events(const struct session *session, struct session_summary *ret)
{
	const struct wire_counters *ticks = &first_source(session)->accounting.sum;
	const uint64_t error_ns = absence_error_ns(&session->absence);
	size_t i;

	for (i = 0; i < session->options.nr_events; i++) {
		const struct sampling_reading *reading = &session->readings[i];
		const struct wire_event *taken = &ticks->events[i];

		ret->events[i] = (struct session_event){
			.taken = *taken,
			.occurrences = reading->events,
			.unseen = accounting_unseen(taken, busy_events(session, i)),
			.running_share = reading->enabled_ns ? (double)reading->running_ns /
								       (double)reading->enabled_ns
							     : 1,
			.nr_cpus_uncounted = reading->nr_uncounted,
			.uncounted_cpu = reading->uncounted_cpu,
			.uncounted_ns = reading->uncounted_ns,
		};
		ret->unseen += ret->events[i].unseen;
		if (event_is_clock(&session->events[i].event))
			ret->unseen_error +=
				accounting_samples_of(taken, error_ns + reading->gone_ns);
		/* A hybrid CPU's events are on some CPUs each. */
		if (reading->short_ns < ret->short_ns || !reading->nr_short)
			continue;
		ret->nr_cpus_short = reading->nr_short;
		ret->short_cpu = reading->short_cpu;
		ret->short_ns = reading->short_ns;
	}
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

int session_niceness(const struct session *session)
{
	return session->niceness;
}

struct worker *session_worker(const struct session *session)
{
	return session->worker;
}

void session_end_reading(struct session *session)
{
	worker_end(session->worker);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/*
 * Off-CPU, what is in the profile must agree with the kernel's counters to the nanosecond; beside it,
 * samples are of equal times.
 */
static void summarize_time(const struct session *session, struct session_summary *ret)
{
	const struct drain_totals *totals = drain_totals(session->drain);
	const struct wire_counters *samples = &first_source(session)->accounting.sum;
	const struct waits *waits = drain_waits(session->drain);
	struct accounting all = {0};
	const struct wire_counters *sum = &all.sum;
	const struct source *source;
	uint64_t sampled_ns = 0;
	size_t i = 0;

	while ((source = next_waits(session, &i)))
		accounting_add(&all, &source->accounting);
	if (!first_source(session)->waits) {
		sampled_ns = (samples->recorded + samples->counted) * session->waits.sample_ns;
		if (session->options.is_governed)
			sampled_ns = samples->taken_weight;
	}
	ret->time = (struct session_time){
		.shown_ns = totals->shown_ns,
		.hidden_ns = totals->hidden_ns,
		.sampled_ns = sampled_ns,
		.sample_ns = session->waits.sample_ns,
		.open_ns = waits->open_ns,
		.nr_open = waits->nr_open,
		.open_passed_ns = waits->open_passed_ns,
		.lost_ns = waits->open_lost_ns +
			   (sum->cut_ns > waits->cut_ns ? sum->cut_ns - waits->cut_ns : 0),
		.unended_ns = waits->cut_ns > sum->cut_ns ? waits->cut_ns - sum->cut_ns : 0,
		.divided_ns = drain_split(session->drain)->divided_ns,
		.undivided_ns = totals->undivided_ns,
		.split_error_ns = (uint64_t)split_error_ns(drain_split(session->drain)),
	};
	walk_budget_summarize(&session->budget, session->stopped_ns, &ret->walks);
	ret->nr_mismatches +=
		distance(sum->counted_ns + sampled_ns, totals->counted_ns + totals->recorded_ns) +
		distance(sum->sent_ns, waits->sent_ns) +
		distance(totals->shown_ns + totals->hidden_ns,
			 sum->counted_ns + sum->sent_ns + sampled_ns + waits->open_ns +
				 waits->cut_ns - waits->unknown_ns) +
		waits->unknown_ns;
}

void session_summarize(const struct session *session, struct session_summary *ret)
{
	const struct drain_totals *totals = drain_totals(session->drain);
	const struct accounting *ticks = &first_source(session)->accounting;
	struct accounting accounting = {0};
	const struct wire_counters *sum = &accounting.sum;
	uint64_t ring_bytes = 0;
	size_t i;

	for (i = 0; i < session->nr_sources; i++) {
		accounting_add(&accounting, &session->sources[i].accounting);
		ring_bytes += session->sources[i].sizes.ring_bytes;
	}
	accounting.nr_epochs = ticks->nr_epochs;
	*ret = (struct session_summary){
		.accounting = accounting,
		.complete = session->complete,
		.shown = totals->records + totals->counted - totals->hidden,
		.hidden = totals->hidden,
		.nr_ticks = ticks->sum.entries - ticks->sum.idle,
		.sampling_cpu_ns = session->sampling_cpu_ns,
		.sampled_ns = session->stopped_ns - session->started_ns,
		.longest_stall_ns = session->longest_stall_ns,
		.longest_turn_ns = session->longest_turn_ns,
		.first_sample_ns = totals->first_ns,
		.throttled_ns = session->absence.throttled_ns,
		.stolen_ns = session->absence.stolen_ns,
		.unwatched = session->unwatched.code ? session->unwatched.text : NULL,
		.nr_process_events = totals->events,
		.nr_lost_events = session->nr_lost_events,
		.nr_forgotten = process_table_nr_forgotten(session->processes),
		.nr_mismatches = distance(sum->recorded, totals->records) +
				 distance(sum->counted, totals->counted),
		.budget = summarize_budget(session),
		.ring_bytes = ring_bytes,
		.nr_files = file_table_nr_seen(session->files),
		.nr_files_gone = file_table_nr_sampled(session->files, FILE_GONE),
		.nr_files_refused = file_table_nr_sampled(session->files, FILE_REFUSED),
		.max_roots = file_table_max_roots(session->files),
		.nr_files_left_out = file_table_nr_sampled(session->files, FILE_NOT_OPENED),
		.nr_files_silent = file_table_nr_sampled(session->files, FILE_SILENT) +
				   file_table_nr_sampled(session->files, FILE_ASKED),
		.nr_paths_cut = file_table_nr_cut(session->files),
		.nr_mappings_refused = file_table_nr_refused(session->files),
		.nr_runtimes_refused = runtime_table_nr_refused(session->runtimes),
		.nr_runtimes_unheld = runtime_table_nr_unheld(session->runtimes),
		.nr_processes = process_table_nr(session->processes),
		.nr_processes_refused = process_table_nr_refused(session->processes),
		.nr_processes_silent = process_table_nr_silent(session->processes),
		.nr_mappings_left_out = process_table_nr_left_out(session->processes),
		.nr_refreshes_postponed = process_table_nr_postponed(session->processes),
		.nr_unsliced = totals->unsliced,
		.nr_unawaited = totals->unawaited,
		.profile_bytes = profile_bytes(session->profile),
	};
	summarize_events(session, ret);
	if (session->options.waits)
		summarize_time(session, ret);
	for (i = 0; i < session->nr_sources; i++)
		sampler_add_cost(session->sources[i].sampler, &ret->cost);
	if (session->unwinder)
		unwinder_read_cost(session->unwinder, &ret->unwinding);
	worker_troubles_add(session->worker, &ret->reading);
}
