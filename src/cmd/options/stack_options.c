/* Parses the options for stacks: one table row each, with the function that takes its value. */
#include "cmd/options/stack_options.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/text.h"
#include "bpf/wire.h"
#include "cmd/options/naming_options.h"
#include "cmd/options/output_options.h"

/* At the end of each slice the BPF maps are replaced, which takes about 10 ms. */
#define MIN_SLICE_NS (100 * NS_PER_MS)

static int parse_names(const char *option, const char *value, struct matcher **ret,
		       struct error *error)
{
	struct matcher_error fault;

	if (!*value)
		return option_bad(error, option, value, "a regular expression");
	*ret = matcher_new(value, strlen(value), MATCHER_SEARCH, &fault);
	if (*ret)
		return 0;
	return fault.what ? option_bad(error, option, value, fault.what)
			  : error_no_memory(error, "");
}

static int take_comm(void *context, const char *value, struct error *error)
{
	struct stack_options *options = context;
	struct matcher *only = NULL;
	int err = parse_names("--comm", value, &only, error);

	if (err)
		return err;
	matcher_free(options->names.only);
	options->names.only = only;
	return 0;
}

int excluded_option_take(const char *option, const char *value, struct name_filter *names,
			 struct error *error)
{
	int err;

	if (names->nr_excluded == NAME_FILTER_MAX)
		return error_set(error, -E2BIG, "more than %d expressions for %s", NAME_FILTER_MAX,
				 option);
	err = parse_names(option, value, &names->excluded[names->nr_excluded], error);
	names->nr_excluded += !err;
	return err;
}

static int take_exclude(void *context, const char *value, struct error *error)
{
	struct stack_options *options = context;

	return excluded_option_take("--exclude", value, &options->names, error);
}

static int take_by(void *context, const char *value, struct error *error)
{
	struct stack_options *options = context;

	/*
	 * With --by, tids are kept only if listed, since they multiply the number of stacks; pids
	 * are always kept.
	 */
	options->kept_labels = LABEL_PID;
	return label_keys_take(value, &options->labels, error);
}

static int take_timeline(void *context, const char *value, struct error *error)
{
	struct stack_options *options = context;

	if (number_parse_seconds(value, &options->slice_ns) < 0 || options->slice_ns < MIN_SLICE_NS)
		return option_bad(error, "--timeline", value,
				  "the length of a slice, at least 0.1 (seconds) or 100ms");
	return 0;
}

static int take_unwind(void *context, const char *value, struct error *error)
{
	static const char *const names[] = {
		[UNWIND_AUTO] = "auto", [UNWIND_CFI] = "cfi", [UNWIND_FP] = "fp"};
	struct stack_options *options = context;
	int mode = option_take_choice("--unwind", value, names, ARRAY_SIZE(names), error);

	if (mode < 0)
		return mode;
	options->unwind = (enum unwind_mode)mode;
	return 0;
}

/* perf's -g: a no-op, since samples always have stacks. */
static int take_stacks(void *context, const char *value, struct error *error)
{
	return 0;
}

/* perf's option; the stack size in "dwarf,16384" has no meaning here and is ignored. */
static int take_call_graph(void *context, const char *value, struct error *error)
{
	struct stack_options *options = context;
	size_t nr = strcspn(value, ",");

	if (nr == 5 && !strncmp(value, "dwarf", nr)) {
		options->unwind = UNWIND_AUTO;
	} else if (!strcmp(value, "fp")) {
		options->unwind = UNWIND_FP;
	} else {
		(void)option_bad(error, "--call-graph", value, "dwarf or fp");
		error_hint(error,
			   "branch records (lbr) are not supported; without the option, stacks "
			   "are walked by unwind tables, like dwarf");
		return -EINVAL;
	}
	return 0;
}

static int take_table_cache(void *context, const char *value, struct error *error)
{
	struct stack_options *options = context;

	if (value[0] != '/' && strcmp(value, "none") != 0)
		return option_bad(error, "--table-cache", value, "an absolute path, or 'none'");
	options->table_folder = value;
	return 0;
}

