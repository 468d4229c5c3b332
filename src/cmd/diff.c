/*
 * stook diff: compares two profiles.
 *
 *	$ stook diff old.pb.gz new.pb.gz
 *	before  old.pb.gz  19,804 samples  20.0 s
 *	after   new.pb.gz  19,811 samples  20.0 s
 *
 *	  BEFORE    AFTER           CHANGE  SIGMA     REL  FUNCTION, SELF  MODULE
 *	  10.04%   13.91%   +3.87 ±   0.33  11.86    +39%  crc64           redis-server
 *	…
 *
 * Both sides are merged into one profile: "after" as its counts, "before" as an additional value,
 * and with several files per side, an additional value for each file. Every format then writes this
 * profile like any other. All files are read before any is merged, since the value to compare must
 * be in all of them.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/matcher.h"
#include "base/text.h"
#include "run/complain.h"
#include "run/outputs.h"
#include "cmd/inputs.h"
#include "cmd/options/filter_options.h"
#include "cmd/options/output_options.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "view/diff/comparison.h"

/* Limit of files per side, given by the number of values that a profile can hold. */
#define DIFF_FILES_MAX 30

struct diff_side {
	const char *paths[DIFF_FILES_MAX];
	size_t nr;
	double seconds; /* of all files together; 0: as recorded in the files */
};

/* --map-comm: threads whose name matches are renamed to this. */
struct comm_map {
	struct matcher *matcher;
	const char *name;
};

#define COMM_MAPS_MAX 32

/* --by: labels at the root of call paths. */
#define BY_NONE LABEL_SET /* --by none; a bit that is not a label of --by */

struct diff_options {
	struct comm_map comm_maps[COMM_MAPS_MAX];
	size_t nr_comm_maps;
	unsigned labels; /* 0: no --by */
	struct output_options output;
	struct input_options input;
	struct filter_options filter;
	struct comparison_style style;
	struct diff_side before, after; /* after is empty if one file contains both sides */
	uint64_t width;			/* 0: width of the terminal */
	bool is_quiet;
};

/* --- the command line ------------------------------------------------------------------------ */

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

/* Parses a decimal number above 0 and below limit. Returns 0 or -EINVAL. */
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
	/* ours, followed by perf's names */
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

static int take_by(void *context, const char *value, struct error *error)
{
	struct diff_options *options = context;

	if (strcmp(value, "none") != 0)
		return label_keys_take(value, &options->labels, error);
	options->labels = BY_NONE;
	return 0;
}

/* RE=NAME, split at the last `=`. */
static int take_comm_map(void *context, const char *value, struct error *error)
{
	struct diff_options *options = context;
	const char *equals = strrchr(value, '=');
	struct comm_map map = {.name = equals ? equals + 1 : NULL};
	struct matcher_error fault = {0};

	if (!equals || equals == value || !*map.name)
		return option_bad(error, "--map-comm", value,
				  "RE=NAME, such as '^worker-.*=worker'");
	if (options->nr_comm_maps == COMM_MAPS_MAX)
		return error_set(error, -EINVAL, "more than %d --map-comm", COMM_MAPS_MAX);
	map.matcher = matcher_new(value, (size_t)(equals - value), MATCHER_SEARCH, &fault);
	if (!map.matcher)
		return fault.what ? option_bad(error, "--map-comm", value, fault.what)
				  : error_no_memory(error, "");
	options->comm_maps[options->nr_comm_maps++] = map;
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
				  "seconds, for both or for each: 30 or 30,60; or 2m");
	options->before.seconds = (double)before_ns / 1e9;
	options->after.seconds = (double)after_ns / 1e9;
	return 0;
}

