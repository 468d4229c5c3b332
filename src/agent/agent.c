/*
 * The agent is a collector around the one of a run with stacks (run/stacks): that one samples, names each interval in a
 * thread of its own, and hands it over; here an interval is an epoch, which goes to the store (agent/keeper).
 *
 * This file adds the needs of a run without end. Once a second it looks around: has somebody asked for a pause,
 * is a rest over, does the service manager want to know that we are alive? At the end of each epoch the governor sets
 * the rate. A pause detaches everything: the session ends, and a new one begins after it; names that are known stay.
 */
#include "agent/agent.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/governor.h"
#include "agent/keeper.h"
#include "agent/service.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/isolated.h"
#include "event/event.h"
#include "proc/cgroup.h"
#include "proc/process_info.h"
#include "run/complain.h"
#include "run/run.h"
#include "run/stacks.h"
#include "serve/serve.h"
#include "serve/status.h"

#define TICK_NS	  NS_PER_SEC
#define MEMORY_NS (60 * NS_PER_SEC)   /* between two measurements of the memory */
#define REPORT_NS (3600 * NS_PER_SEC) /* between two reports of the cost */

/*
 * A rest after the cost ran away, or after a session could not begin; each is twice as long as the one before, until
 * the budget is held again.
 */
#define FIRST_REST_NS (60 * NS_PER_SEC)
#define MOST_REST_NS  (3600 * NS_PER_SEC)

/* Shares of --max-memory. The rest is for rings, the tables of processes and files, SQLite, and the programs. */
#define TABLES_SHARE   4 /* unwind tables, in the kernel */
#define SYMBOLS_SHARE  4 /* in a helper process */
#define PROFILES_SHARE 8 /* of the present epoch; as much again for the one that is named */

/* What it takes to open the store, and to give the server another user. */
#define SERVER_CAPABILITIES (1ULL << CAP_DAC_READ_SEARCH | 1ULL << CAP_SETUID | 1ULL << CAP_SETGID)
#define SERVER_REST_NS	    (10 * NS_PER_SEC) /* between two starts */

/* Why nothing is sampled: bits. */
enum {
	PAUSED_BY_SIGNAL = 1 << 0,
	PAUSED_BY_FILE = 1 << 1,
	PAUSED_BY_REST = 1 << 2,
};

struct agent {
	struct agent_options *options;
	struct collector collector;
	struct stacks stacks;
	struct sampled_event event;
	struct sampler_waits waits;
	struct keeper keeper;
	struct governor governor;
	struct service service;
	int signal_fd; /* SIGUSR1 */
	unsigned pauses;
	uint64_t bpf_before_ns; /* of sessions that have ended */
	uint64_t next_tick_ns, next_memory_ns, next_report_ns;
	uint64_t rest_ns, rest_until_ns; /* the last rest */
	uint64_t memory_bytes, most_memory_bytes;
	/* The server. */
	struct serving serving;
	struct shared_status *shared; /* NULL: none */
	struct status status;
	struct accounting before; /* of sessions that have ended */
	pid_t server_pid;	  /* 0: none */
	uint64_t server_next_ns;  /* when to start it again */
};

/* --- cost ------------------------------------------------------------------------------------- */

static struct governor_reading read_cost(const struct agent *agent)
{
	const struct session *session = agent->stacks.session;
	struct process_usage usage;

	process_own_usage(false, agent->server_pid, &usage);
	return (struct governor_reading){
		.now_ns = clock_now_ns(),
		.own_ns = usage.cpu_ns,
		.bpf_ns = agent->bpf_before_ns + (session ? session_bpf_ns(session) : 0),
	};
}

/* Rates are by the samples that are taken, not by the ticks. */
static double rate_of(const struct agent *agent)
{
	return (double)agent->options->frequency / agent->governor.one_of;
}

static void report(const struct agent *agent)
{
	const struct governor *governor = &agent->governor;

	if (agent->options->tasks.quiet)
		return;
	inform("%.3g %% of %u CPUs (own %.3g %%, BPF programs %.3g %%) at %.3g Hz, memory %.0f MB, "
	       "at "
	       "most %.0f MB; %" PRIuFAST64 " epochs stored, %" PRIuFAST64
	       " dropped, store %.1f MB",
	       100 * (governor->own + governor->bpf), governor->limits.nr_cpus, 100 * governor->own,
	       100 * governor->bpf, rate_of(agent), (double)agent->memory_bytes / 1e6,
	       (double)agent->most_memory_bytes / 1e6, agent->keeper.nr_stored,
	       agent->keeper.nr_dropped, (double)agent->keeper.bytes / 1e6);
}

