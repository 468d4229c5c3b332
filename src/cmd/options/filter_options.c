/*
 * The options that select samples. criteria[] has a row for each subject: the names of its options,
 * and the label that a profile must have. A filter on a missing label is an error, not an empty
 * result.
 */
#include "cmd/options/filter_options.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "view/amount.h"
#include "run/complain.h"

#define MAX_NUMBERS  500
#define LABELS_BYTES 128

static const struct {
	const char *options[NR_FILTER_SENSES];
	enum label label; /* required; 0: none */
	const char *what; /* the label in messages */
} criteria[NR_FILTER_SUBJECTS] = {
	[FILTER_COMM] = {{"--comm", "--not-comm"}, LABEL_COMM, "thread names"},
	[FILTER_MODULE] = {{"--module", "--not-module"}, 0, NULL},
	[FILTER_SYMBOL] = {{"--symbol", "--not-symbol"}, 0, NULL},
	[FILTER_STACK] = {{"--focus", "--ignore"}, 0, NULL},
	[FILTER_PID] = {{"--pid", "--not-pid"}, LABEL_PID, "pids"},
	[FILTER_TID] = {{"--tid", "--not-tid"}, LABEL_TID, "tids"},
	[FILTER_PROBE] = {{"--probe", "--not-probe"}, LABEL_PROBE, "names of probes"},
};

/* --- the command line ------------------------------------------------------------------------ */

int filter_options_take_pattern(struct filter_options *options, enum filter_subject subject,
				enum filter_sense sense, const char *value, struct error *error)
{
	struct error why = {0};
	int err = filter_add_pattern(&options->filter, subject, sense, value, &why);

	if (err == -EINVAL)
		return option_bad(error, criteria[subject].options[sense], value, why.text);
	return err ? error_set(error, err, "%s", why.text) : 0;
}

static int take_numbers(struct filter_options *options, enum filter_subject subject,
			enum filter_sense sense, const char *value, struct error *error)
{
	cleanup_free uint32_t *numbers = NULL;
	size_t nr;

