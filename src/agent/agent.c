/*
 * The agent is a collector around the one of a run with stacks (run/stacks): that one samples, names each interval in a
 * thread of its own, and hands it over, once without names and once with them; here an interval is an epoch, which goes
 * to the store (agent/keeper).
 *
 * This file adds the needs of a run without end. Once a second it looks around: has somebody asked for a pause,
 * is a rest over, does the service manager want to know that we are alive? At the end of each epoch the governor sets
 * the rate. A pause detaches everything: the session ends, and a new one begins after it; names that are known stay.
 */
#include "agent/agent.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
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
#include "kernel/cpus.h"
#include "proc/cgroup.h"
#include "proc/process_info.h"
#include "run/complain.h"
#include "run/names.h"
#include "run/process_labels.h"
#include "run/run.h"
#include "run/stacks.h"
#include "serve/serve.h"
#include "serve/status.h"

#define TICK_NS		NS_PER_SEC
#define MEMORY_NS	(10 * NS_PER_SEC)   /* between two measurements of the memory */
#define REPORT_NS	(3600 * NS_PER_SEC) /* between two reports of the cost */
#define FIRST_REPORT_NS (60 * NS_PER_SEC)

/*
 * Names and unwind tables come in bursts, when programs begin. These shares of the budget pay for them afterwards; for
 * names, the next ones wait until then, and for tables, as much is allowed at once as the share pays for in
 * LONGEST_NS.
 */
#define NAMES_PACE	0.5
#define TABLES_PACE	0.25
#define FEW_TABLES_PACE 0.025
#define LONGEST_NS	(60 * NS_PER_SEC) /* of epochs that are named together */

/*
 * A rest after the cost ran away, or after a session could not begin; each is twice as long as the one before, until
 * the budget is held again.
 */
#define FIRST_REST_NS (60 * NS_PER_SEC)
#define MOST_REST_NS  (3600 * NS_PER_SEC)

/*
 * Pools: 64ths of --max-memory, of which the rest is for the program, and its tables of processes and files. Parsers of
 * unwind tables and of symbols have pools of their own, since either may be at a large file for minutes; in each, one of
 * two parsers has much memory at a time.
 */
#define SHARES	      64
#define TABLES_SHARES 12 /* unwind tables, in the kernel */
#define TABLE_MUCH_SHARES \
	12 /* a parser that makes a large table, and the table until it is in the kernel */
#define TABLE_LITTLE_SHARES 2
#define NAME_MUCH_SHARES    14 /* a parser that reads the symbols of a large file, and keeps them */
#define NAME_LITTLE_SHARES  2
#define BUFFERS_SHARES \
	4 /* rings, counts and threads in the kernel, process events; as much for what is held back */
#define PROFILES_SHARES 3 /* of the present epoch; as much again for the one that is named */
#define STORE_SHARES	2 /* the store's numbers, and SQLite's cache */
#define PROGRAM_SHARES	6
#define MOST_HALVINGS	2 /* of all of these, after pauses because of memory */

_Static_assert(TABLES_SHARES + TABLE_MUCH_SHARES + TABLE_LITTLE_SHARES + NAME_MUCH_SHARES +
			       NAME_LITTLE_SHARES + 2 * BUFFERS_SHARES + 2 * PROFILES_SHARES +
			       STORE_SHARES + PROGRAM_SHARES ==
		       SHARES,
	       "the pools are all of --max-memory");

/*
 * A question to the server may need half as much again as --max-memory: regressions of a week by hours, of 46,000
 * stacks, need 154 MB. The unit's MemoryMax= has room for all that questions and answers may need.
 */
#define QUESTION_SHARE	     1.5
#define LEAST_QUESTION_BYTES (64ULL << 20)

/* The server's host opens the store with the first of these, and gives the server another user with the others. */
#define SERVER_CAPABILITIES (1ULL << CAP_DAC_READ_SEARCH | 1ULL << CAP_SETUID | 1ULL << CAP_SETGID)
#define SERVER_REST_S	    10 /* between two starts, twice as long each time, up to the next one */
#define SERVER_MOST_S	    600

/* Why nothing is sampled: bits. */
enum {
	PAUSED_BY_SIGNAL = 1 << 0,
	PAUSED_BY_FILE = 1 << 1,
	PAUSED_BY_REST = 1 << 2,
};

/* The helper processes that read others' files, of the session or of the naming thread. */
struct helpers {
	uint64_t nr_before;	 /* failures of those of sessions that have ended */
	uint64_t nr_told;	 /* of which the user knows */
	uint64_t next_ns;	 /* when he may be told of more */
	atomic_uint_fast64_t nr; /* failures ever */
};

