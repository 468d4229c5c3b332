/*
 * Parsing of `stook profile`'s options: one table row per option, with the function that takes its
 * value. Letters and long names are those that perf's and bcc's users have in their fingers.
 */
#include "cmd/profile_options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
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

static int bad(struct error *error, const char *option, const char *value, const char *wanted)
{
	return error_set(error, -EINVAL, "bad value '%s' for %s: %s", value, option, wanted);
}

static int take_list(const char *option, const char *value, bool ranges, uint32_t max,
		     size_t max_nr, const char *wanted, uint32_t **list, size_t *nr,
		     struct error *error)
{
	free(*list);
	*list = NULL;
	if (number_parse_list(value, ranges, max, max_nr, list, nr) < 0)
		return bad(error, option, value, wanted);
	return 0;
}

static int take_pids(struct profile_options *options, const char *value, struct error *error)
{
	return take_list("--pid", value, false, INT_MAX, MAX_TARGETS,
			 "process numbers, separated by commas", &options->pids, &options->nr_pids,
			 error);
}

static int take_tids(struct profile_options *options, const char *value, struct error *error)
{
	return take_list("--tid", value, false, INT_MAX, MAX_TARGETS,
			 "thread numbers, separated by commas", &options->tids, &options->nr_tids,
			 error);
}

static int take_cpus(struct profile_options *options, const char *value, struct error *error)
{
	return take_list("--cpu", value, true, MAX_CPUS, MAX_CPUS, "a list like 0,2-5",
			 &options->cpus, &options->nr_cpus, error);
}

static int take_cgroup(struct profile_options *options, const char *value, struct error *error)
{
	if (!*value)
		return bad(error, "--cgroup", value, "a path");
	options->cgroup = value;
	return 0;
}

static int take_comm(struct profile_options *options, const char *value, struct error *error)
{
	char why[128];
	int err;

	if (!*value)
		return bad(error, "--comm", value, "a regular expression");
	if (options->has_comm)
		regfree(&options->comm);
	err = regcomp(&options->comm, value, REG_EXTENDED | REG_NOSUB);
	options->has_comm = err == 0;
	if (!err)
		return 0;
	(void)regerror(err, &options->comm, why, sizeof(why));
	return bad(error, "--comm", value, why);
}

static int take_all(struct profile_options *options, const char *value, struct error *error)
{
	options->everything = true; /* the default, but with a command behind `--` */
	return 0;
}

static int take_frequency(struct profile_options *options, const char *value, struct error *error)
{
	if (number_parse(value, 1000000, &options->rate.frequency) < 0 || !options->rate.frequency)
		return bad(error, "--frequency", value, "samples a second, 1 to 1000000");
	options->rate.period = 0;
	return 0;
}

static int take_period(struct profile_options *options, const char *value, struct error *error)
{
	if (number_parse(value, INT64_MAX, &options->rate.period) < 0 || !options->rate.period)
		return bad(error, "--count", value, "events a sample, at least 1");
	options->rate.frequency = 0;
	return 0;
}

static int take_event(struct profile_options *options, const char *value, struct error *error)
{
	options->event_is_default = false;
	return event_parse(value, &options->event, error);
}

static int take_seconds(const char *option, const char *value, uint64_t *ret_ns,
			struct error *error)
{
	if (number_parse_seconds(value, ret_ns) < 0 || !*ret_ns)
		return bad(error, option, value, "seconds, above 0");
	return 0;
}

static int take_duration(struct profile_options *options, const char *value, struct error *error)
{
	return take_seconds("--duration", value, &options->duration_ns, error);
}

