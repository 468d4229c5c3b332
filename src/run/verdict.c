/*
 * The report of a run about itself. For people:
 *
 *	samples  19,976 fired = 19,942 shown + 14 idle + 20 of stook itself + 0 filtered + 0 lost
 *	         ~4 ticks skipped by the kernel (0.02 %)
 *	stacks   user: 61.2 % complete, 38.8 % truncated
 *	         31.0 % in redis-check-rdb: …
 *	cost     BPF 0.041 s (2052 ns a sample), user space 0.031 s (0.15 % of 2 CPUs), …
 *
 * Rows with nothing to report are omitted. Figures for programs (--stats) are separate, so that
 * their names stay the same when the wording changes:
 *
 *	"lost_ring_full": 0,
 *	…
 *	"entries": 19976,
 *	…
 *	"user_end_complete": 12217
 */
#include "run/verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "bpf/wire.h"
#include "proc/root_table.h"
#include "profile/ratio.h"

/* --- rows ------------------------------------------------------------------------------------ */

/* Appends to a sentence. Frees old, which may be NULL. Returns NULL when out of memory. */
static char *extend(char *old, const char *format, va_list args)
{
	char *more = NULL, *both = NULL;

	if (vasprintf(&more, format, args) < 0)
		more = NULL;
	else if (old && asprintf(&both, "%s%s", old, more) < 0)
		both = NULL;
	if (!old)
		return more;
	free(more);
	free(old);
	return both;
}

/* Starts a new row. */
__attribute__((format(printf, 3, 4))) static void say(struct verdict *verdict, const char *topic,
						      const char *format, ...)
{
	char *sentence;
	va_list args;

	va_start(args, format);
	sentence = extend(NULL, format, args);
	va_end(args);
	if (!sentence || array_reserve(&verdict->rows, &verdict->cap, verdict->nr + 1,
				       sizeof(*verdict->rows)) < 0) {
		free(sentence);
		verdict->failed = true;
		return;
	}
	verdict->rows[verdict->nr++] = (struct verdict_row){topic, sentence};
}

/* Appends to the sentence of the last row. */
__attribute__((format(printf, 2, 3))) static void add(struct verdict *verdict, const char *format,
						      ...)
{
	struct verdict_row *row;
	va_list args;

	if (verdict->failed)
		return;
	row = &verdict->rows[verdict->nr - 1];
	va_start(args, format);
	row->sentence = extend(row->sentence, format, args);
	va_end(args);
	if (!row->sentence) {
		verdict->nr--;
		verdict->failed = true;
	}
}

void verdict_clear(struct verdict *verdict)
{
	size_t i;

	for (i = 0; i < verdict->nr; i++)
		free(verdict->rows[i].sentence);
	free(verdict->rows);
	free(verdict->head);
	*verdict = (struct verdict){0};
}

/* --- sentences ------------------------------------------------------------------------------- */

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

/* Accounts for all samples. The topic is the unit of the counts: "samples", "hits". */
static void say_sum(struct verdict *verdict)
{
	const struct run_figures *run = verdict->figures;
	const struct session_summary *session = &run->session;
	const struct wire_counters *sum = &session->accounting.sum;
	const char *topic = run->source->unit;
	char numbers[3][NUMBER_COMMAS_BYTES];
	unsigned reason;

	say(verdict, topic, "%s fired = %s shown + ", number_commas(numbers[0], sum->entries),
	    number_commas(numbers[1], session->shown));
	if (!run->source->probes)
		add(verdict, "%s idle + ", number_commas(numbers[0], sum->idle));
	if (sum->ended)
		add(verdict, "%s of ended threads + ", number_commas(numbers[0], sum->ended));
	if (sum->own)
		add(verdict, "%s of stook itself + ", number_commas(numbers[0], sum->own));
	if (sum->thinned)
		add(verdict, "%s thinned out + ", number_commas(numbers[0], sum->thinned));
	add(verdict, "%s filtered + %s lost",
	    number_commas(numbers[0], sum->filtered + session->hidden),
	    number_commas(numbers[1], accounting_lost(&session->accounting)));
	for (reason = 0; reason < WIRE_NR_LOSS_REASONS; reason++)
		if (sum->lost[reason])
			say(verdict, topic, "lost %s: %s",
			    number_commas(numbers[0], sum->lost[reason]), loss_sentences[reason]);
}

/*
 * Accounts for all time off CPU: "time 61.234 s off CPU = 60.900 s shown + …". All but the last sum
 * is exact to the nanosecond.
 */
static void say_time(struct verdict *verdict)
{
	const struct session_summary *session = &verdict->figures->session;
	const struct wire_counters *sum = &session->accounting.sum;
	const struct session_time *time = &session->time;
	const uint64_t passed_ns = sum->passed_ns + time->open_passed_ns;
	const struct stack_source *source = verdict->figures->source;
	char number[NUMBER_COMMAS_BYTES];

	if (!source->waits)
		return;
	say(verdict, "time", "%.3f s %s = %.3f s shown + ",
	    (double)(time->shown_ns + time->hidden_ns + passed_ns + time->lost_ns) / 1e9,
	    source->waits->for_locks ? "in waits for locks"
	    : source->nr_events	     ? "running and off CPU"
				     : "off CPU",
	    (double)time->shown_ns / 1e9);
	if (passed_ns)
		add(verdict, "%.3f s of waits of other lengths + ", (double)passed_ns / 1e9);
	add(verdict, "%.3f s filtered + %.3f s lost", (double)time->hidden_ns / 1e9,
	    (double)time->lost_ns / 1e9);
	if (time->sampled_ns)
		say(verdict, "time", "%.3f s of it running, by samples that count as %.3f ms each",
		    (double)time->sampled_ns / 1e9, (double)time->sample_ns / 1e6);
	if (time->open_ns)
		say(verdict, "time", "%.3f s of it in waits that had not ended",
		    (double)time->open_ns / 1e9);
	if (time->unended_ns)
		say(verdict, "time",
		    "%.3f s of it in waits whose end was not seen: they may have ended before",
		    (double)time->unended_ns / 1e9);
	if (session->cost.nr_nested)
		say(verdict, "time", "%s waits in interrupts of this measurement are left out",
		    number_commas(number, session->cost.nr_nested));
}

