/*
 * Selects the groups of view/group_totals to show, and formats them. By default the table is sorted
 * by self; the tree below it shows callers.
 *
 *	12,345 samples
 *
 *	  SELF  SAMPLES   TOTAL  FUNCTION             MODULE
 *	 23.4%    2,889   45.1%  dictFind             redis-server
 *	 11.0%    1,358   11.2%  copy_user_generic    [kernel]
 *	  9.3%    1,148          … 204 more
 *
 * Hits have a column HITS; sums of a value, as of `stackcount --weight`, a column SUM, with the
 * unit of times in the heading; times of waits have columns with their number and mean length; a profile of a ratio has
 * a column with it, such as IPC.
 */
#include "view/report.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/ratio.h"
#include "view/amount.h"
#include "view/named_stacks.h"

#define TEXT_ROWS     20
#define MARKDOWN_ROWS 10
#define TIME_BYTES    32
#define HEADING_BYTES 16
#define NR_COLUMNS    (NR_GROUP_KEYS + 10)
/* Scratch space for the second text of a row (a source line etc.); the first is an amount. */
#define TEXT_BYTES (ROW_SCRATCH_BYTES - NUMBER_COMMAS_BYTES)

/* The content of a column. */
enum content {
	CONTENT_SHARE, /* self, of the total */
	CONTENT_AMOUNT,
	CONTENT_TOTAL_SHARE,
	CONTENT_KEY,
	CONTENT_FILE, /* of a source line, for programs */
	CONTENT_LINE,
	CONTENT_KIND, /* of a function, if kind is not a key */
	CONTENT_SELF,
	CONTENT_TOTAL,
	CONTENT_UNIT,
	CONTENT_WAITS, /* off-CPU time: how many, by self */
	CONTENT_MEAN_WAIT,
	CONTENT_RATIO, /* by self */
};

struct report {
	const struct profile *profile;	     /* not owned */
	const struct categories *categories; /* not owned; NULL: not requested */
	uint64_t total;
	size_t waits; /* the value with the number of waits whose time is shown; 0: none */
	struct ratio ratio;
	bool has_ratio;
	size_t other; /* the value that is summed beside the main one: of waits, or of the ratio; 0: none */
	enum group_key keys[NR_GROUP_KEYS];
	size_t nr_keys;
	bool keys_are_asked_for;    /* else the default keys */
	bool category_is_functions; /* category of the row's function, not of its samples */
	struct group_totals totals;
	size_t nr; /* number of groups shown, the first ones */
	uint64_t *category_counts;
	uint32_t *heavy_categories; /* the ones with a count, heaviest first */
	size_t nr_heavy_categories;

	/* The table; `rest` has the rows for all that is not in a row of its own. */
	struct column columns[NR_COLUMNS];
	struct {
		enum content content;
		enum group_key key;
	} contents[NR_COLUMNS];
	size_t nr_columns;
	struct {
		uint64_t count, other;
		size_t nr; /* number of groups; 0: the row of samples without a stack */
	} rest[2];
	size_t nr_rest;
	struct column category_columns[5];
	char heading[HEADING_BYTES]; /* of amounts */
};

static const struct key {
	const char *name, *heading;
	unsigned flags; /* enum column_flags */
} keys[NR_GROUP_KEYS] = {
	[GROUP_FUNCTION] = {"function", "FUNCTION", COLUMN_NAME},
	[GROUP_MODULE] = {"module", "MODULE", COLUMN_NAME},
	[GROUP_LINE] = {"line", "LINE", COLUMN_NAME},
	[GROUP_KIND] = {"kind", "KIND", 0},
	[GROUP_COMM] = {"comm", "COMM", COLUMN_NAME},
	[GROUP_PID] = {"pid", "PID", COLUMN_NUMBER},
	[GROUP_TID] = {"tid", "TID", COLUMN_NUMBER},
	[GROUP_CPU] = {"cpu", "CPU", COLUMN_NUMBER},
	[GROUP_CGROUP] = {"cgroup", "CGROUP", COLUMN_NAME},
	[GROUP_PROBE] = {"probe", "PROBE", COLUMN_NAME},
	[GROUP_STATE] = {"state", "STATE", 0},
	[GROUP_CATEGORY] = {"category", "CATEGORY", 0},
};

