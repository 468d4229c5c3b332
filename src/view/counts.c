/*
 * Metrics, and the table of counts.
 *
 * A metric divides an event's count by that of another one in the same row, which must count the same levels (user,
 * kernel) on the same PMU; one of the same group is preferred, as it was counted at the same time. An event
 * without such a rule has a rate per second of CPU time, if a clock was counted.
 */
#include "view/counts.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/text.h"

/* --- metrics ---------------------------------------------------------------------------------- */

#define RATE "/sec"
#define KIND(config) \
	((config)&UINT32_MAX) /* without the PMU that hybrid CPUs have in the upper half */
#define CACHE_MISS ((uint64_t)PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

static const struct {
	uint64_t config, per;
	double factor;
	const char *unit;
} hardware_ratios[] = {
	{PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES, 1, "insn per cycle"},
	{PERF_COUNT_HW_BRANCH_MISSES, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 100, "% of all branches"},
	{PERF_COUNT_HW_CACHE_MISSES, PERF_COUNT_HW_CACHE_REFERENCES, 100, "% of all cache refs"},
	{PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, PERF_COUNT_HW_CPU_CYCLES, 100,
	 "% frontend cycles idle"},
	{PERF_COUNT_HW_STALLED_CYCLES_BACKEND, PERF_COUNT_HW_CPU_CYCLES, 100,
	 "% backend cycles idle"},
};

static const char *const cache_units[PERF_COUNT_HW_CACHE_MAX] = {
	[PERF_COUNT_HW_CACHE_L1D] = "% of all L1-dcache accesses",
	[PERF_COUNT_HW_CACHE_L1I] = "% of all L1-icache accesses",
	[PERF_COUNT_HW_CACHE_LL] = "% of all LL-cache accesses",
	[PERF_COUNT_HW_CACHE_DTLB] = "% of all dTLB cache accesses",
	[PERF_COUNT_HW_CACHE_ITLB] = "% of all iTLB cache accesses",
	[PERF_COUNT_HW_CACHE_BPU] = "% of all branch predictions",
	[PERF_COUNT_HW_CACHE_NODE] = "% of all node accesses",
};

/*
 * Level 1 of the top-down method, in slots of the pipeline: what the PMU gives (perf metrics of Ice Lake and newer),
 * and the formulas for PMUs that count slots (Sandy Bridge to Skylake).
 */
static const struct {
	const char *event, *per;
	struct {
		const char *event;
		double factor;
	} more[3]; /* is added */
	double factor, all;
	const char *unit;
} slot_ratios[] = {
	{"topdown-retiring", "slots", {{0}}, 1, 0, "% retiring"},
	{"topdown-bad-spec", "slots", {{0}}, 1, 0, "% bad speculation"},
	{"topdown-fe-bound", "slots", {{0}}, 1, 0, "% frontend bound"},
	{"topdown-be-bound", "slots", {{0}}, 1, 0, "% backend bound"},
	{"topdown-slots-retired", "topdown-total-slots", {{0}}, 1, 0, "% retiring"},
	{"topdown-fetch-bubbles", "topdown-total-slots", {{0}}, 1, 0, "% frontend bound"},
	{"topdown-recovery-bubbles",
	 "topdown-total-slots",
	 {{"topdown-slots-issued", 1}, {"topdown-slots-retired", -1}},
	 1,
	 0,
	 "% bad speculation"},
	{"topdown-slots-issued",
	 "topdown-total-slots",
	 {{"topdown-fetch-bubbles", -1}, {"topdown-recovery-bubbles", -1}},
	 -1,
	 1,
	 "% backend bound"},
};

struct asked {
	const struct counts *counts;
	const struct counts_row *row;
	const struct event *event;
	double value; /* with the event's scale */
};

static bool counts_the_same(const struct event *a, const struct event *b)
{
	return a->attr.exclude_user == b->attr.exclude_user &&
	       a->attr.exclude_kernel == b->attr.exclude_kernel &&
	       a->attr.exclude_hv == b->attr.exclude_hv &&
	       a->attr.exclude_host == b->attr.exclude_host &&
	       a->attr.exclude_guest == b->attr.exclude_guest && !strcmp(a->pmu, b->pmu);
}

/* True for NAME, PMU/NAME/ and NAME:MODIFIERS. */
static bool is_named(const struct event *event, const char *name)
{
	const char *at = strstr(event->name, name);

	return at && (at == event->name || at[-1] == '/') &&
	       (!at[strlen(name)] || strchr("/:", at[strlen(name)]));
}

