/* cmd/common_values, cmd/inputs: files that count different things are shown by what they share. */
#include "cmd/inputs.h"

#include <errno.h>
#include <string.h>

#include "profile/merge.h"
#include "unit/make_profile.h"
#include "unit/test.h"

/* Of counts of the first type, 1 each; the second one is another value, 10 each. */
static struct profile *of_values(const char *count, const char *unit, const char *other)
{
	struct profile *profile = profile_new();
	struct profile_origin origin = {.period = 0};
	struct value_type type = {0};
	uint32_t sample;

	if (strcmp(count, "samples") != 0) {
		origin.counted.type = (uint32_t)profile_add_string(profile, count);
		origin.counted.unit = (uint32_t)profile_add_string(profile, unit);
		profile_set_origin(profile, &origin);
	}
	sample = (uint32_t)make_sample(profile, "a;f 1");
	if (!other)
		return profile;
	type.type = (uint32_t)profile_add_string(profile, other);
	type.unit = (uint32_t)profile_add_string(profile, strcmp(other, "samples") ? "nanoseconds"
										   : "count");
	CHECK_EQ(profile_add_value(profile, sample, (size_t)profile_add_value_type(profile, &type),
				   10),
		 0);
	return profile;
}

/* What both of them are shown by, and how much that is; NULL: nothing. */
static void check_common(struct profile *first, struct profile *second, const char *type,
			 uint64_t total, const char *note_or_hint)
{
	struct common_values common = {.nr = 0};
	char note[COMMON_VALUES_NOTE_BYTES];
	struct error error = {0};
	int err;

	CHECK_EQ(common_values_add(&common, first, "one", &error), 0);
	err = common_values_add(&common, second, "two", &error);
	CHECK_EQ(err, type ? 0 : -EINVAL);
	if (!type)
		CHECK_STR(error.hint, note_or_hint);
	if (type) {
		CHECK_EQ(profile_merge(first, second, 0), 0);
		CHECK_EQ(common_values_choose(&common, first), 0);
		CHECK_STR(profile_string(first, profile_value_type(first, 0).type), type);
		CHECK_EQ(profile_total(first), total);
		common_values_note(&common, note);
		CHECK_STR(note, note_or_hint);
	}
	common_values_clear(&common);
	profile_free(first);
	profile_free(second);
}

TEST(common_values_are_the_first_files_counts)
{
	check_common(of_values("samples", "", "cpu"), of_values("samples", "", NULL), "samples", 2,
		     "");
	check_common(of_values("cpu", "nanoseconds", NULL), of_values("samples", "", "cpu"), "cpu",
		     11, "showing cpu, which all files have: 'one' counts cpu, 'two' samples");
}

TEST(common_values_are_samples_else)
{
	check_common(
		of_values("cpu-clock", "nanoseconds", "samples"), of_values("samples", "", "cpu"),
		"samples", 11,
		"showing samples, which all files have: 'one' counts cpu-clock, 'two' samples");
	check_common(of_values("a", "count", "cpu"), of_values("b", "count", "cpu"), "cpu", 20,
		     "showing cpu, which all files have: 'one' counts a, 'two' b");
}

TEST(common_values_that_there_are_none_of)
{
	check_common(of_values("cpu", "nanoseconds", "samples"), of_values("hits", "", NULL), NULL,
		     0, "'one': cpu, samples; 'two': hits");
	check_common(of_values("cpu", "nanoseconds", NULL), of_values("cpu", "count", NULL), NULL,
		     0, "'one': cpu; 'two': cpu");
}
