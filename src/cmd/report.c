/*
 * stook report: prints existing profiles, recorded by stook or other tools, as tables and trees, or
 * converts them to another format.
 *
 *	$ perf script | stook report
 *	19,804 samples
 *
 *	 SELF  SAMPLES  TOTAL  FUNCTION                       MODULE
 *	 9.1%    1,808   9.9%  dictFind                       redis-server
 *	…
 *
 *	 TOTAL  CALL PATH (below 0.5% left out)
 *	 81.0%  redis-server
 *	 80.2%  └ __libc_start_main
 *	…
 *	$ stook report week.pb.gz -s comm,module -g none --not-comm 'swapper.*'
 *	$ stook report in.perf -o out.pb.gz
 *
 * Several inputs are merged into one profile. Samples are shown by thread name unless --by asks for
 * more labels; formats that keep labels for other programs get all labels. There is no pager: the
 * output fits on a page or two, and can be piped into one.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "run/complain.h"
#include "run/outputs.h"
#include "cmd/inputs.h"
#include "cmd/options/output_options.h"
#include "cmd/report_options.h"
#include "profile/profile.h"
#include "view/categories.h"

/* --- the command line ------------------------------------------------------------------------ */

#define KEYS_WANTED                                                                           \
	"a list of function, module, comm, pid, tid, cpu, cgroup, probe, state, line, kind, " \
	"category"
#define PATHS_WANTED                                                                         \
	"graph, fractal, flat, folded or none, a percentage, a maximum number of branches, " \
	"caller or callee"
#define MAX_ROWS 1000000

/* Keys of rows, and for --by; perf's names besides ours. */
static const struct key {
	const char *name;
	enum group_key group;
	enum label label; /* required in samples; 0: none */
} keys[] = {
	{"function", GROUP_FUNCTION, 0},
	{"sym", GROUP_FUNCTION, 0},
	{"symbol", GROUP_FUNCTION, 0},
	{"module", GROUP_MODULE, 0},
	{"dso", GROUP_MODULE, 0},
	{"line", GROUP_LINE, 0},
	{"srcline", GROUP_LINE, 0},
	{"kind", GROUP_KIND, 0},
	{"category", GROUP_CATEGORY, 0},
	{"comm", GROUP_COMM, LABEL_COMM},
	{"pid", GROUP_PID, LABEL_PID},
	{"tid", GROUP_TID, LABEL_TID},
	{"cpu", GROUP_CPU, LABEL_CPU},
	{"cgroup", GROUP_CGROUP, LABEL_CGROUP},
	{"probe", GROUP_PROBE, LABEL_PROBE},
	{"state", GROUP_STATE, 0},
};

/* perf's names of columns that the table always has. */
static const char *const columns[] = {"overhead", "overhead_children", "sample", "period"};

/* --- keys ------------------------------------------------------------------------------------ */

static const struct key *find_key(const char *text, size_t nr)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		if (strlen(keys[i].name) == nr && !strncmp(keys[i].name, text, nr))
			return &keys[i];
	return NULL;
}

static int take_groups(void *context, const char *value, struct error *error)
{
	struct report_style *style = &((struct report_command_options *)context)->style;
	const char *at = value;
	size_t nr, i;

	style->nr_groups = 0;
	for (;; at += nr + 1) {
		const struct key *key;

		nr = strcspn(at, ",");
		key = find_key(at, nr);
		if (!key &&
		    option_find_name(at, nr, columns, ARRAY_SIZE(columns)) == ARRAY_SIZE(columns))
			return option_bad(error, "--group-by", value, KEYS_WANTED);
		for (i = 0; key && i < style->nr_groups; i++)
			if (style->groups[i] == key->group)
				key = NULL; /* given twice */
		if (key)
			style->groups[style->nr_groups++] = key->group;
		if (!at[nr])
			return 0;
	}
}

static int take_by(void *context, const char *value, struct error *error)
{
	struct report_command_options *options = context;

	return label_keys_take(value, &options->request.labels, error);
}

/* --- paths: perf report's -g ----------------------------------------------------------------- */

/* Parses 0 to 100. Returns 0 or -EINVAL. */
static int parse_percent(const char *text, double *ret)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || *end || !(number >= 0 && number <= 100) ||
	    strspn(text, "0123456789.") != strlen(text))
		return -EINVAL;
	*ret = number;
	return 0;
}

/* In perf's order: words may be abbreviated, and the first match counts. */
static const struct path_word {
	const char *word;
	enum { PATHS_FORM, PATHS_ORDER, PATHS_ANYWAY } kind;
	int value;
} path_words[] = {
	{"none", PATHS_FORM, REPORT_NONE},	{"graph", PATHS_FORM, REPORT_GRAPH},
	{"flat", PATHS_FORM, REPORT_FLAT},	{"fractal", PATHS_FORM, REPORT_FRACTAL},
	{"folded", PATHS_FORM, REPORT_FOLDED},	{"caller", PATHS_ORDER, REPORT_CALLER},
	{"callee", PATHS_ORDER, REPORT_CALLEE}, {"function", PATHS_ANYWAY, 0},
	{"percent", PATHS_ANYWAY, 0},
};

