/* Options for what is probed and what it may cost. */
#include "cmd/options/probe_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "cmd/options/naming_options.h"
#include "cmd/options/task_options.h"
#include "probe/attach/probe_features.h"
#include "probe/find/pattern.h"

#define MAX_PROBES_LIMIT (1U << 24)

static int take_debug_dir(void *context, const char *value, struct error *error)
{
	struct probe_options *options = context;

	return debug_folders_take(options->debug_folders, &options->nr_debug_folders, value, error);
}

/* True for digits with at most one decimal point: no sign, no exponent. */
static bool is_decimal(const char *text, size_t nr)
{
	size_t digits = strspn(text, "0123456789");
	size_t all = digits;

	if (text[all] == '.') {
		size_t behind = strspn(text + all + 1, "0123456789");

		digits += behind;
		all += behind + 1;
	}
	return digits && all == nr;
}

int budget_option_take(const char *option, const char *value, double *ret_share,
		       struct error *error)
{
	size_t nr = strlen(value);
	double percent = 0;

	if (!strcmp(value, "off")) {
		*ret_share = 0;
		return 0;
	}
	if (nr && value[nr - 1] == '%' && is_decimal(value, nr - 1))
		percent = strtod(value, NULL);
	if (percent <= 0 || percent > 100)
		return option_bad(error, option, value, "a share of each CPU such as 5%, or off");
	*ret_share = percent / 100;
	return 0;
}

static int take_budget(void *context, const char *value, struct error *error)
{
	return budget_option_take("--budget", value, &((struct probe_options *)context)->budget,
				  error);
}

static int take_without(void *context, const char *value, struct error *error)
{
	struct probe_options *options = context;
	size_t length;

	for (; *value; value += length + (value[length] == ',')) {
		unsigned i;

		length = strcspn(value, ",");
		for (i = 0; i < NR_PROBE_FEATURES; i++) {
			const char *name = probe_feature_name((enum probe_feature)i);

			if (strlen(name) == length && !strncmp(name, value, length))
				break;
		}
		if (i == NR_PROBE_FEATURES)
			return option_bad(
				error, "--without", value,
				"a list of uprobe_multi, uprobe_pid, kprobe_multi, fentry, "
				"kprobe_event, uprobe_event");
		options->without |= 1U << i;
	}
	return 0;
}

static const struct option_row rows[] = {
	OPTION_SWITCH('r', "regexp", struct probe_options, is_regex,
		      "patterns are regular expressions, anchored at a name's start"),
	OPTION_SWITCH('l', "list", struct probe_options, list, "list what matches, attach nothing"),
	{0, "budget", "SHARE", take_budget,
	 "limit for the cost of probes per CPU, such as 5%, or off (default depends)"},
	OPTION_NUMBER(0, "max-probes", "N", struct probe_options, max_probes, 1, MAX_PROBES_LIMIT,
		      "1 to 16777216", "fail if more places match (default 10000)"),
	{0, "debug-dir", "DIR", take_debug_dir, "search debug files in DIR first; may be repeated"},
	OPTION_SWITCH(0, "force", struct probe_options, force_returns,
		      "allow return probes in Go, C++ and Rust programs, which may crash them"),
	{0, "without", "FEATURE,…", take_without, "do not use these kernel features"},
};

struct option_group probe_options_group(struct probe_options *options)
{
	return (struct option_group){rows, ARRAY_SIZE(rows), options};
}

int probe_options_take_word(void *context, const char *word, struct error *error)
{
	const struct probe_words *words = context;
	struct probe_options *options = words->probes;
	uint64_t ns;

	if (is_decimal(word, strlen(word)) || number_parse_seconds(word, &ns) == 0)
		return task_options_take_duration(words->tasks, word, error);
	if (options->nr_patterns == PROBE_PATTERNS_MAX)
		return error_set(error, -E2BIG, "more than %d patterns", PROBE_PATTERNS_MAX);
	options->patterns[options->nr_patterns++] = word;
	return 0;
}

/* Patterns are parsed again during the search; here errors count as invalid usage. */
static int check_patterns(const struct probe_options *options, struct error *error)
{
	size_t i;

	for (i = 0; i < options->nr_patterns; i++) {
		struct pattern pattern;
		int err = pattern_parse(options->patterns[i], options->is_regex, &pattern, error);

		if (err)
			return err;
		pattern_clear(&pattern);
	}
	return 0;
}

int probe_options_check(const struct probe_options *options, const char *question,
			const char *example, struct error *error)
{
	if (options->nr_patterns)
		return check_patterns(options, error);
	(void)error_set(error, -EINVAL, "no pattern given: %s", question);
	error_hint(error, "for example %s; see --help", example);
	return -EINVAL;
}

int probe_options_take_filter(struct probe_options *options, const char *value, struct error *error)
{
	const size_t last = options->nr_patterns - 1;

	if (!options->nr_patterns)
		return error_set(error, -EINVAL,
				 "--filter '%.100s' has no tracepoint: it stands behind one",
				 value);
	if (options->filters[last]) {
		(void)error_set(error, -EINVAL, "'%s' has two filters", options->patterns[last]);
		error_hint(error, "combine them: '(%.100s) && (%.100s)'", options->filters[last],
			   value);
		return -EINVAL;
	}
	options->filters[last] = value;
	return 0;
}

void probe_options_clear(struct probe_options *options)
{
	debug_folders_clear(options->debug_folders, &options->nr_debug_folders);
}