static const char *const kinds[] = {
	[GROUP_KIND_USER] = "user",
	[GROUP_KIND_KERNEL] = "kernel",
	[GROUP_KIND_RUN_TIME] = "jit",
	[GROUP_KIND_SEVERAL] = NULL,
};

/* Returns the value with the number of waits if the main value is their time; 0: none. */
static size_t waits_of(const struct profile *profile)
{
	const int waits = profile_find_value(profile, "waits");

	return waits > 0 && !strcmp(profile_value_unit(profile, 0), "nanoseconds") ? (size_t)waits
										   : 0;
}

static double percent_of(const struct report *report, uint64_t count)
{
	return report->total ? 100.0 * (double)count / (double)report->total : 0;
}

/* --- cells ----------------------------------------------------------------------------------- */

/* A function without a name shows the reason: there may be no column of modules. */
static const char *function_text(const struct report *report, const struct group_place *place)
{
	if (place->function)
		return profile_string(report->profile, place->function);
	return named_stacks_no_name(report->profile, place->module);
}

static const char *line_text(const struct profile *profile, const struct group_place *place,
			     char buffer[TEXT_BYTES])
{
	const char *path = profile_string(profile, place->file);
	const char *slash = strrchr(path, '/');

	if (!place->file)
		return "[unknown]";
	(void)snprintf(buffer, TEXT_BYTES, "%s:%u", slash ? slash + 1 : path, place->line);
	return buffer;
}

/* NULL if the function itself has no category: its samples count for a category of its callers. */
static const char *category_text(const struct report *report, const struct group_total *group)
{
	uint32_t category;

	if (!report->category_is_functions)
		return categories_name(report->categories, group->labels.category);
	category = categories_of_function(
		report->categories, profile_string(report->profile, group->place.function),
		profile_module_name(report->profile, group->place.module),
		group->place.kind == GROUP_KIND_KERNEL ? FRAME_KERNEL : FRAME_USER);
	return category == CATEGORY_OTHER ? NULL : categories_name(report->categories, category);
}

static struct cell key_cell(const struct report *report, const struct group_total *group,
			    enum group_key key, char buffer[TEXT_BYTES])
{
	const struct profile *profile = report->profile;

	switch (key) {
	case GROUP_FUNCTION:
		return cell_text(function_text(report, &group->place));
	case GROUP_MODULE:
		return cell_text(profile_module_name(profile, group->place.module));
	case GROUP_LINE:
		return cell_text(line_text(profile, &group->place, buffer));
	case GROUP_KIND:
		return cell_text(kinds[group->place.kind]);
	case GROUP_COMM:
		return cell_text(profile_string(profile, group->labels.comm));
	case GROUP_PID:
		return cell_integer(group->labels.pid);
	case GROUP_TID:
		return cell_integer(group->labels.tid);
	case GROUP_CPU:
		return cell_integer(group->labels.cpu);
	case GROUP_CGROUP:
		return cell_text(profile_string(profile, group->labels.cgroup));
	case GROUP_PROBE:
		return cell_text(profile_string(profile, group->labels.probe));
	case GROUP_STATE:
		return cell_text(group->labels.state ? profile_string(profile, group->labels.state)
						     : NULL);
	case GROUP_CATEGORY:
		return cell_text(category_text(report, group));
	case NR_GROUP_KEYS:
		break;
	}
	return cell_text(NULL);
}

static struct cell amount_cell(const struct report *report, uint64_t count, char *buffer)
{
	return cell_text(amount_number(report->profile, count, buffer));
}

