/* Options for where results are written, their format, and the labels of samples they show. */
#include "cmd/options/output_options.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/array.h"
#include "cmd/options/option_table.h"
#include "format/format.h"

static const struct option_row quiet_rows[] = {
	{'q', "quiet", NULL, NULL, "print only results and errors"}, /* offset 0: the bool itself */
};

struct option_group quiet_option_group(bool *is_quiet)
{
	return (struct option_group){quiet_rows, ARRAY_SIZE(quiet_rows), is_quiet};
}

/* in the order of enum label */
static const char *const label_names[] = {"pid", "tid", "comm", "cpu", "cgroup", "probe"};

int label_keys_take(const char *value, unsigned *ret, struct error *error)
{
	return option_take_set("--by", value, label_names, ARRAY_SIZE(label_names), ret, error);
}

int label_keys_check(unsigned wanted, unsigned there, struct error *error)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(label_names); i++) {
		if (!(wanted & ~there & 1U << i))
			continue;
		(void)error_set(error, -EINVAL, "the profile does not distinguish samples by %s",
				label_names[i]);
		if (1U << i == LABEL_PROBE)
			error_hint(error, "record it with 'stook stackcount --by probe'; pprof "
					  "files of several probes always have it");
		else
			error_hint(
				error,
				"record it with --by %s%s; for perf's text, 'perf script -F +%s'",
				label_names[i], 1U << i == LABEL_TID ? ", or without --by" : "",
				label_names[i]);
		return -EINVAL;
	}
	return 0;
}

static int take_folded(void *context, const char *value, struct error *error)
{
	struct output_options *options = context;

	options->stdout_format = format_by_name("folded");
	return 0;
}

static int take_format(void *context, const char *value, struct error *error)
{
	struct output_options *options = context;

	options->stdout_format = format_by_name(value);
	if (options->stdout_format)
		return 0;
	return error_set(error, -EINVAL, "bad value '%s' for --format: one of %s", value,
			 format_names());
}

static int take_output(void *context, const char *value, struct error *error)
{
	struct output_options *options = context;
	size_t i;

	if (!strcmp(value, "-"))
		value = "/dev/stdout";
	if (!format_by_path(value) && strncmp(value, "/dev/", 5) != 0)
		return error_set(error, -EINVAL,
				 "unknown format of '%s': the name must end in one of %s", value,
				 format_extensions());
	for (i = 0; i < options->nr_paths; i++)
		if (!strcmp(options->paths[i], value))
			return error_set(error, -EINVAL, "'%s' is written to twice", value);
	if (options->nr_paths == OUTPUTS_MAX)
		return error_set(error, -EINVAL, "more than %d outputs", OUTPUTS_MAX);
	options->paths[options->nr_paths++] = value;
	return 0;
}

static const struct option_row rows[] = {
	{'f', "folded", NULL, take_folded, "print folded stacks, for flamegraph.pl"},
	{0, "format", "NAME", take_format,
	 "format of stdout: report, folded, svg, html, pprof, speedscope, perf, json, "
	 "csv, md"},
	{'o', "output", "FILE", take_output,
	 "write FILE.svg, .html, .folded, .pb.gz, .txt, …: format by suffix; may be repeated"},
	{0, "delimited", NULL, NULL, "put a frame '-' between user and kernel stacks",
	 offsetof(struct output_options, delimited), .bundled = 'd'},
	{0, "annotate", NULL, NULL, "mark frames: _[k] kernel, _[j] JIT-compiled, _[i] inlined",
	 offsetof(struct output_options, annotate), .bundled = 'a'},
};

struct option_group output_options_group(struct output_options *options)
{
	return (struct option_group){rows, ARRAY_SIZE(rows), options};
}
