/*
 * stook query: what a host was doing, from a store of profiles over time.
 *
 *	$ stook query --store /var/lib/stook/store --from 03:00 --to 03:15 --where 'comm=redis-server'
 *	stook: 2026-11-23 03:00:00 to 03:15:00: 90 epochs, 15m measured at 19 Hz
 *	17,104 samples
 *
 *	 SELF  SAMPLES  TOTAL  FUNCTION                       MODULE
 *	…
 *
 * The answer to a query is a profile, and all that `stook report` can do with one is done by the same code; --diff
 * makes a difference of two answers, as `stook diff` prints it.
 *
 * A store is foreign: run as root, this reads it in a process without rights, like any profile (cmd/confined.h).
 */
#include "cmd/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "cmd/confined.h"
#include "cmd/inputs.h"
#include "cmd/options/output_options.h"
#include "cmd/report_options.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "run/complain.h"
#include "run/outputs.h"
#include "store/store.h"
#include "store/where.h"
#include "view/diff/comparison.h"
#include "view/diff/growth.h"
#include "view/label_totals.h"
#include "view/table.h"

#define LABELS_MAX  16
#define DIFF_SLICES 16 /* of each side, whose differences show how much the load varies anyway */
#define RANGE_BYTES (2 * MOMENT_BYTES + 8)

#define NS_PER_HOUR (3600 * NS_PER_SEC)
#define NS_PER_DAY  (24 * NS_PER_HOUR)

/* Lengths of periods for --regressions, and after how many of them the load repeats. */
static const struct {
	uint64_t length_ns;
	size_t cycle;
	const char *name;
} periods[] = {{NS_PER_DAY, 7, "days"}, {NS_PER_HOUR, 24, "hours"}};

/* A range as it was given: --diff -1d, or FROM..TO. */
struct diff_range {
	const char *text; /* NULL: not given */
	uint64_t shift_ns;
	char from[MOMENT_BYTES], to[MOMENT_BYTES]; /* if shift_ns is 0 */
};

struct query_options {
	struct report_command_options report; /* its inputs are the files of the store */
	const char *store;
	const char *from, *to; /* NULL: default */
	struct store_where *where;
	const char *where_text, *value;
	char *labels_text;
	const char *labels[LABELS_MAX]; /* of --by, with keys that are not those of a sample */
	size_t nr_labels;
	struct diff_range diff;
	bool lists, finds_growth, json;
};

struct query {
	struct query_options options;
	char *files[STORE_NR_FILES];
	uint64_t now_ns, from_ns, to_ns, before_from_ns, before_to_ns;
	struct inputs inputs;
	struct outputs outputs;
	struct comparison_style comparison;
	char names[2][RANGE_BYTES];
	struct sheet sheet;
};

/* --- the command line ------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum label label;
} fixed_labels[] = {
	{"comm", LABEL_COMM},	{"pid", LABEL_PID},	  {"tid", LABEL_TID},
	{"cpu", LABEL_CPU},	{"cgroup", LABEL_CGROUP}, {"probe", LABEL_PROBE},
	{"state", LABEL_PROBE},
};

static int take_label(struct query_options *options, const char *name, struct error *error)
{
	unsigned *labels = &options->report.request.labels;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fixed_labels); i++)
		if (!strcmp(fixed_labels[i].name, name)) {
			*labels |= fixed_labels[i].label;
			return 0;
		}
	if (!*name)
		return error_set(error, -EINVAL, "a label of --by is empty");
	if (options->nr_labels == LABELS_MAX)
		return error_set(error, -EINVAL, "more than %d labels for --by", LABELS_MAX);
	*labels |= LABEL_SET;
	options->labels[options->nr_labels++] = name;
	return 0;
}

static int take_by(void *context, const char *value, struct error *error)
{
	struct query_options *options = context;
	char *rest, *name;
	int err = 0;

	free(options->labels_text);
	options->labels_text = rest = strdup(value);
	options->report.request.labels = 0;
	options->nr_labels = 0;
	if (!rest)
		return error_no_memory(error, "");
	while (!err && (name = strsep(&rest, ",")))
		err = take_label(options, name, error);
	return err;
}

static int take_where(void *context, const char *value, struct error *error)
{
	struct query_options *options = context;

	store_where_free(options->where);
	options->where = store_where_parse(value, error);
	options->where_text = value;
	return options->where ? 0 : -EINVAL;
}

/* Only the form; FROM and TO are checked with the clock. */
static int take_diff(void *context, const char *value, struct error *error)
{
	static const char wanted[] = "-1d for the same time a day ago, or FROM..TO";
	struct query_options *options = context;
	struct diff_range *range = &options->diff;
	const char *dots = strstr(value, "..");

	*range = (struct diff_range){.text = value};
	if (!dots) {
		if (*value != '-' || moment_parse_length(value + 1, &range->shift_ns) < 0 ||
		    !range->shift_ns)
			return option_bad(error, "--diff", value, wanted);
		return 0;
	}
	if (dots == value || (size_t)(dots - value) >= sizeof(range->from) || !dots[2] ||
	    strlen(dots + 2) >= sizeof(range->to))
		return option_bad(error, "--diff", value, wanted);
	memcpy(range->from, value, (size_t)(dots - value));
	(void)strcpy(range->to, dots + 2);
	return 0;
}

