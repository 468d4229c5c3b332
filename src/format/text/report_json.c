/* See report_json.h. A row is a line, so that two reports can be compared by tools for lines. */
#include "format/text/report_json.h"

#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/fd_io.h"
#include "view/amount.h"
#include "format/text/json.h"
#include "format/text/report_rows.h"
#include "format/text/report_time.h"

static void write_string_field(FILE *out, const char *key, const char *text)
{
	(void)fprintf(out, "\"%s\":", key);
	json_write_string(out, text && *text ? text : NULL);
	(void)fputs(",\n", out);
}

static void write_head(const struct profile *profile, FILE *out)
{
	const struct profile_origin *origin = profile_origin(profile);
	char time[REPORT_TIME_BYTES];

	write_string_field(out, "counted", amount_name(profile));
	(void)fprintf(out, "\"is_sum\":%s,\n\"total\":%" PRIu64 ",\n",
		      profile_is_sum(profile) ? "true" : "false", profile_total(profile));
	write_string_field(out, "unit", amount_unit(profile));
	write_string_field(out, "event", profile_string(profile, origin->event));
	if (origin->period)
		(void)fprintf(out, "\"period\":%" PRIu64 ",\n", origin->period);
	else
		(void)fputs("\"period\":null,\n", out);
	write_string_field(out, "period_unit", profile_string(profile, origin->unit));
	write_string_field(out, "time", report_time(origin->time_ns, time));
	if (origin->duration_ns)
		(void)fprintf(out, "\"duration\":%.3f,\n", (double)origin->duration_ns / 1e9);
	else
		(void)fputs("\"duration\":null,\n", out);
}

static void write_comments(const struct profile *profile, FILE *out)
{
	size_t i;

	(void)fputs("\"comments\":[", out);
	for (i = 0; i < profile_nr_comments(profile); i++) {
		(void)fputs(i ? ",\n" : "\n", out);
		json_write_string(out, profile_comment(profile, i));
	}
	(void)fputs("],\n", out);
}

static void write_categories(const struct report_rows *rows, FILE *out)
{
	size_t i;

	(void)fputs("\"categories\":[", out);
	for (i = 0; i < rows->nr_heavy_categories; i++) {
		uint32_t category = rows->heavy_categories[i];
		uint64_t count = rows->category_counts[category];

		(void)fprintf(out, "%s{\"category\":", i ? ",\n" : "\n");
		json_write_string(out, categories_name(rows->categories, category));
		(void)fprintf(out, ",\"self\":%" PRIu64 ",\"self_percent\":%.4f}", count,
			      report_rows_percent(rows, count));
	}
	(void)fputs("],\n", out);
}

static void write_line(const struct report_rows *rows, const struct group_place *place, FILE *out)
{
	(void)fputs("\"file\":", out);
	json_write_string(out, place->file ? profile_string(rows->profile, place->file) : NULL);
	if (place->file)
		(void)fprintf(out, ",\"line\":%u", place->line);
	else
		(void)fputs(",\"line\":null", out);
}

static void write_key(const struct report_rows *rows, const struct group_total *group,
		      enum group_key key, FILE *out)
{
	char buffer[REPORT_CELL_BYTES];
	const char *text = report_rows_text(rows, group, key, buffer);

	if (key == GROUP_LINE) {
		write_line(rows, &group->place, out);
		return;
	}
	(void)fprintf(out, "\"%s\":", report_rows_key_name(key));
	if (report_rows_key_is_number(key))
		(void)fputs(text, out);
	else
		json_write_string(out, *text || key != GROUP_CATEGORY ? text : NULL);
}

static void write_kind(enum group_kind kind, FILE *out)
{
	(void)fputs("\"kind\":", out);
	json_write_string(out, report_rows_kind(kind));
	(void)putc(',', out);
}

static void write_row(const struct report_rows *rows, const struct group_total *group, FILE *out)
{
	size_t i;

	(void)putc('{', out);
	for (i = 0; i < rows->nr_keys; i++) {
		write_key(rows, group, rows->keys[i], out);
		(void)putc(',', out);
	}
	if (rows->kind_is_known)
		write_kind(group->place.kind, out);
	(void)fprintf(out,
		      "\"self\":%" PRIu64 ",\"total\":%" PRIu64
		      ",\"self_percent\":%.4f,\"total_percent\":%.4f}",
		      group->self, group->total, report_rows_percent(rows, group->self),
		      report_rows_percent(rows, group->total));
}

static void write_rows(const struct report_rows *rows, FILE *out)
{
	size_t i;

	(void)fprintf(out, "\"no_stack\":%" PRIu64 ",\n", rows->totals.no_frames_count);
	if (rows->categories)
		write_categories(rows, out);
	(void)fputs("\"rows\":[", out);
	for (i = 0; i < rows->nr && !ferror(out); i++) {
		(void)fputs(i ? ",\n" : "\n", out);
		write_row(rows, &rows->totals.groups[i], out);
	}
	(void)fputs("]\n", out);
}

int report_json_write(const struct profile *profile, const struct report_options *options,
		      FILE *out)
{
	cleanup(report_rows_clear) struct report_rows rows = {0};

	if (report_rows_init(&rows, profile, &options->style, options->categories) < 0)
		return -ENOMEM;
	errno = 0;
	(void)fputs("{\n", out);
	write_head(profile, out);
	write_comments(profile, out);
	write_rows(&rows, out);
	(void)fputs("}\n", out);
	return stream_finish(out);
}
