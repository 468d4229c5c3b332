/* agent/keeper: what becomes of epochs, and of a store that is damaged. */
#include "agent/keeper.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <sqlite3.h>

#include "base/array.h"
#include "base/clock.h"
#include "profile/profile.h"
#include "unit/folder.h"
#include "unit/make_profile.h"
#include "unit/test.h"

static struct keeper keeper;

static void begin_with(const char *rule)
{
	struct keeper_settings *settings = calloc(1, sizeof(*settings));
	struct error error = {0};

	if (rule)
		CHECK_EQ(relabel_rules_add(&settings->rules, rule, &error), 0);
	CHECK_EQ(keeper_open(&keeper, in_folder("store"), settings, 0, &error), 0);
}

static void begin(void)
{
	begin_with(NULL);
}

static void keep(uint64_t began_ns)
{
	struct profile *profile = make_profile("a;main;f 1\n");
	const struct session_part part = {.began_ns = began_ns, .ended_ns = began_ns + NS_PER_SEC};

	CHECK_EQ(keeper_add(&keeper, profile, &part, (struct interval_span){0}), 0);
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

#define DAY_NS (24 * 3600 * NS_PER_SEC)

/* A host that is on again after a month, or whose clock is wrong: it is not known for an hour. */
TEST(old_epochs_are_kept_while_the_clock_may_be_wrong)
{
	const uint64_t now_ns = clock_read_ns(CLOCK_REALTIME);

	enter_folder();
	begin();
	keeper.expire_ns = UINT64_MAX; /* a month ago it was not too old */
	keep(now_ns - 30 * DAY_NS);
	keeper_close(&keeper);
	begin();
	keeper.settings->retain_ns = 7 * DAY_NS;
	keep(now_ns);
	CHECK_EQ(nr_epochs(), 2);
	keeper_close(&keeper); /* the next agent doubts it, too */
	begin();
	keeper.settings->retain_ns = 7 * DAY_NS;
	keep(now_ns + NS_PER_SEC);
	CHECK_EQ(nr_epochs(), 3);
	keeper.clock.since_ns -= KEEPER_CLOCK_PATIENCE_NS;
	keeper.expire_ns = 0;
	keep(now_ns + 2 * NS_PER_SEC);
	CHECK_EQ(nr_epochs(), 3);
	keeper_close(&keeper);
	leave_folder();
}

TEST(the_clock_is_believed_when_it_stays)
{
	const uint64_t minute = 60 * NS_PER_SEC, hour = KEEPER_CLOCK_PATIENCE_NS;
	struct keeper_clock clock = {.now_ns = 100 * DAY_NS, .boot_ns = hour};

	/* It goes on, and is set a little. */
	CHECK_EQ(keeper_clock_read(&clock, 100 * DAY_NS + minute, hour + minute),
		 100 * DAY_NS + minute);
	CHECK_EQ(keeper_clock_read(&clock, 100 * DAY_NS + minute - 30, hour + minute),
		 100 * DAY_NS + minute - 30);
	/* Set ahead for a moment. */
	CHECK_EQ(keeper_clock_read(&clock, 130 * DAY_NS, hour + 2 * minute),
		 100 * DAY_NS + 2 * minute);
	CHECK_EQ(keeper_clock_read(&clock, 130 * DAY_NS + hour - minute, 2 * hour + minute),
		 100 * DAY_NS + hour + minute);
	CHECK_EQ(keeper_clock_read(&clock, 100 * DAY_NS + hour + 2 * minute, 2 * hour + 2 * minute),
		 100 * DAY_NS + hour + 2 * minute);
	/* Set ahead again, and then to another time, from which on it has to stay for an hour. */
	CHECK_EQ(keeper_clock_read(&clock, 110 * DAY_NS, 3 * hour), 100 * DAY_NS + 2 * hour);
	CHECK_EQ(keeper_clock_read(&clock, 120 * DAY_NS + hour, 4 * hour), 100 * DAY_NS + 3 * hour);
	CHECK_EQ(keeper_clock_read(&clock, 120 * DAY_NS + 2 * hour - 1, 5 * hour - 1),
		 100 * DAY_NS + 4 * hour - 1);
	CHECK_EQ(keeper_clock_read(&clock, 120 * DAY_NS + 2 * hour, 5 * hour),
		 120 * DAY_NS + 2 * hour);
	CHECK_EQ(keeper_clock_read(&clock, 120 * DAY_NS + 3 * hour, 6 * hour),
		 120 * DAY_NS + 3 * hour);
	/* Set back, as on a host that knows no time until it has a network, and put right. */
	CHECK_EQ(keeper_clock_read(&clock, 90 * DAY_NS, 6 * hour), 90 * DAY_NS);
	CHECK_EQ(keeper_clock_read(&clock, 120 * DAY_NS + 3 * hour, 6 * hour),
		 120 * DAY_NS + 3 * hour);
	CHECK_EQ(keeper_clock_read(&clock, 90 * DAY_NS, 6 * hour + minute), 90 * DAY_NS);
	/* A host that was suspended for a month. */
	CHECK_EQ(keeper_clock_read(&clock, 120 * DAY_NS, 6 * hour + minute + 30 * DAY_NS),
		 120 * DAY_NS);
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

/* --- epochs without names --------------------------------------------------------------------- */

static uint64_t began_ns;

/* An epoch of a second that has ended, by its number. */
static void keep_unnamed(uint64_t number, const char *lines)
{
	struct profile *profile = make_profile(lines);
	const struct session_part part = {.began_ns = began_ns + number * NS_PER_SEC,
					  .ended_ns = began_ns + (number + 1) * NS_PER_SEC};

	keeper_keep(&keeper, profile, &part, (struct interval_span){number, number}, true);
	profile_free(profile);
}

static void add_named(uint64_t first, uint64_t last, const char *lines)
{
	struct profile *profile = make_profile(lines);
	const struct session_part part = {.began_ns = began_ns + first * NS_PER_SEC,
					  .ended_ns = began_ns + (last + 1) * NS_PER_SEC};

	CHECK_EQ(keeper_add(&keeper, profile, &part, (struct interval_span){first, last}), 0);
	profile_free(profile);
}

/* Checks the sum of all samples. */
static void check_total(uint64_t wanted)
{
	const struct store_query query = {.to_ns = INT64_MAX};
	struct store_answer answer;
	struct profile *profile = NULL;

	CHECK_EQ(store_query(keeper.store, &query, &profile, &answer, NULL), 0);
	CHECK_EQ(profile_total(profile), wanted);
	profile_free(profile);
}

TEST(an_epoch_is_stored_when_it_ends)
{
	enter_folder();
	began_ns = clock_read_ns(CLOCK_REALTIME) - 100 * NS_PER_SEC;
	begin();
	keep_unnamed(1, "a;app! 1\n");
	check_total(1);
	keep_unnamed(2, "a;app! 2\n");
	check_total(3);
	add_named(1, 2, "a;app!f 3\n");
	check_total(3);
	CHECK_EQ(nr_epochs(), 1);
	CHECK_EQ(keeper.nr_stored, 2);
	CHECK_EQ(keeper.nr_dropped, 0);
	keep_unnamed(3, "a;app! 4\n");
	keeper_close(&keeper); /* as if it was killed */
	began_ns += 10 * NS_PER_SEC;
	begin();
	check_total(7);
	CHECK_EQ(nr_epochs(), 2);
	keep_unnamed(1, "a;app! 8\n");
	check_total(15);
	add_named(1, 1, "a;app!f 8\n");
	check_total(15);
	CHECK_EQ(nr_epochs(), 3);
	keeper_close(&keeper);
	leave_folder();
}

/* An epoch without names is in the store that was removed, or damaged; the next one is in the new store. */
TEST(a_store_that_is_removed_before_there_are_names)
{
	enter_folder();
	began_ns = clock_read_ns(CLOCK_REALTIME) - 100 * NS_PER_SEC;
	begin();
	keep_unnamed(1, "a;app! 1\n");
	CHECK(run_in_folder("rm store*"));
	keep_unnamed(2, "a;app! 2\n");
	check_total(2);
	add_named(1, 2, "a;app!f 3\n");
	check_total(3);
	CHECK_EQ(nr_epochs(), 1);
	keeper_close(&keeper);
	leave_folder();
}

/* Samples that a rule leaves out, or could when there are names, are not on the disk before either. */
TEST(rules_hold_without_names)
{
	static const struct {
		const char *rule;
		uint64_t early, named;
	} cases[] = {
		{"drop comm=secret", 1, 1},
		{"keep comm=open", 1, 1},
		{"keep comm=open || service.name=x", 0, 1},
		{"drop service.name=x", 0, 3},
		{"drop build_id~^a", 0, 3},
		{"drop cmdline~secret", 0, 3},
		{"drop env.TEAM=x", 0, 3},
		{"keep service.name=x", 0, 0},
		{"drop process=x", 3, 3},
		{"replace service.name~x team=y", 3, 3},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		enter_folder();
		began_ns = clock_read_ns(CLOCK_REALTIME) - 100 * NS_PER_SEC;
		begin_with(cases[i].rule);
		keep_unnamed(1, "open;app! 1\nsecret;app! 2\n");
		check_total(cases[i].early);
		add_named(1, 1, "open;app!f 1\nsecret;app!f 2\n");
		check_total(cases[i].named);
		keeper_close(&keeper);
		leave_folder();
	}
}

/* The disk has room for the epoch without names, and no more: it is not dropped. */
TEST(a_disk_that_is_full_before_there_are_names)
{
	struct rlimit limit, whole;
	uint64_t number;

	enter_folder();
	began_ns = clock_read_ns(CLOCK_REALTIME) - 1000 * NS_PER_SEC;
	begin();
	(void)signal(SIGXFSZ, SIG_IGN);
	CHECK_EQ(getrlimit(RLIMIT_FSIZE, &whole), 0);
	limit = whole;
	keep_unnamed(1, "a;app! 1\n");
	limit.rlim_cur = 4096;
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	add_named(1, 1, "a;app!f 1\n");
	CHECK_EQ(keeper.nr_dropped, 0);
	keep_unnamed(2, "a;app! 2\n");
	add_named(2, 2, "a;app!f 2\n");
	CHECK_EQ(keeper.nr_dropped, 1);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &whole), 0);
	for (number = 3; number < 5; number++) {
		keep_unnamed(number, "a;app! 4\n");
		add_named(number, number, "a;app!f 4\n");
	}
	check_total(9);
	CHECK_EQ(nr_epochs(), 3);
	keeper_close(&keeper);
	leave_folder();
}