static const struct option_row rows[] = {
	OPTION_TEXT(0, "store", "PATH", struct query_options, store, "the store to read"),
	OPTION_TEXT(0, "from", "TIME", struct query_options, from,
		    "beginning (default -1h): -2d, 03:12, '2026-11-23 03:12', @SECONDS"),
	OPTION_TEXT(0, "to", "TIME", struct query_options, to, "end (default now)"),
	{0, "where", "CONDITION", take_where,
	 "only samples with such labels: 'comm=redis-server && cgroup~docker'"},
	{0, "by", "LABEL,…", take_by,
	 "labels at the root of call paths: comm (default), pid, tid, cpu, cgroup, state, or any "
	 "other"},
	OPTION_TEXT(0, "value", "NAME", struct query_options, value,
		    "the value to show (default cpu)"),
	OPTION_SWITCH(0, "list", struct query_options, lists,
		      "show which times, values and labels the store has"),
	{0, "diff", "RANGE", take_diff,
	 "compare with another time: -1d for the same time a day ago, or FROM..TO"},
	OPTION_SWITCH(0, "regressions", struct query_options, finds_growth,
		      "list the functions that take more of their service's time since some day"),
	OPTION_SWITCH(0, "json", struct query_options, json, "the same as --format json"),
};

/* Tables without a profile have no pictures. */
static int check_formats(struct query_options *options, struct error *error)
{
	struct output_options *output = &options->report.output;
	const char *option = options->lists ? "--list" : "--regressions";
	size_t i;

	if (options->json)
		output->stdout_format = format_by_name("json");
	if (!options->lists && !options->finds_growth)
		return 0;
	for (i = 0; i < output->nr_paths; i++) {
		const struct format *format = format_by_path(output->paths[i]);

		if (format && !format->is_table)
			return error_set(error, -EINVAL,
					 "'%s' cannot have the table of %s: use .txt, .md, .csv or "
					 ".json",
					 output->paths[i], option);
	}
	if (output->stdout_format && !output->stdout_format->is_table)
		return error_set(error, -EINVAL, "%s has no format %s: use report, md, csv or json",
				 option, output->stdout_format->name);
	return 0;
}

static int check_modes(const struct query_options *options, struct error *error)
{
	if (options->lists + options->finds_growth + (options->diff.text != NULL) > 1)
		return error_set(error, -EINVAL,
				 "only one of --list, --diff and --regressions can be given");
	if (options->store)
		return 0;
	(void)error_set(error, -EINVAL, "no store given");
	error_hint(error, "name the file that 'stook agent' writes: --store PATH");
	return -EINVAL;
}

static int refuse_word(void *context, const char *word, struct error *error)
{
	(void)error_set(error, -EINVAL, "unexpected argument '%s'", word);
	error_hint(error, "a store is given by --store, a condition by --where");
	return -EINVAL;
}

static int parse(struct query_options *options, int argc, char **argv, struct error *error)
{
	const struct option_group groups[] = {
		{rows, ARRAY_SIZE(rows), options},
		report_options_group(&options->report),
		output_options_group(&options->report.output),
		filter_options_group(&options->report.request.filter),
		quiet_option_group(&options->report.request.is_quiet),
	};
	const struct option_table table = {
		.groups = groups,
		.nr_groups = ARRAY_SIZE(groups),
		.take_word = refuse_word,
		.usage = "usage: stook query --store PATH [--from TIME] [--to TIME] [OPTIONS]\n"
			 "\n"
			 "Shows what a host was doing, from the profiles that 'stook agent' "
			 "keeps.\n",
		.examples =
			"\nexamples:\n"
			"  stook query --store STORE --list\n"
			"  stook query --store STORE --from 03:00 --to 03:15\n"
			"  stook query --store STORE --where 'comm=redis-server' -o redis.html\n"
			"  stook query --store STORE --diff -1d\n"
			"  stook query --store STORE --regressions",
	};
	int err = option_table_parse(&table, argc, argv, error);

	if (!err)
		err = check_modes(options, error);
	if (!err)
		err = check_formats(options, error);
	report_options_choose_categories(&options->report);
	return err;
}

