/* collect/unwind/unwinder: processes and tables found by the kernel side, and evicted. */
#include "collect/unwind/unwinder.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "proc/mappings.h"
#include "proc/process_table.h"
#include "unit/look_here.h"
#include "unit/folder.h"
#include "unit/test.h"
#include "unit/unwinder_fixture.h"

#define POOL_BYTES (16UL << 20)
#define PID	   1234

/* --- processes ------------------------------------------------------------------------------- */

static bool knows(const struct world *world, uint32_t pid, uint64_t start_time_ns, uint64_t exec_id)
{
	const struct wire_record record = {
		.pid = pid, .start_time_ns = start_time_ns, .exec_id = exec_id};

	return unwinder_is_published(world->unwinder, &record);
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
	CHECK(!find_process(&world, 0)); /* pid 0 means any invisible process */
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
	publish(&world, PID, mappings); /* nothing has changed */
	CHECK_EQ(find_process(&world, PID)->sequence, sequence);
	CHECK_EQ(cost_of(&world).bytes, before + one);
	CHECK_EQ(unwinder_publish(world.unwinder, PID, 77, 4, mappings), 0);
	CHECK(find_process(&world, PID)->sequence != sequence); /* cached rules are invalid */
	CHECK_EQ(cost_of(&world).bytes, before + 2 * one);
	world_end_epoch(&world, 0);
	CHECK_EQ(cost_of(&world).bytes, before + one);
	unwinder_forget(world.unwinder, PID);
	unwinder_forget(world.unwinder, PID);
	CHECK(!find_process(&world, PID) && !knows(&world, PID, 77, 3));
	CHECK_EQ(cost_of(&world).bytes, before + one);
	world_end_epoch(&world, 1);
	CHECK_EQ(cost_of(&world).bytes, before);
	mappings_unref(mappings);
	world_close(&world);
}

/* A set holds as many processes as it has ways; the last one published is always found. */
TEST(unwinder_with_a_full_set_of_processes)
{
	struct mappings *mappings = mappings_new();
	uint32_t pids[3 * UNWIND_PROCESS_WAYS], nr = 0, pid, i, k, found;
	struct world world;
	size_t before;

	world_open(&world, POOL_BYTES);
	before = cost_of(&world).bytes;
	for (pid = 1; nr < ARRAY_SIZE(pids); pid++)
		if (unwind_process_set_of(pid, unwind_pool_nr_sets(POOL_BYTES)) == 42)
			pids[nr++] = pid;
	for (i = 0; i < nr; i++) {
		publish(&world, pids[i], mappings);
		for (k = 0, found = 0; k <= i; k++)
			found += find_process(&world, pids[k]) != NULL;
		CHECK_EQ(found, i < UNWIND_PROCESS_WAYS ? i + 1 : UNWIND_PROCESS_WAYS);
		CHECK(knows(&world, pids[i], 77, 3));
	}
	CHECK_EQ(cost_of(&world).nr_displaced, nr - UNWIND_PROCESS_WAYS);
	world_end_epoch(&world, 0);
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
	unwinder_mark_stale(world.unwinder, PID); /* unknown process */
	CHECK_EQ(unwinder_next_stale(world.unwinder, &start_time_ns, &exec_id), 0);
	publish(&world, PID, mappings);
	publish(&world, PID + 1, mappings);
	find_process(&world, PID)->is_final = 1;
	unwinder_mark_stale(world.unwinder, PID);
	unwinder_mark_stale(world.unwinder, PID);
	unwinder_mark_stale(world.unwinder, PID + 1);
	CHECK(!knows(&world, PID, 77, 3));
	CHECK(!find_process(&world, PID)->is_final); /* missing mappings may exist now */
	unwinder_forget(world.unwinder, PID + 1);
	CHECK_EQ(unwinder_next_stale(world.unwinder, &start_time_ns, &exec_id), PID);
	CHECK(start_time_ns == 77 && exec_id == 3);
	publish(&world, PID, mappings);
	CHECK(knows(&world, PID, 77, 3));
	CHECK_EQ(unwinder_next_stale(world.unwinder, &start_time_ns, &exec_id), 0);
	unwinder_mark_stale(world.unwinder, PID);
	publish(&world, PID, mappings); /* published before its turn */
	CHECK_EQ(unwinder_next_stale(world.unwinder, &start_time_ns, &exec_id), 0);
	mappings_unref(mappings);
	world_close(&world);
}

