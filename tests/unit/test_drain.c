/*
 * collect/drain: interleavings of records, events and counts, without a kernel. Random histories
 * are in test_drain_model.c.
 */
#include "unit/test.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "proc/mappings.h"
#include "unit/drain_fixture.h"

#define LATE UINT64_MAX /* a time after everything */

/* Process A executes /bin/app at 10, mapped at 0x1000, and maps libc at 0x8000. */
static void give_app(struct fixture *fixture)
{
	CHECK_EQ(give_event(fixture, made_exec(10, PID_A)), 0);
	CHECK_EQ(give_event(fixture, made_map(11, PID_A, 0x1000, 0x3000, 0x0, "/bin/app")), 0);
	CHECK_EQ(give_event(fixture, made_map(12, PID_A, 0x8000, 0x9000, 0x500, "/lib/libc")), 0);
}

/* --- one record ------------------------------------------------------------------------------ */

TEST(drain_resolves_a_record)
{
	struct fixture fixture;
	struct made_record made = made_record(20, PID_A, 1, 0x8010, 0x1021, 0x2fff);

	fixture_open(&fixture, 0, NULL);
	give_app(&fixture);
	CHECK_EQ(give_record(&fixture, &made), 0);
	check_profile(fixture.profile, ""); /* received, not replayed */
	CHECK_EQ(replay_here(&fixture, 19), 0);
	check_profile(fixture.profile, "");
	CHECK_EQ(replay_here(&fixture, 20), 0);
	/* Callers are looked up one byte before their return address. */
	check_profile(fixture.profile, "libc+510 app+20 app+1ffe 1;");
	CHECK_EQ(drain_totals(fixture.drain)->records, 1);
	CHECK_EQ(drain_totals(fixture.drain)->events, 3);
	CHECK_EQ(drain_totals(fixture.drain)->first_ns, 20);
	CHECK_EQ(replay_here(&fixture, LATE), 0); /* replayed once only */
	CHECK_EQ(profile_total(fixture.profile), 1);
	CHECK(file_table_get(fixture.files, 0)->sampled);
	fixture_close(&fixture);
}

TEST(drain_puts_kernel_frames_first)
{
	struct fixture fixture;
	struct made_record made = made_record(20, PID_A, 1, 0x8010, 0x1021, 0);

	fixture_open(&fixture, 0, NULL);
	give_app(&fixture);
	made.frames[2] = 0xffffffff81000010; /* after the two user frames */
	made.frames[3] = 0xffffffff81000020;
	made.record.nr_kernel = 2;
	made.record.kernel_end = WALK_TRUNCATED;
	CHECK_EQ(give_record(&fixture, &made), 0);
	CHECK_EQ(replay_here(&fixture, LATE), 0);
	check_profile(fixture.profile, "[kernel]+ffffffff81000010 [kernel]+ffffffff8100001f "
				       "libc+510 app+20 1;");
	CHECK_EQ(profile_sample(fixture.profile, 0)->labels.user_end, WALK_UNWOUND);
	CHECK_EQ(profile_sample(fixture.profile, 0)->labels.kernel_end, WALK_TRUNCATED);
	fixture_close(&fixture);
}

/*
 * A probe's frame is the leaf; probes without a frame and invalid probe numbers add none. Names are labels if
 * requested.
 */
TEST(drain_puts_probes_in_front)
{
	static const char *const names[] = {"malloc", "sched:sched_switch", "r:malloc", ""};
	struct drain_options options = {
		.cgroup_root_fd = -1, .nr_probes = 3, .labels = LABEL_PROBE};
	struct drain_probe probes[] = {{.frame = NO_PROBE_FRAME}, {0}, {0}};
	uint32_t number;
	struct code_line line = {0};
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	options.files = fixture.files;
	options.processes = fixture.processes;
	options.profile = fixture.profile;
	options.probes = probes;
	for (number = 0; number < 3; number++)
		probes[number].name = (uint32_t)profile_add_string(fixture.profile, names[number]);
	line.function = probes[1].name;
	probes[1].frame = (uint32_t)profile_add_named_frame(fixture.profile, FRAME_KERNEL,
							    MODULE_NR_KERNEL, &line, 1);
	line.function = probes[2].name;
	probes[2].frame = (uint32_t)profile_add_named_frame(fixture.profile, FRAME_USER,
							    MODULE_NR_UNKNOWN, &line, 1);
	drain_free(fixture.drain);
	fixture.drain = drain_new(&options);
	CHECK(fixture.drain != NULL);
	give_app(&fixture);
	for (number = 0; number < 4; number++) {
		struct made_record made = made_record(20 + number, PID_A, number, 0x1000, 0, 0);

		made.record.probe = number;
		CHECK_EQ(give_record(&fixture, &made), 0);
	}
	CHECK_EQ(replay_here(&fixture, LATE), 0);
	CHECK_EQ(profile_nr_samples(fixture.profile), 4);
	for (number = 0; number < 4; number++) {
		const struct sample *sample = profile_sample(fixture.profile, number);

		bool has_frame = number == 1 || number == 2;

		CHECK_EQ(sample->count, 1);
		CHECK_STR(profile_string(fixture.profile, sample->labels.probe), names[number]);
		CHECK_EQ(sample->nr_frames, has_frame ? 2 : 1);
		CHECK_EQ(sample->nr_kernel_frames, number == 1);
		if (has_frame)
			CHECK_EQ(profile_sample_frames(fixture.profile, sample)[0],
				 probes[number].frame);
	}
	drain_free(fixture.drain);
	profile_reset_samples(fixture.profile);
	options.labels = 0;
	fixture.drain = drain_new(&options);
	CHECK(fixture.drain != NULL);
	for (number = 0; number < 4; number++) {
		struct made_record made = made_record(30 + number, PID_A, number, 0x1000, 0, 0);

		made.record.probe = number;
		CHECK_EQ(give_record(&fixture, &made), 0);
	}
	CHECK_EQ(replay_here(&fixture, LATE), 0);
	CHECK_EQ(profile_nr_samples(fixture.profile), 3);
	CHECK_EQ(profile_sample(fixture.profile, 0)->count, 2);
	fixture_close(&fixture);
}

/* Samples of several events weigh their periods, each in the event's own value, in records and counts. */
TEST(drain_adds_events_to_their_values)
{
	struct drain_options options = {.labels = LABEL_PID, .by_weight = true, .nr_events = 2};
	struct fixture fixture;
	struct value_type type;
	uint32_t event;

	fixture_open(&fixture, 0, NULL);
	options.files = fixture.files;
	options.processes = fixture.processes;
	options.profile = fixture.profile;
	CHECK_EQ(profile_make_value_type(fixture.profile, "cs", "count", &type), 0);
	CHECK_EQ(profile_add_value_type(fixture.profile, &type), 1);
	drain_free(fixture.drain);
	fixture.drain = drain_new(&options);
	CHECK(fixture.drain != NULL);
	give_app(&fixture);
	for (event = 0; event < 2; event++) {
		struct made_record made = made_record(20 + event, PID_A, 1 + event, 0x1000, 0, 0);
		const struct wire_count more = {.count = 2, .weight = 30 + event};
		struct wire_count_key key = {0};

		made.record.probe = event;
		made.record.weight = 100 * (event + 1);
		CHECK_EQ(give_record(&fixture, &made), 0);
		key.id = made.record.id;
		CHECK_EQ(drain_add_count(fixture.drain, made.record.epoch, &key, &more), 0);
	}
	CHECK_EQ(drain_close_epoch(fixture.drain, 0, LATE), 0);
	CHECK_EQ(profile_nr_samples(fixture.profile), 1);
	CHECK_EQ(profile_value(fixture.profile, 0, 0), 130);
	CHECK_EQ(profile_value(fixture.profile, 0, 1), 231);
	CHECK_EQ(drain_totals(fixture.drain)->counted, 4);
	fixture_close(&fixture);
}

/* Of a ratio, records and counts have two amounts of the same sample. */
TEST(drain_adds_numerators)
{
	struct drain_options options = {
		.labels = LABEL_PID, .by_weight = true, .has_ratio = true, .nr_events = 1};
	struct made_record made = made_record(20, PID_A, 1, 0x1000, 0, 0);
	const struct wire_count more = {.count = 2, .weight = 30, .numerator = 7};
	const struct wire_count_key key = {.id = 1};
	struct fixture fixture;
	struct value_type type;

	fixture_open(&fixture, 0, NULL);
	options.files = fixture.files;
	options.processes = fixture.processes;
	options.profile = fixture.profile;
	CHECK_EQ(profile_make_value_type(fixture.profile, "instructions", "count", &type), 0);
	CHECK_EQ(profile_add_value_type(fixture.profile, &type), 1);
	drain_free(fixture.drain);
	fixture.drain = drain_new(&options);
	CHECK(fixture.drain != NULL);
	give_app(&fixture);
	made.record.weight = 100;
	made.record.numerator = 40;
	CHECK_EQ(give_record(&fixture, &made), 0);
	CHECK_EQ(drain_add_count(fixture.drain, made.record.epoch, &key, &more), 0);
	CHECK_EQ(drain_close_epoch(fixture.drain, 0, LATE), 0);
	CHECK_EQ(profile_nr_samples(fixture.profile), 1);
	CHECK_EQ(profile_value(fixture.profile, 0, 0), 130);
	CHECK_EQ(profile_value(fixture.profile, 0, 1), 47);
	fixture_close(&fixture);
}