/* --- ranges of time --------------------------------------------------------------------------- */

static int bad_time(const char *option, const char *value, struct error *error)
{
	return option_bad(error, option, value, MOMENT_WANTED);
}

static int find_range(const char *from, const char *to, uint64_t now_ns, const char *const names[2],
		      uint64_t ret[2], struct error *error)
{
	uint64_t ns;

	if (moment_parse(to, now_ns, &ns) < 0)
		return bad_time(names[1], to, error);
	if (moment_parse_range(from, to, now_ns, &ret[0], &ret[1]) < 0)
		return bad_time(names[0], from, error);
	if (ret[0] < ret[1])
		return 0;
	return error_set(error, -EINVAL, "%s '%s' is not before %s '%s'", names[0], from, names[1],
			 to);
}

/* The whole store by default where there is no profile to look at. */
static int find_ranges(struct query *query, struct error *error)
{
	static const char *const names[] = {"--from", "--to"}, *const diff[] = {"--diff", "--diff"};
	const struct query_options *options = &query->options;
	bool is_all = options->lists || options->finds_growth;
	uint64_t range[2];
	int err;

	query->now_ns = clock_read_ns(CLOCK_REALTIME);
	err = find_range(options->from ? options->from
			 : is_all      ? "@0"
				       : "-1h",
			 options->to ? options->to : "now", query->now_ns, names, range, error);
	if (err)
		return err;
	query->from_ns = range[0];
	query->to_ns = range[1];
	if (!options->diff.text)
		return 0;
	if (options->diff.shift_ns) {
		uint64_t shift_ns = options->diff.shift_ns;

		query->before_from_ns = range[0] > shift_ns ? range[0] - shift_ns : 0;
		query->before_to_ns = range[1] > shift_ns ? range[1] - shift_ns : 0;
		return 0;
	}
	err = find_range(options->diff.from, options->diff.to, query->now_ns, diff, range, error);
	query->before_from_ns = range[0];
	query->before_to_ns = range[1];
	return err;
}

/* "2026-11-23 03:00:00 to 03:15:00"; the second date only if it is another one. */
static const char *range_text(char text[RANGE_BYTES], uint64_t from_ns, uint64_t to_ns)
{
	const size_t date = sizeof("2026-11-23 ") - 1;
	char from[MOMENT_BYTES], to[MOMENT_BYTES];

	(void)moment_text(from, from_ns);
	(void)moment_text(to, to_ns);
	(void)snprintf(text, RANGE_BYTES, "%s to %s", from,
		       strncmp(from, to, date) != 0 ? to : to + date);
	return text;
}

/* "6d23h", "15m", "9.5s" */
static const char *length_text(char text[MOMENT_BYTES], uint64_t ns)
{
	uint64_t minutes = ns / (60 * NS_PER_SEC), hours = minutes / 60;

	if (!minutes)
		(void)snprintf(text, MOMENT_BYTES, "%.3gs", (double)ns / NS_PER_SEC);
	else if (hours >= 48)
		(void)snprintf(text, MOMENT_BYTES, "%" PRIu64 "d%" PRIu64 "h", hours / 24,
			       hours % 24);
	else if (hours)
		(void)snprintf(text, MOMENT_BYTES, "%" PRIu64 "h%" PRIu64 "m", hours, minutes % 60);
	else
		(void)snprintf(text, MOMENT_BYTES, "%" PRIu64 "m%" PRIu64 "s", minutes,
			       (uint64_t)(ns / NS_PER_SEC % 60));
	return text;
}

/* --- asking the store ------------------------------------------------------------------------- */

static int open_confined(void *context, const char *path)
{
	return sandbox_open(context, path);
}

static int open_store(const struct query *query, struct store **ret, struct error *error)
{
	struct sandbox *sandbox = query->options.report.request.options.sandbox;
	int err = store_open_reader(query->files[0], sandbox ? open_confined : NULL, sandbox, ret,
				    error);

	if (err == -EPROTO)
		error_hint(error, "read it with the stook that writes it");
	else if (err == -EBADMSG)
		error_hint(error, "a store is the file that 'stook agent --store PATH' writes");
	return err;
}

