/* collect/epochs: which time slice a sample belongs to, alone and in the drain. */
#include "unit/test.h"

#include <errno.h>

#include "base/clock.h"
#include "collect/epochs.h"
#include "unit/drain_fixture.h"

#define START 5000
#define DAY   1700000000000000000
#define SLICE 100
#define LATE  UINT64_MAX

static uint64_t start_of(const struct slicing *slicing, uint32_t epoch, uint64_t time_ns,
			 uint8_t user_end)
{
	const struct wire_record record = {
		.epoch = epoch, .time_ns = time_ns, .user_end = user_end};
	struct time_slice slice = slicing_slice(slicing, &record);

	CHECK_EQ(slice.end_ns - slice.start_ns, SLICE);
	return slice.start_ns - DAY;
}

TEST(slicing_by_epochs)
{
	struct slicing slicing;

	slicing_start(&slicing, SLICE, START, DAY);
	CHECK_EQ(slicing_end_ns(&slicing, 0), START + 100);
	CHECK_EQ(start_of(&slicing, 0, START, WALK_UNWOUND), 0);
	/* The epoch ends a little after its slice; samples until then are in the slice. */
	CHECK_EQ(start_of(&slicing, 0, START + 103, WALK_UNWOUND), 0);
	slicing_begin_epoch(&slicing, 1, START + 104);
	CHECK_EQ(start_of(&slicing, 1, START + 104, WALK_UNWOUND), 100);
	CHECK_EQ(slicing_end_ns(&slicing, 1), START + 200);
	/* An epoch that ended early because it was full: the next one is in the same slice. */
	slicing_begin_epoch(&slicing, 2, START + 150);
	CHECK_EQ(slicing_end_ns(&slicing, 2), START + 200);
	/* The host was too busy: slices are skipped. */
	slicing_begin_epoch(&slicing, 3, START + 570);
	CHECK_EQ(start_of(&slicing, 3, START + 580, WALK_UNWOUND), 500);
	/* A late sample of an older epoch. */
	CHECK_EQ(start_of(&slicing, 2, START + 570, WALK_UNWOUND), 100);
	CHECK_EQ(slicing_day_ns(&slicing, START + 580), DAY + 580);
}

/* A raw record is one sample; it can wait for its table longer than epochs are remembered. */
TEST(slicing_raw_records_by_their_time)
{
	struct slicing slicing;

	slicing_start(&slicing, SLICE, START, DAY);
	slicing_begin_epoch(&slicing, 9, START + 1000);
	CHECK_EQ(start_of(&slicing, 0, START + 342, WALK_RAW), 300);
	CHECK_EQ(start_of(&slicing, 0, START - 1, WALK_RAW), 0);
}

TEST(slicing_is_not_asked_for)
{
	struct slicing slicing;

	slicing_start(&slicing, 0, START, DAY);
	slicing_begin_epoch(&slicing, 1, START + 1000);
	CHECK(slicing_end_ns(&slicing, 0) == UINT64_MAX &&
	      slicing_end_ns(&slicing, 1) == UINT64_MAX);
}

/* --- in the drain ----------------------------------------------------------------------------- */

static void open_sliced(struct fixture *fixture, struct slicing *slicing)
{
	struct drain_options options = {.cgroup_root_fd = -1, .slicing = slicing};

	slicing_start(slicing, SLICE, START, DAY);
	*fixture = (struct fixture){.files = file_table_new(16), .profile = profile_new()};
	fixture->processes = process_table_new(fixture->files);
	options.files = fixture->files;
	options.processes = fixture->processes;
	options.profile = fixture->profile;
	fixture->drain = drain_new(&options);
	CHECK(fixture->drain != NULL);
}

/* A stack seen in this epoch: one record, and a count of `more`. */
static void give_epoch(struct fixture *fixture, uint32_t epoch, uint64_t time_ns, uint64_t more)
{
	const struct wire_count count = {.count = more};
	struct made_record made = made_record(time_ns, PID_A, 7, 0x1010, 0, 0);

	made.record.epoch = epoch;
	CHECK_EQ(give_record(fixture, &made), 0);
	CHECK_EQ(drain_add_count(fixture->drain, epoch, 7, &count), 0);
	CHECK_EQ(close_epoch_here(fixture, epoch, LATE), 0);
}

TEST(slicing_counts_belong_to_their_epoch)
{
	struct fixture fixture;
	struct slicing slicing;
	const struct profile *profile;
	uint32_t i;

	open_sliced(&fixture, &slicing);
	profile = fixture.profile;
	give_epoch(&fixture, 0, START + 10, 5);
	slicing_begin_epoch(&slicing, 1, START + 50); /* in the same slice */
	give_epoch(&fixture, 1, START + 60, 1);
	slicing_begin_epoch(&slicing, 2, START + 100);
	give_epoch(&fixture, 2, START + 110, 30);
	CHECK_EQ(profile_nr_samples(profile), 2);
	CHECK_EQ(profile_total(profile), 6 + 2 + 31);
	for (i = 0; i < 2; i++) {
		const struct sample *sample = profile_sample(profile, i);

		CHECK_EQ(sample->count, i ? 31 : 8);
		CHECK_EQ(profile_slice(profile, sample->labels.slice).start_ns, DAY + 100 * i);
	}
	/* Each interval has its own slices. */
	profile_reset_samples(fixture.profile);
	slicing_begin_epoch(&slicing, 3, START + 120);
	give_epoch(&fixture, 3, START + 130, 1);
	CHECK_EQ(profile_nr_slices(profile), 1);
	CHECK_EQ(profile_slice(profile, 1).start_ns, DAY + 100);
	fixture_close(&fixture);
}

/* More slices than a profile can have: the samples count, without a slice. */
TEST(slicing_of_a_long_run)
{
	struct fixture fixture;
	struct slicing slicing;
	uint64_t start_ns;

	open_sliced(&fixture, &slicing);
	for (start_ns = 0; start_ns < PROFILE_MAX_SLICES; start_ns++) {
		const struct time_slice slice = {start_ns, start_ns + 1};

		CHECK(profile_add_slice(fixture.profile, &slice) > 0);
	}
	give_epoch(&fixture, 0, START + 10, 5);
	CHECK_EQ(profile_total(fixture.profile), 6);
	CHECK_EQ(profile_sample(fixture.profile, 0)->labels.slice, 0);
	fixture_close(&fixture);
}