/* All unknown addresses become one frame: there may be very many, and they carry no information. */
TEST(drain_folds_unknown_addresses)
{
	struct fixture fixture;
	struct made_record made = made_record(20, PID_A, 1, 0x3000, 0x8001, 0x8000);

	fixture_open(&fixture, 0, NULL);
	give_app(&fixture);
	CHECK_EQ(give_record(&fixture, &made), 0);
	CHECK_EQ(give_sample(&fixture, 20, PID_B, 2, 0x1000), 0); /* an unknown process */
	CHECK_EQ(replay_here(&fixture, LATE), 0);
	check_profile(fixture.profile, "[unknown]+0 1;[unknown]+0 libc+500 [unknown]+0 1;");
	fixture_close(&fixture);
}

TEST(drain_knows_vdso_and_nameless_code)
{
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	give_app(&fixture);
	CHECK_EQ(give_event(&fixture, made_map(13, PID_A, 0x7000, 0x8000, 0, "[vdso]")), 0);
	CHECK_EQ(give_event(&fixture, made_map(14, PID_A, 0xa000, 0xb000, 0, "//anon")), 0);
	/* A later mapping replaces the vdso's front; its rest keeps its offsets. */
	CHECK_EQ(give_event(&fixture, made_map(15, PID_A, 0x7000, 0x7100, 0, "/bin/cut")), 0);
	CHECK_EQ(give_sample(&fixture, 20, PID_A, 1, 0x7123), 0);
	CHECK_EQ(give_sample(&fixture, 20, PID_A, 2, 0xa123), 0);
	CHECK_EQ(replay_here(&fixture, LATE), 0);
	check_profile(fixture.profile, "[JIT]+a123 1;[vdso]+123 1;");
	fixture_close(&fixture);
}

TEST(drain_takes_the_labels_that_were_asked_for)
{
	static const char *const expected[] = {
		"",	 "7:0:0:",	"0:9:0:",      "7:9:0:",
		"name:", "name:7:0:0:", "name:0:9:0:", "name:7:9:0:",
	};
	unsigned labels;

	for (labels = 0; labels < 2 * LABEL_CPU; labels++) {
		struct made_record made = made_record(20, 7, 1, 0, 0, 0);
		struct fixture fixture;
		char text[64];

		fixture_open(&fixture, labels, NULL);
		memset(made.record.comm, 0, sizeof(made.record.comm));
		memcpy(made.record.comm, "name", 4);
		made.record.tid = 9;
		made.record.cpu = 0;
		CHECK_EQ(give_record(&fixture, &made), 0);
		CHECK_EQ(replay_here(&fixture, LATE), 0);
		(void)snprintf(text, sizeof(text), "%s 1;", expected[labels % LABEL_CPU]);
		check_profile(fixture.profile, text);
		fixture_close(&fixture);
	}
}

/* A thread name may fill all 16 bytes, without a NUL. */
TEST(drain_names_cpus_and_long_threads)
{
	struct made_record made = made_record(20, 7, 1, 0, 0, 0);
	struct fixture fixture;

	fixture_open(&fixture, LABEL_CPU | LABEL_COMM, NULL);
	memset(made.record.comm, 'x', sizeof(made.record.comm));
	made.record.cpu = 3;
	CHECK_EQ(give_record(&fixture, &made), 0);
	CHECK_EQ(replay_here(&fixture, LATE), 0);
	check_profile(fixture.profile, "xxxxxxxxxxxxxxxx:0:0:3: 1;");
	fixture_close(&fixture);
}

TEST(drain_without_the_cgroup_tree)
{
	struct fixture fixture;

	fixture_open(&fixture, LABEL_CGROUP, NULL);
	CHECK_EQ(give_sample(&fixture, 20, 7, 1, 0), 0);
	CHECK_EQ(give_sample(&fixture, 21, 7, 1, 0), 0);
	CHECK_EQ(replay_here(&fixture, LATE), 0);
	check_profile(fixture.profile, "[cgroup gone]: 2;");
	fixture_close(&fixture);
}

TEST(drain_refuses_unsound_records)
{
	struct made_record made = made_record(20, PID_A, 1, 1, 2, 3);
	size_t whole = sizeof(made.record) + 3 * sizeof(uint64_t), bytes;
	struct fixture fixture;
	uint64_t bad = 0;

	fixture_open(&fixture, 0, NULL);
	for (bytes = 0; bytes < whole + 64; bytes++) {
		char *copy = malloc(bytes + 1);

		CHECK(copy != NULL);
		memcpy(copy, &made, bytes);
		CHECK_EQ(drain_add_record(fixture.drain, (struct wire_record *)copy, bytes), 0);
		free(copy);
		bad += bytes != whole;
		CHECK_EQ(drain_totals(fixture.drain)->bad_records, bad);
	}
	made.record.nr_user = WIRE_MAX_USER_FRAMES + 1;
	made.record.nr_kernel = WIRE_MAX_KERNEL_FRAMES - 1;
	CHECK_EQ(drain_add_record(fixture.drain, &made.record, sizeof(made)), 0);
	made.record.nr_user = WIRE_MAX_USER_FRAMES - 1;
	made.record.nr_kernel = WIRE_MAX_KERNEL_FRAMES + 1;
	CHECK_EQ(drain_add_record(fixture.drain, &made.record, sizeof(made)), 0);
	CHECK_EQ(drain_totals(fixture.drain)->bad_records, bad + 2);
	made.record.nr_user = WIRE_MAX_USER_FRAMES;
	made.record.nr_kernel = WIRE_MAX_KERNEL_FRAMES;
	CHECK_EQ(drain_add_record(fixture.drain, &made.record, sizeof(made)), 0);
	CHECK_EQ(replay_here(&fixture, LATE), 0);
	CHECK_EQ(profile_total(fixture.profile), 2);
	fixture_close(&fixture);
}

/* --- processes over time --------------------------------------------------------------------- */

/* Three events and two records give the same profile in every order of arrival. */
TEST(drain_order_of_arrival_does_not_matter)
{
	int order[5];

	for (order[0] = 0; order[0] < 5 * 5 * 5 * 5 * 5; order[0]++) {
		unsigned taken = 0, code = (unsigned)order[0], i;
		struct fixture fixture;
		unsigned items[5];

		for (i = 0; i < 5; i++, code /= 5)
			taken |= 1U << (items[i] = code % 5);
		if (taken != 31)
			continue; /* not a permutation */
		fixture_open(&fixture, 0, NULL);
		for (i = 0; i < 5; i++) {
			struct made_event events[] = {
				made_exec(10, PID_A),
				made_map(11, PID_A, 0x1000, 0x2000, 0, "/bin/app"),
				made_map(15, PID_A, 0x1800, 0x2000, 0, "/lib/libc"),
			};

			if (items[i] < 3)
				CHECK_EQ(give_event(&fixture, events[items[i]]), 0);
			else
				CHECK_EQ(give_sample(&fixture, 10 + items[i], PID_A, items[i],
						     0x1900),
					 0);
		}
		CHECK_EQ(give_sample(&fixture, 15, PID_A, 9, 0x1900), 0); /* must not overtake */
		CHECK_EQ(replay_here(&fixture, LATE), 0);
		check_profile(fixture.profile, "app+900 2;libc+100 1;");
		fixture_close(&fixture);
	}
}

TEST(drain_fork_copies_and_parts)
{
	struct fixture fixture;

	fixture_open(&fixture, LABEL_PID, NULL);
	give_app(&fixture);
	CHECK_EQ(give_event(&fixture, made_fork(20, PID_A, PID_B)), 0);
	CHECK_EQ(give_event(&fixture, made_map(30, PID_B, 0x1000, 0x2000, 0, "/lib/child")), 0);
	CHECK_EQ(give_event(&fixture, made_map(30, PID_A, 0x5000, 0x6000, 0, "/lib/parent")), 0);
	CHECK_EQ(give_sample(&fixture, 25, PID_B, 1, 0x1004), 0);
	CHECK_EQ(give_sample(&fixture, 35, PID_B, 2, 0x1004), 0);
	CHECK_EQ(give_sample(&fixture, 35, PID_B, 3, 0x5004), 0);
	CHECK_EQ(give_sample(&fixture, 35, PID_A, 4, 0x1004), 0);
	CHECK_EQ(give_sample(&fixture, 35, PID_A, 5, 0x5004), 0);
	CHECK_EQ(replay_here(&fixture, LATE), 0);
	check_profile(fixture.profile,
		      "5000001:0:0:app+4 1;5000001:0:0:parent+4 1;5000002:0:0:[unknown]+0 1;"
		      "5000002:0:0:app+4 1;5000002:0:0:child+4 1;");
	fixture_close(&fixture);
}