/*
 * A walk that ends outside all known code may mean new mappings. After a few such walks the
 * mappings count as final.
 */
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
	CHECK(find_process(&world, PID)->is_final); /* though another process came between */
	CHECK(!find_process(&world, PID + 1)->is_final);
	CHECK_EQ(cost_of(&world).nr_walked, 4);
	mappings_unref(mappings);
	world_close(&world);
}

/* A process that changes its mappings all the time does not use up the pool: its samples come raw for a while. */
TEST(unwinder_limits_the_memory_of_changes)
{
	struct mappings *mappings = mappings_new();
	struct world world;
	size_t i;

	world_open(&world, POOL_BYTES);
	for (i = 0; i < 100; i++)
		(void)add_mapping(&mappings, MAPPING_ANON, 0);
	for (i = 0; i < POOL_BYTES / 3200; i++) {
		CHECK_EQ(cost_of(&world).nr_unpublished > 0, i > 0 && !find_process(&world, PID));
		CHECK_EQ(unwinder_publish(world.unwinder, PID, 77, i, mappings), 0);
	}
	CHECK(cost_of(&world).bytes < POOL_BYTES / 3 && !find_process(&world, PID));
	CHECK(unwinder_wants_epoch_end(world.unwinder));
	world_end_epoch(&world, 0);
	publish(&world, PID, mappings);
	CHECK(knows(&world, PID, 77, 3));
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
	CHECK_EQ(cost_of(&world).nr_mappings_cut, 100);
	CHECK(process->is_final); /* else code past the limit would always look new */
	/* Without room for it, the process is unknown again, and its next sample is raw. */
	for (i = 0; i < POOL_BYTES / (32 * UNWIND_MAX_MAPPINGS); i++)
		publish(&world, PID + 1 + (uint32_t)i, mappings);
	publish(&world, PID, mappings);
	CHECK(!find_process(&world, PID));
	mappings_unref(mappings);
	world_close(&world);
}

/*
 * The file could not be opened through the first process that mapped it, but through a later one.
 */
