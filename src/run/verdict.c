/*
 * What a run reports of itself. To people:
 *
 *	samples  19,976 fired = 19,962 shown + 14 idle + 0 filtered + 0 lost
 *	         about 4 ticks never came (0.02 %)
 *	stacks   user: 61.2 % reach their beginning, 38.8 % break off
 *	         broken in redis-check-rdb (31.0 %), libc.so.6 (7.8 %): built without …
 *	cost     BPF 0.041 s (2052 ns a sample), user space 0.031 s (0.15 % of 2 CPUs), …
 *
 * Lines that have nothing to report are left out. To programs (--stats), apart from that, so that
 * the words can change and the names stay:
 *
 *	lost_ring_full 0
 *	…
 *	entries 19976
 *	…
 *	user_end_complete 12217
 */
#include "run/verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/resource.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "bpf/wire.h"
#include "run/complain.h"
#include "format/text/columns.h"
#include "proc/root_table.h"

/* --- what kept frames from being named ------------------------------------------------------- */

size_t naming_notes_print_cuts(const struct symbolizer *symbolizer, const char *first,
			       const char *others, FILE *out)
{
	struct symbolizer_result result;

	symbolizer_summarize(symbolizer, &result);
	const struct {
		size_t nr;
		const char *what, *option;
	} limits[] = {
		{result.cuts.nr_by_time, "took too long", "--naming-time"},
		{result.cuts.nr_by_bytes, "have too much to read", "--naming-bytes"},
	};
	size_t i, nr = 0;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		if (!limits[i].nr)
			continue;
		fprintf(out, "%snames are missing: %zu files or processes %s", nr ? others : first,
			limits[i].nr, limits[i].what);
		if (!nr++) {
			/* The name is somebody else's: no control characters to the terminal. */
			fputs(", the first is ", out);
			(void)columns_write(out, result.cuts.first, columns_of(result.cuts.first),
					    "");
		}
		fprintf(out, " (%s gives more)\n", limits[i].option);
	}
	if (result.cuts.is_stopped)
		fprintf(out, "%snames are missing: a signal ended the search for them\n",
			nr++ ? others : first);
	return nr;
}

void naming_notes_tell(const struct symbolizer *symbolizer)
{
	struct symbolizer_result result;

	symbolizer_summarize(symbolizer, &result);
	if (result.kernel_error.code)
		complain_error(&result.kernel_error);
	if (result.nr_tables_failed)
		complain("names could not be read %zu times: files that make no sense, or maps too "
			 "large for --symbol-bytes",
			 result.nr_tables_failed);
	if (result.lines_error.code)
		complain_error(&result.lines_error);
	if (result.nr_split_lost)
		complain("%zu units of code have their inlined calls in .dwo files that are not "
			 "there (.dwp files are not read)",
			 result.nr_split_lost);
	if (result.debuginfod_trouble)
		complain("not all debug files were asked of debuginfod: %s",
			 result.debuginfod_trouble);
}