static const struct option_row rows[] = {
	{'n', "top", "N", take_top, "print at most N rows (default 20)"},
	{0, "order", "WHICH", take_order,
	 "order functions by the change of: self (default), total"},
	{'s', "sort", "KEY", take_group, "the same as --group-by"},
	{0, "group-by", "KEY", take_group, "a row per function (default), module or comm"},
	{0, "by", "KEY,…", take_by,
	 "labels at the root of paths: comm (default if both sides share names), cpu, …, or none"},
	{0, "map-comm", "RE=NAME", take_comm_map,
	 "rename threads whose names match to NAME, on both sides; may be repeated"},
	OPTION_SWITCH(0, "by-time", struct diff_options, style.by_time,
		      "compare rates instead of shares of all samples"),
	{0, "duration", "A,B", take_duration, "seconds sampled, if the files do not record it"},
	{0, "confidence", "PERCENT", take_confidence,
	 "family-wise confidence that no listed change is chance (default 95)"},
	{0, "sigma", "N", take_sigma,
	 "list each change above N standard errors, instead of --confidence"},
	OPTION_WIDTH(struct diff_options, width,
		     "width of the report (default: terminal, else 100)"),
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
	return add_path(context, word, error);
}

/*
 * Files before `--` are one side, files after it the other side, with options allowed on both;
 * after a second `--`, every word is a file.
 */
static int parse_sides(struct option_table *table, struct diff_options *options, int argc,
		       char **argv, struct error *error)
{
	int err;

	table->take_word = take_path;
	table->context = &options->before;
	err = option_table_parse(table, argc, argv, error);
	if (err || optind >= argc)
		return err;
	table->context = &options->after;
	err = option_table_parse(table, argc, argv, error);
	for (; optind < argc && !err; optind++)
		err = add_path(&options->after, argv[optind], error);
	return err;
}

/* Assigns the files to the two sides if there was no `--`. */
static int split(struct diff_options *options, struct error *error)
{
	struct diff_side *before = &options->before;

	if (!before->nr) {
		(void)error_set(error, -EINVAL, "no profiles given");
		error_hint(error, "give two profiles: stook diff BEFORE AFTER");
		return -EINVAL;
	}
	if (!options->after.nr && before->nr == 2)
		return add_path(&options->after, before->paths[--before->nr], error);
	if (!options->after.nr && before->nr > 2) {
		(void)error_set(error, -EINVAL, "%zu files, unclear which are before and after",
				before->nr);
		error_hint(error, "separate the sides by --: stook diff A1 A2 -- B1 B2");
		return -EINVAL;
	}
	return 0;
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

static int diff_options_parse(struct diff_options *options, int argc, char **argv,
			      struct error *error)
{
	const struct option_group groups[] = {
		{rows, ARRAY_SIZE(rows), options},	output_options_group(&options->output),
		input_options_group(&options->input),	filter_options_group(&options->filter),
		quiet_option_group(&options->is_quiet),
	};
	struct option_table table = {
		.groups = groups,
		.nr_groups = ARRAY_SIZE(groups),
		.usage =
			"usage: stook diff [OPTIONS] BEFORE AFTER\n"
			"       stook diff [OPTIONS] BEFORE... -- AFTER...\n"
			"\n"
			"Compares two profiles: prints changed functions and call paths, each "
			"with\n"
			"the error of its change; changes within noise are separate. With several\n"
			"files per side, the differences between them are part of the error. One\n"
			"file may contain both sides: folded stacks with two numbers per line.\n",
		.examples = "\nexamples:\n"
			    "  stook diff old.pb.gz new.pb.gz\n"
			    "  stook diff old.pb.gz new.pb.gz -o change.svg -o change.html\n"
			    "  stook diff old-?.pb.gz -- new-?.pb.gz\n"
			    "  stook diff --by-time old.pb.gz new.pb.gz",
	};
	int err = parse_sides(&table, options, argc, argv, error);

	if (!err)
		err = split(options, error);
	return err ? err : check_paths(options, error);
}

#define NAME_BYTES	32
#define NOTE_BYTES	256
#define TASK_NAME_BYTES 32 /* within a note */

struct diff_file {
	const char *path;
	struct inputs inputs;
	bool is_empty; /* even before filtering */
};

struct diff {
	struct diff_options options;
	struct diff_file files[2][DIFF_FILES_MAX]; /* before and after, until they are merged */
	struct common_values common;
	struct outputs outputs;
	struct profile *profile;
	unsigned labels; /* present in some of the files */
	char note[NOTE_BYTES];
	struct difference_part parts[2 * DIFF_FILES_MAX];
	size_t nr_parts;
	uint64_t period;	   /* sampling period of the first file */
	char names[2][NAME_BYTES]; /* names of sides with several files */
};

/* --- merging --------------------------------------------------------------------------------- */

static bool has_several(const struct diff *diff)
{
	return diff->options.before.nr > 1 || diff->options.after.nr > 1;
}

/*
 * Adds a value named "before", or "before 1", "after 2", … for the files of a side; returns its
 * index.
 */
static int add_value(struct diff *diff, const char *name, size_t number, size_t *ret,
		     struct error *error)
{
	struct value_type type = {.unit = profile_value_type(diff->profile, 0).unit};
	char text[32];
	int64_t string;
	int value;

	(void)snprintf(text, sizeof(text), number ? "%s %zu" : "%s", name, number);
	string = profile_add_string(diff->profile, text);
	type.type = (uint32_t)string;
	value = string < 0 ? (int)string : profile_add_value_type(diff->profile, &type);
	if (value < 0)
		return error_set(error, value, "cannot compare: %s", strerror(-value));
	*ret = (size_t)value;
	return 0;
}

/* Finds the sampled seconds of a file; an error if rates need them and they are unknown. */
static int find_seconds(const struct diff *diff, const struct profile *profile,
			const struct diff_side *side, const char *path, double *ret,
			struct error *error)
{
	*ret = side->seconds > 0 ? side->seconds / (double)side->nr
				 : (double)profile_origin(profile)->duration_ns / 1e9;
	if (!diff->options.style.by_time || *ret > 0)
		return 0;
	(void)error_set(error, -EINVAL, "'%s' does not record its duration", path);
	error_hint(error, "give the seconds of both sides: --duration A,B");
	return -EINVAL;
}

/* Samples per second are comparable only at the same sampling rate; sums always are. */
static int check_period(struct diff *diff, const struct profile *profile, const char *path,
			struct error *error)
{
	uint64_t period = profile_origin(profile)->period;

	if (!diff->profile)
		diff->period = period;
	if (!diff->options.style.by_time || period == diff->period || profile_is_sum(profile))
		return 0;
	(void)error_set(error, -EINVAL, "'%s' was sampled at a different rate than '%s'", path,
			diff->options.after.paths[0]);
	error_hint(error, "omit --by-time to compare shares");
	return -EINVAL;
}

static int copy_value(struct profile *profile, size_t from, size_t to)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < profile_nr_samples(profile) && !err; i++)
		err = profile_add_value(profile, i, to, profile_value(profile, i, from));
	return err;
}