static unsigned nr_lines_of(const char *name)
{
	FILE *file = fopen(in_folder(name), "r");
	unsigned nr = 0;
	int c;

	CHECK(file != NULL);
	while ((c = getc(file)) != EOF)
		nr += c == '\n';
	CHECK_EQ(fclose(file), 0);
	return nr;
}

/* Makes the store refuse the epoch that begins then. */
static void refuse(uint64_t start_ns)
{
	char text[160];
	sqlite3 *db = NULL;

	(void)snprintf(text, sizeof(text),
		       "CREATE TRIGGER refuse BEFORE INSERT ON block WHEN NEW.start_ns = %" PRIu64
		       " BEGIN SELECT RAISE(FAIL, 'refused'); END",
		       start_ns);
	CHECK_EQ(sqlite3_open(in_folder("store"), &db), SQLITE_OK);
	CHECK_EQ(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* The epoch of the agent before has the number of one of this agent, which does not replace it. */
TEST(another_store_that_cannot_be_settled)
{
	enter_folder();
	began_ns = clock_read_ns(CLOCK_REALTIME) - 100 * NS_PER_SEC;
	begin();
	keep_unnamed(1, "a;app! 1\n");
	keeper_close(&keeper);
	refuse(began_ns + NS_PER_SEC);
	CHECK(run_in_folder("mv store other"));
	began_ns += 10 * NS_PER_SEC;
	begin();
	keep_unnamed(1, "a;app! 2\n");
	CHECK(run_in_folder("rm store* && mv other store"));
	add_named(1, 1, "a;app!f 2\n");
	check_total(1);
	CHECK_EQ(keeper.nr_dropped, 1);
	keeper_close(&keeper);
	leave_folder();
}

TEST(epochs_that_stay_without_names_are_reported_once)
{
	int before, fd;
	uint64_t i;

	enter_folder();
	began_ns = clock_read_ns(CLOCK_REALTIME) - 100 * NS_PER_SEC;
	begin();
	refuse(began_ns + NS_PER_SEC);
	before = dup(STDERR_FILENO);
	fd = open(in_folder("said"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	keep_unnamed(1, "a;app! 1\n");
	for (i = 0; i < 3; i++)
		add_named(1, 1, "a;app!f 1\n");
	CHECK_EQ(nr_lines_of("said"), 1);
	keep_unnamed(2, "a;app! 2\n");
	add_named(2, 2, "a;app!f 2\n");
	CHECK_EQ(keeper.nr_dropped, 0);
	CHECK_EQ(dup2(before, STDERR_FILENO), STDERR_FILENO);
	CHECK(close(before) == 0 && close(fd) == 0);
	keeper_close(&keeper);
	leave_folder();
}
