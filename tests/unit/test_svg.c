/* format/flame/svg and its parts, without the script, which is tested in a browser. */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/flame/flame.h"
#include "format/flame/palette.h"
#include "profile/profile.h"
#include "unit/make_profile.h"
#include "view/categories.h"
#include "view/diff/comparison.h"
#include "view/diff/difference.h"

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

/* Returns the SVG up to the script; the caller frees it. */
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
	(void)!fread(golden, 1, (1 << 20) - 1, file);
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
	CHECK_EQ(count_of(text, "</svg>"), 1); /* the outer one ends after the script */
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

	CHECK(strstr(text, "width=\"49.5%\"") != NULL); /* 99 samples of server */
	CHECK(strstr(text, "<title>server (99 samples, 49.50%)</title>") != NULL);
	CHECK(strstr(text, "<title>all (200 samples, 100.00%)</title>") != NULL);
	CHECK(strstr(text, ">100 samples; the full width represents 200 samples</text>") != NULL);
	CHECK(!svg_ignores_total(profile, &style));
	profile_free(profile);
}

TEST(svg_is_not_less_wide_than_all_there_is)
{
	struct profile *profile = make_lines(server_lines);
	const struct flame_style style = {.total = 99}, none = {.total = 0};
	cleanup_free char *text = draw(profile, &style, NULL);
	cleanup_free char *plain = draw(profile, &none, NULL);

	CHECK_STR(text, plain);
	CHECK(svg_ignores_total(profile, &style) && !svg_ignores_total(profile, &none));
	profile_free(profile);
}

static void count_sum(struct profile *profile, const char *type, const char *unit)
{
	const struct profile_origin origin = {.period = 1};

	profile_set_origin(profile, &origin);
	set_main_value(profile, type, unit);
}

/* Weights with two decimals: the total has the unit of the input. */
TEST(svg_total_is_of_weights_as_they_were_read)
{
	struct profile *profile = make_lines(server_lines);
	const struct flame_style style = {.total = 2}, less = {.total = 0.5};
	char *text;

	count_sum(profile, "weight", "1/100");
	text = draw(profile, &style, NULL);
	CHECK(strstr(text, "width=\"49.5%\"") != NULL);
	CHECK(strstr(text, ">1, the sum of weight; the full width represents 2,"));
	CHECK(!svg_ignores_total(profile, &style) && svg_ignores_total(profile, &less));
	free(text);
	profile_free(profile);
}

TEST(svg_says_what_a_sum_is_of)
{
	struct profile *profile = make_lines(server_lines);
	const struct flame_style style = {.countname = "x"};
	char *text;

	count_sum(profile, "wait", "<hours>");
	text = draw(profile, NULL, NULL);
	CHECK(strstr(text, ">100 &lt;hours&gt;, the sum of wait</text>") != NULL);
	CHECK(strstr(text, "<title>all (100 &lt;hours&gt;, 100.00%)</title>") != NULL);
	free(text);
	text = draw(profile, &style, NULL);
	CHECK(strstr(text, ">100 x</text>") != NULL);
	free(text);
	profile_free(profile);
}

/* parse had a third and has much more now; gone() disappears, fresh() is new. */
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
	CHECK(strstr(text, ">9,000 samples before, 10,000 samples after</text>") != NULL);
	CHECK(strstr(text, ">within noise</text>") &&
	      strstr(text, ">width: before plus after</text>"));
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

/* style.total is twice the number of samples after: all boxes are half as wide. */
TEST(svg_of_a_difference_may_be_wider)
{
	struct profile *profile = make_difference();
	const struct flame_style style = {.total = 20000};
	cleanup_free char *text = draw(profile, &style, NULL);

	CHECK(strstr(text, "<title>all (20,000 samples, 100.00%)") != NULL);
	CHECK(strstr(strstr(text, "<title>app (10,000 samples, 50.00%)"), " width=\"50%\""));
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
	/*
	 * vfs_write has no category of its own and gets its caller's; the heaviest category has the
	 * first colour.
	 */
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
