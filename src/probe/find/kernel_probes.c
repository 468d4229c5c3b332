/*
 * As with user code, patterns note what they choose, and choices of one place become one probe. Where
 * the kernel hides its addresses a place is a name.
 */
#include "probe/find/kernel_probes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "probe/find/cold_part.h"
#include "probe/find/joined_names.h"
#include "probe/find/twins.h"

#define CHOICES_MAX (8u << 20)
#define KERNEL_FILE "vmlinux" /* where the functions are that are no module's */

static int out_of_memory(struct error *error)
{
	return error_set(error, -ENOMEM, "out of memory for kernel functions");
}

/* --- choosing -------------------------------------------------------------------------------- */

static const char *why_not(const struct kernel_functions *kernel, uint32_t number,
			   const struct pattern *pattern)
{
	const struct kernel_function *function = &kernel->functions[number];

	if (kernel->init_end && function->address >= kernel->init_start &&
	    function->address < kernel->init_end)
		return "it was there only while the kernel started";
	if (is_cold_part(function->name) && pattern->name && !matcher_only_name(pattern->name))
		return "part of a function, jumped to and not called";
	/* An instruction inside a function is none of ftrace's business. */
	if (!pattern->offset && !kernel_function_is_traceable(kernel, number))
		return "notrace: the kernel does not let it be traced";
	return NULL;
}

static bool is_left_out(const struct kernel_functions *kernel, const struct kernel_choice *choice)
{
	const struct kernel_function *function = &kernel->functions[choice->function];
	size_t i;

	for (i = 0; i < kernel->exclusions.nr; i++) {
		const struct pattern *pattern = kernel->exclusions.patterns[i];

		if (!exclusion_is_about(pattern, PATTERN_KERNEL, choice->is_return))
			continue;
		if (pattern->name ? matcher_fits(pattern->name, function->name)
				  : pattern->address == function->address + choice->offset)
			return true;
	}
	return false;
}

static int choose(struct kernel_functions *kernel, const struct pattern *pattern, uint32_t number,
		  uint64_t offset, struct refusals *refusals, struct error *error)
{
	const struct kernel_choice choice = {offset, number, pattern->is_return};
	const char *why = why_not(kernel, number, pattern);

	if (is_left_out(kernel, &choice))
		return 0;
	if (!why && offset >= kernel_function_bytes(kernel, number))
		why = "behind the function's end";
	if (why)
		return refusals_add(refusals, kernel->functions[number].name, why) < 0
			       ? out_of_memory(error)
			       : 0;
	if (kernel->nr_choices == CHOICES_MAX)
		return error_set(error, -E2BIG, "the patterns fit more than %u kernel functions",
				 CHOICES_MAX);
	if (array_reserve(&kernel->choices, &kernel->cap_choices, kernel->nr_choices + 1,
			  sizeof(*kernel->choices)) < 0)
		return out_of_memory(error);
	kernel->choices[kernel->nr_choices++] = choice;
	return 0;
}

static int choose_address(struct kernel_functions *kernel, const struct pattern *pattern,
			  struct refusals *refusals, size_t *ret_nr, struct error *error)
{
	int64_t number = kernel_function_at(kernel, pattern->address);

	if (number < 0) {
		*ret_nr = 0;
		return 0;
	}
	*ret_nr = 1;
	return choose(kernel, pattern, (uint32_t)number,
		      pattern->address - kernel->functions[number].address, refusals, error);
}

int kernel_probes_choose(struct kernel_functions *kernel, const struct pattern *pattern,
			 struct refusals *refusals, size_t *ret_nr, struct error *error)
{
	size_t i, nr = 0;
	int err = 0;

	if (!pattern->name)
		return choose_address(kernel, pattern, refusals, ret_nr, error);
	for (i = 0; i < kernel->nr && !err; i++) {
		if (!matcher_fits(pattern->name, kernel->functions[i].name))
			continue;
		err = choose(kernel, pattern, (uint32_t)i, pattern->offset, refusals, error);
		nr++;
	}
	*ret_nr = nr;
	return err;
}