TEST(drain_exec_between_two_samples)
{
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	give_app(&fixture);
	CHECK_EQ(give_event(&fixture, made_exec(30, PID_A)), 0);
	CHECK_EQ(give_event(&fixture, made_map(31, PID_A, 0x1000, 0x2000, 0x70, "/bin/next")), 0);
	CHECK_EQ(give_sample(&fixture, 32, PID_A, 3, 0x8001), 0); /* libc must not come back */
	CHECK_EQ(give_sample(&fixture, 31, PID_A, 2, 0x1001), 0);
	CHECK_EQ(give_sample(&fixture, 29, PID_A, 1, 0x1001), 0);
	CHECK_EQ(replay_here(&fixture, LATE), 0);
	check_profile(fixture.profile, "[unknown]+0 1;app+1 1;next+71 1;");
	fixture_close(&fixture);
}

TEST(drain_pid_used_again)
{
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	give_app(&fixture);
	CHECK_EQ(give_event(&fixture, made_fork(20, PID_A, PID_B)), 0);
	CHECK_EQ(give_event(&fixture, made_exec(21, PID_B)), 0);
	CHECK_EQ(give_event(&fixture, made_map(22, PID_B, 0x1000, 0x2000, 0, "/bin/first")), 0);
	CHECK_EQ(give_event(&fixture, made_exit(30, PID_B)), 0);
	CHECK_EQ(give_event(&fixture, made_fork(31, PID_A, PID_B)), 0);
	CHECK_EQ(give_sample(&fixture, 23, PID_B, 1, 0x1001), 0);
	CHECK_EQ(give_sample(&fixture, 30, PID_B, 2, 0x1002), 0);
	CHECK_EQ(give_sample(&fixture, 31, PID_B, 3, 0x1003), 0);
	CHECK_EQ(replay_here(&fixture, LATE), 0);
	check_profile(fixture.profile, "app+3 1;first+1 1;first+2 1;");
	fixture_close(&fixture);
}

/* The timestamps may be equal; the order of a process' life decides. */
TEST(drain_events_of_one_nanosecond)
{
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	give_app(&fixture);
	CHECK_EQ(give_event(&fixture, made_exit(20, PID_B)), 0);
	CHECK_EQ(give_event(&fixture, made_map(20, PID_B, 0x1000, 0x2000, 0, "/bin/b")), 0);
	CHECK_EQ(give_event(&fixture, made_exec(20, PID_B)), 0);
	CHECK_EQ(give_event(&fixture, made_fork(20, PID_A, PID_B)), 0);
	CHECK_EQ(give_sample(&fixture, 20, PID_B, 1, 0x1001), 0);
	CHECK_EQ(give_sample(&fixture, 20, PID_B, 2, 0x8001), 0);
	CHECK_EQ(replay_here(&fixture, LATE), 0);
	check_profile(fixture.profile, "[unknown]+0 1;b+1 1;");
	fixture_close(&fixture);
}

TEST(drain_whole_life_in_one_poll)
{
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	give_app(&fixture);
	/* The other CPU's ring is read first: the grandchild arrives before its parent. */
	CHECK_EQ(give_event(&fixture, made_fork(40, PID_B, PID_C)), 0);
	CHECK_EQ(give_event(&fixture, made_exit(50, PID_C)), 0);
	CHECK_EQ(give_sample(&fixture, 45, PID_C, 1, 0x1001), 0);
	CHECK_EQ(give_event(&fixture, made_fork(20, PID_A, PID_B)), 0);
	CHECK_EQ(give_event(&fixture, made_exec(21, PID_B)), 0);
	CHECK_EQ(give_event(&fixture, made_map(22, PID_B, 0x1000, 0x2000, 0, "/bin/b")), 0);
	CHECK_EQ(give_event(&fixture, made_exit(41, PID_B)), 0);
	CHECK_EQ(replay_here(&fixture, LATE), 0);
	check_profile(fixture.profile, "b+1 1;");
	fixture_close(&fixture);
}

/*
 * Processes outside our pid namespace all have pid 0. Mappings of one of them do not apply to
 * another.
 */
TEST(drain_does_not_mix_invisible_processes)
{
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	CHECK_EQ(give_event(&fixture, made_exec(10, 0)), 0);
	CHECK_EQ(give_event(&fixture, made_map(11, 0, 0x1000, 0x2000, 0, "/bin/one")), 0);
	CHECK_EQ(give_sample(&fixture, 20, 0, 1, 0x1001), 0); /* from another process */
	CHECK_EQ(replay_here(&fixture, LATE), 0);
	check_profile(fixture.profile, "[unknown]+0 1;");
	fixture_close(&fixture);
}

/* --- epochs and counts ----------------------------------------------------------------------- */

static int give_sample_of(struct fixture *fixture, uint32_t epoch, uint64_t time_ns, uint64_t id,
			  uint64_t leaf)
{
	struct made_record made = made_record(time_ns, PID_A, id, leaf, 0, 0);

	made.record.epoch = epoch;
	return give_record(fixture, &made);
}

/*
 * Samples of running threads beside time off CPU: both are nanoseconds in one profile, below a frame
 * with their state. Ids are told apart by their hashes.
 */
TEST(drain_adds_samples_to_time_off_cpu)
{
	struct drain_waits waits = {.states = ~0U, .sample_ns = 1000};
	struct drain_options options = {.cgroup_root_fd = -1, .waits = &waits};
	struct made_record made[] = {made_record(20, PID_A, 1, 0x1001, 0, 0),
				     made_record(21, PID_A, 2, 0x1002, 0, 0)};
	struct fixture fixture;
	unsigned hides;

	for (hides = 0; hides < 2; hides++) {
		fixture_open(&fixture, 0, NULL);
		options.files = fixture.files;
		options.processes = fixture.processes;
		options.profile = fixture.profile;
		if (hides)
			waits.states = 1U << WIRE_SLEEPING;
		drain_free(fixture.drain);
		fixture.drain = drain_new(&options);
		CHECK(fixture.drain != NULL);
		give_app(&fixture);
		made[0].record.probe = WIRE_RUNNING;
		made[1].record.probe = WIRE_SLEEPING;
		CHECK_EQ(give_record(&fixture, &made[0]), 0);
		CHECK_EQ(give_record(&fixture, &made[1]), 0);
		CHECK_EQ(drain_add_count(fixture.drain, 0, &(struct wire_count_key){.id = 1},
					 &(struct wire_count){.count = 3, .weight = 3000}),
			 0);
		CHECK_EQ(drain_add_count(
				 fixture.drain, 0, &(struct wire_count_key){.id = 2},
				 &(struct wire_count){.count = 1, .weight = 500, .queued_ns = 70}),
			 0);
		CHECK_EQ(close_epoch_here(&fixture, 0, 30), 0);
		CHECK_EQ(profile_total(fixture.profile), hides ? 500 : 4570);
		CHECK_EQ(profile_sample(fixture.profile, 0)->count, hides ? 0 : 4000);
		CHECK_EQ(profile_sample(fixture.profile, 1)->count, 500);
		CHECK_EQ(drain_totals(fixture.drain)->shown_ns, hides ? 500 : 4570);
		CHECK_EQ(drain_totals(fixture.drain)->hidden_ns, hides ? 4070 : 0);
		CHECK_EQ(drain_totals(fixture.drain)->counted_ns, 3570);
		fixture_close(&fixture);
	}
}

/* Writes the names of a sample's frames, leaf first, and its count; code without a name as its address. */
static void frames_text(const struct profile *profile, uint32_t number, char *text, size_t bytes)
{
	const struct sample *sample = profile_sample(profile, number);
	const uint32_t *frames = profile_sample_frames(profile, sample);
	size_t used = 0, i;

	for (i = 0; i < sample->nr_frames; i++) {
		const struct frame *frame = profile_frame(profile, frames[i]);

		used += (size_t)(frame->function
					 ? snprintf(text + used, bytes - used, "%s ",
						    profile_string(profile, frame->function))
					 : snprintf(text + used, bytes - used, "%" PRIx64 " ",
						    frame->address));
	}
	(void)snprintf(text + used, bytes - used, "%" PRIu64 "/%u;", sample->count,
		       sample->nr_kernel_frames);
}

