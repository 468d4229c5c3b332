/*
 * Rows of tasks: a thread is added to the row of its keys, so memory grows with the rows and not
 * with the threads of the run. Beyond max_rows the first row takes all others.
 */
#include "view/task_times.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/text.h"
#include "profile/sort.h"

#define OTHERS "[others]"

/* --- rows ------------------------------------------------------------------------------------- */

void task_times_clear(struct task_times *times)
{
	size_t i;

	for (i = 0; i < times->nr; i++)
		free(times->rows[i].cgroup_path);
	free(times->rows);
	free(times->ran_ns);
	free(times->order);
	number_index_clear(&times->index);
	*times = (struct task_times){
		.keys = times->keys, .max_rows = times->max_rows, .nr_cpus = times->nr_cpus};
}

static uint64_t hash_of(const struct task_times *times, const struct task_time *one)
{
	uint64_t hash = 0;

	if (times->keys & TASK_COMM)
		hash = hash_key(one->comm, strlen(one->comm));
	if (times->keys & TASK_PID)
		hash = hash_add(hash, one->pid);
	if (times->keys & TASK_TID)
		hash = hash_add(hash, one->tid);
	if (times->keys & TASK_CGROUP)
		hash = hash_add(hash, one->cgroup);
	return times->keys & TASK_CPU ? hash_add(hash, one->cpu) : hash;
}

static bool is_same(const struct task_times *times, const struct task_time *a,
		    const struct task_time *b)
{
	return !(times->keys & TASK_COMM && strcmp(a->comm, b->comm) != 0) &&
	       !(times->keys & TASK_PID && a->pid != b->pid) &&
	       !(times->keys & TASK_TID && a->tid != b->tid) &&
	       !(times->keys & TASK_CGROUP && a->cgroup != b->cgroup) &&
	       !(times->keys & TASK_CPU && a->cpu != b->cpu);
}

/* Makes a row with the keys of a task and no sums. */
static int add_row(struct task_times *times, uint64_t hash, const struct task_time *one)
{
	size_t nr_ran = (times->nr + 1) * times->nr_cpus;

	if (ARRAY_RESERVE(times->rows, times->cap, times->nr + 1) < 0 ||
	    (times->nr_cpus && ARRAY_RESERVE(times->ran_ns, times->cap_ran, nr_ran) < 0) ||
	    number_index_reserve(&times->index) < 0)
		return -ENOMEM;
	times->rows[times->nr] = (struct task_time){
		.pid = one->pid, .tid = one->tid, .cpu = one->cpu, .cgroup = one->cgroup};
	memcpy(times->rows[times->nr].comm, one->comm, sizeof(one->comm));
	if (times->nr_cpus)
		memset(times->ran_ns + times->nr * times->nr_cpus, 0,
		       times->nr_cpus * sizeof(*times->ran_ns));
	number_index_add(&times->index, hash, (uint32_t)times->nr++);
	return 0;
}

static int find_row(struct task_times *times, const struct task_time *one, uint32_t *ret)
{
	static const struct task_time others = {.comm = OTHERS, .tid = UINT32_MAX};
	uint64_t hash = hash_of(times, one);
	size_t probe = 0;

	while (number_index_next(&times->index, hash, &probe, ret))
		if (is_same(times, &times->rows[*ret], one))
			return 0;
	if (times->nr < times->max_rows) {
		*ret = (uint32_t)times->nr;
		return add_row(times, hash, one);
	}
	times->nr_over += one->nr_threads;
	*ret = (uint32_t)times->max_rows;
	return times->nr > times->max_rows ? 0 : add_row(times, hash_of(times, &others), &others);
}

int task_times_add(struct task_times *times, const struct task_time *one, const uint64_t *ran_ns)
{
	struct task_time *row;
	uint32_t number;
	int err = find_row(times, one, &number);

	if (err)
		return err;
	row = &times->rows[number];
	add_words(&row->sums, &one->sums, sizeof(row->sums));
	row->nr_threads += one->nr_threads;
	row->idle_ns += one->idle_ns;
	if (one->longest.epoch &&
	    (!row->longest.epoch || one->longest.delay_ns > row->longest.delay_ns))
		row->longest = one->longest;
	if (ran_ns)
		add_words(times->ran_ns + number * times->nr_cpus, ran_ns,
			  times->nr_cpus * sizeof(*ran_ns));
	return 0;
}

