/* view/diff/comparison: the text for people and the formats for programs. */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "format/text/sheet_write.h"
#include "profile/profile.h"
#include "unit/make_profile.h"
#include "view/diff/comparison.h"

static const struct {
	const char *stack;
	uint64_t before, after;
} stacks[] = {
	{"redis;main;call;crc64", 1000, 1500},
	{"redis;main;call", 4000, 4000},
	{"redis;main;libc.so!free", 300, 0},
	{"redis;main;\033[31mred|`x`", 0, 200},
	{"redis;main;libc.so!memcpy;copy_page_[k]", 700, 720},
	{"redis;main;poll", 4000, 3580},
};

static struct profile *make_difference(void)
{
	struct profile *profile = profile_new();
	struct value_type type = {0};
	char line[256];
	size_t i;

	type.type = (uint32_t)profile_add_string(profile, DIFFERENCE_BEFORE);
	CHECK_EQ(profile_add_value_type(profile, &type), 1);
	for (i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
		uint32_t sample;

		(void)snprintf(line, sizeof(line), "%s 0", stacks[i].stack);
		sample = (uint32_t)make_sample(profile, line);
		CHECK_EQ(profile_add_value(profile, sample, 0, stacks[i].after), 0);
		CHECK_EQ(profile_add_value(profile, sample, 1, stacks[i].before), 0);
	}
	return profile;
}

static int write_difference(const struct profile *profile, enum media medium,
			    const struct sheet_style *options, const struct comparison_style *style,
			    FILE *out)
{
	struct sheet sheet = {0};
	int err = comparison_sheet_fill(&sheet, profile, style);

	if (!err)
		err = sheet_write(&sheet, medium, options, out);
	sheet_clear(&sheet);
	return err;
}

static char *write_text(enum media medium, struct sheet_style options,
			struct comparison_style style)
{
	static char *text; /* static: gcc 12 warns about a large one on the stack */
	struct profile *profile = make_difference();
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	style.labels = LABEL_COMM;
	CHECK_EQ(write_difference(profile, medium, &options, &style, out), 0);
	(void)fclose(out);
	profile_free(profile);
	return text;
}

static size_t widest_line(const char *text)
{
	size_t widest = 0;

	while (*text) {
		char line[1024] = "";
		size_t nr = strcspn(text, "\n");

		memcpy(line, text, nr < sizeof(line) - 1 ? nr : sizeof(line) - 1);
		if (text_columns(line) > widest)
			widest = text_columns(line);
		text += nr + (text[nr] == '\n');
	}
	return widest;
}

TEST(comparison_shows_what_changed)
{
	char *text = write_text(MEDIA_TEXT, (struct sheet_style){.width = 100},
				(struct comparison_style){.before_name = "a", .after_name = "b"});

	CHECK(strstr(text, "before  a  10,000 samples\n"));
	CHECK(strstr(text, "  10.00%   15.00%  +5.00 ±   0.47  10.69    +50%  crc64"));
	CHECK(strstr(text, "   3.00%    0.00%  -3.00 ±   0.17  20.31    GONE  free"));
	CHECK(strstr(text, "NEW  ?[31mred|`x`"));
	CHECK(!strchr(text, '\033'));
	CHECK(strstr(text, "others, within noise:\n   7.00%    7.20%  +0.20"));
	CHECK(strstr(text, "redis › main"));
	free(text);
}

/* Checks a table, up to an empty line: changed rows first, then the unchanged ones. */
static void check_sigmas(const char *table, double least)
{
	size_t end = (size_t)(strstr(table, "SIGMA") + strlen("SIGMA") - table);
	bool is_changed = true;
	const char *row;

	for (row = strchr(table, '\n') + 1; *row != '\n'; row = strchr(row, '\n') + 1) {
		double sigma = strtod(row + end - 6, NULL);
		char text[256];

		(void)snprintf(text, sizeof(text), "%.*s", (int)strcspn(row, "\n"), row);
		if (strstr(text, "others, within noise:"))
			is_changed = false;
		else
			CHECK(is_changed ? sigma >= least : sigma < least);
	}
	CHECK(!is_changed);
}

TEST(comparison_shows_the_sigma_that_decides)
{
	char *text = write_text(MEDIA_TEXT, (struct sheet_style){.width = 120, .ascii = true},
				(struct comparison_style){0});
	const char *foot = strstr(text, "Listed as changed if SIGMA >= ");

	CHECK(foot && strstr(text, "+-: uncertainty of the change"));
	check_sigmas(strstr(text, "  BEFORE"), strtod(foot + 30, NULL));
	free(text);
	text = write_text(MEDIA_TEXT, (struct sheet_style){.width = 79, .ascii = true},
			  (struct comparison_style){0});
	CHECK(strstr(text, "  10.00%   15.00%   +5.00  10.69  crc64") && !strstr(text, "+-"));
	free(text);
}