struct agent {
	struct agent_options *options;
	char *first_text; /* of the configuration: options refer to it that are not read again */
	const struct agent_reader *reader;
	struct collector collector;
	struct stacks stacks;
	struct sampled_event event;
	struct sampler_waits waits;
	struct keeper keeper;
	struct process_labels *own_labels; /* that processes give themselves */
	struct governor governor;
	struct service service;
	int signal_fd; /* SIGUSR1; SIGHUP with a configuration */
	unsigned pauses;
	struct session_cost before; /* of sessions that have ended */
	struct helpers table_helpers, name_helpers;
	atomic_uint_fast64_t store_ns; /* CPU time for labels and writing epochs */
	uint64_t stored_ns;	       /* when epochs were last given to be named */
	uint64_t given_ns;	       /* how long these epochs took */
	uint64_t wait_ns;	       /* how long the present ones wait */
	uint64_t naming_ns;	       /* the cost of names until then */
	uint64_t next_tick_ns, next_memory_ns, next_report_ns;
	uint64_t rest_ns, rest_until_ns; /* the last rest */
	/* The server. */
	struct serving serving;
	struct shared_status shared;
	struct status status;
	struct accounting counted;  /* of sessions that have ended */
	uint64_t nr_kept, nr_lost;  /* samples, of these and of the present one */
	pid_t server_pid;	    /* 0: none */
	uint64_t server_ns;	    /* CPU time of one that has ended */
	struct memory memory;	    /* the server's, too */
	struct memory own;	    /* without it */
	uint64_t map_bytes;	    /* of this: in the kernel */
	struct shortages shortages; /* in sessions that have ended */
	uint64_t nr_shrinks;
	unsigned nr_halvings;	    /* of the pools' sizes */
	atomic_bool shrinks_naming; /* see shrink() */
};

/* --- cost ------------------------------------------------------------------------------------- */

static struct session_cost cost_of_sessions(const struct agent *agent)
{
	struct session_cost sum = {0};

	if (agent->stacks.session)
		session_read_cost(agent->stacks.session, &sum);
	sum.sample_ns += agent->before.sample_ns;
	sum.switch_ns += agent->before.switch_ns;
	sum.record_ns += agent->before.record_ns;
	return sum;
}

static uint64_t rest_of(uint64_t whole, uint64_t part)
{
	return whole > part ? whole - part : 0;
}

/* CPUs come and go in a long run. 1 if unknown. */
static uint32_t nr_online_cpus(void)
{
	cleanup(cpus_clear) struct cpus online = {0};
	struct error error;

	return cpus_read(&online, "online", &error) == 0 ? (uint32_t)online.nr : 1;
}

static struct governor_reading read_cost(const struct agent *agent)
{
	const struct session_cost sessions = cost_of_sessions(agent);
	const uint64_t thread_ns = intervals_cpu_ns(agent->stacks.intervals);
	const uint64_t upkeep_ns = agent->keeper.upkeep_ns;
	struct process_usage usage;

	process_own_usage(false, agent->server_pid, &usage);
	return (struct governor_reading){
		.now_ns = clock_now_ns(),
		.nr_cpus = nr_online_cpus(),
		.cost_ns[COST_SAMPLES] = sessions.sample_ns,
		.cost_ns[COST_RECORDS] = sessions.record_ns,
		.cost_ns[COST_STORE] = agent->store_ns,
		.cost_ns[COST_SWITCHES] = sessions.switch_ns,
		.cost_ns[COST_EVENTS] = rest_of(usage.own_ns, thread_ns + sessions.record_ns),
		.cost_ns[COST_NAMES] = rest_of(thread_ns, agent->store_ns + upkeep_ns),
		.cost_ns[COST_UPKEEP] = upkeep_ns,
		.cost_ns[COST_HELPERS] = rest_of(usage.helper_ns, agent->server_ns),
	};
}

/* Rates are by the samples that are taken, not by the ticks. */
static double rate_of(const struct agent *agent)
{
	return (double)agent->options->frequency / agent->governor.one_of;
}

static const char *const cost_names[] = {
#define X(id, by_rate, ends, name) name,
	GOVERNOR_COSTS(X)
#undef X
};

#define COSTS_BYTES 256

/* "samples 0.02 %, records 0.01 %, …" */
static void print_costs(const struct governor *governor, char text[COSTS_BYTES])
{
	size_t at = 0;
	unsigned i;

	text[0] = '\0';
	for (i = 0; i < NR_COSTS && at < COSTS_BYTES; i++)
		if (governor->shares[i] > 0)
			at += (size_t)snprintf(text + at, COSTS_BYTES - at, "%s%s %.2g %%",
					       at ? ", " : "", cost_names[i],
					       100 * governor->shares[i]);
}

/* --- the report -------------------------------------------------------------------------------- */

/* Returns the sums of the present session, zeros if there is none. */
static struct session_summary summary_of(const struct agent *agent)
{
	struct session_summary summary = {0};

	if (agent->stacks.session)
		session_summarize(agent->stacks.session, &summary);
	return summary;
}

