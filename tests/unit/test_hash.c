/*
 * base/hash: different keys get different values in the bits that tables use. The map is compared
 * with an array indexed by the key.
 */
#include "base/hash.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/strings.h"
#include "profile/profile.h"
#include "sym/code_map.h"
#include "unit/test.h"

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

/*
 * A fair hash puts 100,000 keys into 83,139 of 2^18 buckets, with a standard deviation of 101. The
 * secret differs in each run: the bounds are almost six standard deviations away.
 */
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
	CHECK(nr > 82550 && nr < 83730);
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

static uint64_t hash_of_high_bits(uint32_t i)
{
	return hash_u64((uint64_t)i << 32);
}

static uint64_t hash_of_pair(uint32_t i)
{
	return hash_add(i % 300, i / 300);
}

TEST(numbers_spread)
{
	check_spread(hash_of_high_bits);
	check_spread(hash_of_pair);
}

TEST(hash_key_spreads)
{
	check_spread(hash_of_text);
	check_spread(hash_of_stack);
	check_spread(hash_of_number);
}

/* It is the checksum of unwind tables on disk and the source of flame graph colours. */
TEST(hash_stable_bytes_stays_what_it_is)
{
	CHECK_EQ(hash_stable_bytes("", 0), 0x9e3779b97f4a7c15ULL);
	CHECK_EQ(hash_stable_bytes("tcp_sendmsg", 11), 73682476599223395);
}

/* --- a map from u64 to u64 -------------------------------------------------------------------- */

#define MAX_KEYS 5000

struct model {
	bool there[MAX_KEYS];
	uint64_t value[MAX_KEYS];
	size_t nr;
};

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

/* Spreads the model's keys over the whole range, including 0 and the largest key. */
static uint64_t key_of(size_t index)
{
	return index ? UINT64_MAX / index : 0;
}

static void compare(const struct u64_map *map, const struct model *model, size_t nr_keys)
{
	const struct u64_map_slot *slot;
	size_t position = 0, seen = 0;
	size_t i;

	CHECK_EQ(map->nr, model->nr);
	for (i = 0; i < nr_keys; i++) {
		const uint64_t *value = u64_map_find(map, key_of(i));

		CHECK_EQ(value != NULL, model->there[i]);
		CHECK(!value || *value == model->value[i]);
	}
	while ((slot = u64_map_next(map, &position)))
		seen++;
	CHECK_EQ(seen, model->nr);
}

static void change(struct u64_map *map, struct model *model, size_t i, uint64_t *random)
{
	if (next_random(random) % 2) {
		uint64_t value = next_random(random);

		CHECK_EQ(u64_map_set(map, key_of(i), value), 0);
		model->nr += !model->there[i];
		model->there[i] = true;
		model->value[i] = value;
	} else {
		CHECK_EQ(u64_map_remove(map, key_of(i)), model->there[i]);
		model->nr -= model->there[i];
		model->there[i] = false;
	}
}

/* Few keys keep the table small and crowded, which exercises moving entries back on removal. */
static void run_model(size_t nr_keys, size_t nr_changes, size_t compare_every)
{
	struct u64_map map = {0};
	struct model *model = calloc(1, sizeof(*model));
	uint64_t random = nr_keys;
	size_t i;

	for (i = 0; i < nr_changes; i++) {
		change(&map, model, next_random(&random) % nr_keys, &random);
		if (i % compare_every == 0)
			compare(&map, model, nr_keys);
	}
	compare(&map, model, nr_keys);
	u64_map_clear(&map);
	CHECK(!map.slots && !map.nr);
	free(model);
}

TEST(u64_map_crowded)
{
	run_model(1, 100, 1);
	run_model(60, 20000, 1);
	run_model(95, 20000, 1); /* about 48 of 64 slots in use */
}

TEST(u64_map_large)
{
	run_model(MAX_KEYS, 100000, 10000);
}

TEST(u64_map_empty)
{
	struct u64_map map = {0};
	size_t position = 0;

	CHECK(!u64_map_find(&map, 0));
	CHECK(!u64_map_remove(&map, 0));
	CHECK(!u64_map_next(&map, &position));
	u64_map_clear(&map);
}

TEST(u64_map_without_memory)
{
	struct u64_map map = {0};
	uint64_t failures = 0;
	uint64_t key;

	for (key = 0; key < 2000; key++) {
		size_t nth = 1;

		while (!u64_map_find(&map, key)) {
			int result;

			CHECK_EQ(map.nr, key);
			(void)test_fail_allocation(nth++);
			result = u64_map_set(&map, key, key + 1);
			(void)test_fail_allocation(0);
			CHECK_EQ(result, u64_map_find(&map, key) ? 0 : -ENOMEM);
			failures += result < 0;
		}
	}
	CHECK(failures > 10);
	for (key = 0; key < 2000; key++)
		CHECK_EQ(*u64_map_find(&map, key), key + 1);
	u64_map_clear(&map);
}

/* --- keys chosen by an attacker who knows the source -------------------------------------- */

/*
 * All chosen keys of a kind would collide in one bucket if base/hash had no secret, or if the
 * secret were known. They must cost no more than random keys. The functions inverted here are those
 * of base/hash before it had a secret.
 */

#define NR_KEYS	   30000
#define MULTIPLIER 0xd6e8feb86659fd93ULL
#define ADDEND	   0x9e3779b97f4a7c15ULL

/* Sanitizers and a busy machine vary the times; collisions made them hundreds of times as long. */
#define MOST_TIMES 20

