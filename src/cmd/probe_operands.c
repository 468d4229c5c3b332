/*
 * Finds the operands of expressions at the probes of a run. src/probe/find/arguments.h knows the
 * places of arguments; it needs the layout of a tracepoint's fields and the hook of a kernel
 * function, which are looked up here.
 *
 * A weight is parsed by the compiler of `stook tally`, and limited to an operand with an optional
 * cast. The cast is needed because the upper bits of a register that holds a shorter argument are
 * undefined.
 *
 * For a query, the order matters: the types of expressions depend on which fields of tracepoints
 * are texts; expressions decide if calls and returns are needed; only then the operands' places at
 * each probe can be found.
 */
#include "cmd/probe_operands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "run/probe_search.h"
#include "collect/tallier.h"
#include "probe/attach/probe_features.h"
#include "probe/find/arguments.h"
#include "probe/find/pattern.h"
#include "probe/find/tracepoint_filter.h"
#include "probe/find/tracepoints.h"
#include "proc/tracefs.h"

/* --- operands -------------------------------------------------------------------------------- */

static int read_format(int tracefs_fd, const struct probe *probe, char **ret, struct error *error)
{
	cleanup_free char *path = NULL;
	size_t bytes;

	if (asprintf(&path, "events/%s/format", probe->symbol) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	*ret = tracefs_read(tracefs_fd, path, &bytes);
	return *ret ? 0
		    : error_set_errno(error, "cannot read the fields of tracepoint '%s'",
				      probe->name);
}

static int operands_init(struct probe_operands *operands, const struct probe_list *list,
			 struct error *error)
{
	cleanup_fd int tracefs_fd = -1;
	size_t i;

	*operands = (struct probe_operands){0};
	operands->formats = calloc(list->nr_probes + 1, sizeof(*operands->formats));
	if (!operands->formats)
		return error_set(error, -ENOMEM, "out of memory");
	operands->nr_formats = list->nr_probes;
	for (i = 0; i < list->nr_probes; i++) {
		int err;

		if (list->probes[i].kind != PROBE_TRACEPOINT)
			continue;
		if (tracefs_fd < 0)
			tracefs_fd = tracefs_open(error);
		if (tracefs_fd < 0)
			return tracefs_fd;
		err = read_format(tracefs_fd, &list->probes[i], &operands->formats[i], error);
		if (err)
			return err;
	}
	return 0;
}

static void operands_clear(struct probe_operands *operands)
{
	size_t i;

	for (i = 0; i < operands->nr_formats; i++)
		free(operands->formats[i]);
	free(operands->formats);
	*operands = (struct probe_operands){0};
}

/* True if a tracepoint has a text field of this name; for tally_query_options. */
static bool is_text(void *context, const char *field)
{
	const struct probe_operands *operands = context;
	size_t i;

	for (i = 0; i < operands->nr_formats; i++)
		if (operands->formats[i] && arguments_field_is_text(operands->formats[i], field))
			return true;
	return false;
}

static int operands_find(const struct probe_operands *operands, const struct probe_list *list,
			 uint32_t number, const struct probe_features *features,
			 const struct operand *operand, struct tally_fetch *ret,
			 struct error *error)
{
	const struct probe *probe = &list->probes[number];
	const char *why;
	int hook = probe_hook_choose(probe, features, &why);

	return arguments_find(arguments_machine(), probe,
			      number < operands->nr_formats ? operands->formats[number] : NULL,
			      hook == HOOK_FENTRY || hook == HOOK_FEXIT, operand, ret, error);
}

static int operands_check(const struct tally_fetch *fetches, size_t nr, struct error *error)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (fetches[i].kind == TALLY_FETCH_RESULT)
			break;
	if (i == nr || tallier_has_results())
		return 0;
	return error_set(
		error, -EOPNOTSUPP,
		"this kernel does not provide return values of functions (needs Linux 5.17, "
		"or kprobes)");
}

/* --- weights --------------------------------------------------------------------------------- */

static int refuse_weight(const char *text, struct error *error)
{
	(void)error_set(error, -EINVAL,
			"bad value '%s' for --weight: arg1, arg2, …, retval or args.FIELD, with an "
			"optional cast",
			text);
	error_hint(error, "for example arg1 or '(int)retval'; for calculations see 'stook tally'");
	return -EINVAL;
}

