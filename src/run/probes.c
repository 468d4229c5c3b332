/* Attaches probes in steps, while the run waits, so that they stay within their budget. */
#include "run/probes.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "run/complain.h"

/* --- before ---------------------------------------------------------------------------------- */

/* Reports impossible requests before anything is loaded. 1: the list was printed. */
static int prepare(struct collector *collector, struct error *error)
{
	struct probes *probes = collector->context;
	int err =
		probe_search_find(&probes->search, probes->options, collector->run->config, error);

	return err ? err : probes->command->prepare(probes->context, error);
}

/* Under a budget probes are attached in steps, so this can fail in a later step. */
static int check_any_left(const struct probes *probes, struct error *error)
{
	const struct probe_list *list = &probes->search.list;

	if (probes_nr(probes))
		return 0;
	return error_set(error, -EOPNOTSUPP, "no probe could be attached; '%s': %s",
			 list->probes[0].name, probing_status(probes->probing, 0)->why);
}

static int load(struct collector *collector, struct error *error)
{
	struct probes *probes = collector->context;
	struct probe_search *search = &probes->search;
	struct probing_options options = {
		.list = &search->list,
		.features = &search->features,
		.work_ns = (double)probes->work_ns,
	};
	int err = probe_search_decide(search, &collector->run->tasks, probes->may_cut, &options.pid,
				      &probes->budget_share, error);

	if (!err)
		err = probes->command->load(probes->context, &options.programs, &options.hits,
					    error);
	if (err)
		return err;
	options.budget_share = probes->budget_share;
	probes->probing = probing_new(&options, error);
	return probes->probing ? 0 : error->code;
}

static int start(struct collector *collector, struct error *error)
{
	struct probes *probes = collector->context;
	const struct clock *clock = &collector->run->clock;
	int err = probing_start(probes->probing, error);

	if (probes->budget_share > 0)
		probes->step_ns = clock->now(clock->context);
	if (!err)
		err = check_any_left(probes, error);
	if (!err)
		probes->command->begin(probes->context);
	return err;
}

/* --- waiting --------------------------------------------------------------------------------- */

/* Waits until the given time or the next step of attaching, whichever comes first. */
static int wait_and_step(struct collector *collector, uint64_t until_ns, struct pollfd *fds,
			 size_t nr_fds, struct error *error)
{
	const struct clock *clock = &collector->run->clock;
	struct probes *probes = collector->context;
	int err;

	if (until_ns > probes->step_ns)
		until_ns = probes->step_ns;
	err = clock->wait(clock->context, until_ns, fds, nr_fds);
	if (err)
		return error_set(error, err, "cannot wait: %s", strerror(-err));
	if (clock->now(clock->context) < probes->step_ns)
		return 0;
	err = probing_step(probes->probing, &probes->step_ns, error);
	return err ? err : check_any_left(probes, error);
}

static bool is_ready(const struct collector *collector)
{
	const struct probes *probes = collector->context;

	return probing_is_ready(probes->probing);
}

/* Under a budget, probes are attached again later, which needs the code mapped. */
static void forget_search(struct collector *collector)
{
	struct probes *probes = collector->context;

	if (!(probes->budget_share > 0))
		probe_search_attached(&probes->search);
}

static int end_interval(struct collector *collector, bool is_last, struct error *error)
{
	struct probes *probes = collector->context;

	return probes->command->show(probes->context, is_last, error);
}

/* --- the end --------------------------------------------------------------------------------- */

static int stop(struct collector *collector, struct error *error)
{
	struct probes *probes = collector->context;

	probes->missed = probing_missed(probes->probing);
	probing_stop(probes->probing);
	return 0;
}

static int summarize(struct collector *collector, struct error *error)
{
	const struct run *run = collector->run;
	struct probes *probes = collector->context;
	char number[NUMBER_COMMAS_BYTES];

	if (!run->has_started || run->config->quiet)
		return 0;
	if (!run->child_failed)
		probes->command->tell(probes->context);
	if (probing_own_hits(probes->probing))
		complain("excluded %s hits of stook's own processes (--self counts them)",
			 number_commas(number, probing_own_hits(probes->probing)));
	probe_notes_after(&probes->search.list, probes->probing, 0, probes->missed,
			  run->config->verbose);
	return 0;
}

static const struct collector_ops ops = {
	.prepare = prepare,
	.load = load,
	.start = start,
	.wait = wait_and_step,
	.interval = end_interval,
	.stop = stop,
	.summarize = summarize,
	.is_ready = is_ready,
	.attached = forget_search,
	.stops_last = true,
};

void probes_init(struct probes *probes, const struct probe_options *options,
		 const struct probe_command *command, void *context)
{
	*probes = (struct probes){
		.collector = {.ops = &ops, .context = probes},
		.options = options,
		.command = command,
		.context = context,
		.may_cut = true,
		.step_ns = UINT64_MAX,
		.missed = UINT64_MAX,
	};
}

size_t probes_nr(const struct probes *probes)
{
	return probes->search.list.nr_probes - probing_nr(probes->probing, PROBE_REFUSED);
}

void probes_detach(struct probes *probes)
{
	probing_free(probes->probing);
	probes->probing = NULL;
}

void probes_clear(struct probes *probes)
{
	probe_search_clear(&probes->search);
}
