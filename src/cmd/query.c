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
 * A store is foreign: run as root, this reads it in a process without rights, like any profile (cmd/inputs.h).
 *
 * --resymbolize names code that had no name when it was stored, as `stook symbolize` does with a file. The store stays
 * as it is.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "cmd/inputs.h"
#include "cmd/options/naming_options.h"
#include "cmd/options/output_options.h"
#include "cmd/report_options.h"
#include "profile/profile.h"
#include "run/code_names.h"
#include "run/complain.h"
#include "run/outputs.h"
#include "serve/question.h"
#include "store/store.h"
#include "store/where.h"
#include "view/diff/comparison.h"
#include "view/diff/growth.h"
#include "view/table.h"

#define NS_PER_DAY (24 * 3600 * NS_PER_SEC)

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
	struct question_labels by; /* --by */
	struct diff_range diff;
	struct naming_options naming; /* with resymbolizes */
	bool lists, finds_growth, json, resymbolizes;
};

struct query {
	struct query_options options;
	char *files[STORE_NR_FILES];
	uint64_t now_ns, from_ns, to_ns, before_from_ns, before_to_ns;
	struct inputs inputs;
	struct outputs outputs;
	struct code_names code_names;
	struct comparison_style comparison;
	char names[2][QUESTION_RANGE_BYTES];
	struct sheet sheet;
};

/* --- the command line ------------------------------------------------------------------------- */