static void check_wakers(const struct profile *profile, const char *expected)
{
	char text[4096] = "";
	uint32_t i;

	for (i = 0; i < profile_nr_samples(profile); i++)
		if (profile_sample(profile, i)->count)
			frames_text(profile, i, text + strlen(text), sizeof(text) - strlen(text));
	CHECK_STR(text, expected);
}

static void give_stack_of(struct fixture *fixture, uint32_t epoch, uint64_t id, uint32_t probe,
			  uint64_t user, uint64_t kernel)
{
	struct made_record made = made_record(20 + id, PID_A, id, user, user ? 0x1500 : 0, 0);

	made.record.epoch = epoch;
	made.record.probe = probe;
	made.frames[made.record.nr_user] = kernel;
	made.frames[made.record.nr_user + 1] = kernel + 0x100;
	made.record.nr_kernel = 2;
	CHECK_EQ(give_record(fixture, &made), 0);
}

static void give_stack(struct fixture *fixture, uint64_t id, uint32_t probe, uint64_t user,
		       uint64_t kernel)
{
	give_stack_of(fixture, 0, id, probe, user, kernel);
}

static void open_waits(struct fixture *fixture, const struct drain_waits *waits)
{
	struct drain_options options = {.cgroup_root_fd = -1, .waits = waits};

	fixture_open(fixture, 0, NULL);
	options.files = fixture->files;
	options.processes = fixture->processes;
	options.profile = fixture->profile;
	drain_free(fixture->drain);
	fixture->drain = drain_new(&options);
	CHECK(fixture->drain != NULL);
	give_app(fixture);
}

/*
 * A waker's stack is above that of the thread it wakes, reversed: leaf first, its name, its callers and its leaf. All
 * time stays in one stack; the time in the queue has no waker.
 */
TEST(drain_adds_the_stacks_of_wakers)
{
	static const struct drain_frame_set own[2] = {{.addresses = {0x9000}, .nr = 1},
						      {.addresses = {0x5000}, .nr = 1}};
	const struct drain_waits waits = {.states = ~0U, .has_wakers = true, .own = own};
	struct profile *next = profile_new();
	const struct wire_wait end = {
		.task = 7, .since_ns = 35, .id = 1, .waker = 2, .waited_ns = 70000, .epoch = 1};
	struct fixture fixture;

	CHECK(next != NULL);
	open_waits(&fixture, &waits);
	give_stack(&fixture, 1, WIRE_SLEEPING, 0x1001, 0x9000);
	give_stack(&fixture, 2, WIRE_WAKER, 0x1002, 0x5000);
	give_stack(&fixture, 3, WIRE_WAKER | WIRE_INTERRUPT, 0, 0x6000);
	give_stack(&fixture, 4, WIRE_RUNNABLE, 0x1004, 0x7000);
	CHECK_EQ(drain_add_count(fixture.drain, 0, &(struct wire_count_key){.id = 2},
				 &(struct wire_count){.count = 5}),
		 0);
	CHECK_EQ(drain_add_count(fixture.drain, 0, &(struct wire_count_key){1, 2},
				 &(struct wire_count){.weight = 100, .queued_ns = 10}),
		 0);
	CHECK_EQ(drain_add_count(fixture.drain, 0, &(struct wire_count_key){1, 3},
				 &(struct wire_count){.weight = 200}),
		 0);
	CHECK_EQ(drain_add_count(fixture.drain, 0, &(struct wire_count_key){1, 0},
				 &(struct wire_count){.weight = 400}),
		 0);
	CHECK_EQ(drain_add_count(fixture.drain, 0, &(struct wire_count_key){4, 0},
				 &(struct wire_count){.weight = 800}),
		 0);
	/* A thread that was woken and has not run yet, and one that was not woken. */
	CHECK_EQ(drain_add_waiting(fixture.drain, 7,
				   &(struct wire_waiting){
					   .since_ns = 35, .woken_ns = 36, .id = 1, .waker = 2}),
		 0);
	CHECK_EQ(drain_add_waiting(fixture.drain, 8,
				   &(struct wire_waiting){.since_ns = 38, .id = 1}),
		 0);
	CHECK_EQ(close_epoch_here(&fixture, 0, 40), 0);
	check_wakers(fixture.profile, "7000 70ff 4 4ff [runnable] 800/2;"
				      "app 4ff 2 50ff -- 90ff 1 4ff [sleeping] 101/6;"
				      "90ff 1 4ff [runnable] 14/1;"
				      "[irq] 60ff 6000 -- 90ff 1 4ff [sleeping] 200/5;"
				      "[unknown waker] -- 90ff 1 4ff [sleeping] 400/3;"
				      "[not woken yet] -- 90ff 1 4ff [sleeping] 2/3;");
	CHECK_EQ(drain_totals(fixture.drain)->counted, 5);
	/* The stacks of waits that go on are in the next profile, too, with their wakers. */
	CHECK_EQ(drain_change_profile(fixture.drain, next), 0);
	CHECK_EQ(drain_add_wait(fixture.drain, &end), 0);
	CHECK_EQ(close_epoch_here(&fixture, 1, 80000), 0);
	check_wakers(next, "app 4ff 2 50ff -- 90ff 1 4ff [sleeping] 69995/6;");
	profile_free(fixture.profile);
	fixture.profile = next;
	fixture_close(&fixture);
}

static void give_pair(struct fixture *fixture, uint32_t epoch, uint64_t id, uint64_t waker,
		      uint64_t ns)
{
	CHECK_EQ(drain_add_count(fixture->drain, epoch, &(struct wire_count_key){id, waker},
				 &(struct wire_count){.weight = ns}),
		 0);
}

/*
 * A waker's record comes later than the time that refers to it: in the next epoch, which had begun when the ring was
 * read; behind a record that another CPU was still writing; or it came in the epoch before.
 */
TEST(drain_waits_for_the_records_of_wakers)
{
	const struct drain_waits waits = {.states = ~0U, .has_wakers = true};
	const struct wire_wait end = {
		.task = 7, .since_ns = 35, .id = 1, .waker = 3, .waited_ns = 10, .epoch = 1};
	struct profile *next = profile_new();
	struct fixture fixture;

	CHECK(next != NULL);
	open_waits(&fixture, &waits);
	give_stack(&fixture, 1, WIRE_SLEEPING, 0x1001, 0x9000);
	give_stack(&fixture, 2, WIRE_WAKER, 0x1002, 0x5000);
	give_stack_of(&fixture, 1, 3, WIRE_WAKER, 0x1003, 0x6000);
	CHECK_EQ(drain_add_wait(fixture.drain, &end), 0);
	give_pair(&fixture, 0, 1, 4, 100);
	CHECK_EQ(close_epoch_here(&fixture, 0, 40), 0);
	check_wakers(fixture.profile, "");
	CHECK_EQ(drain_waiting(fixture.drain), 1);
	give_stack(&fixture, 4, WIRE_WAKER, 0x1004, 0x7000);
	give_stack_of(&fixture, 1, 1, WIRE_SLEEPING, 0x1001, 0x9000);
	give_pair(&fixture, 1, 1, 2, 1000);
	CHECK_EQ(close_epoch_here(&fixture, 1, 50), 0);
	check_wakers(fixture.profile, "app 4ff 4 70ff 7000 -- 9000 90ff 1 4ff [sleeping] 100/8;"
				      "app 4ff 2 50ff 5000 -- 9000 90ff 1 4ff [sleeping] 1000/8;"
				      "app 4ff 3 60ff 6000 -- 9000 90ff 1 4ff [sleeping] 10/8;");
	CHECK_EQ(drain_waiting(fixture.drain), 0);
	CHECK_EQ(drain_waits(fixture.drain)->unknown_ns, 0);
	/* Another profile has none of the stacks. */
	give_stack_of(&fixture, 2, 1, WIRE_SLEEPING, 0x1001, 0x9000);
	give_pair(&fixture, 2, 1, 5, 10000);
	CHECK_EQ(close_epoch_here(&fixture, 2, 60), 0);
	CHECK_EQ(drain_waiting(fixture.drain), 1);
	CHECK_EQ(profile_total(fixture.profile), 1110);
	CHECK_EQ(drain_change_profile(fixture.drain, next), 0);
	CHECK_EQ(drain_waiting(fixture.drain), 0);
	CHECK_EQ(profile_total(fixture.profile), 11110);
	profile_free(fixture.profile);
	fixture.profile = next;
	/* One that is not known in the epoch after stays unknown, and so does one at the end of the run. */
	give_stack_of(&fixture, 3, 1, WIRE_SLEEPING, 0x1001, 0x9000);
	give_pair(&fixture, 3, 1, 6, 1);
	CHECK_EQ(close_epoch_here(&fixture, 3, 70), 0);
	check_wakers(next, "");
	CHECK_EQ(close_epoch_here(&fixture, 4, 80), 0);
	check_wakers(next, "[unknown waker] -- 9000 90ff 1 4ff [sleeping] 1/4;");
	give_stack_of(&fixture, 5, 1, WIRE_SLEEPING, 0x1001, 0x9000);
	give_pair(&fixture, 5, 1, 6, 4);
	drain_expect_end(fixture.drain);
	CHECK_EQ(close_epoch_here(&fixture, 5, 90), 0);
	check_wakers(next, "[unknown waker] -- 9000 90ff 1 4ff [sleeping] 5/4;");
	CHECK_EQ(drain_totals(fixture.drain)->counted_ns, 11105);
	fixture_close(&fixture);
}