/* Time of samples that are not waits, or of which the waits are counted elsewhere, has none. */
static struct cell waits_cell(uint64_t waits)
{
	return waits ? cell_count(waits) : cell_text(NULL);
}

static struct cell mean_cell(uint64_t ns, uint64_t waits)
{
	return waits ? cell_count((ns + waits / 2) / waits) : cell_text(NULL);
}

static struct cell ratio_cell(const struct report *report, uint64_t count, uint64_t other)
{
	const double ratio = ratio_of(&report->ratio, count, other);

	return isnan(ratio) ? cell_text(NULL) : cell_real(ratio);
}

static struct cell cell_of(const struct report *report, const struct group_total *group,
			   size_t column, struct row *row)
{
	const struct group_place *place = &group->place;
	char *buffer = row->scratch + NUMBER_COMMAS_BYTES;

	switch (report->contents[column].content) {
	case CONTENT_SHARE:
		return cell_real(percent_of(report, group->self));
	case CONTENT_AMOUNT:
		return amount_cell(report, group->self, row->scratch);
	case CONTENT_TOTAL_SHARE:
		return cell_real(percent_of(report, group->total));
	case CONTENT_KEY:
		return key_cell(report, group, report->contents[column].key, buffer);
	case CONTENT_FILE:
		return cell_text(place->file ? profile_string(report->profile, place->file) : NULL);
	case CONTENT_LINE:
		return place->file ? cell_count(place->line) : cell_text(NULL);
	case CONTENT_KIND:
		return cell_text(kinds[place->kind]);
	case CONTENT_SELF:
		return cell_count(group->self);
	case CONTENT_TOTAL:
		return cell_count(group->total);
	case CONTENT_UNIT:
		return cell_text(amount_unit(report->profile));
	case CONTENT_WAITS:
		return waits_cell(group->self_other);
	case CONTENT_MEAN_WAIT:
		return mean_cell(group->self, group->self_other);
	case CONTENT_RATIO:
		return ratio_cell(report, group->self, group->self_other);
	}
	return cell_text(NULL);
}

/* Its text is in the first column after the numbers. */
static void read_rest(const struct report *report, size_t number, struct row *row)
{
	uint64_t count = report->rest[number].count, other = report->rest[number].other;
	size_t nr = report->rest[number].nr, i;
	char *text = row->scratch + NUMBER_COMMAS_BYTES;

	row->kind = ROW_REST;
	(void)snprintf(text, TEXT_BYTES, "… %zu more", nr);
	for (i = 0; i < report->nr_columns; i++) {
		switch (report->contents[i].content) {
		case CONTENT_SHARE:
			row->cells[i] = cell_real(percent_of(report, count));
			break;
		case CONTENT_AMOUNT:
			row->cells[i] = amount_cell(report, count, row->scratch);
			break;
		case CONTENT_WAITS:
			row->cells[i] = waits_cell(other);
			break;
		case CONTENT_MEAN_WAIT:
			row->cells[i] = mean_cell(count, other);
			break;
		case CONTENT_RATIO:
			row->cells[i] = ratio_cell(report, count, other);
			break;
		case CONTENT_KEY:
			row->cells[i] = cell_text(nr ? text : "(no stack)");
			return;
		default:
			break;
		}
	}
}

static void read_row(const void *context, size_t number, struct row *row)
{
	const struct report *report = context;
	size_t i;

	if (number >= report->nr) {
		read_rest(report, number - report->nr, row);
		return;
	}
	for (i = 0; i < report->nr_columns; i++)
		row->cells[i] = cell_of(report, &report->totals.groups[number], i, row);
}

static void read_category(const void *context, size_t number, struct row *row)
{
	const struct report *report = context;
	uint32_t category = report->heavy_categories[number];
	uint64_t count = report->category_counts[category];

	row->cells[0] = cell_real(percent_of(report, count));
	row->cells[1] = amount_cell(report, count, row->scratch);
	row->cells[2] = cell_text(categories_name(report->categories, category));
	row->cells[3] = cell_count(count);
	row->cells[4] = cell_real(percent_of(report, count));
}

