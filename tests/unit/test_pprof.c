/*
 * format/pprof/pprof: written files are read back with the same lines and written again with the
 * same bytes.
 */
#include "unit/test.h"

#include <errno.h>

#include "unit/pprof_fixture.h"

TEST(pprof_round_trip)
{
	check_round_trip(some_profile());
	check_round_trip(rich_profile());
	check_round_trip(profile_new());
}

TEST(pprof_origin_survives)
{
	struct profile *profile = some_profile(), *read;
	struct file file = written(profile, (struct format_options){.labels = LABEL_COMM});
	const struct profile_origin *origin;
	struct format_notes notes;

	read = parsed(file.bytes, file.nr, &notes);
	origin = profile_origin(read);
	CHECK_STR(profile_string(read, origin->event), "cycles");
	CHECK_STR(profile_string(read, origin->unit), "count");
	CHECK_EQ(origin->period, 10101010);
	CHECK_EQ(origin->time_ns, 1700000000000000000);
	CHECK_EQ(origin->duration_ns, 1000000000);
	CHECK_EQ(notes.labels, LABEL_COMM);
	CHECK_EQ(profile_total(read), profile_total(profile));
	free(file.bytes);
	profile_free(read);
	profile_free(profile);
}
TEST(pprof_values_survive)
{
	struct format_notes notes;
	struct profile *profile = rich_profile(), *read;
	uint64_t samples = profile_total(profile), alloc = total_of(profile, "alloc");
	uint64_t faults = total_of(profile, "faults");

	CHECK_EQ(profile_choose_value(profile, (size_t)profile_find_value(profile, "alloc")), 0);
	read = reread(profile, &notes);
	CHECK_EQ(profile_nr_values(read), 3);
	CHECK(profile_is_sum(read));
	CHECK_EQ(profile_total(read), alloc);
	CHECK_EQ(total_of(read, "samples"), samples);
	CHECK_EQ(total_of(read, "faults"), faults);
	profile_free(read);
}

/* Any value can be the main one, whatever its position in the file. */
TEST(pprof_any_value_may_be_the_count)
{
	static const char *const types[] = {"samples", "alloc", "faults"};
	struct format_notes notes;
	size_t i;

	for (i = 0; i < 3; i++) {
		struct profile *profile = rich_profile(), *read;
		uint64_t total = total_of(profile, types[i]);

		CHECK_EQ(profile_choose_value(profile,
					      (size_t)profile_find_value(profile, types[i])),
			 0);
		read = reread(profile, &notes);
		CHECK_EQ(profile_total(read), total);
		check_round_trip(read);
	}
}

/* With a period, pprof's default value is the event; the count is still samples. */
TEST(pprof_period_is_a_value)
{
	struct format_notes notes;
	struct profile *profile = some_profile(), *read;
	uint64_t total = profile_total(profile);

	read = reread(profile, &notes);
	CHECK_EQ(profile_total(read), total);
	CHECK(!profile_is_sum(read));
	CHECK_EQ(total_of(read, "cycles"), total * 10101010);
	check_round_trip(read);
}

/* The period is written once even if the profile already has the event as a value. */
TEST(pprof_period_is_written_once)
{
	struct format_notes notes;
	struct profile *profile = some_profile(), *read;
	struct profile_origin origin = *profile_origin(profile);
	uint64_t total = profile_total(profile);
	uint32_t i;

	origin.event = (uint32_t)profile_add_string(profile, "cpu-clock");
	origin.unit = (uint32_t)profile_add_string(profile, "nanoseconds");
	profile_set_origin(profile, &origin);
	for (i = 0; i < profile_nr_samples(profile); i++)
		add_value(profile, i, "cpu-clock", "nanoseconds",
			  profile_value(profile, i, 0) * origin.period);
	read = reread(profile, &notes);
	CHECK_EQ(profile_nr_values(read), 2);
	CHECK_EQ(profile_total(read), total);
	CHECK_EQ(total_of(read, "cpu"), total * origin.period);
	check_round_trip(read);
}

