/* format/svg and what it is made of. The golden has all but the script, which a browser tests. */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/flame_style.h"
#include "format/palette.h"
#include "format/palette_map.h"
#include "format/svg.h"
#include "format/svg_text.h"
#include "profile/categories.h"
#include "profile/comparison.h"
#include "profile/difference.h"
#include "profile/profile_values.h"
#include "unit/make_profile.h"

static char *draw_with(const struct profile *profile, const struct format_options *options)
{
	char *text = NULL, *script;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	CHECK_EQ(svg_write(profile, options, out), 0);
	(void)fclose(out);
	script = strstr(text, "<script>");
	CHECK(script != NULL);
	*script = '\0';
	return text;
}

/* What is written, up to the script; to be freed. */
static char *draw(const struct profile *profile, const struct flame_style *style,
		  const struct categories *categories)
{
	const struct format_options options = {
		.labels = LABEL_COMM, .flame = style, .categories = categories};

	return draw_with(profile, &options);
}

static struct profile *make_lines(const char *const *lines)
{
	struct profile *profile = profile_new();

	for (; *lines; lines++)
		(void)make_sample(profile, *lines);
	return profile;
}

static size_t count_of(const char *text, const char *part)
{
	size_t nr = 0;

	for (; (text = strstr(text, part)); text++)
		nr++;
	return nr;
}

static const char *const server_lines[] = {
	"server;main;handle;parse_[i];libc.so.6!memcpy 40",
	"server;main;handle;parse_[i] 20",
	"server;main;handle;libc.so.6!write;do_syscall_64_[k];ksys_write_[k];vfs_write_[k] 30",
	"server;main;!run_[j] 9",
	"worker;[missed];kthread_[k] 1",
	NULL,
};

static void check_golden(const char *path, const char *text)
{
	cleanup_free char *golden = calloc(1, 1 << 20);
	cleanup_file FILE *file = fopen(path, getenv("BLESS") ? "w" : "r");

	CHECK(file && golden);
	if (getenv("BLESS")) {
		CHECK(fputs(text, file) >= 0);
		return;
	}
	(void)fread(golden, 1, (1 << 20) - 1, file);
	CHECK_STR(text, golden);
}

TEST(golden_svg)
{
	struct profile *profile = make_lines(server_lines);
	struct profile_origin origin = {.duration_ns = 2500000000};
	cleanup_free char *text = NULL;

	origin.event = (uint32_t)profile_add_string(profile, "cpu-clock");
	profile_set_origin(profile, &origin);
	text = draw(profile, NULL, NULL);
	check_golden("tests/golden/flame.svg", text);
	profile_free(profile);
}

TEST(svg_has_a_box_for_each_node)
{
	struct profile *profile = make_lines(server_lines);
	cleanup_free char *text = draw(profile, NULL, NULL);

	CHECK_EQ(count_of(text, "<title>"), 14);
	CHECK(strstr(text, "<title>all (100 samples, 100.00%)</title>") != NULL);
	CHECK(strstr(text, "<title>memcpy (40 samples, 40.00%)\nlibc.so.6</title>") != NULL);
	CHECK_EQ(count_of(text, "</svg>"), 1); /* the outer one ends behind the script */
	profile_free(profile);
}

TEST(svg_escapes)
{
	const char *const lines[] = {
		"a\"b;<&>']]>;\xff\xc3(;\x01tab\t;\xef\xbf\xbf;Gr\xc3\xb6\xc3\x9f"
		"e 3",
		NULL};
	const struct flame_style style = {.title = "<&\">",
					  .subtitle = "]]>",
					  .notes = "--><x>\x1b",
					  .countname = "\"<",
					  .nametype = "\"onload=\"",
					  .fonttype = "\"><script>"};
	struct profile *profile = make_lines(lines);
	cleanup_free char *text = draw(profile, &style, NULL);
	const char *at;

	CHECK(strstr(text, "&lt;&amp;&gt;&#39;]]&gt;") != NULL);
	CHECK(strstr(text, "\xef\xbf\xbd\xef\xbf\xbd(") != NULL);
	CHECK(strstr(text, "Gr\xc3\xb6\xc3\x9f") != NULL);
	CHECK(strstr(text, "data-name=\"&quot;onload=&quot;\"") != NULL);
	CHECK(!strstr(text, "<script>") && !strstr(text, "]]>") && !strstr(text, "<x>"));
	for (at = text; *at; at++)
		CHECK((unsigned char)*at >= ' ' || *at == '\n');
	profile_free(profile);
}