static double scaled(const struct asked *asked, size_t event)
{
	return asked->row->counts[event].value * asked->counts->events[event].scale;
}

/*
 * Finds the count of another event by type and config, or by name; NAN if it was not counted. The one of the same
 * group is preferred.
 */
static double find(const struct asked *asked, uint32_t type, uint64_t config, const char *name)
{
	const struct counts *counts = asked->counts;
	double found = NAN;
	size_t i;

	for (i = 0; i < counts->nr_events; i++) {
		const struct event *event = &counts->events[i];
		bool is_same = name ? is_named(event, name)
				    : event->attr.type == type && event->attr.config == config;

		if (!is_same || !counts_the_same(event, asked->event) ||
		    !asked->row->counts[i].running_ns)
			continue;
		if (event->leader == asked->event->leader)
			return scaled(asked, i);
		if (isnan(found))
			found = scaled(asked, i);
	}
	return found;
}

/* The CPU time of the row in nanoseconds; NAN without a clock among the events. */
static double cpu_ns(const struct asked *asked)
{
	size_t i;

	for (i = 0; i < asked->counts->nr_events; i++)
		if (event_is_clock(&asked->counts->events[i]) && asked->row->counts[i].running_ns)
			return asked->row->counts[i].value;
	return NAN;
}

/* No metric if the divisor is missing or 0. */
static struct metric ratio(double value, double per, double factor, const char *unit)
{
	if (isnan(value) || isnan(per) || per <= 0)
		return (struct metric){0};
	return (struct metric){value / per * factor, unit};
}

static struct metric hardware_metric(const struct asked *asked)
{
	const struct perf_event_attr *attr = &asked->event->attr;
	const uint64_t pmu = attr->config & ~(uint64_t)UINT32_MAX, kind = KIND(attr->config);
	const uint64_t cache = kind & 0xff;
	size_t i;

	if (attr->type == PERF_TYPE_HW_CACHE && kind & CACHE_MISS &&
	    cache < ARRAY_SIZE(cache_units))
		return ratio(asked->value,
			     find(asked, attr->type, attr->config & ~CACHE_MISS, NULL), 100,
			     cache_units[cache]);
	if (attr->type != PERF_TYPE_HARDWARE)
		return (struct metric){0};
	if (kind == PERF_COUNT_HW_CPU_CYCLES)
		return ratio(asked->value, cpu_ns(asked), 1, "GHz");
	for (i = 0; i < ARRAY_SIZE(hardware_ratios); i++)
		if (kind == hardware_ratios[i].config)
			return ratio(asked->value,
				     find(asked, attr->type, pmu | hardware_ratios[i].per, NULL),
				     hardware_ratios[i].factor, hardware_ratios[i].unit);
	return (struct metric){0};
}

static struct metric slots_metric(const struct asked *asked)
{
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(slot_ratios); i++) {
		const double per = find(asked, 0, 0, slot_ratios[i].per);
		double value = asked->value * slot_ratios[i].factor;

		if (!is_named(asked->event, slot_ratios[i].event))
			continue;
		for (k = 0; k < ARRAY_SIZE(slot_ratios[i].more) && slot_ratios[i].more[k].event;
		     k++)
			value += find(asked, 0, 0, slot_ratios[i].more[k].event) *
				 slot_ratios[i].more[k].factor;
		return ratio(value + slot_ratios[i].all * per, per, 100, slot_ratios[i].unit);
	}
	return (struct metric){0};
}

/*
 * The `msr` PMU of x86 counts cycles of a CPU that is not idle: aperf at its present clock, mperf at that of the TSC.
 * It has no other counters, and guests without a PMU may have it.
 */
static struct metric msr_metric(const struct asked *asked)
{
	const struct event *event = asked->event;
	const double tsc = find(asked, 0, 0, "tsc"), mperf = find(asked, 0, 0, "mperf");
	/* The same for all three: they always run. The counts are averages of the runs, the time is that of all. */
	const double ns = (double)asked->row->counts[event - asked->counts->events].running_ns /
			  (double)asked->counts->nr_runs;

	if (strcmp(event->pmu, "msr") != 0)
		return (struct metric){0};
	if (is_named(event, "tsc"))
		return ratio(tsc, ns, 1, "GHz, the TSC");
	if (is_named(event, "mperf"))
		return ratio(mperf, tsc, 100, "% of the time not idle");
	if (is_named(event, "aperf"))
		return ratio(asked->value * tsc, mperf * ns, 1, "GHz when not idle");
	return (struct metric){0};
}