static int take_ring_bytes(void *context, const char *value, struct error *error)
{
	struct stack_options *options = context;
	uint64_t bytes;

	if (number_parse(value, 1ULL << 30, &bytes) < 0 ||
	    bytes < (uint64_t)sysconf(_SC_PAGESIZE) || (bytes & (bytes - 1)))
		return option_bad(error, "--ring-bytes", value,
				  "a power of two from a page to 1 GiB");
	options->ring_bytes = bytes;
	return 0;
}

static const struct option_row rows[] = {
	{0, "comm", "REGEX", take_comm, "only threads whose names match"},
	{0, "exclude", "REGEX", take_exclude,
	 "leave out threads whose names match; may be repeated"},
	OPTION_SWITCH('U', "user", struct stack_options, no_kernel, "user stacks only"),
	OPTION_SWITCH('K', "kernel", struct stack_options, no_user, "kernel stacks only"),
	{0, "by", "KEY,…", take_by,
	 "distinguish by pid, tid, comm, cpu, cgroup, probe (default comm)"},
	{0, "timeline", "SECS", take_timeline, "record a timeline with slices of this length"},
	{0, "unwind", "HOW", take_unwind,
	 "walk user stacks by unwind tables (cfi) or frame pointers (fp); default auto"},
	OPTION_NUMBER(0, "max-depth", "N", struct stack_options, max_depth, 1, WIRE_MAX_USER_FRAMES,
		      "frames of a stack, 1 to 512",
		      "limit for the frames of a stack, 1 to 512 (default)"),
	OPTION_SWITCH(0, "java", struct stack_options, java,
		      "ask JVMs (17 or newer) for the symbols of JIT-compiled code"),
	OPTION_SWITCH(0, "no-symbols", struct stack_options, no_symbols,
		      "record file offsets only, for 'stook symbolize' on another machine"),
	OPTION_TEXT(0, "stats", "FILE", struct stack_options, stats_path,
		    "write figures about the run, and its verdict, as JSON"),
	{0, "ring-bytes", "N", take_ring_bytes,
	 "size of the ring buffer (default by rate and CPUs)"},
	OPTION_NUMBER(0, "count-entries", "N", struct stack_options, max_counts, 1, 1ULL << 24,
		      "1 to 16777216",
		      "limit for different stacks counted in the kernel (same default)"),
	OPTION_NUMBER(0, "table-bytes", "N", struct stack_options, max_table_bytes, 1ULL << 20,
		      1ULL << 30, "1 MiB to 1 GiB, in bytes",
		      "memory for unwind tables (default 1/128 of all, at least 64 MiB)"),
	OPTION_NUMBER(0, "profile-bytes", "N", struct stack_options, max_profile_bytes, 1ULL << 20,
		      1ULL << 36, "1 MiB to 64 GiB, in bytes",
		      "memory for different stacks (default 128 MiB)"),
	{0, "table-cache", "DIR", take_table_cache,
	 "directory for cached unwind tables, or 'none' (default /var/cache/stook/unwind)"},
	OPTION_SWITCH(0, "force", struct stack_options, force,
		      "allow user stacks, and time off CPU, on kernels known to freeze"),
	{'g', NULL, NULL, take_stacks, NULL},
	{0, "call-graph", "HOW", take_call_graph, NULL},
};

struct option_group stack_options_group(struct stack_options *options)
{
	return (struct option_group){rows, ARRAY_SIZE(rows), options};
}

struct option_group comm_options_group(struct stack_options *options)
{
	return (struct option_group){rows, 2, options};
}

int stack_options_check(const struct stack_options *options, struct error *error)
{
	if (options->no_user && options->no_kernel)
		return error_set(error, -EINVAL, "-U and -K together leave no stacks");
	return 0;
}

void stack_options_clear(struct stack_options *options)
{
	name_filter_clear(&options->names);
	naming_options_clear(&options->naming);
}
