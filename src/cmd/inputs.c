/*
 * Reads profiles back, filters them, and reports what was dropped.
 *
 * Several files are merged into one profile. If they count different things, a value that all of
 * them have is shown. Types of values are compared as texts, since each profile numbers its own
 * strings.
 */
#include "cmd/inputs.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "base/text.h"
#include "cmd/options/output_options.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "run/complain.h"
#include "worker/sandbox.h"

/* --- the common value ------------------------------------------------------------------------ */

#define VALUES_BYTES 128 /* in a message that lists values */

/* Returns the index of the value in the profile, or -ENOENT. */
static int find_common(const struct profile *profile, const struct common_value *value)
{
	size_t i;

	for (i = 0; i < profile_nr_values(profile); i++)
		if (!strcmp(profile_value_name(profile, i), value->type) &&
		    !strcmp(profile_value_unit(profile, i), value->unit))
			return (int)i;
	return -ENOENT;
}

static void free_value(struct common_value *value)
{
	free(value->type);
	free(value->unit);
	*value = (struct common_value){0};
}

/* --- adding ---------------------------------------------------------------------------------- */

static int take_all(struct common_values *common, const struct profile *profile)
{
	for (; common->nr < profile_nr_values(profile); common->nr++) {
		struct common_value *value = &common->values[common->nr];

		value->type = strdup(profile_value_name(profile, common->nr));
		value->unit = strdup(profile_value_unit(profile, common->nr));
		if (!value->type || !value->unit) {
			free_value(value);
			return -ENOMEM;
		}
	}
	common->has_first_count = true;
	return 0;
}

static void keep_those_of(struct common_values *common, const struct profile *profile)
{
	size_t nr = 0, i;

	for (i = 0; i < common->nr; i++) {
		if (find_common(profile, &common->values[i]) >= 0) {
			common->values[nr++] = common->values[i];
			continue;
		}
		free_value(&common->values[i]);
		common->has_first_count &= i > 0;
	}
	common->nr = nr;
}

/*
 * Records for the note what the first file counts, and the first file that counts something else.
 */
static int remember(struct common_values *common, const struct profile *profile, const char *path)
{
	size_t number = common->nr_profiles > 0;

	if (common->counts[number] ||
	    (number && !strcmp(common->counts[0], profile_value_name(profile, 0))))
		return 0;
	common->paths[number] = path;
	common->counts[number] = strdup(profile_value_name(profile, 0));
	return common->counts[number] ? 0 : -ENOMEM;
}

static void list_values(const struct profile *profile, char *list, size_t bytes)
{
	size_t nr = 0, i;

	for (i = 0; i < profile_nr_values(profile) && nr < bytes; i++)
		nr += (size_t)snprintf(list + nr, bytes - nr, "%s%s", i ? ", " : "",
				       profile_value_name(profile, i));
}

static int nothing_in_common(const struct common_values *common, const struct profile *profile,
			     const char *path, struct error *error)
{
	char theirs[VALUES_BYTES] = "", its[VALUES_BYTES] = "";
	size_t nr = 0, i;

	for (i = 0; i < common->nr && nr < sizeof(theirs); i++)
		nr += (size_t)snprintf(theirs + nr, sizeof(theirs) - nr, "%s%s", i ? ", " : "",
				       common->values[i].type);
	list_values(profile, its, sizeof(its));
	(void)error_set(error, -EINVAL, "'%s'%s and '%s' have no value in common", common->paths[0],
			common->nr_profiles > 1 ? " and others" : "", path);
	error_hint(error, "'%s'%s: %s; '%s': %s", common->paths[0],
		   common->nr_profiles > 1 ? " and others" : "", theirs, path, its);
	return -EINVAL;
}

int common_values_add(struct common_values *common, const struct profile *profile, const char *path,
		      struct error *error)
{
	int err = remember(common, profile, path);
	size_t i = 0;

	if (!err && !common->nr_profiles)
		err = take_all(common, profile);
	if (err)
		return error_set(error, err, "out of memory");
	while (i < common->nr && find_common(profile, &common->values[i]) < 0)
		i++;
	if (i == common->nr)
		return nothing_in_common(common, profile, path, error);
	keep_those_of(common, profile);
	common->nr_profiles++;
	return 0;
}

/* --- choosing -------------------------------------------------------------------------------- */

static const struct common_value *chosen_value(const struct common_values *common)
{
	size_t i;

	for (i = 0; i < common->nr && !common->has_first_count; i++)
		if (!strcmp(common->values[i].type, "samples"))
			return &common->values[i];
	return &common->values[0];
}