/* Returns true if the plan only casts its operand, and stores the cast in weight. */
static bool take_cast(const struct tally_plan *plan, struct probe_weight *weight)
{
	const struct tally_step *step = &plan->steps[0];

	if (!plan->nr_steps)
		return true;
	if (plan->nr_steps > 1 ||
	    (step->operation != TALLY_SIGNED && step->operation != TALLY_UNSIGNED))
		return false;
	weight->bytes = (uint8_t)((64 - step->number) / 8);
	weight->is_signed = step->operation == TALLY_SIGNED;
	return true;
}

int probe_weight_parse(const char *text, struct probe_weight *ret, struct error *error)
{
	struct program program = {0};
	const struct operand *operand = &program.operands[0];
	struct probe_weight weight = {0};
	struct expression expression;
	int err = expression_compile(&program, text, strlen(text), &expression, error);

	if (err)
		return err;
	if (expression.is_text || program.plan.nr_operands != 1 ||
	    (operand->kind != TALLY_AT_CALL && operand->kind != TALLY_AT_RETURN) ||
	    !take_cast(&program.plan, &weight))
		return refuse_weight(text, error);
	weight.operand = *operand;
	*ret = weight;
	return 0;
}

/* Arguments are not available at a function's return, results not before it. */
static int check_moment(const struct operand *operand, const struct probe *probe,
			struct error *error)
{
	bool is_result = operand->kind == TALLY_AT_RETURN;

	if (probe->kind == PROBE_TRACEPOINT || is_result == probe->is_return)
		return 0;
	if (is_result) {
		(void)error_set(error, -EINVAL, "'%s': retval is not available at a call",
				probe->name);
		error_hint(error, "probe its return instead: r:…");
		return -EINVAL;
	}
	return error_set(error, -EINVAL,
			 "'%s': arguments are not available at a return, only retval", probe->name);
}

/* An operand shorter than the cast is not changed. */
static void apply_cast(const struct probe_weight *weight, struct tally_fetch *fetch)
{
	if (!weight->bytes || weight->bytes > fetch->bytes)
		return;
	fetch->bytes = weight->bytes;
	fetch->is_signed = weight->is_signed;
}

int probe_weight_find(const struct probe_weight *weight, const struct probe_list *list,
		      const struct probe_features *features, struct tally_fetch **ret,
		      struct error *error)
{
	cleanup_free struct tally_fetch *fetches = calloc(list->nr_probes + 1, sizeof(*fetches));
	cleanup(operands_clear) struct probe_operands operands = {0};
	uint32_t i;
	int err;

	if (!fetches)
		return error_set(error, -ENOMEM, "out of memory");
	err = operands_init(&operands, list, error);
	for (i = 0; i < list->nr_probes && !err; i++) {
		err = check_moment(&weight->operand, &list->probes[i], error);
		if (!err)
			err = operands_find(&operands, list, i, features, &weight->operand,
					    &fetches[i], error);
		apply_cast(weight, &fetches[i]);
	}
	if (!err)
		err = operands_check(fetches, list->nr_probes, error);
	if (err)
		return err;
	*ret = fetches;
	fetches = NULL;
	return 0;
}

/* --- filters --------------------------------------------------------------------------------- */

static int compile_filter(struct probe *probe, const char *filter, struct error *error)
{
	cleanup_fd int tracefs_fd = tracefs_open(error);
	cleanup_free char *format = NULL;
	int err = tracefs_fd < 0 ? tracefs_fd : read_format(tracefs_fd, probe, &format, error);

	return err ? err
		   : tracepoint_filter_compile(probe->name, format, filter, &probe->filter,
					       &probe->nr_filter, error);
}

/* Finds the filter of the patterns that a probe matches: *ret NULL: none. */
static int find_filter(const struct probe *probe, const struct probe_options *options,
		       const struct pattern *patterns, const char **ret, struct error *error)
{
	bool is_found = false;
	size_t i;

	for (i = 0; i < options->nr_patterns; i++) {
		const char *filter = options->filters[i];

		if (!tracepoint_fits(&patterns[i], probe) || patterns[i].is_exclusion)
			continue;
		if (is_found && (*ret ? !filter || strcmp(*ret, filter) != 0 : filter != NULL))
			return error_set(error, -EINVAL,
					 "'%s' matches patterns with different filters",
					 probe->name);
		*ret = filter;
		is_found = true;
	}
	return 0;
}

int probe_filters_compile(struct probe_list *list, const struct probe_options *options,
			  struct error *error)
{
	cleanup_free struct pattern *patterns = calloc(options->nr_patterns + 1, sizeof(*patterns));
	bool is_any = false;
	size_t nr, i;
	int err = patterns ? 0 : error_no_memory(error, "");

