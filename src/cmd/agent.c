/*
 * stook agent: samples the whole host without end, and keeps the profiles in a store.
 *
 *	$ stook agent --store /var/lib/stook/store --retain 7d --max-disk 2G
 *	stook: sampling at 19 Hz into '/var/lib/stook/store', epochs of 10 s
 *	stook: 0.21 % of 2 CPUs (own 0.19 %, BPF programs 0.02 %) at 19 Hz, memory 61 MB, …
 */
#include "cmd/commands.h"

#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/text.h"
#include "cmd/options/probe_options.h"
#include "cmd/options/stack_options.h"
#include "cmd/options/task_options.h"
#include "run/complain.h"
#include "run/run.h"

#define DEFAULT_FREQUENCY  19 /* odd on purpose: not in step with timers */
#define DEFAULT_EPOCH_NS   (10 * NS_PER_SEC)
#define DEFAULT_RETAIN_NS  (7 * 24 * 3600 * NS_PER_SEC)
#define DEFAULT_MAX_MEMORY (128ULL << 20)
#define LEAST_MAX_MEMORY   (32ULL << 20)
#define LEAST_MAX_DISK	   (1ULL << 20)

static int take_times(const char *option, const char *value, uint64_t least_ns, uint64_t most_ns,
		      const char *wanted, uint64_t *ret_ns, struct error *error)
{
	uint64_t time_ns;

	if (number_parse_seconds(value, &time_ns) < 0 || time_ns < least_ns || time_ns > most_ns)
		return option_bad(error, option, value, wanted);
	*ret_ns = time_ns;
	return 0;
}

static int take_epoch(void *context, const char *value, struct error *error)
{
	struct agent_options *options = context;

	return take_times("--epoch", value, NS_PER_SEC, 60 * NS_PER_SEC, "1 to 60 seconds",
			  &options->tasks.interval_ns, error);
}

static int take_duration(void *context, const char *value, struct error *error)
{
	struct agent_options *options = context;

	return take_times("--duration", value, 1, UINT64_MAX / 4,
			  "seconds above 0, or with a unit: 90s, 10m, 1h, 1d",
			  &options->tasks.duration_ns, error);
}

static int take_retain(void *context, const char *value, struct error *error)
{
	struct agent_options *options = context;

	return take_times("--retain", value, 60 * NS_PER_SEC, UINT64_MAX / 4,
			  "at least a minute: 12h, 7d", &options->retain_ns, error);
}

/* Bytes, or with a suffix. */
static int take_bytes(const char *option, const char *value, uint64_t least, const char *wanted,
		      uint64_t *ret, struct error *error)
{
	static const char suffixes[] = "KMGT";
	char digits[24];
	const size_t nr = strspn(value, "0123456789");
	const char *suffix = value[nr] ? strchr(suffixes, value[nr]) : NULL;
	const unsigned bits = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
	uint64_t bytes;

	if (!nr || nr >= sizeof(digits) || (value[nr] && (!suffix || value[nr + 1])))
		return option_bad(error, option, value, wanted);
	memcpy(digits, value, nr);
	digits[nr] = '\0';
	if (number_parse(digits, UINT64_MAX >> bits, &bytes) < 0 || bytes << bits < least)
		return option_bad(error, option, value, wanted);
	*ret = bytes << bits;
	return 0;
}

static int take_max_disk(void *context, const char *value, struct error *error)
{
	struct agent_options *options = context;

	return take_bytes("--max-disk", value, LEAST_MAX_DISK, "at least 1M: 500M, 2G",
			  &options->max_disk_bytes, error);
}

static int take_max_memory(void *context, const char *value, struct error *error)
{
	struct agent_options *options = context;

	return take_bytes("--max-memory", value, LEAST_MAX_MEMORY, "at least 32M: 128M, 1G",
			  &options->max_memory_bytes, error);
}

static int take_budget(void *context, const char *value, struct error *error)
{
	struct agent_options *options = context;

	return budget_option_take("--budget", value, &options->budget, error);
}