/* All processes and kernel maps. What is over the limit is reported when it gets worse. */
static void measure_memory(struct agent *agent)
{
	const uint64_t limit = agent->options->max_memory_bytes;
	struct session_summary summary = {0};
	struct process_usage usage;

	process_own_usage(true, agent->server_pid, &usage);
	if (agent->stacks.session)
		session_summarize(agent->stacks.session, &summary);
	agent->memory_bytes =
		usage.pss_bytes + summary.cost.map_bytes + summary.unwinding.chunk_bytes;
	if (agent->memory_bytes <= agent->most_memory_bytes)
		return;
	agent->most_memory_bytes = agent->memory_bytes;
	if (limit && agent->memory_bytes > limit)
		complain("memory %.0f MB (processes %.0f MB, kernel maps %.0f MB) is over "
			 "--max-memory",
			 (double)agent->memory_bytes / 1e6, (double)usage.pss_bytes / 1e6,
			 (double)(agent->memory_bytes - usage.pss_bytes) / 1e6);
}

/* --- the server ------------------------------------------------------------------------------- */

/*
 * A process that only opens the store's files for the server proper, which has no rights. It is started before anything
 * is sampled, so that it inherits nothing. What it costs is not the agent's: else whoever looks would lower the rate.
 */
__attribute__((noreturn)) static void run_server(struct agent *agent, pid_t parent)
{
	const int kept[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, agent->serving.fd};
	struct error error = {0};
	sigset_t none;

	isolated_close_others(kept, ARRAY_SIZE(kept));
	isolated_keep_capabilities(SERVER_CAPABILITIES, 0);
	(void)signal(SIGUSR1, SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_NAME, "stook-serve");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent &&
	    serve_run(&agent->serving, agent->shared, &error) < 0)
		complain_error(&error);
	_exit(EXIT_FAILED);
}

static void start_server(struct agent *agent)
{
	const pid_t parent = getpid();

	agent->server_next_ns = clock_now_ns() + SERVER_REST_NS;
	agent->server_pid = fork();
	if (agent->server_pid == 0)
		run_server(agent, parent);
	if (agent->server_pid < 0)
		agent->server_pid = 0;
}

static int open_server(struct agent *agent, struct error *error)
{
	const struct agent_options *options = agent->options;
	const struct serve_options serve = {
		.store = options->store_path,
		.listen = options->listen,
		.token_file = options->token_file,
	};
	int err = serve_open(&agent->serving, &serve, error);

	if (err)
		return err;
	agent->shared = shared_status_new();
	if (!agent->shared)
		return error_no_memory(error, "for the server");
	agent->status.started_ns = clock_now_ns();
	start_server(agent);
	if (!options->tasks.quiet)
		inform("serving at %s", agent->serving.where);
	return 0;
}

static void end_server(struct agent *agent)
{
	if (agent->server_pid) {
		(void)kill(agent->server_pid, SIGKILL);
		(void)waitpid(agent->server_pid, NULL, 0);
	}
	serve_close(&agent->serving);
}

/* Starts it again if it died. */
static void watch_server(struct agent *agent, uint64_t now_ns)
{
	if (agent->server_pid && waitpid(agent->server_pid, NULL, WNOHANG) == agent->server_pid) {
		complain("the server ended");
		agent->server_pid = 0;
	}
	if (!agent->server_pid && now_ns >= agent->server_next_ns)
		start_server(agent);
}

/* Takes the counters of the session, which is about to end if is_last. */
static void count_session(struct agent *agent, bool is_last)
{
	struct status *status = &agent->status;
	struct accounting all = agent->before;
	struct session_summary summary;
	size_t i;

	if (!agent->shared || !agent->stacks.session)
		return;
	session_summarize(agent->stacks.session, &summary);
	accounting_add(&all, &summary.accounting);
	status->entries = all.sum.entries;
	status->idle = all.sum.idle;
	status->own = all.sum.own;
	status->filtered = all.sum.filtered;
	status->ended = all.sum.ended;
	status->recorded = all.sum.recorded;
	status->counted = all.sum.counted;
	status->thinned = all.sum.thinned;
	for (i = 0; i < WIRE_NR_LOSS_REASONS; i++)
		status->lost[i] = all.sum.lost[i];
	if (is_last)
		agent->before = all;
}