TEST(unwinder_makes_the_table_of_a_file_that_was_gone)
{
	struct mappings *mappings;
	int from, to;
	struct world world;
	struct file_id id;
	const char *path;
	struct stat st;
	uint32_t table;

	need_openat2();
	mappings = mappings_new();
	from = code_file_of_pages(1, 1);
	world_open(&world, POOL_BYTES);
	enter_folder();
	path = in_folder("code");
	to = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CHECK(to >= 0 && fstat(from, &st) == 0);
	CHECK_EQ(sendfile(to, from, &(off_t){0}, (size_t)st.st_size), st.st_size);
	CHECK_EQ(fstat(to, &st), 0);
	id = (struct file_id){major(st.st_dev), minor(st.st_dev), st.st_ino, 0};
	CHECK_EQ(rename(path, in_folder("away")), 0);
	CHECK_EQ(add_file_here(world.files, &id, path, getpid(), 0x1000, 0x2000), 0);
	(void)add_mapping(&mappings, MAPPING_FILE, 0);
	publish(&world, PID, mappings);
	table = mapping_of(find_process(&world, PID), 0)->table;
	unwinder_preload(world.unwinder, mappings);
	CHECK_EQ(state_of(&world, table), UNWIND_TABLE_ABSENT);

	CHECK_EQ(rename(in_folder("away"), path), 0);
	CHECK_EQ(add_file_here(world.files, &id, path, getpid(), 0x1000, 0x2000), 0);
	unwinder_preload(world.unwinder, mappings);
	wait_for_tables(&world);
	CHECK_EQ(state_of(&world, table), UNWIND_TABLE_READY);
	(void)close(from);
	(void)close(to);
	CHECK_EQ(unlink(path), 0);
	leave_folder();
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
	for (i = 0; i < UNWIND_MAX_TABLES; i++) /* one too many: the vdso's is another */
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

/* A process that was published while all table numbers were taken is published anew as soon as there are some. */
TEST(unwinder_makes_up_for_files_left_out)
{
	struct mappings *many = mappings_new(), *two = mappings_new();
	uint64_t start_time_ns, exec_id;
	struct world world;
	uint32_t i;

	world_open(&world, POOL_BYTES);
	for (i = 0; i < UNWIND_MAX_TABLES - 1; i++)
		(void)add_mapping(&many, MAPPING_FILE, i);
	for (i = 0; i < 2; i++)
		(void)add_mapping(&two, MAPPING_FILE, UNWIND_MAX_TABLES + i);
	publish(&world, PID, many);
	publish(&world, PID + 1, two);
	CHECK_EQ(mapping_of(find_process(&world, PID + 1), 0)->kind, UNWIND_BY_FRAME_POINTER);
	CHECK_EQ(cost_of(&world).nr_files_left_out, 2);
	world_end_epoch(&world, 0);
	CHECK_EQ(unwinder_next_stale(world.unwinder, &start_time_ns, &exec_id), 0);
	unwinder_forget(world.unwinder, PID);
	world_end_epoch(&world, 1);
	world_end_epoch(&world, 2);
	CHECK_EQ(unwinder_next_stale(world.unwinder, &start_time_ns, &exec_id), PID + 1);
	publish(&world, PID + 1, two);
	for (i = 0; i < 2; i++)
		CHECK_EQ(mapping_of(find_process(&world, PID + 1), i)->kind, UNWIND_BY_TABLE);
	CHECK_EQ(cost_of(&world).nr_files_left_out, 2);
	mappings_unref(many);
	mappings_unref(two);
	world_close(&world);
}

/* Files come and go: one that no process has mapped any more gives its table number to another. */
TEST(unwinder_gives_table_numbers_to_other_files)
{
	const uint32_t nr_files = UNWIND_MAX_TABLES / 4 * 3;
	struct mappings *few = mappings_new();
	uint32_t round, i, table;
	struct world world;

	world_open(&world, POOL_BYTES);
	for (i = 0; i < 10; i++)
		(void)add_mapping(&few, MAPPING_FILE, i);
	publish(&world, PID + 1, few);
	for (round = 0; round < 5; round++) {
		struct mappings *many = mappings_new();

		for (i = 0; i < nr_files; i++)
			(void)add_mapping(&many, MAPPING_FILE, 100 + round * nr_files + i);
		publish(&world, PID, many);
		CHECK_EQ(cost_of(&world).nr_files_left_out, 0);
		for (i = 0; i < nr_files; i++) {
			table = mapping_of(find_process(&world, PID), i)->table;
			CHECK(table > mapping_of(find_process(&world, PID + 1), 9)->table);
			CHECK(table < UNWIND_MAX_TABLES);
		}
		unwinder_forget(world.unwinder, PID);
		world_end_epoch(&world, 2 * round);
		world_end_epoch(&world, 2 * round + 1);
		mappings_unref(many);
	}
	mappings_unref(few);
	world_close(&world);
}

/* The cache folder is a file. */
TEST(unwinder_tells_why_no_tables_are_kept)
{
	struct worker *worker = worker_new(NULL);
	struct unwinder_options options = {
		.worker = worker, .max_bytes = POOL_BYTES, .cache_folder = "/dev/null"};
	struct unwinder *unwinder = unwinder_new(&options, NULL);
	struct world world;

	CHECK(unwinder && unwinder_cache_error(unwinder)->code < 0);
	CHECK(strstr(unwinder_cache_error(unwinder)->text, "/dev/null"));
	unwinder_free(unwinder);
	worker_free(worker);
	world_open(&world, POOL_BYTES); /* no folder */
	CHECK(!unwinder_cache_error(world.unwinder));
	world_close(&world);
}

TEST(unwinder_without_memory)
{
	struct mappings *mappings = mappings_new();
	struct world world;
	size_t nth, bytes;

	(void)add_mapping(&mappings, MAPPING_FILE, 0);
	for (nth = 1; nth < 150; nth++) { /* later failures only affect the vdso's table */
		struct error error = {0};
		bool is_open;

		(void)test_fail_allocation(nth);
		is_open = world_try_open(&world, POOL_BYTES, &error);
		(void)test_fail_allocation(0);
		CHECK(is_open || !world.files || error.code == -ENOMEM);
		world_close(&world);
	}
	world_open(&world, POOL_BYTES);
	publish(&world, PID + 1, NULL); /* allocates the pool's first chunk */
	bytes = cost_of(&world).bytes;
	(void)test_fail_allocation(1);
	CHECK_EQ(unwinder_publish(world.unwinder, PID, 0, 0, mappings), -ENOMEM);
	(void)test_fail_allocation(0);
	CHECK(!find_process(&world, PID));
	world_end_epoch(&world, 1);
	CHECK_EQ(cost_of(&world).bytes, bytes); /* all of it was given back */
	publish(&world, PID, mappings);
	(void)test_fail_allocation(1);
	unwinder_mark_stale(world.unwinder, PID); /* cannot be recorded: as before */
	(void)test_fail_allocation(0);
	CHECK(knows(&world, PID, 77, 3));
	mappings_unref(mappings);
	world_close(&world);
}

/* --- tables on request -------------------------------------------------------------------- */

#define TABLES_POOL_BYTES (1UL << 20)
#define NR_FILES	  4

/* Four files, mapped one after the other. Three tables fit, or two and a part of the third. */
struct shelf {
	struct world world;
	struct mappings *mappings, *single[NR_FILES];
	uint32_t tables[NR_FILES];
};

static void read_tables(struct shelf *shelf, uint32_t tables[NR_FILES])
{
	size_t i;

	CHECK_EQ(unwinder_publish(shelf->world.unwinder, PID, 0, 0, shelf->mappings), 0);
	for (i = 0; i < NR_FILES; i++)
		tables[i] = mapping_of(find_process(&shelf->world, PID), i)->table;
}

static void shelf_open_for(struct shelf *shelf, uint64_t unused_ns)
{
	static const uint32_t nr_pages[NR_FILES] = {300, 300, 300, 200};
	uint32_t i;

	CHECK(world_try_open_for(&shelf->world, TABLES_POOL_BYTES, unused_ns, NULL));
	shelf->mappings = mappings_new();
	for (i = 0; i < NR_FILES; i++) {
		uint32_t file =
			world_add_file(&shelf->world, code_file_of_pages((uint8_t)i, nr_pages[i]));

		shelf->single[i] = mappings_new();
		(void)add_mapping(&shelf->single[i], MAPPING_FILE, file);
		(void)add_mapping(&shelf->mappings, MAPPING_FILE, file);
	}
	read_tables(shelf, shelf->tables);
}

static void shelf_open(struct shelf *shelf)
{
	shelf_open_for(shelf, 0);
}

static void shelf_close(struct shelf *shelf)
{
	size_t i;

	for (i = 0; i < NR_FILES; i++)
		mappings_unref(shelf->single[i]);
	mappings_unref(shelf->mappings);
	world_close(&shelf->world);
}

/* Requests a file's table, and waits until it is loaded or refused. */
static void fetch(struct shelf *shelf, size_t file)
{
	unwinder_preload(shelf->world.unwinder, shelf->single[file]);
	wait_for_tables(&shelf->world);
}

/* Marks the table as used, like the kernel side does. */
static void use(struct shelf *shelf, size_t file, uint32_t epoch)
{
	struct unwind_pool *pool = unwinder_pool(shelf->world.unwinder);

	unwind_pool_tables(pool)[shelf->tables[file]].used_epoch = epoch;
}

/* Returns the loaded tables as bits. */
static unsigned ready(const struct shelf *shelf)
{
	unsigned bits = 0, i;

	for (i = 0; i < NR_FILES; i++)
		if (state_of(&shelf->world, shelf->tables[i]) == UNWIND_TABLE_READY)
			bits |= 1U << i;
	return bits;
}

TEST(unwinder_makes_tables_when_they_are_asked_for)
{
	struct shelf shelf;

	shelf_open(&shelf);
	CHECK_EQ(ready(&shelf), 0);
	CHECK_EQ(unwinder_nr_waiting(shelf.world.unwinder), 0);
	unwinder_preload(shelf.world.unwinder, shelf.single[2]);
	unwinder_preload(shelf.world.unwinder, shelf.single[2]);
	CHECK_EQ(unwinder_nr_waiting(shelf.world.unwinder), 1); /* once */
	wait_for_tables(&shelf.world);
	CHECK_EQ(ready(&shelf), 4);
	fetch(&shelf, 2); /* is loaded */
	CHECK_EQ(cost_of(&shelf.world).nr_tables, 1);
	CHECK_EQ(cost_of(&shelf.world).nr_tables_cached, 0);
	CHECK(!unwinder_poll(shelf.world.unwinder));
	shelf_close(&shelf);
}

/* A table is evicted at once; the table that needs the room is loaded with the next epoch. */
TEST(unwinder_evicts_the_table_used_least_recently)
{
	uint32_t tables[NR_FILES], epoch = UINT32_MAX - 2, i; /* epoch numbers wrap */
	struct shelf shelf;

	for (i = 0; i < 3; i++) {
		shelf_open(&shelf);
		world_end_epoch(&shelf.world, epoch + 8);
		fetch(&shelf, 0);
		fetch(&shelf, 1);
		fetch(&shelf, 2);
		CHECK_EQ(ready(&shelf), 7);
		use(&shelf, i, epoch + 1);
		use(&shelf, (i + 1) % 3, epoch + 2);
		use(&shelf, (i + 2) % 3, epoch + 3);
		fetch(&shelf, 3);
		CHECK_EQ(ready(&shelf), 7 & ~(1U << i));
		CHECK_EQ(cost_of(&shelf.world).nr_evicted, 1);
		world_end_epoch(&shelf.world, epoch + 9);
		fetch(&shelf, 3);
		CHECK_EQ(ready(&shelf), 15 & ~(1U << i));
		fetch(&shelf, i); /* loaded again, under its own number */
		world_end_epoch(&shelf.world, epoch + 10);
		fetch(&shelf, i);
		CHECK(ready(&shelf) & 1U << i);
		read_tables(&shelf, tables);
		CHECK(!memcmp(tables, shelf.tables, sizeof(tables)));
		shelf_close(&shelf);
	}
}

/* Walks of this epoch need the tables; the kernel may be an epoch ahead. */
TEST(unwinder_evicts_no_table_that_is_in_use)
{
	struct shelf shelf;
	uint32_t i;

	shelf_open(&shelf);
	world_end_epoch(&shelf.world, 9);
	for (i = 0; i < 3; i++)
		fetch(&shelf, i);
	use(&shelf, 0, 10);
	use(&shelf, 1, 11);
	use(&shelf, 2, 10);
	fetch(&shelf, 3);
	CHECK_EQ(ready(&shelf), 7);
	CHECK_EQ(cost_of(&shelf.world).nr_evicted, 0);
	CHECK_EQ(state_of(&shelf.world, shelf.tables[3]), UNWIND_TABLE_WANTED);
	shelf_close(&shelf);
}

/* Samples that wait for a table are not walked again before it is there, or the next epoch. */
TEST(unwinder_knows_the_table_that_a_walk_lacks)
{
	static struct raw_record raw;
	static struct user_stack stack;
	struct lacked_table lacked;
	struct shelf shelf;

	shelf_open(&shelf);
	make_raw(&raw, PID, mappings_get(shelf.single[0], 0)->start);
	CHECK_EQ(unwinder_walk(shelf.world.unwinder, &raw.record, shelf.single[0], &stack),
		 -EAGAIN);
	lacked = unwinder_lacked(shelf.world.unwinder, &stack);
	CHECK_EQ(lacked.number, shelf.tables[0]);
	CHECK(unwinder_still_lacks(shelf.world.unwinder, &lacked));
	world_end_epoch(&shelf.world, 0);
	CHECK(!unwinder_still_lacks(shelf.world.unwinder, &lacked));
	CHECK_EQ(unwinder_walk(shelf.world.unwinder, &raw.record, shelf.single[0], &stack),
		 -EAGAIN);
	lacked = unwinder_lacked(shelf.world.unwinder, &stack);
	CHECK(unwinder_still_lacks(shelf.world.unwinder, &lacked));
	wait_for_tables(&shelf.world);
	CHECK_EQ(state_of(&shelf.world, shelf.tables[0]), UNWIND_TABLE_READY);
	CHECK(!unwinder_still_lacks(shelf.world.unwinder, &lacked));
	CHECK_EQ(unwinder_walk(shelf.world.unwinder, &raw.record, shelf.single[0], &stack), 0);
	shelf_close(&shelf);
}

/* Adds samples that wait for a file's table, at different times, and waits for the table. */
static void sample_without(struct shelf *shelf, size_t file, unsigned nr, uint64_t *time_ns)
{
	static struct raw_record raw;
	static struct user_stack stack;

	make_raw(&raw, PID, mappings_get(shelf->single[file], 0)->start);
	for (; nr; nr--) {
		raw.record.time_ns = ++*time_ns;
		(void)unwinder_walk(shelf->world.unwinder, &raw.record, shelf->single[file],
				    &stack);
		/* Tried again by each poll. */
		(void)unwinder_walk(shelf->world.unwinder, &raw.record, shelf->single[file],
				    &stack);
	}
	wait_for_tables(&shelf->world);
}

/* All files are used by turns, and three have room: they do not displace each other in each epoch. */
TEST(unwinder_does_not_load_tables_in_turn)
{
	uint64_t time_ns = 0;
	struct shelf shelf;
	uint32_t epoch, i;

	shelf_open(&shelf);
	for (epoch = 1; epoch <= 100; epoch++) {
		for (i = 0; i < NR_FILES; i++) {
			if ((i + epoch) % 2)
				continue;
			if (ready(&shelf) & 1U << i)
				use(&shelf, i, epoch);
			else
				sample_without(&shelf, i, 3, &time_ns);
		}
		world_end_epoch(&shelf.world, epoch);
	}
	CHECK(cost_of(&shelf.world).nr_tables < 12);
	CHECK(cost_of(&shelf.world).nr_evicted < 9);
	CHECK(cost_of(&shelf.world).nr_crowded > 0);
	CHECK(cost_of(&shelf.world).nr_crowded < 25);
	shelf_close(&shelf);
}

/* A table for which many samples wait takes the place of one that was used lately. */
TEST(unwinder_evicts_for_many_samples)
{
	uint64_t time_ns = 0;
	struct shelf shelf;
	uint32_t epoch, i;

	shelf_open(&shelf);
	for (i = 0; i < 3; i++)
		fetch(&shelf, i);
	for (epoch = 1; epoch < 6 && !(ready(&shelf) & 8); epoch++) {
		for (i = 0; i < 3; i++)
			if (ready(&shelf) & 1U << i)
				use(&shelf, i, epoch - 1);
		world_end_epoch(&shelf.world, epoch);
		sample_without(&shelf, 3, 100, &time_ns);
	}
	CHECK(ready(&shelf) & 8);
	CHECK_EQ(cost_of(&shelf.world).nr_evicted, 1);
	shelf_close(&shelf);
}

/* A table stays if it was used since the check before. */
TEST(unwinder_drops_tables_that_nobody_uses)
{
	struct shelf shelf;
	uint32_t i, epoch;

	shelf_open_for(&shelf, 1); /* checks at the end of each epoch */
	for (i = 0; i < 3; i++)
		fetch(&shelf, i);
	for (epoch = 0; epoch < 4; epoch++) {
		use(&shelf, 1, epoch);
		if (epoch < 2)
			use(&shelf, 2, epoch);
		world_end_epoch(&shelf.world, epoch);
		CHECK_EQ(ready(&shelf), epoch == 0 ? 7 : epoch == 1 ? 6 : 2);
	}
	CHECK_EQ(cost_of(&shelf.world).nr_evicted, 0);
	fetch(&shelf, 0); /* has room, and is loaded under its number */
	CHECK_EQ(ready(&shelf), 3);
	shelf_close(&shelf);
}

/* Checks that a walk in this file ends there and does not request the table again. */
static void check_absent(struct world *world, uint32_t file)
{
	struct mappings *mappings = mappings_new();
	static struct raw_record raw;
	static struct user_stack stack;
	uint64_t start = add_mapping(&mappings, MAPPING_FILE, file);
	int err;

	make_raw(&raw, PID, start);
	err = unwinder_walk(world->unwinder, &raw.record, mappings, &stack);
	wait_for_tables(world);
	if (err)
		err = unwinder_walk(world->unwinder, &raw.record, mappings, &stack);
	CHECK_EQ(err, 0);
	CHECK_EQ(stack.nr, 1);
	CHECK_EQ(unwinder_nr_waiting(world->unwinder), 0);
	mappings_unref(mappings);
}

/* Without a table, frame pointers are used. */
TEST(unwinder_goes_without_tables_that_cannot_be)
{
	struct code_file far = {.build_id = 1, .nr_segments = 1}, none = far;
	struct world world;

	far.segments[0] = (struct elf_segment){1UL << 36, 0x10000, 0x1000};
	code_file_add_steps(&far, 0x10000, 0x10, 10);
	none.segments[0] = (struct elf_segment){0x10000, 0x10000, 0x1000};
	world_open(&world, 200UL << 10);
	check_absent(&world, world_add_file(&world, open("/dev/null", O_RDONLY)));
	check_absent(&world, world_add_file(&world, code_file_make(&none)));
	check_absent(&world, world_add_file(&world, code_file_make(&far)));
	check_absent(&world, world_add_file(&world, code_file_of_pages(1, 300))); /* too large */
	CHECK_EQ(cost_of(&world).nr_tables, 0);
	CHECK_EQ(cost_of(&world).nr_evicted, 0);
	world_close(&world);
}

/* The file table closed the file to stay within its limit, or never opened it. */
TEST(unwinder_goes_without_files_that_are_not_open)
{
	static const struct file_id gone = {0xfff, 0xfff, 42, 0};
	struct world world;
	int64_t file;

	world_open(&world, TABLES_POOL_BYTES);
	file = add_file_here(world.files, &gone, "/nowhere", 5000001, 0, 0x1000);
	CHECK(file >= 0);
	check_absent(&world, (uint32_t)file);
	CHECK_EQ(cost_of(&world).nr_walked, 1);
	world_close(&world);
}

static void stop_children(void)
{
	cleanup_file FILE *file = fopen("/proc/thread-self/children", "re");
	pid_t pid;

	if (!file)
		SKIP("needs CONFIG_PROC_CHILDREN");
	while (fscanf(file, "%d", &pid) == 1)
		(void)kill(pid, SIGSTOP);
}

/* A device whose files nobody could read in time is given up for a minute, not for as long as the agent runs. */
TEST(unwinder_asks_again_for_what_was_refused)
{
	struct shelf shelf;
	uint32_t epoch;

	shelf_open_for(&shelf, 1);
	for (epoch = 0; epoch < 5; epoch++) {
		unwinder_preload(shelf.world.unwinder, shelf.single[0]);
		(void)unwinder_poll(shelf.world.unwinder);
		stop_children();
		wait_for_tables(&shelf.world);
		if (state_of(&shelf.world, shelf.tables[0]) == UNWIND_TABLE_ABSENT)
			break;
		world_end_epoch(&shelf.world, epoch);
	}
	CHECK_EQ(state_of(&shelf.world, shelf.tables[0]), UNWIND_TABLE_ABSENT);
	world_end_epoch(&shelf.world, epoch);
	CHECK_EQ(state_of(&shelf.world, shelf.tables[0]), UNWIND_TABLE_WANTED);
	shelf_close(&shelf);
}

/* A file that was closed for want of room is opened again before it is taken for absent. */
TEST(unwinder_opens_closed_files_again)
{
	struct mappings *mappings = mappings_new();
	struct file_looked looked = {.root_err = -ENOENT, .root_fd = -1};
	struct file_look look;
	struct world world;
	uint32_t file, table, i;
	int fd, again;

	world_open(&world, POOL_BYTES);
	fd = code_file_of_pages(1, 1);
	again = dup(fd);
	file = world_add_file(&world, fd);
	for (i = 0; i < 64; i++)
		(void)world_add_file(&world, code_file_of_pages(2, 1));
	CHECK_EQ(file_table_get(world.files, file)->state, FILE_CLOSED);
	(void)add_mapping(&mappings, MAPPING_FILE, file);
	publish(&world, PID, mappings);
	table = mapping_of(find_process(&world, PID), 0)->table;
	unwinder_preload(world.unwinder, mappings);
	CHECK_EQ(state_of(&world, table), UNWIND_TABLE_WANTED);
	CHECK(file_table_next_look(world.files, &look) && look.file == file);
	looked.found.handle = again;
	file_table_looked(world.files, file, &looked);
	(void)unwinder_poll(world.unwinder);
	wait_for_tables(&world);
	CHECK_EQ(state_of(&world, table), UNWIND_TABLE_READY);
	mappings_unref(mappings);
	world_close(&world);
}

/* --- end to end --------------------------------------------------------------------------- */

/*
 * The stack of this process, unwound with the tables of its own files, has the same frames as
 * backtrace() of the compiler's runtime.
 */

#define WALK_POOL_BYTES (32UL << 20)

/* A sample of this process, and the expected frames. */
static struct raw_record sample;
static void *expected[128];
static int nr_expected;

/* Returns the end of the mapping that contains this address. */
static uint64_t end_of_mapping(uint64_t address)
{
	struct maps_entry entry;
	struct maps maps;
	uint64_t end = 0;

	CHECK_EQ(maps_open(&maps, getpid()), 0);
	while (!end && maps_next(&maps, &entry))
		if (address >= entry.start && address < entry.end)
			end = entry.end;
	maps_close(&maps);
	CHECK(end > address);
	return end;
}

/* Stores the registers by their DWARF numbers. */
static void take_registers(const ucontext_t *context, uint64_t *words)
{
#if defined(__x86_64__)
	static const int by_number[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
					REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
					REG_R12, REG_R13, REG_R14, REG_R15};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(by_number); i++)
		words[i] = (uint64_t)context->uc_mcontext.gregs[by_number[i]];
	words[WIRE_RAW_PC] = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
#else
	memcpy(words, context->uc_mcontext.regs, 31 * sizeof(*words));
	words[UNWIND_REG_SP] = context->uc_mcontext.sp;
	words[WIRE_RAW_PC] = context->uc_mcontext.pc;
#endif
}

