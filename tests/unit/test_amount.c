/* view/amount: sums in other tools' units; see test_report.c for stook's own. */
#include "unit/test.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/format.h"
#include "unit/make_profile.h"
#include "view/amount.h"

static struct profile *make_sum(const char *type, const char *unit, const char *line)
{
	struct profile *profile = profile_new();
	const struct profile_origin origin = {.period = 1};

	profile_set_origin(profile, &origin);
	set_main_value(profile, type, unit);
	(void)make_sample(profile, line);
	return profile;
}

/* Checks every text of a sum, and its column's heading and number. */
static void check_sum(const char *unit, const char *line, const char *total, const char *heading,
		      const char *number)
{
	struct profile *profile = make_sum("wait", unit, line);
	char buffer[AMOUNT_BYTES], number_buffer[NUMBER_COMMAS_BYTES];
	uint64_t count = profile_total(profile);

	CHECK_STR(amount_total(profile, count, buffer), total);
	CHECK_STR(amount_heading(profile), heading);
	CHECK_STR(amount_number(profile, count, number_buffer), number);
	profile_free(profile);
}

TEST(amount_knows_times_however_they_are_spelt)
{
	check_sum("ns", "a;f 5007", "5.007 us of ", "sum, ns", "5,007");
	check_sum("us", "a;f 5007", "5.007 ms of ", "sum, us", "5,007");
	check_sum("microseconds", "a;f 5007", "5.007 ms of ", "sum, us", "5,007");
	check_sum("\xc2\xb5s", "a;f 5007", "5.007 ms of ", "sum, us", "5,007");
	check_sum("\xce\xbcs", "a;f 5007", "5.007 ms of ", "sum, us", "5,007");
	check_sum("ms", "a;f 5007", "5.007 s of ", "sum, ms", "5,007");
	check_sum("seconds", "a;f 71", "71.000 s of ", "sum, ms", "71,000");
	check_sum("B", "a;f 4096", "4,096 bytes of ", "sum, bytes", "4,096");
}

TEST(amount_has_no_time_that_is_too_long)
{
	check_sum("s", "a;f 18446744074", "18,446,744,074 s, the sum of ", "sum", "18,446,744,074");
}

TEST(amount_keeps_units_of_others)
{
	check_sum("hours", "a;f 71", "71 hours, the sum of ", "sum", "71");
	check_sum("megabytes", "a;f 5007", "5,007 megabytes, the sum of ", "sum", "5,007");
	check_sum("%s%n", "a;f 5", "5 %s%n, the sum of ", "sum", "5");
	check_sum("\x1b[1m\xff", "a;f 5", "5 ?[1m?, the sum of ", "sum", "5");
	check_sum("123456789012345678901234567", "a;f 5",
		  "5 123456789012345678901234.., the sum of ", "sum", "5");
}

TEST(amount_leaves_out_what_only_counts)
{
	check_sum("count", "a;f 5007", "5,007, the sum of ", "sum", "5,007");
	check_sum("wait", "a;f 5007", "5,007, the sum of ", "sum", "5,007");
}

TEST(amount_of_one_event_of_several)
{
	check_sum("samples", "a;f 5007", "5,007 samples of ", "samples", "5,007");
}

TEST(amount_of_a_foreign_unit_is_text_in_markdown)
{
	struct profile *profile = make_sum("wait", "<b>*", "a;f 5007");
	const struct format_options options = {.labels = LABEL_COMM};
	cleanup_free char *text = NULL;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	CHECK_EQ(format_by_name("md")->write(profile, &options, out), 0);
	(void)fclose(out);
	CHECK(strstr(text, "### 5,007 \\<b\\>\\*, the sum of wait\n") != NULL);
	profile_free(profile);
}
