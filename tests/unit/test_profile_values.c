/* Values beside the count, label sets, time slices, and frames with a name only. */
#include "profile/profile.h"

#include <errno.h>

#include "unit/make_profile.h"
#include "unit/test.h"

static struct value_type type_of(struct profile *profile, const char *type, const char *unit)
{
	return (struct value_type){
		.type = (uint32_t)profile_add_string(profile, type),
		.unit = (uint32_t)profile_add_string(profile, unit),
	};
}

static const char *name_of(struct profile *profile, size_t number)
{
	return profile_string(profile, profile_value_type(profile, number).type);
}

TEST(values_are_kept_beside_the_count)
{
	struct profile *profile = make_profile("a;main 3\na;main;b 4\n");
	struct value_type bytes = type_of(profile, "space", "bytes");

	CHECK_EQ(profile_nr_values(profile), 1);
	CHECK_EQ(profile_add_value_type(profile, &bytes), 1);
	CHECK_EQ(profile_add_value_type(profile, &bytes), 1);
	CHECK_EQ(profile_add_value(profile, 1, 1, 100), 0);
	CHECK_EQ(profile_add_value(profile, 1, 1, 11), 0);
	CHECK_EQ(profile_value(profile, 0, 1), 0);
	CHECK_EQ(profile_value(profile, 1, 1), 111);
	CHECK_EQ(profile_value(profile, 1, 0), 4);
	CHECK_EQ(profile_value_total(profile, 1), 111);
	CHECK_EQ(profile_find_value(profile, "space"), 1);
	CHECK_EQ(profile_find_value(profile, "samples"), 0);
	CHECK_EQ(profile_find_value(profile, "none"), -ENOENT);
	profile_free(profile);
}

TEST(a_value_that_is_chosen_is_the_count_and_back)
{
	struct profile *profile = make_profile("a;main 3\na;main;b 4\n");
	struct value_type bytes = type_of(profile, "space", "bytes");

	CHECK_EQ(profile_add_value_type(profile, &bytes), 1);
	CHECK_EQ(profile_add_value(profile, 0, 1, 100), 0);
	CHECK_EQ(profile_choose_value(profile, 1), 0);
	CHECK(profile_is_sum(profile));
	CHECK_EQ(profile_total(profile), 100);
	CHECK_EQ(profile_sample(profile, 1)->count, 0);
	CHECK_STR(name_of(profile, 0), "space");
	CHECK_STR(name_of(profile, 1), "samples");
	CHECK_EQ(profile_value(profile, 1, 1), 4);
	CHECK_EQ(profile_choose_value(profile, 1), 0);
	CHECK(!profile_is_sum(profile));
	CHECK_STR(name_of(profile, 0), "samples");
	CHECK_STR(profile_value_unit(profile, 0), "count");
	CHECK_EQ(profile_total(profile), 7);
	CHECK_EQ(profile_value_total(profile, 1), 100);
	profile_free(profile);
}

TEST(a_dropped_sample_takes_its_values_along)
{
	struct profile *profile = make_profile("a;main 3\na;main;b 4\n");
	struct value_type bytes = type_of(profile, "space", "bytes");

	CHECK_EQ(profile_add_value_type(profile, &bytes), 1);
	CHECK_EQ(profile_add_value(profile, 0, 1, 100), 0);
	profile_drop_sample(profile, 0);
	profile_drop_sample(profile, 1);
	CHECK_EQ(profile_total(profile), 0);
	CHECK_EQ(profile_value_total(profile, 1), 0);
	profile_free(profile);
}

TEST(too_many_values_are_refused)
{
	struct profile *profile = profile_new();
	char name[16];
	int i;

	for (i = 1; i < PROFILE_MAX_VALUES; i++) {
		struct value_type type;

		(void)snprintf(name, sizeof(name), "v%d", i);
		type = type_of(profile, name, "count");
		CHECK_EQ(profile_add_value_type(profile, &type), i);
	}
	CHECK_EQ(profile_add_value_type(profile, &(struct value_type){0}), 0);
	CHECK_EQ(profile_add_value_type(profile, &(struct value_type){1, 1}), -E2BIG);
	profile_free(profile);
}

/* --- the period ------------------------------------------------------------------------------- */

static struct profile *sampled(const char *event, const char *unit, uint64_t period)
{
	struct profile *profile = make_profile("a;main 3\na;main;b 4\n");
	struct value_type type = type_of(profile, event, unit);

	profile_set_origin(
		profile,
		&(struct profile_origin){.event = type.type, .unit = type.unit, .period = period});
	return profile;
}

