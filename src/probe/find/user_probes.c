/*
 * Choices are sorted by place, so that names and patterns that mean the same one become one probe.
 *
 * An exclusion takes away the names that it fits: `malloc|__libc_malloc` without `__*` is `malloc`.
 * One that is a name in full takes away the function, by whatever name it was chosen.
 */
#include "probe/find/user_probes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/find/joined_names.h"
#include "probe/find/no_return.h"
#include "probe/find/twins.h"

/* --- putting in order ------------------------------------------------------------------------ */

/* What makes two choices one probe. */
static int compare_places(const struct user_choice *a, const struct user_choice *b)
{
	if (a->vaddr != b->vaddr)
		return a->vaddr < b->vaddr ? -1 : 1;
	return (int)a->is_return - (int)b->is_return;
}

static int compare_choices(const void *left, const void *right)
{
	const struct user_choice *a = left, *b = right;
	int order = compare_places(a, b);

	if (order)
		return order;
	return a->function < b->function ? -1 : a->function > b->function;
}

static bool has_alias_that_fits(struct user_file *file, uint32_t function,
				const struct matcher *matcher)
{
	const struct listed_function *functions = file->functions.functions;
	uint64_t vaddr = functions[function].vaddr;

	while (function && functions[function - 1].vaddr == vaddr)
		function--;
	for (; function < file->functions.nr && functions[function].vaddr == vaddr; function++)
		if (user_file_fits(file, function, matcher))
			return true;
	return false;
}

static bool leaves_out(struct user_file *file, const struct pattern *pattern,
		       const struct user_choice *choice)
{
	if (!exclusion_is_about(pattern, PATTERN_USER, choice->is_return))
		return false;
	if (!pattern->name)
		return pattern->address == choice->vaddr;
	if (choice->function == USER_NO_FUNCTION)
		return false;
	return user_file_fits(file, choice->function, pattern->name) ||
	       (matcher_only_name(pattern->name) &&
		has_alias_that_fits(file, choice->function, pattern->name));
}

bool user_probes_leave_out(struct user_file *file, const struct user_choice *choice)
{
	size_t i;

	for (i = 0; i < file->exclusions.nr; i++)
		if (leaves_out(file, file->exclusions.patterns[i], choice))
			return true;
	return false;
}

size_t user_probes_settle(struct user_file *file)
{
	size_t i, nr = 0, nr_places = 0;

	if (file->nr_choices)
		qsort(file->choices, file->nr_choices, sizeof(*file->choices), compare_choices);
	for (i = 0; i < file->nr_choices; i++) {
		const struct user_choice *choice = &file->choices[i];

		if ((nr && !compare_choices(choice, &file->choices[nr - 1])) ||
		    user_probes_leave_out(file, choice))
			continue;
		nr_places += !nr || compare_places(choice, &file->choices[nr - 1]);
		file->choices[nr++] = *choice;
	}
	file->nr_choices = nr;
	return nr_places;
}

/* --- probes ---------------------------------------------------------------------------------- */

struct maker {
	struct user_file *file;
	struct probe_list *list;
	uint32_t file_number;
	struct joined_names joined;
	struct twins twins;
};

static const char *source_of(const struct user_file *file, uint32_t function)
{
	const struct listed_function *listed;

	if (function == USER_NO_FUNCTION)
		return NULL;
	listed = &file->functions.functions[function];
	return listed->source ? function_list_text(&file->functions, listed->source) : NULL;
}

static bool is_ifunc(const struct user_file *file, const struct user_choice *choice)
{
	return choice->function != USER_NO_FUNCTION &&
	       file->functions.functions[choice->function].is_ifunc;
}

/* The name of the function that stands behind IFUNCs, if it has one, and was not asked for. */
static const char *implementation_of(const struct user_file *file,
				     const struct user_choice *choices, size_t nr)
{
	int64_t at;
	size_t i;

	for (i = 0; i < nr; i++)
		if (!is_ifunc(file, &choices[i]))
			return NULL;
	at = user_file_function_at(file, choices[0].vaddr);
	if (at < 0 || file->functions.functions[at].vaddr != choices[0].vaddr)
		return NULL;
	return user_file_name(file, (uint32_t)at);
}

static int add_name(struct maker *maker, const struct user_choice *choice)
{
	char address[32];

	if (choice->function != USER_NO_FUNCTION)
		return joined_names_add(&maker->joined,
					user_file_shown(maker->file, choice->function),
					choice->offset);
	(void)snprintf(address, sizeof(address), "0x%" PRIx64, choice->vaddr);
	return joined_names_add(&maker->joined, address, 0);
}

/* Of nr choices of one place. */
static int add_probe(struct maker *maker, const struct user_choice *choices, size_t nr)
{
	struct user_file *file = maker->file;
	struct probe probe = {.kind = PROBE_USER,
			      .is_return = choices[0].is_return,
			      .is_entry = !choices[0].is_return && !choices[0].offset &&
					  choices[0].function != USER_NO_FUNCTION,
			      .is_go = file->is_go,
			      .unwinds = file->unwinds,
			      .why_no_return = no_return_why_at(file, choices[0].vaddr),
			      .file = maker->file_number,
			      .detail = implementation_of(file, choices, nr)};
	int64_t number;
	size_t i;

	if (user_file_offset(file, choices[0].vaddr, &probe.offset) < 0)
		return -ERANGE;
	for (i = 0; i < nr; i++)
		if (add_name(maker, &choices[i]) < 0)
			return -ENOMEM;
	probe.name = joined_names_take(&maker->joined);
	number = probe_list_add(maker->list, &probe);
	if (number < 0)
		return (int)number;
	return twins_add(&maker->twins, (uint32_t)number, choices[0].vaddr,
			 source_of(file, choices[0].function));
}

static int add_probes(struct maker *maker)
{
	const struct user_file *file = maker->file;
	size_t i, end;
	int err = 0;

	for (i = 0; i < file->nr_choices && !err; i = end) {
		for (end = i + 1; end < file->nr_choices &&
				  !compare_places(&file->choices[i], &file->choices[end]);)
			end++;
		err = add_probe(maker, &file->choices[i], end - i);
	}
	return err;
}

int user_probes_add(struct user_file *file, struct probe_list *list, struct error *error)
{
	struct maker maker = {.file = file, .list = list};
	int64_t number = user_file_list(file, list);
	int err = number < 0 ? (int)number : 0;

	maker.file_number = (uint32_t)number;
	if (!err)
		err = add_probes(&maker);
	if (!err)
		err = twins_tell_apart(&maker.twins, list, "+");
	joined_names_clear(&maker.joined);
	twins_clear(&maker.twins);
	if (err < 0)
		return error_set(error, err, "cannot list the functions of '%s': %s",
				 file->from.path, strerror(-err));
	return 0;
}