/*
 * The first profile becomes diff->profile; the others are merged into it, as the value of their side. If a side has
 * several files, the counts of each are a value of their own as well.
 */
static int add_profile(struct diff *diff, struct profile **profile, size_t value,
		       struct difference_part *part, size_t number, struct error *error)
{
	const bool is_first = !diff->profile;
	int err = 0;

	if (is_first)
		diff->profile = take_pointer(profile);
	if (has_several(diff)) {
		err = add_value(diff, part->is_after ? "after" : DIFFERENCE_BEFORE, number + 1,
				&part->value, error);
		if (err)
			return err;
		diff->parts[diff->nr_parts++] = *part;
	}
	if (!is_first)
		err = profile_merge(diff->profile, *profile, part->value ? part->value : value);
	if (!err && part->value)
		err = is_first ? copy_value(diff->profile, 0, part->value)
			       : copy_value(diff->profile, part->value, value);
	return err;
}

/* --- reading --------------------------------------------------------------------------------- */

static bool is_empty(const struct profile *profile)
{
	size_t before = comparison_value(profile);

	return !profile_total(profile) || (before && !profile_value_total(profile, before));
}

static int read_file(struct diff *diff, const char *path, struct diff_file *file,
		     struct error *error)
{
	int err = inputs_read(&file->inputs, &diff->options.input, &path, 1, error);