static void check_events(const struct profile *profile, const char *type, size_t number,
			 uint64_t factor)
{
	struct profile_value values[PROFILE_MAX_VALUES];
	size_t nr = profile_values(profile, values), i, nr_events = 0;

	CHECK_EQ(nr, profile_nr_values(profile) + (type && !number));
	for (i = 0; i < nr; i++) {
		if (!values[i].is_event)
			continue;
		nr_events++;
		CHECK_STR(values[i].type, type);
		CHECK_EQ(values[i].number, number);
		CHECK_EQ(values[i].factor, factor);
	}
	CHECK_EQ(nr_events, type != NULL);
}

TEST(samples_stand_for_as_many_events_as_the_period_says)
{
	struct profile *profile = sampled("cycles", "count", 1000);

	check_events(profile, "cycles", 0, 1000);
	CHECK_EQ(profile_sample_amount(profile), 1);
	CHECK_EQ(profile_choose_samples(profile), 0);
	CHECK_STR(name_of(profile, 0), "samples");
	set_main_value(profile, "hits", "count");
	check_events(profile, "cycles", 0, 1000);
	set_main_value(profile, "cycles", "count");
	check_events(profile, NULL, 0, 0);
	CHECK_EQ(profile_sample_amount(profile), 1000);
	set_main_value(profile, "alloc", "bytes");
	CHECK_EQ(profile_sample_amount(profile), 0);
	profile_free(profile);
	profile = sampled("cycles", "count", 0);
	check_events(profile, NULL, 0, 0);
	profile_free(profile);
	profile = sampled("", "", 2);
	check_events(profile, "events", 0, 2);
	profile_free(profile);
	profile = sampled("cycles", "count", INT64_MAX / 7 + 1); /* too large for a file */
	check_events(profile, NULL, 0, 0);
	profile_free(profile);
}

TEST(stored_events_are_recognized)
{
	struct profile *profile = sampled("cpu-clock", "nanoseconds", 1000);
	struct value_type cpu = type_of(profile, "cpu", "nanoseconds");

	CHECK_EQ(profile_add_value_type(profile, &cpu), 1);
	CHECK_EQ(profile_add_value(profile, 0, 1, 3000), 0);
	CHECK_EQ(profile_add_value(profile, 1, 1, 4000), 0);
	check_events(profile, "cpu", 1, 1);
	CHECK_EQ(profile_choose_value(profile, 1), 0);
	check_events(profile, NULL, 0, 0);
	CHECK_EQ(profile_choose_samples(profile), 0);
	CHECK_STR(name_of(profile, 0), "samples");
	CHECK_EQ(profile_total(profile), 7);
	check_events(profile, "cpu", 1, 1);
	/* Not the number of samples times the period, so it was measured. */
	CHECK_EQ(profile_add_value(profile, 1, 1, 1), 0);
	check_events(profile, NULL, 0, 0);
	CHECK_EQ(profile_choose_value(profile, 1), 0);
	CHECK_EQ(profile_choose_samples(profile), 0);
	CHECK_STR(name_of(profile, 0), "cpu");
	profile_free(profile);
}

TEST(events_share_their_name_with_another_value)
{
	struct profile *profile = sampled("alloc", "bytes", 1);
	struct value_type bytes = type_of(profile, "alloc", "bytes");
	struct value_type objects = type_of(profile, "alloc", "count");

	CHECK_EQ(profile_add_value_type(profile, &bytes), 1);
	CHECK_EQ(profile_add_value_type(profile, &objects), 2);
	CHECK_EQ(profile_add_value(profile, 1, 2, 4), 0);
	check_events(profile, NULL, 0, 0);
	CHECK_EQ(profile_add_value(profile, 0, 1, 3), 0);
	CHECK_EQ(profile_add_value(profile, 1, 1, 4), 0);
	check_events(profile, "alloc", 1, 1);
	CHECK_EQ(profile_choose_value(profile, 1), 0);
	CHECK_EQ(profile_choose_samples(profile), 0);
	CHECK_STR(name_of(profile, 0), "alloc");
	profile_free(profile);
}

TEST(label_sets_are_interned)
{
	struct profile *profile = profile_new();
	const struct set_label labels[] = {
		{.key = 1, .text = 2},
		{.key = 3, .unit = 4, .number = -5000000000},
	};
	struct set_label read[LABEL_SET_MAX];

	CHECK_EQ(profile_add_label_set(profile, labels, 0), 0);
	CHECK_EQ(profile_add_label_set(profile, labels, 2), 1);
	CHECK_EQ(profile_add_label_set(profile, labels, 1), 2);
	CHECK_EQ(profile_add_label_set(profile, labels, 2), 1);
	CHECK_EQ(profile_label_set(profile, 0, read), 0);
	CHECK_EQ(profile_label_set(profile, 1, read), 2);
	CHECK_EQ(read[0].text, 2);
	CHECK_EQ(read[1].number, -5000000000);
	CHECK_EQ(profile_add_label_set(profile, labels, LABEL_SET_MAX + 1), -E2BIG);
	profile_free(profile);
}

