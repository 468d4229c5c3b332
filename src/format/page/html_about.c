/* JSON, in which characters that could end the script element are escaped once more. */
#include "format/page/html_about.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "format/flame/flame_style.h"
#include "format/text/json.h"
#include "profile/profile.h"
#include "view/categories.h"

#define NS_PER_US 1000

size_t html_about_tree(const struct html_about *about, size_t value)
{
	size_t before = about->other && about->other < value;

	if (!value || value == about->other)
		return 0;
	/* Each further value has a tree of its own. */
	return about->other ? value - before : value;
}

static void write_text(FILE *out, const char *name, const char *text)
{
	(void)fprintf(out, "\"%s\":", name);
	json_write_string(out, text);
}

static void write_value(const struct html_about *about, size_t number, FILE *out)
{
	struct value_type type = profile_value_type(about->profile, number);

	(void)putc('{', out);
	write_text(out, "type", profile_string(about->profile, type.type));
	(void)putc(',', out);
	write_text(out, "unit", profile_string(about->profile, type.unit));
	(void)fprintf(out, ",\"total\":%" PRIu64 ",\"tree\":%zu,\"column\":\"%s\"}",
		      profile_value_total(about->profile, number), html_about_tree(about, number),
		      number ? "other" : "self");
}

static void write_values(const struct html_about *about, FILE *out)
{
	size_t i;

	(void)fputs("\"values\":[", out);
	for (i = 0; i < profile_nr_values(about->profile); i++) {
		if (i)
			(void)putc(',', out);
		write_value(about, i, out);
	}
	(void)fputs("],", out);
}

static void write_origin(const struct html_about *about, FILE *out)
{
	const struct profile_origin *origin = profile_origin(about->profile);

	(void)fputs("\"origin\":{", out);
	write_text(out, "event", profile_string(about->profile, origin->event));
	(void)putc(',', out);
	write_text(out, "unit", profile_string(about->profile, origin->unit));
	(void)fprintf(out,
		      ",\"period\":%" PRIu64 ",\"time_us\":%" PRIu64 ",\"duration_us\":%" PRIu64
		      "},",
		      origin->period, origin->time_ns / NS_PER_US, origin->duration_ns / NS_PER_US);
}

static void write_comments(const struct html_about *about, FILE *out)
{
	size_t i;

	(void)fputs("\"comments\":[", out);
	for (i = 0; i < profile_nr_comments(about->profile); i++) {
		if (i)
			(void)putc(',', out);
		json_write_string(out, profile_comment(about->profile, i));
	}
	(void)fputs("],", out);
}

static void write_categories(const struct html_about *about, FILE *out)
{
	const struct categories *categories = about->options->categories;
	uint32_t i;

	if (!categories)
		return;
	(void)fputs("\"categories\":[", out);
	for (i = 0; i < categories_nr(categories); i++) {
		if (i)
			(void)putc(',', out);
		json_write_string(out, categories_name(categories, i));
	}
	(void)fputs("],", out);
}

static void write_scale(const struct html_about *about, FILE *out)
{
	const struct difference_scale *scale = about->scale;

	if (!scale)
		return;
	(void)fprintf(out,
		      "\"difference\":{\"value\":%zu,\"by_time\":%s,\"before\":%.17g,"
		      "\"after\":%.17g,\"before_all\":%.17g,\"after_all\":%.17g,",
		      about->other, scale->by_time ? "true" : "false", scale->before, scale->after,
		      scale->before_all, scale->after_all);
	(void)fprintf(out,
		      "\"before_sample\":%.17g,\"after_sample\":%.17g,\"least_sigma\":%.17g,"
		      "\"dispersion\":%.17g},",
		      scale->before_sample, scale->after_sample, scale->least_sigma,
		      scale->dispersion);
}

static void write_json(const struct html_about *about, FILE *out)
{
	(void)putc('{', out);
	write_text(out, "writer", "stook " STOOK_VERSION);
	(void)putc(',', out);
	write_values(about, out);
	write_origin(about, out);
	write_comments(about, out);
	write_categories(about, out);
	write_scale(about, out);
	(void)fprintf(out, "\"icicle\":%s,\"nr_labels\":%zu,\"least_share\":%.3g,\"columns\":",
		      about->options->flame && about->options->flame->inverted ? "true" : "false",
		      about->nr_labels, about->least_share);
	html_columns_write_list(about->columns, out);
	(void)putc('}', out);
}

/* In JSON these three are found in texts only. */
static void write_escaped(const char *json, size_t nr, FILE *out)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (json[i] == '<' || json[i] == '>' || json[i] == '&')
			(void)fprintf(out, "\\u%04x", (unsigned)json[i]);
		else
			(void)putc(json[i], out);
	}
}

int html_about_write(const struct html_about *about, FILE *out)
{
	cleanup_free char *json = NULL;
	size_t nr = 0;
	FILE *stream = open_memstream(&json, &nr);
	bool failed;

	if (!stream)
		return -ENOMEM;
	write_json(about, stream);
	failed = ferror(stream);
	if (fclose(stream) || failed)
		return -ENOMEM;
	write_escaped(json, nr, out);
	return 0;
}
