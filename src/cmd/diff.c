/*
 * stook diff: what changed between two profiles.
 *
 *	$ stook diff old.pb.gz new.pb.gz
 *	before  old.pb.gz  19,804 samples  20.0 s
 *	after   new.pb.gz  19,811 samples  20.0 s
 *
 *	  BEFORE    AFTER           CHANGE  SIGMA     REL  FUNCTION, SELF  MODULE
 *	  10.04%   13.91%   +3.87 ±   0.33  11.86    +39%  crc64           redis-server
 *	…
 *
 * Both sides are put into one profile: "after" as its counts, "before" as a value beside them, and, of
 * several files a side, a value for each. Every format then writes that profile as it does others.
 * What is compared has to be known first, so all files are read before any is put there.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cmd/commands.h"
#include "cmd/complain.h"
#include "cmd/diff_options.h"
#include "cmd/outputs.h"
#include "profile/merge.h"
#include "profile/profile.h"

#define NAME_BYTES 32

struct diff_file {
	const char *path;
	struct inputs inputs;
	bool is_empty; /* before it was filtered */
};

struct diff {
	struct diff_options options;
	struct diff_file files[2]
			      [DIFF_FILES_MAX]; /* before and after, until they are one profile */
	struct common_values common;
	struct outputs outputs;
	struct profile *profile;
	unsigned labels;
	struct difference_part parts[2 * DIFF_FILES_MAX];
	size_t nr_parts;
	uint64_t period;	   /* of the first file's samples */
	char names[2][NAME_BYTES]; /* of sides that have several files */
};

/* --- putting together ------------------------------------------------------------------------ */

static bool has_several(const struct diff *diff)
{
	return diff->options.before.nr > 1 || diff->options.after.nr > 1;
}

/* The number of a value "before", or "before 1", "after 2", … of the files of a side. */
static int add_value(struct diff *diff, const char *name, size_t number, size_t *ret,
		     struct error *error)
{
	struct value_type type = {.unit = profile_origin(diff->profile)->counted.unit};
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

/* The seconds of a file, which are needed for rates. */
static int find_seconds(const struct diff *diff, const struct profile *profile,
			const struct diff_side *side, const char *path, double *ret,
			struct error *error)
{
	*ret = side->seconds > 0 ? side->seconds / (double)side->nr
				 : (double)profile_origin(profile)->duration_ns / 1e9;
	if (!diff->options.style.by_time || *ret > 0)
		return 0;
	(void)error_set(error, -EINVAL, "'%s' does not say how long it was taken", path);
	error_hint(error, "--duration A,B tells the seconds of both sides");
	return -EINVAL;
}

/* As many samples a second mean something else at another rate of sampling; sums are the same. */
static int check_period(struct diff *diff, const struct profile *profile, const char *path,
			struct error *error)
{
	uint64_t period = profile_origin(profile)->period;

	if (!diff->profile)
		diff->period = period;
	if (!diff->options.style.by_time || period == diff->period || profile_is_sum(profile))
		return 0;
	(void)error_set(error, -EINVAL, "'%s' was not sampled as often as '%s'", path,
			diff->options.after.paths[0]);
	error_hint(error, "without --by-time shares are compared, which does not need it");
	return -EINVAL;
}

/* The counts of a file, as a value of its own. */
static int add_part(struct diff *diff, struct profile *profile, bool is_after, size_t number,
		    double seconds, struct error *error)
{
	struct difference_part part = {.is_after = is_after, .seconds = seconds};
	uint32_t i;
	int err = add_value(diff, is_after ? "after" : DIFFERENCE_BEFORE, number + 1, &part.value,
			    error);

	if (err)
		return err;
	diff->parts[diff->nr_parts++] = part;
	if (profile != diff->profile)
		err = profile_merge(diff->profile, profile, part.value);
	for (i = 0; profile == diff->profile && i < profile_nr_samples(profile) && !err; i++)
		err = profile_add_value(diff->profile, i, part.value, profile_value(profile, i, 0));
	return err ? error_set(error, err, "cannot compare: %s", strerror(-err)) : 0;
}

/* The first one is what the others are added to. */
static int add_profile(struct diff *diff, struct profile **profile, const char *path, size_t value,
		       struct error *error)
{
	int err;

	if (comparison_value(*profile))
		return error_set(error, -EINVAL, "'%s' is a difference already", path);
	if (!diff->profile) {
		diff->profile = take_pointer(profile);
		return 0;
	}
	err = profile_merge(diff->profile, *profile, value);
	return err ? error_set(error, err, "cannot compare '%s': %s", path, strerror(-err)) : 0;
}

/* --- reading --------------------------------------------------------------------------------- */

/* Folded stacks have names alone. */
static bool has_modules(const struct profile *profile)
{
	return profile_nr_modules(profile) > MODULE_NR_KERNEL + 1;
}

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
	/* What has no samples has no modules either, and nothing to be compared by them. */
	if (!file->is_empty && !has_modules(file->inputs.profile))
		diff->options.style.no_modules = true;
	return common_values_add(&diff->common, file->inputs.profile, path, error);
}