int common_values_choose(const struct common_values *common, struct profile *profile)
{
	int number = common->nr ? find_common(profile, chosen_value(common)) : 0;

	return number > 0 ? profile_choose_value(profile, (size_t)number) : 0;
}

void common_values_note(const struct common_values *common, char note[COMMON_VALUES_NOTE_BYTES])
{
	*note = '\0';
	if (common->nr && common->counts[1])
		(void)snprintf(note, COMMON_VALUES_NOTE_BYTES,
			       "showing %s, the value that all files have: '%s' counts %s, '%s' %s",
			       chosen_value(common)->type, common->paths[0], common->counts[0],
			       common->paths[1], common->counts[1]);
}

void common_values_clear(struct common_values *common)
{
	size_t i;

	for (i = 0; i < common->nr; i++)
		free_value(&common->values[i]);
	free(common->counts[0]);
	free(common->counts[1]);
	*common = (struct common_values){0};
}

/* --- options --------------------------------------------------------------------------------- */

static int take_format(void *context, const char *value, struct error *error)
{
	struct input_options *options = context;
	const struct format *format = format_by_name(value);
	char names[FORMAT_NAMES_BYTES];

	if (!format || !format->is_it)
		return error_set(error, -EINVAL, "bad value '%s' for --input-format: one of %s",
				 value, format_read_names(names));
	options->read.format = format;
	return 0;
}

static const struct option_row rows[] = {
	{0, "input-format", "NAME", take_format, "format of the input: pprof, folded, perf"},
	OPTION_SWITCH(0, "no-comm", struct input_options, read.no_comm,
		      "folded stacks begin with a function, not with a thread name"),
	OPTION_TEXT(0, "value", "NAME", struct input_options, value,
		    "the value to show, if there are several: samples, alloc_space, …"),
};

struct option_group input_options_group(struct input_options *options)
{
	return (struct option_group){rows, ARRAY_SIZE(rows), options};
}

/* --- paths ------------------------------------------------------------------------------------ */