/* A word that is no option: a number of seconds, if it looks like one. */
static int take_word(struct profile_options *options, const char *word, struct error *error)
{
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

static int take_interval(struct profile_options *options, const char *value, struct error *error)
{
	return take_seconds("--interval", value, &options->interval_ns, error);
}

static int take_user(struct profile_options *options, const char *value, struct error *error)
{
	options->no_kernel = true;
	return 0;
}

static int take_kernel(struct profile_options *options, const char *value, struct error *error)
{
	options->no_user = true;
	return 0;
}

static int take_idle(struct profile_options *options, const char *value, struct error *error)
{
	options->include_idle = true;
	return 0;
}

static int take_by(struct profile_options *options, const char *value, struct error *error)
{
	static const char *const names[] = {"pid", "tid", "comm", "cpu", "cgroup"};
	const char *at = value;

	options->labels = 0;
	for (;;) {
		size_t length = strcspn(at, ","), i;

		for (i = 0; i < ARRAY_SIZE(names); i++)
			if (strlen(names[i]) == length && !strncmp(names[i], at, length))
				break;
		if (i == ARRAY_SIZE(names))
			return bad(error, "--by", value, "of pid, tid, comm, cpu, cgroup");
		options->labels |= 1U << i; /* the order of enum label */
		if (!at[length])
			return 0;
		at += length + 1;
	}
}

static int take_folded(struct profile_options *options, const char *value, struct error *error)
{
	options->stdout_format = format_by_name("folded");
	return 0;
}

static int take_format(struct profile_options *options, const char *value, struct error *error)
{
	options->stdout_format = format_by_name(value);
	if (options->stdout_format)
		return 0;
	return error_set(error, -EINVAL, "bad value '%s' for --format: one of %s", value,
			 format_names());
}

static int take_output(struct profile_options *options, const char *value, struct error *error)
{
	if (!format_by_path(value) && strncmp(value, "/dev/", 5) != 0)
		return error_set(error, -EINVAL,
				 "cannot tell the format of '%s' by its name: it may end in %s",
				 value, format_extensions());
	if (options->nr_outputs == PROFILE_MAX_OUTPUTS)
		return error_set(error, -EINVAL, "more than %d outputs", PROFILE_MAX_OUTPUTS);
	options->outputs[options->nr_outputs++] = value;
	return 0;
}

static int take_delimited(struct profile_options *options, const char *value, struct error *error)
{
	options->delimited = true;
	return 0;
}

static int take_annotate(struct profile_options *options, const char *value, struct error *error)
{
	options->annotate = true;
	return 0;
}

static int take_depth(struct profile_options *options, const char *value, struct error *error)
{
	uint64_t depth;

	if (number_parse(value, WIRE_MAX_USER_FRAMES, &depth) < 0 || !depth)
		return bad(error, "--max-depth", value, "frames of a stack, 1 to 512");
	options->max_depth = (uint32_t)depth;
	return 0;
}

static int take_unwind(struct profile_options *options, const char *value, struct error *error)
{
	static const char *const names[] = {"auto", "cfi", "fp"};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(value, names[i]))
			break;
	if (i == ARRAY_SIZE(names))
		return bad(error, "--unwind", value, "auto, cfi or fp");
	options->unwind = (enum unwind_mode)i;
	return 0;
}

static int take_table_bytes(struct profile_options *options, const char *value, struct error *error)
{
	uint64_t bytes;

	if (number_parse(value, 1ULL << 30, &bytes) < 0 || bytes < 1ULL << 20)
		return bad(error, "--table-bytes", value, "1 MiB to 1 GiB, in bytes");
	options->max_table_bytes = bytes;
	return 0;
}

static int take_table_cache(struct profile_options *options, const char *value, struct error *error)
{
	if (value[0] != '/' && strcmp(value, "none") != 0)
		return bad(error, "--table-cache", value, "a folder, from / on, or 'none'");
	options->table_folder = value;
	return 0;
}

static int take_force(struct profile_options *options, const char *value, struct error *error)
{
	options->force = true;
	return 0;
}

static int take_no_follow(struct profile_options *options, const char *value, struct error *error)
{
	options->no_follow = true;
	return 0;
}

static int take_stats(struct profile_options *options, const char *value, struct error *error)
{
	options->stats_path = value;
	return 0;
}

static int take_ring_bytes(struct profile_options *options, const char *value, struct error *error)
{
	uint64_t bytes;

	if (number_parse(value, 1ULL << 30, &bytes) < 0 ||
	    bytes < (uint64_t)sysconf(_SC_PAGESIZE) || (bytes & (bytes - 1)))
		return bad(error, "--ring-bytes", value, "a power of two from a page to 1 GiB");
	options->ring_bytes = bytes;
	return 0;
}

static int take_max_counts(struct profile_options *options, const char *value, struct error *error)
{
	uint64_t nr;

	if (number_parse(value, 1ULL << 24, &nr) < 0 || !nr)
		return bad(error, "--count-entries", value, "1 to 16777216");
	options->max_counts = nr;
	return 0;
}

static int take_quiet(struct profile_options *options, const char *value, struct error *error)
{
	options->quiet = true;
	return 0;
}

static int take_verbose(struct profile_options *options, const char *value, struct error *error)
{
	options->verbose = true;
	return 0;
}