/* --- selecting rows -------------------------------------------------------------------------- */

static void choose_keys(struct report *report, const struct report_style *style)
{
	bool by_function = !style->nr_groups, by_category = false;
	size_t i;

	report->keys_are_asked_for = style->nr_groups;
	for (i = 0; i < style->nr_groups; i++) {
		by_function |= style->groups[i] == GROUP_FUNCTION;
		by_category |= style->groups[i] == GROUP_CATEGORY;
		report->keys[report->nr_keys++] = style->groups[i];
	}
	if (!style->nr_groups) {
		report->keys[report->nr_keys++] = GROUP_FUNCTION;
		report->keys[report->nr_keys++] = GROUP_MODULE;
	}
	if (by_function && !by_category && report->categories) {
		report->category_is_functions = true;
		report->keys[report->nr_keys++] = GROUP_CATEGORY;
	}
}

static unsigned key_bits(const struct report *report)
{
	unsigned bits = 0;
	size_t i;

	for (i = 0; i < report->nr_keys; i++)
		bits |= GROUP_BIT(report->keys[i]);
	if (report->category_is_functions)
		bits &= ~GROUP_BIT(GROUP_CATEGORY);
	return bits;
}

static int compare_categories(const void *a, const void *b, void *context)
{
	const uint64_t *counts = context;
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	if (counts[one] != counts[other])
		return counts[one] > counts[other] ? -1 : 1;
	return (one > other) - (one < other);
}

static int sort_categories(struct report *report)
{
	uint32_t nr = (uint32_t)categories_nr(report->categories), i;

	report->heavy_categories = calloc(nr, sizeof(*report->heavy_categories));
	if (!report->heavy_categories)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		if (report->category_counts[i])
			report->heavy_categories[report->nr_heavy_categories++] = i;
	if (report->nr_heavy_categories)
		qsort_r(report->heavy_categories, report->nr_heavy_categories,
			sizeof(*report->heavy_categories), compare_categories,
			report->category_counts);
	return 0;
}

static int count_groups(struct report *report, const struct report_style *style)
{
	cleanup_free uint32_t *of_sample = NULL;
	struct group_totals_style grouping = {
		.keys = key_bits(report),
		.other = report->other,
		.by_total = style->sort_by_total,
		.separate_kernel = report->category_is_functions,
	};

	if (report->categories && (categories_count(report->categories, report->profile, &of_sample,
						    &report->category_counts) < 0 ||
				   sort_categories(report) < 0))
		return -ENOMEM;
	grouping.category_of_sample = of_sample;
	return group_totals_init(&report->totals, report->profile, &grouping);
}

static size_t most_rows(const struct report *report, enum media medium,
			const struct report_style *style)
{
	if (style->max_rows)
		return style->max_rows;
	switch (medium) {
	case MEDIA_TEXT:
		return TEXT_ROWS;
	case MEDIA_MARKDOWN:
		return MARKDOWN_ROWS;
	default:
		return report->totals.nr;
	}
}

/*
 * Groups are sorted: the first one below the threshold ends the rows. In text sorted by self,
 * groups with a self of 0 are left out.
 */
static void choose_rows(struct report *report, enum media medium, const struct report_style *style)
{
	size_t most = most_rows(report, medium, style);
	bool needs_self = medium == MEDIA_TEXT && !style->sort_by_total;

	for (; report->nr < report->totals.nr && report->nr < most; report->nr++) {
		const struct group_total *group = &report->totals.groups[report->nr];
		uint64_t count = style->sort_by_total ? group->total : group->self;

		if (percent_of(report, count) < style->least_percent ||
		    (needs_self && !group->self))
			break;
	}
}

