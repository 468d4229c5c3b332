/*
 * collect/unwind/unwind_pool against a model: each unit of the pool is free, given out, or in limbo. What
 * the model has room for, the pool must find; what it gives must have been free.
 */
#include "collect/unwind/unwind_pool.h"

#include <errno.h>
#include <string.h>

#include "unit/test.h"
#include "unit/unwind_fixture.h"

#define PIECE_BYTES  32 /* everything is aligned to so many bytes, and takes multiples of them */
#define CHUNK_PIECES (POOL_CHUNK_BYTES / PIECE_BYTES)
#define MAX_CHUNKS   4
#define MAX_GIVEN    512
#define LARGEST	     UNWIND_POOL_MAX_PIECE

enum state { FREE, GIVEN, IN_LIMBO, NOWHERE };

struct given {
	uint32_t place;
	size_t bytes;
};

struct model {
	struct unwind_pool *pool;
	uint64_t random;
	size_t nr_chunks;
	uint8_t states[MAX_CHUNKS * CHUNK_PIECES]; /* enum state */
	struct given given[MAX_GIVEN];
	size_t nr_given;
	size_t nr_refused;
};

static size_t pieces_of(size_t bytes)
{
	return (bytes + PIECE_BYTES - 1) / PIECE_BYTES;
}

static size_t model_bytes(const struct model *model)
{
	size_t nr = 0, i;

	for (i = 0; i < model->nr_chunks * CHUNK_PIECES; i++)
		nr += model->states[i] == GIVEN || model->states[i] == IN_LIMBO;
	return nr * PIECE_BYTES;
}

/* Whether some chunk has so much free in one stretch. */
static bool has_room(const struct model *model, size_t pieces)
{
	size_t run = 0, i;

	for (i = 0; i < model->nr_chunks * CHUNK_PIECES; i++) {
		if (i % CHUNK_PIECES == 0)
			run = 0;
		run = model->states[i] == FREE ? run + 1 : 0;
		if (run == pieces)
			return true;
	}
	return false;
}

static void set_states(struct model *model, const struct given *given, enum state from,
		       enum state to)
{
	size_t first = (size_t)given->place * POOL_UNIT_BYTES / PIECE_BYTES, i;

	CHECK(first + pieces_of(given->bytes) <= model->nr_chunks * CHUNK_PIECES);
	for (i = first; i < first + pieces_of(given->bytes); i++) {
		CHECK_EQ(model->states[i], from);
		model->states[i] = (uint8_t)to;
	}
}

static void allocate(struct model *model)
{
	size_t bytes = 1 + fixture_random(&model->random,
					  fixture_random(&model->random, 8) ? 40000 : LARGEST);
	struct given given = {.bytes = bytes};

	if (model->nr_given == MAX_GIVEN)
		return;
	given.place = unwind_pool_allocate(model->pool, bytes);
	CHECK_EQ(given.place != 0, has_room(model, pieces_of(bytes)));
	model->nr_refused += !given.place;
	if (!given.place)
		return;
	CHECK_EQ(given.place * POOL_UNIT_BYTES % PIECE_BYTES, 0);
	CHECK_EQ(POOL_CHUNK(given.place), POOL_CHUNK(given.place + (bytes - 1) / POOL_UNIT_BYTES));
	CHECK(unwind_pool_at(model->pool, given.place) ==
	      unwind_pool_chunk(model->pool, given.place) + POOL_OFFSET(given.place));
	set_states(model, &given, FREE, GIVEN);
	memset(unwind_pool_at(model->pool, given.place), (int)(given.place & 0xff), bytes);
	model->given[model->nr_given++] = given;
}

/* Nobody else has written into it since it was given out. */
static void check_content(const struct model *model, const struct given *given)
{
	const uint8_t *bytes = unwind_pool_at(model->pool, given->place);

	CHECK_EQ(bytes[0], given->place & 0xff);
	CHECK(!memcmp(bytes, bytes + 1, given->bytes - 1));
}

static void release(struct model *model, size_t which)
{
	struct given given = model->given[which];

	check_content(model, &given);
	unwind_pool_release(model->pool, given.place, given.bytes);
	set_states(model, &given, GIVEN, IN_LIMBO);
	model->given[which] = model->given[--model->nr_given];
}

static void end_epoch(struct model *model)
{
	size_t i;

	unwind_pool_epoch_ended(model->pool);
	for (i = 0; i < model->nr_chunks * CHUNK_PIECES; i++)
		if (model->states[i] == IN_LIMBO)
			model->states[i] = FREE;
}

static void model_open(struct model *model, uint64_t seed, size_t nr_chunks)
{
	*model = (struct model){.random = seed, .nr_chunks = nr_chunks};
	model->states[0] = NOWHERE; /* place 0 */
	model->pool = unwind_pool_new(NULL, nr_chunks * POOL_CHUNK_BYTES + 12345, NULL);
	CHECK(model->pool != NULL);
}

static void play(uint64_t seed)
{
	static struct model model;
	uint32_t fill, step;

	model_open(&model, seed, 1 + seed % MAX_CHUNKS);
	for (step = 0; step < 600; step++) {
		/* Now it fills up, now it empties. */
		fill = step / 100 % 2 ? 3 : 7;
		if (fixture_random(&model.random, 20) == 0)
			end_epoch(&model);
		else if (fixture_random(&model.random, 10) < fill)
			allocate(&model);
		else if (model.nr_given)
			release(&model, fixture_random(&model.random, (uint32_t)model.nr_given));
		CHECK_EQ(unwind_pool_bytes(model.pool), model_bytes(&model));
	}
	CHECK(model.nr_refused > 0);
	while (model.nr_given)
		release(&model, model.nr_given - 1);
	end_epoch(&model);
	CHECK_EQ(unwind_pool_bytes(model.pool), 0);
	for (step = 0; step < model.nr_chunks; step++) /* all neighbours have been joined */
		CHECK(unwind_pool_allocate(model.pool, LARGEST) != 0);
	CHECK_EQ(unwind_pool_allocate(model.pool, LARGEST), 0);
	unwind_pool_free(model.pool);
}