/* Beside the time of each stack is the number of waits, in the same states. A wait is one, however many epochs it takes. */
TEST(drain_counts_waits)
{
	const struct drain_waits waits = {.states = ~0U, .nr_value = 1};
	const struct wire_count count = {
		.weight = 100, .queued_ns = 10, .nr_waited = 7, .nr_queued = 5};
	const struct wire_wait end = {
		.task = 7, .since_ns = 35, .id = 1, .waited_ns = 20, .queued_ns = 3, .epoch = 1};
	struct value_type type;
	struct fixture fixture;
	uint32_t i;

	open_waits(&fixture, &waits);
	CHECK_EQ(profile_make_value_type(fixture.profile, "waits", "count", &type), 0);
	CHECK_EQ(profile_add_value_type(fixture.profile, &type), 1);
	give_stack(&fixture, 1, WIRE_SLEEPING, 0x1001, 0x9000);
	CHECK_EQ(drain_add_count(fixture.drain, 0, &(struct wire_count_key){.id = 1}, &count), 0);
	CHECK_EQ(drain_add_waiting(fixture.drain, 7,
				   &(struct wire_waiting){.since_ns = 35, .id = 1}),
		 0);
	CHECK_EQ(close_epoch_here(&fixture, 0, 40), 0);
	CHECK_EQ(profile_nr_samples(fixture.profile), 2);
	CHECK_EQ(profile_value(fixture.profile, 0, 1), 8);
	CHECK_EQ(profile_value(fixture.profile, 1, 1), 5);
	CHECK_EQ(drain_add_wait(fixture.drain, &end), 0);
	CHECK_EQ(close_epoch_here(&fixture, 1, 80), 0);
	check_wakers(fixture.profile,
		     "9000 90ff 1 4ff [sleeping] 120/2;9000 90ff 1 4ff [runnable] 13/2;");
	for (i = 0; i < 2; i++)
		CHECK_EQ(profile_value(fixture.profile, i, 1), i ? 6 : 8);
	fixture_close(&fixture);
}

TEST(drain_adds_counts_to_their_samples)
{
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	give_app(&fixture);
	CHECK_EQ(give_sample_of(&fixture, 0, 20, 1, 0x1001), 0);
	CHECK_EQ(give_sample_of(&fixture, 0, 21, 2, 0x1002), 0);
	CHECK_EQ(give_sample_of(&fixture, 0, 22, 2, 0x1002), 0); /* lost a race: counts, too */
	CHECK_EQ(replay_here(&fixture, 20), 0);
	CHECK_EQ(drain_add_count(fixture.drain, 0, &(struct wire_count_key){.id = 1},
				 &(struct wire_count){.count = 100}),
		 0);
	CHECK_EQ(drain_add_count(fixture.drain, 0, &(struct wire_count_key){.id = 2},
				 &(struct wire_count){.count = 0}),
		 0);
	CHECK_EQ(drain_add_count(fixture.drain, 0, &(struct wire_count_key){.id = 2},
				 &(struct wire_count){.count = 1000}),
		 0);
	CHECK_EQ(drain_waiting(fixture.drain), 2);
	CHECK_EQ(close_epoch_here(&fixture, 0, 30), 0);
	CHECK_EQ(drain_waiting(fixture.drain), 0);
	check_profile(fixture.profile, "app+1 101;app+2 1002;");
	CHECK_EQ(drain_totals(fixture.drain)->records, 3);
	CHECK_EQ(drain_totals(fixture.drain)->counted, 1100);
	fixture_close(&fixture);
}

/* The count map was complete, but the record is behind another program's reservation. */
TEST(drain_count_waits_for_its_record)
{
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	give_app(&fixture);
	CHECK_EQ(give_sample_of(&fixture, 0, 20, 1, 0x1001), 0);
	CHECK_EQ(drain_add_count(fixture.drain, 0, &(struct wire_count_key){.id = 1},
				 &(struct wire_count){.count = 10}),
		 0);
	CHECK_EQ(drain_add_count(fixture.drain, 0, &(struct wire_count_key){.id = 2},
				 &(struct wire_count){.count = 100}),
		 0);
	CHECK_EQ(close_epoch_here(&fixture, 0, 30), 0);
	CHECK_EQ(drain_waiting(fixture.drain), 1);
	check_profile(fixture.profile, "app+1 11;");
	profile_reset_samples(fixture.profile); /* an interval was printed */

	CHECK_EQ(give_sample_of(&fixture, 0, 21, 2, 0x1002), 0);
	CHECK_EQ(give_sample_of(&fixture, 1, 35, 3, 0x1003), 0);
	CHECK_EQ(give_sample_of(&fixture, 1, 36, 1, 0x1001), 0);
	CHECK_EQ(replay_here(&fixture, 40), 0);
	check_profile(fixture.profile, "app+1 1;app+2 1;app+3 1;");
	CHECK_EQ(drain_add_count(fixture.drain, 1, &(struct wire_count_key){.id = 1},
				 &(struct wire_count){.count = 1000}),
		 0);
	CHECK_EQ(close_epoch_here(&fixture, 1, 40), 0);
	CHECK_EQ(drain_waiting(fixture.drain), 0);
	check_profile(fixture.profile, "app+1 1001;app+2 101;app+3 1;");
	CHECK_EQ(drain_totals(fixture.drain)->records, 4);
	CHECK_EQ(drain_totals(fixture.drain)->counted, 1110);
	fixture_close(&fixture);
}

/* Records of several epochs are held back. */
TEST(drain_count_waits_long)
{
	struct fixture fixture;
	uint32_t epoch;

	for (epoch = 1; epoch < 8; epoch++) {
		uint32_t at;

		fixture_open(&fixture, 0, NULL);
		give_app(&fixture);
		CHECK_EQ(drain_add_count(fixture.drain, 0, &(struct wire_count_key){.id = 7},
					 &(struct wire_count){.count = 100}),
			 0);
		for (at = 0; at < 8; at++) {
			CHECK_EQ(give_sample_of(&fixture, at, 20 + at, 1, 0x1001), 0);
			CHECK_EQ(drain_add_count(fixture.drain, at,
						 &(struct wire_count_key){.id = 1},
						 &(struct wire_count){.count = 10}),
				 0);
			if (at == epoch)
				CHECK_EQ(give_sample_of(&fixture, 0, 20, 7, 0x1007), 0);
			CHECK_EQ(close_epoch_here(&fixture, at, 20 + at), 0);
			CHECK_EQ(drain_waiting(fixture.drain), at < epoch);
		}
		check_profile(fixture.profile, "app+1 88;app+7 101;");
		fixture_close(&fixture);
	}
}

/* A new epoch began while the old one is read: the new epoch's records must not be replayed yet. */
TEST(drain_keeps_records_of_the_next_epoch)
{
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	give_app(&fixture);
	CHECK_EQ(give_sample_of(&fixture, 1, 31, 1, 0x1001), 0);
	CHECK_EQ(give_sample_of(&fixture, 0, 29, 2, 0x1002), 0);
	CHECK_EQ(give_sample_of(&fixture, 1, 30, 3, 0x1003), 0);
	CHECK_EQ(give_event(&fixture, made_exec(33, PID_A)), 0);
	CHECK_EQ(drain_add_count(fixture.drain, 0, &(struct wire_count_key){.id = 2},
				 &(struct wire_count){.count = 5}),
		 0);
	CHECK_EQ(close_epoch_here(&fixture, 0, 30), 0);
	check_profile(fixture.profile, "app+2 6;");
	profile_reset_samples(fixture.profile);
	CHECK_EQ(replay_here(&fixture, 30), 0);
	check_profile(fixture.profile, "app+3 1;");
	CHECK_EQ(drain_add_count(fixture.drain, 1, &(struct wire_count_key){.id = 1},
				 &(struct wire_count){.count = 50}),
		 0);
	CHECK_EQ(drain_add_count(fixture.drain, 1, &(struct wire_count_key){.id = 3},
				 &(struct wire_count){.count = 500}),
		 0);
	CHECK_EQ(close_epoch_here(&fixture, 1, 40), 0);
	check_profile(fixture.profile, "app+1 51;app+3 501;");
	fixture_close(&fixture);
}