TEST(comparison_tells_no_modules_where_a_side_has_none)
{
	struct profile *profile = make_profile("a;main;libb.so! 5\n");
	struct value_type type = {0};
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	type.type = (uint32_t)profile_add_string(profile, DIFFERENCE_BEFORE);
	CHECK_EQ(profile_add_value_type(profile, &type), 1);
	CHECK_EQ(profile_add_value(profile, (uint32_t)make_sample(profile, "a;main;! 0"), 1, 5), 0);
	CHECK_EQ(write_difference(profile, MEDIA_CSV, &(struct sheet_style){0},
				  &(struct comparison_style){.no_modules = true}, out),
		 0);
	(void)fclose(out);
	CHECK(strstr(text, "\"[unknown]\",") && strstr(text, ",5,5,1,1,0,"));
	CHECK(!strstr(text, "[unknown] ("));
	free(text);
	profile_free(profile);
}

TEST(comparison_is_as_wide_as_asked)
{
	static const unsigned widths[] = {20, 60, 79, 80, 100, 140};
	size_t i;

	for (i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		char *text = write_text(MEDIA_TEXT,
					(struct sheet_style){.width = widths[i], .ascii = true},
					(struct comparison_style){.sigma = 3});
		CHECK(widest_line(text) <= (widths[i] < 60 ? 60 : widths[i]));
		free(text);
	}
}

TEST(comparison_of_plain_characters)
{
	char *text = write_text(MEDIA_TEXT, (struct sheet_style){.ascii = true},
				(struct comparison_style){.order = DIFFERENCE_TOTAL});
	const char *at;

	for (at = text; *at; at++)
		CHECK((unsigned char)*at < 0x80);
	free(text);
	text = write_text(MEDIA_TEXT, (struct sheet_style){.color = true},
			  (struct comparison_style){.sigma = 3});
	CHECK(strstr(text, "\033[31m  10.00%") && strstr(text, "\033[90m"));
	free(text);
}

TEST(comparison_has_rates)
{
	char *text =
		write_text(MEDIA_TEXT, (struct sheet_style){.width = 100},
			   (struct comparison_style){
				   .by_time = true, .before_seconds = 10, .after_seconds = 20});

	CHECK(strstr(text, " 100.00    75.00   -25.00 ±"));
	CHECK(strstr(text, "numbers are per second"));
	free(text);
}

TEST(comparison_as_json)
{
	char *text = write_text(MEDIA_JSON, (struct sheet_style){0},
				(struct comparison_style){.before_name = "a\"b"});

	CHECK(strstr(text,
		     "\"before\": {\"name\": \"a\\\"b\", \"count\": 10000, \"seconds\": null}"));
	CHECK(strstr(text, "\"name\": \"free\", \"module\": \"libc.so\""));
	CHECK(strstr(text,
		     "\"before\": 300, \"after\": 0, \"before_share\": 0.03, \"after_share\": 0"));
	CHECK(strstr(text, "\"kind\": \"gone\""));
	CHECK(strstr(text, "\"path\": [\"redis\", \"main\", \"call\", \"crc64\"]"));
	free(text);
}

TEST(comparison_as_csv_and_markdown)
{
	char *text = write_text(MEDIA_CSV, (struct sheet_style){0}, (struct comparison_style){0});

	CHECK(strstr(text, "name,module,self_before,self_after,self_before_share"));
	CHECK(strstr(text, "\r\n\"free\",\"libc.so\",300,0,0.03,0,-0.03,"));
	free(text);
	text = write_text(MEDIA_MARKDOWN, (struct sheet_style){0}, (struct comparison_style){0});
	CHECK(strstr(text, "| 10.00% | 15.00% | +5.00 ± 0.47 | 10.69 | +50% | `crc64` |\n"));
	CHECK(strstr(text, "| NEW | `` ?[31mred\\|`x` `` |\n"));
	free(text);
}

TEST(comparison_writers_tell_what_fails)
{
	static const enum media media[] = {MEDIA_TEXT, MEDIA_JSON, MEDIA_CSV, MEDIA_MARKDOWN};
	const struct comparison_style style = {.labels = LABEL_COMM};
	const struct sheet_style options = {0};
	struct profile *profile = make_difference(), *one = profile_new();
	size_t i, nth;
	int err;

	(void)make_sample(one, "x;a 1");
	for (i = 0; i < sizeof(media) / sizeof(media[0]); i++) {
		FILE *full = fopen("/dev/full", "w");
		FILE *out = fopen("/dev/null", "w");

		CHECK(write_difference(profile, media[i], &options, &style, full) < 0);
		CHECK_EQ(write_difference(one, media[i], &options, &style, out), -EINVAL);
		for (nth = 1, err = -ENOMEM; err; nth++) {
			(void)test_fail_allocation(nth);
			err = write_difference(profile, media[i], &options, &style, out);
			(void)test_fail_allocation(0);
			CHECK(!err || err == -ENOMEM);
		}
		(void)fclose(full);
		(void)fclose(out);
	}
	profile_free(profile);
	profile_free(one);
}