/* True for events of a vendor, or of Arm's PMU, whose name says that they are cycles without progress. */
static bool is_stall(const struct event *event)
{
	/* Some write a colon for the full stop. */
	static const char *const patterns[] = {"*stall*", "*exe_activity?bound_on*", "*decode?lcp*",
					       "*idq_uops_not_delivered?cycles_*"};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(patterns); i++)
		if (!fnmatch(patterns[i], event->name, FNM_CASEFOLD))
			return !strcasestr(event->name, "slot");
	return false;
}

static struct metric stall_metric(const struct asked *asked)
{
	const struct event *event = asked->event;
	double cycles;
	size_t i;

	if (!is_stall(event))
		return (struct metric){0};
	for (i = 0, cycles = NAN; i < asked->counts->nr_events && isnan(cycles); i++) {
		const struct event *other = &asked->counts->events[i];

		if (other->attr.type == PERF_TYPE_HARDWARE &&
		    KIND(other->attr.config) == PERF_COUNT_HW_CPU_CYCLES &&
		    other->attr.exclude_user == event->attr.exclude_user &&
		    other->attr.exclude_kernel == event->attr.exclude_kernel &&
		    (!*other->pmu || !strcmp(other->pmu, event->pmu)) &&
		    asked->row->counts[i].running_ns)
			cycles = asked->row->counts[i].value;
	}
	return ratio(asked->value, cycles, 100, "% of cycles");
}

struct metric counts_metric(const struct counts *counts, const struct counts_row *row, size_t event)
{
	static struct metric (*const kinds[])(const struct asked *asked) = {
		hardware_metric, slots_metric, msr_metric, stall_metric};
	const struct asked asked = {counts, row, &counts->events[event],
				    row->counts[event].value * counts->events[event].scale};
	struct metric metric = {0};
	size_t i;

	if (counts->states[event] != COUNT_SUPPORTED || !row->counts[event].running_ns)
		return metric;
	if (event_is_clock(asked.event))
		return ratio(asked.value, counts->seconds * (double)NS_PER_SEC, 1, "CPUs utilized");
	for (i = 0; i < ARRAY_SIZE(kinds) && !metric.unit; i++)
		metric = kinds[i](&asked);
	if (metric.unit || asked.event->unit[0])
		return metric;
	return ratio(asked.value, cpu_ns(&asked), (double)NS_PER_SEC, RATE);
}

/* --- cells ------------------------------------------------------------------------------------ */

enum column_number {
	/* For people, twice: text has no headings, as perf's has none. */
	COLUMN_SINCE,
	COLUMN_LABEL,
	COLUMN_CPUS,
	COLUMN_VALUE,
	COLUMN_UNIT,
	COLUMN_EVENT,
	COLUMN_METRIC,
	COLUMN_SPREAD,
	COLUMN_SHARE,
	NR_PEOPLE,
	/* For programs. */
	COLUMN_BY = 2 * NR_PEOPLE,
	COLUMN_NR_CPUS,
	COLUMN_NAME_OF_EVENT,
	COLUMN_COUNT,
	COLUMN_UNIT_NAME,
	COLUMN_STATE,
	COLUMN_ENABLED_NS,
	COLUMN_RUNNING_NS,
	COLUMN_SPREAD_PERCENT,
	COLUMN_METRIC_VALUE,
	COLUMN_METRIC_UNIT,
	NR_COLUMNS,
};