/* The labels that samples keep: those asked for, and those that filters and rows need. */
static unsigned find_labels(const struct query *query)
{
	static const struct {
		enum filter_subject subject;
		enum label label;
	} needed[] = {
		{FILTER_COMM, LABEL_COMM},
		{FILTER_PID, LABEL_PID},
		{FILTER_TID, LABEL_TID},
		{FILTER_PROBE, LABEL_PROBE},
	};
	const struct input_request *request = &query->options.report.request;
	unsigned labels = report_options_labels(&query->options.report);
	size_t i, sense;

	for (i = 0; i < ARRAY_SIZE(needed); i++)
		for (sense = 0; sense < NR_FILTER_SENSES; sense++)
			if (filter_criterion_is_used(
				    &request->filter.filter.criteria[needed[i].subject][sense]))
				labels |= needed[i].label;
	return request->labels ? labels : labels | LABEL_COMM;
}

/* Names the values that there are in the range, for an error. */
static void hint_values(struct store *store, const struct store_query *wanted, struct error *error)
{
	struct store_query query = {wanted->from_ns, wanted->to_ns, .no_stacks = true};
	struct store_answer answer;
	struct profile *profile = NULL;
	char names[200] = "";
	size_t nr = 0, i;

	if (store_query(store, &query, &profile, &answer, NULL) < 0)
		return;
	for (i = 0; i < profile_nr_values(profile) && nr < sizeof(names); i++)
		nr += (size_t)snprintf(names + nr, sizeof(names) - nr, "%s%s", i ? ", " : "",
				       profile_value_name(profile, i));
	error_hint(error, "there are: %s", names);
	profile_free(profile);
}

/*
 * A sample of time on a CPU stands for so many nanoseconds, on average: the governor of the agent may have changed the
 * rate. Tables need that for errors.
 */
static void set_period(struct profile *profile)
{
	struct profile_origin origin = *profile_origin(profile);
	int samples = profile_find_value(profile, "samples");
	uint64_t nr = samples > 0 ? profile_value_total(profile, (size_t)samples) : 0;
	int64_t unit = profile_add_string(profile, "nanoseconds");

	if (!nr || unit < 0 || strcmp(profile_value_name(profile, 0), PROFILE_CPU_TIME) != 0)
		return;
	origin.unit = (uint32_t)unit;
	origin.period = profile_total(profile) / nr;
	profile_set_origin(profile, &origin);
}

static int ask(const struct query *query, struct store *store, struct store_query *wanted,
	       struct profile **ret, struct store_answer *ret_answer, struct error *error)
{
	const struct query_options *options = &query->options;
	const unsigned labels = find_labels(query);
	const char *names[LABELS_MAX + ARRAY_SIZE(fixed_labels)];
	size_t i;
	int err;

	wanted->where = options->where;
	wanted->value = options->value;
	wanted->labels = names;
	for (i = 0; i < ARRAY_SIZE(fixed_labels); i++)
		if (labels & fixed_labels[i].label)
			names[wanted->nr_labels++] = fixed_labels[i].name;
	for (i = 0; i < options->nr_labels; i++)
		names[wanted->nr_labels++] = options->labels[i];
	err = store_query(store, wanted, ret, ret_answer, error);
	if (err == -EINVAL)
		hint_values(store, wanted, error);
	if (!err)
		set_period(*ret);
	wanted->labels = NULL;
	wanted->nr_labels = 0;
	return err;
}

/* --- what the answer covers ------------------------------------------------------------------- */

static void rate_text(char *to, size_t bytes, const struct store_answer *answer,
		      const struct profile *profile)
{
	uint64_t period = profile_origin(profile)->period;

	*to = '\0';
	if (answer->has_mixed_periods && period)
		(void)snprintf(to, bytes, " at various rates, %.3g Hz on average",
			       (double)NS_PER_SEC / (double)period);
	else if (answer->least_period_ns != answer->most_period_ns)
		(void)snprintf(to, bytes, " at %.3g to %.3g Hz",
			       (double)NS_PER_SEC / (double)answer->most_period_ns,
			       (double)NS_PER_SEC / (double)answer->least_period_ns);
	else if (answer->least_period_ns)
		(void)snprintf(to, bytes, " at %.3g Hz",
			       (double)NS_PER_SEC / (double)answer->least_period_ns);
}