/*
 * Reports how probes were kept within their budget. The topic is "budget", by which a report of the
 * profile finds it (profile_comment_about()).
 */
static void say_budget(struct verdict *verdict)
{
	const struct budget_result *budget = &verdict->figures->session.budget;
	size_t nr_probes = budget->nr_thinned || budget->nr_cut
				   ? verdict->figures->source->probes->list->nr_probes
				   : 0;
	const char *unit = verdict->figures->source->unit;

	if (budget->nr_thinned) {
		say(verdict, "budget", "from %.1f s on ", (double)budget->thinned_ns / 1e9);
		add(verdict, "1 hit in up to %u", budget->one_of);
		if (nr_probes > 1)
			add(verdict, " of %zu of %zu probes", budget->nr_thinned, nr_probes);
		add(verdict, " was recorded and represents the others: counts are estimates");
	}
	if (budget->nr_cut) {
		if (budget->nr_thinned)
			add(verdict, "; ");
		else
			say(verdict, "budget", "%s", "");
		if (nr_probes > 1)
			add(verdict,
			    "at %.1f s %zu of %zu probes were detached: their %s are incomplete",
			    (double)budget->cut_ns / 1e9, budget->nr_cut, nr_probes, unit);
		else
			add(verdict, "the probe was detached at %.1f s: its %s are incomplete",
			    (double)budget->cut_ns / 1e9, unit);
	}
	if (nr_probes)
		add(verdict, " (--budget %g%%)", budget->share * 100);
}

/*
 * Each event in its own unit: the part of its occurrences that samples represent. The rest are
 * those since the last sample of each CPU, and of samples that the kernel skipped.
 */
static void say_events(struct verdict *verdict, const struct profile *profile)
{
	const struct run_figures *run = verdict->figures;
	char numbers[3][NUMBER_COMMAS_BYTES], text[RATIO_NUMBER_BYTES];
	struct ratio ratio;
	size_t i;

	for (i = 0; i < run->source->nr_events; i++) {
		const struct session_event *event = &run->session.events[i];
		const char *name = run->source->events[i].event.name;

		if (run->source->by_period)
			say(verdict, "events", "%s: %s counted, %s of them in %s samples", name,
			    number_commas(numbers[0], event->occurrences),
			    number_commas(numbers[1], event->taken.weight),
			    number_commas(numbers[2], event->taken.entries));
		if (event->running_share < 0.9995)
			say(verdict, "events",
			    "%s had a counter %.1f %% of the time (multiplexed): counts are scaled "
			    "up",
			    name, 100 * event->running_share);
		if (event->nr_cpus_uncounted == 1)
			say(verdict, "events",
			    "%s had no counter on CPU %u: %.2f s without samples", name,
			    event->uncounted_cpu, (double)event->uncounted_ns / 1e9);
		if (event->nr_cpus_uncounted > 1)
			say(verdict, "events",
			    "%s had no counter on %zu CPUs: %.2f CPU seconds without samples", name,
			    event->nr_cpus_uncounted, (double)event->uncounted_ns / 1e9);
	}
	if (!run->nr_intervals && ratio_find(&ratio, profile))
		say(verdict, "events", "%s %s", ratio_number(ratio.whole, text), ratio.text);
}

/* Reports how the cost of following switches was kept within its budget, and the error that this brings. */
static void say_walks(struct verdict *verdict)
{
	const struct session_summary *session = &verdict->figures->session;
	const struct walk_budget_result *walks = &session->walks;
	const struct session_time *time = &session->time;
	const uint64_t nr = walks->nr_walks + session->accounting.sum.thinned;

	if (!(walks->share > 0))
		return;
	if (!walks->first_ns) {
		say(verdict, "budget", "every switch was walked (--budget %g%%)",
		    walks->share * 100);
	} else {
		say(verdict, "budget", "from %.1f s on 1 switch in %.1f was walked",
		    (double)walks->first_ns / 1e9,
		    (double)nr / (double)(walks->nr_walks ? walks->nr_walks : 1));
		add(verdict,
		    "; %.3f s of the others are divided among stacks, which may be "
		    "wrong by %.3f s",
		    (double)time->divided_ns / 1e9, (double)time->split_error_ns / 1e9);
		add(verdict, " (--budget %g%%)", walks->share * 100);
	}
	if (time->undivided_ns)
		say(verdict, "budget", "%.3f s in threads of which no wait was walked at the time",
		    (double)time->undivided_ns / 1e9);
	if (walks->paid_share > walks->share)
		say(verdict, "budget",
		    "following switches took %.1f %% of a CPU, %.1f %% without walks",
		    walks->paid_share * 100, walks->follow_share * 100);
}

