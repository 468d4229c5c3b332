/*
 * The command line of `stook report`; see report_options.h. Where perf report has an option of the
 * same name, it takes the same words.
 */
#include "cmd/report_options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cmd/options/label_keys.h"
#include "cmd/options/quiet_option.h"
#include "profile/profile.h"

#define KEYS_WANTED "some of function, module, comm, pid, tid, cpu, cgroup, line, kind, category"
#define PATHS_WANTED                                                                       \
	"graph, fractal, flat, folded or none, a percentage, a limit of branches, caller " \
	"or callee"
#define MAX_ROWS 1000000

/* What rows and heads are told apart by; perf's words beside ours. */
static const struct key {
	const char *name;
	enum group_key group;
	enum label label; /* what samples must have; 0: every profile has that */
} keys[] = {
	{"function", GROUP_FUNCTION, 0}, {"sym", GROUP_FUNCTION, 0},
	{"symbol", GROUP_FUNCTION, 0},	 {"module", GROUP_MODULE, 0},
	{"dso", GROUP_MODULE, 0},	 {"line", GROUP_LINE, 0},
	{"srcline", GROUP_LINE, 0},	 {"kind", GROUP_KIND, 0},
	{"category", GROUP_CATEGORY, 0}, {"comm", GROUP_COMM, LABEL_COMM},
	{"pid", GROUP_PID, LABEL_PID},	 {"tid", GROUP_TID, LABEL_TID},
	{"cpu", GROUP_CPU, LABEL_CPU},	 {"cgroup", GROUP_CGROUP, LABEL_CGROUP},
};

/* perf's words for columns, which the table has in any case. */
static const char *const columns[] = {"overhead", "overhead_children", "sample", "period"};

static bool is_name(const char *name, const char *text, size_t nr)
{
	return strlen(name) == nr && !strncmp(name, text, nr);
}

static const struct key *find_key(const char *text, size_t nr)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		if (is_name(keys[i].name, text, nr))
			return &keys[i];
	return NULL;
}

static bool is_column(const char *text, size_t nr)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(columns); i++)
		if (is_name(columns[i], text, nr))
			return true;
	return false;
}

/* --- keys ------------------------------------------------------------------------------------ */

static void add_group(struct report_style *style, enum group_key group)
{
	size_t i;

	for (i = 0; i < style->nr_groups; i++)
		if (style->groups[i] == group)
			return;
	style->groups[style->nr_groups++] = group;
}

static int take_groups(void *context, const char *value, struct error *error)
{
	struct report_command_options *options = context;
	const char *at = value;

	options->style.nr_groups = 0;
	for (;;) {
		size_t nr = strcspn(at, ",");
		const struct key *key = find_key(at, nr);

		if (!key && !is_column(at, nr))
			return option_bad(error, "--group-by", value, KEYS_WANTED);
		if (key)
			add_group(&options->style, key->group);
		if (!at[nr])
			return 0;
		at += nr + 1;
	}
}

static int take_by(void *context, const char *value, struct error *error)
{
	struct report_command_options *options = context;

	return label_keys_take(value, &options->labels, error);
}

/* --- paths: perf report's -g ----------------------------------------------------------------- */

/* 0 or -EINVAL; at most 100. */
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

struct paths {
	struct report_style *style;
	bool has_threshold;
};

static void take_graph_word(struct paths *paths, int value)
{
	paths->style->form = (enum report_form)value;
}

static void take_order_word(struct paths *paths, int value)
{
	paths->style->order = (enum report_order)value;
}

/* In perf's order: a beginning of a word is that word, and the first one that fits is meant. */
static const struct path_word {
	const char *word;
	void (*take)(struct paths *paths, int value); /* NULL: it is so anyway */
	int value;
} path_words[] = {
	{"none", take_graph_word, REPORT_NONE},
	{"graph", take_graph_word, REPORT_GRAPH},
	{"flat", take_graph_word, REPORT_FLAT},
	{"fractal", take_graph_word, REPORT_FRACTAL},
	{"folded", take_graph_word, REPORT_FOLDED},
	{"caller", take_order_word, REPORT_CALLER},
	{"callee", take_order_word, REPORT_CALLEE},
	{"function", NULL, 0},
	{"percent", NULL, 0},
};

/* The first number is the threshold, the second one the limit. 0 or -EINVAL. */
static int take_path_number(struct paths *paths, const char *token)
{
	uint64_t limit;

	if (paths->has_threshold) {
		if (number_parse(token, MAX_ROWS, &limit) < 0)
			return -EINVAL;
		paths->style->max_branches = (unsigned)limit;
		return 0;
	}
	paths->has_threshold = true;
	return parse_percent(token, &paths->style->threshold);
}

static int take_path_token(struct paths *paths, const char *token)
{
	size_t nr = strlen(token), i;

	for (i = 0; i < ARRAY_SIZE(path_words); i++) {
		if (!nr || strncmp(path_words[i].word, token, nr) != 0)
			continue;
		if (path_words[i].take)
			path_words[i].take(paths, path_words[i].value);
		return 0;
	}
	return take_path_number(paths, token);
}

static int take_paths(void *context, const char *value, struct error *error)
{
	struct report_command_options *options = context;
	struct paths paths = {.style = &options->style};
	cleanup_free char *copy = strdup(value);
	char *rest = copy, *token;

	if (!copy)
		return error_set(error, -ENOMEM, "out of memory");
	while ((token = strsep(&rest, ",")))
		if (take_path_token(&paths, token) < 0)
			return option_bad(error, "--call-graph", value, PATHS_WANTED);
	return 0;
}