static const struct column all_columns[NR_COLUMNS] = {
	[COLUMN_SINCE] = {NULL, "TIME", .flags = COLUMN_NUMBER | COLUMN_OPTIONAL,
			  .least_width = 16},
	[COLUMN_LABEL] = {NULL, "OF", .flags = COLUMN_NAME | COLUMN_OPTIONAL},
	[COLUMN_CPUS] = {NULL, "CPUS", .flags = COLUMN_NUMBER | COLUMN_OPTIONAL, .least_width = 4},
	[COLUMN_VALUE] = {NULL, "COUNT", .flags = COLUMN_NUMBER, .least_width = 18},
	[COLUMN_UNIT] = {NULL, "UNIT", .least_width = 4, .gap = 1},
	[COLUMN_EVENT] = {NULL, "EVENT", .flags = COLUMN_NAME | COLUMN_OVERFLOWS, .least_width = 24,
			  .gap = 1},
	[COLUMN_METRIC] = {NULL, "METRIC", .flags = COLUMN_OPTIONAL, .least_width = 26, .gap = 1},
	[COLUMN_SPREAD] = {NULL, "SPREAD", .flags = COLUMN_OPTIONAL, .least_width = 14},
	[COLUMN_SHARE] = {NULL, "RUNNING", .flags = COLUMN_OPTIONAL},
	[COLUMN_BY] = {""},
	[COLUMN_NR_CPUS] = {"cpus"},
	[COLUMN_NAME_OF_EVENT] = {"event"},
	[COLUMN_COUNT] = {"value", .precise = 6},
	[COLUMN_UNIT_NAME] = {"unit"},
	[COLUMN_STATE] = {"state"},
	[COLUMN_ENABLED_NS] = {"enabled_ns"},
	[COLUMN_RUNNING_NS] = {"running_ns"},
	[COLUMN_SPREAD_PERCENT] = {"spread_percent", .precise = 3},
	[COLUMN_METRIC_VALUE] = {"metric", .precise = 6},
	[COLUMN_METRIC_UNIT] = {"metric_unit"},
};

/* perf's, above intervals; its scripts skip lines with a # in front. */
static const char *const text_headings[NR_PEOPLE] = {
	[COLUMN_SINCE] = "#           time", [COLUMN_CPUS] = "cpus",
	[COLUMN_VALUE] = "counts",	     [COLUMN_UNIT] = "unit",
	[COLUMN_EVENT] = "events",
};

struct filling {
	const struct counts *counts;
	struct column columns[NR_COLUMNS];
	size_t *shown; /* events that are not hidden */
	size_t nr_shown;
};

/* Texts that are made here share the row's scratch. */
struct scratch {
	char *at;
	size_t left;
};

__attribute__((format(printf, 2, 3))) static struct cell cell_printf(struct scratch *scratch,
								     const char *format, ...)
{
	const char *text = scratch->at;
	va_list arguments;
	int nr;

	va_start(arguments, format);
	nr = vsnprintf(scratch->at, scratch->left, format, arguments);
	va_end(arguments);
	nr = nr < 0 ? 0 : nr + 1;
	if ((size_t)nr > scratch->left)
		nr = (int)scratch->left;
	scratch->at += nr;
	scratch->left -= (size_t)nr;
	return cell_text(text);
}

static bool is_clock(const struct event *event)
{
	return event_is_clock(event) && !event->unit[0];
}

static struct cell value_cell(struct scratch *scratch, const struct event *event,
			      const struct counted *counted)
{
	char number[NUMBER_COMMAS_BYTES];
	double value = counted->value * event->scale;
	uint64_t whole;

	if (is_clock(event))
		value /= (double)NS_PER_MS;
	if (!is_clock(event) && !event->unit[0] && event->scale == 1)
		return cell_printf(scratch, "%s", number_commas(number, (uint64_t)llround(value)));
	whole = (uint64_t)value;
	if (llround((value - (double)whole) * 100) == 100)
		return cell_printf(scratch, "%s.00", number_commas(number, whole + 1));
	return cell_printf(scratch, "%s.%02lld", number_commas(number, whole),
			   llround((value - (double)whole) * 100));
}

/*
 * "#    1.70  insn per cycle", "#    2.13% of all branches", "#    1.132 K/sec"; without the mark also without the
 * blanks.
 */
static struct cell metric_cell(struct scratch *scratch, const struct metric *metric, bool has_mark)
{
	static const struct {
		double from;
		const char *letter;
	} sizes[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "K"}, {0, ""}};
	const char *mark = has_mark ? "# " : "";
	const int width = has_mark ? 8 : 0;
	size_t i = 0;

	if (!metric->unit)
		return cell_text(NULL);
	if (metric->unit[0] == '%')
		return cell_printf(scratch, "%s%*.2f%s", mark, width ? width - 1 : 0, metric->value,
				   metric->unit);
	if (!strcmp(metric->unit, "insn per cycle"))
		return cell_printf(scratch, "%s%*.2f %s%s", mark, width ? width - 1 : 0,
				   metric->value, has_mark ? " " : "", metric->unit);
	if (strcmp(metric->unit, RATE) != 0)
		return cell_printf(scratch, "%s%*.3f %s", mark, width, metric->value, metric->unit);
	while (metric->value < sizes[i].from)
		i++;
	return cell_printf(scratch, "%s%*.3f %s%s", mark, width,
			   metric->value / (sizes[i].from > 0 ? sizes[i].from : 1), sizes[i].letter,
			   metric->unit);
}