static void tell_answer(const struct query *query, const struct store_query *wanted,
			const struct store_answer *answer, const struct profile *profile)
{
	char range[RANGE_BYTES], asked[RANGE_BYTES], length[MOMENT_BYTES], rate[64];
	char number[NUMBER_COMMAS_BYTES], lost[NUMBER_COMMAS_BYTES];
	const unsigned ids = LABEL_PID | LABEL_TID | LABEL_CPU;
	const bool is_cut = answer->from_ns < wanted->from_ns || answer->to_ns > wanted->to_ns;

	if (query->options.report.request.is_quiet)
		return;
	rate_text(rate, sizeof(rate), answer, profile);
	complain("%s: %s epoch%s, %s measured%s", range_text(range, answer->from_ns, answer->to_ns),
		 number_commas(number, answer->nr_epochs), answer->nr_epochs == 1 ? "" : "s",
		 length_text(length, answer->measured_ns), rate);
	if (answer->lost)
		complain("%s sample%s lost in this time", number_commas(lost, answer->lost),
			 answer->lost == 1 ? " was" : "s were");
	if (is_cut)
		complain("asked for %s; what was summed up is not divided",
			 range_text(asked, wanted->from_ns, wanted->to_ns));
	if (answer->nr_blocks[2] && find_labels(query) & ids)
		complain(
			"pids, tids and CPUs are not kept in hours: there they are 0; ask for less "
			"than an hour, or use --by comm");
}

static int no_samples(const struct query *query, struct store *store, uint64_t from_ns,
		      uint64_t to_ns, struct error *error)
{
	struct store_extent extent = {0};
	char range[RANGE_BYTES], all[RANGE_BYTES];

	if (store_extent(store, &extent, NULL) < 0 || !extent.to_ns)
		return error_set(error, -ENODATA, "store '%s' is empty", query->options.store);
	(void)error_set(error, -ENODATA, "no samples%s%s%s from %s",
			query->options.where ? " with '" : "",
			query->options.where ? query->options.where_text : "",
			query->options.where ? "'" : "", range_text(range, from_ns, to_ns));
	error_hint(error, "the store has %s; --list shows its labels",
		   range_text(all, extent.from_ns, extent.to_ns));
	return -ENODATA;
}

static bool has_label(const struct profile *profile, enum label label)
{
	uint32_t i;

	for (i = 0; i < profile_nr_samples(profile); i++) {
		const struct sample_labels *labels = &profile_sample(profile, i)->labels;

		if ((label == LABEL_COMM && labels->comm) ||
		    (label == LABEL_CGROUP && labels->cgroup) ||
		    (label == LABEL_PROBE && labels->probe) ||
		    (label == LABEL_PID && labels->pid) || (label == LABEL_TID && labels->tid) ||
		    (label == LABEL_CPU && labels->cpu))
			return true;
	}
	return false;
}

static bool has_key(const struct profile *profile, const char *key)
{
	struct set_label set[LABEL_SET_MAX];
	uint32_t i;
	size_t nr, k;

	for (i = 0; i < profile_nr_samples(profile); i++) {
		nr = profile_label_set(profile, profile_sample(profile, i)->labels.set, set);
		for (k = 0; k < nr; k++)
			if (!strcmp(profile_string(profile, set[k].key), key))
				return true;
	}
	return false;
}

/* An unknown label would make all samples look equal. CPU 0 may be the only one. */
static int check_labels(const struct query *query, const struct profile *profile,
			struct error *error)
{
	const struct query_options *options = &query->options;
	const unsigned asked = options->report.request.labels;
	const char *missing = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fixed_labels) && !missing; i++)
		if (asked & fixed_labels[i].label && fixed_labels[i].label != LABEL_CPU &&
		    !has_label(profile, fixed_labels[i].label))
			missing = fixed_labels[i].name;
	for (i = 0; i < options->nr_labels && !missing; i++)
		if (!has_key(profile, options->labels[i]))
			missing = options->labels[i];
	if (!missing)
		return 0;
	(void)error_set(error, -ENODATA, "no sample has the label '%s'", missing);
	error_hint(error, "--list shows the labels of the store");
	return -ENODATA;
}

/* --- a profile -------------------------------------------------------------------------------- */

static int write_profile(struct query *query, struct error *error)
{
	struct report_command_options *report = &query->options.report;
	unsigned labels = find_labels(query);
	int err;

	query->inputs.notes.labels = labels;
	err = inputs_finish(&query->inputs, &report->request, report_options_labels(report), error);
	if (err)
		return err;
	query->outputs.format.categories = query->inputs.categories;
	outputs_set_labels(&query->outputs, report->request.labels, labels);
	return outputs_write(&query->outputs, query->inputs.profile, error);
}

