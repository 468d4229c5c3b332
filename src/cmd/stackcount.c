/*
 * stook stackcount: counts the stacks that lead to a function, a tracepoint or a static probe.
 *
 *	$ stook stackcount c:malloc -p $(pgrep redis-server) -f 10 >malloc.folded
 *	stook: 1 probe of 'c:malloc' on 2 CPUs for 10.0 s
 *	hits     48,120 fired = 48,120 shown + 0 idle + 0 filtered + 0 lost
 *	…
 *
 * With --weight the sum of a value is shown instead: c:malloc --weight arg1 gives bytes.
 *
 * The run is shared with other commands (run/stacks.h); this file finds the probes.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "run/complain.h"
#include "cmd/options/naming_options.h"
#include "cmd/options/output_options.h"
#include "cmd/options/probe_options.h"
#include "cmd/options/stack_options.h"
#include "cmd/options/task_options.h"
#include "cmd/probe_operands.h"
#include "run/probe_search.h"
#include "run/run.h"
#include "run/stacks.h"

struct stackcount {
	struct probe_options probe_options;
	struct run_config tasks;
	struct stack_options stack_options;
	const char *unit;	 /* "hits"; for `stook profile` "samples" */
	uint32_t every;		 /* see struct session_probes */
	const char *weight_text; /* NULL: count hits */
	struct probe_weight weight;
	struct tally_fetch *weights;	  /* one per probe */
	struct session_probe_name *names; /* one per probe */
	struct probe_search search;
	struct session_probes probes;
	struct stacks stacks;
};

/* --- options --------------------------------------------------------------------------------- */

#define USAGE                                                                                 \
	"usage: stook stackcount [OPTIONS] PATTERN… [SECS] [-- CMD ARG…]\n"               \
	"\n"                                                                                  \
	"Counts the stacks that lead to matching functions and prints a report, or with -f\n" \
	"folded stacks. Patterns are the same as for 'stook funccount'.\n"

#define EXAMPLES                                                                           \
	"\nexamples:\n"                                                                    \
	"  stook stackcount c:malloc -p $(pgrep -d, redis-server) -f 10 > malloc.folded\n" \
	"  stook stackcount c:malloc --weight arg1 -f 10 > bytes.folded\n"                 \
	"  stook stackcount t:sched:sched_switch 5      stacks that go to sleep\n"         \
	"  stook stackcount 'tcp_send*' -o send.pb.gz -- curl -s localhost"

static int take_weight(void *context, const char *value, struct error *error)
{
	struct stackcount *stackcount = context;

	stackcount->weight_text = value;
	return probe_weight_parse(value, &stackcount->weight, error);
}

static int take_filter(void *context, const char *value, struct error *error)
{
	struct stackcount *stackcount = context;

	return probe_options_take_filter(&stackcount->probe_options, value, error);
}

/* bcc's letter for the duration; in bcc's stackcount -d is --delimited. */
static int take_duration(void *context, const char *value, struct error *error)
{
	struct stackcount *stackcount = context;

	return task_options_take_duration(&stackcount->tasks, value, error);
}

static const struct option_row rows[] = {
	{0, "weight", "VALUE", take_weight, "sum up arg1, retval, args.FIELD, … instead of hits"},
	{0, "filter", "FILTER", take_filter,
	 "behind a tracepoint: only its hits of which this is true: 'prev_prio < 100'"},
	{'D', NULL, "SECS", take_duration, NULL},
};

static int parse(struct stackcount *stackcount, int argc, char **argv, struct error *error)
{
	const struct option_group groups[] = {
		probe_options_group(&stackcount->probe_options),
		task_options_group(&stackcount->tasks),
		{rows, ARRAY_SIZE(rows), stackcount},
		stack_options_group(&stackcount->stack_options),
		output_options_group(&stackcount->stack_options.output),
		naming_options_group(&stackcount->stack_options.naming),
	};
	struct probe_words words = {&stackcount->probe_options, &stackcount->tasks};
	const struct option_table table = {
		.groups = groups,
		.nr_groups = ARRAY_SIZE(groups),
		.take_word = probe_options_take_word,
		.context = &words,
		.usage = USAGE,
		.examples = EXAMPLES,
	};
	int err = option_table_parse(&table, argc, argv, error);

	if (!err)
		err = task_options_finish(&stackcount->tasks, argc, argv, error);
	if (!err)
		err = probe_options_check(&stackcount->probe_options,
					  "which functions or tracepoints?",
					  "c:malloc or t:sched:sched_switch", error);
	return err ? err : stack_options_check(&stackcount->stack_options, error);
}

/* --- the run --------------------------------------------------------------------------------- */

/*
 * True if the probe's name must be added as the leaf frame. The start of a function is already the
 * leaf of the stack; static probes, tracepoints, offsets and returns are not in the stack.
 */
static bool needs_leaf(const struct probe *probe)
{
	bool is_function = probe->kind == PROBE_USER || probe->kind == PROBE_KERNEL;
	bool is_start = probe->kind == PROBE_USER ? probe->is_entry : !probe->offset;

	return !is_function || probe->is_return || !is_start;
}