/* --- order ------------------------------------------------------------------------------------ */

static uint64_t switches_of(const struct sched_numbers *numbers)
{
	return numbers->voluntary + numbers->involuntary;
}

static double average_ns(const struct task_time *row)
{
	const struct sched_numbers *numbers = &row->sums.numbers;

	return numbers->waits ? (double)numbers->delay_ns / (double)numbers->waits : 0;
}

static int compare_names(const struct task_time *a, const struct task_time *b)
{
	int difference = strcmp(a->comm, b->comm);

	if (difference)
		return difference;
	return COMPARE(a->cgroup, b->cgroup) ?: COMPARE(a->pid, b->pid)
		       ?: COMPARE(a->tid, b->tid) ?: COMPARE(a->cpu, b->cpu);
}

static int compare_figures(const struct task_time *a, const struct task_time *b,
			   enum task_order order)
{
	const struct sched_numbers *left = &a->sums.numbers, *right = &b->sums.numbers;

	switch (order) {
	case TASK_BY_AVG:
		return COMPARE(average_ns(a), average_ns(b));
	case TASK_BY_MAX:
		return COMPARE(a->longest.delay_ns, b->longest.delay_ns);
	case TASK_BY_RUNTIME:
		return COMPARE(left->run_ns, right->run_ns);
	case TASK_BY_SWITCHES:
		return COMPARE(switches_of(left), switches_of(right));
	case TASK_BY_DELAY:
		return COMPARE(left->delay_ns, right->delay_ns);
	case TASK_BY_MIGRATIONS:
		return COMPARE(left->migrations, right->migrations);
	case TASK_BY_NAME:
		break;
	}
	return 0;
}

struct ordering {
	const struct task_time *rows;
	enum task_order order;
};

/* The largest first; of equal ones that which ran longer, as in perf. */
static int compare_rows(const void *a, const void *b, void *context)
{
	const struct ordering *ordering = context;
	const struct task_time *left = &ordering->rows[*(const uint32_t *)a];
	const struct task_time *right = &ordering->rows[*(const uint32_t *)b];
	int difference = compare_figures(right, left, ordering->order);

	if (!difference && ordering->order != TASK_BY_NAME)
		difference = compare_figures(right, left, TASK_BY_RUNTIME);
	return difference ? difference : compare_names(left, right);
}

int task_times_choose(struct task_times *times, enum task_order order, size_t top)
{
	const struct ordering ordering = {times->rows, order};

	free(times->order);
	times->order = sort_numbers(times->nr, compare_rows, &ordering);
	times->nr_shown = top && top < times->nr ? top : times->nr;
	return times->order || !times->nr ? 0 : -ENOMEM;
}

/* --- columns ---------------------------------------------------------------------------------- */

#define MS(column, title)                                                                          \
	{                                                                                          \
		column, title "(ms)", .flags = COLUMN_NUMBER, .media = MEDIA_PEOPLE, .decimals = 3 \
	}
#define AT(column, title)                                                                         \
	{                                                                                         \
		column, title "(s)", .flags = COLUMN_NUMBER, .media = MEDIA_PEOPLE, .decimals = 6 \
	}
#define FIGURE(column)                                                                    \
	{                                                                                 \
		column, .flags = COLUMN_NUMBER | COLUMN_VERBATIM, .media = MEDIA_PROGRAMS \
	}

/* Each table has these, as far as its keys, its medium and its style need them. */
enum column_number {
	COLUMN_TASK,
	COLUMN_COMM,
	COLUMN_PID,
	COLUMN_TID,
	COLUMN_CGROUP,
	COLUMN_CPU,
	COLUMN_THREADS,
	COLUMN_RUNTIME,
	COLUMN_BUSY,
	COLUMN_SWITCHES,
	COLUMN_MIGRATIONS,
	COLUMN_AVG,
	COLUMN_MAX,
	COLUMN_MAX_CPU,
	COLUMN_START,
	COLUMN_END,
	COLUMN_PLACES,
	COLUMN_RUN_NS,
	COLUMN_IDLE_NS,
	COLUMN_NR_SWITCHES,
	COLUMN_VOLUNTARY,
	COLUMN_INVOLUNTARY,
	COLUMN_NR_MIGRATIONS,
	COLUMN_WAITS,
	COLUMN_UNSPLIT,
	COLUMN_DELAY_NS,
	COLUMN_MAX_NS,
	COLUMN_MAX_END_NS,
	COLUMN_MAX_ON_CPU,
	COLUMN_HIST,
	COLUMN_RAN,
	NR_COLUMNS
};

