/*
 * collect/drain: raw records are unwound with their files' unwind tables, which may have to be
 * built first. The file is real, so that it can be opened by its name.
 */
#include "collect/drain.h"
#include "collect/unwind/stack_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "unit/drain_fixture.h"
#include "unit/test.h"
#include "unit/unwinder_fixture.h"

#define CODE 0x10000000UL /* address of the file's first byte */
#define LATE UINT64_MAX	  /* a time after everything */

struct raw_fixture {
	struct fixture fixture;
	struct world world; /* shares the files; has the unwinder */
	char path[32];
	struct file_id id;
};

/* Makes a named copy with three pages of rules: the CFA is at sp + 16, + 24, + 16. */
static void make_file(struct raw_fixture *raw)
{
	int from = code_file_of_pages(1, 3), to;
	char bytes[4096];
	struct stat status;
	ssize_t nr;

	strcpy(raw->path, "/tmp/stook-test-XXXXXX");
	to = mkstemp(raw->path);
	CHECK(to >= 0);
	while ((nr = read(from, bytes, sizeof(bytes))) > 0)
		CHECK_EQ(write(to, bytes, (size_t)nr), nr);
	CHECK_EQ(fstat(to, &status), 0);
	raw->id = (struct file_id){major(status.st_dev), minor(status.st_dev), status.st_ino, 0};
	(void)close(from);
	(void)close(to);
}

static void make_drain(struct raw_fixture *raw, const struct name_filter *names)
{
	struct drain_options options = {.names = names, .cgroup_root_fd = -1};

	world_open(&raw->world, 16UL << 20);
	options.files = raw->world.files;
	options.unwinder = raw->world.unwinder;
	options.processes = process_table_new(options.files);
	options.profile = profile_new();
	CHECK(options.processes && options.profile);
	raw->fixture = (struct fixture){options.files, options.processes, options.profile,
					drain_new(&options)};
	CHECK(raw->fixture.drain != NULL);
}

static int give_map(struct raw_fixture *raw, uint64_t time_ns, int32_t pid, uint64_t start)
{
	struct made_event made = made_map(time_ns, pid, start, start + 0x100000, 0, raw->path);

	made.event.file_id = raw->id;
	return give_event(&raw->fixture, made);
}

static void raw_close(struct raw_fixture *raw)
{
	drain_free(raw->fixture.drain);
	profile_free(raw->fixture.profile);
	process_table_free(raw->fixture.processes);
	world_close(&raw->world);
	(void)unlink(raw->path);
}

/* Process A executes the file at 10. */
static void raw_open(struct raw_fixture *raw, const struct name_filter *names)
{
	make_file(raw);
	make_drain(raw, names);
	CHECK_EQ(give_event(&raw->fixture, made_exec(10, PID_A)), 0);
	CHECK_EQ(give_map(raw, 11, PID_A, CODE), 0);
	CHECK_EQ(look_here(raw->world.files, raw->fixture.processes), 0);
	if (file_table_get(raw->world.files, 0)->state == FILE_OPEN)
		return;
	raw_close(raw);
	SKIP("needs openat2(), which valgrind does not know");
}

/* Adds two user frames, in the first and in the second page, and one kernel frame. */
static int give_raw_of_program(struct raw_fixture *raw, uint64_t time_ns, int32_t pid,
			       uint64_t exec_id, size_t nr_stack)
{
	static struct raw_record made;

	make_raw(&made, (uint32_t)pid, CODE + 0x10010);
	made.record.start_time_ns = 5;
	made.record.exec_id = exec_id;
	made.record.time_ns = time_ns;
	made.record.id = time_ns;
	memcpy(made.record.comm, "app", 3);
	made.words[UNWIND_REG_SP] = 0x7ffd00000000;
	made.words[WIRE_RAW_STACK + 1] = CODE + 0x20011;
	made.words[WIRE_RAW_STACK + 4] = 0;
	made.words[WIRE_RAW_STACK + nr_stack] = 0xffffffff81000010;
	made.record.nr_user = (uint16_t)(WIRE_RAW_STACK + nr_stack);
	made.record.nr_kernel = 1;
	return drain_add_record(raw->fixture.drain, &made.record,
				sizeof(made.record) + 8 * ((size_t)made.record.nr_user + 1));
}

static int give_raw(struct raw_fixture *raw, uint64_t time_ns, int32_t pid, size_t nr_stack)
{
	return give_raw_of_program(raw, time_ns, pid, 1, nr_stack);
}

/* Checks the whole stack as text; the name of the file differs in each run. */
static void check_whole(const struct raw_fixture *raw, unsigned count)
{
	const char *name = strrchr(raw->path, '/') + 1;
	char text[256];

	(void)snprintf(text, sizeof(text), "[kernel]+ffffffff81000010 %s+10010 %s+20010 %u;", name,
		       name, count);
	check_profile(raw->fixture.profile, text);
}

static uint8_t end_of_sample(const struct raw_fixture *raw)
{
	return profile_sample(raw->fixture.profile, 0)->labels.user_end;
}

