/* Results to stdout and files; see outputs.h. */
#include "cmd/outputs.h"

#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

/* PATH, or with --interval PATH's number before its extension: out.3.folded. */
static char *numbered(const struct outputs *outputs, const char *path)
{
	const char *dot = strrchr(path, '.');
	char *name;

	if (!outputs->options->interval_ns || !dot || strchr(dot, '/'))
		return strdup(path);
	if (asprintf(&name, "%.*s.%u%s", (int)(dot - path), path, outputs->interval + 1, dot) < 0)
		return NULL;
	return name;
}

static int open_files(struct outputs *outputs, struct error *error)
{
	const struct profile_options *options = outputs->options;

	for (outputs->nr_files = 0; outputs->nr_files < options->nr_outputs; outputs->nr_files++) {
		cleanup_free char *name = numbered(outputs, options->outputs[outputs->nr_files]);
		int err;

		if (!name)
			return error_set(error, -ENOMEM, "out of memory");
		err = out_file_open(&outputs->files[outputs->nr_files], name, error);
		if (err < 0)
			return err;
	}
	return 0;
}

int outputs_open(struct outputs *outputs, const struct profile_options *options,
		 struct error *error)
{
	int err;

	*outputs = (struct outputs){.options = options};
	(void)setlocale(LC_CTYPE, "");
	err = open_files(outputs, error);
	if (!err && options->stats_path)
		err = out_file_open(&outputs->stats, options->stats_path, error);
	return err;
}

static unsigned terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return 0;
	return size.ws_col;
}

static int write_stdout(const struct outputs *outputs, const struct format_options *format_options,
			const struct profile *profile, struct error *error)
{
	const struct format *format = outputs->options->stdout_format;
	int err;

	if (!format)
		format = format_by_name("report");
	if (outputs->options->interval_ns && format != format_by_name("folded")) {
		char text[32] = "";
		time_t now = time(NULL);
		struct tm local;

		if (localtime_r(&now, &local))
			(void)strftime(text, sizeof(text), "%H:%M:%S", &local);
		printf("%s%s\n", outputs->interval ? "\n" : "", text);
	} else if (outputs->interval) {
		putchar('\n');
	}
	err = format->write(profile, format_options, stdout);
	if (err == -EPIPE)
		return err; /* whoever read it has seen enough: nothing to complain of */
	return err ? error_set(error, err, "cannot write to standard output: %s", strerror(-err))
		   : 0;
}

static int write_file(struct out_file *file, const struct format_options *format_options,
		      const struct profile *profile, struct error *error)
{
	const struct format *format = format_by_path(file->path);
	int err;

	if (!format)
		format = format_by_name("folded"); /* /dev/… */
	err = format->write(profile, format_options, file->stream);
	if (err) {
		(void)error_set(error, err, "cannot write '%s': %s", file->path, strerror(-err));
		out_file_abort(file);
		return err;
	}
	return out_file_commit(file, error);
}

int outputs_write(struct outputs *outputs, const struct profile *profile, struct error *error)
{
	const struct profile_options *options = outputs->options;
	struct format_options format_options = {
		.labels = options->labels,
		.delimited = options->delimited,
		.annotate = options->annotate,
		.no_user = options->no_user,
		.no_kernel = options->no_kernel,
		.width = terminal_width(),
		.ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0,
	};
	int err = 0;
	size_t i;

	if (!options->nr_outputs || options->stdout_format)
		err = write_stdout(outputs, &format_options, profile, error);
	for (i = 0; i < outputs->nr_files && !err; i++)
		err = write_file(&outputs->files[i], &format_options, profile, error);
	outputs->nr_files = 0;
	outputs->interval++;
	if (!err && options->interval_ns)
		err = open_files(outputs, error);
	return err;
}

void outputs_clear(struct outputs *outputs)
{
	size_t i;

	for (i = 0; i < PROFILE_MAX_OUTPUTS; i++)
		out_file_abort(&outputs->files[i]);
	out_file_abort(&outputs->stats);
}