/* Returns the sums of all sessions, with those of the present one. */
static struct shortages find_shortages(const struct agent *agent,
				       const struct session_summary *summary)
{
	const struct symbolizer *symbolizer = agent->stacks.names.symbolizer;
	struct shortages sum = agent->shortages;

	sum.nr_tables_left_out += summary->unwinding.nr_too_large;
	sum.nr_tables_evicted += summary->unwinding.nr_evicted + summary->unwinding.nr_crowded;
	sum.nr_lost_events += summary->nr_lost_events;
	sum.nr_forgotten += summary->nr_forgotten;
	sum.nr_unpublished += summary->unwinding.nr_displaced + summary->unwinding.nr_unpublished +
			      summary->unwinding.nr_files_left_out;
	sum.nr_unseen += summary->nr_processes_silent + summary->nr_processes_refused +
			 summary->nr_mappings_refused + summary->nr_runtimes_refused +
			 summary->nr_runtimes_unheld;
	sum.nr_names_left_out = symbolizer ? symbolizer_nr_over_memory(symbolizer) : 0;
	return sum;
}

/*
 * Without its helper processes, a run without end would go on with stacks cut short, or without names, and say nothing.
 * is_last: these processes end now, and their failures are not known later.
 */
static void watch_helpers(struct helpers *helpers, const struct worker_troubles *troubles,
			  bool is_last)
{
	const uint64_t now_ns = clock_now_ns();
	size_t i;

	helpers->nr = helpers->nr_before + troubles->nr_parsers_died + troubles->nr_parsers_late +
		      troubles->nr_openers_died + troubles->nr_openers_late +
		      troubles->nr_files_given_up + troubles->nr_devices_given_up +
		      (troubles->cannot_start[0] != 0);
	if (helpers->nr == helpers->nr_told || (now_ns < helpers->next_ns && !is_last))
		return;
	for (i = 0;; i++) {
		cleanup_free char *trouble = reading_trouble(troubles, i);

		if (!trouble)
			break;
		complain("%s", trouble);
	}
	helpers->nr_told = helpers->nr;
	helpers->next_ns = now_ns + REPORT_NS;
}

static void report(const struct agent *agent)
{
	const struct governor *governor = &agent->governor;
	const struct session_summary summary = summary_of(agent);
	const struct shortages without = find_shortages(agent, &summary);
	const double bpf = governor->shares[COST_SAMPLES] + governor->shares[COST_SWITCHES];
	char costs[COSTS_BYTES];

	if (agent->options->tasks.quiet)
		return;
	inform("%.3g %% of %u CPUs (own %.3g %%, BPF programs %.3g %%) at %.3g Hz, memory %.0f MB "
	       "(kernel maps %.0f MB), at most %.0f MB, shrunk %" PRIu64 " times; %" PRIuFAST64
	       " epochs stored, %" PRIuFAST64 " dropped, store %.1f MB",
	       100 * governor_share(governor), governor->last.nr_cpus,
	       100 * (governor_share(governor) - bpf), 100 * bpf, rate_of(agent),
	       (double)agent->memory.bytes / 1e6, (double)agent->map_bytes / 1e6,
	       (double)agent->memory.most_bytes / 1e6, agent->nr_shrinks, agent->keeper.nr_stored,
	       agent->keeper.nr_dropped, (double)agent->keeper.bytes / 1e6);
	print_costs(governor, costs);
	if (agent->options->tasks.verbose)
		inform("cost: %s", costs);
	if (process_labels_nr_left_out(agent->own_labels))
		inform("attributes of processes left out (too long, too many, or not readable in "
		       "time): %" PRIu64,
		       process_labels_nr_left_out(agent->own_labels));
	if (without.nr_tables_left_out + without.nr_names_left_out)
		inform("given up for --max-memory: unwind tables of %" PRIu64
		       " files, names of %" PRIu64 " files and epochs",
		       without.nr_tables_left_out, without.nr_names_left_out);
	if (without.nr_tables_evicted)
		inform("unwind tables had no room, or were unloaded for others, %" PRIu64
		       " times (stacks may be cut short)",
		       without.nr_tables_evicted);
	if (without.nr_lost_events + without.nr_forgotten)
		inform("events of processes lost: %" PRIu64
		       ", mappings dropped or read in part: %" PRIu64 " (names may be missing)",
		       without.nr_lost_events, without.nr_forgotten);
	if (without.nr_unpublished + without.nr_unseen)
		inform("too many to be unwound by tables at a time: %" PRIu64
		       " processes and files; not looked at, in time or for want of room: %" PRIu64
		       " (names may be missing)",
		       without.nr_unpublished, without.nr_unseen);
	if (summary.unwatched)
		complain("a CPU that came online was not sampled at once: %s", summary.unwatched);
	if (agent->keeper.left_out_ns)
		inform("left out by rules: %.3g s of CPU time",
		       (double)agent->keeper.left_out_ns / 1e9);
}

/*
 * Parsers keep the symbols that they have read, up to a limit each, and the heap keeps what was freed. Above a share of
 * --max-memory, the naming thread ends its parsers after its next epoch: the symbols are read again when they are
 * needed. What is left has limits of its own.
 */
static void shrink(struct agent *agent)
{
	agent->nr_shrinks++;
	agent->shrinks_naming = true;
	(void)malloc_trim(0);
}