/* Everything that makes the sum too small, or wrong. */
static void say_what_is_missing(struct verdict *verdict)
{
	const struct run_figures *run = verdict->figures;
	const struct session_summary *session = &run->session;
	const char *topic = run->source->unit;
	char number[NUMBER_COMMAS_BYTES];

	if (session->unseen > session->unseen_error)
		say(verdict, topic, "~%s ticks skipped by the kernel (%.2f %%)",
		    number_commas(number, session->unseen),
		    percent(session->unseen, session->nr_ticks + session->unseen));
	if (session->throttled_ns)
		say(verdict, topic, "throttled by the kernel for %.3f CPU seconds",
		    (double)session->throttled_ns / 1e9);
	if (session->nr_cpus_short == 1)
		say(verdict, topic, "CPU %u was offline at times: %.2f s without samples",
		    session->short_cpu, (double)session->short_ns / 1e9);
	if (session->nr_cpus_short > 1)
		say(verdict, topic,
		    "%zu CPUs were offline at times: %.2f CPU seconds without samples",
		    session->nr_cpus_short, (double)session->short_ns / 1e9);
	if (session->unwatched)
		say(verdict, topic,
		    "a CPU that came online was not sampled at once, and some names may be wrong: "
		    "%s",
		    session->unwatched);
	if (session->stolen_ns * 100 > session->sampled_ns)
		say(verdict, topic, "steal time: %.2f CPU seconds, without samples",
		    (double)session->stolen_ns / 1e9);
	if (session->nr_lost_events)
		say(verdict, topic, "%s process events lost: some user frames may have no symbol",
		    number_commas(number, session->nr_lost_events));
	if (session->nr_forgotten)
		say(verdict, topic,
		    "%s times, mappings of a process were dropped or read in part (too many "
		    "processes or mappings): some user frames may have no symbol",
		    number_commas(number, session->nr_forgotten));
	if (session->cost.nr_unweighed)
		say(verdict, topic, "%s could not be read for %s %s, which count as 0",
		    run->source->event_name, number_commas(number, session->cost.nr_unweighed),
		    run->source->unit);
	if (session->cost.nr_unmeasured)
		say(verdict, topic, "%s could not be read for %s %s, which count as 0",
		    run->source->numerator->name,
		    number_commas(number, session->cost.nr_unmeasured), run->source->unit);
	if (session->cost.nr_not_followed)
		say(verdict, topic, "%s child processes were not followed: too many at once",
		    number_commas(number, session->cost.nr_not_followed));
	if (!session->complete)
		say(verdict, topic, "the last samples could not be read");
	else if (session->accounting.nr_violations || session->nr_mismatches)
		say(verdict, topic,
		    "THIS SUM IS WRONG, please report this bug: %" PRIu64 " epochs, %" PRIu64
		    " samples unaccounted for",
		    session->accounting.nr_violations, session->nr_mismatches);
}

#define EARLIER_CHILDREN \
	" (children that already existed are not included: -p $(pgrep -d, NAME) includes them)"

/*
 * A period is the least time that a sample stands for, so a target without samples may have run. All waits are
 * followed, so a target without them had none.
 */
static void say_why_none(struct verdict *verdict)
{
	const struct run_figures *run = verdict->figures;
	const struct session_summary *session = &run->session;
	const char *topic = run->source->unit;
	char number[NUMBER_COMMAS_BYTES];

	if (session->accounting.sum.own + session->accounting.sum.idle ==
		    session->accounting.sum.entries &&
	    session->accounting.sum.own)
		say(verdict, topic, "only stook itself ran in this time (--self includes it)");
	else if (session->hidden)
		say(verdict, topic, "--comm or --exclude left out all threads: %s %s",
		    number_commas(number, session->hidden + session->accounting.sum.filtered),
		    topic);
	else if (run->source->probes)
		say(verdict, topic, "no probe was hit in this time");
	else if (run->source->waits)
		say(verdict, topic, "%s",
		    session->accounting.sum.filtered
			    ? "the target had no such wait in this time" EARLIER_CHILDREN
			    : "no task had such a wait in this time");
	else if (session->accounting.sum.filtered)
		say(verdict, topic,
		    "no sample hit the target: it did not run on a CPU in this time, or too "
		    "briefly "
		    "(-F 999 samples more often); --off-cpu shows what it waits "
		    "for" EARLIER_CHILDREN);
	else
		say(verdict, topic,
		    "no task ran in this time; --off-cpu shows what tasks wait for");
}

/* --- stacks ---------------------------------------------------------------------------------- */

static const char *const end_words[] = {
#define X(id, name, words) [WALK_##id] = (words),
	WALK_ENDS(X)
#undef X
};

/* Returns the process that generated a module's JIT-compiled code; NULL if unknown. */
static const struct runtime_process *process_of(const struct run_figures *run,
						const struct profile *profile, uint32_t number)
{
	const struct module *module = profile_module(profile, number);

	if (module->kind != MODULE_RUN_TIME || !module->file)
		return NULL;
	return runtime_table_get(run->runtimes, module->file - 1);
}

/* "java (pid 812, Java)": the process chooses its own name. */
static void add_process(struct verdict *verdict, const struct runtime_process *process)
{
	add(verdict, "%s (pid %d%s%s)", process->comm, process->pid, process->runtime ? ", " : "",
	    process->runtime ? process->runtime->name : "");
}

static void say_how_to_walk(struct verdict *verdict, const struct profile *profile, uint32_t module)
{
	const struct runtime_process *process = process_of(verdict->figures, profile, module);

	if (!process || !process->runtime || !process->runtime->how_to_walk)
		return;
	say(verdict, "stacks", "in ");
	add_process(verdict, process);
	add(verdict, ": %s", process->runtime->how_to_walk);
}

/* "redis-check-rdb", or for JIT-compiled code "[JIT] of java (pid 812, Java)". */
static void add_module(struct verdict *verdict, const struct profile *profile, uint32_t module)
{
	const struct runtime_process *process = process_of(verdict->figures, profile, module);

	add(verdict, "%s", profile_module_name(profile, module));
	if (process) {
		add(verdict, " of ");
		add_process(verdict, process);
	}
}

/*
 * "31.0 % in redis-check-rdb: frame pointers lead no further". Small shares are omitted; advice
 * that applies to several rows is printed once.
 */
static void say_blamed(struct verdict *verdict, const struct profile *profile)
{
	const struct quality *quality = &verdict->figures->quality;
	bool by_frame_pointers = false;
	size_t i;

	for (i = 0; i < QUALITY_MAX_BLAMED; i++) {
		const struct quality_blame *blame = &quality->blamed[i];

		if (blame->samples * 500 < quality->user || !blame->samples)
			break;
		say(verdict, "stacks", "%.1f %% in ", percent(blame->samples, quality->user));
		add_module(verdict, profile, blame->module);
		add(verdict, ": %s", end_words[blame->end]);
		by_frame_pointers |= blame->end == WALK_UNWOUND;
		say_how_to_walk(verdict, profile, blame->module);
	}
	if (by_frame_pointers)
		say(verdict, "stacks", "code without frame pointers needs --unwind cfi");
}