static const struct column all_columns[NR_COLUMNS] = {
	[COLUMN_TASK] = {"task", "TASK", .flags = COLUMN_NAME, .media = MEDIA_PEOPLE,
			 .least_width = 24},
	[COLUMN_COMM] = {"comm", "COMM", .flags = COLUMN_NAME, .least_width = 16},
	[COLUMN_PID] = {"pid", "PID", .flags = COLUMN_NUMBER, .least_width = 7},
	[COLUMN_TID] = {"tid", "TID", .flags = COLUMN_NUMBER, .least_width = 7},
	[COLUMN_CGROUP] = {"cgroup", "CGROUP", .flags = COLUMN_NAME},
	[COLUMN_CPU] = {"cpu", "CPU", .flags = COLUMN_NUMBER},
	[COLUMN_THREADS] = FIGURE("threads"),
	[COLUMN_RUNTIME] = MS("runtime(ms)", "RUNTIME"),
	[COLUMN_BUSY] = {"busy", "BUSY", UNIT_PERCENT, COLUMN_NUMBER | COLUMN_HEAT, MEDIA_PEOPLE,
			 .decimals = 1},
	[COLUMN_SWITCHES] = {"switches", "SWITCHES", .flags = COLUMN_NUMBER, .media = MEDIA_PEOPLE},
	[COLUMN_MIGRATIONS] = {"migrations", "MIGRATIONS", .flags = COLUMN_NUMBER,
			       .media = MEDIA_PEOPLE},
	[COLUMN_AVG] = MS("avg_delay(ms)", "AVG DELAY"),
	[COLUMN_MAX] = MS("max_delay(ms)", "MAX DELAY"),
	[COLUMN_MAX_CPU] = {"max_cpu", "MAX CPU", .flags = COLUMN_NUMBER, .media = MEDIA_PEOPLE},
	[COLUMN_START] = AT("max_delay_start", "MAX DELAY START"),
	[COLUMN_END] = AT("max_delay_end", "MAX DELAY END"),
	[COLUMN_PLACES] = {"places", "PLACES", .media = MEDIA_PEOPLE, .flags = COLUMN_MAIN},
	[COLUMN_RUN_NS] = FIGURE("run_ns"),
	[COLUMN_IDLE_NS] = FIGURE("idle_ns"),
	[COLUMN_NR_SWITCHES] = FIGURE("switches"),
	[COLUMN_VOLUNTARY] = FIGURE("voluntary"),
	[COLUMN_INVOLUNTARY] = FIGURE("involuntary"),
	[COLUMN_NR_MIGRATIONS] = FIGURE("migrations"),
	[COLUMN_WAITS] = FIGURE("waits"),
	[COLUMN_UNSPLIT] = FIGURE("unsplit"),
	[COLUMN_DELAY_NS] = FIGURE("delay_ns"),
	[COLUMN_MAX_NS] = FIGURE("max_delay_ns"),
	[COLUMN_MAX_END_NS] = FIGURE("max_delay_end_ns"),
	[COLUMN_MAX_ON_CPU] = FIGURE("max_delay_cpu"),
	[COLUMN_HIST] = {"histogram", "HISTOGRAM", .flags = COLUMN_HISTOGRAM},
	[COLUMN_RAN] = {"ran_ns", .flags = COLUMN_HISTOGRAM, .media = MEDIA_JSON},
};

/* What a sheet needs besides the rows, owned by the sheet. */
struct filling {
	const struct task_times *times;
	const struct task_times_style *style;
	struct column *columns;
	uint8_t numbers[NR_COLUMNS]; /* enum column_number of each */
	size_t nr_columns;
	struct histogram_range delays[SCHED_SLOTS];
	struct histogram_range *places; /* by CPU */
	char *heading;			/* of the map */
	char *map;			/* of the row that was read last */
	size_t map_bytes;
	struct histogram delay, ran; /* of the row that was read last */
	struct task_time total;
};

static void filling_free(void *context)
{
	struct filling *filling = context;

	free(filling->places);
	free(filling->heading);
	free(filling->map);
	free(filling);
}

