/* Options on the tasks that are wanted, and for how long. */
#include "cmd/options/task_options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

/* Each target is watched by a descriptor: of both kinds they fit into SESSION_MAX_CALLER_FDS. */
#define MAX_TARGETS 500

static int take_list(const char *option, const char *value, const char *wanted, uint32_t **list,
		     size_t *nr, struct error *error)
{
	free(*list);
	*list = NULL;
	if (number_parse_list(value, false, INT_MAX, MAX_TARGETS, list, nr) < 0)
		return option_bad(error, option, value, wanted);
	return 0;
}

static int take_pids(void *context, const char *value, struct error *error)
{
	struct run_config *options = context;

	return take_list("--pid", value, "process numbers, separated by commas", &options->pids,
			 &options->nr_pids, error);
}

static int take_tids(void *context, const char *value, struct error *error)
{
	struct run_config *options = context;

	return take_list("--tid", value, "thread numbers, separated by commas", &options->tids,
			 &options->nr_tids, error);
}

static int take_cgroup(void *context, const char *value, struct error *error)
{
	struct run_config *options = context;

	if (!*value)
		return option_bad(error, "--cgroup", value, "a path");
	options->cgroup = value;
	return 0;
}

static int take_follow(void *context, const char *value, struct error *error)
{
	struct run_config *options = context;

	options->follow = true;
	options->no_follow = false;
	return 0;
}

static int take_no_follow(void *context, const char *value, struct error *error)
{
	struct run_config *options = context;

	options->no_follow = true;
	options->follow = false;
	return 0;
}

static int take_seconds(const char *option, const char *value, uint64_t *ret_ns,
			struct error *error)
{
	if (number_parse_seconds(value, ret_ns) < 0 || !*ret_ns)
		return option_bad(error, option, value,
				  "seconds above 0, or with a unit: 500ms, 10s, 2m, 1h");
	return 0;
}

static int take_duration(void *context, const char *value, struct error *error)
{
	struct run_config *options = context;

	return take_seconds("--duration", value, &options->duration_ns, error);
}

static int take_interval(void *context, const char *value, struct error *error)
{
	struct run_config *options = context;

	return take_seconds("--interval", value, &options->interval_ns, error);
}

static const struct option_row rows[] = {
	{'p', "pid", "PID,…", take_pids, "only these processes (and their children)"},
	{'t', "tid", "TID,…", take_tids, "only these threads"},
	{0, "cgroup", "PATH", take_cgroup, "only this cgroup and those below it"},
	OPTION_SWITCH('a', "all", struct run_config, everything,
		      "everything: the default, but with -- CMD"),
	{0, "follow", NULL, take_follow,
	 "children of --pid's processes, whatever that costs others"},
	{0, "no-follow", NULL, take_no_follow, "not the children of --pid's processes"},
	OPTION_SWITCH(0, "self", struct run_config, self, "stook's own processes too"),
	{'d', "duration", "SECS", take_duration,
	 "how long: 10, 500ms, 2m (default: until Ctrl-C); also without -d"},
	{'i', "interval", "SECS", take_interval, "print and start anew each interval"},
	OPTION_SWITCH('q', "quiet", struct run_config, quiet, "nothing but results and errors"),
	OPTION_SWITCH('v', "verbose", struct run_config, verbose,
		      "more words, also of the kernel; what BPF costs"),
};

struct option_group task_options_group(struct run_config *options)
{
	return (struct option_group){rows, ARRAY_SIZE(rows), options};
}

int task_options_take_duration(struct run_config *options, const char *word, struct error *error)
{
	if (!options->duration_ns)
		return take_duration(options, word, error);
	(void)error_set(error, -EINVAL, "a second duration: '%s'", word);
	error_hint(error, "several processes are separated by commas: -p $(pgrep -d, NAME)");
	return -EINVAL;
}

int task_options_finish(struct run_config *options, int argc, char **argv, struct error *error)
{
	if (optind < argc)
		options->command = argv + optind;
	else if (!strcmp(argv[argc - 1], "--"))
		return error_set(error, -EINVAL, "no command behind '--'");
	if (options->everything && (options->nr_pids || options->nr_tids))
		return error_set(error, -EINVAL, "-a together with -p or -t");
	if (options->command && (options->nr_pids || options->nr_tids))
		return error_set(error, -EINVAL, "-p or -t together with '-- CMD'");
	return 0;
}

void task_options_clear(struct run_config *options)
{
	free(options->pids);
	free(options->tids);
}