/* Readers of pprof get "cpu"; our reader restores the clock's name and adds no comment. */
TEST(pprof_clock_survives)
{
	struct format_notes notes;
	struct profile *profile = some_profile(), *read;
	struct profile_origin origin = *profile_origin(profile);

	origin.event = (uint32_t)profile_add_string(profile, "task-clock");
	origin.unit = (uint32_t)profile_add_string(profile, "nanoseconds");
	profile_set_origin(profile, &origin);
	CHECK_EQ(profile_add_comment(profile, "event    cycles"), 0);
	read = reread(profile, &notes);
	CHECK_STR(profile_string(read, profile_origin(read)->event), "task-clock");
	CHECK_STR(profile_string(read, profile_origin(read)->unit), "nanoseconds");
	CHECK_STR(profile_value_name(read, 1), "cpu");
	CHECK_EQ(profile_nr_comments(read), 1);
	CHECK_STR(profile_comment(read, 0), "event    cycles");
	check_round_trip(read);
}

/* A measured value with the event's name is not taken for samples times period. */
TEST(pprof_event_that_was_measured)
{
	struct format_notes notes;
	struct profile *profile = some_profile(), *read;
	uint64_t total = profile_total(profile);

	add_value(profile, 0, "cycles", "count", 77);
	read = reread(profile, &notes);
	CHECK_EQ(profile_total(read), total);
	CHECK_EQ(total_of(read, "cycles"), 77);
	check_round_trip(read);
}

TEST(pprof_labels_of_others_survive)
{
	struct format_notes notes;
	struct profile *read = reread(rich_profile(), &notes);
	struct set_label labels[LABEL_SET_MAX];
	size_t nr_slices = 0, nr_sets = 0;
	uint32_t i;

	CHECK_EQ(notes.labels, ALL_LABELS & ~(LABEL_CGROUP | LABEL_PROBE));
	CHECK_EQ(notes.dropped_labels, 0);
	CHECK_EQ(profile_nr_slices(read), 4);
	for (i = 0; i < profile_nr_samples(read); i++) {
		const struct sample *sample = profile_sample(read, i);

		nr_slices += sample->labels.slice != 0;
		nr_sets += profile_label_set(read, sample->labels.set, labels) > 0;
	}
	CHECK_EQ(nr_slices, 12);
	CHECK_EQ(nr_sets, 15);
	CHECK_EQ(profile_slice(read, 1).start_ns, 5);
	CHECK_EQ(profile_slice(read, 1).end_ns, 105);
	profile_free(read);
}

TEST(pprof_comments_survive)
{
	struct format_notes notes;
	struct profile *read = reread(rich_profile(), &notes);

	CHECK_EQ(profile_nr_comments(read), 3);
	CHECK_STR(profile_comment(read, 0), "taken on a rainy day");
	CHECK_STR(profile_comment(read, 1), "");
	CHECK_STR(profile_comment(read, 2), "samples");
	profile_free(read);
}

/* Sums are not samples and keep their own type. */
TEST(pprof_sums_survive)
{
	struct profile *profile = some_profile(), *read;
	struct profile_origin origin = *profile_origin(profile);
	struct format_notes notes;
	struct file file;

	origin.event = (uint32_t)profile_add_string(profile, "arg1");
	origin.period = 1;
	profile_set_origin(profile, &origin);
	set_main_value(profile, "arg1", "bytes");
	file = written(profile, (struct format_options){.labels = LABEL_COMM});
	read = parsed(file.bytes, file.nr, &notes);
	CHECK(profile_is_sum(read));
	CHECK_STR(profile_value_name(read, 0), "arg1");
	CHECK_EQ(profile_total(read), profile_total(profile));
	free(file.bytes);
	profile_free(read);
	check_round_trip(profile);
}

