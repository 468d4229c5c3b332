/* A set is a row of numbers, NUMBERS_EACH a label; the table of stacks interns rows of any kind. */
#include "profile/label_sets.h"

#include <errno.h>

#include "profile/profile_state.h"

#define NUMBERS_EACH 5

static void pack(const struct set_label *label, uint32_t numbers[NUMBERS_EACH])
{
	numbers[0] = label->key;
	numbers[1] = label->text;
	numbers[2] = label->unit;
	numbers[3] = (uint32_t)((uint64_t)label->number >> 32);
	numbers[4] = (uint32_t)label->number;
}

int64_t profile_add_label_set(struct profile *profile, const struct set_label *labels, size_t nr)
{
	uint32_t numbers[LABEL_SET_MAX * NUMBERS_EACH];
	int64_t row;
	size_t i;

	if (!nr)
		return 0;
	if (nr > LABEL_SET_MAX)
		return -E2BIG;
	for (i = 0; i < nr; i++)
		pack(&labels[i], numbers + i * NUMBERS_EACH);
	row = stack_table_add(&profile->label_sets, numbers, nr * NUMBERS_EACH);
	return row < 0 ? row : row + 1;
}

size_t profile_label_set(const struct profile *profile, uint32_t set,
			 struct set_label ret[LABEL_SET_MAX])
{
	const uint32_t *numbers;
	size_t nr, i;

	if (!set)
		return 0;
	numbers = stack_table_get(&profile->label_sets, set - 1, &nr);
	for (i = 0; i < nr / NUMBERS_EACH; i++, numbers += NUMBERS_EACH)
		ret[i] = (struct set_label){
			.key = numbers[0],
			.text = numbers[1],
			.unit = numbers[2],
			.number = (int64_t)((uint64_t)numbers[3] << 32 | numbers[4]),
		};
	return nr / NUMBERS_EACH;
}