static int show_profile(struct query *query, struct store *store, struct error *error)
{
	struct store_query wanted = {query->from_ns, query->to_ns};
	struct store_answer answer;
	int err = ask(query, store, &wanted, &query->inputs.profile, &answer, error);

	if (err)
		return err;
	if (!profile_nr_samples(query->inputs.profile))
		return no_samples(query, store, query->from_ns, query->to_ns, error);
	tell_answer(query, &wanted, &answer, query->inputs.profile);
	err = check_labels(query, query->inputs.profile, error);
	return err ? err : write_profile(query, error);
}

/* --- a difference ----------------------------------------------------------------------------- */

static void free_profile(struct profile **profile)
{
	profile_free(*profile);
}

static int ask_side(struct query *query, struct store *store, bool is_after, struct profile **ret,
		    struct error *error)
{
	struct store_query wanted = {.from_ns = is_after ? query->from_ns : query->before_from_ns,
				     .to_ns = is_after ? query->to_ns : query->before_to_ns};
	struct comparison_style *style = &query->comparison;
	struct store_answer answer;
	char *name = query->names[is_after];
	int err;

	wanted.step_ns = (wanted.to_ns - wanted.from_ns) / DIFF_SLICES;
	err = ask(query, store, &wanted, ret, &answer, error);
	if (err)
		return err;
	if (!profile_nr_samples(*ret))
		return no_samples(query, store, wanted.from_ns, wanted.to_ns, error);
	tell_answer(query, &wanted, &answer, *ret);
	*(is_after ? &style->after_name : &style->before_name) =
		range_text(name, answer.from_ns, answer.to_ns);
	*(is_after ? &style->after_seconds : &style->before_seconds) =
		(double)answer.measured_ns / NS_PER_SEC;
	return 0;
}

/* Adds the counts of `before` to a profile as a value, as `stook diff` does. */
static int join(struct profile *profile, const struct profile *before, struct error *error)
{
	struct value_type type = {.unit = profile_value_type(profile, 0).unit};
	struct profile_origin origin = *profile_origin(profile);
	int64_t string = profile_add_string(profile, DIFFERENCE_BEFORE);
	int value, err;

	type.type = (uint32_t)string;
	value = string < 0 ? (int)string : profile_add_value_type(profile, &type);
	err = value < 0 ? value : profile_merge(profile, before, (size_t)value);
	/* The lower one of two rates: errors are rather too large. */
	if (profile_origin(before)->period > origin.period)
		origin.period = profile_origin(before)->period;
	origin.time_ns = origin.duration_ns = 0;
	profile_set_origin(profile, &origin);
	return err ? error_set(error, err, "cannot compare: %s", strerror(-err)) : 0;
}

static int show_difference(struct query *query, struct store *store, struct error *error)
{
	cleanup(free_profile) struct profile *before = NULL;
	int err = ask_side(query, store, false, &before, error);

	if (!err)
		err = ask_side(query, store, true, &query->inputs.profile, error);
	if (!err)
		err = check_labels(query, query->inputs.profile, error);
	if (!err && strcmp(profile_value_name(before, 0),
			   profile_value_name(query->inputs.profile, 0)) != 0)
		err = error_set(error, -EINVAL, "one time has no value '%s', the other no '%s'",
				profile_value_name(query->inputs.profile, 0),
				profile_value_name(before, 0));
	if (!err)
		err = join(query->inputs.profile, before, error);
	query->comparison.max_rows = (unsigned)query->options.report.style.max_rows;
	query->outputs.format.comparison = &query->comparison;
	return err ? err : write_profile(query, error);
}

/* --- growth ----------------------------------------------------------------------------------- */

/*
 * Whole periods up to the last full hour: shorter blocks need not be read. 0 or -ENODATA.
 */
static int find_periods(const struct query *query, struct store *store, struct store_query *ret,
			size_t *ret_period, struct error *error)
{
	struct store_extent extent;
	uint64_t from_ns, to_ns, nr;
	size_t i;
	int err = store_extent(store, &extent, error);

	if (err)
		return err;
	from_ns = extent.from_ns > query->from_ns ? extent.from_ns : query->from_ns;
	to_ns = extent.to_ns < query->to_ns ? extent.to_ns : query->to_ns;
	to_ns -= to_ns % NS_PER_HOUR;
	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		nr = to_ns > from_ns ? (to_ns - from_ns) / periods[i].length_ns : 0;
		if (nr < growth_least_periods(periods[i].cycle))
			continue;
		*ret = (struct store_query){.from_ns = to_ns - nr * periods[i].length_ns,
					    .to_ns = to_ns,
					    .step_ns = periods[i].length_ns};
		*ret_period = i;
		return 0;
	}
	(void)error_set(error, -ENODATA, "too little time to find regressions in");
	error_hint(error,
		   "two days are needed, and two weeks to tell growth from the days of the week");
	return -ENODATA;
}

