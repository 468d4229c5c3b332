/*
 * What a run says of itself:
 *
 *	samples  19,976 fired = 19,962 shown + 14 idle + 0 filtered + 0 lost
 *	         about 4 ticks never came (0.02 %)
 *	stacks   user: 61.2 % reach their beginning, 38.8 % break off
 *	         broken in redis-check-rdb (31.0 %), libc.so.6 (7.8 %): built without …
 *	cost     BPF 0.041 s (2052 ns a sample), user space 0.031 s (0.15 % of 2 CPUs), …
 *
 * Lines that have nothing to say are left out.
 */
#include "cmd/run/run_summary.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/resource.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "format/text/columns.h"

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

/* Of the process that made the code of a module; NULL if that is not known. */
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

/* What the next line of a block begins with. */
static const char *line_head(const char **head)
{
	const char *first = *head;

	*head = "         ";
	return first;
}

/* What it takes to have names for a process' code, or why nothing helps: a sentence's end. */
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
		return "its perf map (/tmp/perf-PID.map) belongs to another user, or is no file";
	if (runtime && runtime->is_java && !run->names->java)
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

/* What the counts of a profile are of. */
static const char *what_counts(const struct run_summary *run)
{
	return run->source->is_sum ? run->source->event_name : run->source->unit;
}

static void print_names(const struct run_summary *run, const struct profile *profile, FILE *out)
{
	const struct quality *quality = &run->quality;
	const struct session_summary *session = &run->session;
	uint64_t whole = profile_total(profile);
	const char *head = "names    ";

	if (quality->unnamed * 20 > whole)
		fprintf(out,
			"%s%.1f %% of %s are in code without a name: %.1f %% made at run time, "
			"%.1f %% stripped\n",
			line_head(&head), percent(quality->unnamed, whole), what_counts(run),
			percent(quality->run_time, whole),
			percent(quality->unnamed - quality->run_time, whole));
	print_nameless(run, profile, &head, out);
	if (session->nr_files_gone)
		fprintf(out, "%s%zu files with samples were gone or unreadable when looked for\n",
			line_head(&head), session->nr_files_gone);
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

void run_summary_print(const struct run_summary *run, const struct stack_options *options,
		       const struct profile *profile, FILE *out)
{
	fprintf(out, "stook: %s on %zu CPU%s for %.*f s\n", run->source->what, run->nr_cpus,
		run->nr_cpus == 1 ? "" : "s", run->session.sampled_ns < NS_PER_SEC ? 3 : 1,
		(double)run->session.sampled_ns / 1e9);
	print_samples(run, out);
	if (!run->session.shown)
		print_why_none(run, out);
	print_stacks(run, profile, out);
	if (!options->no_symbols)
		print_names(run, profile, out);
	print_cost(run, out);
}