TEST(slices_are_interned_and_tell_samples_apart)
{
	struct profile *profile = profile_new();
	struct sample_labels labels = {.slice = 1};
	int64_t first, second;

	CHECK_EQ(profile_add_slice(profile, &(struct time_slice){10, 20}), 1);
	CHECK_EQ(profile_add_slice(profile, &(struct time_slice){20, 30}), 2);
	CHECK_EQ(profile_add_slice(profile, &(struct time_slice){10, 20}), 1);
	CHECK_EQ(profile_slice(profile, 2).end_ns, 30);
	first = profile_add_sample(profile, &labels, NULL, 0, 0, 1);
	labels.slice = 2;
	second = profile_add_sample(profile, &labels, NULL, 0, 0, 1);
	CHECK(first != second);
	profile_reset_samples(profile);
	CHECK_EQ(profile_nr_slices(profile), 0);
	CHECK_EQ(profile_add_slice(profile, &(struct time_slice){20, 30}), 1);
	profile_free(profile);
}

TEST(slices_end_where_the_run_does)
{
	struct profile *profile = profile_new();

	CHECK_EQ(profile_add_slice(profile, &(struct time_slice){10, 20}), 1);
	CHECK_EQ(profile_add_slice(profile, &(struct time_slice){20, 30}), 2);
	CHECK_EQ(profile_add_slice(profile, &(struct time_slice){30, 40}), 3);
	profile_end_slices(profile, 23);
	CHECK_EQ(profile_slice(profile, 1).end_ns, 20);
	CHECK_EQ(profile_slice(profile, 2).end_ns, 23);
	CHECK_EQ(profile_slice(profile, 3).end_ns, 40); /* the clock was set back */
	CHECK_EQ(profile_add_slice(profile, &(struct time_slice){20, 23}), 2);
	CHECK_EQ(profile_add_slice(profile, &(struct time_slice){10, 20}), 1);
	CHECK_EQ(profile_add_slice(profile, &(struct time_slice){20, 30}), 4);
	profile_free(profile);
}

TEST(named_frames_are_known_by_what_they_say)
{
	struct profile *profile = profile_new();
	struct code_line f = {.function = 7}, g = {.function = 8}, f_at = {7, 9, 12};
	const struct code_line both[] = {f, g};
	int64_t frame = profile_add_named_frame(profile, FRAME_USER, 0, &f, 1);

	CHECK_EQ(profile_add_named_frame(profile, FRAME_USER, 0, &f, 1), frame);
	CHECK(profile_add_named_frame(profile, FRAME_USER, 0, &g, 1) != frame);
	CHECK(profile_add_named_frame(profile, FRAME_KERNEL, 1, &f, 1) != frame);
	CHECK(profile_add_named_frame(profile, FRAME_USER, 0, &f_at, 1) != frame);
	CHECK(profile_add_named_frame(profile, FRAME_USER, 0, NULL, 0) != frame);
	CHECK_EQ(profile_frame(profile, (uint32_t)frame)->nr_lines, 0);
	CHECK(profile_frame(profile, (uint32_t)frame)->address >= PROFILE_NOWHERE);
	frame = profile_add_named_frame(profile, FRAME_USER, 0, both, 2);
	CHECK_EQ(profile_add_named_frame(profile, FRAME_USER, 0, both, 2), frame);
	CHECK_EQ(profile_frame(profile, (uint32_t)frame)->function, 8);
	CHECK_EQ(profile_frame(profile, (uint32_t)frame)->nr_lines, 2);
	profile_free(profile);
}

TEST(past_the_limit_named_frames_are_one)
{
	struct profile *profile = profile_new();
	struct code_line line = {.function = 1};
	int64_t first, second;

	profile_set_max_frames(profile, 1);
	CHECK(profile_add_named_frame(profile, FRAME_USER, 0, &line, 1) >= 0);
	line.function = 2;
	first = profile_add_named_frame(profile, FRAME_USER, 0, &line, 1);
	line.function = 3;
	second = profile_add_named_frame(profile, FRAME_USER, 0, &line, 1);
	CHECK_EQ(first, second);
	CHECK_EQ(profile_frame(profile, (uint32_t)first)->function, 0);
	profile_free(profile);
}