static int show_growth(struct query *query, struct store *store, struct error *error)
{
	const struct query_options *options = &query->options;
	struct growth_style style = {
		.labels = options->report.request.labels ? options->report.request.labels
							 : LABEL_COMM,
		.max_rows = options->report.style.max_rows,
	};
	struct store_query wanted;
	struct store_answer answer;
	size_t period = 0;
	int err = find_periods(query, store, &wanted, &period, error);

	if (!err)
		err = ask(query, store, &wanted, &query->inputs.profile, &answer, error);
	if (err)
		return err;
	if (!profile_nr_samples(query->inputs.profile))
		return no_samples(query, store, wanted.from_ns, wanted.to_ns, error);
	tell_answer(query, &wanted, &answer, query->inputs.profile);
	err = check_labels(query, query->inputs.profile, error);
	if (err)
		return err;
	if (!options->report.request.is_quiet && periods[period].length_ns < NS_PER_DAY)
		complain("compared by %s: less than two weeks do not show what is usual on a "
			 "weekday",
			 periods[period].name);
	style.cycle = periods[period].cycle;
	query->inputs.notes.labels = find_labels(query);
	err = inputs_finish(&query->inputs, &query->options.report.request, 0, error);
	if (!err && growth_sheet_fill(&query->sheet, query->inputs.profile, &style) < 0)
		err = error_no_memory(error, "");
	if (err)
		return err;
	query->outputs.format.sheet = &query->sheet;
	return outputs_write(&query->outputs, query->inputs.profile, error);
}

/* --- what there is ---------------------------------------------------------------------------- */

enum { VALUE_NAME, VALUE_UNIT, VALUE_TOTAL, NR_VALUE_COLUMNS };

static const struct column value_columns[NR_VALUE_COLUMNS] = {
	[VALUE_NAME] = {"name", "VALUE", .flags = COLUMN_NAME},
	[VALUE_UNIT] = {"unit", "UNIT", .flags = COLUMN_NAME},
	[VALUE_TOTAL] = {"total", "TOTAL", UNIT_COUNT},
};

static void read_value(const void *context, size_t number, struct row *row)
{
	const struct profile *profile = context;

	row->cells[VALUE_NAME] = cell_text(profile_value_name(profile, number));
	row->cells[VALUE_UNIT] = cell_text(profile_value_unit(profile, number));
	row->cells[VALUE_TOTAL] = cell_count(profile_value_total(profile, number));
}

static void add_times(struct sheet *sheet, const struct store_answer *answer,
		      const struct store_extent *extent)
{
	static const struct column from = {"from", NULL}, to = {"to", NULL}, lost = {"lost", NULL},
				   measured = {"measured_seconds", NULL, .precise = 3},
				   epochs = {"epochs", NULL}, minutes = {"minutes", NULL},
				   hours = {"hours", NULL};
	char range[RANGE_BYTES], length[MOMENT_BYTES];
	char nr_epochs[NUMBER_COMMAS_BYTES], nr_minutes[NUMBER_COMMAS_BYTES],
		nr_hours[NUMBER_COMMAS_BYTES];

	sheet_add_figure(sheet, MEDIA_JSON, &from, cell_count(answer->from_ns / NS_PER_SEC));
	sheet_add_figure(sheet, MEDIA_JSON, &to, cell_count(answer->to_ns / NS_PER_SEC));
	sheet_add_figure(sheet, MEDIA_JSON, &measured,
			 cell_real((double)answer->measured_ns / NS_PER_SEC));
	sheet_add_figure(sheet, MEDIA_JSON, &lost, cell_count(answer->lost));
	sheet_add_figure(sheet, MEDIA_JSON, &epochs, cell_count(extent->nr_epochs));
	sheet_add_figure(sheet, MEDIA_JSON, &minutes, cell_count(extent->nr_minutes));
	sheet_add_figure(sheet, MEDIA_JSON, &hours, cell_count(extent->nr_hours));
	sheet_add_line(sheet, MEDIA_PEOPLE, LINE_PLAIN);
	sheet_add_words(sheet, "%s, %s measured", range_text(range, answer->from_ns, answer->to_ns),
			length_text(length, answer->measured_ns));
	sheet_add_line(sheet, MEDIA_PEOPLE, LINE_PLAIN);
	sheet_add_words(sheet, "kept: %s epochs, %s minutes, %s hours",
			number_commas(nr_epochs, extent->nr_epochs),
			number_commas(nr_minutes, extent->nr_minutes),
			number_commas(nr_hours, extent->nr_hours));
	sheet_add_line(sheet, MEDIA_PEOPLE, LINE_PLAIN);
}

