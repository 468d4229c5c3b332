/* See diff_rows.h. Numbers have as many digits as tell two different ones apart. */
#include "format/text/diff_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fd_io.h"
#include "format/text/csv.h"
#include "format/text/diff_cells.h"
#include "format/text/json.h"

int diff_rows_compare(struct comparison *comparison, const struct profile *profile,
		      const struct format_options *options, const struct comparison_style *style)
{
	struct comparison_style with_names = *style;

	with_names.labels = options->labels;
	with_names.no_user = options->no_user;
	with_names.no_kernel = options->no_kernel;
	return comparison_init(comparison, profile, &with_names);
}

const char *diff_rows_module(const struct comparison *comparison, const struct difference_row *row)
{
	if (comparison->style.group != DIFFERENCE_BY_FUNCTION || row->module == MODULE_NR_UNKNOWN)
		return NULL;
	return profile_module_name(comparison->profile, row->module);
}

/* The nodes of a way from the root down to a line's last one; how many they are. */
static size_t way_to(const struct difference_paths *paths, uint32_t node, uint32_t *ret)
{
	size_t nr = paths->nodes.nodes[node].depth, i;

	for (i = nr; i--; node = paths->parents[node])
		ret[i] = node;
	return nr;
}

static const char *node_name(const struct comparison *comparison, uint32_t node)
{
	return named_stacks_word(&comparison->stacks, comparison->paths.nodes.nodes[node].word);
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void write_json_pair(const struct comparison *comparison, const struct difference_pair *pair,
			    FILE *out)
{
	const char *what = comparison->scale.by_time ? "rate" : "share";
	const struct difference *is = &pair->is;

	(void)fprintf(out,
		      "\"before\": %" PRIu64 ", \"after\": %" PRIu64 ", \"before_%s\": %.9g, "
		      "\"after_%s\": %.9g, \"change\": %.9g, \"error\": %.6g, \"sigma\": %.4g, "
		      "\"kind\": ",
		      pair->before, pair->after, what, is->before, what, is->after, is->change,
		      is->error, is->sigma);
	json_write_string(out, is->kind == CHANGE_NONE ? NULL : diff_cells_kind(is->kind));
}

static void write_json_side(const char *side, const char *name, double count, double seconds,
			    FILE *out)
{
	(void)fprintf(out, "\"%s\": {\"name\": ", side);
	json_write_string(out, name);
	(void)fprintf(out, ", \"count\": %.0f, \"seconds\": ", count);
	if (seconds > 0)
		(void)fprintf(out, "%.9g}", seconds);
	else
		(void)fputs("null}", out);
}

static void write_json_row(const struct comparison *comparison, const struct difference_row *row,
			   FILE *out)
{
	(void)fputs("\n  {\"name\": ", out);
	json_write_string(out, difference_rows_name(&comparison->rows, row));
	(void)fputs(", \"module\": ", out);
	json_write_string(out, diff_rows_module(comparison, row));
	(void)fputs(",\n   \"self\": {", out);
	write_json_pair(comparison, &row->self, out);
	(void)fputs("},\n   \"total\": {", out);
	write_json_pair(comparison, &row->total, out);
	(void)fputs("}}", out);
}

static void write_json_line(const struct comparison *comparison, const struct difference_line *line,
			    uint32_t *way, FILE *out)
{
	size_t nr = way_to(&comparison->paths, line->last, way), i;

	(void)fputs("\n  {\"path\": [", out);
	for (i = 0; i < nr; i++) {
		(void)fputs(i ? ", " : "", out);
		json_write_string(out, node_name(comparison, way[i]));
	}
	(void)fprintf(out, "],\n   \"besides\": %s, ", line->is_rest ? "true" : "false");
	write_json_pair(comparison, &line->pair, out);
	(void)putc('}', out);
}

static void write_json(const struct comparison *comparison, uint32_t *way, FILE *out)
{
	const struct comparison_style *style = &comparison->style;
	const struct difference_rows *rows = &comparison->rows;
	size_t i;

	(void)putc('{', out);
	write_json_side("before", style->before_name, comparison->scale.before_all,
			style->before_seconds, out);
	(void)fputs(",\n ", out);
	write_json_side("after", style->after_name, comparison->scale.after_all,
			style->after_seconds, out);
	(void)fprintf(out,
		      ",\n \"by_time\": %s, \"least_sigma\": %.4g, \"paths_least_sigma\": %.4g, "
		      "\"comparisons\": %.0f, \"dispersion\": %.4g,\n \"rows\": [",
		      comparison->scale.by_time ? "true" : "false", rows->scale.least_sigma,
		      comparison->paths.scale.least_sigma, rows->nr_tests,
		      comparison->spread.all.self);
	for (i = 0; i < rows->nr; i++) {
		(void)fputs(i ? "," : "", out);
		write_json_row(comparison, &rows->rows[i], out);
	}
	(void)fputs("],\n \"paths\": [", out);
	for (i = 0; i < comparison->paths.nr; i++) {
		(void)fputs(i ? "," : "", out);
		write_json_line(comparison, &comparison->paths.lines[i], way, out);
	}
	(void)fputs("]}\n", out);
}

int diff_rows_write_json(const struct profile *profile, const struct format_options *options,
			 const struct comparison_style *style, FILE *out)
{
	cleanup(comparison_clear) struct comparison comparison = {0};
	cleanup_free uint32_t *way = NULL;
	int err = diff_rows_compare(&comparison, profile, options, style);

	if (err)
		return err;
	way = calloc((size_t)comparison.paths.nodes.nr_depths + 1, sizeof(*way));
	if (!way)
		return -ENOMEM;
	errno = 0;
	write_json(&comparison, way, out);
	return stream_finish(out);
}

/* --- CSV ------------------------------------------------------------------------------------- */

static void write_csv_pair(const struct difference_pair *pair, FILE *out)
{
	const struct difference *is = &pair->is;

	(void)fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%.9g,%.9g,%.9g,%.6g,%.4g,%s", pair->before,
		      pair->after, is->before, is->after, is->change, is->error, is->sigma,
		      diff_cells_kind(is->kind));
}

static void write_csv_headings(const char *what, FILE *out)
{
	static const char *const kinds[] = {"self", "total"};
	size_t i;

	(void)fputs("name,module", out);
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		(void)fprintf(out,
			      ",%s_before,%s_after,%s_before_%s,%s_after_%s,%s_change,%s_error,"
			      "%s_sigma,%s_kind",
			      kinds[i], kinds[i], kinds[i], what, kinds[i], what, kinds[i],
			      kinds[i], kinds[i], kinds[i]);
	csv_end_row(out);
}

int diff_rows_write_csv(const struct profile *profile, const struct format_options *options,
			const struct comparison_style *style, FILE *out)
{
	cleanup(comparison_clear) struct comparison comparison = {0};
	int err = diff_rows_compare(&comparison, profile, options, style);
	size_t i;

	if (err)
		return err;
	errno = 0;
	write_csv_headings(comparison.scale.by_time ? "rate" : "share", out);
	for (i = 0; i < comparison.rows.nr && !ferror(out); i++) {
		const struct difference_row *row = &comparison.rows.rows[i];

		csv_write_string(out, difference_rows_name(&comparison.rows, row));
		(void)putc(',', out);
		csv_write_string(out, diff_rows_module(&comparison, row));
		write_csv_pair(&row->self, out);
		write_csv_pair(&row->total, out);
		csv_end_row(out);
	}
	return stream_finish(out);
}