/* Sums all that is in no row, so that the table adds up to 100 %. */
static void sum_up_rest(struct report *report)
{
	const struct group_totals *totals = &report->totals;
	uint64_t count = 0, other = 0;
	size_t nr = 0, i;

	for (i = report->nr; i < totals->nr; i++) {
		count += totals->groups[i].self;
		other += totals->groups[i].self_other;
		nr += totals->groups[i].self != 0;
	}
	if (nr) {
		report->rest[report->nr_rest].nr = nr;
		report->rest[report->nr_rest].other = other;
		report->rest[report->nr_rest++].count = count;
	}
	if (totals->no_frames_count)
		report->rest[report->nr_rest++].count = totals->no_frames_count;
}

/*
 * Frees the groups that are not shown, since the call tree built next needs memory. 0 or -ENOMEM.
 */
static int keep_shown_groups(struct report *report)
{
	size_t bytes = report->nr * sizeof(*report->totals.groups);
	struct group_total *groups = malloc(bytes + 1);

	if (!groups)
		return -ENOMEM;
	if (bytes)
		memcpy(groups, report->totals.groups, bytes);
	free(report->totals.groups);
	report->totals.groups = groups;
	report->totals.nr = report->totals.cap = report->nr;
	return 0;
}

/*
 * Drops the default column of modules if no row has a module, as in folded stacks. For people only.
 */
static void drop_modules(struct report *report)
{
	size_t i;

	for (i = 0; i < report->totals.nr; i++)
		if (report->totals.groups[i].place.module != MODULE_NR_UNKNOWN)
			return;
	for (i = 0; i < report->nr_keys && report->keys[i] != GROUP_MODULE; i++)
		;
	if (i == report->nr_keys || report->keys_are_asked_for)
		return;
	report->nr_keys--;
	memmove(&report->keys[i], &report->keys[i + 1],
		(report->nr_keys - i) * sizeof(report->keys[0]));
}

/* --- columns --------------------------------------------------------------------------------- */

static const struct column share_column = {"self_percent",  "SELF",	   UNIT_PERCENT,
					   COLUMN_HEAT,	    .decimals = 1, .precise = 4,
					   .least_width = 6};

static struct column *add_column(struct report *report, enum content content,
				 const struct column *column)
{
	report->contents[report->nr_columns].content = content;
	report->columns[report->nr_columns] = *column;
	return &report->columns[report->nr_columns++];
}

static void add_share(struct report *report, enum content content, const char *name,
		      const char *heading)
{
	struct column *column = add_column(report, content, &share_column);

	column->name = name;
	column->heading = heading;
}

static void add_number(struct report *report, enum content content, const char *name)
{
	(void)add_column(report, content, &(struct column){.name = name});
}

/* The column is as wide as the total. */
static struct column amount_column(struct report *report)
{
	const char *word = amount_heading(report->profile);
	char buffer[NUMBER_COMMAS_BYTES];
	size_t i;

	for (i = 0; word[i] && i < HEADING_BYTES - 1; i++)
		report->heading[i] = (char)toupper((unsigned char)word[i]);
	report->heading[i] = '\0';
	return (struct column){
		.heading = report->heading,
		.flags = COLUMN_NUMBER,
		.least_width =
			(unsigned)strlen(amount_number(report->profile, report->total, buffer)),
	};
}

/* The column of functions gets the remaining width; without functions, the first key. */
static void add_keys(struct report *report, enum media medium)
{
	size_t main = 0, i;

	for (i = 0; i < report->nr_keys; i++)
		if (report->keys[i] == GROUP_FUNCTION)
			main = i;
	for (i = 0; i < report->nr_keys; i++) {
		const struct key *key = &keys[report->keys[i]];
		struct column column = {.name = key->name,
					.heading = key->heading,
					.flags = key->flags | (i == main ? COLUMN_MAIN : 0)};

		if (report->keys[i] == GROUP_LINE && medium == MEDIA_JSON) {
			add_number(report, CONTENT_FILE, "file");
			add_number(report, CONTENT_LINE, "line");
			continue;
		}
		report->contents[report->nr_columns].key = report->keys[i];
		(void)add_column(report, CONTENT_KEY, &column);
	}
}

