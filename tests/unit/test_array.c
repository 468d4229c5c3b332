/* base/array: binary search for every key in and around arrays of every length. */
#include "base/array.h"

#include "unit/test.h"

struct item {
	char name;
	uint64_t number;
};

TEST(array_search_by_a_number)
{
	/* Equal neighbours, both ends of the range, and the empty array. */
	static const uint64_t numbers[] = {0, 3, 3, 3, 8, 9, UINT64_MAX - 1, UINT64_MAX};
	static const uint64_t keys[] = {0, 1, 2, 3, 4, 8, 9, 10, UINT64_MAX - 1, UINT64_MAX};
	struct item items[ARRAY_SIZE(numbers)];
	size_t nr, i, k;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		items[i] = (struct item){'x', numbers[i]};
	for (nr = 0; nr <= ARRAY_SIZE(numbers); nr++)
		for (k = 0; k < ARRAY_SIZE(keys); k++) {
			size_t nr_below = 0, nr_up_to = 0;

			for (i = 0; i < nr; i++) {
				nr_below += numbers[i] < keys[k];
				nr_up_to += numbers[i] <= keys[k];
			}
			CHECK_EQ(ARRAY_NR_BELOW(items, nr, number, keys[k]), nr_below);
			CHECK_EQ(ARRAY_NR_UP_TO(items, nr, number, keys[k]), nr_up_to);
			CHECK_EQ(array_nr_below(numbers, nr, sizeof(*numbers), 0, keys[k]),
				 nr_below);
		}
	CHECK_EQ(ARRAY_NR_BELOW((struct item *)NULL, 0, number, 1), 0);
}