static double percent(double part, double whole)
{
	return whole > 0 ? part / whole * 100 : 0;
}

/* The columns for people; first is 0 for text, NR_PEOPLE for Markdown. */
static void fill_people(const struct counts *counts, const struct counts_row *row, size_t event,
			struct scratch *scratch, struct cell *cells, bool is_text)
{
	const struct counted *counted = &row->counts[event];
	const struct metric metric = counts_metric(counts, row, event);
	const bool is_counted = counts->states[event] == COUNT_SUPPORTED && counted->running_ns;

	if (!counts->title)
		cells[COLUMN_SINCE] = cell_printf(scratch, "%.9f", counts->since_start);
	if (counts->by)
		cells[COLUMN_LABEL] = strcmp(counts->by, "cpu") != 0
					      ? cell_text(row->label)
					      : cell_printf(scratch, "CPU%s", row->label);
	if (row->nr_cpus)
		cells[COLUMN_CPUS] = cell_printf(scratch, "%zu", row->nr_cpus);
	if (is_counted)
		cells[COLUMN_VALUE] = value_cell(scratch, &counts->events[event], counted);
	else
		cells[COLUMN_VALUE] =
			cell_text(counts->states[event] == COUNT_SUPPORTED ? "<not counted>"
									   : "<not supported>");
	cells[COLUMN_UNIT] =
		cell_text(is_clock(&counts->events[event]) ? "msec" : counts->events[event].unit);
	cells[COLUMN_EVENT] = cell_text(counts->events[event].name);
	cells[COLUMN_METRIC] = metric_cell(scratch, &metric, is_text);
	if (is_counted && counts->nr_runs > 1)
		cells[COLUMN_SPREAD] = cell_printf(scratch, "( +-%6.2f%% )",
						   percent(counted->spread, counted->value));
	if (is_counted && counted->running_ns < counted->enabled_ns)
		cells[COLUMN_SHARE] = cell_printf(
			scratch, "(%.2f%%)",
			percent((double)counted->running_ns, (double)counted->enabled_ns));
}

static void fill_programs(const struct counts *counts, const struct counts_row *row, size_t event,
			  struct cell *cells)
{
	const struct counted *counted = &row->counts[event];
	const struct event *is = &counts->events[event];
	const struct metric metric = counts_metric(counts, row, event);
	const bool is_supported = counts->states[event] == COUNT_SUPPORTED,
		   is_counted = is_supported && counted->running_ns;
	const bool is_whole = !is->unit[0] && is->scale == 1 && counts->nr_runs <= 1;

	cells[COLUMN_BY] = cell_text(row->label);
	cells[COLUMN_NR_CPUS] = cell_count(row->nr_cpus);
	cells[COLUMN_NAME_OF_EVENT] = cell_text(is->name);
	if (is_counted)
		cells[COLUMN_COUNT] = is_whole ? cell_count((uint64_t)llround(counted->value))
					       : cell_real(counted->value * is->scale);
	if (is_clock(is) || is->unit[0])
		cells[COLUMN_UNIT_NAME] = cell_text(is_clock(is) ? "ns" : is->unit);
	if (is_counted)
		cells[COLUMN_STATE] = cell_text("counted");
	else
		cells[COLUMN_STATE] = cell_text(is_supported ? "not counted" : "not supported");
	cells[COLUMN_ENABLED_NS] = cell_count(counted->enabled_ns);
	cells[COLUMN_RUNNING_NS] = cell_count(counted->running_ns);
	if (is_counted && counts->nr_runs > 1)
		cells[COLUMN_SPREAD_PERCENT] = cell_real(percent(counted->spread, counted->value));
	if (metric.unit) {
		cells[COLUMN_METRIC_VALUE] = cell_real(metric.value);
		cells[COLUMN_METRIC_UNIT] = cell_text(metric.unit);
	}
}

static void read_row(const void *context, size_t number, struct row *row)
{
	const struct filling *filling = context;
	const struct counts *counts = filling->counts;
	const struct counts_row *from = &counts->rows[number / filling->nr_shown];
	const size_t event = filling->shown[number % filling->nr_shown];
	struct scratch scratch = {row->scratch, sizeof(row->scratch)};

	fill_people(counts, from, event, &scratch, row->cells, true);
	fill_people(counts, from, event, &scratch, row->cells + NR_PEOPLE, false);
	fill_programs(counts, from, event, row->cells);
}

/* --- the sheet -------------------------------------------------------------------------------- */