static const struct option_row {
	char letter; /* 0: none */
	const char *name;
	const char *value; /* what it is called in the help; NULL: takes none */
	int (*take)(struct profile_options *options, const char *value, struct error *error);
	const char *help;
} rows[] = {
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
	{'f', "folded", NULL, take_folded, "folded stacks on stdout, for flamegraph.pl"},
	{0, "format", "NAME", take_format, "what to print on stdout: folded, report"},
	{'o', "output", "FILE", take_output, "write FILE.folded or FILE.txt; may be repeated"},
	{0, "delimited", NULL, take_delimited, "a frame '-' between user and kernel stacks"},
	{0, "annotate", NULL, take_annotate, "_[k] behind kernel frames"},
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

#define FIRST_LONG_ONLY 256 /* getopt's value for row i without a letter: this + i */
#define HELP_VALUE	1000

static void print_help(void)
{
	size_t i;

	puts("usage: stook profile [OPTIONS] [SECS] [-- CMD ARG…]\n"
	     "\n"
	     "Samples the stacks of what runs and prints where time goes: a report, or with -f\n"
	     "folded stacks. With -- CMD, starts it, profiles it and its children, and ends with "
	     "it.\n");
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		char left[64];

		(void)snprintf(left, sizeof(left), "%c%c%s --%s%s%s", rows[i].letter ? '-' : ' ',
			       rows[i].letter ? rows[i].letter : ' ', rows[i].letter ? "," : " ",
			       rows[i].name, rows[i].value ? " " : "",
			       rows[i].value ? rows[i].value : "");
		/* … is three bytes and one column. */
		printf("  %-*s %s\n", 26 + (strstr(left, "…") ? 2 : 0), left, rows[i].help);
	}
	puts("\nexamples:\n"
	     "  stook profile 10                       the whole machine, for ten seconds\n"
	     "  stook profile -F 999 -p $(pgrep -d, redis-server) -f 30 > redis.folded\n"
	     "  stook profile -o build.folded -- make -j8");
}

static void fill_getopt(struct option *longs, char *shorts)
{
	size_t i;

	*shorts++ = '+'; /* stop at the first word, which may be CMD's */
	*shorts++ = ':';
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		longs[i] = (struct option){
			rows[i].name, rows[i].value ? required_argument : no_argument, NULL,
			rows[i].letter ? rows[i].letter : FIRST_LONG_ONLY + (int)i};
		if (!rows[i].letter)
			continue;
		*shorts++ = rows[i].letter;
		if (rows[i].value)
			*shorts++ = ':';
	}
	*shorts++ = 'h';
	*shorts = '\0';
	longs[i] = (struct option){"help", no_argument, NULL, HELP_VALUE};
	longs[i + 1] = (struct option){0};
}

static const struct option_row *row_of(int value)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (value == (rows[i].letter ? rows[i].letter : FIRST_LONG_ONLY + (int)i))
			return &rows[i];
	return NULL;
}

static int unknown_option(const char *word, struct error *error)
{
	(void)error_set(error, -EINVAL, "unknown option '%s'", word);
	if (!strcmp(word, "-g") || !strcmp(word, "--call-graph"))
		error_hint(error, "stacks are always taken: leave it out");
	return -EINVAL;
}

/* Options and bare numbers, in any order, until `--` or the end. */
static int parse_words(int argc, char **argv, struct profile_options *options, struct error *error)
{
	struct option longs[ARRAY_SIZE(rows) + 2];
	char shorts[2 * ARRAY_SIZE(rows) + 8];

	fill_getopt(longs, shorts);
	opterr = 0;
	for (;;) {
		int word = optind ? optind : 1;
		int value = getopt_long(argc, argv, shorts, longs, NULL);
		const struct option_row *row = row_of(value);
		int err = 0;

		if (value == HELP_VALUE || value == 'h') {
			print_help();
			return 1;
		}
		if (value == ':')
			return error_set(error, -EINVAL, "'%s' needs a value", argv[word]);
		if (value == '?')
			return unknown_option(argv[word], error);
		if (value >= 0 && row)
			err = row->take(options, optarg, error);
		else if (optind >= argc || !strcmp(argv[optind - 1], "--"))
			return 0;
		else
			err = take_word(options, argv[optind++], error);
		if (err < 0)
			return err;
	}
}

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
	int err;

	*ret = (struct profile_options){.labels = LABEL_COMM, .event_is_default = true};
	ret->rate.frequency = 99;
	err = parse_words(argc, argv, ret, error);
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