/* "61.2 % complete, 38.8 % truncated": shares of 0 are omitted. */
static void say_shares(struct verdict *verdict)
{
	const struct run_figures *run = verdict->figures;
	const struct quality *quality = &run->quality;
	const struct {
		uint64_t samples;
		const char *what;
	} shares[] = {
		{quality->complete, "complete"},
		{quality->broken, "truncated"},
		{quality->truncated, "cut at the maximum depth"},
		{quality->missed, "unreadable"},
	};
	const char *separator = "";
	size_t i;

	say(verdict, "stacks", "user%s%s: ", run->source->is_sum ? ", by " : "",
	    run->source->is_sum ? run->source->event_name : "");
	for (i = 0; i < ARRAY_SIZE(shares); i++) {
		if (!shares[i].samples)
			continue;
		add(verdict, "%s%.1f %% %s", separator, percent(shares[i].samples, quality->user),
		    shares[i].what);
		separator = ", ";
	}
}

static void say_cut_short(struct verdict *verdict)
{
	uint64_t max_depth = verdict->figures->names->options->max_depth;

	if (!max_depth || max_depth == WIRE_MAX_USER_FRAMES)
		say(verdict, "stacks", "maximum depth: %d frames of a stack are kept",
		    WIRE_MAX_USER_FRAMES);
	else
		say(verdict, "stacks",
		    "maximum depth: %" PRIu64 " frames of a stack are kept (--max-depth, up to %d)",
		    max_depth, WIRE_MAX_USER_FRAMES);
}

/* Returns the unit of the profile's counts. */
static const char *what_counts(const struct run_figures *run)
{
	return run->source->is_sum ? run->source->event_name : run->source->unit;
}

static void say_stacks(struct verdict *verdict, const struct profile *profile)
{
	const struct run_figures *run = verdict->figures;
	const struct unwinder_cost *unwinding = &run->session.unwinding;
	char number[NUMBER_COMMAS_BYTES];

	if (run->quality.user)
		say_shares(verdict);
	if (run->quality.truncated)
		say_cut_short(verdict);
	if (run->quality.ends[WALK_NO_TABLE] * 1000 > run->quality.user)
		say(verdict, "stacks",
		    "%.1f %% sampled before the unwind table was ready%s: frame pointers only, "
		    "callers may be missing",
		    percent(run->quality.ends[WALK_NO_TABLE], run->quality.user),
		    run->source->waits ? "" : " (process too short-lived)");
	if (run->quality.ends[WALK_TOO_MANY] * 1000 > run->quality.user)
		say(verdict, "stacks",
		    "%.1f %% in new processes, more than user space may unwind at once: frame "
		    "pointers only, callers may be missing",
		    percent(run->quality.ends[WALK_TOO_MANY], run->quality.user));
	say_blamed(verdict, profile);
	if (unwinding->nr_evicted)
		say(verdict, "stacks",
		    "%zu unwind tables were evicted, callers may be missing: raise --table-bytes",
		    unwinding->nr_evicted);
	if (unwinding->nr_crowded)
		say(verdict, "stacks",
		    "%zu times an unwind table had to wait for others in use, callers may be "
		    "missing: raise --table-bytes",
		    unwinding->nr_crowded);
	if (unwinding->nr_files_left_out)
		say(verdict, "stacks",
		    "%zu files at a time had no unwind table (too many files): frame pointers only",
		    unwinding->nr_files_left_out);
	if (unwinding->nr_too_large)
		say(verdict, "stacks",
		    "%zu files have no unwind table (too large): frame pointers only; raise "
		    "--table-bytes",
		    unwinding->nr_too_large);
	if (unwinding->nr_displaced + unwinding->nr_unpublished)
		say(verdict, "stacks",
		    "no room for the mappings of all processes (%" PRIu64 " times): raise "
		    "--table-bytes",
		    unwinding->nr_displaced + unwinding->nr_unpublished);
	if (unwinding->nr_mappings_cut)
		say(verdict, "stacks",
		    "more than %d executable mappings of a process: stacks end in the %" PRIu64
		    " further ones",
		    UNWIND_MAX_MAPPINGS, unwinding->nr_mappings_cut);
	if (verdict->figures->session.nr_unsliced)
		say(verdict, "stacks", "the timeline is full, later samples are in no slice of it");
	if (profile_unlabelled_count(profile))
		say(verdict, "stacks",
		    "%s %s are recorded without pid and tid: too many different stacks",
		    number_commas(number, profile_unlabelled_count(profile)), what_counts(run));
	if (profile_other_count(profile))
		say(verdict, "stacks",
		    "%s %s are in [other stacks]: too many different stacks, raise --profile-bytes",
		    number_commas(number, profile_other_count(profile)), what_counts(run));
}

/* --- names ----------------------------------------------------------------------------------- */

#define PYTHON_MINOR_NAMING 12 /* Python 3.12 is the first with -X perf */

/* Returns the end of a sentence: how to get symbols for a process, or why that is impossible. */
static const char *why_nameless(const struct run_figures *run, uint32_t number)
{
	const struct runtime_process *process = runtime_table_get(run->runtimes, number);
	const struct runtime *runtime = process->runtime;
	const char *silent = session_names_why_silent(run->names, number);
	int perf_map = runtime_table_perf_map(run->runtimes, number);

	if (silent)
		return silent;
	if (perf_map == -EACCES)
		return "its perf map (/tmp/perf-PID.map) belongs to another user, is a mount or a "
		       "link, or is not a regular file";
	if (runtime && runtime->is_java && !run->names->options->java)
		return runtime->how_to_name; /* an existing map is from an earlier run */
	if (perf_map == 0)
		return "its perf map (/tmp/perf-PID.map) has no entry for it";
	if (process->jitdump >= 0 && runtime && runtime->how_to_name_soon)
		return runtime->how_to_name_soon;
	if (process->jitdump >= 0)
		return "its jitdump file has no entry for it";
	return runtime ? runtime->how_to_name
		       : "it wrote no perf map (/tmp/perf-PID.map) that could be found";
}