/* Thread CPU time for replaying 50 polls with 10 records each, which wait for the mappings of another process. */
static uint64_t hold_some(struct fixture *fixture, uint64_t *time_ns)
{
	const uint64_t began_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	unsigned poll, i;

	for (poll = 0; poll < 50; poll++) {
		for (i = 0; i < 10; i++, ++*time_ns)
			CHECK_EQ(give_sample(fixture, *time_ns, PID_A, 1, 0x1000), 0);
		CHECK_EQ(drain_ensure_processes(fixture->drain), 0);
		CHECK_EQ(drain_replay(fixture->drain, *time_ns), 0);
	}
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
}

/* A poll costs what is new, however much waits; and when the answer is there, the memory is given back. */
TEST(drain_holds_many_records_at_no_cost)
{
	uint64_t time_ns = 20, first_ns, last_ns, i;
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	give_app(&fixture);
	CHECK_EQ(look_here(fixture.files, fixture.processes), 0);
	CHECK_EQ(give_sample(&fixture, time_ns, PID_B, 2, 0x1000), 0); /* nobody looks */
	first_ns = hold_some(&fixture, &time_ns);
	for (i = 0; i < 100; i++)
		last_ns = hold_some(&fixture, &time_ns);
	CHECK_EQ(drain_totals(fixture.drain)->records, 0);
	CHECK(last_ns < 10 * first_ns);
	CHECK(drain_bytes(fixture.drain) > 4UL << 20);
	CHECK_EQ(replay_here(&fixture, time_ns), 0);
	CHECK_EQ(drain_totals(fixture.drain)->records, 1 + 101 * 500);
	CHECK_EQ(drain_totals(fixture.drain)->unawaited, 0);
	CHECK(drain_bytes(fixture.drain) <= 3UL << 20);
	fixture_close(&fixture);
}

/* Raw records of many processes come in for longer than there is room. max_bytes: of the options; 0: not set. */
static void fill_up(size_t max_bytes)
{
	const size_t limit = max_bytes ? max_bytes : DRAIN_HELD_MAX_BYTES;
	struct made_record made = made_record(20, PID_B, 2, 0x1000, 0, 0);
	uint64_t time_ns = 20, total = 0, most = 0;
	struct drain_options options = {.cgroup_root_fd = -1, .max_held_bytes = max_bytes};
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	options.files = fixture.files;
	options.processes = fixture.processes;
	options.profile = fixture.profile;
	drain_free(fixture.drain);
	fixture.drain = drain_new(&options);
	CHECK(fixture.drain != NULL);
	give_app(&fixture);
	CHECK_EQ(look_here(fixture.files, fixture.processes), 0);
	CHECK_EQ(give_record(&fixture, &made), 0); /* nobody looks */
	made = made_record(20, PID_A, 1, 0x1000, 0, 0);
	made.record.nr_user = WIRE_MAX_USER_FRAMES;
	while (total < 4 * limit) {
		unsigned i;

		for (i = 0; i < 1000; i++) {
			made.record.time_ns = ++time_ns;
			CHECK_EQ(give_record(&fixture, &made), 0);
			total += wire_record_bytes(&made.record);
		}
		CHECK_EQ(drain_replay(fixture.drain, time_ns), 0);
		if (drain_bytes(fixture.drain) > most)
			most = drain_bytes(fixture.drain);
	}
	/* An array that grows has up to twice the bytes that it needs. */
	CHECK(most > limit && most < 3 * limit);
	CHECK_EQ(drain_totals(fixture.drain)->unawaited, 1);
	CHECK(drain_totals(fixture.drain)->records > 1000);
	fixture_close(&fixture);
}

TEST(drain_holds_records_up_to_its_limit)
{
	fill_up(0);
	fill_up(DRAIN_HELD_MAX_BYTES / 4);
}

/* The same stacks in each epoch, samples reset in between: no counts carry over. */
TEST(drain_intervals_stand_alone)
{
	struct fixture fixture;
	uint32_t epoch;

	fixture_open(&fixture, 0, NULL);
	give_app(&fixture);
	for (epoch = UINT32_MAX - 5; epoch != 5; epoch++) { /* epoch numbers wrap */
		uint64_t time_ns = 100 + 10 * (uint64_t)(epoch + 6);
		uint64_t first = epoch % 3, i;

		for (i = first; i < 5; i++)
			CHECK_EQ(give_sample_of(&fixture, epoch, time_ns + i, i, 0x1000 + i), 0);
		for (i = first; i < 5; i++)
			CHECK_EQ(drain_add_count(fixture.drain, epoch,
						 &(struct wire_count_key){.id = i},
						 &(struct wire_count){.count = i}),
				 0);
		CHECK_EQ(close_epoch_here(&fixture, epoch, time_ns + 9), 0);
		check_profile(fixture.profile, first == 0
						       ? "app+0 1;app+1 2;app+2 3;app+3 4;app+4 5;"
					       : first == 1 ? "app+1 2;app+2 3;app+3 4;app+4 5;"
							    : "app+2 3;app+3 4;app+4 5;");
		profile_reset_samples(fixture.profile);
	}
	fixture_close(&fixture);
}

TEST(drain_hides_other_threads)
{
	struct made_record made = made_record(22, PID_A, 3, 0x1003, 0, 0);
	struct fixture fixture;
	struct matcher_error fault;
	struct name_filter names = {0};

	names.only = matcher_new("^app$", strlen("^app$"), MATCHER_SEARCH, &fault);
	CHECK(names.only);
	fixture_open(&fixture, LABEL_COMM, &names);
	give_app(&fixture);
	CHECK_EQ(give_sample_of(&fixture, 0, 20, 1, 0x1001), 0);
	memcpy(made.record.comm, "apple", 5);
	CHECK_EQ(give_record(&fixture, &made), 0);
	CHECK_EQ(drain_add_count(fixture.drain, 0, &(struct wire_count_key){.id = 1},
				 &(struct wire_count){.count = 10}),
		 0);
	CHECK_EQ(drain_add_count(fixture.drain, 0, &(struct wire_count_key){.id = 3},
				 &(struct wire_count){.count = 100}),
		 0);
	CHECK_EQ(close_epoch_here(&fixture, 0, 30), 0);
	check_profile(fixture.profile, "app:app+1 11;");
	CHECK_EQ(drain_waiting(fixture.drain), 0);
	CHECK_EQ(drain_totals(fixture.drain)->hidden, 101);
	CHECK_EQ(drain_totals(fixture.drain)->records, 2);
	CHECK_EQ(drain_totals(fixture.drain)->counted, 110);
	name_filter_clear(&names);
	fixture_close(&fixture);
}

TEST(drain_of_a_full_profile)
{
	struct fixture fixture;
	uint64_t i;

	fixture_open(&fixture, 0, NULL);
	profile_set_limit(fixture.profile, 1);
	give_app(&fixture);
	for (i = 0; i < 50; i++) {
		CHECK_EQ(give_sample_of(&fixture, 0, 20 + i, i, 0x1000 + i), 0);
		CHECK_EQ(drain_add_count(fixture.drain, 0, &(struct wire_count_key){.id = i},
					 &(struct wire_count){.count = 2}),
			 0);
	}
	CHECK_EQ(close_epoch_here(&fixture, 0, 100), 0);
	CHECK_EQ(profile_total(fixture.profile), 150);
	CHECK(profile_nr_samples(fixture.profile) <= 3);
	fixture_close(&fixture);
}

/* --- existing processes: this one ------------------------------------------------------------ */

/* Writes the expected frame of an address in this process, from its maps. */
static void own_frame(uint64_t address, char *text, size_t bytes)
{
	struct maps_entry entry;
	struct maps maps;
	bool found = false;

	CHECK_EQ(maps_open(&maps, getpid()), 0);
	while (!found && maps_next(&maps, &entry))
		found = address >= entry.start && address < entry.end;
	CHECK(found);
	if (entry.path[0] == '/')
		(void)snprintf(text, bytes, "%s+%" PRIx64, strrchr(entry.path, '/') + 1,
			       address - entry.start + entry.offset);
	else
		(void)snprintf(text, bytes, "%s+%" PRIx64, entry.path, address - entry.start);
	maps_close(&maps);
}

static uint64_t own_address(void)
{
	return (uint64_t)(uintptr_t)&drain_new;
}

static void check_own_frame(const struct fixture *fixture)
{
	char frame[256], text[300];

	own_frame(own_address(), frame, sizeof(frame));
	(void)snprintf(text, sizeof(text), "%s 1;", frame);
	check_profile(fixture->profile, text);
}