/*
 * The first number is the threshold, the second one the maximum number of branches. Returns 0 or
 * -EINVAL.
 */
static int take_path_number(struct call_paths_style *style, const char *token)
{
	uint64_t limit;

	if (style->has_threshold) {
		if (number_parse(token, MAX_ROWS, &limit) < 0)
			return -EINVAL;
		style->max_branches = (unsigned)limit;
		return 0;
	}
	style->has_threshold = true;
	return parse_percent(token, &style->threshold);
}

static int take_path_token(struct call_paths_style *style, const char *token)
{
	size_t nr = strlen(token), i;

	for (i = 0; i < ARRAY_SIZE(path_words); i++) {
		if (!nr || strncmp(path_words[i].word, token, nr) != 0)
			continue;
		if (path_words[i].kind == PATHS_FORM)
			style->form = (enum report_form)path_words[i].value;
		else if (path_words[i].kind == PATHS_ORDER)
			style->order = (enum report_order)path_words[i].value;
		return 0;
	}
	return take_path_number(style, token);
}

static int take_paths(void *context, const char *value, struct error *error)
{
	struct report_command_options *options = context;
	struct call_paths_style *style = &options->style.paths;
	cleanup_free char *copy = strdup(value);
	char *rest = copy, *token;

	if (!copy)
		return error_set(error, -ENOMEM, "out of memory");
	style->has_threshold = false;
	while ((token = strsep(&rest, ",")))
		if (take_path_token(style, token) < 0)
			return option_bad(error, "--call-graph", value, PATHS_WANTED);
	return 0;
}

static int take_inverted(void *context, const char *value, struct error *error)
{
	struct report_command_options *options = context;

	options->style.paths.order = REPORT_CALLER;
	return 0;
}

/* --- rows ------------------------------------------------------------------------------------ */

static int take_no_children(void *context, const char *value, struct error *error)
{
	struct report_command_options *options = context;

	options->style.sort_by_total = false;
	return 0;
}

static int take_top(void *context, const char *value, struct error *error)
{
	static const struct option_number top = {"--top", 1, MAX_ROWS,
						 "a number of rows, at least 1"};
	struct report_command_options *options = context;
	int err = option_take_number(&top, value, &options->style.max_rows, error);

	if (err && value[strspn(value, "-0123456789")]) /* not a number */
		error_hint(error,
			   "perf's -n (--show-nr-samples) is not needed: the table shows samples");
	return err;
}

static int take_limit(void *context, const char *value, struct error *error)
{
	struct report_command_options *options = context;

	cleanup_free char *number = strdup(value);
	size_t nr = strlen(value);

	if (!number)
		return error_set(error, -ENOMEM, "out of memory");
	if (nr && number[nr - 1] == '%')
		number[nr - 1] = '\0';
	if (parse_percent(number, &options->style.least_percent) < 0)
		return option_bad(error, "--percent-limit", value, "a percentage");
	return 0;
}

static int take_input(void *context, const char *value, struct error *error)
{
	struct report_command_options *options = context;

	return input_paths_take(&options->request.paths, value, error);
}

static int take_module(void *context, const char *value, struct error *error)
{
	struct report_command_options *options = context;

	return filter_options_take_pattern(&options->request.filter, FILTER_MODULE, FILTER_WANTED,
					   value, error);
}

static int take_symbol(void *context, const char *value, struct error *error)
{
	struct report_command_options *options = context;

	return filter_options_take_pattern(&options->request.filter, FILTER_SYMBOL, FILTER_WANTED,
					   value, error);
}

/* perf's --stdio: a no-op, since the report is always printed. */
static int take_stdio(void *context, const char *value, struct error *error)
{
	return 0;
}

static const struct option_row rows[] = {
	{'i', "input", "FILE", take_input, "same as IN"},
	{0, "by", "KEY,…", take_by,
	 "labels at the root of call paths: comm (default), pid, tid, cpu, cgroup, probe"},
};

static const struct option_row style_rows[] = {
	{'g', "call-graph", "WORD,…", take_paths,
	 "form, threshold and order of call paths, as in perf: graph,0.5,caller; fractal,1; "
	 "folded; none"},
	{'G', "inverted", NULL, take_inverted, "callers above callees (default)"},
	OPTION_SWITCH(0, "children", struct report_command_options, style.sort_by_total,
		      "sort by total, including callees"),
	{0, "no-children", NULL, take_no_children, "sort by self (default)"},
	{'s', "sort", "KEY,…", take_groups, "same as --group-by"},
	{0, "group-by", "KEY,…", take_groups,
	 "a row per function, module, comm, pid, tid, cpu, cgroup, probe, state, line, kind, "
	 "category"},
	{'n', "top", "N", take_top, "print at most N rows (default 20)"},
	{0, "percent-limit", "PERCENT", take_limit, "omit rows below this share"},
	OPTION_TEXT(0, "categories", "FILE", struct report_command_options, request.categories,
		    "shares of categories by a table of 'category: pattern …' lines, or 'kernel' "
		    "or 'waits' (built in)"),
	OPTION_SWITCH(0, "lines", struct report_command_options, lines,
		      "show source lines after names, where IN has them"),
	{0, "stdio", NULL, take_stdio, "ignored (perf compatibility)"},
	{0, "dsos", "RE", take_module, "same as --module (perf compatibility)"},
	{0, "dso", "RE", take_module, "same as --module (perf compatibility)"},
	{0, "symbols", "RE", take_symbol, "same as --symbol (perf compatibility)"},
	OPTION_WIDTH(struct report_command_options, width,
		     "width of the report (default: terminal, else 80)"),
};