/* --- putting in order ------------------------------------------------------------------------ */

/* Whether two choices are one place: of hidden addresses that can't be told, but by the name. */
static int compare_places(const struct kernel_functions *kernel, const struct kernel_choice *a,
			  const struct kernel_choice *b)
{
	const struct kernel_function *f = &kernel->functions[a->function];
	const struct kernel_function *g = &kernel->functions[b->function];

	if (f->address != g->address)
		return f->address < g->address ? -1 : 1;
	if (!f->address && a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return (int)a->is_return - (int)b->is_return;
}

static int compare_choices(const void *left, const void *right, void *context)
{
	const struct kernel_choice *a = left, *b = right;
	int order = compare_places(context, a, b);

	if (order)
		return order;
	return a->function < b->function ? -1 : a->function > b->function;
}

size_t kernel_probes_settle(struct kernel_functions *kernel)
{
	struct kernel_choice *choices = kernel->choices;
	size_t i, nr = 0, nr_places = 0;

	if (kernel->nr_choices)
		qsort_r(choices, kernel->nr_choices, sizeof(*choices), compare_choices, kernel);
	for (i = 0; i < kernel->nr_choices; i++) {
		if (nr && !compare_choices(&choices[i], &choices[nr - 1], kernel))
			continue;
		nr_places += !nr || compare_places(kernel, &choices[i], &choices[nr - 1]);
		choices[nr++] = choices[i];
	}
	kernel->nr_choices = nr;
	return nr_places;
}

/* --- probes ---------------------------------------------------------------------------------- */

struct maker {
	const struct kernel_functions *kernel;
	struct probe_list *list;
	struct joined_names joined;
	struct twins twins;
};

/* Of several names of one place, the one that the kernel itself has for it. */
static const struct kernel_function *choose_symbol(const struct kernel_functions *kernel,
						   const struct kernel_choice *choices, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (kernel_function_is_listed(kernel, choices[i].function))
			return &kernel->functions[choices[i].function];
	return &kernel->functions[choices[0].function];
}

static int add_probe(struct maker *maker, const struct kernel_choice *choices, size_t nr)
{
	const struct kernel_function *function = choose_symbol(maker->kernel, choices, nr);
	struct probe probe = {.kind = PROBE_KERNEL,
			      .is_return = choices[0].is_return,
			      .offset = choices[0].offset,
			      .address = function->address,
			      .symbol = function->name};
	int64_t number;
	size_t i;

	for (i = 0; i < nr; i++)
		if (joined_names_add(&maker->joined,
				     maker->kernel->functions[choices[i].function].name,
				     probe.offset) < 0)
			return -ENOMEM;
	probe.name = joined_names_take(&maker->joined);
	number = probe_list_add(maker->list, &probe);
	if (number < 0)
		return (int)number;
	return twins_add(&maker->twins, (uint32_t)number, probe.address + probe.offset,
			 function->module[0] ? function->module : KERNEL_FILE);
}

int kernel_probes_add(const struct kernel_functions *kernel, struct probe_list *list,
		      struct error *error)
{
	struct maker maker = {.kernel = kernel, .list = list};
	const struct kernel_choice *choices = kernel->choices;
	size_t i, end;
	int err = 0;

	for (i = 0; i < kernel->nr_choices && !err; i = end) {
		for (end = i + 1; end < kernel->nr_choices &&
				  !compare_places(kernel, &choices[i], &choices[end]);)
			end++;
		err = add_probe(&maker, &choices[i], end - i);
	}
	if (!err)
		err = twins_tell_apart(&maker.twins, list, "");
	joined_names_clear(&maker.joined);
	twins_clear(&maker.twins);
	return err < 0 ? out_of_memory(error) : 0;
}