static double cpu_seconds(void)
{
	struct timespec now;

	CHECK_EQ(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 32)) * MULTIPLIER;
	x = (x ^ (x >> 32)) * MULTIPLIER;
	return x ^ (x >> 32);
}

/* Inverts mix(). Newton's iteration doubles the correct bits of the multiplier's inverse. */
static uint64_t unmix(uint64_t y)
{
	uint64_t inverse = 1;
	int i;

	for (i = 0; i < 6; i++)
		inverse *= 2 - MULTIPLIER * inverse;
	y = (y ^ (y >> 32)) * inverse;
	y = (y ^ (y >> 32)) * inverse;
	return y ^ (y >> 32);
}

/* Returns a number whose mix has a low half of zeros (chosen), or a random one. */
static uint64_t number_of(uint64_t i, bool chosen)
{
	return chosen ? unmix(i << 32) : mix(i);
}

static void check_times(double (*cost)(bool chosen))
{
	double drawn = cost(false), chosen = cost(true);

	fprintf(stderr, "drawn keys %.4f s, chosen keys %.4f s\n", drawn, chosen);
	CHECK(chosen < MOST_TIMES * drawn + 0.05);
}

/* --- numbers ------------------------------------------------------------------------------- */

static double cost_of_map(bool chosen)
{
	double begin = cpu_seconds();
	struct u64_map map = {0};
	uint64_t i;

	for (i = 0; i < NR_KEYS; i++)
		CHECK_EQ(u64_map_set(&map, number_of(i, chosen), i), 0);
	CHECK_EQ(map.nr, NR_KEYS);
	u64_map_clear(&map);
	return cpu_seconds() - begin;
}

TEST(numbers)
{
	CHECK_EQ(unmix(mix(4711)), 4711);
	check_times(cost_of_map);
}

/* --- frames -------------------------------------------------------------------------------- */

static double cost_of_frames(bool chosen)
{
	struct profile *profile = profile_new();
	uint64_t start = mix((uint64_t)MODULE_NR_UNKNOWN << 1), i;
	double begin = cpu_seconds();

	CHECK(profile != NULL);
	for (i = 0; i < NR_KEYS; i++) {
		uint64_t address = chosen ? start ^ unmix((i << 32) - ADDEND) : mix(i);

		CHECK(profile_add_frame(profile, FRAME_USER, MODULE_NR_UNKNOWN, address) >= 0);
	}
	CHECK(profile_nr_frames(profile) >= NR_KEYS);
	begin = cpu_seconds() - begin;
	profile_free(profile);
	return begin;
}

/* A program can choose its frame pointers, and the draining thread interns every sample. */
TEST(frames)
{
	check_times(cost_of_frames);
}

/* --- texts --------------------------------------------------------------------------------- */

static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64) ^ a ^ b;
}

/* Makes 24 bytes. The second word makes one factor of the hash 0, the third cancels the rest. */
static void make_text(uint64_t i, bool chosen, uint64_t ret_words[3])
{
	uint64_t hash = MULTIPLIER ^ 24;

	ret_words[0] = mix(i);
	ret_words[1] = ADDEND;
	ret_words[2] = chosen ? fold(ret_words[0] ^ ADDEND, ret_words[1] ^ hash) : mix(~i);
}

static double cost_of_texts(bool chosen)
{
	struct strings *strings = strings_new();
	double begin = cpu_seconds();
	uint64_t words[3], i;

	CHECK(strings != NULL);
	for (i = 0; i < NR_KEYS; i++) {
		make_text(i, chosen, words);
		CHECK(strings_add_bytes(strings, (const char *)words, sizeof(words)) > 0);
	}
	begin = cpu_seconds() - begin;
	strings_free(strings);
	return begin;
}

/* Words of folded stacks and names in pprof files go through this table. */
TEST(texts)
{
	check_times(cost_of_texts);
}

/* --- a jitdump ----------------------------------------------------------------------------- */

struct load {
	uint32_t kind, bytes;
	uint64_t time;
	uint32_t pid, tid;
	uint64_t vma, address, code_bytes, index;
	char name[8];
};

struct move {
	uint32_t kind, bytes;
	uint64_t time;
	uint32_t pid, tid;
	uint64_t vma, from, to, code_bytes, index;
};

static void put(FILE *dump, const void *bytes, size_t nr)
{
	CHECK_EQ(fwrite(bytes, 1, nr, dump), nr);
}

/* One move makes the reader index all loads by the numbers in the file. */
static double cost_of_jitdump(bool chosen)
{
	const uint32_t header[10] = {0x4A695444, 1, sizeof(header), 62};
	struct move move = {.kind = 1, .bytes = sizeof(move), .to = 1 << 20, .code_bytes = 1};
	struct code_map *map = code_map_new();
	FILE *dump = tmpfile();
	uint64_t at = 0, i;
	double begin;

	CHECK(map && dump);
	put(dump, header, sizeof(header));
	for (i = 0; i < NR_KEYS; i++) {
		struct load load = {.bytes = sizeof(load), .address = i, .name = "name"};

		load.index = number_of(i, chosen);
		put(dump, &load, sizeof(load));
	}
	move.index = number_of(NR_KEYS - 1, chosen);
	put(dump, &move, sizeof(move));
	CHECK_EQ(fflush(dump), 0);
	begin = cpu_seconds();
	CHECK_EQ(jitdump_read(fileno(dump), map, &at, NULL), 0);
	begin = cpu_seconds() - begin;
	CHECK_EQ(at, ftell(dump));
	CHECK_EQ(fclose(dump), 0);
	code_map_free(map);
	return begin;
}

TEST(jitdump)
{
	check_times(cost_of_jitdump);
}
