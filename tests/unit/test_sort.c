/* profile/sort: compared with qsort() on the same items. */
#include "unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "profile/sort.h"

static int compare_texts(const void *a, const void *b, void *context)
{
	const char *const *texts = context;

	return strcmp(texts[*(const uint32_t *)a], texts[*(const uint32_t *)b]);
}

TEST(sort_numbers_and_ranks)
{
	static const char *const texts[] = {"delta", "alpha", "charlie", "bravo"};
	uint32_t *numbers = sort_numbers(4, compare_texts, texts);
	uint32_t *ranks = sort_ranks(4, compare_texts, texts);
	uint32_t i;

	CHECK(numbers && ranks);
	CHECK_EQ(numbers[0], 1);
	CHECK_EQ(numbers[3], 0);
	for (i = 0; i < 4; i++)
		CHECK_EQ(ranks[numbers[i]], i);
	free(numbers);
	free(ranks);
	numbers = sort_numbers(0, compare_texts, texts);
	CHECK(numbers != NULL);
	free(numbers);
}

#define MAX_KEYS     6
#define NR_SEQUENCES 500

static uint32_t sequences[NR_SEQUENCES][MAX_KEYS]; /* padded with zeros */

static uint32_t key_at(const void *context, uint32_t number, size_t depth)
{
	CHECK(context == sequences);
	return depth < MAX_KEYS ? sequences[number][depth] : 0;
}

static int compare_sequences(const struct sort_item *a, const struct sort_item *b)
{
	size_t i;

	for (i = 0; i < MAX_KEYS; i++)
		if (sequences[a->number][i] != sequences[b->number][i])
			return sequences[a->number][i] > sequences[b->number][i] ? 1 : -1;
	return 0;
}

/* Sorts sequences of nr_keys keys: with few keys, many are equal or prefixes of others. */
static void check_sequences(size_t nr, uint32_t nr_keys)
{
	static struct sort_item items[NR_SEQUENCES];
	static bool seen[NR_SEQUENCES];
	uint32_t state = nr_keys;
	size_t i, k;

	memset(sequences, 0, sizeof(sequences));
	memset(seen, 0, sizeof(seen));
	for (i = 0; i < nr; i++) {
		state = state * 1664525 + 1013904223;
		for (k = 0; k < (state >> 8) % (MAX_KEYS + 1); k++)
			sequences[i][k] =
				1 + (uint32_t)((i * 2654435761U >> (8 + 3 * k)) % nr_keys);
		items[i].number = (uint32_t)i;
		items[i].is_same = true;
	}
	sort_sequences(items, nr, key_at, sequences);
	for (i = 0; i < nr; i++) {
		CHECK(!seen[items[i].number]);
		seen[items[i].number] = true;
		if (!i) {
			CHECK(!items[i].is_same);
			continue;
		}
		CHECK(compare_sequences(&items[i - 1], &items[i]) <= 0);
		CHECK_EQ(items[i].is_same, !compare_sequences(&items[i - 1], &items[i]));
	}
}

TEST(sort_sequences_by_keys)
{
	static const uint32_t nr_keys[] = {1, 2, 3, 10, 1000};
	size_t i;

	for (i = 0; i < 5; i++) {
		check_sequences(0, nr_keys[i]);
		check_sequences(1, nr_keys[i]);
		check_sequences(12, nr_keys[i]);
		check_sequences(NR_SEQUENCES, nr_keys[i]);
	}
}
