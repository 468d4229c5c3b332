/* The table of formats; see format.h. A new one is a file of its own and a row here. */
#include "format/format.h"

#include <string.h>

#include "base/array.h"
#include "format/folded.h"
#include "format/report.h"

static int write_folded(const struct profile *profile, const struct format_options *options,
			FILE *out)
{
	struct folded_options folded = {
		.labels = options->labels,
		.delimited = options->delimited,
		.annotate = options->annotate,
		.no_user = options->no_user,
		.no_kernel = options->no_kernel,
	};

	return folded_write(profile, &folded, out);
}

static int write_report(const struct profile *profile, const struct format_options *options,
			FILE *out)
{
	struct report_options report = {
		.labels = options->labels,
		.width = options->width,
		.ascii = options->ascii,
		.no_user = options->no_user,
		.no_kernel = options->no_kernel,
	};

	return report_write(profile, &report, out);
}

static const struct format formats[] = {
	{"folded", ".folded", write_folded},
	{"report", ".txt", write_report},
};

const struct format *format_by_name(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(formats); i++)
		if (!strcmp(name, formats[i].name))
			return &formats[i];
	return NULL;
}

const struct format *format_by_path(const char *path)
{
	size_t length = strlen(path), i;

	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		size_t end = strlen(formats[i].extension);

		if (length > end && !strcmp(path + length - end, formats[i].extension))
			return &formats[i];
	}
	return NULL;
}

const char *format_names(void)
{
	return "folded, report";
}

const char *format_extensions(void)
{
	return ".folded, .txt";
}
