/*
 * Keys chosen by somebody who knows the hash functions' source. Each kind of key would meet in one
 * bucket if the secret of base/hash were known, or there were none; they must cost no more than
 * drawn ones. The functions that are undone here are those of base/hash before it had a secret.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/strings.h"
#include "profile/profile.h"
#include "sym/code_map.h"
#include "unit/test.h"

#define NR_KEYS	   30000
#define MULTIPLIER 0xd6e8feb86659fd93ULL
#define ADDEND	   0x9e3779b97f4a7c15ULL

/* Sanitizers and a busy machine make times differ; a flood made them hundreds of times as long. */
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

/* The number that mix() makes y of: Newton's iteration doubles the bits of an inverse. */
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

/* A number whose mix has a low half of zeros, or one without a pattern. */
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

/* A program makes up its frame pointers; each sample is interned by the thread that drains. */
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

/* 24 bytes: the second word made a factor of the hash 0, and the third one what is left of it. */
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

/* Words of folded stacks, names in pprof files. */
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

/* One move makes the reader remember all loads, by the numbers that the file gives them. */
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
