/*
 * stook list: prints the events that `stat -e` and other commands accept, or places that can be probed.
 *
 *	$ stook list clock
 *	EVENT       KIND      DESCRIPTION
 *	cpu-clock   software  time on each CPU, by a timer
 *	task-clock  software  time of each thread, by a timer
 *
 * Names come from event/event.h; events that every kernel has a number for are opened for a moment, to see if this
 * machine has them. A pattern with a colon that no event matches is one of functions, static probes or tracepoints, as
 * `stook funccount` has it:
 *
 *	$ stook list 'c:mallo*'
 *	NAME    KIND      FILE                                  OFFSET
 *	malloc  function  /usr/lib/x86_64-linux-gnu/libc.so.6  0x98860
 */
#include "cmd/commands.h"

#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cmd/options/option_table.h"
#include "cmd/outputs.h"
#include "event/event.h"
#include "kernel/perf_open.h"
#include "proc/tracefs.h"
#include "run/complain.h"
#include "run/probe_search.h"
#include "view/table.h"

#define PATTERNS_MAX 64

struct listed {
	enum event_kind kind;
	char *name, *pmu, *description;
	bool is_missing;
};

struct list {
	const char *patterns[PATTERNS_MAX];
	bool is_matched[PATTERNS_MAX]; /* by an event */
	size_t nr_patterns;
	bool missing; /* only what this host lacks */
	struct row_output_options output;
	struct event_host *host;
	struct listed *items;
	size_t nr, cap;
	bool has_counters, has_tracepoints, failed;
};

/* --- options ----------------------------------------------------------------------------------- */

static const struct option_row rows[] = {
	OPTION_SWITCH(0, "missing", struct list, missing, "only the events that this host lacks"),
};

#define USAGE                                                                                    \
	"usage: stook list [OPTIONS] [PATTERN…]\n"                                             \
	"\n"                                                                                     \
	"Lists the events that 'stook stat -e' can count on this host, and 'stook profile -e'\n" \
	"sample by, if their PMU can interrupt. PATTERN is a glob of names, a word in names\n"   \
	"and descriptions, or a kind (hw, sw, cache, pmu, tracepoint); or functions and\n"       \
	"static probes, as 'stook funccount' names them: PROGRAM:FUNCTION.\n"

#define EXAMPLES                                                     \
	"\nexamples:\n"                                              \
	"  stook list                 all events\n"                  \
	"  stook list 'sched:*'       the scheduler's tracepoints\n" \
	"  stook list --json cache\n"                                \
	"  stook list 'c:*alloc*'     functions of libc"

static int take_pattern(void *context, const char *word, struct error *error)
{
	struct list *list = context;

	if (list->nr_patterns == PATTERNS_MAX)
		return error_set(error, -E2BIG, "more than %d patterns", PATTERNS_MAX);
	list->patterns[list->nr_patterns++] = word;
	return 0;
}

static int parse(struct list *list, int argc, char **argv, struct error *error)
{
	const struct option_group groups[] = {
		{rows, ARRAY_SIZE(rows), list},
		row_output_options_group(&list->output),
	};
	const struct option_table table = {
		.groups = groups,
		.nr_groups = ARRAY_SIZE(groups),
		.take_word = take_pattern,
		.context = list,
		.usage = USAGE,
		.examples = EXAMPLES,
	};
	int err = option_table_parse(&table, argc, argv, error);

	return err ? err : row_output_options_check(&list->output, false, error);
}

/* --- events ------------------------------------------------------------------------------------ */

static const char *const kinds[EVENT_NR_KINDS] = {
	[EVENT_HARDWARE] = "hardware", [EVENT_CACHE] = "cache", [EVENT_SOFTWARE] = "software",
	[EVENT_PMU] = "pmu",	       [EVENT_MODEL] = "model", [EVENT_TRACEPOINT] = "tracepoint",
};