static int take_off_cpu_budget(void *context, const char *value, struct error *error)
{
	struct agent_options *options = context;

	return budget_option_take("--off-cpu-budget", value, &options->off_cpu_budget, error);
}

static int take_relabel(void *context, const char *value, struct error *error)
{
	struct agent_options *options = context;

	return relabel_rules_add(&options->rules, value, error);
}

static int take_with_env(void *context, const char *value, struct error *error)
{
	struct agent_options *options = context;
	struct process_label_wants *wants = &options->label_wants;

	while (*value) {
		const size_t nr = strcspn(value, ",");

		if (!nr || memchr(value, '=', nr))
			return option_bad(error, "--with-env", value, "names of variables");
		if (nr >= sizeof(wants->variables) - wants->nr_variables)
			return error_set(error, -E2BIG, "too many names for --with-env");
		memcpy(wants->variables + wants->nr_variables, value, nr);
		wants->nr_variables += nr;
		wants->variables[wants->nr_variables++] = '\0';
		value += nr + (value[nr] == ',');
	}
	return 0;
}

static int take_redact(void *context, const char *value, struct error *error)
{
	struct agent_options *options = context;

	return excluded_option_take("--redact", value, &options->label_wants.secrets, error);
}

static int take_word(void *context, const char *word, struct error *error)
{
	(void)error_set(error, -EINVAL, "unexpected argument '%s'", word);
	error_hint(error, "the agent runs until it is stopped; --duration ends it earlier");
	return -EINVAL;
}

static const struct option_row rows[] = {
	OPTION_TEXT(0, "store", "PATH", struct agent_options, store_path,
		    "the file that profiles are kept in, made if it is missing"),
	OPTION_NUMBER('F', "frequency", "HZ", struct agent_options, frequency, 1, 999, "1 to 999",
		      "samples per second on each CPU, at most (default 19)"),
	{0, "epoch", "SECS", take_epoch, "store a profile as often as this (default 10)"},
	OPTION_SWITCH(0, "off-cpu", struct agent_options, off_cpu,
		      "also the time in which threads do not run, by state"),
	{0, "off-cpu-budget", "SHARE", take_off_cpu_budget,
	 "limit for the cost of --off-cpu per CPU (default 0.5%), or off"},
	{0, "budget", "SHARE", take_budget,
	 "limit for the whole cost, of all CPUs (default 0.5%), or off"},
	{0, "max-memory", "BYTES", take_max_memory,
	 "size pools for this much memory, of all processes and kernel maps (default 128M)"},
	{0, "retain", "TIME", take_retain, "remove what is older (default 7d)"},
	{0, "max-disk", "BYTES", take_max_disk, "keep the store below this size (default 2G)"},
	{0, "relabel", "RULE", take_relabel,
	 "keep or drop samples by their labels, or change labels; may be repeated"},
	OPTION_SWITCH(0, "with-cmdline", struct agent_options, label_wants.command_line,
		      "label samples with the command line of their process, without secrets"),
	{0, "with-env", "NAME,…", take_with_env,
	 "likewise with these variables of its environment"},
	{0, "redact", "RE", take_redact,
	 "words of both that are secrets, too (regular expression); may be repeated"},
	OPTION_TEXT(0, "config", "PATH", struct agent_options, config_path,
		    "read further options from lines 'name = value'; again at SIGHUP"),
	OPTION_TEXT(0, "pause-file", "PATH", struct agent_options, pause_path,
		    "pause and detach everything while this file exists"),
	OPTION_TEXT(0, "listen", "WHERE", struct agent_options, listen,
		    "serve a page and an API at unix:PATH, for this user only, or at "
		    "ADDRESS:PORT, with a token"),
	OPTION_TEXT(0, "token-file", "FILE", struct agent_options, token_file,
		    "the token that requests to ADDRESS:PORT must have"),
	{'d', "duration", "SECS", take_duration,
	 "end after this time (default: run until stopped)"},
	OPTION_SWITCH('q', "quiet", struct agent_options, tasks.quiet,
		      "print only warnings and errors"),
	OPTION_SWITCH('v', "verbose", struct agent_options, tasks.verbose,
		      "print the cost of each epoch, and libbpf's messages"),
};

