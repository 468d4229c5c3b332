/* Options for which tasks are recorded, and for how long. */
#include "cmd/options/task_options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "proc/process_info.h"

/* Each target needs a descriptor; pids and tids together must fit into SESSION_MAX_CALLER_FDS. */
#define MAX_TARGETS 500
#define BLANKS	    " \t\n"

/* Converts "11 12" to "11,12": pidof and pgrep separate numbers by blanks and newlines. */
static char *with_commas(const char *text)
{
	char *list = strdup(text), *at = list;

	while (list && *text) {
		size_t nr = strcspn(text, BLANKS);

		at = mempcpy(at, text, nr);
		text += nr;
		nr = strspn(text, BLANKS);
		if (nr && at > list && text[nr] && text[nr] != ',' && at[-1] != ',')
			*at++ = ',';
		text += nr;
	}
	if (list)
		*at = '\0';
	return list;
}

static int take_list(const char *option, const char *value, const char *wanted, uint32_t **list,
		     size_t *nr, struct error *error)
{
	cleanup_free char *numbers = with_commas(value);

	free(*list);
	*list = NULL;
	if (!numbers)
		return error_no_memory(error, "");
	if (number_parse_list(numbers, false, INT_MAX, MAX_TARGETS, list, nr) < 0)
		return option_bad(error, option, value, wanted);
	return 0;
}

static int take_pids(void *context, const char *value, struct error *error)
{
	struct run_config *options = context;
	int err = take_list("--pid", value, "pids, separated by commas", &options->pids,
			    &options->nr_pids, error);

	options->pid_text = value;
	if (err == -EINVAL && (!*value || *value == '-'))
		error_hint(error, "$(pidof NAME) is empty if no process has that name");
	return err;
}

static int take_tids(void *context, const char *value, struct error *error)
{
	struct run_config *options = context;

	return take_list("--tid", value, "tids, separated by commas", &options->tids,
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

#define NR_TARGET_ROWS 3 /* the first ones */

static const struct option_row rows[] = {
	{'p', "pid", "PID,…", take_pids, "only these processes (and their children)"},
	{'t', "tid", "TID,…", take_tids, "only these threads"},
	{0, "cgroup", "PATH", take_cgroup, "only this cgroup and its descendants"},
	OPTION_SWITCH('a', "all", struct run_config, everything,
		      "the whole system: the default, except with -- CMD"),
	{0, "follow", NULL, take_follow,
	 "include children of --pid's processes, even if other processes are slowed down"},
	{0, "no-follow", NULL, take_no_follow, "exclude children of --pid's processes"},
	OPTION_SWITCH(0, "self", struct run_config, self, "include stook's own processes"),
	{'d', "duration", "SECS", take_duration,
	 "how long: 10, 500ms, 2m (default: until Ctrl-C); -d may be omitted"},
	{'i', "interval", "SECS", take_interval, "print and reset at each interval"},
	OPTION_SWITCH('q', "quiet", struct run_config, quiet, "print only results and errors"),
	OPTION_SWITCH('v', "verbose", struct run_config, verbose,
		      "print details, also libbpf's messages, and the cost of BPF programs"),
};

struct option_group task_options_group(struct run_config *options)
{
	return (struct option_group){rows, ARRAY_SIZE(rows), options};
}

struct option_group target_options_group(struct run_config *options)
{
	return (struct option_group){rows, NR_TARGET_ROWS, options};
}

/* Returns a pid of --pid whose process has the same name as the process with pid word; 0: none. */
static uint32_t find_namesake(const struct run_config *options, const char *word)
{
	struct process_status one, other;
	uint64_t pid;
	size_t i;

	if (number_parse(word, INT_MAX, &pid) < 0 || process_status_read((int32_t)pid, &one) < 0)
		return 0;
	for (i = 0; i < options->nr_pids; i++)
		if (options->pids[i] != pid &&
		    process_status_read((int32_t)options->pids[i], &other) == 0 &&
		    !strcmp(one.comm, other.comm))
			return options->pids[i];
	return 0;
}

/*
 * `-p $(pidof nginx)` expands to `-p 812 813` if there are two processes: the second pid must not
 * be taken for a duration silently.
 */
int task_options_take_duration(struct run_config *options, const char *word, struct error *error)
{
	uint32_t namesake = options->duration_ns ? 0 : find_namesake(options, word);

	if (namesake) {
		(void)error_set(error, -EINVAL,
				"'%s' is in the place of the duration, but is a process with the "
				"name of %u",
				word, namesake);
		error_hint(error, "for both processes: -p %u,%s; for a duration: -d %s", namesake,
			   word, word);
		return -EINVAL;
	}
	if (!options->duration_ns)
		return take_duration(options, word, error);
	(void)error_set(error, -EINVAL, "more than one duration: '%s'", word);
	error_hint(error, "separate several pids by commas: -p $(pgrep -d, NAME)");
	return -EINVAL;
}

int task_options_take_word(struct run_config *options, const char *command, const char *word,
			   struct error *error)
{
	if (isdigit((unsigned char)word[0]) || word[0] == '.')
		return task_options_take_duration(options, word, error);
	(void)error_set(error, -EINVAL, "unexpected argument '%s'", word);
	error_hint(error, "put a command after '--': stook %s -- %s", command, word);
	return -EINVAL;
}

/*
 * `-p $(pidof nothing) 10` expands to `-p 10`, without a duration. If the pid belongs to a process
 * that may be meant, it is profiled until Ctrl-C, and its name is printed at the start. A kernel
 * thread or the host's init is certainly not meant: that is an error. In a container, pid 1 is the
 * application.
 */
static int check_lone_pid(const struct run_config *options, int argc, char **argv,
			  struct error *error)
{
	struct process_status status;
	uint32_t pid;
	int i = 1;

	while (i < argc && argv[i] != options->pid_text)
		i++;
	if (i == argc || options->nr_pids != 1 || options->nr_tids || options->duration_ns)
		return 0;
	pid = options->pids[0];
	if (process_status_read((int32_t)pid, &status) < 0 ||
	    !(status.is_kernel || (pid == 1 && !process_own_pidns())))
		return 0;
	(void)error_set(error, -EINVAL, "-p %u is '%s', %s: is it the duration?", pid, status.comm,
			status.is_kernel ? "a kernel thread" : "the host's init process");
	error_hint(error,
		   "if $(pidof NAME) finds nothing, -p takes the next argument; to profile this "
		   "process, --pid=%u",
		   pid);
	return -EINVAL;
}

int task_options_finish(struct run_config *options, int argc, char **argv, struct error *error)
{
	if (optind < argc)
		options->command = argv + optind;
	else if (!strcmp(argv[argc - 1], "--"))
		return error_set(error, -EINVAL, "no command after '--'");
	if (options->everything && (options->nr_pids || options->nr_tids))
		return error_set(error, -EINVAL, "-a cannot be combined with -p or -t");
	if (options->command && (options->nr_pids || options->nr_tids))
		return error_set(error, -EINVAL, "-p or -t cannot be combined with '-- CMD'");
	return check_lone_pid(options, argc, argv, error);
}

void task_options_clear(struct run_config *options)
{
	free(options->pids);
	free(options->tids);
}
