/*
 * Parsing of `stook profile`'s options: one table row per option, with the function that takes its
 * value. Letters and long names are those that perf's and bcc's users have in their fingers.
 */
#include "cmd/profile_options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/number.h"
#include "bpf/wire.h"

/* Each target is watched by a descriptor: of both kinds they fit into SESSION_MAX_CALLER_FDS. */
#define MAX_TARGETS 500
#define MAX_CPUS    65536

static int take_list(const char *option, const char *value, bool ranges, uint32_t max,
		     size_t max_nr, const char *wanted, uint32_t **list, size_t *nr,
		     struct error *error)
{
	free(*list);
	*list = NULL;
	if (number_parse_list(value, ranges, max, max_nr, list, nr) < 0)
		return option_bad(error, option, value, wanted);
	return 0;
}

static int take_pids(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	return take_list("--pid", value, false, INT_MAX, MAX_TARGETS,
			 "process numbers, separated by commas", &options->pids, &options->nr_pids,
			 error);
}

static int take_tids(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	return take_list("--tid", value, false, INT_MAX, MAX_TARGETS,
			 "thread numbers, separated by commas", &options->tids, &options->nr_tids,
			 error);
}

static int take_cpus(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	return take_list("--cpu", value, true, MAX_CPUS, MAX_CPUS, "a list like 0,2-5",
			 &options->cpus, &options->nr_cpus, error);
}

static int take_cgroup(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	if (!*value)
		return option_bad(error, "--cgroup", value, "a path");
	options->cgroup = value;
	return 0;
}

static int take_comm(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	char why[128];
	int err;

	if (!*value)
		return option_bad(error, "--comm", value, "a regular expression");
	if (options->has_comm)
		regfree(&options->comm);
	err = regcomp(&options->comm, value, REG_EXTENDED | REG_NOSUB);
	options->has_comm = err == 0;
	if (!err)
		return 0;
	(void)regerror(err, &options->comm, why, sizeof(why));
	return option_bad(error, "--comm", value, why);
}

static int take_all(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	options->everything = true; /* the default, but with a command behind `--` */
	return 0;
}

static int take_frequency(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	if (number_parse(value, 1000000, &options->rate.frequency) < 0 || !options->rate.frequency)
		return option_bad(error, "--frequency", value, "samples a second, 1 to 1000000");
	options->rate.period = 0;
	return 0;
}

static int take_period(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	if (number_parse(value, INT64_MAX, &options->rate.period) < 0 || !options->rate.period)
		return option_bad(error, "--count", value, "events a sample, at least 1");
	options->rate.frequency = 0;
	return 0;
}

static int take_event(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	options->event_is_default = false;
	return event_parse(value, &options->event, error);
}

static int take_seconds(const char *option, const char *value, uint64_t *ret_ns,
			struct error *error)
{
	if (number_parse_seconds(value, ret_ns) < 0 || !*ret_ns)
		return option_bad(error, option, value, "seconds, above 0");
	return 0;
}

static int take_duration(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	return take_seconds("--duration", value, &options->duration_ns, error);
}

/* A word that is no option: a number of seconds, if it looks like one. */
static int take_word(void *context, const char *word, struct error *error)
{
	struct profile_options *options = context;
	bool is_number = isdigit((unsigned char)word[0]) || word[0] == '.';

	if (is_number && options->duration_ns)
		goto second;
	if (is_number)
		return take_duration(options, word, error);
	(void)error_set(error, -EINVAL, "unexpected word '%s'", word);
	error_hint(error, "a command to profile goes behind '--': stook profile -- %s", word);
	return -EINVAL;

second:
	(void)error_set(error, -EINVAL, "a second duration: '%s'", word);
	error_hint(error, "several processes are separated by commas: -p $(pgrep -d, NAME)");
	return -EINVAL;
}

static int take_interval(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	return take_seconds("--interval", value, &options->interval_ns, error);
}

static int take_user(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	options->no_kernel = true;
	return 0;
}

static int take_kernel(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	options->no_user = true;
	return 0;
}

static int take_idle(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	options->include_idle = true;
	return 0;
}