static void add_waits(struct report *report)
{
	static const struct column waits = {"waits", "WAITS", UNIT_COUNT},
				   mean = {"mean_ns", "MEAN", UNIT_NANOSECONDS};

	if (!report->waits)
		return;
	(void)add_column(report, CONTENT_WAITS, &waits);
	(void)add_column(report, CONTENT_MEAN_WAIT, &mean);
}

static void add_ratio(struct report *report)
{
	const struct column column = {.name = "ratio",
				      .heading = report->ratio.heading,
				      .decimals = report->ratio.whole < 100 ? 2 : 0,
				      .precise = 6,
				      .significant = true};

	if (report->has_ratio)
		(void)add_column(report, CONTENT_RATIO, &column);
}

static void add_columns_for_people(struct report *report, enum media medium)
{
	const struct column amount = amount_column(report);

	add_share(report, CONTENT_SHARE, NULL, "SELF");
	(void)add_column(report, CONTENT_AMOUNT, &amount);
	add_waits(report);
	add_ratio(report);
	if (key_bits(report) & GROUP_PLACE_KEYS)
		add_share(report, CONTENT_TOTAL_SHARE, NULL, "TOTAL");
	add_keys(report, medium);
}

static void add_columns_for_programs(struct report *report, enum media medium)
{
	unsigned place = key_bits(report) & (GROUP_BIT(GROUP_FUNCTION) | GROUP_BIT(GROUP_KIND));

	add_keys(report, medium);
	if (place == GROUP_BIT(GROUP_FUNCTION) && medium == MEDIA_JSON)
		add_number(report, CONTENT_KIND, "kind");
	add_number(report, CONTENT_SELF, "self");
	add_number(report, CONTENT_TOTAL, "total");
	add_share(report, CONTENT_SHARE, "self_percent", NULL);
	add_share(report, CONTENT_TOTAL_SHARE, "total_percent", NULL);
	add_waits(report);
	add_ratio(report);
	if (profile_is_sum(report->profile) && medium == MEDIA_CSV)
		add_number(report, CONTENT_UNIT, "unit");
}

/* --- tables ---------------------------------------------------------------------------------- */

static void add_rows(struct sheet *sheet, struct report *report, enum media medium)
{
	if (medium & MEDIA_PEOPLE) {
		drop_modules(report);
		add_columns_for_people(report, medium);
	} else {
		add_columns_for_programs(report, medium);
	}
	if (medium == MEDIA_TEXT)
		sum_up_rest(report);
	sheet_add_table(sheet, medium,
			&(struct table){.name = "rows",
					.columns = report->columns,
					.nr_columns = report->nr_columns,
					.nr_rows = report->nr + report->nr_rest,
					.read_row = read_row,
					.context = report});
}

/* Skipped if the table of rows is by category already. */
static void add_categories(struct sheet *sheet, struct report *report, enum media medium)
{
	bool is_all = report->nr_keys == 1 && report->keys[0] == GROUP_CATEGORY;
	struct column *columns = report->category_columns;

	if (!report->categories || medium == MEDIA_CSV || (is_all && medium & MEDIA_PEOPLE))
		return;
	columns[0] = share_column;
	columns[0].name = NULL;
	columns[1] = amount_column(report);
	columns[2] = (struct column){"category", "CATEGORY", .flags = COLUMN_MAIN};
	columns[3] = (struct column){"self", NULL};
	columns[4] = share_column;
	columns[4].heading = NULL;
	sheet_add_table(sheet, medium,
			&(struct table){.name = "categories",
					.columns = columns,
					.nr_columns = ARRAY_SIZE(report->category_columns),
					.nr_rows = report->nr_heavy_categories,
					.read_row = read_category,
					.context = report});
	sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
}