static int take_by(void *context, const char *value, struct error *error)
{
	struct query_options *options = context;
	int err = question_labels_parse(&options->by, value, error);

	options->report.request.labels = options->by.labels;
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

static int take_debug_dir(void *context, const char *value, struct error *error)
{
	struct query_options *options = context;
	struct naming_options *naming = &options->naming;

	return debug_folders_take(naming->debug_folders, &naming->nr_debug_folders, value, error);
}

static const struct option_row rows[] = {
	OPTION_TEXT(0, "store", "PATH", struct query_options, store, "the store to read"),
	OPTION_TEXT(0, "from", "TIME", struct query_options, from,
		    "beginning (default -1h): -2d, 03:12, '2026-11-23 03:12', @SECONDS"),
	OPTION_TEXT(0, "to", "TIME", struct query_options, to, "end (default now)"),
	{0, "where", "CONDITION", take_where,
	 "only samples with such labels: 'comm=redis-server && cgroup~docker'"},
	{0, "by", "LABEL,…", take_by,
	 "labels at the root of call paths: comm (default), pid, tid, cpu, cgroup, or any "
	 "other"},
	OPTION_TEXT(0, "value", "NAME", struct query_options, value,
		    "the value to show (default cpu)"),
	OPTION_SWITCH(0, "list", struct query_options, lists,
		      "show which times, values and labels the store has"),
	{0, "diff", "RANGE", take_diff,
	 "compare with another time: -1d for the same time a day ago, or FROM..TO"},
	OPTION_SWITCH(0, "regressions", struct query_options, finds_growth,
		      "list the functions that take more of their service's time since some day"),
	OPTION_SWITCH(0, "resymbolize", struct query_options, resymbolizes,
		      "name code that had no name when it was stored, from files of this machine"),
	{0, "debug-dir", "DIR", take_debug_dir,
	 "with --resymbolize: search debug files in DIR first; may be repeated"},
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

/* Returns what the rows of --diff are, an enum difference_group; -1: it cannot have such rows, or there is no --diff. */
static int difference_group(const struct query_options *options)
{
	const struct report_style *style = &options->report.style;

	if (!options->diff.text || style->nr_groups > 1)
		return -1;
	if (!style->nr_groups || style->groups[0] == GROUP_FUNCTION)
		return DIFFERENCE_BY_FUNCTION;
	return style->groups[0] == GROUP_MODULE ? DIFFERENCE_BY_MODULE : -1;
}

/* True if there are options for the rows and paths of a report. */
static bool has_style(const struct query_options *options)
{
	const struct report_style *style = &options->report.style;

	return (style->nr_groups && difference_group(options) < 0) || style->sort_by_total ||
	       style->least_percent > 0 || style->paths.form != REPORT_GRAPH ||
	       style->paths.has_threshold || style->paths.order != REPORT_CALLER ||
	       options->report.request.categories || options->report.lines;
}

static int check_modes(const struct query_options *options, struct error *error)
{
	if (options->lists + options->finds_growth + (options->diff.text != NULL) > 1)
		return error_set(error, -EINVAL,
				 "only one of --list, --diff and --regressions can be given");
	if (options->lists && options->resymbolizes)
		return error_set(error, -EINVAL,
				 "--list has no code that --resymbolize could name");
	if (options->naming.nr_debug_folders && !options->resymbolizes)
		return error_set(error, -EINVAL, "--debug-dir needs --resymbolize");
	if ((options->lists || options->finds_growth || options->diff.text) && has_style(options))
		return error_set(error, -EINVAL,
				 "--list, --diff and --regressions have tables of their own, which "
				 "--top and --by can change, and that of --diff --group-by "
				 "function or module");
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

/* The beginning, unless given: of all where there is no profile to look at; else an hour ago, or as long as --diff. */
static const char *default_from(const struct query_options *options)
{
	if (options->lists || options->finds_growth)
		return "@0";
	if (options->diff.shift_ns && options->diff.shift_ns < 3600 * NS_PER_SEC)
		return options->diff.text;
	return "-1h";
}

static int find_ranges(struct query *query, struct error *error)
{
	static const char *const names[] = {"--from", "--to"}, *const diff[] = {"--diff", "--diff"};
	const struct query_options *options = &query->options;
	uint64_t range[2];
	int err;

	query->now_ns = clock_read_ns(CLOCK_REALTIME);
	err = find_range(options->from ? options->from : default_from(options),
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
	} else {
		err = find_range(options->diff.from, options->diff.to, query->now_ns, diff, range,
				 error);
		if (err)
			return err;
		query->before_from_ns = range[0];
		query->before_to_ns = range[1];
	}
	if (query->before_from_ns < query->to_ns && query->from_ns < query->before_to_ns)
		return error_set(error, -EINVAL, "--diff %s: the two times overlap",
				 options->diff.text);
	return 0;
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

static int ask(const struct query *query, struct store *store, struct store_query *wanted,
	       struct profile **ret, struct store_answer *ret_answer, struct error *error)
{
	struct question_labels labels = query->options.by;

	labels.labels = find_labels(query);
	wanted->where = query->options.where;
	wanted->value = query->options.value;
	return question_ask(store, wanted, &labels, ret, ret_answer, error);
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
	char range[QUESTION_RANGE_BYTES], asked[QUESTION_RANGE_BYTES],
		length[QUESTION_LENGTH_BYTES], rate[64];
	char number[NUMBER_COMMAS_BYTES], lost[NUMBER_COMMAS_BYTES];
	const unsigned ids = LABEL_PID | LABEL_TID | LABEL_CPU;
	const bool is_cut = answer->from_ns < wanted->from_ns || answer->to_ns > wanted->to_ns;

	if (query->options.report.request.is_quiet)
		return;
	rate_text(rate, sizeof(rate), answer, profile);
	complain("%s: %s epoch%s, %s measured%s",
		 question_range(range, answer->from_ns, answer->to_ns),
		 number_commas(number, answer->nr_epochs), answer->nr_epochs == 1 ? "" : "s",
		 question_length(length, answer->measured_ns), rate);
	if (answer->lost)
		complain("%s sample%s lost in this time", number_commas(lost, answer->lost),
			 answer->lost == 1 ? " was" : "s were");
	if (is_cut)
		complain("asked for %s; what was summed up is not divided",
			 question_range(asked, wanted->from_ns, wanted->to_ns));
	if (answer->nr_blocks[2] && find_labels(query) & ids)
		complain(
			"pids, tids and CPUs are not kept in hours: there they are 0; ask for less "
			"than an hour, or use --by comm");
}

static int no_samples(const struct query *query, struct store *store, uint64_t from_ns,
		      uint64_t to_ns, struct error *error)
{
	struct store_extent extent = {0};
	char range[QUESTION_RANGE_BYTES], all[QUESTION_RANGE_BYTES];

	if (store_extent(store, &extent, NULL) < 0 || !extent.to_ns)
		return error_set(error, -ENODATA, "store '%s' is empty", query->options.store);
	(void)error_set(error, -ENODATA, "no samples%s%s%s from %s",
			query->options.where ? " with '" : "",
			query->options.where ? query->options.where_text : "",
			query->options.where ? "'" : "", question_range(range, from_ns, to_ns));
	error_hint(error, "the store has %s; --list shows its labels",
		   question_range(all, extent.from_ns, extent.to_ns));
	return -ENODATA;
}

static int check_labels(const struct query *query, const struct profile *profile,
			struct error *error)
{
	int err = question_labels_check(&query->options.by, profile, error);

	if (err)
		error_hint(error, "--list shows the labels of the store");
	return err;
}

/* --- a profile -------------------------------------------------------------------------------- */

/* Names the code, for filters and views, and applies the filters. labels: as of inputs_finish(). */
static int finish(struct query *query, unsigned labels, struct error *error)
{
	struct input_request *request = &query->options.report.request;
	int err = 0;

	if (query->options.resymbolizes)
		err = code_names_add(&query->code_names, query->inputs.profile,
				     request->options.sandbox, error);
	query->inputs.notes.labels = find_labels(query);
	return err ? err : inputs_finish(&query->inputs, request, labels, error);
}

static int write_profile(struct query *query, struct error *error)
{
	struct report_command_options *report = &query->options.report;
	unsigned labels = find_labels(query);
	int err = finish(query, report_options_labels(report), error);

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

	wanted.step_ns = (wanted.to_ns - wanted.from_ns) / QUESTION_DIFF_SLICES;
	err = ask(query, store, &wanted, ret, &answer, error);
	if (err)
		return err;
	if (!profile_nr_samples(*ret))
		return no_samples(query, store, wanted.from_ns, wanted.to_ns, error);
	tell_answer(query, &wanted, &answer, *ret);
	*(is_after ? &style->after_name : &style->before_name) =
		question_range(name, answer.from_ns, answer.to_ns);
	*(is_after ? &style->after_seconds : &style->before_seconds) =
		(double)answer.measured_ns / NS_PER_SEC;
	return 0;
}

static int show_difference(struct query *query, struct store *store, struct error *error)
{
	cleanup(free_profile) struct profile *before = NULL;
	int err = ask_side(query, store, false, &before, error);

	if (!err)
		err = ask_side(query, store, true, &query->inputs.profile, error);
	if (!err)
		err = check_labels(query, query->inputs.profile, error);
	if (!err)
		err = question_compare(query->inputs.profile, before, error);
	query->comparison.group = (enum difference_group)difference_group(&query->options);
	query->comparison.max_rows = (unsigned)query->options.report.style.max_rows;
	query->outputs.format.comparison = &query->comparison;
	return err ? err : write_profile(query, error);
}

/* --- growth ----------------------------------------------------------------------------------- */

static int show_growth(struct query *query, struct store *store, struct error *error)
{
	const struct query_options *options = &query->options;
	struct growth_style style = {
		.labels = options->report.request.labels ? options->report.request.labels
							 : LABEL_COMM,
		.since_ns = query->from_ns,
		.max_rows = options->report.style.max_rows,
	};
	struct question_periods periods;
	struct store_query wanted;
	struct store_answer answer;
	int err = question_find_periods(&periods, store, query->to_ns, error);

	if (err)
		return err;
	wanted = (struct store_query){
		.from_ns = periods.from_ns,
		.to_ns = periods.to_ns,
		.step_ns = periods.length_ns,
	};
	err = ask(query, store, &wanted, &query->inputs.profile, &answer, error);
	if (err)
		return err;
	if (!profile_nr_samples(query->inputs.profile))
		return no_samples(query, store, wanted.from_ns, wanted.to_ns, error);
	tell_answer(query, &wanted, &answer, query->inputs.profile);
	err = check_labels(query, query->inputs.profile, error);
	if (err)
		return err;
	if (!options->report.request.is_quiet && periods.length_ns < NS_PER_DAY)
		complain("compared by %s: less than two weeks do not show what is usual on a "
			 "weekday",
			 periods.name);
	style.cycle = periods.cycle;
	err = finish(query, 0, error);
	if (!err && growth_sheet_fill(&query->sheet, query->inputs.profile, &style) < 0)
		err = error_no_memory(error, "");
	if (err)
		return err;
	query->outputs.format.sheet = &query->sheet;
	return outputs_write(&query->outputs, query->inputs.profile, error);
}

/* --- what there is ---------------------------------------------------------------------------- */

static int show_list(struct query *query, struct store *store, struct error *error)
{
	struct store_query wanted = {query->from_ns, query->to_ns, .all_labels = true,
				     .no_stacks = true};
	struct store_extent extent;
	struct store_answer answer;
	int err = store_extent(store, &extent, error);

	if (!err)
		err = ask(query, store, &wanted, &query->inputs.profile, &answer, error);
	if (err)
		return err;
	if (!profile_nr_samples(query->inputs.profile))
		return no_samples(query, store, query->from_ns, query->to_ns, error);
	if (question_list(&query->sheet, query->inputs.profile, &answer, &extent,
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

/* In the host of a process without rights. */
static int name_code(void *context, const void *question, size_t nr, void **ret, size_t *ret_nr,
		     struct error *error)
{
	struct query *query = context;

	return code_names_answer(&query->code_names, question, nr, ret, ret_nr, error);
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
	if (query->options.resymbolizes) {
		confined.answer = name_code;
		query->options.naming.lines = report->lines;
		(void)signal(SIGPIPE, SIG_IGN); /* as in symbolize.c */
	}
	err = confined_run(&confined, error);
	if (!err && query->options.resymbolizes && !report->request.is_quiet)
		err = code_names_report(&query->code_names, query->inputs.profile, error);
	return err;
}

static void query_clear(struct query *query)
{
	size_t i;

	outputs_clear(&query->outputs);
	code_names_clear(&query->code_names);
	naming_options_clear(&query->options.naming);
	sheet_clear(&query->sheet);
	inputs_clear(&query->inputs);
	report_options_clear(&query->options.report);
	store_where_free(query->options.where);
	question_labels_clear(&query->options.by);
	for (i = 0; i < STORE_NR_FILES; i++)
		free(query->files[i]);
}

int cmd_query(int argc, char **argv)
{
	cleanup(query_clear) struct query query = {0};
	struct error error = {0};
	int err = parse(&query.options, argc, argv, &error);

	code_names_init(&query.code_names, &query.options.naming);
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
