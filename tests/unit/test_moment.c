/* base/clock: points in time as people write them. */

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "unit/test.h"

#define NOW 1795403520 /* 2026-11-23 03:12:00 UTC */
#define DAY 86400

static void set_zone(const char *zone)
{
	CHECK_EQ(setenv("TZ", zone, 1), 0);
	tzset();
}

/* Returns seconds, or a negative errno. */
static int64_t parse(const char *text)
{
	uint64_t ns = 0;
	int err = moment_parse(text, NOW * NS_PER_SEC, &ns);

	return err ? err : (int64_t)(ns / NS_PER_SEC);
}

TEST(moments_are_understood)
{
	static const struct {
		const char *text;
		int64_t seconds;
	} moments[] = {
		{"now", NOW},
		{"-1h", NOW - 3600},
		{"-90m", NOW - 5400},
		{"-30", NOW - 30},
		{"-2d", NOW - 2 * DAY},
		{"-1w", NOW - 7 * DAY},
		{"@17", 17},
		{"03:12", NOW},
		{"03:11:30", NOW - 30},
		{"03:13", NOW + 60 - DAY},
		{"23:59:59", NOW - 3 * 3600 - 12 * 60 - 1},
		{"2026-11-23", NOW - 3 * 3600 - 12 * 60},
		{"2026-11-22 03:12", NOW - DAY},
		{"2026-11-22T03:12:05", NOW - DAY + 5},
		{"2026-11-22T03:12:05Z", NOW - DAY + 5},
		{"2026-02-28", NOW - 3 * 3600 - 12 * 60 - 268 * DAY},
	};
	size_t i;

	set_zone("UTC0");
	for (i = 0; i < ARRAY_SIZE(moments); i++)
		CHECK_EQ(parse(moments[i].text), moments[i].seconds);
}

TEST(other_texts_are_no_moments)
{
	static const char *const texts[] = {
		"",
		"-",
		"--1h",
		"-1y",
		"-h",
		"-d",
		"-1.5d",
		"-9999d",
		"@",
		"@x",
		"@-1",
		"24:00",
		"3:12",
		"03:60",
		"03:12:60",
		"03:12 ",
		"03-12",
		"2026-13-01",
		"2026-02-30",
		"2026-11-23 ",
		"2026-11-23x",
		"26-11-23",
		"yesterday",
		"NOW",
		"2026-11-23 03:12:05+01:00",
	};
	size_t i;

	set_zone("UTC0");
	for (i = 0; i < ARRAY_SIZE(texts); i++)
		CHECK_EQ(parse(texts[i]), -EINVAL);
}

TEST(local_times_are_those_of_the_zone)
{
	set_zone("CET-1");
	CHECK_EQ(parse("04:12"), NOW);
	CHECK_EQ(parse("2026-11-23 04:12"), NOW);
	CHECK_EQ(parse("2026-11-23T03:12Z"), NOW);
	CHECK_EQ(parse("04:13"), NOW + 60 - DAY);
}

TEST(a_time_of_day_is_before_the_other_end)
{
	uint64_t from, to;

	set_zone("UTC0");
	CHECK_EQ(moment_parse_range("03:00", "04:00", NOW * NS_PER_SEC, &from, &to), 0);
	CHECK_EQ(to / NS_PER_SEC, NOW - DAY + 48 * 60); /* today's is to come */
	CHECK_EQ(from / NS_PER_SEC, NOW - DAY - 12 * 60);
	CHECK_EQ(moment_parse_range("23:00", "01:00", NOW * NS_PER_SEC, &from, &to), 0);
	CHECK_EQ((to - from) / NS_PER_SEC, 7200);
	CHECK_EQ(moment_parse_range("-1h", "now", NOW * NS_PER_SEC, &from, &to), 0);
	CHECK_EQ((to - from) / NS_PER_SEC, 3600);
	CHECK_EQ(moment_parse_range("x", "now", NOW * NS_PER_SEC, &from, &to), -EINVAL);
	CHECK_EQ(moment_parse_range("-1h", "x", NOW * NS_PER_SEC, &from, &to), -EINVAL);
}

TEST(times_are_printed)
{
	char text[MOMENT_BYTES];

	set_zone("UTC0");
	CHECK_STR(moment_text(text, NOW * NS_PER_SEC + 999999999), "2026-11-23 03:12:00");
	CHECK_STR(moment_text(text, 0), "1970-01-01 00:00:00");
}
