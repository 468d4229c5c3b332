/* collect/epochs: which time slice a sample belongs to, alone and in the drain. */
#include "unit/test.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "collect/epochs.h"
#include "unit/drain_fixture.h"

#define START  5000
#define DAY    1700000000000000000
#define SLICE  100
#define LATE   UINT64_MAX
#define ASLEEP (3600 * NS_PER_SEC) /* suspended before the start */

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

	slicing_start(&slicing, SLICE, START, DAY, ASLEEP);
	CHECK_EQ(slicing_end_ns(&slicing, 0), START + 100);
	CHECK_EQ(start_of(&slicing, 0, START, WALK_UNWOUND), 0);
	/* The epoch ends a little after its slice; samples until then are in the slice. */
	CHECK_EQ(start_of(&slicing, 0, START + 103, WALK_UNWOUND), 0);
	slicing_begin_epoch(&slicing, 1, START + 104, ASLEEP);
	CHECK_EQ(start_of(&slicing, 1, START + 104, WALK_UNWOUND), 100);
	CHECK_EQ(slicing_end_ns(&slicing, 1), START + 200);
	/* An epoch that ended early because it was full: the next one is in the same slice. */
	slicing_begin_epoch(&slicing, 2, START + 150, ASLEEP);
	CHECK_EQ(slicing_end_ns(&slicing, 2), START + 200);
	/* The host was too busy: slices are skipped. */
	slicing_begin_epoch(&slicing, 3, START + 570, ASLEEP);
	CHECK_EQ(start_of(&slicing, 3, START + 580, WALK_UNWOUND), 500);
	/* A late sample of an older epoch. */
	CHECK_EQ(start_of(&slicing, 2, START + 570, WALK_UNWOUND), 100);
	CHECK_EQ(slicing_day_ns(&slicing, START + 580), DAY + 580);
}

/* A raw record is one sample; it can wait for its table longer than epochs are remembered. */
TEST(slicing_raw_records_by_their_time)
{
	struct slicing slicing;

	slicing_start(&slicing, SLICE, START, DAY, ASLEEP);
	slicing_begin_epoch(&slicing, 9, START + 1000, ASLEEP);
	CHECK_EQ(start_of(&slicing, 0, START + 342, WALK_RAW), 300);
	CHECK_EQ(start_of(&slicing, 0, START - 1, WALK_RAW), 0);
}

/* The clock of the cells stood still meanwhile; the time of day did not. */
TEST(slicing_across_a_suspend)
{
	const uint64_t night = 8 * 3600 * NS_PER_SEC;
	struct slicing slicing;

	slicing_start(&slicing, SLICE, START, DAY, ASLEEP);
	slicing_begin_epoch(&slicing, 1, START + 110, ASLEEP + 500); /* imprecise */
	CHECK(!slicing_has_slept(&slicing, ASLEEP + 900));
	CHECK(slicing_has_slept(&slicing, ASLEEP + night + 100));
	slicing_begin_epoch(&slicing, 2, START + 150, ASLEEP + night + 100);
	CHECK(!slicing_has_slept(&slicing, ASLEEP + night));
	CHECK(!slicing_has_slept(&slicing, ASLEEP + night + 900));
	/* Before and after it in one cell, which ends as if there had been none. */
	CHECK_EQ(start_of(&slicing, 1, START + 120, WALK_UNWOUND), 100);
	CHECK_EQ(start_of(&slicing, 2, START + 160, WALK_UNWOUND), 100 + night + 100);
	CHECK_EQ(start_of(&slicing, 2, START + 160, WALK_RAW), 100 + night + 100);
	CHECK_EQ(slicing_end_ns(&slicing, 2), START + 200);
	slicing_begin_epoch(&slicing, 3, START + 200, ASLEEP + night + 700);
	CHECK_EQ(start_of(&slicing, 3, START + 210, WALK_UNWOUND), 200 + night + 100);
	CHECK_EQ(slicing_day_ns(&slicing, START + 230), DAY + 230 + night + 100);
}

TEST(slicing_is_not_asked_for)
{
	struct slicing slicing;

	slicing_start(&slicing, 0, START, DAY, ASLEEP);
	slicing_begin_epoch(&slicing, 1, START + 1000, ASLEEP);
	CHECK(slicing_end_ns(&slicing, 0) == UINT64_MAX &&
	      slicing_end_ns(&slicing, 1) == UINT64_MAX);
}

/* --- in the drain ----------------------------------------------------------------------------- */

static void open_sliced(struct fixture *fixture, struct slicing *slicing)
{
	struct drain_options options = {.cgroup_root_fd = -1, .slicing = slicing};

	slicing_start(slicing, SLICE, START, DAY, ASLEEP);
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
	CHECK_EQ(drain_add_count(fixture->drain, epoch, &(struct wire_count_key){.id = 7}, &count),
		 0);
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
	slicing_begin_epoch(&slicing, 1, START + 50, ASLEEP); /* in the same slice */
	give_epoch(&fixture, 1, START + 60, 1);
	slicing_begin_epoch(&slicing, 2, START + 100, ASLEEP);
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
	slicing_begin_epoch(&slicing, 3, START + 120, ASLEEP);
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
	CHECK_EQ(drain_totals(fixture.drain)->unsliced, 1);
	fixture_close(&fixture);
}

/* --- maps ------------------------------------------------------------------------------------- */

static int add_up(void *context, const void *key, const void *value)
{
	(void)key;
	*(uint64_t *)context += *(const uint64_t *)value;
	return 0;
}

/* As under a limit of descriptors or memory. The epoch's counts must neither be lost nor counted twice. */
TEST(epochs_go_on_without_a_new_map)
{
	LIBBPF_OPTS(bpf_map_create_opts, outer);
	const int inner_fd = bpf_map_create(BPF_MAP_TYPE_HASH, "inner", 8, 8, 1000, NULL);
	struct rlimit limit, none = {0};
	struct epochs epochs;
	uint32_t number = 0;
	struct epochs_options options = {.epoch = &number,
					 .counters_bytes = 8,
					 .nr_cpus = libbpf_num_possible_cpus(),
					 .map_name = "counts",
					 .what = "count map",
					 .key_bytes = 8,
					 .value_bytes = 8,
					 .max_entries = 1000};
	struct error error = {0};
	uint64_t key;

	if (inner_fd < 0)
		SKIP("needs the right to create BPF maps");
	outer.inner_map_fd = (uint32_t)inner_fd;
	options.maps_fd =
		bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "outer", 4, 4, WIRE_EPOCH_SLOTS, &outer);
	options.counters_fd =
		bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "counters", 4, 8, WIRE_EPOCH_SLOTS, NULL);
	CHECK(options.maps_fd >= 0 && options.counters_fd >= 0);
	CHECK_EQ(epochs_open(&epochs, &options, &error), 0);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none.rlim_max = limit.rlim_max;
	for (number = 0; number < 10;) {
		const int fd = epochs.fds[number % WIRE_EPOCH_SLOTS];
		uint64_t ended_ns, sum = 0, one = 1;

		for (key = 0; key < 100 + 50 * number; key++)
			CHECK_EQ(bpf_map_update_elem(fd, &key, &one, BPF_ANY), 0);
		if (number % 5 > 1)
			CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
		CHECK_EQ(epochs_turn(&epochs, &ended_ns, &error), 0);
		CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
		CHECK_EQ(epochs_read_map(&epochs, add_up, &sum), 0);
		CHECK_EQ(sum, key);
	}
	epochs_close(&epochs);
	(void)close(options.counters_fd);
	(void)close(options.maps_fd);
	(void)close(inner_fd);
}