/* Tells the server how the agent is. */
static void tell_server(struct agent *agent, uint64_t now_ns)
{
	const struct governor_reading *cost = &agent->governor.last;
	struct status *status = &agent->status;
	size_t i;

	if (!agent->shared)
		return;
	status->told_ns = now_ns;
	status->epoch_ns = agent->options->tasks.interval_ns;
	status->stored_ns = agent->keeper.stored_ns;
	status->nr_stored = agent->keeper.nr_stored;
	status->nr_dropped = agent->keeper.nr_dropped;
	for (i = 0; i < NR_WALK_ENDS; i++) {
		status->user_walks_ns[i] = agent->keeper.user_walks_ns[i];
		status->kernel_walks_ns[i] = agent->keeper.kernel_walks_ns[i];
	}
	status->is_paused = agent->pauses != 0;
	status->own_ns = cost->own_ns;
	status->bpf_ns = cost->bpf_ns;
	status->memory_bytes = agent->memory_bytes;
	status->rate_hz = rate_of(agent);
	status->budget = agent->options->budget;
	shared_status_write(agent->shared, status);
}

/* --- pauses ----------------------------------------------------------------------------------- */

static void rest(struct agent *agent)
{
	agent->rest_ns = agent->rest_ns ? 2 * agent->rest_ns : FIRST_REST_NS;
	if (agent->rest_ns > MOST_REST_NS)
		agent->rest_ns = MOST_REST_NS;
	agent->rest_until_ns = clock_now_ns() + agent->rest_ns;
}

static int pause_for(struct agent *agent, unsigned reason, const char *why, struct error *error)
{
	const bool sampled = !agent->pauses;

	agent->pauses |= reason;
	if (!sampled)
		return 0;
	agent->bpf_before_ns += session_bpf_ns(agent->stacks.session);
	count_session(agent, true);
	complain("paused: %s", why);
	service_notify(&agent->service, "STATUS=paused");
	return stacks_pause(&agent->stacks, error);
}

/* If a session cannot begin, tries again after a rest. */
static void resume(struct agent *agent)
{
	struct governor_reading now;
	struct error error = {0};

	if (stacks_resume(&agent->stacks, &error) < 0) {
		complain_error(&error);
		agent->pauses |= PAUSED_BY_REST;
		rest(agent);
		return;
	}
	complain("resumed");
	service_notify(&agent->service, "STATUS=sampling");
	session_thin(agent->stacks.session, agent->governor.one_of);
	now = read_cost(agent);
	governor_resume(&agent->governor, &now);
}

static void end_pause(struct agent *agent, unsigned reason)
{
	if (!(agent->pauses & reason))
		return;
	agent->pauses &= ~reason;
	if (!agent->pauses)
		resume(agent);
}

