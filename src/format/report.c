/*
 * The report's head and its table of functions; the tree is report_tree.c's.
 *
 *	12,345 samples
 *
 *	 SELF  SAMPLES  TOTAL  FUNCTION             MODULE
 *	23.4%    2,889  45.1%  dictFind             redis-server
 *	11.0%    1,358  11.2%  copy_user_generic    [kernel]
 *	 9.3%    1,148         … 204 more
 *
 * What stackcount counts are HITS; sums of a value, as its --weight makes them, are a SUM.
 *
 * The table is sorted by what functions did themselves; who called them is what the tree is for.
 */
#include "format/report.h"

#include <ctype.h>
#include <errno.h>

#include "base/cleanup.h"
#include "format/columns.h"
#include "format/report_tree.h"
#include "profile/function_totals.h"
#include "profile/named_stacks.h"

#define DEFAULT_WIDTH	     80
#define LEAST_WIDTH	     60
#define DEFAULT_NR_FUNCTIONS 20
#define PERCENT_COLUMNS	     6 /* "100.0%" */
#define HEADING_BYTES	     16
#define GAP		     2 /* columns between two columns of the table */

struct table {
	const struct profile *profile;
	const struct function_totals *totals;
	const struct report_options *options;
	FILE *out;
	size_t nr_rows;
	size_t count_columns, function_columns, module_columns;
};

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static const char *function_name(const struct table *table, const struct function_total *function)
{
	if (!function->name)
		return named_stacks_no_name(table->profile, function->module);
	return profile_string(table->profile, function->name);
}

static const char *module_name(const struct table *table, const struct function_total *function)
{
	return profile_module_name(table->profile, function->module);
}

/* Of what there is a number: samples, or hits. */
static const char *counted(const struct profile *profile)
{
	uint32_t string = profile_origin(profile)->counted;

	return string ? profile_string(profile, string) : "samples";
}

/* Of the column of counts. */
static const char *heading(const struct profile *profile, char buffer[HEADING_BYTES])
{
	const char *word = profile_origin(profile)->is_sum ? "sum" : counted(profile);
	size_t i;

	for (i = 0; word[i] && i < HEADING_BYTES - 1; i++)
		buffer[i] = (char)toupper((unsigned char)word[i]);
	buffer[i] = 0;
	return buffer;
}

/* Modules get what they need, up to a third; functions what they need of the rest. */
static void lay_out(struct table *table)
{
	size_t fixed, i;
	char buffer[COLUMNS_NUMBER_BYTES], head[HEADING_BYTES];

	table->count_columns = columns_of(columns_number(buffer, profile_total(table->profile)));
	table->count_columns =
		larger(table->count_columns, columns_of(heading(table->profile, head)));
	table->function_columns = sizeof("FUNCTION") - 1;
	table->module_columns = sizeof("MODULE") - 1;
	for (i = 0; i < table->nr_rows; i++) {
		const struct function_total *function = &table->totals->functions[i];

		table->function_columns =
			larger(table->function_columns, columns_of(function_name(table, function)));
		table->module_columns =
			larger(table->module_columns, columns_of(module_name(table, function)));
	}
	fixed = PERCENT_COLUMNS + GAP + table->count_columns + GAP + PERCENT_COLUMNS + GAP + GAP;
	table->module_columns = smaller(table->module_columns, (table->options->width - fixed) / 3);
	table->function_columns = smaller(table->function_columns,
					  table->options->width - fixed - table->module_columns);
}

static double percent_of(const struct table *table, uint64_t count)
{
	return 100.0 * (double)count / (double)profile_total(table->profile);
}

static const char *ellipsis(const struct table *table)
{
	return table->options->ascii ? ".." : "…";
}

static void write_numbers(const struct table *table, uint64_t self)
{
	char buffer[COLUMNS_NUMBER_BYTES];

	(void)fprintf(table->out, "%5.1f%%  %*s  ", percent_of(table, self),
		      (int)table->count_columns, columns_number(buffer, self));
}

