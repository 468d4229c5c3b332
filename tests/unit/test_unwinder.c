/* collect/unwind/unwinder: which processes and tables the kernel side finds, and which have to go. */
#include "collect/unwind/unwinder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "unit/test.h"
#include "unit/unwinder_fixture.h"

#define POOL_BYTES (16UL << 20)
#define PID	   1234

/* --- processes ------------------------------------------------------------------------------- */

static bool knows(const struct world *world, uint32_t pid, uint64_t start_time_ns, uint64_t exec_id)
{
	const struct wire_record record = {
		.pid = pid, .start_time_ns = start_time_ns, .exec_id = exec_id};

	return unwinder_knows(world->unwinder, &record);
}

static void publish(const struct world *world, uint32_t pid, const struct mappings *mappings)
{
	CHECK_EQ(unwinder_publish(world->unwinder, pid, 77, 3, mappings), 0);
}

TEST(unwinder_publishes_what_a_process_has_mapped)
{
	struct mappings *mappings = mappings_new();
	struct unwind_process *process;
	struct world world;
	uint64_t libc;
	uint32_t file;

	world_open(&world, POOL_BYTES);
	file = world_add_file(&world, code_file_of_pages(1, 1));
	(void)add_mapping(&mappings, MAPPING_ANON, 0);
	(void)add_mapping(&mappings, MAPPING_VDSO, 0);
	libc = add_mapping(&mappings, MAPPING_FILE, file);
	(void)add_mapping(&mappings, MAPPING_FILE, file);
	CHECK(!find_process(&world, PID) && !knows(&world, PID, 77, 3));
	publish(&world, PID, mappings);
	process = find_process(&world, PID);
	CHECK(process && process->start_time_ns == 77 && process->exec_id == 3);
	CHECK(process->sequence && !process->is_final && process->nr_mappings == 4);
	CHECK_EQ(mapping_of(process, 0)->kind, UNWIND_BY_FRAME_POINTER);
	CHECK_EQ(mapping_of(process, 1)->kind, UNWIND_BY_TABLE);
	CHECK(mapping_of(process, 2)->start == libc && mapping_of(process, 2)->end > libc);
	CHECK(mapping_of(process, 1)->table != mapping_of(process, 2)->table);
	CHECK_EQ(mapping_of(process, 2)->table, mapping_of(process, 3)->table);
	CHECK(knows(&world, PID, 77, 3));
	CHECK(!knows(&world, PID, 78, 3) && !knows(&world, PID, 77, 4) &&
	      !knows(&world, 99, 77, 3));
	CHECK_EQ(unwinder_publish(world.unwinder, 0, 0, 0, mappings), 0);
	CHECK(!find_process(&world, 0)); /* it is not one process but all that are not visible */
	mappings_unref(mappings);
	world_close(&world);
}

TEST(unwinder_gives_back_the_memory_of_processes)
{
	struct mappings *mappings = mappings_new();
	struct world world;
	size_t before, one;
	uint32_t sequence;

	world_open(&world, POOL_BYTES);
	(void)add_mapping(&mappings, MAPPING_ANON, 0);
	before = cost_of(&world).bytes;
	publish(&world, PID, mappings);
	sequence = find_process(&world, PID)->sequence;
	one = cost_of(&world).bytes - before;
	publish(&world, PID, mappings);
	CHECK(find_process(&world, PID)->sequence !=
	      sequence); /* cached rules were the old one's */
	CHECK_EQ(cost_of(&world).bytes, before + 2 * one);
	unwinder_epoch_ended(world.unwinder, 0);
	CHECK_EQ(cost_of(&world).bytes, before + one);
	unwinder_forget(world.unwinder, PID);
	unwinder_forget(world.unwinder, PID);
	CHECK(!find_process(&world, PID) && !knows(&world, PID, 77, 3));
	CHECK_EQ(cost_of(&world).bytes, before + one);
	unwinder_epoch_ended(world.unwinder, 1);
	CHECK_EQ(cost_of(&world).bytes, before);
	mappings_unref(mappings);
	world_close(&world);
}