/* --- the head -------------------------------------------------------------------------------- */

/*
 * Returns "2026-11-21T20:42:00Z", in UTC so that output is the same on all hosts; NULL: not known.
 */
static const char *time_text(uint64_t time_ns, char buffer[TIME_BYTES])
{
	time_t seconds = (time_t)(time_ns / 1000000000);
	struct tm parts;

	if (!time_ns || !gmtime_r(&seconds, &parts) ||
	    !strftime(buffer, TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts))
		return NULL;
	return buffer;
}

static void add_total(struct sheet *sheet, const struct profile *profile)
{
	uint64_t total = profile_total(profile);
	char amount[AMOUNT_BYTES], counted[AMOUNT_COUNTED_BYTES];

	sheet_add_line(sheet, MEDIA_PEOPLE, LINE_HEADING);
	sheet_add_words(sheet, "%s%s", amount_total(profile, total, amount),
			amount_counted(profile, total, counted));
}

/* "instructions per cycle: 1.23; fewer than 20 samples have none" */
static void add_ratio_line(struct sheet *sheet, const struct profile *profile)
{
	struct ratio ratio;
	char number[RATIO_NUMBER_BYTES];

	if (!ratio_find(&ratio, profile))
		return;
	sheet_add_line(sheet, MEDIA_PEOPLE, LINE_PLAIN);
	sheet_add_words(sheet, "%s: %s", ratio.text, ratio_number(ratio.whole, number));
	if (ratio.least > 0)
		sheet_add_words(sheet, "; fewer than %d samples have none", RATIO_LEAST_SAMPLES);
}

static void add_text_head(struct sheet *sheet, const struct profile *profile)
{
	const char *budget = profile_comment_about(profile, "budget", "");
	uint64_t other = profile_other_count(profile);
	char buffer[AMOUNT_COUNTED_BYTES];

	if (!profile_total(profile)) {
		sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
		if (profile_is_sum(profile))
			sheet_add_words(sheet, "The sum is 0.");
		else
			sheet_add_words(sheet, "No %s.", amount_counted(profile, 0, buffer));
		return;
	}
	add_total(sheet, profile);
	add_ratio_line(sheet, profile);
	if (budget) {
		sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
		sheet_add_words(sheet, "%s", budget);
	}
	if (other) {
		sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
		sheet_add_words(sheet,
				"%s of them in [other stacks]: limit on stacks in memory reached",
				number_commas(buffer, other));
	}
	sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
}

/* `cpu-clock`, every 10,101,010 nanoseconds, for 30.0 s from 2026-11-21T20:42:00Z */
static void add_markdown_origin(struct sheet *sheet, const struct profile *profile)
{
	const struct profile_origin *origin = profile_origin(profile);
	char number[NUMBER_COMMAS_BYTES], time[TIME_BYTES];

	if (!origin->event)
		return;
	sheet_add_line(sheet, MEDIA_MARKDOWN, LINE_PLAIN);
	sheet_add_name(sheet, profile_string(profile, origin->event));
	if (origin->period)
		sheet_add_words(sheet, ", every %s %s", number_commas(number, origin->period),
				origin->unit ? profile_string(profile, origin->unit) : "events");
	if (origin->duration_ns)
		sheet_add_words(sheet, ", for %.1f s", (double)origin->duration_ns / 1e9);
	if (time_text(origin->time_ns, time))
		sheet_add_words(sheet, " from %s", time);
}

static void add_comments(struct sheet *sheet, const struct profile *profile)
{
	size_t i;

	sheet_add_notes(sheet, MEDIA_JSON | MEDIA_MARKDOWN, "comments");
	for (i = 0; i < profile_nr_comments(profile); i++)
		sheet_add_note(sheet, profile_comment(profile, i));
}

