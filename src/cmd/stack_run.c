/*
 * A run with stacks, once it is prepared: wait; stop; names; results; the verdict. Names wait until
 * the last sample, so that the profile does not show the profiler.
 */
#include "cmd/stack_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/complain.h"
#include "cmd/naming_notes.h"
#include "cmd/run_stats.h"
#include "cmd/run_summary.h"

/* --- results --------------------------------------------------------------------------------- */

/* Where naming fails nothing is lost but the names. */
static int show(struct stack_run *run, struct error *error)
{
	struct error unnamed = {0};

	if (session_names_apply(&run->names, &unnamed) < 0)
		complain_error(&unnamed);
	return outputs_write(&run->outputs, session_profile(run->session), error);
}

/* The numbers of a whole run; with --interval the stacks are judged by the last interval. */
static int summarize(struct stack_run *run, struct error *error)
{
	struct run_summary summary = {
		.runtimes = session_runtimes(run->session),
		.names = &run->names,
		.source = &run->source,
		.exec_ns = run->exec_ns,
		.nr_cpus = run->source.cpus ? run->source.nr_cpus : run->nr_online_cpus,
	};
	const struct profile *profile = session_profile(run->session);
	int err = 0;

	if (quality_judge(profile, &summary.quality) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	session_summarize(run->session, &summary.session);
	summary.now_ns = clock_now_ns();
	if (!run->run.options->quiet) {
		run_summary_print(&summary, run->options, profile, stderr);
		naming_notes_tell(run->names.symbolizer);
	}
	if (run->stats.stream) {
		run_stats_write(&summary, run->stats.stream);
		err = out_file_commit(&run->stats, error);
	}
	return err;
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
	if (!reader_left)
		well &= complain_unless_well(show(run, &error), &error);
	well &= complain_unless_well(summarize(run, &error), &error);
	return well ? 0 : -EIO;
}

int stack_run_status(struct stack_run *run, int err)
{
	return run_status(&run->run, err);
}