TEST(svg_styles)
{
	struct profile *profile = make_lines(server_lines);
	struct flame_style style = {.minwidth_percent = 15, .width = 500, .height = 20};
	char *text = draw(profile, &style, NULL);

	CHECK(strstr(text, "width=\"500\"") != NULL);
	CHECK(!strstr(text, "<title>run") && strstr(text, "<title>parse"));
	free(text);
	style = (struct flame_style){.inverted = true, .factor = 2.5, .countname = "bytes"};
	text = draw(profile, &style, NULL);
	CHECK(strstr(text, "Icicle Graph") != NULL);
	CHECK(strstr(text, "<title>parse (150 bytes, 60.00%)") != NULL);
	free(text);
	style = (struct flame_style){.reverse = true, .palette = palette_by_name("hot")};
	text = draw(profile, &style, NULL);
	CHECK(strstr(text, "<title>memcpy (40 samples, 40.00%)") <
	      strstr(text, "<title>server (40 samples, 40.00%)"));
	CHECK(strstr(text, "<g id=\"legend\">\n</g>") != NULL);
	free(text);
	profile_free(profile);
}

TEST(svg_is_wider_than_all_there_is)
{
	struct profile *profile = make_lines(server_lines);
	const struct flame_style style = {.total = 200};
	cleanup_free char *text = draw(profile, &style, NULL);

	CHECK(strstr(text, "width=\"49.5%\"") != NULL); /* the server's 99 */
	profile_free(profile);
}

TEST(svg_keeps_colors)
{
	struct profile *profile = make_lines(server_lines);
	struct palette_map map = {0};
	const struct flame_style style = {.palette_map = &map};
	char *text;

	CHECK_EQ(palette_map_add(&map, "memcpy", (struct color){1, 2, 3}), 0);
	text = draw(profile, &style, NULL);
	CHECK(strstr(strstr(text, "<title>memcpy"), "fill=\"#010203\"/>") != NULL);
	CHECK(palette_map_find(&map, "vfs_write") != NULL);
	free(text);
	palette_map_clear(&map);
	profile_free(profile);
}

/* parse was a third, is much more now; gone() is gone, fresh() is new. */
static struct profile *make_difference(void)
{
	const char *const lines[] = {"app;main;parse 6000", "app;main;same 3000", "app;fresh 1000",
				     "app;gone 0", NULL};
	const uint64_t before[] = {3000, 3000, 0, 3000};
	struct profile *profile = make_lines(lines);
	struct value_type type = {0};
	uint32_t i;

	type.type = (uint32_t)profile_add_string(profile, DIFFERENCE_BEFORE);
	type.unit = (uint32_t)profile_add_string(profile, "count");
	CHECK_EQ(profile_add_value_type(profile, &type), 1);
	for (i = 0; i < 4; i++)
		CHECK_EQ(profile_add_value(profile, i, 1, before[i]), 0);
	return profile;
}

TEST(svg_of_a_difference)
{
	struct profile *profile = make_difference();
	struct flame_style style = {.negate = false};
	char *text = draw(profile, &style, NULL);

	CHECK(strstr(text, "Differential Flame Graph") != NULL);
	CHECK(strstr(text, "<title>gone (0 samples, 0.00%)\nbefore 33.33%, after 0.00%: -33.33%"));
	CHECK(strstr(text, ", gone\n") && strstr(text, ", new\n"));
	CHECK(strstr(strstr(text, "<title>gone"), "stroke-dasharray=\"3,2\"/>") != NULL);
	CHECK(strstr(text, "fill=\"#4880f0\"") && !strstr(text, "fill=\"#e84030\""));
	free(text);
	style.negate = true;
	text = draw(profile, &style, NULL);
	CHECK(!strstr(text, "fill=\"#4880f0\"") && strstr(text, "fill=\"#e84030\""));
	free(text);
	profile_free(profile);
}

static char *draw_compared(const struct profile *profile, const char *before, const char *after)
{
	const struct comparison_style comparison = {.before_name = before, .after_name = after};
	const struct format_options options = {.labels = LABEL_COMM, .comparison = &comparison};

	return draw_with(profile, &options);
}

TEST(svg_of_a_difference_says_of_what)
{
	struct profile *profile = make_difference();
	char *text = draw_compared(profile, "/tmp/old<.folded", "new.folded");

	CHECK(strstr(text,
		     ">Differential Flame Graph: old&lt;.folded \xe2\x86\x92 new.folded</text>"));
	CHECK(strstr(text, ">maybe by chance</text>") &&
	      strstr(text, ">width: before and after together</text>"));
	free(text);
	text = draw_compared(profile, "a/x.folded", "b/x.folded");
	CHECK(strstr(text, ": a/x.folded \xe2\x86\x92 b/x.folded</text>") != NULL);
	free(text);
	profile_free(profile);
}