static int show_list(struct query *query, struct store *store, struct error *error)
{
	struct store_query wanted = {query->from_ns, query->to_ns, .all_labels = true,
				     .no_stacks = true};
	struct table values = {"values", value_columns, NR_VALUE_COLUMNS, .read_row = read_value};
	struct store_extent extent;
	struct store_answer answer;
	int err = store_extent(store, &extent, error);

	if (!err)
		err = ask(query, store, &wanted, &query->inputs.profile, &answer, error);
	if (err)
		return err;
	if (!profile_nr_samples(query->inputs.profile))
		return no_samples(query, store, query->from_ns, query->to_ns, error);
	add_times(&query->sheet, &answer, &extent);
	values.context = query->inputs.profile;
	values.nr_rows = profile_nr_values(query->inputs.profile);
	sheet_add_table(&query->sheet, MEDIA_ALL & ~(unsigned)MEDIA_CSV, &values);
	sheet_add_line(&query->sheet, MEDIA_PEOPLE, LINE_PLAIN);
	if (label_totals_fill(&query->sheet, query->inputs.profile,
			      query->options.report.style.max_rows) < 0)
		return error_no_memory(error, "");
	query->outputs.format.sheet = &query->sheet;
	return outputs_write(&query->outputs, query->inputs.profile, error);
}

/* --- the command ------------------------------------------------------------------------------ */

/* Reads and writes. */
static int answer(void *context, struct error *error)
{
	struct query *query = context;
	const struct query_options *options = &query->options;
	struct store *store = NULL;
	int err = open_store(query, &store, error);

	if (options->report.width)
		query->outputs.format.width = (unsigned)options->report.width;
	if (!err)
		err = options->lists	      ? show_list(query, store, error)
		      : options->finds_growth ? show_growth(query, store, error)
		      : options->diff.text    ? show_difference(query, store, error)
					      : show_profile(query, store, error);
	store_close(store);
	return err;
}

/* Lists the files that may be read. Without links in the path, the log is beside the store. */
static int find_files(struct query *query, struct error *error)
{
	cleanup_free char *path = realpath(query->options.store, NULL);
	size_t i;
	int err = 0;

	if (!path)
		return error_set_errno(error, "cannot open store '%s'", query->options.store);
	for (i = 0; i < STORE_NR_FILES && !err; i++) {
		query->files[i] = text_printf("%s%s", path, store_files[i]);
		err = query->files[i] ? input_paths_take(&query->options.report.request.paths,
							 query->files[i], error)
				      : error_no_memory(error, "");
	}
	return err;
}

static int run(struct query *query, struct error *error)
{
	struct report_command_options *report = &query->options.report;
	const struct format_options format = {.lines = report->lines, .report = &report->style};
	struct confined confined;
	int err = find_files(query, error);

	if (!err)
		err = outputs_open(&query->outputs, &report->output, &format, false, error);
	if (err)
		return err;
	confined = confined_request(&report->request, &query->outputs);
	confined.run = answer;
	confined.context = query;
	return confined_run(&confined, error);
}

static void query_clear(struct query *query)
{
	size_t i;

	outputs_clear(&query->outputs);
	sheet_clear(&query->sheet);
	inputs_clear(&query->inputs);
	report_options_clear(&query->options.report);
	store_where_free(query->options.where);
	free(query->options.labels_text);
	for (i = 0; i < STORE_NR_FILES; i++)
		free(query->files[i]);
}

int cmd_query(int argc, char **argv)
{
	cleanup(query_clear) struct query query = {0};
	struct error error = {0};
	int err = parse(&query.options, argc, argv, &error);

	if (err > 0)
		return 0;
	if (!err)
		err = find_ranges(&query, &error);
	if (err) {
		complain_error(&error);
		return EXIT_USAGE;
	}
	err = run(&query, &error);
	return complain_on_error(err, &error) ? 0 : EXIT_FAILED;
}