	if (number_parse_list(value, false, INT_MAX, MAX_NUMBERS, &numbers, &nr) < 0)
		return option_bad(error, criteria[subject].options[sense], value,
				  "numbers, separated by commas");
	if (filter_add_numbers(&options->filter, subject, sense, numbers, nr) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	return 0;
}

/* One function per option: name, function that takes its value, subject, sense. */
#define TAKERS(X)                                                                  \
	X(comm, filter_options_take_pattern, FILTER_COMM, FILTER_WANTED)           \
	X(not_comm, filter_options_take_pattern, FILTER_COMM, FILTER_UNWANTED)     \
	X(pid, take_numbers, FILTER_PID, FILTER_WANTED)                            \
	X(not_pid, take_numbers, FILTER_PID, FILTER_UNWANTED)                      \
	X(tid, take_numbers, FILTER_TID, FILTER_WANTED)                            \
	X(not_tid, take_numbers, FILTER_TID, FILTER_UNWANTED)                      \
	X(probe, filter_options_take_pattern, FILTER_PROBE, FILTER_WANTED)         \
	X(not_probe, filter_options_take_pattern, FILTER_PROBE, FILTER_UNWANTED)   \
	X(module, filter_options_take_pattern, FILTER_MODULE, FILTER_WANTED)       \
	X(not_module, filter_options_take_pattern, FILTER_MODULE, FILTER_UNWANTED) \
	X(symbol, filter_options_take_pattern, FILTER_SYMBOL, FILTER_WANTED)       \
	X(not_symbol, filter_options_take_pattern, FILTER_SYMBOL, FILTER_UNWANTED) \
	X(focus, filter_options_take_pattern, FILTER_STACK, FILTER_WANTED)         \
	X(ignore, filter_options_take_pattern, FILTER_STACK, FILTER_UNWANTED)

#define X(name, take, subject, sense)                                                 \
	static int take_##name(void *context, const char *value, struct error *error) \
	{                                                                             \
		return take(context, subject, sense, value, error);                   \
	}
TAKERS(X)
#undef X

static const struct option_row rows[] = {
	{0, "comm", "RE", take_comm, "only threads whose name matches (regular expression)"},
	{0, "not-comm", "RE", take_not_comm, "only threads whose name does not match"},
	{'p', "pid", "PID,…", take_pid, "only these processes"},
	{0, "not-pid", "PID,…", take_not_pid, "all but these processes"},
	{'t', "tid", "TID,…", take_tid, "only these threads"},
	{0, "not-tid", "TID,…", take_not_tid, "all but these threads"},
	{0, "probe", "RE", take_probe, "only hits of such probes"},
	{0, "not-probe", "RE", take_not_probe, "all but these hits"},
	{0, "module", "RE", take_module, "only samples whose leaf function is in such a module"},
	{0, "not-module", "RE", take_not_module, "all but these samples"},
	{0, "symbol", "RE", take_symbol, "only samples with such a leaf function"},
	{0, "not-symbol", "RE", take_not_symbol, "all but these samples"},
	{0, "focus", "RE", take_focus, "only stacks with such a function anywhere"},
	{0, "ignore", "RE", take_ignore, "only stacks without such a function"},
};

struct option_group filter_options_group(struct filter_options *options)
{
	return (struct option_group){rows, ARRAY_SIZE(rows), options};
}

void filter_options_clear(struct filter_options *options)
{
	filter_clear(&options->filter);
}

/* --- labels of the profile ------------------------------------------------------------------- */

static unsigned labels_of(const struct profile *profile)
{
	unsigned labels = 0;
	uint32_t i;

	for (i = 0; i < profile_nr_samples(profile); i++) {
		const struct sample_labels *has = &profile_sample(profile, i)->labels;

		labels |= (has->comm ? LABEL_COMM : 0U) | (has->pid ? LABEL_PID : 0U) |
			  (has->tid ? LABEL_TID : 0U) | (has->probe ? LABEL_PROBE : 0U);
	}
	return labels;
}

/* "thread names and pids" */
static void describe_labels(unsigned labels, char text[LABELS_BYTES])
{
	size_t nr = 0, i;

	text[0] = '\0';
	for (i = 0; i < NR_FILTER_SUBJECTS; i++)
		if (labels & criteria[i].label)
			nr += (size_t)snprintf(text + nr, LABELS_BYTES - nr, "%s%s",
					       nr ? " and " : "", criteria[i].what);
	if (!nr)
		(void)snprintf(text, LABELS_BYTES, "only functions");
}

/* Sets the hint for a missing label. */
static void hint_label(enum label label, struct error *error)
{
	if (label == LABEL_PROBE)
		error_hint(error,
			   "pprof files of 'stook stackcount' with several probes have them");
	else
		error_hint(error, "%s; for perf's text, 'perf script -F +pid'",
			   label == LABEL_TID ? "'stook profile' records tids unless --by omits tid"
					      : "record it with --by pid,tid,comm");
}

static int check_labels(const struct filter *filter, const struct profile *profile,
			struct error *error)
{
	unsigned labels = labels_of(profile);
	char has[LABELS_BYTES];
	size_t i, sense;

	if (!profile_nr_samples(profile))
		return 0;
	describe_labels(labels, has);
	for (i = 0; i < NR_FILTER_SUBJECTS; i++)
		for (sense = 0; sense < NR_FILTER_SENSES; sense++) {
			if (!filter_criterion_is_used(&filter->criteria[i][sense]) ||
			    (labels & criteria[i].label) == criteria[i].label)
				continue;
			(void)error_set(error, -EINVAL, "%s: the profile has no %s, it has %s",
					criteria[i].options[sense], criteria[i].what, has);
			hint_label(criteria[i].label, error);
			return -EINVAL;
		}
	return 0;
}

int filter_options_apply(struct filter_options *options, struct profile *profile,
			 struct error *error)
{
	uint64_t dropped;
	int err = check_labels(&options->filter, profile, error);

	if (err)
		return err;
	if (filter_apply(&options->filter, profile, &dropped) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	options->dropped += dropped;
	return 0;
}

void filter_options_report(const struct filter_options *options, const struct profile *profile)
{
	char number[AMOUNT_BYTES], buffer[AMOUNT_COUNTED_BYTES];
	const char *counted = amount_counted(profile, options->dropped, buffer);
	size_t i, sense;

	if (profile_total(profile) || !options->dropped)
		return;
	(void)amount_total(profile, options->dropped, number);
	for (i = 0; i < NR_FILTER_SUBJECTS; i++)
		for (sense = 0; sense < NR_FILTER_SENSES; sense++) {
			const struct filter_criterion *criterion =
				&options->filter.criteria[i][sense];

			if (!filter_criterion_is_used(criterion) || criterion->passed)
				continue;
			complain("no samples left: %s excludes all of %s%s",
				 criteria[i].options[sense], number, counted);
			return;
		}
	complain("no samples left: the filters together exclude all of %s%s", number, counted);
}
