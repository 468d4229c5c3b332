/*
 * The numbers of a run for programs (--stats), apart from what it says to people, so that the words
 * can change and the names stay:
 *
 *	lost_ring_full 0
 *	…
 *	entries 19976
 *	…
 *	user_end_complete 12217
 */
#include "cmd/run/run_stats.h"

#include <inttypes.h>
#include <sys/resource.h>

#include "base/array.h"
#include "base/clock.h"

struct stats_row {
	const char *name;
	uint64_t value;
};

static void write_rows(const struct stats_row *rows, size_t nr, FILE *out)
{
	size_t i;

	for (i = 0; i < nr; i++)
		fprintf(out, "%s %" PRIu64 "\n", rows[i].name, rows[i].value);
}

static const char *const loss_names[] = {
#define X(id, name, sentence) [LOST_##id] = (name),
	WIRE_LOSS_REASONS(X)
#undef X
};

static void write_samples(const struct session_summary *session, FILE *out)
{
	const struct wire_counters *sum = &session->accounting.sum;
	uint64_t seen = sum->entries - sum->idle;
	const struct stats_row rows[] = {
		{"entries", sum->entries},
		{"idle", sum->idle},
		{"filtered", sum->filtered},
		{"recorded", sum->recorded},
		{"counted", sum->counted},
		{"lost_total", accounting_lost(&session->accounting)},
		{"law_violations", session->accounting.nr_violations},
		{"mismatches", session->nr_mismatches},
		{"samples", sum->recorded + sum->counted},
		{"hidden", session->hidden},
		{"shown", session->shown},
		{"expected", seen + session->unseen},
		{"unseen_estimate", session->unseen},
		{"unseen_error", session->unseen_error},
		{"unseen_ppm", seen ? session->unseen * 1000000 / (seen + session->unseen) : 0},
		{"throttled_us", session->throttled_ns / NS_PER_US},
		{"stolen_us", session->stolen_ns / NS_PER_US},
		{"lost_events", session->nr_lost_events},
		{"unweighed", session->cost.nr_unweighed},
		{"epochs", session->accounting.nr_epochs},
	};
	unsigned reason;

	for (reason = 0; reason < WIRE_NR_LOSS_REASONS; reason++)
		fprintf(out, "lost_%s %" PRIu64 "\n", loss_names[reason],
			(uint64_t)sum->lost[reason]);
	write_rows(rows, ARRAY_SIZE(rows), out);
}

static uint64_t microseconds(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * (NS_PER_SEC / NS_PER_US) + (uint64_t)time->tv_usec;
}

static void write_cost(const struct run_summary *run, FILE *out)
{
	const struct session_summary *session = &run->session;
	struct rusage usage = {0};

	(void)getrusage(RUSAGE_SELF, &usage);
	const struct stats_row rows[] = {
		{"ring_bytes", session->ring_bytes},
		{"map_bytes", session->cost.map_bytes},
		{"bpf_runs", session->cost.runs},
		{"bpf_ns", session->cost.run_ns},
		{"user_us", microseconds(&usage.ru_utime)},
		{"sys_us", microseconds(&usage.ru_stime)},
		{"max_rss_kb", (uint64_t)usage.ru_maxrss},
		{"profile_bytes", session->profile_bytes},
		{"first_sample_us", session->first_sample_ns > run->exec_ns
					    ? (session->first_sample_ns - run->exec_ns) / NS_PER_US
					    : 0},
		{"wall_us", (run->now_ns - run->exec_ns) / NS_PER_US},
		{"sampling_cpu_us", session->sampling_cpu_ns / NS_PER_US},
		{"sampled_us", session->sampled_ns / NS_PER_US},
	};

	write_rows(rows, ARRAY_SIZE(rows), out);
}

static const char *const end_names[] = {
#define X(id, name, words) [WALK_##id] = (name),
	WALK_ENDS(X)
#undef X
};

static void write_stacks(const struct run_summary *run, FILE *out)
{
	const struct session_summary *session = &run->session;
	const struct stats_row rows[] = {
		{"user_complete", run->quality.complete},
		{"user_broken", run->quality.broken},
		{"user_truncated", run->quality.truncated},
		{"user_missed", run->quality.missed},
		{"unnamed", run->quality.unnamed},
		{"unnamed_run_time", run->quality.run_time},
		{"tables", session->unwinding.nr_tables},
		{"tables_cached", session->unwinding.nr_tables_cached},
		{"tables_evicted", session->unwinding.nr_evicted},
		{"files_left_out", session->unwinding.nr_files_left_out},
		{"table_bytes", session->unwinding.bytes},
		{"walked_late", session->unwinding.nr_walked},
		{"files", session->nr_files},
		{"files_gone", session->nr_files_gone},
		{"processes", session->nr_processes},
	};
	size_t i;

	write_rows(rows, ARRAY_SIZE(rows), out);
	for (i = WALK_NONE + 1; i < NR_WALK_ENDS; i++)
		fprintf(out, "user_end_%s %" PRIu64 "\n", end_names[i], run->quality.ends[i]);
}

void run_stats_write(const struct run_summary *run, FILE *out)
{
	write_samples(&run->session, out);
	write_cost(run, out);
	write_stacks(run, out);
}