/* Records a sample as the kernel side does. All of the stack may be read, including red zones. */
__attribute__((noinline, no_sanitize("address"))) static void take_sample(void)
{
	const volatile uint64_t *stack;
	ucontext_t context;
	size_t nr, i;

	make_raw(&sample, (uint32_t)getpid(), 0);
	nr_expected = backtrace(expected, ARRAY_SIZE(expected));
	CHECK_EQ(getcontext(&context), 0);
	take_registers(&context, sample.words);
	stack = (const volatile uint64_t *)sample.words[UNWIND_REG_SP];
	nr = (end_of_mapping((uint64_t)stack) - (uint64_t)stack) / 8;
	if (nr > WIRE_RAW_STACK_BYTES / 8)
		nr = WIRE_RAW_STACK_BYTES / 8;
	for (i = 0; i < nr; i++)
		sample.words[WIRE_RAW_STACK + i] = stack[i];
	sample.record.nr_user = (uint16_t)(WIRE_RAW_STACK + nr);
}

static int sample_and_compare(const void *a, const void *b)
{
	if (!nr_expected)
		take_sample();
	return *(const int *)a - *(const int *)b;
}

/* Takes the sample below a function of libc. */
static void sample_below_libc(void)
{
	int numbers[] = {3, 1, 2};

	qsort(numbers, ARRAY_SIZE(numbers), sizeof(*numbers), sample_and_compare);
	CHECK(nr_expected > 3);
}

