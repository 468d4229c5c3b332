/* profile/ratio: which profiles have one, its unit, and what is significant; and how reports and pictures show it. */
#include "unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/format.h"
#include "profile/ratio.h"
#include "unit/make_profile.h"

/* A profile with two events, of which the first is the main one. */
static struct profile *of_events(const char *main, const char *unit, const char *other,
				 const char *names, uint64_t period)
{
	struct profile *profile = profile_new();
	struct profile_origin origin = {.period = period};
	struct value_type type;

	CHECK_EQ(profile_make_value_type(profile, main, unit, &type), 0);
	profile_set_main_type(profile, type);
	origin.event = type.type;
	origin.unit = type.unit;
	origin.ratio = (uint32_t)profile_add_string(profile, names);
	profile_set_origin(profile, &origin);
	CHECK_EQ(profile_make_value_type(profile, other, "count", &type), 0);
	CHECK_EQ(profile_add_value_type(profile, &type), 1);
	return profile;
}

static void give(struct profile *profile, const char *line, uint64_t other)
{
	CHECK_EQ(profile_add_value(profile, make_sample(profile, line), 1, other), 0);
}

static void check_text(const char *main, const char *unit, const char *other, const char *names,
		       uint64_t amount, const char *text, double whole)
{
	struct profile *profile = of_events(main, unit, other, names, 0);
	struct ratio ratio;

	(void)make_sample(profile, "a;f 1000000000");
	CHECK_EQ(profile_add_value(profile, 0, 1, amount), 0);
	CHECK(ratio_find(&ratio, profile));
	CHECK_STR(ratio.text, text);
	CHECK(fabs(ratio.whole - whole) < 1e-6 * whole);
	profile_free(profile);
}

TEST(ratio_units)
{
	check_text("cycles", "count", "instructions", "instructions/cycles", 1250000000,
		   "instructions per cycle", 1.25);
	check_text("instructions", "count", "cache-misses", "cache-misses/instructions", 2500000,
		   "cache-misses per 1,000 instructions", 2.5);
	check_text("branches:u", "count", "branch-misses:u", "branch-misses:u/branches:u",
		   200000000, "branch-misses:u per branches:u", 0.2);
	check_text("cpu-clock", "nanoseconds", "page-faults", "page-faults/cpu-clock", 5000,
		   "page-faults per second of cpu-clock", 5000);
	check_text("cpu/event=0x3c/", "count", "cpu/event=0xc0/", "cpu/event=0xc0//cpu/event=0x3c/",
		   700000000, "cpu/event=0xc0/ per cpu/event=0x3c/", 0.7);
}

/* If the numerator is shown, widths are of it, and the ratio stays the same. */
TEST(ratio_of_either_value)
{
	struct profile *profile =
		of_events("cycles", "count", "instructions", "instructions/cycles", 10);
	struct ratio ratio;

	give(profile, "a;f 1000", 500);
	give(profile, "a;g 100", 5);
	CHECK(ratio_find(&ratio, profile));
	CHECK_STR(ratio.heading, "IPC");
	CHECK(fabs(ratio_of(&ratio, 1000, 500) - 0.5) < 1e-9);
	CHECK(isnan(ratio_of(&ratio, 199, 500))); /* less than 20 samples */
	CHECK(!isnan(ratio_of(&ratio, 200, 0)));
	CHECK_EQ(profile_choose_value(profile, 1), 0);
	CHECK(ratio_find(&ratio, profile));
	CHECK(fabs(ratio_of(&ratio, 500, 1000) - 0.5) < 1e-9);
	profile_free(profile);
}

TEST(ratio_of_others_is_none)
{
	struct profile *profile =
		of_events("cycles", "count", "instructions", "branches/cycles", 10);
	struct ratio ratio;

	give(profile, "a;f 1000", 500);
	CHECK(!ratio_find(&ratio, profile));
	profile_free(profile);
	profile = of_events("cycles", "count", "instructions", "instructions/cycles", 10);
	CHECK(!ratio_find(&ratio, profile)); /* of nothing */
	profile_free(profile);
}

TEST(ratio_deviations)
{
	const struct ratio ratio = {.whole = 2, .factor = 1};

	CHECK(fabs(ratio_deviation(&ratio, 2)) < 1e-9);
	CHECK(fabs(ratio_deviation(&ratio, 4) - 0.5) < 1e-9);
	CHECK(fabs(ratio_deviation(&ratio, 100) - 1) < 1e-9);
	CHECK(fabs(ratio_deviation(&ratio, 0.5) + 1) < 1e-9);
	CHECK(fabs(ratio_deviation(&ratio, 0) + 1) < 1e-9);
}

static char *written(const struct profile *profile, const char *name)
{
	const struct format_options options = {.labels = LABEL_COMM};
	char *text = NULL;
	size_t nr = 0;
	FILE *out = open_memstream(&text, &nr);

	CHECK_EQ(format_by_name(name)->write(profile, &options, out), 0);
	(void)fclose(out);
	return text;
}

static void check_has(const struct profile *profile, const char *name, const char *wanted)
{
	char *text = written(profile, name);

	if (!strstr(text, wanted))
		fprintf(stderr, "no '%s' in:\n%.3000s", wanted, text);
	CHECK(strstr(text, wanted) != NULL);
	free(text);
}

TEST(ratio_in_outputs)
{
	struct profile *profile =
		of_events("cycles", "count", "instructions", "instructions/cycles", 1000);

	give(profile, "a;main;hot 60000", 120000);
	give(profile, "a;main;stalled 30000", 6000);
	give(profile, "a;main;rare 10000", 34000);
	check_has(profile, "report",
		  "instructions per cycle: 1.60; fewer than 20 samples have none");
	check_has(profile, "report", "SUM   IPC   TOTAL  FUNCTION");
	check_has(profile, "report", " 60.0%   60,000  2.00   60.0%  hot");
	check_has(profile, "report", " 30.0%   30,000  0.20   30.0%  stalled");
	check_has(profile, "report", " 10.0%   10,000         10.0%  rare");
	check_has(profile, "json", "\"ratio_of\": \"instructions per cycle\"");
	check_has(profile, "svg",
		  "stalled (30,000 count, 30.00%)\n0.20 instructions per cycle\napp");
	check_has(profile, "svg", "too few samples for instructions per cycle");
	check_has(profile, "svg", ">1.60, as all<");
	check_has(profile, "html", "\"ratio\":{\"above\":1,\"below\":0,\"factor\":1,");
	profile_free(profile);
}