/* Internal numbers depend on the order of insertion; the file does not. */
TEST(pprof_same_profile_same_bytes)
{
	const struct format_options options = {.labels = ALL_LABELS};
	struct profile *one = profile_new(), *other = profile_new();
	size_t nr = sizeof(lines) / sizeof(lines[0]), i;
	struct file file, again;

	for (i = 0; i < nr; i++) {
		add_line(one, i);
		add_line(other, nr - 1 - i);
	}
	file = written(one, options);
	again = written(other, options);
	CHECK_EQ(file.nr, again.nr);
	CHECK(!memcmp(file.bytes, again.bytes, file.nr));
	free(file.bytes);
	free(again.bytes);
	profile_free(one);
	profile_free(other);
}

static uint32_t file_module(struct profile *profile, const char *path, uint32_t file,
			    const struct module_code *code)
{
	struct module module = {.kind = MODULE_FILE, .file = file};
	int64_t number;

	module.name = (uint32_t)profile_add_string(profile, path);
	number = profile_add_module(profile, &module);
	CHECK_EQ(profile_set_code(profile, (uint32_t)number, code), 0);
	return (uint32_t)number;
}

static uint32_t add_frame(struct profile *profile, uint32_t module, uint64_t address,
			  const char *name)
{
	int64_t frame = profile_add_frame(profile, FRAME_USER, module, address);

	CHECK(frame >= 0);
	if (name)
		CHECK_EQ(profile_set_function(profile, (uint32_t)frame, name), 0);
	return (uint32_t)frame;
}

static void add_sample(struct profile *profile, const uint32_t *frames, size_t nr, uint8_t end)
{
	const struct sample_labels labels = {.user_end = end};

	CHECK(profile_add_sample(profile, &labels, frames, nr, 0, 3) >= 0);
}

static const struct module_code two_segments = {
	.build_id = {0xab, 0xcd, 0x01},
	.build_id_bytes = 3,
	.nr_segments = 2,
	.segments = {{0x1000, 0x401000, 0x2000}, {0x8000, 0x608000, 0x100}},
};

TEST(pprof_segments_and_build_id)
{
	struct profile *profile = profile_new(), *read;
	uint32_t module = file_module(profile, "/bin/x", 0, &two_segments);
	uint32_t frames[4] = {
		add_frame(profile, module, 0x1234, "f"), add_frame(profile, module, 0x8010, "g"),
		add_frame(profile, module, 0x9000, "outside"), add_frame(profile, module, 0, NULL)};
	const struct module_code *code;
	struct format_notes notes;
	struct file file;

	add_sample(profile, frames, 4, WALK_COMPLETE);
	file = written(profile, (struct format_options){0});
	read = parsed(file.bytes, file.nr, &notes);
	code = profile_code(read, profile_frame(read, 0)->module);
	CHECK(code != NULL);
	CHECK(!memcmp(code, &two_segments, sizeof(*code)));
	CHECK_EQ(profile_frame(read, 0)->address, 0x1234);
	CHECK_EQ(profile_frame(read, 1)->address, 0x8010);
	CHECK_EQ(profile_frame(read, 2)->address, 0x9000);
	free(file.bytes);
	profile_free(read);
	check_round_trip(profile);
}

/* Mapping.has_functions, its tag and `true`: readers need not look up names. */
static bool says_has_functions(struct profile *profile)
{
	struct file file = written(profile, (struct format_options){0});
	bool is = memmem(file.bytes, file.nr, "\x38\x01", 2) != NULL;

	free(file.bytes);
	return is;
}

TEST(pprof_of_functions_without_a_name)
{
	struct profile *profile = profile_new(), *read;
	uint32_t module = file_module(profile, "/bin/x", 0, &two_segments);
	uint32_t frames[2] = {add_frame(profile, module, 0x1234, "x+0x401230")};
	struct format_notes notes;
	struct file file;

	add_sample(profile, frames, 1, WALK_COMPLETE);
	CHECK(!says_has_functions(profile));
	file = written(profile, (struct format_options){0});
	read = parsed(file.bytes, file.nr, &notes);
	CHECK_STR(profile_string(read, profile_frame(read, 0)->function), "x+0x401230");
	CHECK(!profile_is_named(read, profile_frame(read, 0)));
	free(file.bytes);
	profile_free(read);
	frames[1] = add_frame(profile, module, 0x1334, "f");
	add_sample(profile, frames, 2, WALK_COMPLETE);
	CHECK(says_has_functions(profile));
	check_round_trip(profile);
}

