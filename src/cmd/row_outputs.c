/* See row_outputs.h. */
#include "cmd/row_outputs.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

/* --- options --------------------------------------------------------------------------------- */

static int take_output(void *context, const char *value, struct error *error)
{
	static const struct {
		const char *end;
		enum row_format format;
	} ends[] = {{".txt", ROWS_TABLE}, {".json", ROWS_JSON}, {".csv", ROWS_CSV}};
	struct row_output_options *options = context;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ends); i++)
		if (text_ends_with(value, strlen(value), ends[i].end))
			break;
	if (i == ARRAY_SIZE(ends) && !text_starts_with(value, "/dev/"))
		return error_set(error, -EINVAL,
				 "cannot tell the format of '%s' by its name: it may end in .txt, "
				 ".json or .csv",
				 value);
	options->path = value;
	options->path_format = i < ARRAY_SIZE(ends) ? ends[i].format : ROWS_TABLE;
	return 0;
}

static const struct option_row rows[] = {
	OPTION_SWITCH(0, "json", struct row_output_options, json,
		      "an object a line on stdout, one for each interval"),
	OPTION_SWITCH(0, "csv", struct row_output_options, csv, "comma-separated values on stdout"),
	{'o', "output", "FILE", take_output, "write FILE.txt, FILE.json or FILE.csv instead"},
};

struct option_group row_output_options_group(struct row_output_options *options)
{
	return (struct option_group){rows, ARRAY_SIZE(rows), options};
}

int row_output_options_check(const struct row_output_options *options, bool lists,
			     struct error *error)
{
	if (lists && options->path)
		return error_set(error, -EINVAL, "-o together with --list, which goes to stdout");
	if (options->json && options->csv)
		return error_set(error, -EINVAL, "--json together with --csv");
	return 0;
}

/* --- writing --------------------------------------------------------------------------------- */

int row_outputs_open(struct row_outputs *outputs, const struct row_output_options *options,
		     struct error *error)
{
	*outputs = (struct row_outputs){.options = options};
	return options->path ? out_file_open(&outputs->file, options->path, error) : 0;
}

static enum row_format stdout_format(const struct row_output_options *options)
{
	if (options->json)
		return ROWS_JSON;
	return options->csv ? ROWS_CSV : ROWS_TABLE;
}

int row_outputs_write(struct row_outputs *outputs,
		      void (*write_rows)(const void *context, enum row_format format, bool is_first,
					 FILE *out),
		      const void *context, struct error *error)
{
	const struct row_output_options *options = outputs->options;
	bool is_first = !outputs->has_begun;

	outputs->has_begun = true;
	if (options->path)
		write_rows(context, options->path_format, is_first, outputs->file.stream);
	if (options->path && !options->json && !options->csv)
		return 0;
	write_rows(context, stdout_format(options), is_first, stdout);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	outputs->has_failed = true;
	return error_set_errno(error, "cannot write to standard output");
}

int row_outputs_commit(struct row_outputs *outputs, struct error *error)
{
	return outputs->options->path ? out_file_commit(&outputs->file, error) : 0;
}

void row_outputs_clear(struct row_outputs *outputs)
{
	out_file_abort(&outputs->file);
}