static int take_signal(struct agent *agent, struct error *error)
{
	struct signalfd_siginfo info;

	if (read(agent->signal_fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	if (!(agent->pauses & PAUSED_BY_SIGNAL))
		return pause_for(agent, PAUSED_BY_SIGNAL, "SIGUSR1; another one resumes", error);
	end_pause(agent, PAUSED_BY_SIGNAL);
	return 0;
}

static int look_for_file(struct agent *agent, struct error *error)
{
	const char *path = agent->options->pause_path;

	if (!path)
		return 0;
	if (access(path, F_OK) == 0)
		return pause_for(agent, PAUSED_BY_FILE, "the file of --pause-file is there", error);
	end_pause(agent, PAUSED_BY_FILE);
	return 0;
}

/* --- the collector ---------------------------------------------------------------------------- */

static const struct collector_ops *inner_ops(const struct agent *agent)
{
	return agent->stacks.collector.ops;
}

static int tick(struct agent *agent, struct error *error)
{
	const uint64_t now_ns = clock_now_ns();
	int err;

	if (now_ns < agent->next_tick_ns)
		return 0;
	agent->next_tick_ns = now_ns + TICK_NS;
	service_tell_alive(&agent->service, now_ns);
	if (agent->shared) {
		watch_server(agent, now_ns);
		tell_server(agent, now_ns);
	}
	err = look_for_file(agent, error);
	if (!err && now_ns >= agent->rest_until_ns)
		end_pause(agent, PAUSED_BY_REST);
	if (now_ns >= agent->next_memory_ns) {
		agent->next_memory_ns = now_ns + MEMORY_NS;
		measure_memory(agent);
	}
	if (now_ns >= agent->next_report_ns) {
		agent->next_report_ns = now_ns + REPORT_NS;
		report(agent);
	}
	return err;
}

static int prepare(struct collector *collector, struct error *error)
{
	struct agent *agent = collector->context;
	struct agent_options *options = agent->options;
	struct error no_cgroups;
	int cgroup_fd = cgroup_open_root(&no_cgroups);

	/* On a host without version 2, the store's labels come from /proc. */
	if (cgroup_fd < 0)
		options->stacks.labels &= ~(unsigned)LABEL_CGROUP;
	else
		(void)close(cgroup_fd);
	agent->stacks.collector.run = collector->run;
	if (keeper_open(&agent->keeper, options->store_path, options->retain_ns,
			options->max_disk_bytes, error) < 0)
		return error->code;
	agent->keeper.is_off_cpu = options->off_cpu;
	if (options->listen && open_server(agent, error) < 0)
		return error->code;
	return inner_ops(agent)->prepare(&agent->stacks.collector, error);
}

static int load(struct collector *collector, struct error *error)
{
	struct agent *agent = collector->context;

	return inner_ops(agent)->load(&agent->stacks.collector, error);
}

static int start(struct collector *collector, struct error *error)
{
	struct agent *agent = collector->context;
	const struct agent_options *options = agent->options;
	const struct governor_limits limits = {
		.budget = options->budget,
		.most = (uint32_t)options->frequency,
		.nr_cpus = (uint32_t)agent->stacks.online.nr,
	};
	struct governor_reading first;
	int err = inner_ops(agent)->start(&agent->stacks.collector, error);

	if (err)
		return err;
	first = read_cost(agent);
	governor_init(&agent->governor, &limits, &first);
	agent->next_report_ns = first.now_ns + MEMORY_NS;
	service_notify(&agent->service, "READY=1\nSTATUS=sampling");
	if (!options->tasks.quiet)
		inform("sampling at %" PRIu64 " Hz into '%s', epochs of %g s", options->frequency,
		       options->store_path, (double)options->tasks.interval_ns / 1e9);
	return 0;
}

static int wait_or_rest(struct agent *agent, uint64_t until_ns, struct pollfd *fds, size_t nr_fds,
			struct error *error)
{
	const struct clock *clock = &agent->collector.run->clock;
	int err;

	if (agent->stacks.session)
		return inner_ops(agent)->wait(&agent->stacks.collector, until_ns, fds, nr_fds,
					      error);
	err = clock->wait(clock->context, until_ns, fds, nr_fds);
	return err ? error_set(error, err, "cannot wait: %s", strerror(-err)) : 0;
}

/* May return early, for a tick. */
static int wait_and_look(struct collector *collector, uint64_t until_ns, struct pollfd *fds,
			 size_t nr_fds, struct error *error)
{
	struct agent *agent = collector->context;
	cleanup_free struct pollfd *all = calloc(nr_fds + 1, sizeof(*all));
	int err;

	if (!all)
		return error_no_memory(error, "");
	memcpy(all, fds, nr_fds * sizeof(*fds));
	all[nr_fds] = (struct pollfd){.fd = agent->signal_fd, .events = POLLIN};
	if (agent->next_tick_ns < until_ns)
		until_ns = agent->next_tick_ns;
	err = wait_or_rest(agent, until_ns, all, nr_fds + 1, error);
	memcpy(fds, all, nr_fds * sizeof(*fds));
	if (!err && all[nr_fds].revents)
		err = take_signal(agent, error);
	return err ? err : tick(agent, error);
}

static int govern(struct agent *agent, struct error *error)
{
	const struct governor_reading now = read_cost(agent);
	const uint32_t before = agent->governor.one_of;

	governor_judge(&agent->governor, &now);
	if (governor_is_runaway(&agent->governor)) {
		rest(agent);
		report(agent);
		return pause_for(agent, PAUSED_BY_REST,
				 "the cost is far over --budget at the lowest rate", error);
	}
	if (agent->governor.one_of < agent->governor.limits.most)
		agent->rest_ns = 0; /* the budget is held again */
	session_thin(agent->stacks.session, agent->governor.one_of);
	if (agent->options->tasks.verbose || (before == 1) != (agent->governor.one_of == 1))
		report(agent);
	return 0;
}

static int end_epoch(struct collector *collector, bool is_last, struct error *error)
{
	struct agent *agent = collector->context;
	int err = inner_ops(agent)->interval(&agent->stacks.collector, is_last, error);

	count_session(agent, false);
	return err || is_last || !agent->stacks.session ? err : govern(agent, error);
}

static int stop(struct collector *collector, struct error *error)
{
	struct agent *agent = collector->context;

	service_notify(&agent->service, "STOPPING=1");
	measure_memory(agent);
	return inner_ops(agent)->stop(&agent->stacks.collector, error);
}

/* The law of conservation, for the last session. */
static void check_sums(const struct agent *agent)
{
	struct session_summary summary;

	if (!agent->stacks.session)
		return;
	session_summarize(agent->stacks.session, &summary);
	if (summary.complete && (summary.accounting.nr_violations || summary.nr_mismatches))
		complain("the kernel's counters and the samples do not agree: %" PRIu64
			 " epochs, %" PRIu64 " samples",
			 summary.accounting.nr_violations, summary.nr_mismatches);
}

static int summarize(struct collector *collector, struct error *error)
{
	const struct agent *agent = collector->context;

	if (!collector->run->has_started)
		return 0;
	check_sums(agent);
	report(agent);
	return 0;
}

static const struct collector_ops ops = {
	.prepare = prepare,
	.load = load,
	.start = start,
	.wait = wait_and_look,
	.interval = end_epoch,
	.stop = stop,
	.summarize = summarize,
};

/* --- the samples ------------------------------------------------------------------------------ */

static int choose(void *context, struct stack_source *ret, struct error *error)
{
	struct agent *agent = context;
	const struct agent_options *options = agent->options;
	int err = event_parse("cpu-clock", &agent->event.event, error);

	if (err)
		return err;
	agent->event.rate = (struct sampling_rate){.frequency = options->frequency};
	agent->waits = (struct sampler_waits){
		.states = UINT32_MAX,
		.budget_share = options->off_cpu_budget,
	};
	*ret = (struct stack_source){
		.events = &agent->event,
		.nr_events = 1,
		.by_period = !options->off_cpu,
		.waits = options->off_cpu ? &agent->waits : NULL,
		.is_governed = true,
		.unit = "samples",
		.event_name = PROFILE_CPU_TIME,
		.period_unit = "nanoseconds",
		.is_sum = true,
	};
	return 0;
}

static int take(void *context, struct profile *profile, const struct session_part *part,
		struct error *error)
{
	struct agent *agent = context;

	return keeper_add(&agent->keeper, profile, part);
}

static const struct stack_command command = {.choose = choose, .take = take};

/* Pools are made as large as their share of the memory, unless it is so small that little would work. */
static void size_pools(struct agent_options *options)
{
	const uint64_t all = options->max_memory_bytes;

	options->stacks.max_table_bytes = all / TABLES_SHARE;
	options->stacks.naming.max_bytes = all / SYMBOLS_SHARE;
	options->stacks.max_profile_bytes = all / PROFILES_SHARE;
}

int agent_run(struct agent_options *options)
{
	struct agent agent = {.options = options, .serving = {.fd = -1}};
	sigset_t signals;
	int status;

	size_pools(options);
	agent.collector = (struct collector){.ops = &ops, .context = &agent};
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	agent.signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	service_open(&agent.service);
	stacks_init(&agent.stacks, &options->stacks, &command, &agent);
	status = run_collector(&options->tasks, NULL, &agent.collector);
	stacks_clear(&agent.stacks);
	keeper_close(&agent.keeper);
	end_server(&agent);
	service_close(&agent.service);
	cleanup_close_fd(&agent.signal_fd);
	return status;
}