TEST(drain_reads_the_maps_of_an_old_process)
{
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	CHECK_EQ(give_sample(&fixture, clock_now_ns(), getpid(), 1, own_address()), 0);
	CHECK_EQ(ensure_here(&fixture), 0);
	CHECK_EQ(process_table_nr(fixture.processes), 1);
	CHECK_EQ(replay_here(&fixture, clock_now_ns()), 0);
	check_own_frame(&fixture);
	fixture_close(&fixture);
}

/* A sample of ours in epoch 0, with 9 further ones, whose maps nobody has read when the epoch is closed. */
static void close_early(struct fixture *fixture)
{
	const uint64_t now_ns = clock_now_ns();

	fixture_open(fixture, 0, NULL);
	CHECK_EQ(give_sample(fixture, now_ns, getpid(), 1, own_address()), 0);
	CHECK_EQ(drain_add_count(fixture->drain, 0, &(struct wire_count_key){.id = 1},
				 &(struct wire_count){.count = 9}),
		 0);
	CHECK_EQ(drain_ensure_processes(fixture->drain), 0);
	CHECK_EQ(drain_close_epoch(fixture->drain, 0, now_ns + 1), 0);
	check_profile(fixture->profile, "");
	CHECK_EQ(drain_waiting(fixture->drain), 1);
}

/* Records wait one epoch more for the maps of their process, and their counts with them. */
TEST(drain_awaits_maps_in_the_next_epoch)
{
	struct fixture fixture;
	char frame[256], text[300];

	close_early(&fixture);
	CHECK_EQ(look_here(fixture.files, fixture.processes), 0);
	CHECK_EQ(drain_close_epoch(fixture.drain, 1, clock_now_ns()), 0);
	own_frame(own_address(), frame, sizeof(frame));
	(void)snprintf(text, sizeof(text), "%s 10;", frame);
	check_profile(fixture.profile, text);
	CHECK_EQ(drain_totals(fixture.drain)->counted, 9);
	CHECK_EQ(drain_totals(fixture.drain)->unawaited, 0);
	fixture_close(&fixture);
}

/* The same in an interval of its own; the answer comes before the epoch is over. */
TEST(drain_awaits_maps_in_the_next_interval)
{
	struct fixture fixture;
	struct profile *next = profile_new(), *first;
	char frame[256], text[300];

	close_early(&fixture);
	first = fixture.profile;
	CHECK(next != NULL);
	CHECK_EQ(drain_change_profile(fixture.drain, next), 0);
	fixture.profile = next;
	CHECK_EQ(replay_here(&fixture, clock_now_ns()), 0);
	CHECK_EQ(drain_close_epoch(fixture.drain, 1, clock_now_ns()), 0);
	own_frame(own_address(), frame, sizeof(frame));
	(void)snprintf(text, sizeof(text), "%s 10;", frame);
	check_profile(fixture.profile, text);
	CHECK_EQ(profile_nr_samples(first), 0);
	profile_free(first);
	fixture_close(&fixture);
}

/* Nobody ever answers. */
TEST(drain_does_not_await_maps_for_longer)
{
	struct fixture fixture;

	close_early(&fixture);
	CHECK_EQ(drain_close_epoch(fixture.drain, 1, clock_now_ns()), 0);
	CHECK_EQ(profile_total(fixture.profile), 10);
	CHECK_EQ(drain_waiting(fixture.drain), 0);
	CHECK_EQ(drain_totals(fixture.drain)->unawaited, 1);
	fixture_close(&fixture);
}

/* At the end, what is awaited would never come. */
TEST(drain_awaits_nothing_at_the_end)
{
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	CHECK_EQ(give_sample(&fixture, clock_now_ns(), getpid(), 1, own_address()), 0);
	drain_expect_end(fixture.drain);
	CHECK_EQ(drain_close_epoch(fixture.drain, 0, clock_now_ns()), 0);
	CHECK_EQ(profile_total(fixture.profile), 1);
	CHECK_EQ(drain_totals(fixture.drain)->unawaited, 1);
	fixture_close(&fixture);
}

TEST(drain_finds_our_own_vdso)
{
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
	struct fixture fixture;

	if (!vdso)
		SKIP("this process has no vdso");
	fixture_open(&fixture, 0, NULL);
	CHECK_EQ(give_sample(&fixture, clock_now_ns(), getpid(), 1, vdso + 0x10), 0);
	CHECK_EQ(replay_here(&fixture, clock_now_ns()), 0);
	check_profile(fixture.profile, "[vdso]+10 1;");
	fixture_close(&fixture);
}

/* The maps are those of the program after the exec: they do not apply to earlier samples. */
TEST(drain_does_not_use_maps_for_an_earlier_program)
{
	uint64_t exec_ns = clock_now_ns();
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	CHECK_EQ(give_sample(&fixture, exec_ns - 5, getpid(), 1, own_address()), 0);
	CHECK_EQ(ensure_here(&fixture), 0); /* reads the maps */
	CHECK_EQ(give_event(&fixture, made_exec(exec_ns, getpid())), 0);
	CHECK_EQ(replay_here(&fixture, clock_now_ns()), 0);
	check_profile(fixture.profile, "[unknown]+0 1;");
	fixture_close(&fixture);
}

/* Mappings made before the maps were read are in them; later ones are added on top. */
TEST(drain_lays_later_mappings_over_maps)
{
	uint64_t page = own_address() & ~0xfffULL;
	uint64_t before = clock_now_ns();
	struct fixture fixture;
	uint64_t after;
	char text[64];

	fixture_open(&fixture, 0, NULL);
	CHECK_EQ(process_table_ensure(fixture.processes, getpid(), NULL, before), 1);
	CHECK_EQ(look_here(fixture.files, fixture.processes), 0);
	after = clock_now_ns();
	CHECK_EQ(give_event(&fixture, made_map(before - NS_PER_SEC, getpid(), page, page + 0x1000,
					       0, "/lib/earlier")),
		 0);
	CHECK_EQ(give_sample(&fixture, after, getpid(), 1, own_address()), 0);
	CHECK_EQ(replay_here(&fixture, after), 0);
	check_own_frame(&fixture);
	profile_reset_samples(fixture.profile);
	CHECK_EQ(give_event(&fixture,
			    made_map(after + 1, getpid(), page, page + 0x1000, 0, "/lib/later")),
		 0);
	CHECK_EQ(give_sample(&fixture, after + 1, getpid(), 1, own_address()), 0);
	CHECK_EQ(replay_here(&fixture, after + 1), 0);
	(void)snprintf(text, sizeof(text), "later+%" PRIx64 " 1;", own_address() & 0xfff);
	check_profile(fixture.profile, text);
	fixture_close(&fixture);
}

TEST(drain_child_of_an_old_process)
{
	uint64_t now = clock_now_ns();
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	CHECK_EQ(give_event(&fixture, made_fork(now, getpid(), PID_B)), 0);
	CHECK_EQ(give_sample(&fixture, now + 1, PID_B, 1, own_address()), 0);
	CHECK_EQ(replay_here(&fixture, now + 1), 0);
	check_own_frame(&fixture);
	fixture_close(&fixture);
}

/* --- events were missed: records say so --------------------------------------------------------- */

static int give_sample_of_program(struct fixture *fixture, uint64_t time_ns, int32_t pid,
				  struct program_id program, uint64_t leaf)
{
	struct made_record made = made_record(time_ns, pid, time_ns, leaf, 0, 0);

	made.record.start_time_ns = program.start_time_ns;
	made.record.exec_id = program.exec_id;
	return give_record(fixture, &made);
}

/* Replays until nothing is waiting for maps, as polls do. */
static void replay_all_here(struct fixture *fixture)
{
	uint64_t now = clock_now_ns() + 10;

	CHECK_EQ(replay_here(fixture, now), 0);
	CHECK_EQ(replay_here(fixture, now), 0);
}

/* This process ran /bin/app until its exec, which nobody reported. */
TEST(drain_reads_maps_after_an_exec_that_was_missed)
{
	uint64_t now = clock_now_ns();
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	CHECK_EQ(give_event(&fixture, made_exec(10, getpid())), 0);
	CHECK_EQ(give_event(&fixture, made_map(11, getpid(), 0, 1ULL << 47, 0, "/bin/app")), 0);
	CHECK_EQ(give_sample_of_program(&fixture, 20, getpid(), (struct program_id){5, 1}, 0x10),
		 0);
	replay_all_here(&fixture);
	check_profile(fixture.profile, "app+10 1;");
	profile_reset_samples(fixture.profile);
	CHECK_EQ(give_sample_of_program(&fixture, now, getpid(), (struct program_id){5, 2},
					own_address()),
		 0);
	replay_all_here(&fixture);
	check_own_frame(&fixture);
	fixture_close(&fixture);
}