	if (err)
		return err;
	if (!diff->options.is_quiet)
		inputs_complain(&file->inputs);
	file->path = path;
	file->is_empty = is_empty(file->inputs.profile);
	diff->labels |= file->inputs.notes.labels;
	/*
	 * Folded stacks have no modules. A file without samples has none either: it is not judged.
	 */
	if (!file->is_empty && profile_nr_modules(file->inputs.profile) <= MODULE_NR_KERNEL + 1)
		diff->options.style.no_modules = true;
	return common_values_add(&diff->common, file->inputs.profile, path, error);
}

/* Checks that at least one file of a side has samples. */
static int check_side(const struct diff_file *files, size_t nr, struct error *error)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!files[i].is_empty)
			return 0;
	for (i = 0; i < nr; i++) {
		if (*error->text)
			complain("%s", error->text);
		(void)error_set(error, -EINVAL, "'%s' has no samples", files[i].path);
	}
	return nr ? -EINVAL : 0;
}

/* Returns the --map-comm name for a thread name; NULL if none matches. */
static const char *mapped_comm(const struct diff_options *options, const char *comm)
{
	size_t i;

	for (i = 0; i < options->nr_comm_maps; i++)
		if (matcher_matches(options->comm_maps[i].matcher, comm))
			return options->comm_maps[i].name;
	return NULL;
}

static int map_comms(const struct diff_options *options, struct profile *profile,
		     struct error *error)
{
	size_t nr = options->nr_comm_maps ? profile_nr_samples(profile) : 0;
	int64_t string = 0;
	uint32_t i;
	int err = 0;

	for (i = 0; i < nr && !err; i++) {
		struct sample_labels labels = profile_sample(profile, i)->labels;
		const char *name = mapped_comm(options, profile_string(profile, labels.comm));

		if (!name || !profile_has_value(profile, i))
			continue;
		string = profile_add_string(profile, name);
		labels.comm = (uint32_t)string;
		err = string < 0 ? (int)string : profile_relabel_sample(profile, i, &labels);
	}
	return err ? error_set(error, err, "out of memory") : 0;
}

/* Reads all files of both sides, filters them and chooses the common value. */
static int read_files(struct diff *diff, struct error *error)
{
	const struct diff_side *sides[] = {&diff->options.before, &diff->options.after};
	char note[COMMON_VALUES_NOTE_BYTES];
	size_t side, i;
	int err = 0;

	for (side = 0; side < 2; side++)
		for (i = 0; i < sides[side]->nr && !err; i++)
			err = read_file(diff, sides[side]->paths[i], &diff->files[side][i], error);
	if (err)
		return err;
	/* Check both sides, so that every empty file is reported. */
	err = check_side(diff->files[0], diff->options.before.nr, error);
	if (check_side(diff->files[1], diff->options.after.nr, error) || err)
		return -EINVAL;
	common_values_note(&diff->common, note);
	if (*note && !diff->options.is_quiet)
		complain("%s", note);
	for (side = 0; side < 2; side++)
		for (i = 0; i < sides[side]->nr && !err; i++) {
			struct profile *profile = diff->files[side][i].inputs.profile;

			if (common_values_choose(&diff->common, profile) < 0)
				return error_set(error, -ENOMEM, "out of memory");
			err = filter_options_apply(&diff->options.filter, profile, error);
			if (!err)
				err = map_comms(&diff->options, profile, error);
		}
	return err;
}

static int add_file(struct diff *diff, const struct diff_side *side, size_t number, size_t value,
		    double *seconds, struct error *error)
{
	bool is_after = side == &diff->options.after;
	const char *path = side->paths[number];
	struct inputs *inputs = &diff->files[is_after][number].inputs;
	struct difference_part part = {.is_after = is_after};
	int err = find_seconds(diff, inputs->profile, side, path, &part.seconds, error);

	if (!err)
		err = check_period(diff, inputs->profile, path, error);
	if (!err && comparison_value(inputs->profile))
		err = error_set(error, -EINVAL, "'%s' already is a difference", path);
	if (!err)
		err = add_profile(diff, &inputs->profile, value, &part, number, error);
	if (err && !error->code)
		err = error_set(error, err, "cannot compare '%s': %s", path, strerror(-err));
	inputs_clear(inputs);
	if (!err)
		*seconds = part.seconds > 0 && *seconds >= 0 ? *seconds + part.seconds : -1;
	return err;
}