struct self {
	struct world world;
	struct process_table *processes;
	const struct mappings *mappings;
};

static void self_open(struct self *self)
{
	world_open(&self->world, WALK_POOL_BYTES);
	self->processes = process_table_new(self->world.files);
	CHECK(self->processes != NULL);
	CHECK_EQ(process_table_ensure(self->processes, getpid(), NULL, clock_now_ns()), 1);
	CHECK_EQ(look_here(self->world.files, self->processes), 0);
	self->mappings = process_table_mappings(self->processes, getpid(), NULL, clock_now_ns());
	CHECK(self->mappings != NULL);
}

static void self_close(struct self *self)
{
	unwinder_free(self->world.unwinder); /* it uses the file table's numbers */
	worker_free(self->world.worker);
	process_table_free(self->processes);
	file_table_free(self->world.files);
}

static int walk(struct self *self, struct user_stack *stack)
{
	return unwinder_walk(self->world.unwinder, &sample.record, self->mappings, stack);
}

/* A sanitizer's own backtrace() adds a frame in front. */
static void check_stack(const struct user_stack *stack)
{
	uint32_t shift = (uint32_t)nr_expected - stack->nr, i;

	CHECK_EQ(stack->end, WALK_COMPLETE);
	CHECK(shift <= 1);
	CHECK_EQ(stack->frames[0], sample.words[WIRE_RAW_PC]);
	for (i = 1; i < stack->nr; i++) /* the first ones are two places in one function */
		CHECK_EQ(stack->frames[i], (uint64_t)(uintptr_t)expected[i + shift]);
}