static int prepare_file(struct diff *diff, struct diff_file *file, struct error *error)
{
	if (common_values_choose(&diff->common, file->inputs.profile) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	return filter_options_apply(&diff->options.filter, file->inputs.profile, error);
}

static int complain_empty(const struct diff_file *file, const char *what, struct error *error)
{
	if (*error->text)
		complain("%s", error->text);
	return error_set(error, -EINVAL, "'%s' has no samples%s", file->path, what);
}

/* A side needs samples in some of its files. */
static int check_side(const struct diff_file *files, size_t nr, struct error *error)
{
	size_t nr_empty = 0, i;
	int err = 0;

	for (i = 0; i < nr; i++)
		nr_empty += files[i].is_empty;
	for (i = 0; i < nr && nr_empty == nr; i++)
		err = complain_empty(&files[i], "", error);
	return err;
}

static int check_sides(const struct diff *diff, struct error *error)
{
	int before = check_side(diff->files[0], diff->options.before.nr, error);
	int after = check_side(diff->files[1], diff->options.after.nr, error);

	return before ? before : after;
}

/* All of both sides, made to count the same. */
static int read_files(struct diff *diff, struct error *error)
{
	const struct diff_side *sides[] = {&diff->options.before, &diff->options.after};
	char note[COMMON_VALUES_NOTE_BYTES];
	size_t side, i;
	int err = 0;

	for (side = 0; side < 2; side++)
		for (i = 0; i < sides[side]->nr && !err; i++)
			err = read_file(diff, sides[side]->paths[i], &diff->files[side][i], error);
	if (!err)
		err = check_sides(diff, error);
	if (err)
		return err;
	common_values_note(&diff->common, note);
	if (*note && !diff->options.is_quiet)
		complain("%s", note);
	for (side = 0; side < 2; side++)
		for (i = 0; i < sides[side]->nr && !err; i++)
			err = prepare_file(diff, &diff->files[side][i], error);
	return err;
}

static int add_file(struct diff *diff, const struct diff_side *side, size_t number, size_t value,
		    double *seconds, struct error *error)
{
	bool is_after = side == &diff->options.after;
	const char *path = side->paths[number];
	struct inputs *inputs = &diff->files[is_after][number].inputs;
	double its_seconds;
	int err = find_seconds(diff, inputs->profile, side, path, &its_seconds, error);

	if (!err)
		err = check_period(diff, inputs->profile, path, error);
	if (!err)
		err = add_profile(diff, &inputs->profile, path, value, error);
	if (!err && has_several(diff))
		err = add_part(diff, inputs->profile ? inputs->profile : diff->profile, is_after,
			       number, its_seconds, error);
	inputs_clear(inputs);
	if (!err)
		*seconds = its_seconds > 0 && *seconds >= 0 ? *seconds + its_seconds : -1;
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

/* One file that has both sides. */
static int split_both(struct diff *diff, struct error *error)
{
	const char *path = diff->options.before.paths[0];

	diff->profile = take_pointer(&diff->files[0][0].inputs.profile);
	diff->options.style.before_seconds = diff->options.before.seconds;
	diff->options.style.after_seconds = diff->options.after.seconds;
	if (!comparison_value(diff->profile)) {
		(void)error_set(error, -EINVAL, "'%s' has one side only", path);
		error_hint(error, "two profiles make a difference: stook diff BEFORE AFTER");
		return -EINVAL;
	}
	if (diff->options.style.by_time && diff->options.before.seconds <= 0)
		return error_set(error, -EINVAL, "--by-time needs --duration A,B with '%s'", path);
	return 0;
}

/* When the files were taken is theirs: a span from the first to the last would be of nothing. */
static void forget_times(struct profile *profile)
{
	struct profile_origin origin = *profile_origin(profile);

	origin.time_ns = 0;
	origin.duration_ns = 0;
	profile_set_origin(profile, &origin);
}

/* A side of several files is named by how many they are. */
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
	if (!err)
		forget_times(diff->profile);
	style->before_name = name_of(&options->before, diff->names[0]);
	style->after_name = name_of(&options->after, diff->names[1]);
	style->parts = diff->nr_parts ? diff->parts : NULL;
	style->nr_parts = diff->nr_parts;
	return err;
}

/* --- all of it ------------------------------------------------------------------------------- */

static void tell_empty(const struct diff *diff)
{
	const struct comparison_style *style = &diff->options.style;
	const char *before = style->before_name, *after = style->after_name;

	if (!profile_value_total(diff->profile, comparison_value(diff->profile)))
		complain("nothing is left of '%s'", before ? before : "before");
	if (!profile_total(diff->profile))
		complain("nothing is left of '%s'", after ? after : "after");
}

/* Numbers of processes and threads are others in each run. */
static int run(struct diff *diff, struct error *error)
{
	struct format_options format = {.comparison = &diff->options.style};
	int err = outputs_open(&diff->outputs, &diff->options.output, &format, false, error);

	if (!err)
		err = read_all(diff, error);
	if (err)
		return err;
	outputs_set_labels(&diff->outputs, 0, diff->labels & LABEL_COMM);
	if (diff->options.width)
		diff->outputs.format.width = diff->options.width;
	if (!diff->options.is_quiet)
		tell_empty(diff);
	return outputs_write(&diff->outputs, diff->profile, error);
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
	diff_options_clear(&diff->options);
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
	return complain_unless_well(err, &error) ? 0 : EXIT_FAILED;
}