static int add_side(struct diff *diff, const struct diff_side *side, double *ret_seconds,
		    struct error *error)
{
	size_t value = 0, i;
	double seconds = 0;
	int err = 0;

	if (side == &diff->options.before)
		err = add_value(diff, DIFFERENCE_BEFORE, 0, &value, error);
	for (i = 0; i < side->nr && !err; i++)
		err = add_file(diff, side, i, value, &seconds, error);
	*ret_seconds = seconds > 0 ? seconds : 0;
	return err;
}

/* Handles a single file that contains both sides. */
static int split_both(struct diff *diff, struct error *error)
{
	const char *path = diff->options.before.paths[0];

	diff->profile = take_pointer(&diff->files[0][0].inputs.profile);
	diff->options.style.before_seconds = diff->options.before.seconds;
	diff->options.style.after_seconds = diff->options.after.seconds;
	if (!comparison_value(diff->profile)) {
		(void)error_set(error, -EINVAL, "'%s' contains only one side", path);
		error_hint(error, "give two profiles: stook diff BEFORE AFTER");
		return -EINVAL;
	}
	if (diff->options.style.by_time && diff->options.before.seconds <= 0)
		return error_set(error, -EINVAL, "--by-time needs --duration A,B with '%s'", path);
	return 0;
}

/* Returns the path of a side's only file, or "N files". */
static const char *name_of(const struct diff_side *side, char buffer[NAME_BYTES])
{
	if (side->nr == 1)
		return side->paths[0];
	(void)snprintf(buffer, NAME_BYTES, "%zu files", side->nr);
	return buffer;
}

static int read_all(struct diff *diff, struct error *error)
{
	struct diff_options *options = &diff->options;
	struct comparison_style *style = &options->style;
	int err = read_files(diff, error);

	if (err)
		return err;
	if (!options->after.nr)
		return split_both(diff, error);
	err = add_side(diff, &options->after, &style->after_seconds, error);
	if (!err)
		err = add_side(diff, &options->before, &style->before_seconds, error);
	if (!err) {
		/* Files were recorded at different times: no common time span exists. */
		struct profile_origin origin = *profile_origin(diff->profile);

		origin.time_ns = 0;
		origin.duration_ns = 0;
		profile_set_origin(diff->profile, &origin);
	}
	style->before_name = name_of(&options->before, diff->names[0]);
	style->after_name = name_of(&options->after, diff->names[1]);
	style->parts = diff->nr_parts ? diff->parts : NULL;
	style->nr_parts = diff->nr_parts;
	return err;
}

/* --- labels ---------------------------------------------------------------------------------- */

/* Thread names are dropped if more than this share of a side has names unknown to the other. */
#define FEW_COMMON 0.5

/* Quotes a name, shortened and safe for terminals. */
static void quote_comm(const struct diff *diff, uint32_t string, char *ret, size_t bytes)
{
	const char *name = profile_string(diff->profile, string);

	(void)snprintf(ret, bytes, "'%.*s'", (int)bytes - 3, name);
	text_make_safe(ret, ret, strlen(ret));
}

/*
 * Chooses the labels at the root of call paths: thread names by default, unless they differ so much
 * between the sides that every path would vanish under one name and appear under another. Pids and
 * tids differ between runs anyway.
 */