/* --- the server ------------------------------------------------------------------------------- */

/*
 * A process that only opens the store's files for the server proper, which has no rights, and starts it again if it
 * ends. It is started before the store is opened to write, before anything is sampled, and before there are threads, so
 * that it inherits no mapping of the store, no descriptors and no locks. Its CPU time is not part of the budget: else
 * whoever looks would lower the rate.
 */
__attribute__((noreturn)) static void run_server(struct agent *agent, pid_t parent)
{
	const int kept[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, agent->serving.fd};
	unsigned rest_s = SERVER_REST_S;
	sigset_t none;

	isolated_close_others(kept, ARRAY_SIZE(kept));
	isolated_keep_capabilities(SERVER_CAPABILITIES, 0);
	(void)signal(SIGUSR1, SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_NAME, "stook-serve");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		_exit(EXIT_FAILED);
	while (getppid() == parent) {
		const uint64_t began_ns = clock_now_ns();
		struct error error = {0};

		if (serve_run(&agent->serving, &agent->shared, &error) < 0)
			complain_error(&error);
		rest_s = clock_now_ns() - began_ns > MOST_REST_NS ? SERVER_REST_S : rest_s;
		(void)sleep(rest_s);
		rest_s = 2 * rest_s < SERVER_MOST_S ? 2 * rest_s : SERVER_MOST_S;
	}
	_exit(EXIT_FAILED);
}

static int open_server(struct agent *agent, struct error *error)
{
	const struct agent_options *options = agent->options;
	const pid_t parent = getpid();
	const uint64_t share = (uint64_t)(QUESTION_SHARE * (double)options->max_memory_bytes);
	const struct serve_options serve = {
		.store = options->store_path,
		.listen = options->listen,
		.token_file = options->token_file,
		.question_bytes = share > LEAST_QUESTION_BYTES ? share : LEAST_QUESTION_BYTES,
	};
	int err = serve_open(&agent->serving, &serve, error);

	if (err)
		return err;
	err = shared_status_init(&agent->shared);
	if (err)
		return error_set(error, err, "cannot make memory for the server: %s",
				 strerror(-err));
	agent->status.started_ns = clock_now_ns();
	agent->server_pid = fork();
	if (agent->server_pid == 0)
		run_server(agent, parent);
	if (agent->server_pid < 0) {
		agent->server_pid = 0;
		return error_set_errno(error, "cannot start the server");
	}
	return 0;
}

static void end_server(struct agent *agent)
{
	if (agent->server_pid) {
		(void)kill(agent->server_pid, SIGKILL);
		(void)waitpid(agent->server_pid, NULL, 0);
	}
	serve_close(&agent->serving);
	shared_status_clear(&agent->shared);
}

static void watch_server(struct agent *agent)
{
	struct rusage usage;

	if (!agent->server_pid ||
	    wait4(agent->server_pid, NULL, WNOHANG, &usage) != agent->server_pid)
		return;
	complain("the server ended, and starts with the agent's next start");
	agent->server_pid = 0;
	agent->server_ns = process_usage_ns(&usage);
}

/* Takes the counters of the session, which is about to end if is_last. */
static void count_session(struct agent *agent, bool is_last)
{
	struct status *status = &agent->status;
	struct accounting all = agent->counted;
	struct session_summary summary;
	uint64_t kept, lost;
	size_t i;

	if (!agent->stacks.session)
		return;
	session_summarize(agent->stacks.session, &summary);
	watch_helpers(&agent->table_helpers, &summary.reading, is_last);
	if (is_last)
		agent->table_helpers.nr_before = agent->table_helpers.nr;
	accounting_add(&all, &summary.accounting);
	kept = all.sum.recorded + all.sum.counted + all.sum.thinned;
	lost = accounting_lost(&all);
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
	/* On an idle host nothing is kept, and nothing lost. */
	if (kept > agent->nr_kept || lost == agent->nr_lost)
		status->kept_ns = clock_now_ns();
	agent->nr_kept = kept;
	agent->nr_lost = lost;
	if (is_last)
		agent->counted = all;
}