/* Reports the processes whose JIT-compiled code has no symbols, and how to get them. */
static void say_nameless(struct verdict *verdict, const struct profile *profile)
{
	const struct run_figures *run = verdict->figures;
	const struct quality *quality = &run->quality;
	uint64_t whole = profile_total(profile);
	size_t i;

	for (i = 0; i < QUALITY_MAX_BLAMED; i++) {
		const struct quality_nameless *nameless = &quality->nameless[i];
		const struct runtime_process *process;

		if (!names_worth_a_row(nameless->samples, whole))
			break;
		process = process_of(run, profile, nameless->module);
		if (!process)
			continue;
		say(verdict, "names", "%.1f %% have unnamed JIT-compiled code of ",
		    percent(nameless->samples, whole));
		add_process(verdict, process);
		add(verdict, ": %s",
		    why_nameless(run, profile_module(profile, nameless->module)->file - 1));
	}
}

/* Returns the minor version of Python 3 from the name of its file; 0 if the name has none. */
static unsigned python_minor(const char *name)
{
	unsigned minor = 0;

	if (text_starts_with(name, "lib"))
		name += strlen("lib");
	return sscanf(name, "python3.%u", &minor) == 1 ? minor : 0;
}

/* Reports interpreted Python, and how to see its functions if the version allows it. */
static void say_interpreted(struct verdict *verdict, const struct profile *profile)
{
	const struct quality *quality = &verdict->figures->quality;
	uint64_t whole = profile_total(profile);
	size_t i;

	for (i = 0; i < QUALITY_MAX_BLAMED; i++) {
		const struct quality_nameless *one = &quality->interpreted[i];
		unsigned minor;

		if (one->samples * 20 <= whole)
			break;
		minor = python_minor(profile_module_name(profile, one->module));
		say(verdict, "names", "%.1f %% in Python code, only the interpreter is visible: ",
		    percent(one->samples, whole));
		if (minor && minor < PYTHON_MINOR_NAMING)
			add(verdict, "Python 3.%u has no -X perf, 3.%d or newer is needed", minor,
			    PYTHON_MINOR_NAMING);
		else if (minor)
			add(verdict, "start it with -X perf");
		else
			add(verdict, "start it with -X perf (3.%d or newer)", PYTHON_MINOR_NAMING);
	}
}

/* Tells what debuginfod has to do with a stripped file's missing symbols. */
static void add_debuginfod(struct verdict *verdict, const struct module_code *code)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct symbolizer_result result;

	symbolizer_summarize(verdict->figures->names->symbolizer, &result);
	if (!code || !code->build_id_bytes)
		add(verdict, "; it has no build id for a debuginfod server");
	else if (!urls || !*urls)
		add(verdict, ", or set DEBUGINFOD_URLS");
	else if (result.debuginfod_trouble)
		add(verdict, "; debuginfod was not asked for all files");
	else
		add(verdict, "; not on the debuginfod server");
}

/* Reports the stripped files, and the packages that have their symbols. */
static void say_stripped(struct verdict *verdict, const struct profile *profile)
{
	const struct quality *quality = &verdict->figures->quality;
	size_t i;

	for (i = 0; i < QUALITY_MAX_BLAMED; i++) {
		const struct quality_nameless *stripped = &quality->stripped[i];
		const char *package = verdict->figures->names->packages[i];

		if (!names_worth_a_row(stripped->samples, profile_total(profile)))
			break;
		say(verdict, "names",
		    "%.1f %% in %s, stripped: ", percent(stripped->samples, profile_total(profile)),
		    profile_module_name(profile, stripped->module));
		if (package)
			add(verdict, "%s", package);
		else
			add(verdict, "install its debug file (--debug-dir)");
		add_debuginfod(verdict, profile_code(profile, stripped->module));
	}
}

/* "no symbol: 1.2 % of samples; 0.0 % JIT-compiled, 1.2 % stripped", and other reasons. */
static void say_unnamed(struct verdict *verdict, uint64_t whole)
{
	const struct quality *quality = &verdict->figures->quality;
	uint64_t told = quality->run_time + quality->unread + quality->gone + quality->unmapped +
			quality->kernel;

	say(verdict, "names", "no symbol: %.1f %% of %s; %.1f %% JIT-compiled",
	    percent(quality->unnamed, whole), what_counts(verdict->figures),
	    percent(quality->run_time, whole));
	if (quality->unread)
		add(verdict, ", %.1f %% in files that were not read",
		    percent(quality->unread, whole));
	if (quality->gone)
		add(verdict, ", %.1f %% in deleted files", percent(quality->gone, whole));
	if (quality->unmapped)
		add(verdict, ", %.1f %% outside any known file", percent(quality->unmapped, whole));
	if (quality->kernel)
		add(verdict, ", %.1f %% in the kernel", percent(quality->kernel, whole));
	add(verdict, ", %.1f %% stripped", percent(quality->unnamed - told, whole));
}

