/* See diff_options.h. Without `--` two files are one of each side; with it there may be several. */
#include "cmd/diff_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cmd/options/quiet_option.h"

#define MAX_ROWS 1000000

static int take_top(void *context, const char *value, struct error *error)
{
	static const struct option_number top = {"--top", 1, MAX_ROWS,
						 "a number of rows, at least 1"};
	struct diff_options *options = context;
	uint64_t nr;
	int err = option_take_number(&top, value, &nr, error);

	if (!err)
		options->style.max_rows = (unsigned)nr;
	return err;
}

/* A number with a fraction, above 0 and below a limit; 0 or -EINVAL. */
static int parse_real(const char *text, double limit, double *ret)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || *end || !(number > 0) || !(number < limit) ||
	    strspn(text, "0123456789.") != strlen(text))
		return -EINVAL;
	*ret = number;
	return 0;
}

static int take_sigma(void *context, const char *value, struct error *error)
{
	struct diff_options *options = context;

	if (parse_real(value, 100, &options->style.sigma) < 0)
		return option_bad(error, "--sigma", value, "a number of standard deviations");
	return 0;
}

static int take_confidence(void *context, const char *value, struct error *error)
{
	struct diff_options *options = context;

	if (parse_real(value, 100, &options->style.confidence) < 0)
		return option_bad(error, "--confidence", value, "percent, less than 100");
	return 0;
}

static int take_group(void *context, const char *value, struct error *error)
{
	/* perf's words stand behind ours */
	static const char *const names[] = {"function", "module", "comm", "sym", "symbol", "dso"};
	static const enum difference_group groups[ARRAY_SIZE(names)] = {
		DIFFERENCE_BY_FUNCTION, DIFFERENCE_BY_MODULE,	DIFFERENCE_BY_COMM,
		DIFFERENCE_BY_FUNCTION, DIFFERENCE_BY_FUNCTION, DIFFERENCE_BY_MODULE,
	};
	struct diff_options *options = context;
	int name = option_take_choice("--group-by", value, names, ARRAY_SIZE(names), error);

	if (name < 0)
		return name;
	options->style.group = groups[name];
	return 0;
}

static int take_order(void *context, const char *value, struct error *error)
{
	static const char *const names[] = {
		[DIFFERENCE_SELF] = "self", [DIFFERENCE_TOTAL] = "total"};
	struct diff_options *options = context;
	int order = option_take_choice("--order", value, names, ARRAY_SIZE(names), error);

	if (order < 0)
		return order;
	options->style.order = (enum difference_order)order;
	return 0;
}

static int take_duration(void *context, const char *value, struct error *error)
{
	struct diff_options *options = context;
	cleanup_free char *copy = strdup(value);
	char *comma = copy ? strchr(copy, ',') : NULL;
	uint64_t before_ns, after_ns;

	if (!copy)
		return error_set(error, -ENOMEM, "out of memory");
	if (comma)
		*comma = '\0';
	if (number_parse_seconds(copy, &before_ns) < 0 ||
	    number_parse_seconds(comma ? comma + 1 : copy, &after_ns) < 0 || !before_ns ||
	    !after_ns)
		return option_bad(error, "--duration", value,
				  "seconds, of both or of each: 30 or 30,60");
	options->before.seconds = (double)before_ns / 1e9;
	options->after.seconds = (double)after_ns / 1e9;
	return 0;
}

static int take_width(void *context, const char *value, struct error *error)
{
	struct diff_options *options = context;

	return output_options_take_width(value, &options->width, error);
}