TEST(unwinder_walks_our_own_stack_once_its_tables_are_made)
{
	static struct user_stack stack;
	struct self self;
	unsigned nr_again = 0;

	sample_below_libc();
	self_open(&self);
	while (walk(&self, &stack) == -EAGAIN) {
		CHECK_EQ(unwinder_nr_waiting(self.world.unwinder), 1);
		wait_for_tables(&self.world);
		nr_again++;
	}
	CHECK(nr_again >= 2); /* this program, libc */
	CHECK_EQ(cost_of(&self.world).nr_tables, nr_again);
	CHECK_EQ(cost_of(&self.world).nr_walked, 1);
	check_stack(&stack);
	CHECK_EQ(walk(&self, &stack), 0);
	check_stack(&stack);
	self_close(&self);
}

TEST(unwinder_preloads_all_tables_of_a_process)
{
	static struct user_stack stack;
	struct self self;

	sample_below_libc();
	self_open(&self);
	unwinder_preload(self.world.unwinder, self.mappings);
	CHECK(unwinder_nr_waiting(self.world.unwinder) >= 2);
	wait_for_tables(&self.world);
	CHECK_EQ(walk(&self, &stack), 0);
	check_stack(&stack);
	CHECK_EQ(unwinder_nr_waiting(self.world.unwinder), 0);
	self_close(&self);
}

/* The vdso's table is loaded at the start. */
TEST(unwinder_knows_the_vdso_before_any_file)
{
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
	static struct user_stack stack;
	struct self self;

	if (!vdso)
		SKIP("this process has no vdso");
	self_open(&self);
	make_raw(&sample, (uint32_t)getpid(), vdso); /* in its headers: not code */
	CHECK_EQ(walk(&self, &stack), 0);
	CHECK_EQ(stack.nr, 1);
	CHECK_EQ(state_of(&self.world, 0), UNWIND_TABLE_READY);
	self_close(&self);
}
