/* A list is sorted by place, so a function's call and return are neighbours if both are there. */
#include "probe/expression/probe_pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Whether its program bears that return addresses are replaced. */
static int check_program(const struct probe *probe, struct error *error)
{
	if (probe->is_go) {
		(void)error_set(error, -EINVAL,
				"'%s' is in a Go program, which a return probe would crash",
				probe->name);
		error_hint(error, "Go moves its stacks; --force probes it nevertheless");
		return -EINVAL;
	}
	if (probe->unwinds) {
		(void)error_set(error, -EINVAL,
				"with a return probe on '%s', an exception or panic that passes "
				"through it would end the program",
				probe->name);
		error_hint(error, "if none does, --force probes it nevertheless");
		return -EINVAL;
	}
	return 0;
}

static int check_return(const struct probe *probe, const struct probe_pairs_options *options,
			struct error *error)
{
	if (probe->kind == PROBE_TRACEPOINT || probe->kind == PROBE_USDT) {
		(void)error_set(error, -EINVAL, "'%s' is no function: it does not return",
				probe->name);
		error_hint(error, "retval and latency are of functions");
		return -EINVAL;
	}
	return options->force_returns ? 0 : check_program(probe, error);
}

static bool is_same_place(const struct probe *a, const struct probe *b)
{
	if (a->kind != b->kind || a->file != b->file || a->offset != b->offset)
		return false;
	return a->kind == PROBE_USER || !strcmp(a->symbol, b->symbol);
}

/* The number of the probe's counterpart among the first nr; or nr. */
static size_t find_twin(const struct probe_list *list, size_t number, size_t nr)
{
	const struct probe *probe = &list->probes[number];
	size_t first = number ? number - 1 : 0, i;

	for (i = first; i < nr && i <= number + 1; i++)
		if (list->probes[i].is_return != probe->is_return &&
		    is_same_place(&list->probes[i], probe))
			return i;
	return nr;
}

static int check_returns(const struct probe_list *list, const struct probe_pairs_options *options,
			 struct error *error)
{
	size_t i;
	int err = 0;

	for (i = 0; i < list->nr_probes && !err; i++)
		err = check_return(&list->probes[i], options, error);
	return err;
}

/* The number that stands for a pair is the call's. */
static int add_twins(struct probe_list *list, size_t nr, uint32_t *functions)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		size_t twin = find_twin(list, i, nr);
		struct probe copy = list->probes[i];
		int64_t added;

		if (twin < nr) {
			functions[i] = (uint32_t)(copy.is_return ? twin : i);
			continue;
		}
		copy.is_return = !copy.is_return;
		added = probe_list_add(list, &copy);
		if (added < 0)
			return (int)added;
		functions[i] = (uint32_t)(copy.is_return ? i : (size_t)added);
		functions[added] = functions[i];
	}
	return 0;
}

static size_t nr_returns(const struct probe_list *list)
{
	size_t nr = 0, i;

	for (i = 0; i < list->nr_probes; i++)
		nr += list->probes[i].is_return;
	return nr;
}

/* What is known at one of the two is not, where only the other one is hit. */
static bool need_pairs(const struct probe_list *list, const struct probe_pairs_options *options)
{
	size_t nr = nr_returns(list);

	if (options->paired || (options->calls && options->returns))
		return true;
	return options->calls ? nr > 0 : options->returns && nr && nr < list->nr_probes;
}

/* Takes out the few functions whose return can't be probed at all; the others are worth having. */
static int leave_out_no_returns(struct probe_list *list, struct error *error)
{
	size_t i, kept = 0;

	for (i = 0; i < list->nr_probes; i++) {
		const struct probe *probe = &list->probes[i];

		if (!probe->why_no_return)
			list->probes[kept++] = *probe;
		else if (probe_list_refuse(list, probe->name, probe->why_no_return) < 0)
			return error_set(error, -ENOMEM, "out of memory");
	}
	if (!kept && list->nr_probes)
		return error_set(error, -EINVAL, "the return of '%s' can't be probed: %s",
				 list->probes[0].name, list->probes[0].why_no_return);
	list->nr_probes = kept;
	return 0;
}

int probe_pairs_make(struct probe_list *list, const struct probe_pairs_options *options,
		     struct probe_pairs *ret, struct error *error)
{
	cleanup_free uint32_t *functions = calloc(2 * list->nr_probes + 1, sizeof(*functions));
	bool pairs = need_pairs(list, options);
	size_t nr, i;
	int err = 0;

	if (!functions)
		return error_set(error, -ENOMEM, "out of memory");
	if (pairs || options->returns)
		err = leave_out_no_returns(list, error);
	if (!err && (pairs || options->returns))
		err = check_returns(list, options, error);
	if (err)
		return err;
	nr = list->nr_probes;
	for (i = 0; i < nr; i++)
		functions[i] = (uint32_t)i;
	for (i = 0; i < nr && options->returns && !pairs; i++)
		list->probes[i].is_return = true;
	if (pairs && add_twins(list, nr, functions) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	*ret = (struct probe_pairs){pairs, take_pointer(&functions)};
	return 0;
}

void probe_pairs_clear(struct probe_pairs *pairs)
{
	free(pairs->functions);
	*pairs = (struct probe_pairs){0};
}