static int take_by(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	static const char *const names[] = {"pid", "tid", "comm", "cpu", "cgroup"};
	const char *at = value;

	options->labels = 0;
	for (;;) {
		size_t length = strcspn(at, ","), i;

		for (i = 0; i < ARRAY_SIZE(names); i++)
			if (strlen(names[i]) == length && !strncmp(names[i], at, length))
				break;
		if (i == ARRAY_SIZE(names))
			return option_bad(error, "--by", value, "of pid, tid, comm, cpu, cgroup");
		options->labels |= 1U << i; /* the order of enum label */
		if (!at[length])
			return 0;
		at += length + 1;
	}
}

static int take_depth(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	uint64_t depth;

	if (number_parse(value, WIRE_MAX_USER_FRAMES, &depth) < 0 || !depth)
		return option_bad(error, "--max-depth", value, "frames of a stack, 1 to 512");
	options->max_depth = (uint32_t)depth;
	return 0;
}

static int take_unwind(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	static const char *const names[] = {"auto", "cfi", "fp"};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(value, names[i]))
			break;
	if (i == ARRAY_SIZE(names))
		return option_bad(error, "--unwind", value, "auto, cfi or fp");
	options->unwind = (enum unwind_mode)i;
	return 0;
}

static int take_table_bytes(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	uint64_t bytes;

	if (number_parse(value, 1ULL << 30, &bytes) < 0 || bytes < 1ULL << 20)
		return option_bad(error, "--table-bytes", value, "1 MiB to 1 GiB, in bytes");
	options->max_table_bytes = bytes;
	return 0;
}

static int take_table_cache(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	if (value[0] != '/' && strcmp(value, "none") != 0)
		return option_bad(error, "--table-cache", value, "a folder, from / on, or 'none'");
	options->table_folder = value;
	return 0;
}

static int take_force(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	options->force = true;
	return 0;
}

static int take_no_follow(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	options->no_follow = true;
	return 0;
}

static int take_java(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	options->java = true;
	return 0;
}

static int take_no_symbols(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	options->no_symbols = true;
	return 0;
}

static int take_stats(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	options->stats_path = value;
	return 0;
}

static int take_ring_bytes(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	uint64_t bytes;

	if (number_parse(value, 1ULL << 30, &bytes) < 0 ||
	    bytes < (uint64_t)sysconf(_SC_PAGESIZE) || (bytes & (bytes - 1)))
		return option_bad(error, "--ring-bytes", value,
				  "a power of two from a page to 1 GiB");
	options->ring_bytes = bytes;
	return 0;
}

static int take_max_counts(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	uint64_t nr;

	if (number_parse(value, 1ULL << 24, &nr) < 0 || !nr)
		return option_bad(error, "--count-entries", value, "1 to 16777216");
	options->max_counts = nr;
	return 0;
}

static int take_quiet(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	options->quiet = true;
	return 0;
}

static int take_verbose(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	options->verbose = true;
	return 0;
}