/* A file replaced by another of its name: pprof's mappings cannot distinguish them. */
TEST(pprof_two_functions_at_one_address)
{
	struct profile *profile = profile_new();
	const struct module_code none = {0};
	struct module jit = {.kind = MODULE_RUN_TIME};
	uint32_t frames[40], i;

	for (i = 0; i < 20; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "f%u", i);
		frames[i] =
			add_frame(profile, file_module(profile, "/bin/x", i, &none), 0x10, name);
		jit.file = i + 1;
		frames[20 + i] = add_frame(profile, (uint32_t)profile_add_module(profile, &jit),
					   0x7000, name);
	}
	for (i = 0; i < 40; i++)
		if (i % 20 < 15)
			add_sample(profile, frames + i, 1, WALK_COMPLETE);
	check_round_trip(profile);
}

TEST(pprof_ends_survive)
{
	struct profile *profile = profile_new();
	uint32_t frame = add_frame(profile, MODULE_NR_UNKNOWN, 0x10, NULL);
	uint8_t end;

	for (end = 0; end < NR_WALK_ENDS; end++) {
		add_sample(profile, &frame, 1, end);
		add_sample(profile, &frame, 0, end);
	}
	CHECK_EQ(profile_nr_samples(profile), 2 * NR_WALK_ENDS);
	check_round_trip(profile);
}

TEST(pprof_names_that_look_like_missed_stacks)
{
	static const uint8_t ends[] = {WALK_COMPLETE, WALK_UNWOUND, WALK_MISSED};
	struct profile *profile = profile_new();
	uint32_t user = add_frame(profile, MODULE_NR_UNKNOWN, 0, PPROF_MISSED_USER);
	uint32_t kernel =
		add_frame(profile, MODULE_NR_UNKNOWN, UINT64_MAX - 5, PPROF_MISSED_KERNEL);
	uint32_t stacks[][3] = {{user, user, kernel}, {kernel, user, user}, {kernel, kernel, user}};
	size_t i, k, nr;

	for (i = 0; i < sizeof(ends); i++)
		for (k = 0; k < 3; k++)
			for (nr = 1; nr <= 3; nr++)
				add_sample(profile, stacks[k], nr, ends[i]);
	check_round_trip(profile);
}

/* Names are arbitrary bytes; strings in the file are UTF-8, or other readers refuse it. */
TEST(pprof_names_that_are_no_text)
{
	struct format_notes notes;
	struct profile *profile = profile_new(), *read;
	uint32_t frame = add_frame(profile, MODULE_NR_UNKNOWN, 0x10, "a\xff\xc3(\xe2\x82\xac)\x01");

	add_sample(profile, &frame, 1, WALK_COMPLETE);
	read = reread(profile, &notes);
	CHECK_STR(profile_string(read, profile_frame(read, 0)->function),
		  "a\xef\xbf\xbd\xef\xbf\xbd(\xe2\x82\xac)\x01");
	check_round_trip(read);
}

/* A text label, like cgroup; without it samples of several probes are one. */
TEST(pprof_probes_survive)
{
	struct profile *profile = profile_new(), *read;
	struct sample_labels labels = {0};
	struct format_notes notes;
	struct file file;

	labels.probe = (uint32_t)profile_add_string(profile, "malloc");
	(void)make_labelled(profile, labels, "a;main 1");
	labels.probe = (uint32_t)profile_add_string(profile, "r:malloc");
	(void)make_labelled(profile, labels, "a;main 2");
	file = written(profile, (struct format_options){.labels = LABEL_PROBE});
	read = parsed(file.bytes, file.nr, &notes);
	CHECK_EQ(notes.labels, LABEL_PROBE);
	CHECK_EQ(profile_nr_samples(read), 2);
	check_folded_text(read, (struct format_options){.labels = LABEL_PROBE},
			  "probe r:malloc;main 2\nprobe malloc;main 1\n");
	free(file.bytes);
	profile_free(read);
	file = written(profile, (struct format_options){.labels = LABEL_COMM});
	read = parsed(file.bytes, file.nr, &notes);
	CHECK_EQ(notes.labels, LABEL_COMM);
	CHECK_EQ(profile_nr_samples(read), 1);
	free(file.bytes);
	profile_free(read);
	profile_free(profile);
}