static void add_column(struct filling *filling, enum column_number number)
{
	filling->columns[filling->nr_columns] = all_columns[number];
	if (number == COLUMN_PLACES)
		filling->columns[filling->nr_columns].heading = filling->heading;
	filling->numbers[filling->nr_columns++] = (uint8_t)number;
}

static void add_columns(struct filling *filling, enum column_number first, enum column_number last)
{
	unsigned number;

	for (number = first; number <= last; number++)
		add_column(filling, (enum column_number)number);
}

static void make_columns(struct filling *filling)
{
	const struct task_times_style *style = filling->style;
	unsigned keys = filling->times->keys;
	bool has_map = filling->times->nr_cpus;
	unsigned key;

	if (style->is_plain) {
		add_column(filling, COLUMN_TASK);
		keys = TASK_COMM | TASK_TID;
	}
	for (key = 0; key < 5; key++) {
		if (!(keys & 1U << key))
			continue;
		add_column(filling, (enum column_number)(COLUMN_COMM + key));
		if (style->is_plain)
			filling->columns[filling->nr_columns - 1].media = MEDIA_PROGRAMS;
	}
	add_columns(filling, COLUMN_THREADS, COLUMN_RUNTIME);
	if (keys & TASK_CPU)
		add_column(filling, COLUMN_BUSY);
	if (has_map)
		add_column(filling, COLUMN_PLACES);
	else
		add_columns(filling, COLUMN_SWITCHES,
			    style->has_histograms ? COLUMN_MAX : COLUMN_END);
	add_columns(filling, COLUMN_RUN_NS, COLUMN_MAX_ON_CPU);
	if (style->has_histograms)
		add_column(filling, COLUMN_HIST);
	if (has_map)
		add_column(filling, COLUMN_RAN);
}

/* --- the map ---------------------------------------------------------------------------------- */

/* More CPUs are a character each, so that all fit into a line. */
#define PLACES_WIDE_MAX 16
#define PLACE_WIDTH	6

static double percent(uint64_t part, double whole_ns)
{
	return whole_ns > 0 ? 100 * (double)part / whole_ns : 0;
}

/* A digit for each tenth of a CPU's time, `#` if it is nearly all. */
static char place_character(double share)
{
	if (share >= 95)
		return '#';
	if (share >= 9.5)
		return (char)('0' + (int)((share + 0.5) / 10));
	return share >= 0.05 ? '.' : ' ';
}

static void write_places(const struct filling *filling, const uint64_t *ran_ns, char *to,
			 size_t bytes)
{
	double whole_ns = filling->style->seconds * (double)NS_PER_SEC;
	size_t nr = filling->style->nr_cpus, at = 0, i;

	for (i = 0; i < nr; i++) {
		uint64_t ns = ran_ns[filling->style->cpus[i].cpu];
		double share = percent(ns, whole_ns);

		if (nr > PLACES_WIDE_MAX && at + 1 < bytes)
			to[at++] = place_character(share);
		else if (nr <= PLACES_WIDE_MAX && ns)
			at += (size_t)snprintf(to + at, bytes - at, "%*.1f", PLACE_WIDTH, share);
		else if (nr <= PLACES_WIDE_MAX)
			at += (size_t)snprintf(to + at, bytes - at, "%*s", PLACE_WIDTH, "");
	}
	to[at < bytes ? at : bytes - 1] = '\0';
}

/* "CPU0  CPU1", or for many CPUs "CPUS 0-127". */
static char *make_heading(const struct task_times_style *style)
{
	size_t nr = style->nr_cpus, i;
	char *text = calloc(nr + 8, PLACE_WIDTH + 6), *at = text;

	if (!text || !nr)
		return text;
	if (nr > PLACES_WIDE_MAX) {
		(void)sprintf(text, "CPUS %u-%u", style->cpus[0].cpu, style->cpus[nr - 1].cpu);
		return text;
	}
	for (i = 0; i < nr; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "CPU%u", style->cpus[i].cpu);
		at += sprintf(at, "%*s", PLACE_WIDTH, name);
	}
	return text;
}

/* --- cells ------------------------------------------------------------------------------------ */

static struct cell ms(double ns)
{
	return cell_real(ns / (double)NS_PER_MS);
}

static struct cell at_seconds(const struct task_time *row, uint64_t ns)
{
	return row->longest.epoch ? cell_real((double)ns / (double)NS_PER_SEC) : cell_text(NULL);
}

static struct cell if_known(const struct task_time *row, uint64_t number)
{
	return row->longest.epoch ? cell_count(number) : cell_text(NULL);
}