static void write_row(const struct table *table, const struct function_total *function)
{
	size_t written;

	write_numbers(table, function->self);
	(void)fprintf(table->out, "%5.1f%%  ", percent_of(table, function->total));
	written = columns_write(table->out, function_name(table, function), table->function_columns,
				ellipsis(table));
	columns_pad(table->out, table->function_columns - written + GAP);
	(void)columns_write(table->out, module_name(table, function), table->module_columns,
			    ellipsis(table));
	(void)putc('\n', table->out);
}

/* What the rows leave of 100 %. */
static void write_rest(const struct table *table)
{
	uint64_t rest = 0;
	size_t nr = 0;
	size_t i;

	for (i = table->nr_rows; i < table->totals->nr && table->totals->functions[i].self; i++) {
		rest += table->totals->functions[i].self;
		nr++;
	}
	if (nr) {
		write_numbers(table, rest);
		(void)fprintf(table->out, "%*s%s %zu more\n", PERCENT_COLUMNS + GAP, "",
			      ellipsis(table), nr);
	}
	if (table->totals->no_frames_count) {
		write_numbers(table, table->totals->no_frames_count);
		(void)fprintf(table->out, "%*s(no stack)\n", PERCENT_COLUMNS + GAP, "");
	}
}

static int write_functions(const struct profile *profile, const struct report_options *options,
			   FILE *out)
{
	cleanup(function_totals_clear) struct function_totals totals = {0};
	struct table table = {
		.profile = profile, .totals = &totals, .options = options, .out = out};
	char head[HEADING_BYTES];
	size_t i;

	if (function_totals_init(&totals, profile) < 0)
		return -ENOMEM;
	while (table.nr_rows < smaller(totals.nr, options->nr_functions) &&
	       totals.functions[table.nr_rows].self)
		table.nr_rows++;
	lay_out(&table);
	(void)fprintf(out, "%6s  %*s  %6s  %-*s  MODULE\n", "SELF", (int)table.count_columns,
		      heading(profile, head), "TOTAL", (int)table.function_columns, "FUNCTION");
	for (i = 0; i < table.nr_rows; i++)
		write_row(&table, &totals.functions[i]);
	write_rest(&table);
	return 0;
}

/* An event's name is somebody else's: no control characters to the terminal. */
static void write_total(const struct profile *profile, FILE *out)
{
	const struct profile_origin *origin = profile_origin(profile);
	const char *event = profile_string(profile, origin->event);
	char buffer[COLUMNS_NUMBER_BYTES];

	if (!origin->is_sum) {
		(void)fprintf(out, "%s %s\n", columns_number(buffer, profile_total(profile)),
			      counted(profile));
		return;
	}
	(void)fprintf(out, "%s, the sum of ", columns_number(buffer, profile_total(profile)));
	(void)columns_write(out, event, columns_of(event), "");
	(void)putc('\n', out);
}

static void write_head(const struct profile *profile, FILE *out)
{
	uint64_t other = profile_other_count(profile);
	char buffer[COLUMNS_NUMBER_BYTES];

	write_total(profile, out);
	if (other)
		(void)fprintf(out, "%s of them in stacks that there was no room for\n",
			      columns_number(buffer, other));
	(void)putc('\n', out);
}

static int write_all(const struct profile *profile, const struct report_options *options, FILE *out)
{
	int result;

	if (!profile_total(profile)) {
		if (profile_origin(profile)->is_sum)
			(void)fputs("A sum of 0.\n", out);
		else
			(void)fprintf(out, "No %s.\n", counted(profile));
		return 0;
	}
	write_head(profile, out);
	result = write_functions(profile, options, out);
	if (result < 0)
		return result;
	(void)putc('\n', out);
	return report_tree_write(profile, options, out);
}

int report_write(const struct profile *profile, const struct report_options *options, FILE *out)
{
	struct report_options filled = *options;
	int result;

	filled.width = (unsigned)larger(filled.width ? filled.width : DEFAULT_WIDTH, LEAST_WIDTH);
	if (!filled.nr_functions)
		filled.nr_functions = DEFAULT_NR_FUNCTIONS;
	errno = 0;
	result = write_all(profile, &filled, out);
	if (result < 0)
		return result;
	if (ferror(out) || fflush(out) != 0)
		return errno ? -errno : -EIO;
	return 0;
}