TEST(pprof_labels_not_asked_for_are_added_up)
{
	struct profile *profile = profile_new(), *read;
	struct format_notes notes;
	struct file file;

	(void)make_labelled(profile, (struct sample_labels){.pid = 1}, "a;main 1");
	(void)make_labelled(profile, (struct sample_labels){.pid = 2}, "b;main 2");
	file = written(profile, (struct format_options){.labels = LABEL_CPU});
	read = parsed(file.bytes, file.nr, &notes);
	CHECK_EQ(profile_nr_samples(read), 1);
	CHECK_EQ(profile_total(read), 3);
	CHECK_EQ(notes.labels, LABEL_CPU); /* CPU 0 is a label, too */
	free(file.bytes);
	profile_free(read);
	profile_free(profile);
}

/* --- failures ----------------------------------------------------------------------------------
 */

TEST(pprof_write_without_memory)
{
	const struct format_options options = {.labels = ALL_LABELS};
	struct profile *profile = rich_profile();
	FILE *out = fopen("/dev/null", "w");
	size_t nth = 1;
	int result;

	do {
		(void)test_fail_allocation(nth++);
		result = pprof_write(profile, &options, out);
		(void)test_fail_allocation(0);
		CHECK(result == 0 || result == -ENOMEM);
	} while (result < 0);
	CHECK(nth > 20);
	(void)fclose(out);
	profile_free(profile);
}

TEST(pprof_read_without_memory)
{
	struct profile *profile = rich_profile();
	struct file file = written(profile, (struct format_options){.labels = ALL_LABELS});
	size_t nth = 1;
	const struct format_read_options pprof_only = {.format = format_by_name("pprof")};
	int result;

	do {
		struct profile *read = profile_new();
		struct format_notes notes;
		FILE *in = fmemopen(file.bytes, file.nr, "r");

		(void)test_fail_allocation(nth++);
		result = format_read(in, "-", &pprof_only, read, &notes, NULL);
		(void)test_fail_allocation(0);
		CHECK(result == 0 || result == -ENOMEM);
		(void)fclose(in);
		profile_free(read);
	} while (result < 0);
	CHECK(nth > 20);
	free(file.bytes);
	profile_free(profile);
}

TEST(pprof_tells_when_it_cannot_write)
{
	struct profile *profile = some_profile();
	const struct format_options options = {.labels = LABEL_COMM};
	FILE *full = fopen("/dev/full", "w");

	if (!full)
		SKIP("needs /dev/full");
	CHECK_EQ(pprof_write(profile, &options, full), -ENOSPC);
	(void)fclose(full);
	profile_free(profile);
}

TEST(pprof_says_what_is_wrong_with_a_file)
{
	const struct format_read_options pprof_only = {.format = format_by_name("pprof")};
	struct profile *profile = profile_new();
	struct format_notes notes;
	struct error error = {0};
	FILE *in = fmemopen((void *)"\x1f\x8b\x08 no", 6, "r");

	CHECK_EQ(format_read(in, "-", &pprof_only, profile, &notes, &error), -EBADMSG);
	CHECK_STR(error.text, "the compressed profile is damaged or truncated");
	(void)fclose(in);
	in = fmemopen((void *)"main;work 5\n", 12, "r");
	CHECK_EQ(format_read(in, "-", &pprof_only, profile, &notes, &error), -EBADMSG);
	CHECK(strstr(error.text, "malformed pprof profile"));
	(void)fclose(in);
	profile_free(profile);
}