TEST(drain_raw_records_wait_for_their_table)
{
	struct raw_fixture raw;
	struct drain *drain;
	uint32_t sequence;

	raw_open(&raw, NULL);
	drain = raw.fixture.drain;
	CHECK_EQ(give_raw(&raw, 20, PID_A, 8), 0);
	CHECK_EQ(drain_replay(drain, 20), 0);
	CHECK(find_process(&raw.world, PID_A) != NULL); /* published to the kernel side */
	sequence = find_process(&raw.world, PID_A)->sequence;
	CHECK_EQ(give_raw(&raw, 21, PID_A, 8), 0);
	CHECK_EQ(drain_close_epoch(drain, 0, 30), 0);
	CHECK_EQ(find_process(&raw.world, PID_A)->sequence, sequence); /* published once */
	check_profile(raw.fixture.profile, "");
	CHECK_EQ(drain_nr_deferred(drain), 2);
	CHECK_EQ(drain_totals(drain)->records, 0);
	CHECK_EQ(drain_retry(drain, false), 0);
	CHECK_EQ(drain_nr_deferred(drain), 2);
	wait_for_tables(&raw.world);
	CHECK_EQ(drain_retry(drain, false), 0);
	check_whole(&raw, 2);
	CHECK_EQ(end_of_sample(&raw), WALK_COMPLETE);
	CHECK_EQ(drain_nr_deferred(drain), 0);
	CHECK_EQ(drain_totals(drain)->records, 2);
	CHECK_EQ(drain_totals(drain)->first_ns, 20);
	CHECK_EQ(give_raw(&raw, 31, PID_A, 8), 0); /* the table is ready: no wait */
	CHECK_EQ(drain_replay(drain, 31), 0);
	check_whole(&raw, 3);
	raw_close(&raw);
}

TEST(drain_raw_records_are_taken_as_they_are_at_last)
{
	struct raw_fixture raw;
	char text[256];

	raw_open(&raw, NULL);
	CHECK_EQ(give_raw(&raw, 20, PID_A, 8), 0);
	CHECK_EQ(replay_here(&raw.fixture, LATE), 0);
	CHECK_EQ(drain_retry(raw.fixture.drain, true), 0);
	(void)snprintf(text, sizeof(text), "[kernel]+ffffffff81000010 %s+10010 1;",
		       strrchr(raw.path, '/') + 1);
	check_profile(raw.fixture.profile, text);
	CHECK_EQ(end_of_sample(&raw), WALK_NO_TABLE);
	CHECK_EQ(drain_totals(raw.fixture.drain)->records, 1);
	raw_close(&raw);
}

/* An exec arrives before the table is ready. */
TEST(drain_raw_records_keep_the_mappings_of_their_time)
{
	struct raw_fixture raw;

	raw_open(&raw, NULL);
	CHECK_EQ(give_raw(&raw, 20, PID_A, 8), 0);
	CHECK_EQ(replay_here(&raw.fixture, 20), 0);
	CHECK_EQ(give_event(&raw.fixture, made_exec(30, PID_A)), 0);
	CHECK(!find_process(&raw.world, PID_A));
	CHECK_EQ(give_map(&raw, 31, PID_A, 2 * CODE), 0);
	CHECK_EQ(replay_here(&raw.fixture, 40), 0);
	wait_for_tables(&raw.world);
	CHECK_EQ(drain_retry(raw.fixture.drain, false), 0);
	check_whole(&raw, 1);
	raw_close(&raw);
}

/*
 * A sample had a program published that has since executed another one, whose mappings were replayed without a sample
 * of it. They are the new program's: the kernel must not use them for the old one, and the next sample needs them.
 */
TEST(drain_publishes_no_mappings_of_the_next_program)
{
	struct raw_fixture raw;

	raw_open(&raw, NULL);
	CHECK_EQ(give_event(&raw.fixture, made_exec(21, PID_A)), 0);
	CHECK_EQ(give_map(&raw, 22, PID_A, CODE), 0);
	CHECK_EQ(give_raw_of_program(&raw, 20, PID_A, 1, 8), 0);
	CHECK_EQ(replay_here(&raw.fixture, 22), 0);
	CHECK(!find_process(&raw.world, PID_A));
	CHECK_EQ(give_raw_of_program(&raw, 23, PID_A, 2, 8), 0);
	CHECK_EQ(replay_here(&raw.fixture, 23), 0);
	CHECK_EQ(find_process(&raw.world, PID_A)->exec_id, 2);
	wait_for_tables(&raw.world);
	CHECK_EQ(drain_retry(raw.fixture.drain, false), 0);
	check_whole(&raw, 2);
	raw_close(&raw);
}