	for (nr = 0; nr < options->nr_patterns && !err; nr++) {
		is_any |= options->filters[nr] != NULL;
		err = pattern_parse(options->patterns[nr], options->is_regex, &patterns[nr], error);
		if (err || !options->filters[nr] || patterns[nr].kind == PATTERN_TRACEPOINT)
			continue;
		err = error_set(error, -EINVAL, "--filter is for tracepoints, not for '%s'",
				options->patterns[nr]);
		error_hint(error, "a tracepoint is t:CATEGORY:NAME");
		pattern_clear(&patterns[nr]);
		break;
	}
	for (i = 0; i < list->nr_probes && !err && is_any; i++) {
		const char *filter = NULL;

		err = find_filter(&list->probes[i], options, patterns, &filter, error);
		if (!err && filter)
			err = compile_filter(&list->probes[i], filter, error);
	}
	for (i = 0; i < nr && patterns; i++)
		pattern_clear(&patterns[i]);
	return err;
}

/* --- queries --------------------------------------------------------------------------------- */

static int compile(struct tally_places *places, const struct tally_query_options *options,
		   bool force_returns, struct probe_list *list, struct error *error)
{
	struct tally_query_options query = *options;
	struct probe_pairs_options pairs = {.force_returns = force_returns};
	int err;

	query.is_text = is_text;
	query.context = &places->operands;
	err = tally_query_compile(&query, &places->query, error);
	if (err)
		return err;
	pairs.calls = places->query.needs_call;
	pairs.returns = places->query.needs_return;
	pairs.paired = places->query.program.plan.has_pairs;
	err = probe_pairs_make(list, &pairs, &places->pairs, error);
	if (!err && places->pairs.are_paired)
		tally_query_pair(&places->query);
	return err;
}

static int find_of_probe(struct tally_places *places, const struct probe_list *list,
			 const struct probe_features *features, uint32_t number,
			 struct error *error)
{
	const struct tally_plan *plan = &places->query.program.plan;
	const struct probe *probe = &list->probes[number];
	size_t i;

	places->probes[number] = (struct tally_probe){
		.function = probe_first_of_name(list, places->pairs.functions[number]),
		.is_return = probe->is_return,
		.is_kernel = probe->kind == PROBE_KERNEL,
	};
	for (i = 0; i < plan->nr_operands; i++) {
		const struct operand *operand = &places->query.program.operands[i];
		bool is_here = operand->kind == TALLY_AT_CALL || operand->kind == TALLY_AT_RETURN;
		int err;

		if (!is_here)
			continue;
		err = operands_find(&places->operands, list, number, features, operand,
				    &places->fetches[number * plan->nr_operands + i], error);
		if (err)
			return err;
	}
	return 0;
}

/*
 * A kprobe and fexit identify a call differently and cannot be paired. If returns are only possible
 * by fexit, fentry is used for calls.
 */
static void choose_one_way(const struct probe_list *list, struct probe_features *features)
{
	size_t i;

	for (i = 0; i < list->nr_probes; i++) {
		const struct probe *probe = &list->probes[i];
		const char *why;

		if (probe->kind == PROBE_KERNEL && probe->is_return &&
		    probe_hook_choose(probe, features, &why) == HOOK_FEXIT)
			features->has[PROBE_FEATURE_KPROBE_EVENT] = false;
	}
}

int tally_places_find(struct tally_places *places, const struct tally_query_options *options,
		      bool force_returns, struct probe_list *list, struct probe_features *features,
		      struct error *error)
{
	size_t nr_operands;
	uint32_t i;
	int err;

	*places = (struct tally_places){0};
	err = operands_init(&places->operands, list, error);
	if (!err)
		err = compile(places, options, force_returns, list, error);
	if (err)
		return err;
	if (places->pairs.are_paired)
		choose_one_way(list, features);
	nr_operands = places->query.program.plan.nr_operands;
	places->probes = calloc(list->nr_probes + 1, sizeof(*places->probes));
	places->fetches = calloc(list->nr_probes * nr_operands + 1, sizeof(*places->fetches));
	if (!places->probes || !places->fetches)
		return error_set(error, -ENOMEM, "out of memory");
	for (i = 0; i < list->nr_probes && !err; i++)
		err = find_of_probe(places, list, features, i, error);
	return err ? err : operands_check(places->fetches, list->nr_probes * nr_operands, error);
}

void tally_places_clear(struct tally_places *places)
{
	operands_clear(&places->operands);
	free(places->probes);
	free(places->fetches);
	probe_pairs_clear(&places->pairs);
	*places = (struct tally_places){0};
}