/* Tells the server how the agent is. */
static void tell_server(struct agent *agent, uint64_t now_ns)
{
	const struct governor_reading *cost = &agent->governor.last;
	struct status *status = &agent->status;
	struct session_summary summary;
	uint64_t own_ns = 0, bpf_ns = 0;
	size_t i;

	if (!agent->shared.page)
		return;
	summary = summary_of(agent);
	status->told_ns = now_ns;
	status->epoch_ns = agent->options->tasks.interval_ns;
	/* The ones that are being named may have waited longer than the present ones will. */
	status->store_interval_ns =
		agent->given_ns > agent->wait_ns ? agent->given_ns : agent->wait_ns;
	status->stored_ns = agent->keeper.stored_ns;
	status->nr_stored = agent->keeper.nr_stored;
	status->nr_dropped = agent->keeper.nr_dropped;
	for (i = 0; i < NR_WALK_ENDS; i++) {
		status->user_walks_ns[i] = agent->keeper.user_walks_ns[i];
		status->kernel_walks_ns[i] = agent->keeper.kernel_walks_ns[i];
	}
	status->is_paused = agent->pauses != 0;
	for (i = 0; i < NR_COSTS; i++)
		*(i == COST_SAMPLES || i == COST_SWITCHES ? &bpf_ns : &own_ns) += cost->cost_ns[i];
	/* The time of a helper that ends may be missing for a moment. */
	status->own_ns = own_ns > status->own_ns ? own_ns : status->own_ns;
	status->bpf_ns = bpf_ns > status->bpf_ns ? bpf_ns : status->bpf_ns;
	status->memory_bytes = agent->memory.bytes;
	status->shortages = find_shortages(agent, &summary);
	status->nr_helpers_failed = agent->table_helpers.nr + agent->name_helpers.nr;
	status->rate_hz = rate_of(agent);
	status->budget = agent->options->budget;
	shared_status_write(&agent->shared, status);
}

/* --- pauses ----------------------------------------------------------------------------------- */

static void rest(struct agent *agent)
{
	agent->rest_ns = agent->rest_ns ? 2 * agent->rest_ns : FIRST_REST_NS;
	if (agent->rest_ns > MOST_REST_NS)
		agent->rest_ns = MOST_REST_NS;
	agent->rest_until_ns = clock_now_ns() + agent->rest_ns;
}

/* The law of conservation, for a session that has ended. */
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

static int stop_session(struct agent *agent, struct error *error)
{
	const int err = stacks_stop(&agent->stacks, error);
	const struct session_summary summary = summary_of(agent);

	/* By now, with the last epoch. */
	agent->before = cost_of_sessions(agent);
	agent->shortages = find_shortages(agent, &summary);
	count_session(agent, true);
	check_sums(agent);
	stacks_end(&agent->stacks);
	return err;
}

static int pause_for(struct agent *agent, unsigned reason, const char *why, struct error *error)
{
	const bool sampled = !agent->pauses;

	agent->pauses |= reason;
	if (!sampled)
		return 0;
	complain("paused: %s", why);
	service_notify(&agent->service, "STATUS=paused");
	return stop_session(agent, error);
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
	agent->status.kept_ns = now.now_ns;
	governor_resume(&agent->governor, &now);
	memory_resume(&agent->own);
}

static void end_pause(struct agent *agent, unsigned reason)
{
	if (!(agent->pauses & reason))
		return;
	agent->pauses &= ~reason;
	if (!agent->pauses)
		resume(agent);
}

/* --- memory ----------------------------------------------------------------------------------- */

static size_t pool_bytes(const struct agent *agent, unsigned shares)
{
	return (size_t)(agent->options->max_memory_bytes >> agent->nr_halvings) / SHARES * shares;
}

/* The session takes its pools when it begins, the other threads at their next epoch. */
static void size_pools(struct agent *agent)
{
	struct stack_options *stacks = &agent->options->stacks;

	stacks->max_table_bytes = pool_bytes(agent, TABLES_SHARES);
	stacks->table_memory = (struct worker_memory){pool_bytes(agent, TABLE_LITTLE_SHARES),
						      pool_bytes(agent, TABLE_MUCH_SHARES)};
	stacks->name_memory = (struct worker_memory){pool_bytes(agent, NAME_LITTLE_SHARES),
						     pool_bytes(agent, NAME_MUCH_SHARES)};
	stacks->max_profile_bytes = pool_bytes(agent, PROFILES_SHARES);
	stacks->max_buffer_bytes = pool_bytes(agent, BUFFERS_SHARES);
	if (agent->stacks.names.symbolizer)
		symbolizer_limit_memory(agent->stacks.names.symbolizer, &stacks->name_memory);
	keeper_limit_memory(&agent->keeper, pool_bytes(agent, STORE_SHARES));
}

/* Memory of all processes and kernel maps. The server's is reported, but it has limits of its own. */
static enum memory_verdict measure_memory(struct agent *agent)
{
	const struct session_summary summary = summary_of(agent);
	const uint64_t now_ns = clock_now_ns();
	struct process_usage own;
	enum memory_verdict verdict;

	process_own_usage(true, agent->server_pid, &own);
	agent->map_bytes = summary.cost.map_bytes + summary.unwinding.chunk_bytes;
	(void)memory_judge(&agent->memory, own.pss_bytes + own.apart_pss_bytes + agent->map_bytes,
			   0, now_ns);
	verdict = memory_judge(&agent->own, own.pss_bytes + agent->map_bytes,
			       agent->options->max_memory_bytes, now_ns);
	if (verdict != MEMORY_FITS)
		shrink(agent);
	return verdict;
}