/* True for the name of a kind, also one of perf's. */
static bool is_kind(const char *pattern, enum event_kind kind)
{
	static const char *const short_names[EVENT_NR_KINDS] = {
		[EVENT_HARDWARE] = "hw", [EVENT_CACHE] = "hwcache", [EVENT_SOFTWARE] = "sw"};

	return !strcmp(pattern, kinds[kind]) ||
	       (short_names[kind] && !strcmp(pattern, short_names[kind]));
}

/* A name with a colon, which may be a function's, is matched from its beginning: "c:rpc" is not in "sunrpc:rpc". */
static bool matches(const char *pattern, const struct event_name *name)
{
	if (strpbrk(pattern, "*?["))
		return !fnmatch(pattern, name->name, 0);
	if (strchr(pattern, ':'))
		return text_starts_with(name->name, pattern);
	return is_kind(pattern, name->kind) || strcasestr(name->name, pattern) ||
	       strcasestr(name->description, pattern) || strcasestr(name->pmu, pattern);
}

static bool is_wanted(struct list *list, const struct event_name *name)
{
	bool is_any = !list->nr_patterns;
	size_t i;

	for (i = 0; i < list->nr_patterns; i++)
		if (matches(list->patterns[i], name))
			is_any = list->is_matched[i] = true;
	return is_any;
}

static void add(void *context, const struct event_name *name)
{
	struct list *list = context;
	struct listed listed = {.kind = name->kind};

	if (name->kind == EVENT_HARDWARE || name->kind == EVENT_CACHE ||
	    name->kind == EVENT_SOFTWARE)
		listed.is_missing = perf_is_missing(perf_try(name->name));
	else if (name->kind == EVENT_MODEL)
		listed.is_missing = !list->has_counters;
	list->has_tracepoints |= name->kind == EVENT_TRACEPOINT;
	if (listed.is_missing != list->missing || !is_wanted(list, name) || list->failed)
		return;
	listed.name = strdup(name->name);
	listed.pmu = strdup(name->pmu);
	listed.description = strdup(name->description);
	if (listed.name && listed.pmu && listed.description &&
	    ARRAY_ADD(list->items, list->nr, list->cap, listed) == 0)
		return;
	free(listed.name);
	free(listed.pmu);
	free(listed.description);
	list->failed = true;
}

static int compare(const void *a, const void *b)
{
	const struct listed *left = a, *right = b;

	return COMPARE(left->kind, right->kind) ?: strverscmp(left->pmu, right->pmu)
					       ?: strcmp(left->name, right->name);
}

static bool asks_for_tracepoints(const struct list *list)
{
	bool asks = !list->nr_patterns && !list->missing;
	size_t i;

	for (i = 0; i < list->nr_patterns; i++)
		asks |= (!list->is_matched[i] && strchr(list->patterns[i], ':') &&
			 !strchr(list->patterns[i], '/')) ||
			is_kind(list->patterns[i], EVENT_TRACEPOINT);
	return asks;
}

/* Without privileges there are no tracepoints, which is told, but is not an error. */
static int collect(struct list *list, struct error *error)
{
	struct error no_tracefs = {0};
	cleanup_fd int tracefs_fd = tracefs_open(&no_tracefs);
	const struct event_host_options options = {.tracefs_fd = tracefs_fd < 0 ? -1 : tracefs_fd};
	int err;

	list->host = event_host_open(&options, error);
	if (!list->host)
		return -ENOMEM;
	list->has_counters =
		!perf_is_missing(perf_try("cycles")) || !perf_is_missing(perf_try("instructions"));
	err = event_names(list->host, add, list);
	if (err || list->failed)
		return error_no_memory(error, "");
	if (!list->has_tracepoints && asks_for_tracepoints(list))
		complain("tracepoints are not listed: %s",
			 tracefs_fd < 0 ? no_tracefs.text : "only root may read tracefs");
	if (list->nr)
		qsort(list->items, list->nr, sizeof(*list->items), compare);
	return 0;
}

static void clear(struct list *list)
{
	size_t i;

	for (i = 0; i < list->nr; i++) {
		free(list->items[i].name);
		free(list->items[i].pmu);
		free(list->items[i].description);
	}
	free(list->items);
	event_host_close(list->host);
}