static int take_inverted(void *context, const char *value, struct error *error)
{
	struct report_command_options *options = context;

	options->style.order = REPORT_CALLER;
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

	if (err && value[strspn(value, "-0123456789")]) /* no number at all */
		error_hint(error,
			   "perf's -n, numbers of samples, is not needed: the table has them");
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

static int take_categories(void *context, const char *value, struct error *error)
{
	struct report_command_options *options = context;

	options->categories = value;
	return 0;
}

static int take_width(void *context, const char *value, struct error *error)
{
	struct report_command_options *options = context;

	return output_options_take_width(value, &options->width, error);
}

static int take_input(void *context, const char *value, struct error *error)
{
	struct report_command_options *options = context;

	return input_paths_take(&options->paths, value, error);
}

static int take_module(void *context, const char *value, struct error *error)
{
	struct report_command_options *options = context;

	return filter_options_take_pattern(&options->filter, FILTER_MODULE, FILTER_WANTED, value,
					   error);
}

static int take_symbol(void *context, const char *value, struct error *error)
{
	struct report_command_options *options = context;

	return filter_options_take_pattern(&options->filter, FILTER_SYMBOL, FILTER_WANTED, value,
					   error);
}

/* There is no other way than to print it. */
static int take_stdio(void *context, const char *value, struct error *error)
{
	return 0;
}

static const struct option_row rows[] = {
	{'i', "input", "FILE", take_input, "the same as IN"},
	{'g', "call-graph", "WORD,…", take_paths,
	 "paths as perf shows them: graph,0.5,caller; fractal, flat, folded, none; callee"},
	{'G', "inverted", NULL, take_inverted, "callers above callees: the default"},
	OPTION_SWITCH(0, "children", struct report_command_options, style.sort_by_total,
		      "sort by total, callees included"),
	{0, "no-children", NULL, take_no_children, "sort by self: the default"},
	{'s', "sort", "KEY,…", take_groups, "the same as --group-by"},
	{0, "group-by", "KEY,…", take_groups,
	 "a row for each function, module, comm, pid, tid, cpu, cgroup, line, kind, category"},
	{'n', "top", "N", take_top, "so many rows of the table; 20"},
	{0, "percent-limit", "PERCENT", take_limit, "leave lighter rows out"},
	{0, "categories", "FILE", take_categories,
	 "shares of categories by a table 'category: pattern …', or by the one for the 'kernel'"},
	{0, "by", "KEY,…", take_by,
	 "labels above the paths: comm (the default), pid, tid, cpu, cgroup"},
	OPTION_SWITCH(0, "lines", struct report_command_options, lines,
		      "show source lines behind names, where IN has them"),
	{0, "stdio", NULL, take_stdio, "nothing more: taken since perf report has it"},
	{0, "dsos", "RE", take_module, "the same as --module: perf's word"},
	{0, "dso", "RE", take_module, "likewise"},
	{0, "symbols", "RE", take_symbol, "the same as --symbol: perf's word"},
	{'w', "width", "COLUMNS", take_width, "of the report; the terminal's, else 80"},
};

/* --- all of it ------------------------------------------------------------------------------- */

/* Rows by category need a table; whoever names none means the kernel's. */
static void fill_in(struct report_command_options *options)
{
	size_t i;

	for (i = 0; i < options->style.nr_groups; i++)
		if (options->style.groups[i] == GROUP_CATEGORY && !options->categories)
			options->categories = "kernel";
}

int report_options_parse(struct report_command_options *options, int argc, char **argv,
			 struct error *error)
{
	const struct option_group groups[] = {
		{rows, ARRAY_SIZE(rows), options},	output_options_group(&options->output),
		filter_options_group(&options->filter), input_options_group(&options->input),
		quiet_option_group(&options->is_quiet),
	};
	const struct option_table table = {
		.groups = groups,
		.nr_groups = ARRAY_SIZE(groups),
		.take_word = input_paths_take,
		.context = &options->paths,
		.usage = "usage: stook report [OPTIONS] [IN…]\n"
			 "\n"
			 "Shows profiles as a table and a tree, or turns them into another "
			 "format.\n"
			 "IN: pprof, folded stacks, or what 'perf script' prints; without it, or "
			 "for -, stdin.\n",
		.examples =
			"\nexamples:\n"
			"  perf script | stook report\n"
			"  stook report app.pb.gz -g callee,1 --comm worker\n"
			"  stook report app.pb.gz --categories kernel -s comm,category -g none\n"
			"  stook report app.perf -o app.pb.gz -o app.md",
	};
	int err = option_table_parse(&table, argc, argv, error);

	if (!err)
		err = inputs_check(options->paths.paths, options->paths.nr, error);
	fill_in(options);
	return err;
}

void report_options_clear(struct report_command_options *options)
{
	filter_options_clear(&options->filter);
	input_paths_clear(&options->paths);
}

int report_options_check(const struct report_command_options *options, unsigned labels,
			 struct error *error)
{
	unsigned wanted = options->labels;
	size_t i, k;

	for (i = 0; i < options->style.nr_groups; i++)
		for (k = 0; k < ARRAY_SIZE(keys); k++)
			if (keys[k].group == options->style.groups[i])
				wanted |= keys[k].label;
	return label_keys_check(wanted, labels, error);
}
