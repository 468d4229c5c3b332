/* agent/keeper: what becomes of epochs, and of a store that is damaged. */
#include "agent/keeper.h"

#include <stdlib.h>

#include <sqlite3.h>

#include "base/clock.h"
#include "profile/profile.h"
#include "unit/folder.h"
#include "unit/make_profile.h"
#include "unit/test.h"

static struct keeper keeper;

static void begin(void)
{
	struct error error = {0};

	CHECK_EQ(keeper_open(&keeper, in_folder("store"), calloc(1, sizeof(struct keeper_settings)),
			     &error),
		 0);
}

static void keep(uint64_t began_ns)
{
	struct profile *profile = make_profile("a;main;f 1\n");
	const struct session_part part = {.began_ns = began_ns, .ended_ns = began_ns + NS_PER_SEC};

	CHECK_EQ(keeper_add(&keeper, profile, &part), 0);
	profile_free(profile);
}

static uint64_t nr_epochs(void)
{
	struct store_extent extent = {0};

	CHECK_EQ(store_extent(keeper.store, &extent, NULL), 0);
	return extent.nr_epochs;
}

/* Appending reads none of the old blocks: only the removal of what is too old finds out. */
TEST(an_hour_that_is_damaged)
{
	const uint64_t now_ns = clock_read_ns(CLOCK_REALTIME);
	sqlite3 *db = NULL;

	enter_folder();
	begin();
	keep(now_ns - 6 * 3600 * NS_PER_SEC);
	keep(now_ns - 3 * 3600 * NS_PER_SEC);
	keeper_close(&keeper);
	CHECK_EQ(sqlite3_open(in_folder("store"), &db), SQLITE_OK);
	CHECK_EQ(sqlite3_exec(db,
			      "UPDATE block SET content = x'05' WHERE level = 2; DELETE FROM meta "
			      "WHERE key = 'last_sweep_ns'",
			      NULL, NULL, NULL),
		 SQLITE_OK);
	sqlite3_close(db);
	begin();
	keep(now_ns - NS_PER_SEC);
	CHECK_EQ(unlink(in_folder("store.damaged")), 0);
	keep(now_ns);
	CHECK_EQ(keeper.nr_stored, 2);
	CHECK_EQ(keeper.nr_dropped, 0);
	keeper_close(&keeper);
	CHECK(access(in_folder("store.damaged"), F_OK) < 0);
	leave_folder();
}

TEST(upkeep_is_counted)
{
	enter_folder();
	begin();
	keep(clock_read_ns(CLOCK_REALTIME));
	CHECK(keeper.upkeep_ns > 0);
	keeper_close(&keeper);
	leave_folder();
}

/* The agent would go on in a file without a name, which nobody can read, and which still needs its space. */
TEST(a_store_that_is_removed)
{
	const uint64_t now_ns = clock_read_ns(CLOCK_REALTIME);

	enter_folder();
	begin();
	keep(now_ns - 2 * NS_PER_SEC);
	keep(now_ns - NS_PER_SEC);
	CHECK_EQ(unlink(in_folder("store")), 0);
	keep(now_ns);
	CHECK_EQ(access(in_folder("store"), F_OK), 0);
	CHECK(run_in_folder("rm store*"));
	keep(now_ns + NS_PER_SEC);
	CHECK_EQ(access(in_folder("store"), F_OK), 0);
	CHECK_EQ(keeper.nr_stored, 4);
	CHECK_EQ(nr_epochs(), 1);
	keeper_close(&keeper);
	begin();
	keep(now_ns + 2 * NS_PER_SEC);
	CHECK_EQ(nr_epochs(), 2);
	keeper_close(&keeper);
	leave_folder();
}
