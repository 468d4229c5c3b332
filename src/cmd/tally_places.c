/*
 * The order matters: tracepoints tell which fields are texts, which the expressions depend on; these
 * tell whether calls and returns are needed; and only then it is known where each probe has what.
 */
#include "cmd/tally_places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/attach/probe_features.h"

static bool is_text(void *context, const char *field)
{
	return probe_operands_is_text(context, field);
}

/* --- the query ------------------------------------------------------------------------------- */

static int compile(struct tally_places *places, const struct tally_options *options,
		   struct probe_list *list, struct error *error)
{
	struct tally_query_options query = tally_options_query(options);
	struct probe_pairs_options pairs = {.force_returns = options->probes.force_returns};
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

/* --- places ---------------------------------------------------------------------------------- */

/* A static probe can be at several places; together they are one. */
static uint32_t first_of_name(const struct probe_list *list, uint32_t number)
{
	const struct probe *probe = &list->probes[number];
	uint32_t i;

	for (i = 0; probe->kind == PROBE_USDT && i < number; i++)
		if (list->probes[i].kind == PROBE_USDT && list->probes[i].file == probe->file &&
		    !strcmp(list->probes[i].name, probe->name))
			return i;
	return number;
}

static int find_of_probe(struct tally_places *places, const struct probe_list *list,
			 const struct probe_features *features, uint32_t number,
			 struct error *error)
{
	const struct tally_plan *plan = &places->query.program.plan;
	const struct probe *probe = &list->probes[number];
	size_t i;

	places->probes[number] = (struct tally_probe){
		.function = first_of_name(list, places->pairs.functions[number]),
		.is_return = probe->is_return,
		.is_kernel = probe->kind == PROBE_KERNEL,
	};
	for (i = 0; i < plan->nr_operands; i++) {
		const struct operand *operand = &places->query.program.operands[i];
		bool is_here = operand->kind == TALLY_AT_CALL || operand->kind == TALLY_AT_RETURN;
		int err;

		if (!is_here)
			continue;
		err = probe_operands_find(&places->operands, list, number, features, operand,
					  &places->fetches[number * plan->nr_operands + i], error);
		if (err)
			return err;
	}
	return 0;
}

/*
 * A kprobe and fexit tell the place of a call differently, so the two can't be paired. Where returns
 * are had by fexit only, calls are by fentry.
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

int tally_places_find(struct tally_places *places, const struct tally_options *options,
		      struct probe_list *list, struct probe_features *features, struct error *error)
{
	size_t nr_operands;
	uint32_t i;
	int err;

	*places = (struct tally_places){0};
	err = probe_operands_init(&places->operands, list, error);
	if (!err)
		err = compile(places, options, list, error);
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
	return err ? err
		   : probe_operands_check(places->fetches, list->nr_probes * nr_operands, error);
}

void tally_places_clear(struct tally_places *places)
{
	probe_operands_clear(&places->operands);
	free(places->probes);
	free(places->fetches);
	probe_pairs_clear(&places->pairs);
	*places = (struct tally_places){0};
}