static struct cell task_cell(const struct task_time *row, char *scratch, size_t bytes)
{
	if (row->tid == UINT32_MAX)
		return cell_text(row->comm);
	if (row->nr_threads == 1)
		(void)snprintf(scratch, bytes, "%s:%u", row->comm, row->tid);
	else
		(void)snprintf(scratch, bytes, "%s:(%zu)", row->comm, row->nr_threads);
	return cell_text(scratch);
}

static struct cell cgroup_cell(const struct task_time *row, char *scratch, size_t bytes)
{
	if (row->cgroup_path)
		return cell_text(row->cgroup_path);
	(void)snprintf(scratch, bytes, "%" PRIu64, row->cgroup);
	return cell_text(scratch);
}

static struct cell make_cell(struct filling *filling, const struct task_time *row,
			     const uint64_t *ran_ns, enum column_number number, char *scratch,
			     size_t bytes)
{
	const struct sched_numbers *numbers = &row->sums.numbers;
	const struct sched_longest *longest = &row->longest;
	bool is_others = row->tid == UINT32_MAX;

	switch (number) {
	case COLUMN_TASK:
		return task_cell(row, scratch, bytes);
	case COLUMN_COMM:
		return cell_text(row->comm);
	case COLUMN_PID:
		return is_others ? cell_text(NULL) : cell_count(row->pid);
	case COLUMN_TID:
		return is_others || (filling->style->is_plain && row->nr_threads != 1)
			       ? cell_text(NULL)
			       : cell_count(row->tid);
	case COLUMN_CGROUP:
		return cgroup_cell(row, scratch, bytes);
	case COLUMN_CPU:
		return cell_count(row->cpu);
	case COLUMN_THREADS:
		return cell_count(row->nr_threads);
	case COLUMN_RUNTIME:
		return ms((double)numbers->run_ns);
	case COLUMN_BUSY:
		return cell_real(
			100 - percent(row->idle_ns, filling->style->seconds * (double)NS_PER_SEC));
	case COLUMN_SWITCHES:
	case COLUMN_NR_SWITCHES:
		return cell_count(switches_of(numbers));
	case COLUMN_MIGRATIONS:
	case COLUMN_NR_MIGRATIONS:
		return cell_count(numbers->migrations);
	case COLUMN_AVG:
		return ms(average_ns(row));
	case COLUMN_MAX:
		return ms((double)longest->delay_ns);
	case COLUMN_MAX_CPU:
	case COLUMN_MAX_ON_CPU:
		return if_known(row, longest->cpu);
	case COLUMN_START:
		return at_seconds(row, longest->end_ns - longest->delay_ns);
	case COLUMN_END:
		return at_seconds(row, longest->end_ns);
	case COLUMN_PLACES:
		write_places(filling, ran_ns, filling->map, filling->map_bytes);
		return cell_text(filling->map);
	case COLUMN_RUN_NS:
		return cell_count(numbers->run_ns);
	case COLUMN_IDLE_NS:
		return filling->times->keys & TASK_CPU ? cell_count(row->idle_ns) : cell_text(NULL);
	case COLUMN_VOLUNTARY:
		return cell_count(numbers->voluntary);
	case COLUMN_INVOLUNTARY:
		return cell_count(numbers->involuntary);
	case COLUMN_WAITS:
		return cell_count(numbers->waits);
	case COLUMN_UNSPLIT:
		return cell_count(row->sums.unsplit);
	case COLUMN_DELAY_NS:
		return cell_count(numbers->delay_ns);
	case COLUMN_MAX_NS:
		return if_known(row, longest->delay_ns);
	case COLUMN_MAX_END_NS:
		return if_known(row, longest->end_ns);
	case COLUMN_HIST:
		filling->delay.counts = (const uint64_t *)row->sums.slots;
		return (struct cell){.kind = CELL_HISTOGRAM, .histogram = &filling->delay};
	case COLUMN_RAN:
		filling->ran.counts = ran_ns;
		return (struct cell){.kind = CELL_HISTOGRAM, .histogram = &filling->ran};
	case NR_COLUMNS:
		break;
	}
	return cell_text(NULL);
}