static void say_names(struct verdict *verdict, const struct profile *profile)
{
	const struct session_summary *session = &verdict->figures->session;
	uint64_t whole = profile_total(profile);

	if (verdict->figures->quality.unnamed * 20 > whole)
		say_unnamed(verdict, whole);
	say_nameless(verdict, profile);
	say_interpreted(verdict, profile);
	say_stripped(verdict, profile);
	if (session->nr_files_gone)
		say(verdict, "names", "%zu files with samples no longer existed when opened",
		    session->nr_files_gone);
	if (session->nr_files_refused)
		say(verdict, "names",
		    "%zu files with samples could not be read, permission denied (needs "
		    "CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE and CAP_DAC_READ_SEARCH)",
		    session->nr_files_refused);
	if (session->nr_processes_refused)
		say(verdict, "names",
		    "the mappings of %zu processes could not be read, permission denied (needs "
		    "CAP_SYS_PTRACE, and a security policy that allows it)",
		    session->nr_processes_refused);
	if (session->nr_files_silent)
		say(verdict, "names",
		    "%zu files with samples were given up: their file system did not answer in "
		    "time",
		    session->nr_files_silent);
	if (session->nr_processes_silent)
		say(verdict, "names", "the mappings of %zu processes could not be read in time",
		    session->nr_processes_silent);
	if (session->nr_unawaited)
		say(verdict, "names",
		    "%" PRIu64 " stacks could not wait for the mappings of their process: their "
		    "user frames may have no names",
		    session->nr_unawaited);
	if (session->nr_files_left_out)
		say(verdict, "names",
		    "%zu files with samples were not read: in more containers than the limit of "
		    "%zu (ulimit -n)",
		    session->nr_files_left_out, session->max_roots - 1);
	if (verdict->figures->nr_intervals_joined)
		say(verdict, "names",
		    "looking them up took long: %" PRIu64 " of %" PRIu64
		    " intervals are shown together with the one before",
		    verdict->figures->nr_intervals_joined, verdict->figures->nr_intervals);
	if (session->nr_mappings_refused)
		say(verdict, "names",
		    "more than %d files: %" PRIu64 " mappings of further ones look like "
		    "JIT-compiled code",
		    FILE_TABLE_MAX, session->nr_mappings_refused);
	if (session->nr_mappings_left_out)
		say(verdict, "names",
		    "more than %d executable mappings of a process: %" PRIu64
		    " further ones look like unknown code",
		    MAPPINGS_MAX, session->nr_mappings_left_out);
	if (session->nr_refreshes_postponed)
		say(verdict, "names",
		    "after lost process events, older mappings were used %" PRIu64
		    " times: some user frames may have a wrong symbol",
		    session->nr_refreshes_postponed);
	if (session->nr_runtimes_refused)
		say(verdict, "names",
		    "more than %d processes with JIT-compiled code at a time: %" PRIu64
		    " frames of further ones have no names",
		    RUNTIME_TABLE_MAX, session->nr_runtimes_refused);
	if (session->nr_runtimes_unheld)
		say(verdict, "names",
		    "more than %d processes with JIT-compiled code at a time: the files of %" PRIu64
		    " further ones were not kept open, so their code may have no names",
		    RUNTIME_TABLE_HOLDERS, session->nr_runtimes_unheld);
	if (session->nr_paths_cut)
		say(verdict, "names", "%zu paths are too long: only their ends are kept",
		    session->nr_paths_cut);
}

/* Reports failures of the helper processes that read other people's files. */
static void say_reading(struct verdict *verdict)
{
	size_t i;

	for (i = 0;; i++) {
		cleanup_free char *trouble = reading_trouble(&verdict->figures->session.reading, i);

		if (!trouble)
			return;
		say(verdict, "files", "%s", trouble);
	}
}

static void say_cuts(struct verdict *verdict)
{
	size_t i;

	for (i = 0;; i++) {
		cleanup_free char *cut = naming_cut(verdict->figures->names->symbolizer, i);

		if (!cut)
			return;
		say(verdict, "names", "%s", cut);
	}
}

/* --- cost ------------------------------------------------------------------------------------ */

/* CPU time in user mode and in system calls. */
static double cpu_seconds(const struct rusage *usage)
{
	return seconds(&usage->ru_utime) + seconds(&usage->ru_stime);
}

#define STORM_EVENTS 1000 /* per second */

/* True if process events are frequent enough that their cost is no longer negligible. */
static bool has_storm(const struct session_summary *session)
{
	uint64_t nr = session->nr_process_events;

	return nr > session->accounting.sum.entries &&
	       (double)nr * 1e9 > (double)session->sampled_ns * STORM_EVENTS;
}

static void say_cost(struct verdict *verdict)
{
	const struct run_figures *run = verdict->figures;
	const struct session_summary *session = &run->session;
	double helpers = cpu_seconds(&run->helpers);
	double own = cpu_seconds(&run->usage) + helpers;
	double wall = (double)(run->now_ns - run->entered_ns) / 1e9;
	char number[NUMBER_COMMAS_BYTES];

	say(verdict, "cost", "%s", "");
	if (session->cost.runs)
		add(verdict, "BPF %.3f s (%.0f ns a sample), ", (double)session->cost.run_ns / 1e9,
		    (double)session->cost.run_ns / (double)session->cost.runs);
	add(verdict, "user space %.3f s (%.2f %% of %zu CPU%s)", own,
	    100 * own / wall / (double)run->nr_cpus, run->nr_cpus, run->nr_cpus == 1 ? "" : "s");
	if (helpers >= 0.0005)
		add(verdict, ", %.3f s of it in helper processes", helpers);
	add(verdict, ", memory %.1f MB", megabytes((uint64_t)run->usage.ru_maxrss * 1024));
	if (run->helpers.ru_maxrss > run->usage.ru_maxrss)
		add(verdict, " (helper process: %.1f MB)",
		    megabytes((uint64_t)run->helpers.ru_maxrss * 1024));
	add(verdict, ", kernel maps %.1f MB%s",
	    megabytes(session->cost.map_bytes + session->unwinding.chunk_bytes),
	    run->is_unwritten ? ", before writing results" : "");
	if (session->walks.nr_switches) {
		const struct walk_budget_result *walks = &session->walks;

		say(verdict, "cost", "following %s switches took %.2f us each, ",
		    number_commas(number, walks->nr_switches),
		    (double)walks->paid_ns / 1e3 / (double)walks->nr_switches);
		add(verdict, "%.2f %% of %zu CPU%s",
		    100 * (double)walks->paid_ns / (double)session->sampled_ns /
			    (double)run->nr_cpus,
		    run->nr_cpus, run->nr_cpus == 1 ? "" : "s");
	}
	if (has_storm(session))
		say(verdict, "cost",
		    "the kernel reported %s forks, execs, exits and mappings; the processes that "
		    "caused them paid for it",
		    number_commas(number, session->nr_process_events));
}

/* --- the whole verdict ----------------------------------------------------------------------- */

/* Names are chosen by other users: control characters must not reach the terminal. */
static void make_safe(char *text)
{
	text_make_safe(text, text, strlen(text));
}