/* As many as a set has ways are found; the last one always is. */
TEST(unwinder_with_a_full_set_of_processes)
{
	struct mappings *mappings = mappings_new();
	uint32_t pids[3 * UNWIND_PROCESS_WAYS], nr = 0, pid, i, k, found;
	struct world world;
	size_t before;

	world_open(&world, POOL_BYTES);
	before = cost_of(&world).bytes;
	for (pid = 1; nr < ARRAY_SIZE(pids); pid++)
		if (unwind_process_set_of(pid) == 42)
			pids[nr++] = pid;
	for (i = 0; i < nr; i++) {
		publish(&world, pids[i], mappings);
		for (k = 0, found = 0; k <= i; k++)
			found += find_process(&world, pids[k]) != NULL;
		CHECK_EQ(found, i < UNWIND_PROCESS_WAYS ? i + 1 : UNWIND_PROCESS_WAYS);
		CHECK(knows(&world, pids[i], 77, 3));
	}
	unwinder_epoch_ended(world.unwinder, 0);
	CHECK_EQ(cost_of(&world).bytes,
		 before + UNWIND_PROCESS_WAYS * sizeof(struct unwind_process));
	mappings_unref(mappings);
	world_close(&world);
}

TEST(unwinder_names_each_process_that_has_changed_once)
{
	struct mappings *mappings = mappings_new();
	uint64_t start_time_ns = 0, exec_id = 0;
	struct world world;

	world_open(&world, POOL_BYTES);
	unwinder_touch(world.unwinder, PID); /* nobody knows it */
	CHECK_EQ(unwinder_next_stale(world.unwinder, &start_time_ns, &exec_id), 0);
	publish(&world, PID, mappings);
	publish(&world, PID + 1, mappings);
	find_process(&world, PID)->is_final = 1;
	unwinder_touch(world.unwinder, PID);
	unwinder_touch(world.unwinder, PID);
	unwinder_touch(world.unwinder, PID + 1);
	CHECK(!knows(&world, PID, 77, 3));
	CHECK(!find_process(&world, PID)->is_final); /* what it had not may be there now */
	unwinder_forget(world.unwinder, PID + 1);
	CHECK_EQ(unwinder_next_stale(world.unwinder, &start_time_ns, &exec_id), PID);
	CHECK(start_time_ns == 77 && exec_id == 3);
	publish(&world, PID, mappings);
	CHECK(knows(&world, PID, 77, 3));
	CHECK_EQ(unwinder_next_stale(world.unwinder, &start_time_ns, &exec_id), 0);
	unwinder_touch(world.unwinder, PID);
	publish(&world, PID, mappings); /* by somebody else, before its turn */
	CHECK_EQ(unwinder_next_stale(world.unwinder, &start_time_ns, &exec_id), 0);
	mappings_unref(mappings);
	world_close(&world);
}

/* Walks that leave all code are news at first; then the process is like that. */
TEST(unwinder_makes_mappings_final_after_some_strays)
{
	struct mappings *mappings = mappings_new();
	static struct raw_record one, other;
	static struct user_stack stack;
	struct world world;
	size_t i;

	world_open(&world, POOL_BYTES);
	make_raw(&one, PID, 0x1000);
	make_raw(&other, PID + 1, 0x1000);
	publish(&world, PID, mappings);
	publish(&world, PID + 1, mappings);
	for (i = 0; i < 2; i++)
		CHECK_EQ(unwinder_walk(world.unwinder, &one.record, mappings, &stack), 0);
	CHECK(stack.nr == 1 && stack.end == WALK_NO_MAPPING);
	CHECK_EQ(unwinder_walk(world.unwinder, &other.record, mappings, &stack), 0);
	CHECK(!find_process(&world, PID)->is_final);
	CHECK_EQ(unwinder_walk(world.unwinder, &one.record, mappings, &stack), 0);
	CHECK(find_process(&world, PID)->is_final); /* though another one's came between */
	CHECK(!find_process(&world, PID + 1)->is_final);
	CHECK_EQ(cost_of(&world).nr_walked, 4);
	mappings_unref(mappings);
	world_close(&world);
}