static void read_row(const void *context, size_t number, struct row *row)
{
	struct filling *filling = (struct filling *)context;
	const struct task_times *times = filling->times;
	const struct task_time *task;
	const uint64_t *ran_ns = NULL;
	size_t i;

	task = &times->rows[times->order[number]];
	if (times->nr_cpus)
		ran_ns = times->ran_ns + times->order[number] * times->nr_cpus;
	/* At most one cell of a row has a text in scratch. */
	for (i = 0; i < filling->nr_columns; i++)
		row->cells[i] = make_cell(filling, task, ran_ns, filling->numbers[i], row->scratch,
					  sizeof(row->scratch));
}

/* --- the sheet -------------------------------------------------------------------------------- */

static struct filling *make_filling(const struct task_times *times,
				    const struct task_times_style *style)
{
	struct filling *filling = calloc(1, sizeof(*filling));
	size_t i;

	if (!filling)
		return NULL;
	filling->times = times;
	filling->style = style;
	filling->places = calloc(times->nr_cpus + 1, sizeof(*filling->places));
	filling->heading = make_heading(style);
	filling->map_bytes = style->nr_cpus * (PLACE_WIDTH + 2) + 1;
	filling->map = calloc(1, filling->map_bytes);
	if (!filling->places || !filling->heading || !filling->map) {
		filling_free(filling);
		return NULL;
	}
	for (i = 0; i < times->nr_cpus; i++)
		filling->places[i] = (struct histogram_range){(int64_t)i, (int64_t)i};
	for (i = 0; i < SCHED_SLOTS; i++)
		filling->delays[i] = (struct histogram_range){
			i ? INT64_C(1) << i : 0,
			i < SCHED_SLOTS - 1 ? (INT64_C(2) << i) - 1 : INT64_MAX};
	filling->delay =
		(struct histogram){.ranges = filling->delays, .nr = SCHED_SLOTS, .title = "usecs"};
	filling->ran = (struct histogram){.ranges = filling->places, .nr = times->nr_cpus};
	return filling;
}

/* The last line of perf's table: all tasks, not only the ones that are shown. */
static void add_total(struct sheet *sheet, const struct task_times *times)
{
	char number[NUMBER_COMMAS_BYTES];
	uint64_t run_ns = 0, switches = 0;
	size_t i;

	for (i = 0; i < times->nr; i++) {
		run_ns += times->rows[i].sums.numbers.run_ns;
		switches += switches_of(&times->rows[i].sums.numbers);
	}
	sheet_add_line(sheet, MEDIA_PEOPLE, LINE_PLAIN);
	sheet_add_words(sheet, "TOTAL: %.3f ms, %s switches", (double)run_ns / (double)NS_PER_MS,
			number_commas(number, switches));
}

/* How busy each CPU was, above the map. */
static void add_busy(struct sheet *sheet, const struct task_times_style *style)
{
	double whole_ns = style->seconds * (double)NS_PER_SEC;
	size_t i;

	sheet_add_line(sheet, MEDIA_PEOPLE, LINE_PLAIN);
	sheet_add_words(sheet, "busy:");
	for (i = 0; i < style->nr_cpus; i++)
		sheet_add_words(sheet, " CPU%u %.1f%%", style->cpus[i].cpu,
				100 - percent(style->cpus[i].idle_ns, whole_ns));
	sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
}

void task_times_fill(struct sheet *sheet, const struct task_times *times,
		     const struct task_times_style *style)
{
	struct table table = {
		.name = "tasks",
		.nr_rows = times->nr_shown,
		.read_row = read_row,
		.never_cut = true,
	};
	struct filling *filling = make_filling(times, style);
	struct column *columns = sheet_begin_interval(sheet, style->time, style->seconds,
						      MEDIA_PROGRAMS, style->shows_time);
	size_t i;

	sheet->failed |= !filling || sheet_keep(sheet, filling, filling_free) < 0;
	if (sheet->failed)
		return;
	filling->columns = columns;
	make_columns(filling);
	table.columns = columns;
	table.nr_columns = filling->nr_columns;
	table.context = filling;
	for (i = 0; i < style->nr_figures; i++) {
		const struct column figure = {style->figure_names[i]};

		sheet_add_figure(sheet, MEDIA_JSON, &figure, cell_count(style->figures[i]));
	}
	if (times->nr_cpus)
		add_busy(sheet, style);
	sheet_add_table(sheet, MEDIA_ALL, &table);
	if (!style->has_histograms && !times->nr_cpus && !(times->keys & TASK_CPU))
		add_total(sheet, times);
}