/* A pause gives back what the session has, and the next one has smaller pools. */
static int hold_memory(struct agent *agent, struct error *error)
{
	const enum memory_verdict verdict = measure_memory(agent);
	char why[160];

	if (verdict < MEMORY_PAUSE || agent->pauses)
		return 0;
	if (agent->nr_halvings < MOST_HALVINGS)
		agent->nr_halvings++;
	(void)snprintf(why, sizeof(why),
		       "%s: %.0f MB (kernel maps %.0f MB); from now on with 1/%u of the room for "
		       "tables and names",
		       verdict == MEMORY_EXTREME ? "the memory is more than twice --max-memory"
						 : "--max-memory cannot be held",
		       (double)agent->own.bytes / 1e6, (double)agent->map_bytes / 1e6,
		       1U << agent->nr_halvings);
	size_pools(agent);
	rest(agent);
	return pause_for(agent, PAUSED_BY_REST, why, error);
}

/* --- the configuration ------------------------------------------------------------------------ */

static struct keeper_settings *make_settings(struct agent_options *options)
{
	struct keeper_settings *settings = calloc(1, sizeof(*settings));

	if (!settings)
		return NULL;
	*settings = (struct keeper_settings){
		.retain_ns = options->retain_ns,
		.max_bytes = options->max_disk_bytes,
		.rules = options->rules,
	};
	options->rules = (struct relabel_rules){0};
	return settings;
}

/* Exchanges what can change in a run. The rest was used when it began. */
static void exchange(struct agent_options *options, struct agent_options *next)
{
#define EXCHANGE(field)                                                   \
	do {                                                              \
		const __typeof__(options->field) before = options->field; \
		options->field = next->field;                             \
		next->field = before;                                     \
	} while (0)
	EXCHANGE(frequency);
	EXCHANGE(budget);
	EXCHANGE(off_cpu);
	EXCHANGE(off_cpu_budget);
	EXCHANGE(retain_ns);
	EXCHANGE(max_disk_bytes);
	EXCHANGE(max_memory_bytes);
	EXCHANGE(pause_path);
	EXCHANGE(rules);
	EXCHANGE(config_text);
	EXCHANGE(tasks.interval_ns);
	EXCHANGE(tasks.quiet);
	EXCHANGE(tasks.verbose);
	EXCHANGE(stacks.names);
#undef EXCHANGE
}

/* Asks for the labels of processes that the options name; these are the agent's then. 0 or -ENOMEM. */
static int want_labels(struct agent *agent, struct agent_options *options)
{
	struct process_label_wants *wants = malloc(sizeof(*wants));

	if (!wants)
		return -ENOMEM;
	*wants = options->label_wants;
	options->label_wants = (struct process_label_wants){0};
	process_labels_want(agent->own_labels, wants);
	return 0;
}

/* The session is a new one afterwards, so that all of it has the new options. */
static int take_options(struct agent *agent, struct agent_options *next, struct error *error)
{
	struct agent_options *options = agent->options;
	const bool samples = agent->stacks.session != NULL;
	int err = want_labels(agent, next);
	struct keeper_settings *settings = err ? NULL : make_settings(next);

	if (!settings)
		return error_no_memory(error, "");
	if (strcmp(agent->keeper.path, next->store_path) != 0)
		complain("the store stays '%s': another one needs another agent",
			 agent->keeper.path);
	err = samples ? stop_session(agent, error) : 0;
	keeper_set(&agent->keeper, settings);
	exchange(options, next);
	if (!agent->first_text)
		agent->first_text = take_pointer(&next->config_text);
	agent->nr_halvings = 0;
	size_pools(agent);
	agent->governor.limits.budget = options->budget;
	agent->governor.limits.most = (uint32_t)options->frequency;
	agent->governor.one_of = 1;
	if (!err && samples)
		resume(agent);
	return err;
}

/* A configuration that is not valid changes nothing. */
static int reload(struct agent *agent, struct error *error)
{
	struct agent_options next;
	struct error why = {0};
	int err = agent->reader->read(agent->reader->context, &next, &why);

	if (err) {
		complain_error(&why);
		complain("the configuration was not read again: the options stay as they were");
		err = 0;
	} else {
		err = take_options(agent, &next, error);
		if (!err)
			complain("'%s' was read again", agent->options->config_path);
	}
	agent->reader->clear(&next);
	return err;
}