TEST(drain_publishes_what_is_mapped_later)
{
	struct raw_fixture raw;

	raw_open(&raw, NULL);
	CHECK_EQ(give_raw(&raw, 20, PID_A, 8), 0);
	CHECK_EQ(replay_here(&raw.fixture, 20), 0);
	CHECK_EQ(find_process(&raw.world, PID_A)->nr_mappings, 1);
	CHECK_EQ(give_map(&raw, 30, PID_A, 2 * CODE), 0);
	CHECK_EQ(give_map(&raw, 31, PID_A, 3 * CODE), 0);
	CHECK_EQ(replay_here(&raw.fixture, 30), 0);
	CHECK_EQ(find_process(&raw.world, PID_A)->nr_mappings, 2);
	CHECK_EQ(replay_here(&raw.fixture, 31), 0);
	CHECK_EQ(find_process(&raw.world, PID_A)->nr_mappings, 3);
	raw_close(&raw);
}

/*
 * The process exited before its record is replayed. It must not be published, since nothing would
 * remove it later.
 */
TEST(drain_does_not_leave_the_dead_published)
{
	struct raw_fixture raw;

	raw_open(&raw, NULL);
	CHECK_EQ(give_raw(&raw, 20, PID_A, 8), 0);
	CHECK_EQ(give_event(&raw.fixture, made_exit(21, PID_A)), 0);
	CHECK_EQ(replay_here(&raw.fixture, LATE), 0);
	CHECK(!find_process(&raw.world, PID_A));
	CHECK_EQ(drain_nr_deferred(raw.fixture.drain), 1); /* the sample is not lost */
	raw_close(&raw);
}

/*
 * Past the limit on deferred records, further ones are unwound at once, without waiting for the
 * table: none is lost.
 */
TEST(drain_raw_records_past_the_limit)
{
	struct raw_fixture raw;
	const size_t fit = DEFERRED_MAX_BYTES / (WIRE_MAX_RAW_WORDS * sizeof(uint64_t));
	const size_t total = fit + 100;
	size_t i, nr;

	raw_open(&raw, NULL);
	for (i = 0; i < total; i++) {
		CHECK_EQ(give_raw(&raw, 20 + i, PID_A, WIRE_RAW_STACK_BYTES / 8 - 1), 0);
		CHECK_EQ(replay_here(&raw.fixture, 20 + i), 0);
	}
	nr = drain_nr_deferred(raw.fixture.drain);
	CHECK(nr > fit - 50 && nr <= fit);
	CHECK_EQ(drain_totals(raw.fixture.drain)->records, total - nr);
	wait_for_tables(&raw.world);
	CHECK_EQ(drain_retry(raw.fixture.drain, false), 0);
	CHECK_EQ(drain_totals(raw.fixture.drain)->records, total);
	CHECK_EQ(profile_total(raw.fixture.profile), total);
	raw_close(&raw);
}

TEST(drain_raw_records_of_hidden_threads_and_without_tables)
{
	struct raw_fixture raw;
	struct fixture none;
	struct matcher_error fault;
	struct name_filter names = {0};

	names.only = matcher_new("^b", strlen("^b"), MATCHER_SEARCH, &fault);
	CHECK(names.only);
	raw_open(&raw, &names);
	CHECK_EQ(give_raw(&raw, 20, PID_A, 8), 0);
	CHECK_EQ(replay_here(&raw.fixture, LATE), 0);
	CHECK_EQ(drain_retry(raw.fixture.drain, true), 0);
	check_profile(raw.fixture.profile, "");
	CHECK_EQ(drain_totals(raw.fixture.drain)->hidden, 1);
	CHECK_EQ(drain_totals(raw.fixture.drain)->records, 1);
	none = raw.fixture;
	fixture_open(&raw.fixture, 0, NULL); /* without an unwinder */
	CHECK_EQ(give_raw(&raw, 20, PID_A, 8), 0);
	CHECK_EQ(replay_here(&raw.fixture, LATE), 0);
	check_profile(raw.fixture.profile, "[kernel]+ffffffff81000010 1;");
	CHECK_EQ(end_of_sample(&raw), WALK_NO_TABLE);
	fixture_close(&raw.fixture);
	raw.fixture = none;
	raw_close(&raw);
	name_filter_clear(&names);
}

/* After any failure the rest is requested again, and each sample counts exactly once. */
TEST(drain_raw_records_count_once_after_a_failure)
{
	size_t nth, i;
	int err = -1;

	for (nth = 1; err; nth++) {
		struct raw_fixture raw;

		raw_open(&raw, NULL);
		for (i = 0; i < 40; i++)
			CHECK_EQ(give_raw(&raw, 20 + i, PID_A, 8), 0);
		(void)test_fail_allocation(nth);
		err = replay_here(&raw.fixture, LATE);
		wait_for_tables(&raw.world);
		if (!err)
			err = drain_retry(raw.fixture.drain, false);
		if (test_fail_allocation(0) >= nth)
			err = -ENOMEM; /* some allocation failed */
		CHECK_EQ(replay_here(&raw.fixture, LATE), 0);
		CHECK_EQ(drain_retry(raw.fixture.drain, true), 0);
		CHECK_EQ(drain_totals(raw.fixture.drain)->records, 40);
		CHECK_EQ(profile_total(raw.fixture.profile), 40);
		raw_close(&raw);
	}
	CHECK(nth > 10);
}