TEST(unwind_pool_gives_what_is_free_and_nothing_else)
{
	uint64_t seed;

	for (seed = 1; seed <= 16; seed++)
		play(seed);
}

TEST(unwind_pool_gives_nothing_back_before_the_epoch_ends)
{
	struct unwind_pool *pool = unwind_pool_new(NULL, POOL_CHUNK_BYTES, NULL);
	uint32_t place = unwind_pool_allocate(pool, LARGEST);

	CHECK(place != 0);
	unwind_pool_release(pool, place, LARGEST);
	CHECK_EQ(unwind_pool_allocate(pool, 1), 0);
	CHECK_EQ(unwind_pool_bytes(pool), LARGEST);
	unwind_pool_epoch_ended(pool);
	CHECK_EQ(unwind_pool_bytes(pool), 0);
	CHECK_EQ(unwind_pool_allocate(pool, LARGEST), place);
	unwind_pool_epoch_ended(pool); /* nothing was in limbo */
	CHECK_EQ(unwind_pool_allocate(pool, 1), 0);
	unwind_pool_free(pool);
}

TEST(unwind_pool_refuses_nothing_and_too_much)
{
	struct unwind_pool *pool = unwind_pool_new(NULL, 3 * POOL_CHUNK_BYTES, NULL);

	CHECK_EQ(unwind_pool_allocate(pool, 0), 0);
	CHECK_EQ(unwind_pool_allocate(pool, LARGEST + 1), 0);
	CHECK_EQ(unwind_pool_allocate(pool, SIZE_MAX), 0);
	CHECK_EQ(unwind_pool_allocate(pool, (size_t)1 << 36), 0);
	unwind_pool_release(pool, 0, 1);
	CHECK_EQ(unwind_pool_bytes(pool), 0);
	CHECK(!unwind_pool_at(pool, 0) && !unwind_pool_at(pool, UINT32_MAX));
	CHECK(unwind_pool_allocate(pool, 1) != 0);
	CHECK_EQ(unwind_pool_bytes(pool), PIECE_BYTES);
	unwind_pool_free(pool);
	unwind_pool_free(NULL);
}

/* Memory is taken when it is needed, and never above the limit; the least is one chunk. */
TEST(unwind_pool_takes_memory_by_chunks)
{
	struct unwind_pool *pool = unwind_pool_new(NULL, 2 * POOL_CHUNK_BYTES, NULL);

	CHECK(!unwind_pool_chunk(pool, 1) && !unwind_pool_chunk_bytes(pool));
	CHECK(unwind_pool_allocate(pool, LARGEST / 2) && unwind_pool_allocate(pool, LARGEST / 3));
	CHECK_EQ(unwind_pool_chunk_bytes(pool), POOL_CHUNK_BYTES);
	CHECK(unwind_pool_allocate(pool, LARGEST / 2) != 0);
	CHECK_EQ(unwind_pool_chunk_bytes(pool), 2 * POOL_CHUNK_BYTES);
	CHECK(!unwind_pool_allocate(pool, LARGEST));
	CHECK_EQ(unwind_pool_chunk_bytes(pool), 2 * POOL_CHUNK_BYTES);
	unwind_pool_free(pool);
	pool = unwind_pool_new(NULL, 0, NULL);
	CHECK(unwind_pool_allocate(pool, LARGEST) && !unwind_pool_allocate(pool, 1));
	unwind_pool_free(pool);
}

TEST(unwind_pool_starts_empty)
{
	static const struct unwind_process_set no_process;
	static const struct unwind_table_entry wanted = {.state = UNWIND_TABLE_WANTED};
	struct unwind_pool *pool = unwind_pool_new(NULL, POOL_CHUNK_BYTES, NULL);
	size_t i;

	for (i = 0; i < UNWIND_PROCESS_SETS; i++)
		CHECK(!memcmp(&unwind_pool_processes(pool)[i], &no_process, sizeof(no_process)));
	for (i = 0; i < UNWIND_MAX_TABLES; i++)
		CHECK(!memcmp(&unwind_pool_tables(pool)[i], &wanted, sizeof(wanted)));
	unwind_pool_free(pool);
}

/* What cannot be noted as free is lost, but never given out twice; no error is left behind. */
TEST(unwind_pool_without_memory)
{
	const struct unwind_pool_fds no_maps = {-1, -1, -1};
	struct unwind_pool *pool;
	struct error error = {0};
	uint32_t place;

	(void)test_fail_allocation(1);
	CHECK(!unwind_pool_new(NULL, POOL_CHUNK_BYTES, &error));
	CHECK_EQ(error.code, -ENOMEM);
	CHECK(!unwind_pool_new(&no_maps, POOL_CHUNK_BYTES, &error));
	CHECK_EQ(error.code, -EBADF);
	pool = unwind_pool_new(NULL, POOL_CHUNK_BYTES, NULL);
	(void)test_fail_allocation(1);
	CHECK_EQ(unwind_pool_allocate(pool, LARGEST), 0);
	place = unwind_pool_allocate(pool, LARGEST / 2);
	CHECK(place != 0);
	(void)test_fail_allocation(1);
	unwind_pool_release(pool, place, LARGEST / 2);
	unwind_pool_epoch_ended(pool);
	CHECK(!unwind_pool_allocate(pool, LARGEST) && unwind_pool_allocate(pool, LARGEST / 3));
	unwind_pool_free(pool);
}