static int take_signal(struct agent *agent, struct error *error)
{
	struct signalfd_siginfo info;

	if (read(agent->signal_fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	if (info.ssi_signo == SIGHUP)
		return reload(agent, error);
	if (!(agent->pauses & PAUSED_BY_SIGNAL))
		return pause_for(agent, PAUSED_BY_SIGNAL, "SIGUSR1; another one resumes", error);
	end_pause(agent, PAUSED_BY_SIGNAL);
	return 0;
}

#define PAUSE_FILE_IS_THERE "the file of --pause-file is there"

static bool has_pause_file(const struct agent *agent)
{
	const char *path = agent->options->pause_path;

	return path && access(path, F_OK) == 0;
}

static int look_for_file(struct agent *agent, struct error *error)
{
	if (has_pause_file(agent))
		return pause_for(agent, PAUSED_BY_FILE, PAUSE_FILE_IS_THERE, error);
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
	if (agent->shared.page) {
		watch_server(agent);
		tell_server(agent, now_ns);
	}
	err = look_for_file(agent, error);
	if (agent->pauses)
		keeper_expire(&agent->keeper);
	if (!err && now_ns >= agent->rest_until_ns)
		end_pause(agent, PAUSED_BY_REST);
	if (!err && now_ns >= agent->next_memory_ns) {
		err = hold_memory(agent, error);
		agent->next_memory_ns =
			now_ns + (agent->own.extreme_since_ns ? TICK_NS : MEMORY_NS);
	}
	if (now_ns >= agent->next_report_ns) {
		agent->next_report_ns = now_ns + REPORT_NS;
		report(agent);
	}
	return err;
}

static int load(struct collector *collector, struct error *error)
{
	struct agent *agent = collector->context;
	sigset_t hangup;

	/* The run listens to it by now, and would end. */
	if (agent->options->config_path) {
		(void)sigemptyset(&hangup);
		(void)sigaddset(&hangup, SIGHUP);
		(void)sigprocmask(SIG_BLOCK, &hangup, NULL);
	}
	return inner_ops(agent)->load(&agent->stacks.collector, error);
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
	agent->own_labels = process_labels_new();
	if (!agent->own_labels || want_labels(agent, options) < 0)
		return error_no_memory(error, "");
	if (options->listen && open_server(agent, error) < 0)
		return error->code;
	if (keeper_open(&agent->keeper, options->store_path, make_settings(options),
			pool_bytes(agent, STORE_SHARES), error) < 0)
		return error->code;
	agent->keeper.own_labels = agent->own_labels;
	if (options->listen && !options->tasks.quiet)
		inform("serving at %s", agent->serving.where);
	return inner_ops(agent)->prepare(&agent->stacks.collector, error);
}

static int start(struct collector *collector, struct error *error)
{
	struct agent *agent = collector->context;
	const struct agent_options *options = agent->options;
	const struct governor_limits limits = {
		.budget = options->budget,
		.most = (uint32_t)options->frequency,
	};
	const bool is_paused = has_pause_file(agent);
	struct governor_reading first;
	int err;

	agent->stacks.begins_paused = is_paused;
	err = inner_ops(agent)->start(&agent->stacks.collector, error);
	if (err)
		return err;
	first = read_cost(agent);
	agent->status.kept_ns = first.now_ns;
	agent->stored_ns = first.now_ns;
	agent->naming_ns = first.cost_ns[COST_NAMES] + first.cost_ns[COST_HELPERS];
	governor_init(&agent->governor, &limits, &first);
	agent->next_report_ns = first.now_ns + FIRST_REPORT_NS;
	if (is_paused) {
		agent->pauses = PAUSED_BY_FILE;
		complain("paused: " PAUSE_FILE_IS_THERE);
	}
	service_notify(&agent->service,
		       is_paused ? "READY=1\nSTATUS=paused" : "READY=1\nSTATUS=sampling");
	if (!is_paused && !options->tasks.quiet)
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

/* Unwind tables are not in proportion to the samples, and come in bursts: they may use a share of the budget. */
static struct table_pace table_pace(const struct agent *agent)
{
	const double cpus = agent->options->budget * nr_online_cpus();
	const double share =
		cpus * (agent->governor.shed < SHED_TABLES ? TABLES_PACE : FEW_TABLES_PACE);

	return (struct table_pace){(uint64_t)(share * (double)LONGEST_NS), share};
}

static void tell_shed(const struct agent *agent, enum governor_shed before)
{
	static const char *const sheds[] = {
		[SHED_NOTHING] = "each epoch is named by itself again",
		[SHED_NAMING] = "epochs are named a minute at a time",
		[SHED_TABLES] = "few unwind tables are made, and stacks may be cut short",
	};
	const struct governor *governor = &agent->governor;
	char costs[COSTS_BYTES];

	print_costs(governor, costs);
	complain("besides samples, %.3g %% of %u CPUs %s (now: %s): %s", 100 * governor->fixed_mean,
		 governor->last.nr_cpus,
		 governor->shed > before ? "leave too little of --budget" : "are within --budget",
		 costs, sheds[governor->shed]);
}

/* True if both limits are held. */
static bool is_held(const struct agent *agent)
{
	const struct governor *governor = &agent->governor;

	return !agent->own.over_since_ns && (!(governor->limits.budget > 0) ||
					     governor_share(governor) < governor->limits.budget);
}

static int govern(struct agent *agent, const struct governor_reading *now, struct error *error)
{
	struct governor *governor = &agent->governor;
	const enum governor_shed shed = governor->shed;
	const uint32_t one_of = governor->one_of;

	governor_judge(governor, now);
	if (governor_is_runaway(governor)) {
		rest(agent);
		report(agent);
		return pause_for(
			agent, PAUSED_BY_REST,
			governor_is_extreme(governor)
				? "the cost is more than ten times --budget"
				: "the cost is far over --budget with all saved that can be",
			error);
	}
	if (is_held(agent))
		agent->rest_ns = 0;
	session_thin(agent->stacks.session, governor->one_of);
	if (governor->shed != shed) {
		tell_shed(agent, shed);
		agent->stacks.source.table_pace = table_pace(agent);
		session_pace_tables(agent->stacks.session, &agent->stacks.source.table_pace);
	}
	if (agent->options->tasks.verbose || (one_of == 1) != (governor->one_of == 1))
		report(agent);
	return 0;
}

/*
 * Naming an epoch reads the symbols of all files that have new code in it, so epochs are named together until the time
 * that the last ones took is paid for by a share of the budget; for a minute at most. The store has them without names
 * until then.
 */
static bool is_due(struct agent *agent, const struct governor_reading *now)
{
	const double pay = agent->options->budget * now->nr_cpus * NAMES_PACE;
	const uint64_t naming_ns = now->cost_ns[COST_NAMES] + now->cost_ns[COST_HELPERS];
	const uint64_t since_ns =
		now->now_ns - agent->stored_ns + agent->options->tasks.interval_ns / 2;
	double wait_ns = LONGEST_NS;

	if (agent->governor.shed < SHED_NAMING)
		wait_ns = pay > 0 ? (double)rest_of(naming_ns, agent->naming_ns) / pay : 0;
	agent->wait_ns = wait_ns < LONGEST_NS ? (uint64_t)wait_ns : LONGEST_NS;
	if (since_ns < agent->wait_ns)
		return false;
	/* Not with a pause, which may have been long. */
	agent->given_ns = now->now_ns - agent->stored_ns < LONGEST_NS
				  ? now->now_ns - agent->stored_ns
				  : LONGEST_NS;
	agent->stored_ns = now->now_ns;
	agent->naming_ns = naming_ns;
	return true;
}

static int end_epoch(struct collector *collector, bool is_last, struct error *error)
{
	struct agent *agent = collector->context;
	struct governor_reading cost;
	int err;

	count_session(agent, false);
	cost = read_cost(agent);
	agent->stacks.is_gathering = !is_last && !is_due(agent, &cost);
	err = inner_ops(agent)->interval(&agent->stacks.collector, is_last, error);
	return err || is_last || !agent->stacks.session ? err : govern(agent, &cost, error);
}

static int stop(struct collector *collector, struct error *error)
{
	struct agent *agent = collector->context;

	service_notify(&agent->service, "STOPPING=1");
	(void)measure_memory(agent);
	return inner_ops(agent)->stop(&agent->stacks.collector, error);
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
		.table_pace = table_pace(agent),
		.unit = "samples",
		.event_name = PROFILE_CPU_TIME,
		.period_unit = "nanoseconds",
		.is_sum = true,
	};
	return 0;
}

static void keep(void *context, struct profile *profile, const struct session_part *part,
		 struct interval_span span, bool is_naming)
{
	struct agent *agent = context;
	const uint64_t began_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

	keeper_keep(&agent->keeper, profile, part, span, is_naming);
	agent->store_ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
}

static int take(void *context, struct profile *profile, const struct session_part *part,
		struct interval_span span, struct error *error)
{
	struct agent *agent = context;
	const uint64_t upkeep_ns = agent->keeper.upkeep_ns;
	struct symbolizer *symbolizer = agent->stacks.names.symbolizer;
	struct worker_troubles troubles = {0};
	uint64_t began_ns;
	int err = process_labels_look(agent->own_labels, symbolizer_worker(symbolizer), profile,
				      &part->names, clock_now_ns());

	if (err < 0)
		complain("out of memory for labels that processes give themselves");
	symbolizer_add_troubles(symbolizer, &troubles);
	watch_helpers(&agent->name_helpers, &troubles, false);
	began_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	err = keeper_add(&agent->keeper, profile, part, span);
	if (atomic_exchange(&agent->shrinks_naming, false)) {
		symbolizer_end_reading(symbolizer);
		(void)malloc_trim(0);
	}
	agent->store_ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns -
			   (agent->keeper.upkeep_ns - upkeep_ns);
	return err;
}

static const struct stack_command command = {.choose = choose, .take = take, .keep = keep};

int agent_run(struct agent_options *options, const struct agent_reader *reader)
{
	struct agent agent = {.options = options, .reader = reader, .serving = {.fd = -1}};
	sigset_t signals;
	int status;

	size_pools(&agent);
	agent.collector = (struct collector){.ops = &ops, .context = &agent};
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	if (options->config_path)
		(void)sigaddset(&signals, SIGHUP);
	agent.signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	service_open(&agent.service);
	stacks_init(&agent.stacks, &options->stacks, &command, &agent);
	status = run_collector(&options->tasks, NULL, &agent.collector);
	stacks_clear(&agent.stacks);
	keeper_close(&agent.keeper);
	process_labels_free(agent.own_labels);
	end_server(&agent);
	free(agent.first_text);
	service_close(&agent.service);
	cleanup_close_fd(&agent.signal_fd);
	return status;
}