/* --- output ------------------------------------------------------------------------------------ */

enum { NAME, KIND, PMU, DESCRIPTION, NR_COLUMNS };

static const struct column columns[NR_COLUMNS] = {
	[NAME] = {"name", "EVENT", .flags = COLUMN_NAME | COLUMN_OVERFLOWS, .least_width = 36},
	[KIND] = {"kind", "KIND"},
	[PMU] = {"pmu", "PMU", .flags = COLUMN_NAME | COLUMN_OPTIONAL},
	[DESCRIPTION] = {"description", "DESCRIPTION", .flags = COLUMN_NAME | COLUMN_OPTIONAL},
};

static void read_row(const void *context, size_t number, struct row *row)
{
	const struct listed *listed = &((const struct list *)context)->items[number];

	row->cells[NAME] = cell_text(listed->name);
	row->cells[KIND] = cell_text(kinds[listed->kind]);
	row->cells[PMU] = cell_text(*listed->pmu ? listed->pmu : NULL);
	row->cells[DESCRIPTION] = cell_text(*listed->description ? listed->description : NULL);
}

static int print(const struct list *list, struct error *error)
{
	const struct table table = {
		.name = "events",
		.columns = columns,
		.nr_columns = NR_COLUMNS,
		.nr_rows = list->nr,
		.read_row = read_row,
		.context = list,
		.never_cut = true,
	};
	cleanup(sheet_clear) struct sheet sheet = {0};

	sheet_add_table(&sheet, MEDIA_ALL, &table);
	return row_outputs_write_once(&list->output, &sheet, error);
}

/* --- probes ------------------------------------------------------------------------------------ */

/* Returns the first pattern that names probes, or that names events; NULL: there is none. */
static const char *first_pattern(const struct list *list, bool of_probes)
{
	size_t i;

	for (i = 0; i < list->nr_patterns; i++)
		if ((!list->is_matched[i] && strchr(list->patterns[i], ':')) == of_probes)
			return list->patterns[i];
	return NULL;
}

static int list_probes(const struct list *list, struct error *error)
{
	const struct run_config tasks = {0};
	struct probe_options options = PROBE_OPTIONS_INIT;
	struct probe_search search = {0};
	struct sheet sheet = {0};
	int err;

	memcpy(options.patterns, list->patterns, sizeof(list->patterns));
	options.nr_patterns = list->nr_patterns;
	err = probe_search_list(&search, &options, &tasks, error);
	if (!err) {
		probe_list_fill(&sheet, &search.list);
		err = row_outputs_write_once(&list->output, &sheet, error);
	}
	sheet_clear(&sheet);
	probe_search_clear(&search);
	return err;
}

static int list_events(struct list *list, struct error *error)
{
	const char *probes, *others;
	int err = collect(list, error);

	if (err)
		return err;
	probes = list->missing ? NULL : first_pattern(list, true);
	others = first_pattern(list, false);
	if (probes && others)
		return error_set(
			error, -EINVAL,
			"'%s' is no event, '%s' no function: list them one after the other", probes,
			others);
	if (probes)
		return list_probes(list, error);
	if (!list->nr && list->nr_patterns) {
		(void)error_set(error, -ENOENT, "no event matches '%s'%s", list->patterns[0],
				list->missing ? ", of those that this host lacks" : "");
		error_hint(error, list->missing
					  ? "'stook list' has the others"
					  : "'stook list --missing' has events that this "
					    "host lacks, 'stook list PROGRAM:FUNCTION' functions");
		return -ENOENT;
	}
	return print(list, error);
}

int cmd_list(int argc, char **argv)
{
	struct list list = {0};
	struct error error = {0};
	int err = parse(&list, argc, argv, &error);

	if (err) {
		if (err < 0)
			complain_error(&error);
		return err < 0 ? EXIT_USAGE : 0;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	err = list_events(&list, &error);
	clear(&list);
	return complain_on_error(err, &error) ? 0 : EXIT_FAILED;
}