static const struct option_row rows[] = {
	{'p', "pid", "PID,…", take_pids, "only these processes (and their children)"},
	{'t', "tid", "TID,…", take_tids, "only these threads"},
	{'C', "cpu", "LIST", take_cpus, "only these CPUs: 0,2-5"},
	{0, "cgroup", "PATH", take_cgroup, "only this cgroup and those below it"},
	{0, "comm", "REGEX", take_comm, "only threads whose names match"},
	{'a', "all", NULL, take_all, "everything: the default, but with -- CMD"},
	{0, "no-follow", NULL, take_no_follow, "not the children of --pid's processes"},
	{'F', "frequency", "HZ", take_frequency, "samples a second on each CPU (default 99)"},
	{'c', "count", "PERIOD", take_period, "a sample every so many events"},
	{'e', "event", "EVENT", take_event,
	 "what to sample on: cycles, cpu-clock, page-faults, r1c2, cycles:u, …"},
	{'d', "duration", "SECS", take_duration,
	 "how long (default: until Ctrl-C); a bare number too"},
	{'i', "interval", "SECS", take_interval, "print and start anew each interval"},
	{'U', "user", NULL, take_user, "user stacks only"},
	{'K', "kernel", NULL, take_kernel, "kernel stacks only"},
	{'I', "idle", NULL, take_idle, "idle CPUs too"},
	{0, "by", "KEY,…", take_by, "tell apart by pid, tid, comm, cpu, cgroup (default comm)"},
	{0, "unwind", "HOW", take_unwind,
	 "user stacks by unwind tables (cfi) or frame pointers (fp); default auto"},
	{0, "max-depth", "N", take_depth, "at most so many frames of each stack (default 512)"},
	{0, "java", NULL, take_java, "ask JVMs (17 or newer) for the names of their compiled code"},
	{0, "no-symbols", NULL, take_no_symbols,
	 "leave code in files unnamed, for 'stook symbolize' elsewhere"},
	{0, "stats", "FILE", take_stats, "write the run's own numbers, 'name value' a line"},
	{0, "ring-bytes", "N", take_ring_bytes,
	 "size of the ring buffer (default: by rate and CPUs)"},
	{0, "count-entries", "N", take_max_counts,
	 "different stacks counted in the kernel (likewise)"},
	{0, "table-bytes", "N", take_table_bytes, "memory for unwind tables (default 64 MiB)"},
	{0, "table-cache", "DIR", take_table_cache,
	 "where they are kept, or 'none' (default /var/cache/stook/unwind)"},
	{0, "force", NULL, take_force, "user stacks also on a kernel that is known to freeze"},
	{'q', "quiet", NULL, take_quiet, "nothing but results and errors"},
	{'v', "verbose", NULL, take_verbose, "more words; let the kernel measure the BPF program"},
};

#define USAGE                                                                                \
	"usage: stook profile [OPTIONS] [SECS] [-- CMD ARG…]\n"                            \
	"\n"                                                                                 \
	"Samples the stacks of what runs and prints where time goes: a report, or with -f\n" \
	"folded stacks. With -- CMD, starts it, profiles it and its children, and ends with it.\n"

#define EXAMPLES                                                                        \
	"\nexamples:\n"                                                                 \
	"  stook profile 10                       the whole machine, for ten seconds\n" \
	"  stook profile -F 999 -p $(pgrep -d, redis-server) -f 30 > redis.folded\n"    \
	"  stook profile -o build.folded -- make -j8"

static int check(struct profile_options *options, struct error *error)
{
	if (options->no_user && options->no_kernel)
		return error_set(error, -EINVAL, "-U and -K together leave no stacks");
	if (options->everything && (options->nr_pids || options->nr_tids))
		return error_set(error, -EINVAL, "-a together with -p or -t");
	if (options->command && (options->nr_pids || options->nr_tids))
		return error_set(error, -EINVAL, "-p or -t together with '-- CMD'");
	if (options->event.exclude_kernel && options->no_user)
		return error_set(error, -EINVAL, "-K asks for kernel stacks, '%s' excludes them",
				 options->event.name);
	return 0;
}

int profile_options_parse(int argc, char **argv, struct profile_options *ret, struct error *error)
{
	const struct option_group groups[] = {
		{rows, ARRAY_SIZE(rows), ret},
		output_options_group(&ret->output),
		naming_options_group(&ret->naming),
	};
	const struct option_table table = {
		.groups = groups,
		.nr_groups = ARRAY_SIZE(groups),
		.take_word = take_word,
		.context = ret,
		.usage = USAGE,
		.examples = EXAMPLES,
	};
	int err;

	*ret = (struct profile_options){.labels = LABEL_COMM, .event_is_default = true};
	ret->rate.frequency = 99;
	err = option_table_parse(&table, argc, argv, error);
	if (err)
		return err;
	if (optind < argc)
		ret->command = argv + optind;
	else if (!strcmp(argv[argc - 1], "--"))
		return error_set(error, -EINVAL, "no command behind '--'");
	return check(ret, error);
}

void profile_options_clear(struct profile_options *options)
{
	free(options->pids);
	free(options->tids);
	free(options->cpus);
	if (options->has_comm)
		regfree(&options->comm);
}
