/* base/hash: keys that differ in anything get other values, in the bits that tables use. */
#include "unit/test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define MOST_BYTES 70

TEST(hash_key_reads_no_more_than_there_is)
{
	char text[MOST_BYTES];
	size_t nr;

	memset(text, 'x', sizeof(text));
	for (nr = 0; nr <= MOST_BYTES; nr++)
		CHECK_EQ(hash_key(test_guarded(text, nr), nr), hash_key(text, nr));
	CHECK_EQ(hash_key(NULL, 0), hash_key("", 0));
}

TEST(hash_key_sees_every_bit)
{
	uint8_t bytes[MOST_BYTES] = {0};
	size_t nr, bit;

	for (nr = 1; nr <= MOST_BYTES; nr++) {
		uint64_t zeros = hash_key(bytes, nr);

		CHECK(zeros != hash_key(bytes, nr - 1));
		for (bit = 0; bit < 8 * nr; bit++) {
			uint64_t changed;

			bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
			changed = zeros ^ hash_key(bytes, nr);
			CHECK(__builtin_popcountll(changed) >= 10);
			CHECK((uint32_t)changed != 0);
			bytes[bit / 8] = 0;
		}
	}
}

/* Of a fair hash, 100,000 keys in 2^18 buckets leave 68.3 % of them empty. */
static void check_spread(uint64_t (*hash)(uint32_t i))
{
	enum { NR_KEYS = 100000, NR_BUCKETS = 1 << 18 };
	uint8_t *seen = calloc(NR_BUCKETS, 1);
	size_t nr = 0;
	uint32_t i;

	CHECK(seen != NULL);
	for (i = 0; i < NR_KEYS; i++) {
		uint8_t *bucket = &seen[hash(i) % NR_BUCKETS];

		nr += !*bucket;
		*bucket = 1;
	}
	CHECK(nr > 83000 && nr < 83600);
	free(seen);
}

static uint64_t hash_of_text(uint32_t i)
{
	char text[32];

	return hash_key(text, (size_t)snprintf(text, sizeof(text), "scope::function_%u", i));
}

static uint64_t hash_of_stack(uint32_t i)
{
	const uint32_t frames[] = {i % 10, i / 10 % 100, 7, 8, 9, i / 1000};

	return hash_key(frames, sizeof(frames));
}

static uint64_t hash_of_number(uint32_t i)
{
	return hash_key(&i, sizeof(i));
}

TEST(hash_key_spreads)
{
	check_spread(hash_of_text);
	check_spread(hash_of_stack);
	check_spread(hash_of_number);
}

/* Unwind tables on disk are checked by it, and colours of flame graphs are made of it. */
TEST(hash_bytes_stays_what_it_is)
{
	CHECK_EQ(hash_bytes("", 0), 0x9e3779b97f4a7c15ULL);
	CHECK_EQ(hash_bytes("tcp_sendmsg", 11), 73682476599223395);
}
