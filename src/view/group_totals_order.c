/* See group_totals_order.h: weights first, texts where they are equal, numbers where those are. */
#include "view/group_totals_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct order {
	const struct profile *profile;
	bool by_total;
};

static int compare_texts(const struct profile *profile, uint32_t a, uint32_t b)
{
	return a == b ? 0 : strcmp(profile_string(profile, a), profile_string(profile, b));
}

static int compare_keys(const struct profile *profile, const struct group_total *a,
			const struct group_total *b)
{
	const int64_t numbers[][2] = {
		{a->place.kind, b->place.kind},	    {a->place.line, b->place.line},
		{a->labels.pid, b->labels.pid},	    {a->labels.tid, b->labels.tid},
		{a->labels.cpu, b->labels.cpu},	    {a->labels.category, b->labels.category},
		{a->place.module, b->place.module},
	};
	int order = compare_texts(profile, a->place.function, b->place.function);
	size_t i;

	if (!order && a->place.module != b->place.module)
		order = strcmp(profile_module_name(profile, a->place.module),
			       profile_module_name(profile, b->place.module));
	if (!order)
		order = compare_texts(profile, a->place.file, b->place.file);
	if (!order)
		order = compare_texts(profile, a->labels.comm, b->labels.comm);
	if (!order)
		order = compare_texts(profile, a->labels.cgroup, b->labels.cgroup);
	for (i = 0; i < ARRAY_SIZE(numbers) && !order; i++)
		order = (numbers[i][0] > numbers[i][1]) - (numbers[i][0] < numbers[i][1]);
	return order;
}

static int compare_groups(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	const struct group_total *one = a, *other = b;
	uint64_t first[2] = {order->by_total ? one->total : one->self,
			     order->by_total ? other->total : other->self};
	uint64_t second[2] = {order->by_total ? one->self : one->total,
			      order->by_total ? other->self : other->total};

	if (first[0] != first[1])
		return first[0] > first[1] ? -1 : 1;
	if (second[0] != second[1])
		return second[0] > second[1] ? -1 : 1;
	return compare_keys(order->profile, one, other);
}

void group_totals_sort(struct group_totals *totals, const struct profile *profile, bool by_total)
{
	struct order order = {profile, by_total};

	if (totals->nr)
		qsort_r(totals->groups, totals->nr, sizeof(*totals->groups), compare_groups,
			&order);
}
