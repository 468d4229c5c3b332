/* collect/unwind/unwinder: tables come when they are asked for, and go when memory is short. */
#include "collect/unwind/unwinder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "unit/test.h"
#include "unit/unwinder_fixture.h"

#define POOL_BYTES (1UL << 20)
#define NR_FILES   4
#define PID	   1234

/* Four files, mapped one after the other; three of their tables have room, and no two of a rest. */
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

static void shelf_open(struct shelf *shelf)
{
	static const uint32_t nr_pages[NR_FILES] = {300, 300, 300, 200};
	uint32_t i;

	world_open(&shelf->world, POOL_BYTES);
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

static void shelf_close(struct shelf *shelf)
{
	size_t i;

	for (i = 0; i < NR_FILES; i++)
		mappings_unref(shelf->single[i]);
	mappings_unref(shelf->mappings);
	world_close(&shelf->world);
}

/* Asks for one file's table, and waits until it is there, or was refused. */
static void fetch(struct shelf *shelf, size_t file)
{
	unwinder_preload(shelf->world.unwinder, shelf->single[file]);
	wait_for_tables(&shelf->world);
}

/* As the kernel side does when it meets the table. */
static void use(struct shelf *shelf, size_t file, uint32_t epoch)
{
	struct unwind_pool *pool = unwinder_pool(shelf->world.unwinder);

	unwind_pool_tables(pool)[shelf->tables[file]].used_epoch = epoch;
}

/* Which tables are there: a bit each. */
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
	fetch(&shelf, 2); /* is there */
	CHECK_EQ(cost_of(&shelf.world).nr_tables, 1);
	CHECK_EQ(cost_of(&shelf.world).nr_tables_cached, 0);
	CHECK(!unwinder_poll(shelf.world.unwinder));
	shelf_close(&shelf);
}

/* It goes at once, and what it makes room for comes with the next epoch. */
TEST(unwinder_evicts_the_table_used_least_recently)
{
	uint32_t tables[NR_FILES], epoch = UINT32_MAX - 2, i; /* their numbers wrap */
	struct shelf shelf;

	for (i = 0; i < 3; i++) {
		shelf_open(&shelf);
		unwinder_epoch_ended(shelf.world.unwinder, epoch + 4);
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
		unwinder_epoch_ended(shelf.world.unwinder, epoch + 5);
		fetch(&shelf, 3);
		CHECK_EQ(ready(&shelf), 15 & ~(1U << i));
		fetch(&shelf, i); /* it comes back, under its own number */
		unwinder_epoch_ended(shelf.world.unwinder, epoch + 6);
		fetch(&shelf, i);
		CHECK(ready(&shelf) & 1U << i);
		read_tables(&shelf, tables);
		CHECK(!memcmp(tables, shelf.tables, sizeof(tables)));
		shelf_close(&shelf);
	}
}

/* Walks of this epoch need them; the kernel may be an epoch ahead of us. */
TEST(unwinder_evicts_no_table_that_is_in_use)
{
	struct shelf shelf;
	uint32_t i;

	shelf_open(&shelf);
	unwinder_epoch_ended(shelf.world.unwinder, 9);
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

/* The walk of a frame in this file ends there, and asks for no table again. */
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

/* Without a table there are frame pointers. */
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

/* The file table has closed it to stay within its limit, or never had it. */
TEST(unwinder_goes_without_files_that_are_not_open)
{
	static const struct file_id gone = {0xfff, 0xfff, 42, 0};
	struct world world;
	int64_t file;

	world_open(&world, POOL_BYTES);
	file = file_table_add(world.files, &gone, "/nowhere", 5000001, 0, 0x1000);
	CHECK(file >= 0);
	check_absent(&world, (uint32_t)file);
	CHECK_EQ(cost_of(&world).nr_walked, 1);
	world_close(&world);
}
