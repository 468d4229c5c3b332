/* Profiles in any format, to stdout and to files. */
#include "run/outputs.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

static const struct format *format_of_stdout(const struct output_options *options)
{
	if (options->stdout_format)
		return options->stdout_format;
	return format_by_name(options->default_format ? options->default_format : "report");
}

static bool uses_stdout(const struct output_options *options)
{
	return !options->nr_paths || options->stdout_format;
}

/* A path without an extension, such as /dev/stdout, gets stdout's format. */
static const struct format *format_of_file(const struct output_options *options, const char *path)
{
	const struct format *by_path = format_by_path(path);

	return by_path ? by_path : format_of_stdout(options);
}

bool outputs_keep_labels(const struct output_options *options)
{
	bool keep = uses_stdout(options) && format_of_stdout(options)->keeps_labels;
	size_t i;

	for (i = 0; i < options->nr_paths; i++)
		keep |= format_of_file(options, options->paths[i])->keeps_labels;
	return keep;
}

/*
 * Returns PATH; with one file per interval, PATH with a number before its extension: out.3.folded.
 */
static char *numbered(const struct outputs *outputs, const char *path)
{
	const char *extension = format_extension(path);
	char *name;

	if (!outputs->are_many || !extension)
		return strdup(path);
	if (asprintf(&name, "%.*s.%u%s", (int)(extension - path), path, outputs->number + 1,
		     extension) < 0)
		return NULL;
	return name;
}

static int open_files(struct outputs *outputs, struct error *error)
{
	const struct output_options *options = outputs->options;

	for (outputs->nr_files = 0; outputs->nr_files < options->nr_paths; outputs->nr_files++) {
		cleanup_free char *name = numbered(outputs, options->paths[outputs->nr_files]);
		int err;

		if (!name)
			return error_set(error, -ENOMEM, "out of memory");
		err = out_file_open(&outputs->files[outputs->nr_files], name, error);
		if (err < 0)
			return err;
	}
	return 0;
}

/* NO_COLOR is honoured if it is not empty: https://no-color.org */
static bool shows_color(void)
{
	const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no_color && *no_color) &&
	       !(terminal && !strcmp(terminal, "dumb"));
}

int outputs_open(struct outputs *outputs, const struct output_options *options,
		 const struct format_options *format, bool are_many, struct error *error)
{
	struct winsize size;
	const struct format *on_stdout = uses_stdout(options) ? format_of_stdout(options) : NULL;

	*outputs = (struct outputs){.options = options,
				    .format = *format,
				    .kept_labels = format->labels,
				    .are_many = are_many};
	if (on_stdout && on_stdout->is_binary && isatty(STDOUT_FILENO))
		return error_set(error, -EINVAL,
				 "format '%s' is binary and not written to a terminal: use -o FILE",
				 on_stdout->name);
	if (on_stdout && on_stdout->is_binary && are_many)
		return error_set(error, -EINVAL,
				 "format '%s' cannot be printed once per interval: use -o FILE",
				 on_stdout->name);
	(void)setlocale(LC_CTYPE, "");
	outputs->format.delimited = options->delimited;
	outputs->format.annotate = options->annotate;
	outputs->format.width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 ? 0 : size.ws_col;
	outputs->format.color = shows_color();
	outputs->format.ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	return open_files(outputs, error);
}

void outputs_set_labels(struct outputs *outputs, unsigned asked, unsigned there)
{
	outputs->format.labels = asked ? asked : there & LABEL_COMM;
	outputs->kept_labels = asked ? asked : there;
}

static struct format_options options_for(const struct outputs *outputs, const struct format *format)
{
	struct format_options options = outputs->format;

	if (format->keeps_labels)
		options.labels = outputs->kept_labels;
	return options;
}

/* Several events are written one after the other where a format has one value. */
static int write_profile(const struct format *format, struct profile *profile,
			 struct format_options *options, FILE *out)
{
	const size_t nr_events = profile_origin(profile)->nr_events;
	size_t i;
	int err = 0;

	if (nr_events < 2 || !format->has_one_value)
		return format->write(profile, options, out);
	options->has_root = true;
	for (i = 0; i < nr_events && !err; i++) {
		const bool is_blank = i && format != format_by_name("folded");

		if (is_blank)
			(void)putc('\n', out);
		err = profile_choose_value(profile, i);
		if (!err)
			err = format->write(profile, options, out);
		if (!err) /* back to its place */
			err = profile_choose_value(profile, i);
	}
	return err;
}

/* Between the profiles of intervals: a blank line, and before a report the time at which it ends. */
static void begin_interval(const struct outputs *outputs, const struct format *format)
{
	char text[32] = "";
	struct tm local;

	if (outputs->number)
		putchar('\n');
	if (format != format_by_name("report") && format != format_by_name("md"))
		return; /* other programs are to read them */
	if (localtime_r(&outputs->ended, &local))
		(void)strftime(text, sizeof(text), "%H:%M:%S", &local);
	puts(text);
}

static int write_stdout(const struct outputs *outputs, struct profile *profile, struct error *error)
{
	const struct format *format = format_of_stdout(outputs->options);
	struct format_options options = options_for(outputs, format);
	int err;

	if (outputs->are_many)
		begin_interval(outputs, format);
	err = write_profile(format, profile, &options, stdout);
	if (err == -EPIPE)
		return err; /* the reader closed the pipe: no error */
	return err ? error_set(error, err, "cannot write to standard output: %s", strerror(-err))
		   : 0;
}

static int write_file(const struct outputs *outputs, struct out_file *file, struct profile *profile,
		      struct error *error)
{
	const struct format *format = format_of_file(outputs->options, file->path);
	struct format_options options = options_for(outputs, format);
	int err;

	options.color = false;
	err = write_profile(format, profile, &options, file->stream);
	if (err) {
		(void)error_set(error, err, "cannot write '%s': %s", file->path, strerror(-err));
		out_file_abort(file);
		return err;
	}
	err = out_file_commit(file, error);
	if (!err && outputs->sandbox)
		err = sandbox_finish(outputs->sandbox, (uint32_t)(file - outputs->files), error);
	return err;
}

int outputs_write(struct outputs *outputs, struct profile *profile, struct error *error)
{
	const struct output_options *options = outputs->options;
	struct error untold;
	int err = 0, on_stdout = 0;
	size_t i;

	/* Files come first: when stdout's reader has gone (`| head`), SIGPIPE may end the program. */
	for (i = 0; i < outputs->nr_files && !err; i++)
		err = write_file(outputs, &outputs->files[i], profile, error);
	if (uses_stdout(options))
		on_stdout = write_stdout(outputs, profile, err ? &untold : error);
	err = err ? err : on_stdout;
	outputs->nr_files = 0;
	outputs->number++;
	if (!err && outputs->are_many)
		err = open_files(outputs, error);
	return err;
}

void outputs_confine(struct outputs *outputs, struct sandbox *sandbox)
{
	size_t i;

	outputs->sandbox = sandbox;
	for (i = 0; i < outputs->nr_files; i++)
		out_file_leave_name(&outputs->files[i]);
}

int outputs_commit(struct outputs *outputs, uint32_t number, struct error *error)
{
	if (number >= outputs->nr_files || !outputs->files[number].stream)
		return error_set(error, -EINVAL, "there is no output %u", number);
	return out_file_commit(&outputs->files[number], error);
}

void outputs_clear(struct outputs *outputs)
{
	size_t i;

	for (i = 0; i < OUTPUTS_MAX; i++)
		out_file_abort(&outputs->files[i]);
}
