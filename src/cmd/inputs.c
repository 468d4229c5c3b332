/* Profiles read back; see inputs.h. */
#include "cmd/inputs.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "cmd/complain.h"
#include "format/columns.h"
#include "profile/merge.h"
#include "profile/profile_values.h"

static int take_format(void *context, const char *value, struct error *error)
{
	struct input_options *options = context;
	const struct format *format = format_by_name(value);
	char names[FORMAT_NAMES_BYTES];

	if (!format || !format->read)
		return error_set(error, -EINVAL, "bad value '%s' for --input-format: one of %s",
				 value, format_read_names(names));
	options->format = format;
	return 0;
}

static int take_value(void *context, const char *value, struct error *error)
{
	struct input_options *options = context;

	options->value = value;
	return 0;
}

static const struct option_row rows[] = {
	{0, "input-format", "NAME", take_format, "what the input is: pprof, folded, perf"},
	{0, "value", "NAME", take_value,
	 "of several values the one to show: samples, alloc_space, …"},
};

struct option_group input_options_group(struct input_options *options)
{
	return (struct option_group){rows, ARRAY_SIZE(rows), options};
}

/* --- reading ---------------------------------------------------------------------------------- */

static void add_notes(struct format_notes *all, const struct format_notes *notes)
{
	all->labels |= notes->labels;
	all->annotated |= notes->annotated;
	all->dropped_labels += notes->dropped_labels;
	all->dropped_samples += notes->dropped_samples;
	all->bad_lines += notes->bad_lines;
	if (!all->first_bad_line)
		all->first_bad_line = notes->first_bad_line;
}

static const struct format *format_of(FILE *in, const struct input_options *options,
				      const char *path)
{
	const struct format *by_path = format_by_path(path);
	const struct format *format = options->format;

	if (!format)
		format = format_by_content(in);
	if (!format && by_path && by_path->read)
		format = by_path;
	return format;
}

static int read_stream(FILE *in, const char *path, const struct input_options *options,
		       struct profile *profile, struct format_notes *notes, struct error *error)
{
	const struct format *format = format_of(in, options, path);
	struct error why = {0};
	char names[FORMAT_NAMES_BYTES];
	int err;

	if (!format)
		err = error_set(&why, -EINVAL, "it is none of %s", format_read_names(names));
	else
		err = format->read(in, profile, notes, &why);
	if (err < 0)
		return error_set(error, err, "cannot read '%s': %s", path,
				 *why.text ? why.text : strerror(-err));
	return 0;
}

static int read_one(const char *path, const struct input_options *options, struct profile *profile,
		    struct format_notes *notes, struct error *error)
{
	bool is_stdin = !strcmp(path, "-");
	cleanup_file FILE *file = is_stdin ? NULL : fopen(path, "re");

	if (!is_stdin && !file)
		return error_set_errno(error, "cannot open '%s'", path);
	return read_stream(is_stdin ? stdin : file, is_stdin ? "standard input" : path, options,
			   profile, notes, error);
}

static struct profile *new_profile(void)
{
	struct profile *profile = profile_new();

	if (profile)
		profile_set_max_frames(profile, PROFILE_MAX_FILE_FRAMES);
	return profile;
}

static void free_profile(struct profile **profile)
{
	profile_free(*profile);
}

/* The first one needs no merging. */
static int add_input(struct inputs *inputs, const char *path, const struct input_options *options,
		     struct error *error)
{
	cleanup(free_profile) struct profile *profile = new_profile();
	struct format_notes notes = {0};
	int err;

	if (!profile)
		return error_set(error, -ENOMEM, "out of memory");
	err = read_one(path, options, profile, &notes, error);
	if (err)
		return err;
	add_notes(&inputs->notes, &notes);
	if (!inputs->profile) {
		inputs->profile = take_pointer(&profile);
		return 0;
	}
	err = profile_merge(inputs->profile, profile, 0);
	if (err)
		return error_set(error, err, "cannot merge '%s': %s", path, strerror(-err));
	return 0;
}

static int tell_values(const struct profile *profile, const char *wanted, struct error *error)
{
	size_t i, nr = 0;
	char list[sizeof(error->hint)] = "";

	for (i = 0; i < profile_nr_values(profile) && nr < sizeof(list); i++)
		nr += (size_t)snprintf(
			list + nr, sizeof(list) - nr, "%s%s", i ? ", " : "",
			profile_string(profile, profile_value_type(profile, i).type));
	(void)error_set(error, -EINVAL, "no value '%s' in the input", wanted);
	error_hint(error, "it has %s", list);
	return -EINVAL;
}

static int choose_value(struct profile *profile, const char *name, struct error *error)
{
	int number = profile_find_value(profile, name);

	if (number == -ENOENT)
		return tell_values(profile, name, error);
	if (number < 0 || profile_choose_value(profile, (size_t)number) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	return 0;
}

int inputs_read(struct inputs *inputs, const struct input_options *options,
		const char *const *paths, size_t nr, struct error *error)
{
	static const char *const standard_input[] = {"-"};
	size_t i;
	int err = 0;

	*inputs = (struct inputs){0};
	if (!nr && isatty(STDIN_FILENO))
		return error_set(error, -EINVAL, "no profile given");
	if (!nr) {
		paths = standard_input;
		nr = 1;
	}
	for (i = 0; i < nr && !err; i++)
		err = add_input(inputs, paths[i], options, error);
	if (!err && options->value)
		err = choose_value(inputs->profile, options->value, error);
	return err;
}

void inputs_clear(struct inputs *inputs)
{
	profile_free(inputs->profile);
	*inputs = (struct inputs){0};
}

/* --- what was not kept ------------------------------------------------------------------------ */

static void tell_dropped(uint64_t nr, const char *what, const char *why)
{
	char number[COLUMNS_NUMBER_BYTES];

	if (nr)
		complain("dropped %s %s%s %s", columns_number(number, nr), what, nr == 1 ? "" : "s",
			 why);
}

void inputs_complain(const struct inputs *inputs)
{
	const struct format_notes *notes = &inputs->notes;
	char number[COLUMNS_NUMBER_BYTES];

	tell_dropped(notes->dropped_labels, "label", "that made no sense");
	tell_dropped(notes->dropped_samples, "sample", "with negative values");
	if (notes->bad_lines)
		complain("passed over %s line%s that could not be read, the first of them line "
			 "%" PRIu64,
			 columns_number(number, notes->bad_lines), notes->bad_lines == 1 ? "" : "s",
			 notes->first_bad_line);
}