int verdict_make(struct verdict *verdict, const struct run_figures *figures,
		 const struct profile *profile)
{
	uint64_t sampled_ns = figures->session.sampled_ns;
	size_t i;

	*verdict = (struct verdict){.figures = figures};
	if (asprintf(&verdict->head, "stook: %s on %zu CPU%s for %.*f s", figures->source->what,
		     figures->nr_cpus, figures->nr_cpus == 1 ? "" : "s",
		     sampled_ns < NS_PER_SEC ? 3 : 1, (double)sampled_ns / 1e9) < 0) {
		verdict->head = NULL;
		return -ENOMEM;
	}
	say_sum(verdict);
	say_events(verdict, profile);
	say_time(verdict);
	say_what_is_missing(verdict);
	if (!figures->session.shown)
		say_why_none(verdict);
	say_budget(verdict);
	say_walks(verdict);
	say_stacks(verdict, profile);
	if (!figures->names->options->no_symbols)
		say_names(verdict, profile);
	say_reading(verdict);
	say_cuts(verdict);
	say_cost(verdict);
	make_safe(verdict->head);
	for (i = 0; i < verdict->nr; i++)
		make_safe(verdict->rows[i].sentence);
	return verdict->failed ? -ENOMEM : 0;
}

/* Returns the topic, or "" if the row above has the same topic. */
static const char *shown_topic(const struct verdict *verdict, size_t number)
{
	const struct verdict_row *rows = verdict->rows;

	return number && !strcmp(rows[number - 1].topic, rows[number].topic) ? ""
									     : rows[number].topic;
}

int verdict_add_comments(const struct verdict *verdict, struct profile *profile)
{
	int err = profile_add_comment(profile, verdict->head);
	size_t i;

	for (i = 0; i < verdict->nr && !err; i++) {
		cleanup_free char *line = NULL;

		if (asprintf(&line, "%-8s %s", shown_topic(verdict, i), verdict->rows[i].sentence) <
		    0)
			line = NULL;
		err = line ? profile_add_comment(profile, line) : -ENOMEM;
	}
	return err;
}

/* --- the sheet ------------------------------------------------------------------------------- */

struct stats_row {
	const char *name;
	uint64_t value;
};

static void add_figures(struct sheet *sheet, const struct stats_row *rows, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		const struct column column = {.name = rows[i].name};

		sheet_add_figure(sheet, MEDIA_JSON, &column, cell_count(rows[i].value));
	}
}

static const char *const loss_names[] = {
#define X(id, name, sentence) [LOST_##id] = "lost_" name,
	WIRE_LOSS_REASONS(X)
#undef X
};

static void add_samples(struct sheet *sheet, const struct session_summary *session)
{
	const struct wire_counters *sum = &session->accounting.sum;
	const uint64_t seen = session->nr_ticks;
	const struct stats_row rows[] = {
		{"entries", sum->entries},
		{"idle", sum->idle},
		{"own", sum->own},
		{"filtered", sum->filtered},
		{"ended", sum->ended},
		{"recorded", sum->recorded},
		{"counted", sum->counted},
		{"thinned", sum->thinned},
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
		{"cpus_short", session->nr_cpus_short},
		{"cpus_short_us", session->short_ns / NS_PER_US},
		{"lost_events", session->nr_lost_events},
		{"forgotten", session->nr_forgotten},
		{"unweighed", session->cost.nr_unweighed},
		{"unmeasured", session->cost.nr_unmeasured},
		{"epochs", session->accounting.nr_epochs},
	};
	unsigned reason;

	for (reason = 0; reason < WIRE_NR_LOSS_REASONS; reason++)
		add_figures(sheet, &(const struct stats_row){loss_names[reason], sum->lost[reason]},
			    1);
	add_figures(sheet, rows, ARRAY_SIZE(rows));
}

/* Off-CPU: the sums in nanoseconds, see bpf/wire.h and struct session_time. */
static void add_time(struct sheet *sheet, const struct session_summary *session)
{
	const struct wire_counters *sum = &session->accounting.sum;
	const struct stats_row rows[] = {
		{"waits", sum->waits},
		{"waits_unseen", sum->unseen},
		{"waits_stolen_ns", sum->stolen_ns},
		{"waited_ns", sum->waited_ns},
		{"counted_ns", sum->counted_ns},
		{"sent_ns", sum->sent_ns},
		{"passed_ns", sum->passed_ns},
		{"cut_ns", sum->cut_ns},
		{"shown_ns", session->time.shown_ns},
		{"hidden_ns", session->time.hidden_ns},
		{"sampled_ns", session->time.sampled_ns},
		{"open_ns", session->time.open_ns},
		{"open_passed_ns", session->time.open_passed_ns},
		{"waits_open", session->time.nr_open},
		{"waits_nested", session->cost.nr_nested},
		{"lost_ns", session->time.lost_ns},
		{"unended_ns", session->time.unended_ns},
		{"divided_ns", session->time.divided_ns},
		{"undivided_ns", session->time.undivided_ns},
		{"split_error_ns", session->time.split_error_ns},
		{"walks", session->walks.nr_walks},
		{"walk_ns", session->walks.walk_ns},
		{"walk_each_ns", session->walks.most_each_ns},
		{"follow_switches", session->walks.nr_switches},
		{"follow_ns", session->walks.paid_ns},
		{"follow_runs", session->walks.nr_runs},
		{"follow_run_ns", (uint64_t)session->walks.run_ns},
		{"waits_sent", sum->sent},
		{"waits_passed", sum->passed},
		{"waits_cut", sum->cut},
	};

	add_figures(sheet, rows, ARRAY_SIZE(rows));
}

static uint64_t microseconds(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * (NS_PER_SEC / NS_PER_US) + (uint64_t)time->tv_usec;
}

