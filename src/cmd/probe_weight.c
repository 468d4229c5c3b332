/*
 * A weight is read by the compiler of `stook tally`, whose language it is a small part of: an operand,
 * and a cast, since what a register holds behind a shorter argument is not defined.
 */
#include "cmd/probe_weight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cmd/probe_operands.h"

static int refuse(const char *text, struct error *error)
{
	(void)error_set(error, -EINVAL,
			"bad value '%s' for --weight: arg1, arg2, …, retval, args.FIELD, perhaps "
			"with a cast",
			text);
	error_hint(error, "for example arg1 or '(int)retval'; 'stook tally' can calculate");
	return -EINVAL;
}

/* Whether the plan is nothing but a cast of its operand. */
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
		return refuse(text, error);
	weight.operand = *operand;
	*ret = weight;
	return 0;
}

/* Arguments are gone when a function returns, and results are not there before. */
static int check_moment(const struct operand *operand, const struct probe *probe,
			struct error *error)
{
	bool is_result = operand->kind == TALLY_AT_RETURN;

	if (probe->kind == PROBE_TRACEPOINT || is_result == probe->is_return)
		return 0;
	if (is_result) {
		(void)error_set(error, -EINVAL, "'%s' has no retval when it is called",
				probe->name);
		error_hint(error, "probe its return: r:… instead");
		return -EINVAL;
	}
	return error_set(error, -EINVAL, "'%s' has no arguments any more when it returns: retval",
			 probe->name);
}

/* What is shorter than the cast stays as it is. */
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
	cleanup(probe_operands_clear) struct probe_operands operands = {0};
	uint32_t i;
	int err;

	if (!fetches)
		return error_set(error, -ENOMEM, "out of memory");
	err = probe_operands_init(&operands, list, error);
	for (i = 0; i < list->nr_probes && !err; i++) {
		err = check_moment(&weight->operand, &list->probes[i], error);
		if (!err)
			err = probe_operands_find(&operands, list, i, features, &weight->operand,
						  &fetches[i], error);
		apply_cast(weight, &fetches[i]);
	}
	if (!err)
		err = probe_operands_check(fetches, list->nr_probes, error);
	if (err)
		return err;
	*ret = fetches;
	fetches = NULL;
	return 0;
}
