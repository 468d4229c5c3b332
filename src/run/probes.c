/* Attaches probes in steps, while the run waits, so that they stay within their budget. */
#include "run/probes.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "run/complain.h"
#include "run/probe_search.h"

/* Reports impossible wishes before anything is loaded or begun. */
int probe_run_prepare(struct probe_run *run, const struct probe_options *options,
		      const struct run_config *tasks, struct error *error)
{
	int err;

	*run = (struct probe_run){.step_ns = UINT64_MAX, .missed = UINT64_MAX};
	err = run_open_targets(&run->run, tasks, error);
	if (!err)
		err = probe_search_find(&run->search, options, tasks, error);
	return err ? err : run_prepare_child(&run->run, error);
}

int probe_run_decide(struct probe_run *run, bool may_cut, struct error *error)
{
	return probe_search_decide(&run->search, &run->run.tasks, may_cut, &run->link_pid,
				   &run->budget_share, error);
}

/* --- attaching ------------------------------------------------------------------------------- */

/* Under a budget, which attaches step by step, it may come to this later. */
static int check_any_left(const struct probe_run *run, struct error *error)
{
	const struct probe_list *list = &run->search.list;

	if (probing_nr(run->probing, PROBE_REFUSED) < list->nr_probes)
		return 0;
	return error_set(error, -EOPNOTSUPP, "nothing could be probed; '%s': %s",
			 list->probes[0].name, probing_status(run->probing, 0)->why);
}

int probe_run_attach(struct probe_run *run, const struct probe_programs *programs,
		     const struct hits *hits, struct error *error)
{
	struct probing_options options = {
		.list = &run->search.list,
		.features = &run->search.features,
		.programs = programs,
		.hits = hits,
		.pid = run->link_pid,
		.budget_share = run->budget_share,
		.work_ns = run->work_ns,
	};
	int err;

	run->probing = probing_new(&options, error);
	if (!run->probing)
		return error->code;
	err = probing_start(run->probing, error);
	if (options.budget_share > 0)
		run->step_ns = clock_now_ns();
	return err ? err : check_any_left(run, error);
}

/* --- waiting --------------------------------------------------------------------------------- */

/* Until this time, or the next step of the probing, if that comes first. */
static int wait_and_step(void *context, uint64_t until_ns, struct pollfd *fds, size_t nr_fds,
			 struct error *error)
{
	struct probe_run *run = context;
	uint64_t now_ns = clock_now_ns(), left_ns;
	struct timespec timeout;
	int err;

	if (until_ns > run->step_ns)
		until_ns = run->step_ns;
	left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	timeout.tv_sec = (time_t)(left_ns / NS_PER_SEC);
	timeout.tv_nsec = (long)(left_ns % NS_PER_SEC);
	if (ppoll(fds, nr_fds, until_ns == UINT64_MAX ? NULL : &timeout, NULL) < 0 &&
	    errno != EINTR)
		return error_set_errno(error, "cannot wait");
	if (clock_now_ns() < run->step_ns)
		return 0;
	err = probing_step(run->probing, &run->step_ns, error);
	return err ? err : check_any_left(run, error);
}

static bool all_is_attached(void *context)
{
	const struct probe_run *run = context;

	return probing_is_ready(run->probing);
}

static int end_interval(void *context, struct error *error)
{
	struct probe_run *run = context;

	return run->show(run->show_context, false, error);
}

/* Whatever fails on the way, what was counted before it is shown. */
int probe_run_go(struct probe_run *run,
		 int (*show)(void *context, bool is_last, struct error *error), void *context)
{
	const struct run_work work = {
		.wait = wait_and_step,
		.end_interval = end_interval,
		.is_ready = all_is_attached,
		.context = run,
	};
	struct error error = {0};
	bool well;
	int err;

	run->show = show;
	run->show_context = context;
	run_start_clock(&run->run);
	err = run_wait(&run->run, &work, &error);
	well = complain_unless_well(err, &error);
	if (!run->run.child_failed)
		well &= complain_unless_well(show(context, true, &error), &error);
	return well ? 0 : err < 0 ? err : -EIO;
}

/* --- the end --------------------------------------------------------------------------------- */

void probe_run_detach(struct probe_run *run)
{
	run->missed = probing_missed(run->probing);
	probing_stop(run->probing);
}

void probe_run_tell(const struct probe_run *run)
{
	if (!run->search.is_quiet)
		probe_notes_after(&run->search.list, run->probing, run->missed,
				  run->run.options->verbose);
}

void probe_run_free_probes(struct probe_run *run)
{
	probing_free(run->probing);
	run->probing = NULL;
}

void probe_run_clear(struct probe_run *run)
{
	run_clear(&run->run);
	probe_search_clear(&run->search);
}