static void filling_free(void *context)
{
	struct filling *filling = context;

	free(filling->shown);
	free(filling);
}

static struct filling *make_filling(const struct counts *counts)
{
	struct filling *filling = calloc(1, sizeof(*filling));
	size_t i;

	if (!filling)
		return NULL;
	filling->counts = counts;
	filling->shown = calloc(counts->nr_events + 1, sizeof(*filling->shown));
	if (!filling->shown) {
		filling_free(filling);
		return NULL;
	}
	for (i = 0; i < counts->nr_events; i++)
		if (counts->states[i] != COUNT_HIDDEN)
			filling->shown[filling->nr_shown++] = i;
	memcpy(filling->columns, all_columns, sizeof(filling->columns));
	for (i = 0; i < NR_PEOPLE; i++) {
		filling->columns[NR_PEOPLE + i] = all_columns[i];
		filling->columns[NR_PEOPLE + i].media = MEDIA_MARKDOWN;
		filling->columns[i].media = MEDIA_TEXT;
		filling->columns[i].heading =
			counts->has_heading && text_headings[i] ? text_headings[i] : "";
	}
	if (counts->has_heading && counts->by)
		filling->columns[COLUMN_LABEL].heading = counts->by;
	filling->columns[COLUMN_BY].name = counts->by;
	if (!counts->nr_rows || !counts->rows[0].nr_cpus)
		filling->columns[COLUMN_NR_CPUS].name = NULL;
	if (counts->nr_runs <= 1)
		filling->columns[COLUMN_SPREAD_PERCENT].name = NULL;
	return filling;
}

/* The times below the table. */
static void add_times(struct sheet *sheet, const struct counts *counts)
{
	sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
	sheet_add_line(sheet, MEDIA_PEOPLE, LINE_PLAIN);
	if (counts->nr_runs > 1)
		sheet_add_words(sheet, "%18.9f ± %.9f seconds time elapsed  ( +-%6.2f%% )",
				counts->seconds, counts->seconds_spread,
				percent(counts->seconds_spread, counts->seconds));
	else
		sheet_add_words(sheet, "%18.9f seconds time elapsed", counts->seconds);
	sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
	if (counts->user_seconds < 0)
		return;
	sheet_add_line(sheet, MEDIA_PEOPLE, LINE_PLAIN);
	sheet_add_words(sheet, "%18.9f seconds user", counts->user_seconds);
	sheet_add_line(sheet, MEDIA_PEOPLE, LINE_PLAIN);
	sheet_add_words(sheet, "%18.9f seconds sys", counts->system_seconds);
	sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
}

void counts_fill(struct sheet *sheet, const struct counts *counts)
{
	static const struct column time_column = {"time", .precise = 3};
	static const struct column seconds_columns[] = {
		{"seconds", .precise = 9},
		{"user_seconds", .precise = 6},
		{"system_seconds", .precise = 6},
	};
	static const struct column runs_column = {"runs"};
	struct filling *filling = make_filling(counts);
	struct table table = {.name = "counts", .read_row = read_row, .never_cut = true};

	sheet->is_line = true;
	sheet->failed |= !filling || sheet_keep(sheet, filling, filling_free) < 0;
	if (sheet->failed)
		return;
	table.columns = filling->columns;
	table.nr_columns = NR_COLUMNS;
	table.nr_rows = counts->nr_rows * filling->nr_shown;
	table.context = filling;
	sheet_add_figure(sheet, MEDIA_PROGRAMS, &time_column, cell_real(counts->time));
	sheet_add_figure(sheet, MEDIA_PROGRAMS, &seconds_columns[0], cell_real(counts->seconds));
	if (counts->user_seconds >= 0) {
		sheet_add_figure(sheet, MEDIA_JSON, &seconds_columns[1],
				 cell_real(counts->user_seconds));
		sheet_add_figure(sheet, MEDIA_JSON, &seconds_columns[2],
				 cell_real(counts->system_seconds));
	}
	if (counts->nr_runs > 1)
		sheet_add_figure(sheet, MEDIA_JSON, &runs_column, cell_count(counts->nr_runs));
	if (counts->title) {
		sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
		sheet_add_line(sheet, MEDIA_PEOPLE, LINE_PLAIN);
		sheet_add_words(sheet, " Performance counter stats for %s:", counts->title);
		sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
	}
	sheet_add_table(sheet, MEDIA_ALL, &table);
	if (counts->title)
		add_times(sheet, counts);
}
