/*
 * A run with stacks, once it is prepared: wait; stop; names; results; the verdict. Names wait until
 * the last sample, so that the profile does not show the profiler. Results have the verdict as
 * comments, as it is before they are written; what is told afterwards knows what writing them cost.
 */
#include "cmd/run/stack_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cmd/complain.h"
#include "cmd/run/naming_notes.h"
#include "cmd/run/run_stats.h"
#include "cmd/run/run_summary.h"

/* --- results --------------------------------------------------------------------------------- */

/* Where naming fails nothing is lost but the names. */
static void apply_names(struct stack_run *run)
{
	struct error unnamed = {0};

	if (session_names_apply(&run->names, &unnamed) < 0)
		complain_error(&unnamed);
}

static int show(struct stack_run *run, struct error *error)
{
	return outputs_write(&run->outputs, session_profile(run->session), error);
}

/* --- the verdict ------------------------------------------------------------------------------ */

/* The numbers of a whole run until now; with --interval the stacks are judged by the last interval. */
static int summarize(const struct stack_run *run, struct run_summary *ret, struct error *error)
{
	*ret = (struct run_summary){
		.runtimes = session_runtimes(run->session),
		.names = &run->names,
		.source = &run->source,
		.exec_ns = run->exec_ns,
		.nr_cpus = run->source.cpus ? run->source.nr_cpus : run->nr_online_cpus,
	};
	if (quality_judge(session_profile(run->session), &ret->quality) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	session_summarize(run->session, &ret->session);
	ret->now_ns = clock_now_ns();
	return 0;
}

/* Each line of the verdict is a comment of the profile. */
static int add_comments(const struct stack_run *run, const struct run_summary *summary)
{
	struct profile *profile = session_profile(run->session);
	cleanup_free char *text = NULL;
	size_t nr;
	FILE *stream = open_memstream(&text, &nr);
	char *rest;
	int err = 0;

	if (!stream)
		return -ENOMEM;
	run_summary_print(summary, run->options, profile, stream);
	if (fclose(stream) != 0)
		return -ENOMEM;
	for (rest = text; !err && rest && *rest;)
		err = profile_add_comment(profile, strsep(&rest, "\n"));
	return err;
}

/*
 * What the files say of the run. Those of an interval each go without: the numbers are of the whole.
 */
static int note_verdict(struct stack_run *run, struct error *error)
{
	struct profile *profile = session_profile(run->session);
	struct profile_origin origin = *profile_origin(profile);
	struct run_summary summary;
	int err;

	if (run->run.options->interval_ns)
		return 0;
	err = summarize(run, &summary, error);
	if (err)
		return err;
	summary.is_unwritten = true;
	origin.duration_ns = summary.session.sampled_ns;
	profile_set_origin(profile, &origin);
	if (add_comments(run, &summary) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	return 0;
}

/* Last of all, so that the cost it tells is that of all but its own telling. */
static int tell_verdict(struct stack_run *run, struct error *error)
{
	struct run_summary summary;
	int err = summarize(run, &summary, error);

	if (err)
		return err;
	if (!run->run.options->quiet) {
		run_summary_print(&summary, run->options, session_profile(run->session), stderr);
		naming_notes_tell(run->names.symbolizer);
	}
	if (!run->stats.stream)
		return 0;
	run_stats_write(&summary, run->stats.stream);
	return out_file_commit(&run->stats, error);
}

/* --- the run --------------------------------------------------------------------------------- */

static int wait_in_session(void *context, uint64_t until_ns, struct pollfd *fds, size_t nr_fds,
			   struct error *error)
{
	struct stack_run *run = context;

	return session_wait(run->session, until_ns, fds, nr_fds, error);
}

static int end_interval(void *context, struct error *error)
{
	struct stack_run *run = context;
	int err = session_flush(run->session, error);

	if (err)
		return err;
	apply_names(run);
	err = show(run, error);
	profile_reset_samples(session_profile(run->session));
	return err;
}

static void print_progress(void *context)
{
	struct stack_run *run = context;

	fprintf(stderr, "  %" PRIu64 " %s", session_progress(run->session), run->source.unit);
}

/* A program that is started for the run must find all probes there. */
static bool is_ready(void *context)
{
	const struct stack_run *run = context;
	const struct probing *probing = session_probing(run->session);

	return !probing || probing_is_ready(probing);
}

/* reader_left: of what stdout was a pipe to; nothing more is to be written. */
static bool finish(struct stack_run *run, bool reader_left)
{
	struct error error = {0};
	bool well = true;

	if (!reader_left) {
		apply_names(run);
		well = complain_unless_well(note_verdict(run, &error), &error);
		well &= complain_unless_well(show(run, &error), &error);
	}
	return well & complain_unless_well(tell_verdict(run, &error), &error);
}

/* Whatever fails on the way, what was collected before it is shown. */
int stack_run_go(struct stack_run *run)
{
	const struct run_work work = {.wait = wait_in_session,
				      .end_interval = end_interval,
				      .is_ready = is_ready,
				      .print_progress = print_progress,
				      .context = run};
	struct error error = {0};
	bool well, reader_left;
	int err = session_start(run->session, &error);

	if (!complain_unless_well(err, &error))
		return err;
	run->run.shows_progress = !run->run.options->quiet && isatty(STDERR_FILENO);
	run_start_clock(&run->run);
	err = run_wait(&run->run, &work, &error);
	if (run->run.child_failed) {
		complain_error(&error);
		return err;
	}
	reader_left = err == -EPIPE;
	well = complain_unless_well(err, &error);
	well &= complain_unless_well(session_stop(run->session, &error), &error);
	well &= finish(run, reader_left);
	return well ? 0 : -EIO;
}

int stack_run_status(struct stack_run *run, int err)
{
	return run_status(&run->run, err);
}