/* --- the summary for people ------------------------------------------------------------------ */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static double seconds(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static double megabytes(uint64_t bytes)
{
	return (double)bytes / 1e6;
}

static const char *const loss_sentences[] = {
#define X(id, name, sentence) [LOST_##id] = (sentence),
	WIRE_LOSS_REASONS(X)
#undef X
};

static void print_samples(const struct run_summary *run, FILE *out)
{
	const struct session_summary *session = &run->session;
	const struct wire_counters *sum = &session->accounting.sum;
	char numbers[5][COLUMNS_NUMBER_BYTES];
	unsigned reason;

	fprintf(out, "%-8s %s fired = %s shown + ", run->source->unit,
		columns_number(numbers[0], sum->entries),
		columns_number(numbers[1], session->shown));
	if (!run->source->probes)
		fprintf(out, "%s idle + ", columns_number(numbers[2], sum->idle));
	fprintf(out, "%s filtered + %s lost\n",
		columns_number(numbers[3], sum->filtered + session->hidden),
		columns_number(numbers[4], accounting_lost(&session->accounting)));
	for (reason = 0; reason < WIRE_NR_LOSS_REASONS; reason++)
		if (sum->lost[reason])
			fprintf(out, "         lost %s: %s\n",
				columns_number(numbers[0], sum->lost[reason]),
				loss_sentences[reason]);
	if (session->unseen > session->unseen_error)
		fprintf(out, "         about %s ticks never came (%.2f %%)\n",
			columns_number(numbers[0], session->unseen),
			percent(session->unseen, sum->entries - sum->idle + session->unseen));
	if (session->throttled_ns)
		fprintf(out, "         throttled by the kernel for %.3f CPU seconds\n",
			(double)session->throttled_ns / 1e9);
	if (session->stolen_ns * 100 > session->sampled_ns)
		fprintf(out,
			"         stolen by the hypervisor: %.2f CPU seconds, without samples\n",
			(double)session->stolen_ns / 1e9);
	if (session->running_share < 0.9995)
		fprintf(out, "         the counter ran %.1f %% of the time (multiplexed)\n",
			100 * session->running_share);
	if (session->nr_lost_events)
		fprintf(out, "         %s process events lost: some user frames may be unnamed\n",
			columns_number(numbers[0], session->nr_lost_events));
	if (session->nr_forgotten)
		fprintf(out,
			"         mappings of %s processes forgotten, there were too many: some "
			"user "
			"frames may be unnamed\n",
			columns_number(numbers[0], session->nr_forgotten));
	if (session->cost.nr_unweighed)
		fprintf(out, "         %s of %s %s could not be read and counts as 0\n",
			run->source->event_name,
			columns_number(numbers[0], session->cost.nr_unweighed), run->source->unit);
	if (session->cost.nr_not_followed)
		fprintf(out, "         %s child processes were not followed: too many at once\n",
			columns_number(numbers[0], session->cost.nr_not_followed));
	if (!session->complete)
		fputs("         the last samples could not be read\n", out);
	else if (session->accounting.nr_violations || session->nr_mismatches)
		fprintf(out,
			"         THIS SUM IS WRONG, please report it: %" PRIu64 " epochs, %" PRIu64
			" samples astray\n",
			session->accounting.nr_violations, session->nr_mismatches);
}

static const char *const end_words[] = {
#define X(id, name, words) [WALK_##id] = (words),
	WALK_ENDS(X)
#undef X
};

/* The process that generated the code of a module; NULL if that is not known. */
static const struct runtime_process *process_of(const struct run_summary *run,
						const struct profile *profile, uint32_t number)
{
	const struct module *module = profile_module(profile, number);

	if (module->kind != MODULE_RUN_TIME || !module->file)
		return NULL;
	return runtime_table_get(run->runtimes, module->file - 1);
}

/* "java (pid 812, Java)": its name is its own choice. */
static void print_process(const struct runtime_process *process, FILE *out)
{
	(void)columns_write(out, process->comm, columns_of(process->comm), "");
	fprintf(out, " (pid %d%s%s)", process->pid, process->runtime ? ", " : "",
		process->runtime ? process->runtime->name : "");
}

static void print_how_to_walk(const struct run_summary *run, const struct profile *profile,
			      uint32_t module, FILE *out)
{
	const struct runtime_process *process = process_of(run, profile, module);

	if (!process || !process->runtime || !process->runtime->how_to_walk)
		return;
	fputs("         of ", out);
	print_process(process, out);
	fprintf(out, ": %s\n", process->runtime->how_to_walk);
}

/* The head of the next line of a block: the first one has the block's name. */
static const char *line_head(const char **head)
{
	const char *first = *head;

	*head = "         ";
	return first;
}

/* The end of a sentence: how a process' code would get names, or why nothing helps. */
static const char *why_nameless(const struct run_summary *run, uint32_t number)
{
	const struct runtime_process *process = runtime_table_get(run->runtimes, number);
	const struct runtime *runtime = process->runtime;
	const char *silent = session_names_why_silent(run->names, number);
	cleanup_fd int fd = -1;

	if (silent)
		return silent;
	fd = runtime_process_open_map(process);
	if (fd == -EACCES)
		return "its perf map (/tmp/perf-PID.map) belongs to another user, is mounted or "
		       "linked there, or is no file";
	if (runtime && runtime->is_java && !run->names->options->java)
		return runtime->how_to_name; /* a map would be of an earlier run */
	if (fd >= 0)
		return "its perf map (/tmp/perf-PID.map) has no name for it";
	if (process->jitdump >= 0)
		return "its jitdump file has no name for it";
	return runtime ? runtime->how_to_name : "it has written no perf map (/tmp/perf-PID.map)";
}

/* Whose code has no names, and what it takes to have them. */
static void print_nameless(const struct run_summary *run, const struct profile *profile,
			   const char **head, FILE *out)
{
	const struct quality *quality = &run->quality;
	uint64_t whole = profile_total(profile);
	size_t i;

	for (i = 0; i < QUALITY_MAX_BLAMED; i++) {
		const struct quality_nameless *nameless = &quality->nameless[i];
		const struct runtime_process *process;

		if (!nameless->samples || nameless->samples * 50 < whole)
			break;
		process = process_of(run, profile, nameless->module);
		if (!process)
			continue;
		fprintf(out, "%s%.1f %% have nameless code of ", line_head(head),
			percent(nameless->samples, whole));
		print_process(process, out);
		fprintf(out, ": %s\n",
			why_nameless(run, profile_module(profile, nameless->module)->file - 1));
	}
	if (quality->python * 20 > whole)
		fprintf(out,
			"%s%.1f %% are in Python code, of which only the interpreter is seen: "
			"start it with -X perf (3.12 or newer)\n",
			line_head(head), percent(quality->python, whole));
}

/*
 * "31.0 % in redis-check-rdb: frame pointers lead no further". Only what is worth a line, and not
 * twice what the same advice is good for.
 */
static void print_blamed(const struct run_summary *run, const struct profile *profile, FILE *out)
{
	const struct quality *quality = &run->quality;
	bool by_frame_pointers = false;
	size_t i;

	for (i = 0; i < QUALITY_MAX_BLAMED; i++) {
		const struct quality_blame *blame = &quality->blamed[i];
		const char *name = profile_module_name(profile, blame->module);

		if (blame->samples * 500 < quality->user || !blame->samples)
			break;
		/* A file's name is somebody else's: no control characters to the terminal. */
		fprintf(out, "         %.1f %% in ", percent(blame->samples, quality->user));
		(void)columns_write(out, name, columns_of(name), "");
		fprintf(out, ": %s\n", end_words[blame->end]);
		by_frame_pointers |= blame->end == WALK_UNWOUND;
		print_how_to_walk(run, profile, blame->module, out);
	}
	if (by_frame_pointers)
		fputs("         code without frame pointers needs --unwind cfi\n", out);
}

/* "61.2 % reach their beginning, 38.8 % break off": only what there is. */
static void print_shares(const struct run_summary *run, FILE *out)
{
	const struct quality *quality = &run->quality;
	const struct {
		uint64_t samples;
		const char *what;
	} shares[] = {
		{quality->complete, "reach their beginning"},
		{quality->broken, "break off"},
		{quality->truncated, "are cut short"},
		{quality->missed, "could not be read"},
	};
	const char *separator = "";
	size_t i;

	fprintf(out, "stacks   user%s%s: ", run->source->is_sum ? ", by " : "",
		run->source->is_sum ? run->source->event_name : "");
	for (i = 0; i < ARRAY_SIZE(shares); i++) {
		if (!shares[i].samples)
			continue;
		fprintf(out, "%s%.1f %% %s", separator, percent(shares[i].samples, quality->user),
			shares[i].what);
		separator = ", ";
	}
	fputc('\n', out);
}

/* The unit of a profile's counts. */
static const char *what_counts(const struct run_summary *run)
{
	return run->source->is_sum ? run->source->event_name : run->source->unit;
}

/* "0.0 % made at run time, 1.2 % stripped", and between them what else there is. */
static void print_why_unnamed(const struct quality *quality, uint64_t whole, FILE *out)
{
	uint64_t told = quality->run_time + quality->unread + quality->gone + quality->unmapped;

	fprintf(out, "%.1f %% made at run time", percent(quality->run_time, whole));
	if (quality->unread)
		fprintf(out, ", %.1f %% in files that were not read",
			percent(quality->unread, whole));
	if (quality->gone)
		fprintf(out, ", %.1f %% in files that were gone", percent(quality->gone, whole));
	if (quality->unmapped)
		fprintf(out, ", %.1f %% in no file that is known",
			percent(quality->unmapped, whole));
	fprintf(out, ", %.1f %% stripped\n", percent(quality->unnamed - told, whole));
}

static void print_names(const struct run_summary *run, const struct profile *profile,
			const char **head, FILE *out)
{
	const struct quality *quality = &run->quality;
	const struct session_summary *session = &run->session;
	uint64_t whole = profile_total(profile);

	if (quality->unnamed * 20 > whole) {
		fprintf(out, "%s%.1f %% of %s are in code without a name: ", line_head(head),
			percent(quality->unnamed, whole), what_counts(run));
		print_why_unnamed(quality, whole, out);
	}
	print_nameless(run, profile, head, out);
	if (session->nr_files_gone)
		fprintf(out, "%s%zu files with samples were gone when looked for\n",
			line_head(head), session->nr_files_gone);
	if (session->nr_files_refused)
		fprintf(out,
			"%s%zu files with samples could not be read, permission denied: that needs "
			"CAP_SYS_PTRACE,\n"
			"         CAP_CHECKPOINT_RESTORE and CAP_DAC_READ_SEARCH\n",
			line_head(head), session->nr_files_refused);
	if (session->nr_processes_refused)
		fprintf(out,
			"%sthe mappings of %zu processes could not be read, permission denied: "
			"that "
			"needs CAP_SYS_PTRACE\n",
			line_head(head), session->nr_processes_refused);
	if (session->nr_files_left_out)
		fprintf(out,
			"%s%zu files with samples lie in containers past the first %d: they were "
			"not read\n",
			line_head(head), session->nr_files_left_out, ROOT_TABLE_MAX - 1);
	if (session->nr_paths_cut)
		fprintf(out, "%sonly the ends of %zu paths are kept: files with too long ones\n",
			line_head(head), session->nr_paths_cut);
}

static void print_stacks(const struct run_summary *run, const struct profile *profile, FILE *out)
{
	const struct session_summary *session = &run->session;
	char number[COLUMNS_NUMBER_BYTES];

	if (run->quality.user)
		print_shares(run, out);
	if (run->quality.ends[WALK_NO_TABLE] * 1000 > run->quality.user)
		fprintf(out,
			"         %.1f %% came while unwind tables were being made: callers "
			"without "
			"frame pointers may be missing\n",
			percent(run->quality.ends[WALK_NO_TABLE], run->quality.user));
	print_blamed(run, profile, out);
	if (session->unwinding.nr_evicted)
		fprintf(out,
			"         %zu unwind tables made room for others and may be missing: give "
			"more with --table-bytes\n",
			session->unwinding.nr_evicted);
	if (session->unwinding.nr_files_left_out)
		fprintf(out,
			"         %zu files are more than can have unwind tables: walked by frame "
			"pointers\n",
			session->unwinding.nr_files_left_out);
	if (profile_other_count(profile))
		fprintf(out, "         %s %s of further different stacks are in [other stacks]\n",
			columns_number(number, profile_other_count(profile)), what_counts(run));
}

static void print_cost(const struct run_summary *run, FILE *out)
{
	const struct session_summary *session = &run->session;
	struct rusage usage;
	double own;

	(void)getrusage(RUSAGE_SELF, &usage);
	own = seconds(&usage.ru_utime) + seconds(&usage.ru_stime);
	fputs("cost     ", out);
	if (session->cost.runs)
		fprintf(out, "BPF %.3f s (%.0f ns a sample), ", (double)session->cost.run_ns / 1e9,
			(double)session->cost.run_ns / (double)session->cost.runs);
	fprintf(out, "user space %.3f s", own);
	fprintf(out, " (%.2f %% of %zu CPU%s)",
		100 * own / ((double)(run->now_ns - run->exec_ns) / 1e9) / (double)run->nr_cpus,
		run->nr_cpus, run->nr_cpus == 1 ? "" : "s");
	fprintf(out, ", memory %.1f MB, kernel maps %.1f MB%s\n",
		megabytes((uint64_t)usage.ru_maxrss * 1024),
		megabytes(session->cost.map_bytes + session->unwinding.chunk_bytes),
		run->is_unwritten ? ", before this was written" : "");
}

static void print_why_none(const struct run_summary *run, FILE *out)
{
	const struct session_summary *session = &run->session;
	char number[COLUMNS_NUMBER_BYTES];

	if (session->hidden)
		fprintf(out, "         no thread's name matched: %s samples were of others\n",
			columns_number(number, session->hidden));
	else if (run->source->probes)
		fputs("         nothing that was asked for was hit in this time\n", out);
	else if (session->accounting.sum.filtered)
		fputs("         what was asked for did not run on a CPU in this time (children "
		      "that are there\n"
		      "         already are not included: -p $(pgrep -d, NAME) takes them all)\n",
		      out);
	else
		fputs("         nothing ran in this time\n", out);
}

void run_summary_print(const struct run_summary *run, const struct profile *profile, FILE *out)
{
	const char *head = "names    ";

	fprintf(out, "stook: %s on %zu CPU%s for %.*f s\n", run->source->what, run->nr_cpus,
		run->nr_cpus == 1 ? "" : "s", run->session.sampled_ns < NS_PER_SEC ? 3 : 1,
		(double)run->session.sampled_ns / 1e9);
	print_samples(run, out);
	if (!run->session.shown)
		print_why_none(run, out);
	print_stacks(run, profile, out);
	if (!run->names->options->no_symbols)
		print_names(run, profile, &head, out);
	(void)naming_notes_print_cuts(run->names->symbolizer, head, "         ", out);
	print_cost(run, out);
}

/* --- the numbers for programs ---------------------------------------------------------------- */

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
		{"forgotten", session->nr_forgotten},
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

/* How much of the naming budget was used, and what it left out. */
static void write_naming(const struct session_names *names, FILE *out)
{
	const struct read_budget *budget = &names->budget;
	struct symbolizer_result result;

	symbolizer_summarize(names->symbolizer, &result);
	const struct stats_row rows[] = {
		{"naming_us", (budget->max_ns - budget->left_ns) / NS_PER_US},
		{"naming_bytes", budget->max_bytes - budget->left_bytes},
		{"naming_cut_by_time", result.cuts.nr_by_time},
		{"naming_cut_by_bytes", result.cuts.nr_by_bytes},
		{"naming_stopped", result.cuts.is_stopped},
	};

	write_rows(rows, ARRAY_SIZE(rows), out);
}

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
		{"paths_cut", session->nr_paths_cut},
		{"files_refused", session->nr_files_refused},
		{"files_past_roots", session->nr_files_left_out},
		{"processes", session->nr_processes},
		{"processes_refused", session->nr_processes_refused},
	};
	size_t i;

	write_rows(rows, ARRAY_SIZE(rows), out);
	write_naming(run->names, out);
	for (i = WALK_NONE + 1; i < NR_WALK_ENDS; i++)
		fprintf(out, "user_end_%s %" PRIu64 "\n", end_names[i], run->quality.ends[i]);
}

void run_stats_write(const struct run_summary *run, FILE *out)
{
	write_samples(&run->session, out);
	write_cost(run, out);
	write_stacks(run, out);
}