TEST(unwinder_takes_the_first_of_very_many_mappings)
{
	struct mappings *mappings = mappings_new();
	struct unwind_process *process;
	struct world world;
	size_t i;

	world_open(&world, POOL_BYTES);
	for (i = 0; i < UNWIND_MAX_MAPPINGS + 100; i++)
		(void)add_mapping(&mappings, MAPPING_ANON, 0);
	publish(&world, PID, mappings);
	process = find_process(&world, PID);
	CHECK_EQ(process->nr_mappings, UNWIND_MAX_MAPPINGS);
	CHECK_EQ(mapping_of(process, UNWIND_MAX_MAPPINGS - 1)->start,
		 mappings_get(mappings, UNWIND_MAX_MAPPINGS - 1)->start);
	CHECK(process->is_final); /* or what lies beyond would be news for ever */
	/* Without room for it nothing is known any more: its next sample says so again. */
	for (i = 0; i < POOL_BYTES / (32 * UNWIND_MAX_MAPPINGS); i++)
		publish(&world, PID + 1 + (uint32_t)i, mappings);
	publish(&world, PID, mappings);
	CHECK(!find_process(&world, PID));
	mappings_unref(mappings);
	world_close(&world);
}

TEST(unwinder_counts_files_that_can_have_no_table)
{
	struct mappings *mappings = mappings_new();
	struct unwind_process *process;
	struct world world;
	uint32_t i;

	world_open(&world, POOL_BYTES);
	for (i = 0; i < UNWIND_MAX_TABLES; i++) /* one too many: the vdso has one too */
		(void)add_mapping(&mappings, MAPPING_FILE, i);
	for (i = 0; i < 2; i++) {
		publish(&world, PID, mappings);
		process = find_process(&world, PID);
		CHECK_EQ(mapping_of(process, UNWIND_MAX_TABLES - 2)->kind, UNWIND_BY_TABLE);
		CHECK_EQ(mapping_of(process, UNWIND_MAX_TABLES - 1)->kind, UNWIND_BY_FRAME_POINTER);
		CHECK_EQ(cost_of(&world).nr_files_left_out, 1);
	}
	mappings_unref(mappings);
	world_close(&world);
}

/* The folder is a file. */
TEST(unwinder_tells_why_no_tables_are_kept)
{
	struct unwinder_options options = {.max_bytes = POOL_BYTES, .cache_folder = "/dev/null"};
	struct unwinder *unwinder = unwinder_new(&options, NULL);
	struct world world;

	CHECK(unwinder && unwinder_cache_error(unwinder)->code < 0);
	CHECK(strstr(unwinder_cache_error(unwinder)->text, "/dev/null"));
	unwinder_free(unwinder);
	world_open(&world, POOL_BYTES); /* names none */
	CHECK(!unwinder_cache_error(world.unwinder));
	world_close(&world);
}

TEST(unwinder_without_memory)
{
	struct mappings *mappings = mappings_new();
	struct world world;
	size_t nth, bytes;

	(void)add_mapping(&mappings, MAPPING_FILE, 0);
	for (nth = 1; nth < 150; nth++) { /* past some it is the vdso's table that is missing */
		struct error error = {0};
		bool is_open;

		(void)test_fail_allocation(nth);
		is_open = world_try_open(&world, POOL_BYTES, &error);
		(void)test_fail_allocation(0);
		CHECK(is_open || !world.files || error.code == -ENOMEM);
		world_close(&world);
	}
	world_open(&world, POOL_BYTES);
	publish(&world, PID + 1, NULL); /* so that the pool has its first chunk */
	bytes = cost_of(&world).bytes;
	(void)test_fail_allocation(1);
	CHECK_EQ(unwinder_publish(world.unwinder, PID, 0, 0, mappings), -ENOMEM);
	(void)test_fail_allocation(0);
	CHECK(!find_process(&world, PID));
	unwinder_epoch_ended(world.unwinder, 1);
	CHECK_EQ(cost_of(&world).bytes, bytes); /* all of it was given back */
	publish(&world, PID, mappings);
	(void)test_fail_allocation(1);
	unwinder_touch(world.unwinder, PID); /* cannot be noted: as before */
	(void)test_fail_allocation(0);
	CHECK(knows(&world, PID, 77, 3));
	mappings_unref(mappings);
	world_close(&world);
}