static int choose_labels(struct diff *diff, unsigned *ret, struct error *error)
{
	struct comparison_style *style = &diff->options.style;
	unsigned asked = diff->options.labels;
	struct comparison_threads threads;
	char before[TASK_NAME_BYTES], after[TASK_NAME_BYTES];
	int err = label_keys_check(asked & ~(unsigned)BY_NONE, diff->labels, error);

	if (err)
		return err;
	*ret = asked ? asked & ~(unsigned)BY_NONE : diff->labels & LABEL_COMM;
	if (style->group == DIFFERENCE_BY_COMM)
		*ret |= diff->labels & LABEL_COMM;
	if (!(*ret & LABEL_COMM))
		return 0;
	style->labels = *ret;
	err = comparison_threads_find(&threads, diff->profile, style);
	if (err)
		return error_set(error, err, "cannot compare: %s", strerror(-err));
	if (!threads.before || !threads.after)
		return 0;
	quote_comm(diff, threads.before, before, sizeof(before));
	quote_comm(diff, threads.after, after, sizeof(after));
	if (!asked && style->group != DIFFERENCE_BY_COMM &&
	    (threads.common_before < FEW_COMMON || threads.common_after < FEW_COMMON)) {
		*ret = 0;
		(void)snprintf(diff->note, sizeof(diff->note),
			       "Thread names differ (%s before, %s after) and are omitted: see "
			       "--by and --map-comm.",
			       before, after);
	} else if (threads.are_all) {
		(void)snprintf(diff->note, sizeof(diff->note),
			       "Only thread names changed (%s before, %s after): "
			       "--by none compares without them.",
			       before, after);
	}
	return 0;
}

/* Adds the note to every output; prints it on stderr for formats without a place for it. */
static int note_threads(struct diff *diff, struct error *error)
{
	const struct output_options *output = &diff->options.output;

	if (!*diff->note)
		return 0;
	diff->options.style.note = diff->note;
	if (!diff->options.is_quiet && (output->nr_paths || output->stdout_format))
		complain("%s", diff->note);
	if (profile_add_comment(diff->profile, diff->note) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	return 0;
}

/* --- the command ----------------------------------------------------------------------------- */

/* Reads and writes. */
static int compare(void *context, struct error *error)
{
	struct diff *diff = context;
	const struct comparison_style *style = &diff->options.style;
	unsigned labels = 0;
	int err = read_all(diff, error);

	if (!err)
		err = choose_labels(diff, &labels, error);
	if (!err)
		err = note_threads(diff, error);
	if (err)
		return err;
	diff->outputs.format.labels = labels;
	diff->outputs.kept_labels = labels | (diff->labels & LABEL_COMM);
	if (diff->options.width)
		diff->outputs.format.width = (unsigned)diff->options.width;
	if (!diff->options.is_quiet) {
		if (!profile_value_total(diff->profile, comparison_value(diff->profile)))
			complain("no samples of '%s' left after filtering",
				 style->before_name ? style->before_name : "before");
		if (!profile_total(diff->profile))
			complain("no samples of '%s' left after filtering",
				 style->after_name ? style->after_name : "after");
	}
	return outputs_write(&diff->outputs, diff->profile, error);
}

static int run(struct diff *diff, struct error *error)
{
	struct diff_options *options = &diff->options;
	const struct format_options format = {.comparison = &options->style};
	struct confined confined = {
		.paths = {options->before.paths, options->after.paths},
		.nr = {options->before.nr, options->after.nr},
		.input = &options->input,
		.outputs = &diff->outputs,
		.run = compare,
		.context = diff,
	};
	int err = outputs_open(&diff->outputs, &options->output, &format, false, error);

	return err ? err : confined_run(&confined, error);
}

static void diff_clear(struct diff *diff)
{
	size_t i;

	outputs_clear(&diff->outputs);
	for (i = 0; i < DIFF_FILES_MAX; i++) {
		inputs_clear(&diff->files[0][i].inputs);
		inputs_clear(&diff->files[1][i].inputs);
	}
	common_values_clear(&diff->common);
	profile_free(diff->profile);
	filter_options_clear(&diff->options.filter);
	for (i = 0; i < diff->options.nr_comm_maps; i++)
		matcher_free(diff->options.comm_maps[i].matcher);
}

int cmd_diff(int argc, char **argv)
{
	cleanup(diff_clear) struct diff diff = {0};
	struct error error = {0};
	int err = diff_options_parse(&diff.options, argc, argv, &error);

	if (err > 0)
		return 0;
	if (err) {
		complain_error(&error);
		return err == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	err = run(&diff, &error);
	return complain_on_error(err, &error) ? 0 : EXIT_FAILED;
}