static int make_names(struct stackcount *stackcount, struct error *error)
{
	const struct probe_list *list = &stackcount->search.list;
	size_t i;

	stackcount->names = calloc(list->nr_probes + 1, sizeof(*stackcount->names));
	if (!stackcount->names)
		return error_no_memory(error, "");
	for (i = 0; i < list->nr_probes; i++) {
		stackcount->names[i] = (struct session_probe_name){
			.text = probe_label(&list->probes[i]),
			.is_leaf = needs_leaf(&list->probes[i]),
		};
		if (!stackcount->names[i].text)
			return error_no_memory(error, "");
	}
	/*
	 * Files record which of several probes was hit, so that `stook report --by probe` can show
	 * it.
	 */
	if (list->nr_probes > 1)
		stackcount->stack_options.kept_labels |= LABEL_PROBE;
	return 0;
}

static void free_names(struct stackcount *stackcount)
{
	size_t i;

	for (i = 0; stackcount->names && i < stackcount->search.list.nr_probes; i++)
		free(stackcount->names[i].text);
	free(stackcount->names);
}

static int prepare(void *context, struct error *error)
{
	struct stackcount *stackcount = context;
	int err;

	stackcount->search.thins = true;
	err = probe_search_find(&stackcount->search, &stackcount->probe_options, &stackcount->tasks,
				error);

	if (!err)
		err = probe_filters_compile(&stackcount->search.list, &stackcount->probe_options,
					    error);
	if (!err)
		err = make_names(stackcount, error);
	if (!err && stackcount->weight_text)
		err = probe_weight_find(&stackcount->weight, &stackcount->search.list,
					&stackcount->search.features, &stackcount->weights, error);
	return err;
}

static int choose(void *context, struct stack_source *ret, struct error *error)
{
	struct stackcount *stackcount = context;
	const struct probe_list *list = &stackcount->search.list;
	const char *pattern = stackcount->probe_options.patterns[0];
	const char *event = pattern;
	bool is_one = stackcount->probe_options.nr_patterns == 1;

	if (list->nr_probes == 1 && list->probes[0].kind == PROBE_TRACEPOINT)
		event = list->probes[0].name; /* like perf, without `t:` */
	*ret = (struct stack_source){
		.probes = &stackcount->probes,
		.unit = stackcount->unit,
		.event_name = stackcount->weight_text ? stackcount->weight_text : event,
		.period_unit = "count",
		.period = 1,
		.is_sum = stackcount->weight_text != NULL,
	};
	(void)snprintf(ret->what, sizeof(ret->what), "%zu probe%s of '%s'%s", list->nr_probes,
		       list->nr_probes == 1 ? "" : "s", pattern, is_one ? "" : ", …");
	stackcount->probes = (struct session_probes){
		.list = list,
		.features = &stackcount->search.features,
		.every = stackcount->every,
		.names = stackcount->names,
		.weights = stackcount->weights,
	};
	return probe_search_decide(&stackcount->search, &stackcount->stacks.collector.run->tasks,
				   true, &stackcount->probes.link_pid,
				   &stackcount->probes.budget_share, error);
}

static void tell(void *context)
{
	const struct stackcount *stackcount = context;
	const struct probing *probing = session_probing(stackcount->stacks.session);

	probe_notes_after(&stackcount->search.list, probing, stackcount->every,
			  probing_missed(probing), stackcount->tasks.verbose);
}

static void attached(void *context)
{
	struct stackcount *stackcount = context;

	probe_search_attached(&stackcount->search);
}

static const struct stack_command command = {
	.prepare = prepare, .choose = choose, .attached = attached, .tell = tell};

static int run(struct stackcount *stackcount)
{
	int status;

	stacks_init(&stackcount->stacks, &stackcount->stack_options, &command, stackcount);
	status = run_collector(&stackcount->tasks, NULL, &stackcount->stacks.collector);
	stacks_clear(&stackcount->stacks);
	free_names(stackcount);
	probe_search_clear(&stackcount->search);
	free(stackcount->weights);
	return status;
}

int stackcount_run(const struct run_config *tasks, const struct stack_options *stacks,
		   const struct probe_options *probes, uint32_t every)
{
	struct stackcount stackcount = {
		.probe_options = *probes,
		.tasks = *tasks,
		.stack_options = *stacks,
		.unit = "samples",
		.every = every,
	};

	return run(&stackcount);
}

int cmd_stackcount(int argc, char **argv)
{
	struct stackcount stackcount = {.probe_options = PROBE_OPTIONS_INIT,
					.unit = "hits",
					.stack_options.labels = LABEL_COMM,
					.stack_options.kept_labels = LABEL_PID};
	struct error error = {0};
	int err = parse(&stackcount, argc, argv, &error);
	int status = 0;

	if (err < 0) {
		complain_error(&error);
		status = run_usage_status(argv);
	} else if (!err) {
		status = run(&stackcount);
	}
	task_options_clear(&stackcount.tasks);
	stack_options_clear(&stackcount.stack_options);
	probe_options_clear(&stackcount.probe_options);
	return status;
}
