/* Profiles read back; see inputs.h. */
#include "cmd/inputs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fd_io.h"
#include "cmd/complain.h"
#include "cmd/foreign_input.h"
#include "format/text/columns.h"
#include "profile/merge.h"
#include "profile/profile.h"

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
	OPTION_SWITCH(0, "no-comm", struct input_options, read.no_comm,
		      "folded stacks begin with a function, not with a thread's name"),
	{0, "value", "NAME", take_value,
	 "of several values the one to show: samples, alloc_space, …"},
};

struct option_group input_options_group(struct input_options *options)
{
	return (struct option_group){rows, ARRAY_SIZE(rows), options};
}

/* --- which files ------------------------------------------------------------------------------ */

int input_paths_take(void *context, const char *word, struct error *error)
{
	struct input_paths *paths = context;

	if (array_reserve(&paths->paths, &paths->cap, paths->nr + 1, sizeof(*paths->paths)) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	paths->paths[paths->nr++] = word;
	return 0;
}

void input_paths_clear(struct input_paths *paths)
{
	free(paths->paths);
	*paths = (struct input_paths){0};
}

static bool is_standard_input(const char *path)
{
	return !strcmp(path, "-");
}

int inputs_check(const char *const *paths, size_t nr, struct error *error)
{
	size_t nr_standard = 0, i;

	for (i = 0; i < nr; i++)
		nr_standard += is_standard_input(paths[i]);
	if (nr_standard > 1)
		return error_set(error, -EINVAL, "standard input ('-') can be read only once");
	if (nr || !isatty(STDIN_FILENO))
		return 0;
	(void)error_set(error, -EINVAL, "no profile given");
	error_hint(error, "name a file, or pipe one in, as from 'perf script |'");
	return -EINVAL;
}

/* --- reading ---------------------------------------------------------------------------------- */

static void add_notes(struct format_notes *all, const struct format_notes *notes)
{
	all->labels |= notes->labels;
	all->annotated |= notes->annotated;
	all->delimited |= notes->delimited;
	if (all->nr_events < notes->nr_events)
		all->nr_events = notes->nr_events;
	all->dropped_labels += notes->dropped_labels;
	all->dropped_samples += notes->dropped_samples;
	all->bad_lines += notes->bad_lines;
	if (!all->first_bad_line)
		all->first_bad_line = notes->first_bad_line;
	all->deep_lines += notes->deep_lines;
	if (!all->first_deep_line)
		all->first_deep_line = notes->first_deep_line;
	all->may_lack_comms |= notes->may_lack_comms;
}

static const char *name_of(const char *path)
{
	return is_standard_input(path) ? "standard input" : path;
}

static const struct format *format_of(FILE *in, const char *path)
{
	const struct format *by_path = format_by_path(path);
	const struct format *format = format_by_content(in);

	if (!format && by_path && by_path->read)
		format = by_path;
	return format;
}

#define HEAD_BYTES 4096

/* Of files that others made, and that are no profiles to us, it is known what they are. */
static int refuse_foreign(FILE *in, const char *path, struct error *error)
{
	char head[HEAD_BYTES];
	size_t nr = stream_peek(in, head, sizeof(head));
	const struct foreign_input *foreign = foreign_input_by_head(head, nr);

	if (!foreign)
		return 0;
	(void)error_set(error, -EINVAL, "cannot read '%s': %s", name_of(path), foreign->why);
	foreign_input_hint(foreign, path, error);
	return -EINVAL;
}

static int not_a_profile(FILE *in, const char *path, struct error *error)
{
	char names[FORMAT_NAMES_BYTES];

	if (getc(in) == EOF)
		return error_set(error, -EINVAL, "cannot read '%s': it is empty", name_of(path));
	(void)error_set(error, -EINVAL, "cannot read '%s': it is none of %s", name_of(path),
			format_read_names(names));
	error_hint(error, "--input-format says which, if it is one");
	return -EINVAL;
}

static int read_stream(FILE *in, const char *path, const struct input_options *options,
		       struct profile *profile, struct format_notes *notes, struct error *error)
{
	const struct format *format = options->format;
	struct error why = {0};
	int err = format ? 0 : refuse_foreign(in, path, error);

	if (err)
		return err;
	if (!format)
		format = format_of(in, path);
	if (!format)
		return not_a_profile(in, path, error);
	err = format->read(in, &options->read, profile, notes, &why);
	if (err < 0)
		return error_set(error, err, "cannot read '%s': %s", name_of(path),
				 *why.text ? why.text : strerror(-err));
	return 0;
}

static int read_one(const char *path, const struct input_options *options, struct profile *profile,
		    struct format_notes *notes, struct error *error)
{
	bool is_stdin = is_standard_input(path);
	cleanup_file FILE *file = is_stdin ? NULL : fopen(path, "re");
	struct stat status;

	if (!is_stdin && !file)
		return error_set_errno(error, "cannot open '%s'", path);
	if (file && fstat(fileno(file), &status) == 0 && S_ISDIR(status.st_mode))
		return error_set(error, -EISDIR, "cannot read '%s': it is a folder", path);
	return read_stream(is_stdin ? stdin : file, path, options, profile, notes, error);
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

static int tell_values(const struct profile *profile, const char *wanted, const char *path,
		       struct error *error)
{
	size_t i, nr = 0;
	char list[sizeof(error->hint)] = "";

	for (i = 0; i < profile_nr_values(profile) && nr < sizeof(list); i++)
		nr += (size_t)snprintf(
			list + nr, sizeof(list) - nr, "%s%s", i ? ", " : "",
			profile_string(profile, profile_value_type(profile, i).type));
	(void)error_set(error, -EINVAL, "no value '%s' in '%s'", wanted, path);
	error_hint(error, "it has %s", list);
	return -EINVAL;
}

static int choose_value(struct profile *profile, const char *name, const char *path,
			struct error *error)
{
	int number = profile_find_value(profile, name);

	if (number == -ENOENT)
		return tell_values(profile, name, path, error);
	if (number < 0 || profile_choose_value(profile, (size_t)number) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	return 0;
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
	if (options->value)
		err = choose_value(profile, options->value, path, error);
	if (!err)
		err = common_values_add(&inputs->common, profile, path, error);
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

int inputs_read(struct inputs *inputs, const struct input_options *options,
		const char *const *paths, size_t nr, struct error *error)
{
	static const char *const standard_input[] = {"-"};
	size_t i;
	int err = 0;

	*inputs = (struct inputs){.is_chosen = options->value != NULL};
	if (!nr) {
		paths = standard_input;
		nr = 1;
	}
	for (i = 0; i < nr && !err; i++)
		err = add_input(inputs, paths[i], options, error);
	if (err)
		return err;
	common_values_note(&inputs->common, inputs->note);
	if (common_values_choose(&inputs->common, inputs->profile) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	return 0;
}

void inputs_clear(struct inputs *inputs)
{
	profile_free(inputs->profile);
	common_values_clear(&inputs->common);
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

/* Of several events one is shown. How many samples there were is no event. */
static void tell_events(const struct profile *profile)
{
	char list[256] = "";
	size_t nr = 0, i;

	for (i = 1; i < profile_nr_values(profile) && nr < sizeof(list); i++) {
		const char *name = profile_string(profile, profile_value_type(profile, i).type);

		if (strcmp(name, "samples") != 0)
			nr += (size_t)snprintf(list + nr, sizeof(list) - nr, "%s%s", nr ? ", " : "",
					       name);
	}
	if (nr)
		complain("shows %s; the input also has %s: --value NAME shows another",
			 profile_string(profile, profile_value_type(profile, 0).type), list);
}

static void tell_lines(uint64_t nr, uint64_t first, const char *why)
{
	char number[COLUMNS_NUMBER_BYTES];

	if (nr)
		complain("passed over %s line%s %s, the first of them line %" PRIu64,
			 columns_number(number, nr), nr == 1 ? "" : "s", why, first);
}

static void tell_deep_lines(const struct format_notes *notes)
{
	char number[COLUMNS_NUMBER_BYTES], why[96];

	(void)snprintf(why, sizeof(why),
		       "with more than %s frames, which are the most that a stack may have",
		       columns_number(number, FORMAT_MAX_FRAMES));
	tell_lines(notes->deep_lines, notes->first_deep_line, why);
}

/* A root function that is taken for a thread is in no row, and nothing else would tell. */
static void tell_lone_words(void)
{
	struct error note = {0};

	(void)error_set(&note, 0,
			"most samples are lines of one word, taken for a thread without a stack");
	error_hint(&note, "--no-comm if these are functions, and lines have no threads");
	complain_error(&note);
}

void inputs_complain(const struct inputs *inputs)
{
	const struct format_notes *notes = &inputs->notes;

	if (*inputs->note)
		complain("%s", inputs->note);
	if (notes->nr_events > 1 && !inputs->is_chosen)
		tell_events(inputs->profile);
	tell_dropped(notes->dropped_labels, "label", "that made no sense");
	tell_dropped(notes->dropped_samples, "sample", "with negative values");
	tell_lines(notes->bad_lines, notes->first_bad_line, "that could not be read");
	tell_deep_lines(notes);
	if (notes->may_lack_comms)
		tell_lone_words();
}
