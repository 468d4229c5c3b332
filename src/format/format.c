/* The table of formats; see format.h. A new one is a file of its own and a row here. */
#include "format/format.h"

#include <string.h>

#include "base/array.h"
#include "format/folded.h"
#include "format/pprof.h"
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

static int write_pprof(const struct profile *profile, const struct format_options *options,
		       FILE *out)
{
	struct pprof_options pprof = {
		.labels = options->labels,
		.no_user = options->no_user,
		.no_kernel = options->no_kernel,
	};

	return pprof_write(profile, &pprof, out);
}

static int read_pprof(FILE *in, struct profile *profile, struct format_notes *notes,
		      struct error *error)
{
	struct pprof_notes pprof = {0};
	int result = pprof_read(in, profile, &pprof, error);

	*notes = (struct format_notes){
		.labels = pprof.labels,
		.dropped_labels = pprof.dropped_labels,
		.dropped_samples = pprof.dropped_samples,
	};
	return result;
}

/* name, extensions, is_binary, write, read */
#define FORMATS(X)                                        \
	X("folded", ".folded", false, write_folded, NULL) \
	X("report", ".txt", false, write_report, NULL)    \
	X("pprof", ".pb.gz, .pprof", true, write_pprof, read_pprof)

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

/* The bytes of one of the format's extensions that the path ends in; 0: in none of them. */
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