TEST(svg_of_a_difference_is_as_sure_as_was_asked_for)
{
	struct profile *profile = make_difference();
	struct comparison_style comparison = {.sigma = 1000};
	const struct format_options options = {.labels = LABEL_COMM, .comparison = &comparison};
	char *text = draw_with(profile, &options);

	CHECK(!strstr(text, ", more") && !strstr(text, ", new") && !strstr(text, ", gone"));
	free(text);
	comparison = (struct comparison_style){
		.by_time = true, .before_seconds = 10, .after_seconds = 20};
	text = draw_with(profile, &options);
	CHECK(strstr(text,
		     "<title>same (3,000 samples, 30.00%)\nbefore 300/s, after 150/s: -150/s"));
	free(text);
	profile_free(profile);
}

TEST(svg_by_category)
{
	const char table[] = "copies: memcpy*\nserver: handle parse\n";
	struct error error = {0};
	struct categories *categories = categories_parse(table, strlen(table), &error);
	struct profile *profile = make_lines(server_lines);
	char *text;

	CHECK(categories != NULL);
	text = draw(profile, NULL, categories);
	CHECK(strstr(text, ">copies</text>") && strstr(text, ">server</text>"));
	/* What has none is its caller's; the heaviest has the first colour. */
	CHECK(strstr(strstr(text, "<title>vfs_write"), "fill=\"#f0965a\"/>") != NULL);
	CHECK(strstr(strstr(text, "<title>memcpy"), "fill=\"#78b4eb\"/>") != NULL);
	CHECK(strstr(text, ">server</text>") < strstr(text, ">copies</text>"));
	CHECK(strstr(text, ">copies</text>") < strstr(text, ">other</text>"));
	free(text);
	categories_free(categories);
	profile_free(profile);
}

TEST(svg_of_nothing)
{
	struct profile *profile = profile_new();
	cleanup_free char *text = draw(profile, NULL, NULL);

	CHECK(strstr(text, "<title>all (0 samples, 0.00%)</title>") != NULL);
	profile_free(profile);
}

TEST(svg_tells_of_a_full_disk)
{
	struct profile *profile = make_lines(server_lines);
	const struct format_options options = {.labels = LABEL_COMM};
	FILE *out = fopen("/dev/full", "w");

	CHECK_EQ(svg_write(profile, &options, out), -ENOSPC);
	(void)fclose(out);
	profile_free(profile);
}

TEST(svg_survives_failing_allocations)
{
	struct profile *profile = make_lines(server_lines);
	const struct format_options options = {.labels = LABEL_COMM};
	FILE *out = fopen("/dev/null", "w");
	int result = -ENOMEM;
	size_t nth;

	setvbuf(out, NULL, _IONBF, 0);
	for (nth = 1; result == -ENOMEM; nth++) {
		(void)test_fail_allocation(nth);
		result = svg_write(profile, &options, out);
		(void)test_fail_allocation(0);
		CHECK(nth < 1000);
	}
	CHECK_EQ(result, 0);
	(void)fclose(out);
	profile_free(profile);
}

static void check_number(double number, unsigned decimals, const char *wanted)
{
	char *text = NULL;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	svg_number(out, number, decimals);
	(void)fclose(out);
	CHECK_STR(text, wanted);
	free(text);
}

TEST(svg_numbers)
{
	check_number(0, 6, "0");
	check_number(12.5, 6, "12.5");
	check_number(1.0 / 3, 6, "0.333333");
	check_number(99.9999999, 6, "100");
	check_number(10, 0, "10");
	check_number(100.04, 1, "100");
	check_number(-1, 3, "0");
	check_number(0.000001, 6, "0.000001");
}

static void check_cut(const char *text, size_t characters, const char *wanted)
{
	char *written = NULL;
	size_t nr;
	FILE *out = open_memstream(&written, &nr);

	svg_text_cut(out, text, characters);
	(void)fclose(out);
	CHECK_STR(written, wanted);
	free(written);
}

TEST(svg_texts_are_cut)
{
	check_cut("abcdef", 6, "abcdef");
	check_cut("abcdef", 5, "abc..");
	check_cut("a<cdef", 5, "a&lt;c..");
	check_cut("\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6", 3, "\xc3\xb6..");
	check_cut("\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6", 4, "\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6");
}