#define USAGE                                                                          \
	"usage: stook agent --store PATH [OPTIONS]\n"                                  \
	"\n"                                                                           \
	"Samples the whole host without end, at a low rate and within a budget, and\n" \
	"keeps the profiles in a store. SIGUSR1 pauses and resumes, SIGTERM ends it.\n"

#define EXAMPLES                                                                     \
	"\nexamples:\n"                                                              \
	"  stook agent --store /var/lib/stook/store --retain 14d --max-disk 5G\n"    \
	"  stook agent --store /tmp/redis.store --comm '^redis' -F 99 --budget 2%\n" \
	"  stook agent --store /var/lib/stook/store --pause-file /run/stook/pause"

static const struct agent_options defaults = {
	.frequency = DEFAULT_FREQUENCY,
	.budget = AGENT_DEFAULT_BUDGET,
	.off_cpu_budget = AGENT_DEFAULT_BUDGET,
	.retain_ns = DEFAULT_RETAIN_NS,
	.max_disk_bytes = AGENT_DEFAULT_MAX_DISK,
	.max_memory_bytes = DEFAULT_MAX_MEMORY,
	.tasks.interval_ns = DEFAULT_EPOCH_NS,
	.stacks.labels = LABEL_COMM | LABEL_CGROUP,
	.stacks.kept_labels = LABEL_PID,
};

static void clear(struct agent_options *options)
{
	task_options_clear(&options->tasks);
	stack_options_clear(&options->stacks);
	relabel_rules_clear(&options->rules);
	name_filter_clear(&options->label_wants.secrets);
	free(options->config_text);
	options->config_text = NULL;
}

/* The command line, after the file if one is named in it. */
static int parse_once(int argc, char **argv, const char *config_path, struct agent_options *ret,
		      struct error *error)
{
	const struct option_group groups[] = {
		{rows, ARRAY_SIZE(rows), ret},
		target_options_group(&ret->tasks),
		comm_options_group(&ret->stacks),
	};
	const struct option_table table = {
		.groups = groups,
		.nr_groups = ARRAY_SIZE(groups),
		.take_word = take_word,
		.context = ret,
		.usage = USAGE,
		.examples = EXAMPLES,
	};
	int err = 0;

	*ret = defaults;
	optind = 0; /* glibc: begins anew */
	if (config_path)
		err = option_table_read_file(&table, config_path, &ret->config_text, error);
	return err ? err : option_table_parse(&table, argc, argv, error);
}

static int parse(int argc, char **argv, struct agent_options *ret, struct error *error)
{
	int err = parse_once(argc, argv, NULL, ret, error);
	const char *path = ret->config_path;

	if (!err && path) {
		clear(ret);
		err = parse_once(argc, argv, path, ret, error);
		ret->config_path = path;
	}
	if (err)
		return err;
	if (ret->token_file && !ret->listen)
		return error_set(error, -EINVAL, "--token-file is for --listen");
	if (ret->store_path)
		return 0;
	(void)error_set(error, -EINVAL, "no store given");
	error_hint(error, "--store /var/lib/stook/store");
	return -EINVAL;
}

struct words {
	int argc;
	char **argv;
};

static int read_again(void *context, struct agent_options *ret, struct error *error)
{
	const struct words *words = context;

	return parse(words->argc, words->argv, ret, error);
}

int cmd_agent(int argc, char **argv)
{
	struct words words = {argc, argv};
	const struct agent_reader reader = {read_again, clear, &words};
	struct agent_options options;
	struct error error = {0};
	int err = parse(argc, argv, &options, &error);
	int status = 0;

	if (err < 0) {
		complain_error(&error);
		status = EXIT_USAGE;
	} else if (!err) {
		status = agent_run(&options, &reader);
	}
	clear(&options);
	return status;
}
