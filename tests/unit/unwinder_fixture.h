/* An unwinder with a pool that no kernel reads, and files made for it. */
#ifndef STOOK_TESTS_UNIT_UNWINDER_FIXTURE_H
#define STOOK_TESTS_UNIT_UNWINDER_FIXTURE_H

#include <poll.h>
#include <string.h>

#include "collect/unwind/unwinder.h"
#include "unit/look_here.h"
#include "unit/code_file.h"
#include "unit/test.h"

struct world {
	struct file_table *files;
	struct worker *worker;
	struct unwinder *unwinder;
};

/*
 * unused_ns: as in struct unwinder_options. Returns false if out of memory; the world must be closed in either case.
 */
static inline bool world_try_open_for(struct world *world, size_t max_bytes, uint64_t unused_ns,
				      struct error *error)
{
	struct unwinder_options options = {
		.max_bytes = max_bytes, .max_frames = 127, .unused_ns = unused_ns};

	*world = (struct world){.files = file_table_new(64), .worker = worker_new(error)};
	options.files = world->files;
	options.worker = world->worker;
	if (world->files && world->worker)
		world->unwinder = unwinder_new(&options, error);
	return world->unwinder != NULL;
}

static inline bool world_try_open(struct world *world, size_t max_bytes, struct error *error)
{
	return world_try_open_for(world, max_bytes, 0, error);
}

static inline void world_open(struct world *world, size_t max_bytes)
{
	CHECK(world_try_open(world, max_bytes, NULL));
}

static inline void world_close(struct world *world)
{
	unwinder_free(world->unwinder);
	worker_free(world->worker);
	file_table_free(world->files);
}

/* No program runs. */
static inline void world_end_epoch(struct world *world, uint32_t epoch)
{
	unwinder_epoch_ends(world->unwinder);
	unwinder_epoch_ended(world->unwinder, epoch);
}

/* Adds a file; returns its number. */
static inline uint32_t world_add_file(struct world *world, int fd)
{
	int64_t file = add_fd_here(world->files, "code", fd);

	CHECK(file >= 0);
	return (uint32_t)file;
}

#define MAPPING_BYTES 0x10000000UL

/* Maps a whole file after the existing mappings, with a gap; returns the address. */
static inline uint64_t add_mapping(struct mappings **mappings, enum mapping_kind kind,
				   uint32_t file)
{
	uint64_t start = MAPPING_BYTES * (mappings_nr(*mappings) + 1);
	const struct mapping mapping = {start, start + MAPPING_BYTES / 2, 0, kind, file};

	CHECK_EQ(mappings_add(mappings, &mapping), 0);
	return start;
}

static inline void wait_for_tables(struct world *world)
{
	struct pollfd replied = {.fd = worker_fd(world->worker), .events = POLLIN};
	int tries;

	for (tries = 0; tries < 6000; tries++) {
		(void)unwinder_poll(world->unwinder);
		if (!unwinder_nr_waiting(world->unwinder))
			return;
		(void)poll(&replied, 1, 10);
	}
	CHECK(!"all tables within a minute");
}

/* Returns the entry that the kernel side finds for a pid, or NULL. */
static inline struct unwind_process *find_process(const struct world *world, uint32_t pid)
{
	struct unwind_pool *pool = unwinder_pool(world->unwinder);
	const struct unwind_process_set *set = unwind_pool_set_of(pool, pid);
	struct unwind_process *found = NULL;
	size_t way;

	for (way = 0; way < UNWIND_PROCESS_WAYS; way++)
		if (set->slots[way] >> 32 == pid && (uint32_t)set->slots[way]) {
			CHECK(!found);
			found = unwind_pool_at(pool, (uint32_t)set->slots[way]);
		}
	return found;
}

static inline struct unwind_mapping *mapping_of(struct unwind_process *process, size_t i)
{
	return (struct unwind_mapping *)(process + 1) + i;
}

static inline enum unwind_table_state state_of(const struct world *world, uint32_t table)
{
	return (enum unwind_table_state)unwind_pool_tables(unwinder_pool(world->unwinder))[table]
		.state;
}

static inline struct unwinder_cost cost_of(const struct world *world)
{
	struct unwinder_cost cost;

	unwinder_read_cost(world->unwinder, &cost);
	return cost;
}

/* A raw record of one frame at pc, without a stack. */
struct raw_record {
	struct wire_record record;
	uint64_t words[WIRE_MAX_RAW_WORDS];
};

static inline void make_raw(struct raw_record *raw, uint32_t pid, uint64_t pc)
{
	memset(raw, 0, sizeof(*raw));
	raw->record.pid = raw->record.tid = pid;
	raw->record.user_end = WALK_RAW;
	raw->record.nr_user = WIRE_RAW_HEAD;
	raw->words[WIRE_RAW_PC] = pc;
}

#endif