static void add_cost(struct sheet *sheet, const struct run_figures *run)
{
	const struct session_summary *session = &run->session;
	const struct stats_row rows[] = {
		{"ring_bytes", session->ring_bytes},
		{"map_bytes", session->cost.map_bytes},
		{"names_replaced", session->cost.nr_names_replaced},
		{"bpf_runs", session->cost.runs},
		{"bpf_ns", session->cost.run_ns},
		{"user_us", microseconds(&run->usage.ru_utime)},
		{"sys_us", microseconds(&run->usage.ru_stime)},
		{"helpers_us",
		 microseconds(&run->helpers.ru_utime) + microseconds(&run->helpers.ru_stime)},
		{"max_rss_kb", (uint64_t)run->usage.ru_maxrss},
		{"helpers_rss_kb", (uint64_t)run->helpers.ru_maxrss},
		{"process_events", session->nr_process_events},
		{"longest_stall_us", session->longest_stall_ns / NS_PER_US},
		{"longest_turn_us", session->longest_turn_ns / NS_PER_US},
		{"profile_bytes", session->profile_bytes},
		{"first_sample_us",
		 session->first_sample_ns > run->entered_ns
			 ? (session->first_sample_ns - run->entered_ns) / NS_PER_US
			 : 0},
		{"intervals", run->nr_intervals},
		{"intervals_joined", run->nr_intervals_joined},
		{"latest_interval_us", run->latest_interval_ns / NS_PER_US},
		{"wall_us", (run->now_ns - run->entered_ns) / NS_PER_US},
		{"sampling_cpu_us", session->sampling_cpu_ns / NS_PER_US},
		{"sampled_us", session->sampled_ns / NS_PER_US},
	};

	add_figures(sheet, rows, ARRAY_SIZE(rows));
}

static const char *const end_names[] = {
#define X(id, name, words) [WALK_##id] = "user_end_" name,
	WALK_ENDS(X)
#undef X
};

static void add_stacks(struct sheet *sheet, const struct run_figures *run)
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
		{"tables_crowded", session->unwinding.nr_crowded},
		{"files_left_out", session->unwinding.nr_files_left_out},
		{"tables_too_large", session->unwinding.nr_too_large},
		{"processes_displaced", session->unwinding.nr_displaced},
		{"processes_unpublished", session->unwinding.nr_unpublished},
		{"table_bytes", session->unwinding.bytes},
		{"walked_late", session->unwinding.nr_walked},
		{"files", session->nr_files},
		{"files_gone", session->nr_files_gone},
		{"paths_cut", session->nr_paths_cut},
		{"mappings_refused", session->nr_mappings_refused},
		{"runtimes_refused", session->nr_runtimes_refused},
		{"runtimes_unheld", session->nr_runtimes_unheld},
		{"files_refused", session->nr_files_refused},
		{"files_silent", session->nr_files_silent},
		{"files_past_roots", session->nr_files_left_out},
		{"processes", session->nr_processes},
		{"processes_refused", session->nr_processes_refused},
		{"processes_silent", session->nr_processes_silent},
		{"mappings_left_out", session->nr_mappings_left_out},
		{"mappings_cut", session->unwinding.nr_mappings_cut},
		{"refreshes_postponed", session->nr_refreshes_postponed},
		{"unsliced", session->nr_unsliced},
		{"unawaited", session->nr_unawaited},
		{"readers_crashed",
		 session->reading.nr_parsers_died + session->reading.nr_openers_died},
		{"readers_late",
		 session->reading.nr_parsers_late + session->reading.nr_openers_late},
		{"readers_abandoned", session->reading.nr_abandoned},
		{"files_given_up", session->reading.nr_files_given_up},
	};

	add_figures(sheet, rows, ARRAY_SIZE(rows));
}

/* Adds how much of the naming budget was used, and what it left unnamed. */
static void add_naming(struct sheet *sheet, const struct session_names *names)
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

	add_figures(sheet, rows, ARRAY_SIZE(rows));
}

static void read_event(const void *context, size_t number, struct row *row)
{
	const struct run_figures *run = context;
	const struct session_event *event = &run->session.events[number];

	row->cells[0] = cell_text(run->source->events[number].event.name);
	row->cells[1] = cell_count(event->taken.entries);
	row->cells[2] = cell_count(event->taken.weight);
	row->cells[3] = cell_count(event->occurrences);
	row->cells[4] = cell_count(event->unseen);
	row->cells[5] = cell_count((uint64_t)(event->running_share * 1e6));
}

static void add_events(struct sheet *sheet, const struct run_figures *run)
{
	static const struct column columns[] = {
		{"event"},   {"samples"},	  {"sampled"},
		{"counted"}, {"unseen_estimate"}, {"running_ppm"},
	};
	const struct table table = {
		.name = "events",
		.columns = columns,
		.nr_columns = ARRAY_SIZE(columns),
		.nr_rows = run->source->nr_events,
		.read_row = read_event,
		.context = run,
	};

	sheet_add_table(sheet, MEDIA_JSON, &table);
}

static void read_row(const void *context, size_t number, struct row *row)
{
	const struct verdict *verdict = context;

	row->cells[0] = cell_text(verdict->rows[number].topic);
	row->cells[1] = cell_text(shown_topic(verdict, number));
	row->cells[2] = cell_text(verdict->rows[number].sentence);
}

void verdict_add_to_sheet(const struct verdict *verdict, struct sheet *sheet)
{
	static const struct column columns[] = {
		{.name = "topic"}, /* programs read it in every row, people only in the first */
		{.heading = "", .least_width = 8},
		{.name = "sentence", .heading = "", .gap = 1},
	};
	const struct table table = {
		.name = "verdict",
		.columns = columns,
		.nr_columns = ARRAY_SIZE(columns),
		.nr_rows = verdict->nr,
		.read_row = read_row,
		.context = verdict,
		.never_cut = true,
	};
	const struct run_figures *run = verdict->figures;
	size_t i;

	sheet_add_line(sheet, MEDIA_PEOPLE, LINE_PLAIN);
	sheet_add_words(sheet, "%s", verdict->head);
	add_samples(sheet, &run->session);
	add_events(sheet, run);
	if (run->source->waits)
		add_time(sheet, &run->session);
	add_cost(sheet, run);
	add_stacks(sheet, run);
	add_naming(sheet, run->names);
	for (i = WALK_NONE + 1; i < NR_WALK_ENDS; i++)
		add_figures(sheet, &(const struct stats_row){end_names[i], run->quality.ends[i]},
			    1);
	sheet_add_table(sheet, MEDIA_ALL, &table);
}