struct option_group report_options_group(struct report_command_options *options)
{
	return (struct option_group){style_rows, ARRAY_SIZE(style_rows), options};
}

void report_options_choose_categories(struct report_command_options *options)
{
	size_t i;

	for (i = 0; i < options->style.nr_groups; i++)
		if (options->style.groups[i] == GROUP_CATEGORY && !options->request.categories)
			options->request.categories = "kernel"; /* the default */
}

/* --- parsing ---------------------------------------------------------------------------------- */

int report_options_parse(struct report_command_options *options, int argc, char **argv,
			 struct error *error)
{
	const struct option_group groups[] = {
		{rows, ARRAY_SIZE(rows), options},
		report_options_group(options),
		output_options_group(&options->output),
		filter_options_group(&options->request.filter),
		input_options_group(&options->request.options),
		quiet_option_group(&options->request.is_quiet),
	};
	const struct option_table table = {
		.groups = groups,
		.nr_groups = ARRAY_SIZE(groups),
		.take_word = input_paths_take,
		.context = &options->request.paths,
		.usage = "usage: stook report [OPTIONS] [IN…]\n"
			 "\n"
			 "Prints profiles as a table and a tree, or converts them to another "
			 "format.\n"
			 "IN: pprof, folded stacks, or output of 'perf script'; without IN, or for "
			 "-, stdin.\n",
		.examples =
			"\nexamples:\n"
			"  perf script | stook report\n"
			"  stook report app.pb.gz -g callee,1 --comm worker\n"
			"  stook report app.pb.gz --categories kernel -s comm,category -g none\n"
			"  stook report app.perf -o app.pb.gz -o app.md",
	};
	int err = option_table_parse(&table, argc, argv, error);

	if (!err)
		err = input_paths_take_rest(&options->request.paths, argc, argv, error);
	if (!err)
		err = inputs_check(options->request.paths.paths, options->request.paths.nr, error);
	report_options_choose_categories(options);
	return err;
}

void report_options_clear(struct report_command_options *options)
{
	input_request_clear(&options->request);
}

unsigned report_options_labels(const struct report_command_options *options)
{
	unsigned wanted = options->request.labels;
	size_t i, k;

	for (i = 0; i < options->style.nr_groups; i++)
		for (k = 0; k < ARRAY_SIZE(keys); k++)
			if (keys[k].group == options->style.groups[i])
				wanted |= keys[k].label;
	return wanted;
}

/* --- the command ------------------------------------------------------------------------------ */

struct report {
	struct report_command_options options;
	struct inputs inputs;
	struct outputs outputs;
};

/* Reads and writes. */
static int convert(void *context, struct error *error)
{
	struct report *report = context;
	struct report_command_options *options = &report->options;
	int err = inputs_load(&report->inputs, &options->request, report_options_labels(options),
			      error);

	if (err)
		return err;
	report->outputs.format.categories = report->inputs.categories;
	outputs_set_labels(&report->outputs, options->request.labels, report->inputs.notes.labels);
	if (options->width)
		report->outputs.format.width = (unsigned)options->width;
	return outputs_write(&report->outputs, report->inputs.profile, error);
}

static int run(struct report *report, struct error *error)
{
	struct report_command_options *options = &report->options;
	const struct format_options format = {.lines = options->lines, .report = &options->style};
	struct confined confined = confined_request(&options->request, &report->outputs);
	int err = outputs_open(&report->outputs, &options->output, &format, false, error);

	confined.run = convert;
	confined.context = report;
	return err ? err : confined_run(&confined, error);
}

int cmd_report(int argc, char **argv)
{
	struct report report = {.inputs = {.profile = NULL}};
	struct error error = {0};
	int err = report_options_parse(&report.options, argc, argv, &error);
	int status = err < 0 ? EXIT_USAGE : 0;

	if (!err) {
		err = run(&report, &error);
		status = err && err != -EPIPE ? EXIT_FAILED : 0;
	}
	if (err < 0 && err != -EPIPE)
		complain_error(&error);
	outputs_clear(&report.outputs);
	inputs_clear(&report.inputs);
	report_options_clear(&report.options);
	return status;
}
