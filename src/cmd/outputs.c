/* Writes rows that a command prints once per interval, to stdout and to a file. */
#include "cmd/outputs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "format/text/sheet_write.h"

/* --- rows ------------------------------------------------------------------------------------ */

static const struct {
	const char *name, *extension;
	enum media medium;
} row_formats[] = {
	{"text", ".txt", MEDIA_TEXT},
	{"md", ".md", MEDIA_MARKDOWN},
	{"json", ".json", MEDIA_JSON},
	{"csv", ".csv", MEDIA_CSV},
};

static int take_row_format(void *context, const char *value, struct error *error)
{
	struct row_output_options *options = context;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(row_formats); i++)
		if (!strcmp(value, row_formats[i].name))
			options->format = row_formats[i].medium;
	return options->format ? 0 : option_bad(error, "--format", value, "text, md, json or csv");
}

static int take_output(void *context, const char *value, struct error *error)
{
	struct row_output_options *options = context;
	size_t i;

	if (options->path)
		return error_set(error, -EINVAL, "-o is given twice: '%s' and '%s'", options->path,
				 value);
	if (!strcmp(value, "-"))
		value = "/dev/stdout";
	for (i = 0; i < ARRAY_SIZE(row_formats); i++)
		if (text_ends_with(value, strlen(value), row_formats[i].extension))
			break;
	if (i == ARRAY_SIZE(row_formats) && !text_starts_with(value, "/dev/"))
		return error_set(error, -EINVAL,
				 "unknown format of '%s': the name must end in .txt, .md, .json or "
				 ".csv",
				 value);
	options->path = value;
	options->path_format = i < ARRAY_SIZE(row_formats) ? row_formats[i].medium : MEDIA_TEXT;
	return 0;
}

static const struct option_row row_output_rows[] = {
	OPTION_SWITCH(0, "json", struct row_output_options, json,
		      "print one JSON object per line and interval"),
	OPTION_SWITCH(0, "csv", struct row_output_options, csv, "print comma-separated values"),
	{0, "format", "NAME", take_row_format, "format of stdout: text, md, json, csv"},
	{'o', "output", "FILE", take_output,
	 "write FILE.txt, FILE.md, FILE.json or FILE.csv instead of stdout"},
};

struct option_group row_output_options_group(struct row_output_options *options)
{
	return (struct option_group){row_output_rows, ARRAY_SIZE(row_output_rows), options};
}

int row_output_options_check(const struct row_output_options *options, bool lists,
			     struct error *error)
{
	if (lists && options->path)
		return error_set(error, -EINVAL, "-o cannot be combined with --list");
	if (options->json && options->csv)
		return error_set(error, -EINVAL, "--json cannot be combined with --csv");
	if (options->format && (options->json || options->csv))
		return error_set(error, -EINVAL, "--format cannot be combined with %s",
				 options->json ? "--json" : "--csv");
	return 0;
}

enum media row_output_format(const struct row_output_options *options)
{
	if (options->json)
		return MEDIA_JSON;
	return options->csv ? MEDIA_CSV : options->format;
}

/* --- writing rows ---------------------------------------------------------------------------- */

int row_outputs_open(struct row_outputs *outputs, const struct row_output_options *options,
		     struct error *error)
{
	*outputs = (struct row_outputs){.options = options};
	return options->path ? out_file_open(&outputs->file, options->path, error) : 0;
}

static enum media medium_of_stdout(const struct row_output_options *options)
{
	const enum media format = row_output_format(options);

	return format || options->path ? format : MEDIA_TEXT;
}

int row_outputs_write(struct row_outputs *outputs, const struct sheet *sheet, struct error *error)
{
	const struct row_output_options *options = outputs->options;
	const struct sheet_style style = {.is_first = !outputs->has_begun};
	enum media medium = medium_of_stdout(options);
	int err = sheet_status(sheet);

	outputs->has_begun = true;
	if (!err && options->path)
		err = sheet_write(sheet, options->path_format, &style, outputs->file.stream);
	if (err == -ENOMEM)
		return error_set(error, err, "out of memory");
	err = medium ? sheet_write(sheet, medium, &style, stdout) : 0;
	outputs->has_failed = err < 0;
	return err ? error_set(error, err, "cannot write to standard output: %s", strerror(-err))
		   : 0;
}

int row_outputs_commit(struct row_outputs *outputs, int err, struct error *error)
{
	bool is_told = err && err != -EPIPE; /* the first of two failures is reported */
	int uncommitted;

	if (!outputs->options->path)
		return err;
	uncommitted = out_file_commit(&outputs->file, is_told ? NULL : error);
	return is_told || !uncommitted ? err : uncommitted;
}

void row_outputs_clear(struct row_outputs *outputs)
{
	out_file_abort(&outputs->file);
}

int row_outputs_write_once(const struct row_output_options *options, const struct sheet *sheet,
			   struct error *error)
{
	struct row_outputs outputs;
	int err = row_outputs_open(&outputs, options, error);

	if (!err)
		err = row_outputs_write(&outputs, sheet, error);
	err = row_outputs_commit(&outputs, err, error);
	row_outputs_clear(&outputs);
	return err;
}
