/* The table of formats. A new format is a file and a row here. */
#include "format/format.h"

#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "format/flame/flame.h"
#include "format/folded/folded.h"
#include "format/page/html.h"
#include "format/perf/perf_script.h"
#include "format/pprof/pprof.h"
#include "format/text/sheet_write.h"
#include "view/diff/comparison.h"
#include "view/report.h"
#include "view/table.h"

/* --- tables ----------------------------------------------------------------------------------- */

static int fill_comparison(struct sheet *sheet, const struct profile *profile,
			   const struct format_options *options)
{
	struct comparison_style style = *options->comparison;

	style.labels = options->labels;
	style.no_user = options->no_user;
	style.no_kernel = options->no_kernel;
	return comparison_sheet_fill(sheet, profile, &style);
}

static int fill_report(struct sheet *sheet, enum media medium, const struct profile *profile,
		       const struct format_options *options)
{
	struct report_style style = {.max_rows = 0};

	if (options->report)
		style = *options->report;
	style.categories = options->categories;
	style.paths.labels = options->labels;
	style.paths.lines = options->lines;
	style.paths.no_user = options->no_user;
	style.paths.no_kernel = options->no_kernel;
	return report_sheet_fill(sheet, medium, profile, &style);
}

/* Writes a report, or a comparison. */
static int write_sheet(const struct profile *profile, const struct format_options *options,
		       enum media medium, FILE *out)
{
	struct sheet_style style = {
		.width = options->width, .ascii = options->ascii, .color = options->color};
	cleanup(sheet_clear) struct sheet sheet = {0};
	int err;

	if (options->sheet)
		return sheet_write(options->sheet, medium, &style, out);
	if (options->comparison) {
		err = fill_comparison(&sheet, profile, options);
		style.width = style.width ? style.width : COMPARISON_WIDTH;
	} else {
		err = fill_report(&sheet, medium, profile, options);
	}
	return err ? err : sheet_write(&sheet, medium, &style, out);
}

static int write_report(const struct profile *profile, const struct format_options *options,
			FILE *out)
{
	return write_sheet(profile, options, MEDIA_TEXT, out);
}

static int write_markdown(const struct profile *profile, const struct format_options *options,
			  FILE *out)
{
	return write_sheet(profile, options, MEDIA_MARKDOWN, out);
}

static int write_csv(const struct profile *profile, const struct format_options *options, FILE *out)
{
	return write_sheet(profile, options, MEDIA_CSV, out);
}

static int write_json(const struct profile *profile, const struct format_options *options,
		      FILE *out)
{
	return write_sheet(profile, options, MEDIA_JSON, out);
}

/* --- what is read ------------------------------------------------------------------------------ */

static int read_perf(FILE *in, const struct format_read_options *options, struct profile *profile,
		     struct format_notes *notes, struct error *error)
{
	return perf_script_read(in, profile, notes, error);
}

/*
 * name, extensions, is_binary, keeps_labels, is_table, has_one_value, write, is_it, read, parse. The first format that
 * recognizes an input is used.
 */
#define FORMATS(X)                                                                                 \
	X("pprof", ".pb.gz, .pprof", true, true, false, false, pprof_write, pprof_is_it, NULL,     \
	  pprof_parse)                                                                             \
	X("perf", ".perf", false, true, false, false, perf_script_write, perf_script_is_it,        \
	  read_perf)                                                                               \
	X("folded", ".folded", false, false, false, true, folded_write, folded_is_it, folded_read) \
	X("report", ".txt", false, false, true, true, write_report)                                \
	X("html", ".html", true, false, false, false, html_write)                                  \
	X("svg", ".svg", true, false, false, false, svg_write)                                     \
	X("speedscope", ".speedscope.json", true, false, false, false, speedscope_write)           \
	X("json", ".json", false, false, true, false, write_json)                                  \
	X("csv", ".csv", false, false, true, false, write_csv)                                     \
	X("md", ".md", false, false, true, true, write_markdown)

static const struct format formats[] = {
#define X(...) {__VA_ARGS__},
	FORMATS(X)
#undef X
};

#define BETWEEN ", "

const struct format *format_by_name(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(formats); i++)
		if (!strcmp(name, formats[i].name))
			return &formats[i];
	return NULL;
}

const struct format *format_by_head(const char *head, size_t nr)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(formats); i++)
		if (formats[i].is_it && formats[i].is_it(head, nr))
			return &formats[i];
	return NULL;
}

/* Returns the length of the format's extension that the path ends in; 0 if there is none. */
static size_t extension_bytes(const struct format *format, const char *path)
{
	size_t length = strlen(path), nr;
	const char *at;

	for (at = format->extensions; *at; at += strspn(at, BETWEEN)) {
		nr = strcspn(at, BETWEEN);
		if (length > nr && !strncmp(path + length - nr, at, nr))
			return nr;
		at += nr;
	}
	return 0;
}

const struct format *format_by_path(const char *path)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(formats); i++)
		if (extension_bytes(&formats[i], path))
			return &formats[i];
	return NULL;
}

const char *format_extension(const char *path)
{
	const struct format *format = format_by_path(path);

	return format ? path + strlen(path) - extension_bytes(format, path) : NULL;
}

const char *format_read_names(char names[FORMAT_NAMES_BYTES])
{
	size_t nr = 0, i;

	names[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(formats); i++)
		if (formats[i].is_it && nr < FORMAT_NAMES_BYTES)
			nr += (size_t)snprintf(names + nr, FORMAT_NAMES_BYTES - nr, "%s%s",
					       nr ? BETWEEN : "", formats[i].name);
	return names;
}

const char *format_names(void)
{
#define X(name, ...) BETWEEN name
	static const char list[] = FORMATS(X);
#undef X

	return list + strlen(BETWEEN);
}

const char *format_extensions(void)
{
#define X(name, extensions, ...) BETWEEN extensions
	static const char list[] = FORMATS(X);
#undef X

	return list + strlen(BETWEEN);
}