/* The pid was used again, and neither the exit nor the fork was reported. */
TEST(drain_reads_maps_of_a_process_whose_fork_was_missed)
{
	uint64_t now = clock_now_ns();
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	CHECK_EQ(give_event(&fixture, made_exec(10, getpid())), 0);
	CHECK_EQ(give_event(&fixture, made_map(11, getpid(), 0, 1ULL << 47, 0, "/bin/app")), 0);
	CHECK_EQ(give_sample_of_program(&fixture, 20, getpid(), (struct program_id){5, 9}, 0x10),
		 0);
	CHECK_EQ(give_sample_of_program(&fixture, now, getpid(), (struct program_id){30, 1},
					own_address()),
		 0);
	replay_all_here(&fixture);
	CHECK_EQ(profile_nr_samples(fixture.profile), 2);
	profile_reset_samples(fixture.profile);
	CHECK_EQ(give_sample_of_program(&fixture, now + 1, getpid(), (struct program_id){30, 1},
					own_address()),
		 0);
	/* Late: its program is gone. */
	CHECK_EQ(give_sample_of_program(&fixture, now + 2, getpid(), (struct program_id){5, 9},
					own_address()),
		 0);
	replay_all_here(&fixture);
	CHECK_EQ(profile_nr_samples(fixture.profile), 2);
	CHECK_EQ(profile_sample(fixture.profile, 1)->nr_frames, 1);
	CHECK_STR(profile_module_name(fixture.profile,
				      profile_frame(fixture.profile,
						    profile_sample_frames(
							    fixture.profile,
							    profile_sample(fixture.profile, 1))[0])
					      ->module),
		  "[unknown]");
	fixture_close(&fixture);
}

/*
 * A sample between the report of an exec and the change of the exec id must not make the mappings of the new program
 * belong to the old id: they are right, and a process that exits soon has no maps to be read.
 */
TEST(drain_keeps_mappings_that_follow_an_exec)
{
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	CHECK_EQ(give_event(&fixture, made_exec(10, PID_A)), 0);
	CHECK_EQ(give_sample_of_program(&fixture, 11, PID_A, (struct program_id){5, 1}, 0x1010), 0);
	CHECK_EQ(give_event(&fixture, made_map(12, PID_A, 0x1000, 0x3000, 0, "/bin/app")), 0);
	CHECK_EQ(give_sample_of_program(&fixture, 13, PID_A, (struct program_id){5, 2}, 0x1020), 0);
	CHECK_EQ(give_event(&fixture, made_exec(20, PID_A)), 0);
	CHECK_EQ(give_event(&fixture, made_map(21, PID_A, 0x1000, 0x3000, 0, "/bin/other")), 0);
	CHECK_EQ(give_sample_of_program(&fixture, 22, PID_A, (struct program_id){5, 3}, 0x1030), 0);
	replay_all_here(&fixture);
	check_profile(fixture.profile, "[unknown]+0 1;app+20 1;other+30 1;");
	fixture_close(&fixture);
}

/* --- events were lost: the maps are correct -------------------------------------------------- */

/* The mapping events after the exec were lost. */
TEST(drain_reads_maps_when_an_exec_was_all_that_came)
{
	uint64_t now = clock_now_ns();
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	CHECK_EQ(give_event(&fixture, made_exec(now, getpid())), 0);
	process_table_distrust(fixture.processes, clock_now_ns());
	CHECK_EQ(give_sample(&fixture, now + 1, getpid(), 1, own_address()), 0);
	CHECK_EQ(replay_here(&fixture, now + 1), 0);
	check_own_frame(&fixture);
	fixture_close(&fixture);
}

/* The exec of the child, this process, was lost: the parent's mappings do not apply to it. */
TEST(drain_reads_maps_when_a_fork_was_all_that_came)
{
	uint64_t now = clock_now_ns();
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	give_app(&fixture);
	CHECK_EQ(give_event(&fixture, made_fork(now, PID_A, getpid())), 0);
	process_table_distrust(fixture.processes, clock_now_ns());
	CHECK_EQ(give_sample(&fixture, now + 1, getpid(), 1, own_address()), 0);
	CHECK_EQ(replay_here(&fixture, now + 1), 0);
	check_own_frame(&fixture);
	fixture_close(&fixture);
}

TEST(drain_reads_maps_again_after_a_loss)
{
	uint64_t now = clock_now_ns();
	struct fixture fixture;

	fixture_open(&fixture, 0, NULL);
	CHECK_EQ(give_event(&fixture, made_exec(now, getpid())), 0);
	CHECK_EQ(replay_here(&fixture, now), 0);
	process_table_distrust(fixture.processes, clock_now_ns());
	CHECK_EQ(give_sample(&fixture, now + 1, getpid(), 1, own_address()), 0);
	CHECK_EQ(replay_here(&fixture, now + 1), 0);
	check_own_frame(&fixture);
	fixture_close(&fixture);
}

/* --- out of memory --------------------------------------------------------------------------- */

#define TRY(call)                    \
	do {                         \
		int err_ = (call);   \
		if (err_ < 0)        \
			return err_; \
	} while (0)

static int whole_run(struct fixture *fixture, const struct name_filter *names)
{
	uint64_t now = clock_now_ns(), i;

	if (!fixture_try_open(fixture, LABEL_COMM | LABEL_CGROUP, names))
		return -ENOMEM;
	TRY(give_event(fixture, made_exec(10, PID_A)));
	TRY(give_event(fixture, made_map(11, PID_A, 0x1000, 0x3000, 0, "/bin/app")));
	TRY(give_event(fixture, made_fork(20, PID_A, PID_B)));
	TRY(give_event(fixture, made_map(21, PID_B, 0x2000, 0x3000, 0, "/lib/b")));
	TRY(give_sample(fixture, now, getpid(), 900, own_address()));
	for (i = 0; i < 100; i++)
		TRY(give_sample(fixture, 20 + i, i % 2 ? PID_A : PID_B, i, 0x1f80 + 2 * i));
	TRY(ensure_here(fixture));
	TRY(replay_here(fixture, 70));
	for (i = 0; i < 100; i++)
		TRY(drain_add_count(fixture->drain, 0, &(struct wire_count_key){.id = i},
				    &(struct wire_count){.count = i}));
	TRY(close_epoch_here(fixture, 0, now + 1));
	profile_reset_samples(fixture->profile);
	TRY(give_sample_of(fixture, 1, now + 2, 1, 0x1000));
	TRY(drain_add_count(fixture->drain, 1, &(struct wire_count_key){.id = 1},
			    &(struct wire_count){.count = 5}));
	return close_epoch_here(fixture, 1, now + 3);
}

TEST(drain_without_memory)
{
	struct fixture fixture;
	size_t nth = 0;
	struct matcher_error fault;
	struct name_filter names = {0};
	int err;

	names.only = matcher_new("a", strlen("a"), MATCHER_SEARCH, &fault);
	CHECK(names.only);
	do {
		(void)test_fail_allocation(++nth);
		err = whole_run(&fixture, &names);
		(void)test_fail_allocation(0);
		CHECK(err == 0 || err == -ENOMEM);
		if (err)
			fixture_close(&fixture);
	} while (err);
	CHECK(nth > 30);
	check_profile(fixture.profile, "app:[cgroup gone]:app+0 6;");
	CHECK_EQ(drain_totals(fixture.drain)->records, 102);
	fixture_close(&fixture);
	name_filter_clear(&names);
}

/* After a failure the rest is requested again at the end of the run: nothing counts twice. */
TEST(drain_goes_on_after_a_failure)
{
	struct fixture fixture;
	size_t nth = 0;
	int err;

	do {
		uint64_t i;

		fixture_open(&fixture, LABEL_COMM, NULL);
		give_app(&fixture);
		CHECK_EQ(give_event(&fixture, made_fork(60, PID_A, PID_B)), 0);
		CHECK_EQ(give_event(&fixture, made_exec(61, PID_B)), 0);
		for (i = 0; i < 100; i++)
			CHECK_EQ(give_sample(&fixture, 20 + i, PID_A, i, 0x1000 + i), 0);
		for (i = 0; i < 100; i++)
			CHECK_EQ(drain_add_count(fixture.drain, 0,
						 &(struct wire_count_key){.id = i},
						 &(struct wire_count){.count = 1}),
				 0);
		(void)test_fail_allocation(++nth);
		err = replay_here(&fixture, 90);
		(void)test_fail_allocation(0);
		CHECK(err == 0 || err == -ENOMEM);
		CHECK_EQ(close_epoch_here(&fixture, 0, 200), 0);
		CHECK_EQ(profile_total(fixture.profile), 200);
		CHECK_EQ(profile_nr_samples(fixture.profile), 100);
		CHECK_EQ(drain_totals(fixture.drain)->records, 100);
		CHECK_EQ(drain_totals(fixture.drain)->counted, 100);
		CHECK_EQ(drain_totals(fixture.drain)->events, 5);
		fixture_close(&fixture);
	} while (err);
	CHECK(nth > 10);
}