int input_paths_take(void *context, const char *word, struct error *error)
{
	struct input_paths *paths = context;

	if (array_reserve(&paths->paths, &paths->cap, paths->nr + 1, sizeof(*paths->paths)) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	paths->paths[paths->nr++] = word;
	return 0;
}

int input_paths_take_rest(struct input_paths *paths, int argc, char **argv, struct error *error)
{
	int err = 0;

	while (optind < argc && !err)
		err = input_paths_take(paths, argv[optind++], error);
	return err;
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
	error_hint(error, "name a file, or pipe one in, such as 'perf script |'");
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
	all->dropped_events += notes->dropped_events;
	all->bad_lines += notes->bad_lines;
	if (!all->first_bad_line)
		all->first_bad_line = notes->first_bad_line;
	all->deep_lines += notes->deep_lines;
	if (!all->first_deep_line)
		all->first_deep_line = notes->first_deep_line;
	all->may_lack_comms |= notes->may_lack_comms;
}

/* As fopen() for reading. */
static FILE *open_stream(const char *path, struct sandbox *sandbox)
{
	cleanup_fd int fd = -1;
	FILE *file;

	if (!sandbox)
		return fopen(path, "re");
	fd = sandbox_open(sandbox, path);
	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	file = fdopen(fd, "r");
	if (file)
		(void)take_fd(&fd);
	return file;
}

static int read_one(const char *path, const struct input_options *options, struct profile *profile,
		    struct format_notes *notes, struct error *error)
{
	bool is_stdin = is_standard_input(path);
	cleanup_file FILE *file = is_stdin ? NULL : open_stream(path, options->sandbox);
	struct format_read_options read = options->read;
	struct error why = {0};
	struct stat status;
	int err;

	if (!is_stdin && !file)
		return error_set_errno(error, "cannot open '%s'", path);
	if (file && fstat(fileno(file), &status) == 0 && S_ISDIR(status.st_mode))
		return error_set(error, -EISDIR, "cannot read '%s': it is a directory", path);
	if (options->sandbox)
		read.spare_bytes = sandbox_spare_memory(options->sandbox);
	err = format_read(is_stdin ? stdin : file, path, &read, profile, notes, &why);
	if (err >= 0)
		return 0;
	(void)error_set(error, err, "cannot read '%s': %s", is_stdin ? "standard input" : path,
			*why.text ? why.text : strerror(-err));
	if (*why.hint)
		error_hint(error, "%s", why.hint);
	return err;
}

static void free_profile(struct profile **profile)
{
	profile_free(*profile);
}

static int choose_value(struct profile *profile, const char *name, const char *path,
			struct error *error)
{
	int number = profile_find_value(profile, name);

	if (number == -ENOENT) {
		char list[sizeof(error->hint)] = "";

		list_values(profile, list, sizeof(list));
		(void)error_set(error, -EINVAL, "no value '%s' in '%s'", name, path);
		error_hint(error, "available: %s", list);
		return -EINVAL;
	}
	if (number < 0 || profile_choose_value(profile, (size_t)number) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	return 0;
}

/* The first profile needs no merging. */
static int add_input(struct inputs *inputs, const char *path, const struct input_options *options,
		     struct error *error)
{
	cleanup(free_profile) struct profile *profile = profile_new();
	struct format_notes notes = {0};
	int err;

	if (!profile)
		return error_set(error, -ENOMEM, "out of memory");
	profile_set_max_frames(profile, PROFILE_MAX_FILE_FRAMES);
	if (options->keep_order)
		profile_keep_order(profile);
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
	categories_free(inputs->categories);
	common_values_clear(&inputs->common);
	*inputs = (struct inputs){0};
}

/* --- what was dropped ------------------------------------------------------------------------- */

static void report_dropped(uint64_t nr, const char *what, const char *why)
{
	char number[NUMBER_COMMAS_BYTES];

	if (nr)
		complain("dropped %s %s%s %s", number_commas(number, nr), what, nr == 1 ? "" : "s",
			 why);
}

/* Reports that only one of several events is shown. The value "samples" is not an event. */
static void report_events(const struct profile *profile)
{
	char list[256] = "";
	size_t nr = 0, i;

	for (i = 1; i < profile_nr_values(profile) && nr < sizeof(list); i++) {
		const char *name = profile_value_name(profile, i);

		if (strcmp(name, "samples") != 0)
			nr += (size_t)snprintf(list + nr, sizeof(list) - nr, "%s%s", nr ? ", " : "",
					       name);
	}
	if (nr)
		complain("showing %s; the input also has %s: --value NAME shows another",
			 profile_value_name(profile, 0), list);
}

static void report_lines(uint64_t nr, uint64_t first, const char *why)
{
	char number[NUMBER_COMMAS_BYTES];

	if (nr)
		complain("skipped %s line%s %s, first: line %" PRIu64, number_commas(number, nr),
			 nr == 1 ? "" : "s", why, first);
}

void inputs_complain(const struct inputs *inputs)
{
	const struct format_notes *notes = &inputs->notes;
	char number[NUMBER_COMMAS_BYTES], why[96];
	struct error note = {0};

	if (*inputs->note)
		complain("%s", inputs->note);
	if (notes->nr_events > 1 && !inputs->is_chosen)
		report_events(inputs->profile);
	report_dropped(notes->dropped_labels, "label", "that were malformed");
	report_dropped(notes->dropped_samples, "sample", "with negative values");
	(void)snprintf(why, sizeof(why), "of events beyond the first %d", PROFILE_MAX_VALUES - 1);
	report_dropped(notes->dropped_events, "sample", why);
	report_lines(notes->bad_lines, notes->first_bad_line, "that could not be read");
	(void)snprintf(why, sizeof(why), "with more than %s frames, the limit of a stack",
		       number_commas(number, FORMAT_MAX_FRAMES));
	report_lines(notes->deep_lines, notes->first_deep_line, why);
	if (!notes->may_lack_comms)
		return;
	/* If root functions are mistaken for threads, they are in no row: report it. */
	(void)error_set(&note, 0,
			"most samples are lines of one word, read as a thread without a stack");
	error_hint(&note, "use --no-comm if these are functions and lines have no thread names");
	complain_error(&note);
}

/* --- tables of categories -------------------------------------------------------------------- */

/* Tables are written by hand. */
#define MAX_TABLE_BYTES (1U << 20)

/* Loads the table from a file, or the built-in one of that name; NULL if path is NULL. */
static int load_categories(const char *path, struct sandbox *sandbox, struct categories **ret,
			   struct error *error)
{
	const int built_in = path ? categories_built_in(path, ret, error) : 0;
	cleanup_free char *text = NULL;
	cleanup_file FILE *file = NULL;
	struct error why = {0};
	size_t nr = 0;
	int err;

	if (built_in != -ENOENT)
		return built_in;
	file = open_stream(path, sandbox);
	if (!file)
		return error_set_errno(error, "cannot open '%s'", path);
	err = stream_read_all(file, MAX_TABLE_BYTES, &text, &nr);
	if (err == -EFBIG)
		return error_set(error, err, "'%s' is too large for a table of categories", path);
	if (err)
		return error_set(error, err, "cannot read '%s': %s", path, strerror(-err));
	*ret = categories_parse(text, nr, &why);
	return *ret ? 0 : error_set(error, -EINVAL, "'%s': %s", path, why.text);
}

/* --- inputs of a command ---------------------------------------------------------------------- */

int inputs_finish(struct inputs *inputs, struct input_request *request, unsigned labels,
		  struct error *error)
{
	int err = 0;

	if (!inputs->categories)
		err = load_categories(request->categories, request->options.sandbox,
				      &inputs->categories, error);
	/* An empty profile has no labels and needs none. */
	if (!err && profile_nr_samples(inputs->profile))
		err = label_keys_check(labels, inputs->notes.labels, error);
	if (!err)
		err = filter_options_apply(&request->filter, inputs->profile, error);
	if (err || request->is_quiet)
		return err;
	inputs_complain(inputs);
	filter_options_report(&request->filter, inputs->profile);
	return 0;
}

int inputs_load(struct inputs *inputs, struct input_request *request, unsigned labels,
		struct error *error)
{
	struct categories *categories = NULL;
	int err =
		load_categories(request->categories, request->options.sandbox, &categories, error);

	if (err)
		return err;
	err = inputs_read(inputs, &request->options, request->paths.paths, request->paths.nr,
			  error);
	inputs->categories = categories;
	return err ? err : inputs_finish(inputs, request, labels, error);
}

void input_request_clear(struct input_request *request)
{
	filter_options_clear(&request->filter);
	input_paths_clear(&request->paths);
}

/* --- without rights --------------------------------------------------------------------------- */

static int work_confined(void *context, struct sandbox *sandbox, struct error *error)
{
	struct confined *confined = context;
	int err;

	confined->input->sandbox = sandbox;
	outputs_confine(confined->outputs, sandbox);
	err = confined->run(confined->context, error);
	(void)fflush(stdout);
	return err;
}

static int commit_output(void *context, uint32_t number, struct error *error)
{
	struct confined *confined = context;

	return outputs_commit(confined->outputs, number, error);
}

static int answer_question(void *context, const void *question, size_t nr, void **ret,
			   size_t *ret_nr, struct error *error)
{
	struct confined *confined = context;

	return confined->answer(confined->context, question, nr, ret, ret_nr, error);
}

/* Lists the paths of all parts. Returns NULL when out of memory. */
static const char **list_paths(const struct confined *confined, size_t *ret_nr)
{
	const char **paths;
	size_t part, i, nr = 0;

	for (part = 0; part < ARRAY_SIZE(confined->paths); part++)
		nr += confined->nr[part];
	paths = calloc(nr + 1, sizeof(*paths));
	nr = 0;
	for (part = 0; paths && part < ARRAY_SIZE(confined->paths); part++)
		for (i = 0; i < confined->nr[part]; i++)
			paths[nr++] = confined->paths[part][i];
	*ret_nr = nr;
	return paths;
}

struct confined confined_request(struct input_request *request, struct outputs *outputs)
{
	return (struct confined){
		.paths = {request->paths.paths, &request->categories},
		.nr = {request->paths.nr, request->categories != NULL},
		.input = &request->options,
		.outputs = outputs,
	};
}

int confined_run(struct confined *confined, struct error *error)
{
	int fds[OUTPUTS_MAX];
	cleanup_free const char **paths = NULL;
	struct sandbox_host host = {
		.fds = fds,
		.finish = commit_output,
		.answer = confined->answer ? answer_question : NULL,
		.work = work_confined,
		.context = confined,
	};

	if (!sandbox_is_needed())
		return confined->run(confined->context, error);
	paths = list_paths(confined, &host.nr_paths);
	if (!paths)
		return error_no_memory(error, "");
	host.paths = paths;
	for (host.nr_fds = 0; host.nr_fds < confined->outputs->nr_files; host.nr_fds++)
		fds[host.nr_fds] = fileno(confined->outputs->files[host.nr_fds].stream);
	(void)fflush(stdout); /* or both processes would write what is buffered */
	return sandbox_run(&host, error);
}