static const struct option_row rows[] = {
	{'n', "top", "N", take_top, "so many rows of the table; 20"},
	{0, "order", "WHICH", take_order, "by what changed in functions: self (default), total"},
	{'s', "sort", "KEY", take_group, "the same as --group-by"},
	{0, "group-by", "KEY", take_group, "a row for each function (default), module or comm"},
	OPTION_SWITCH(0, "by-time", struct diff_options, style.by_time,
		      "compare rates instead of shares of all samples"),
	{0, "duration", "A,B", take_duration, "seconds that they took, where files don't say it"},
	{0, "confidence", "PERCENT", take_confidence,
	 "that no change shown is chance, all together (95)"},
	{0, "sigma", "N", take_sigma, "instead: changes above so many of their errors, each"},
	{'w', "width", "COLUMNS", take_width, "of the report; the terminal's, else 100"},
};

static int add_path(struct diff_side *side, const char *path, struct error *error)
{
	if (side->nr == DIFF_FILES_MAX)
		return error_set(error, -EINVAL, "more than %d files on one side", DIFF_FILES_MAX);
	side->paths[side->nr++] = path;
	return 0;
}

static int take_path(void *context, const char *word, struct error *error)
{
	struct diff_options *options = context;

	return add_path(&options->before, word, error);
}

static int no_profiles(struct error *error)
{
	(void)error_set(error, -EINVAL, "no profiles given");
	error_hint(error, "two profiles make a difference: stook diff BEFORE AFTER");
	return -EINVAL;
}

/* Which files are of which side. */
static int split(struct diff_options *options, int argc, char **argv, struct error *error)
{
	struct diff_side *before = &options->before;
	int i, err = 0;

	for (i = optind; i < argc && !err; i++)
		err = add_path(&options->after, argv[i], error);
	if (err)
		return err;
	if (!before->nr)
		return no_profiles(error);
	if (!options->after.nr && before->nr == 2)
		err = add_path(&options->after, before->paths[--before->nr], error);
	if (!options->after.nr && before->nr > 2) {
		(void)error_set(error, -EINVAL, "%zu files, and which are before and which after?",
				before->nr);
		error_hint(error, "put -- between them: stook diff A1 A2 -- B1 B2");
		return -EINVAL;
	}
	return err;
}

static int check_paths(const struct diff_options *options, struct error *error)
{
	const char *paths[2 * DIFF_FILES_MAX];
	size_t nr = 0, i;

	for (i = 0; i < options->before.nr; i++)
		paths[nr++] = options->before.paths[i];
	for (i = 0; i < options->after.nr; i++)
		paths[nr++] = options->after.paths[i];
	return inputs_check(paths, nr, error);
}

int diff_options_parse(struct diff_options *options, int argc, char **argv, struct error *error)
{
	const struct option_group groups[] = {
		{rows, ARRAY_SIZE(rows), options},	output_options_group(&options->output),
		input_options_group(&options->input),	filter_options_group(&options->filter),
		quiet_option_group(&options->is_quiet),
	};
	const struct option_table table = {
		.groups = groups,
		.nr_groups = ARRAY_SIZE(groups),
		.take_word = take_path,
		.context = options,
		.usage = "usage: stook diff [OPTIONS] BEFORE AFTER\n"
			 "       stook diff [OPTIONS] BEFORE... -- AFTER...\n"
			 "\n"
			 "What changed between two profiles: functions and call paths, with the\n"
			 "error of each change, and what may be chance apart. With several files "
			 "of\n"
			 "each side, their own differences are part of the error. One file may "
			 "have\n"
			 "both: folded stacks with two numbers a line.\n",
		.examples = "\nexamples:\n"
			    "  stook diff old.pb.gz new.pb.gz\n"
			    "  stook diff old.pb.gz new.pb.gz -o change.svg -o change.html\n"
			    "  stook diff old-?.pb.gz -- new-?.pb.gz\n"
			    "  stook diff --by-time old.pb.gz new.pb.gz",
	};
	int err = option_table_parse(&table, argc, argv, error);

	if (!err)
		err = split(options, argc, argv, error);
	return err ? err : check_paths(options, error);
}

void diff_options_clear(struct diff_options *options)
{
	filter_options_clear(&options->filter);
}