static void add_text_figure(struct sheet *sheet, const char *name, const char *text)
{
	sheet_add_figure(sheet, MEDIA_JSON, &(struct column){.name = name},
			 cell_text(text && *text ? text : NULL));
}

static void add_figure(struct sheet *sheet, const char *name, struct cell cell)
{
	sheet_add_figure(sheet, MEDIA_JSON, &(struct column){.name = name, .precise = 3}, cell);
}

static void add_json_head(struct sheet *sheet, const struct profile *profile)
{
	const struct profile_origin *origin = profile_origin(profile);
	char time[TIME_BYTES];
	struct ratio ratio;

	add_text_figure(sheet, "counted", amount_name(profile));
	add_figure(sheet, "is_sum", cell_bool(profile_is_sum(profile)));
	add_figure(sheet, "total", cell_count(profile_total(profile)));
	add_text_figure(sheet, "unit", amount_unit(profile));
	add_text_figure(sheet, "event", profile_string(profile, origin->event));
	add_figure(sheet, "period", origin->period ? cell_count(origin->period) : cell_text(NULL));
	add_text_figure(sheet, "period_unit", profile_string(profile, origin->unit));
	add_text_figure(sheet, "time", time_text(origin->time_ns, time));
	add_figure(sheet, "duration",
		   origin->duration_ns ? cell_real((double)origin->duration_ns / 1e9)
				       : cell_text(NULL));
	if (ratio_find(&ratio, profile)) {
		add_text_figure(sheet, "ratio_of", ratio.text);
		sheet_add_figure(
			sheet, MEDIA_JSON,
			&(struct column){.name = "ratio", .precise = 6, .significant = true},
			cell_real(ratio.whole));
	}
	add_comments(sheet, profile);
}

static void add_head(struct sheet *sheet, enum media medium, const struct profile *profile)
{
	switch (medium) {
	case MEDIA_TEXT:
		add_text_head(sheet, profile);
		break;
	case MEDIA_MARKDOWN:
		add_total(sheet, profile);
		add_ratio_line(sheet, profile);
		add_markdown_origin(sheet, profile);
		add_comments(sheet, profile);
		break;
	case MEDIA_JSON:
		add_json_head(sheet, profile);
		break;
	default:
		break;
	}
}

/* --- all of it ------------------------------------------------------------------------------- */

static void report_free(void *pointer)
{
	struct report *report = pointer;

	group_totals_clear(&report->totals);
	free(report->category_counts);
	free(report->heavy_categories);
	free(report);
}

int report_sheet_fill(struct sheet *sheet, enum media medium, const struct profile *profile,
		      const struct report_style *style)
{
	struct report *report;

	add_head(sheet, medium, profile);
	if (medium & MEDIA_PEOPLE && !profile_total(profile))
		return sheet_status(sheet);
	report = calloc(1, sizeof(*report));
	if (!report || sheet_keep(sheet, report, report_free) < 0)
		return -ENOMEM;
	report->profile = profile;
	report->categories = style->categories;
	report->total = profile_total(profile);
	report->waits = waits_of(profile);
	report->has_ratio = !report->waits && ratio_find(&report->ratio, profile);
	report->other = report->has_ratio ? report->ratio.other : report->waits;
	choose_keys(report, style);
	if (count_groups(report, style) < 0)
		return -ENOMEM;
	choose_rows(report, medium, style);
	if (medium == MEDIA_JSON)
		add_figure(sheet, "no_stack", cell_count(report->totals.no_frames_count));
	add_categories(sheet, report, medium);
	add_rows(sheet, report, medium);
	if (report->nr < report->totals.nr && keep_shown_groups(report) < 0)
		return -ENOMEM;
	if (style->paths.form != REPORT_NONE && medium & MEDIA_PEOPLE) {
		sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
		if (call_tree_sheet_add(sheet, medium, profile, &style->paths) < 0)
			return -ENOMEM;
	}
	return sheet_status(sheet);
}
