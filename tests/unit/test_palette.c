/* format/flame/palette. */
#include "unit/test.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/flame/palette.h"

static struct color color_of(const char *palette, const char *name, enum word_kind kind)
{
	CHECK(palette_by_name(palette) != NULL);
	return palette_color(palette_by_name(palette), name, kind, variate_by_name(name));
}

/* Colour ranges are recognised by the strongest component. */
static bool is_green(struct color color)
{
	return color.green > color.red && color.green > color.blue;
}

static bool is_red(struct color color)
{
	return color.red > color.green && color.red > color.blue && color.green == color.blue;
}

static bool is_aqua(struct color color)
{
	return color.green == color.blue && color.green > color.red;
}

static bool is_yellow(struct color color)
{
	return color.red == color.green && color.red > color.blue;
}

static bool is_orange(struct color color)
{
	return color.red > color.green && color.green > color.blue && color.blue == 0;
}

static bool is_blue(struct color color)
{
	return color.blue > color.green && color.blue > color.red;
}

TEST(palette_shows_the_states_of_threads)
{
	CHECK(is_red(color_of("kind", "[running]", WORD_USER)));
	CHECK(is_yellow(color_of("kind", "[runnable]", WORD_USER)));
	CHECK(is_blue(color_of("kind", "[sleeping]", WORD_USER)));
	CHECK(!is_blue(color_of("kind", "[unknown]", WORD_USER)));
}

TEST(palettes_have_the_names_that_people_know)
{
	const char *names[] = {"hot",  "mem",  "io",	 "wakeup", "chain",
			       "java", "js",   "perl",	 "red",	   "green",
			       "blue", "aqua", "yellow", "purple", "orange"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		CHECK(palette_by_name(names[i]) != NULL);
		CHECK(strstr(palette_names(), names[i]) != NULL);
	}
	CHECK(palette_by_name("kind") == palette_of_kinds());
	CHECK(!palette_by_name("") && !palette_by_name("hotter"));
}

TEST(java_palette)
{
	CHECK(is_green(color_of("java", "Lorg/app/Main;::run_[j]", WORD_USER)));
	CHECK(is_green(color_of("java", "java/lang/String:::hashCode", WORD_USER)));
	CHECK(is_green(color_of("java", "anything", WORD_RUN_TIME)));
	CHECK(is_aqua(color_of("java", "com/app/Inner:::f_[i]", WORD_USER)));
	CHECK(is_yellow(color_of("java", "JavaCalls::call_helper", WORD_USER)));
	CHECK(is_orange(color_of("java", "tcp_sendmsg_[k]", WORD_USER)));
	CHECK(is_orange(color_of("java", "tcp_sendmsg", WORD_KERNEL)));
	CHECK(is_red(color_of("java", "read", WORD_USER)));
}

TEST(js_and_perl_palettes)
{
	CHECK(is_green(color_of("js", "LazyCompile:~run /srv/app.js:5_[j]", WORD_USER)));
	CHECK(is_aqua(color_of("js", "Builtin:Map_[j]", WORD_USER)));
	CHECK(is_aqua(color_of("js", "Builtin:Map", WORD_USER)));
	CHECK(is_yellow(color_of("js", "node::Start", WORD_USER)));
	CHECK(is_orange(color_of("js", "read_[k]", WORD_USER)));
	CHECK(is_red(color_of("js", "uv_run", WORD_USER)));
	CHECK(is_green(color_of("perl", "Perl_pp_entersub", WORD_USER)));
	CHECK(is_yellow(color_of("perl", "App::run", WORD_USER)));
	CHECK(is_red(color_of("perl", "malloc", WORD_USER)));
}

TEST(plain_palettes)
{
	CHECK(is_aqua(color_of("wakeup", "f", WORD_USER)));
	CHECK(is_aqua(color_of("chain", "f_[w]", WORD_USER)));
	CHECK(is_blue(color_of("chain", "f", WORD_USER)));
	CHECK(is_blue(color_of("io", "f", WORD_USER)));
	CHECK(color_of("mem", "f", WORD_USER).red == 0);
	CHECK(color_of("hot", "f", WORD_USER).red >= 205);
	CHECK_EQ(color_of("hot", "-", WORD_USER).red, color_of("hot", "--", WORD_USER).blue);
}

/* The same name has the same colour; not all names have the same. */
TEST(variates_follow_names)
{
	struct variate a = variate_by_name("tcp_sendmsg"), b = variate_by_name("tcp_recvmsg");
	struct variate c = variate_by_likeness("tcp_sendmsg");
	struct variate d = variate_by_likeness("tcp_sendpage");
	struct variate again = variate_by_name("tcp_sendmsg");

	CHECK(!memcmp(&a, &again, sizeof(a)));
	CHECK(memcmp(&a, &b, sizeof(a)) != 0);
	CHECK_EQ(c.parts[0], d.parts[0]);
	CHECK(memcmp(&c, &d, sizeof(c)) != 0);
	(void)variate_by_likeness("");
}

/* WCAG 2: the contrast of black text, which must be at least 4.5. */
static double contrast_to_black(struct color color)
{
	const double weights[] = {0.2126, 0.7152, 0.0722};
	const uint8_t parts[] = {color.red, color.green, color.blue};
	double luminance = 0;
	size_t i;

	for (i = 0; i < 3; i++) {
		double part = parts[i] / 255.0;

		luminance += weights[i] *
			     (part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4));
	}
	return (luminance + 0.05) / 0.05;
}

TEST(black_text_can_be_read)
{
	static const char *const states[] = {"[running]", "[runnable]", "[sleeping]",
					     "[blocked]", "[idle]",	"[stopped]"};
	size_t kind, i, k;

	for (k = 0; k < sizeof(states) / sizeof(*states); k++)
		for (i = 0; i < 1000; i++)
			CHECK(contrast_to_black(palette_color(palette_of_kinds(), states[k],
							      WORD_USER, variate_by_number(i))) >=
			      4.5);
	for (kind = 0; kind < NR_WORD_KINDS; kind++)
		for (i = 0; i < 1000; i++)
			CHECK(contrast_to_black(palette_color(palette_of_kinds(), "f",
							      (enum word_kind)kind,
							      variate_by_number(i))) >= 4.5);
	for (i = 0; i < 100; i++) {
		CHECK(contrast_to_black(palette_more((double)i / 99)) >= 4.5);
		CHECK(contrast_to_black(palette_less((double)i / 99)) >= 4.5);
		CHECK(contrast_to_black(palette_category(i)) >= 4.5);
	}
	CHECK(contrast_to_black(palette_unchanged()) >= 4.5);
}

TEST(backgrounds)
{
	struct background background;

	CHECK_EQ(background_parse("#102030", &background), 0);
	CHECK_EQ(background.top.red, 0x10);
	CHECK_EQ(background.bottom.blue, 0x30);
	CHECK_EQ(background_parse("blue", &background), 0);
	CHECK_EQ(background.bottom.blue, 255);
	CHECK_EQ(background_parse("#10203", &background), -EINVAL);
	CHECK_EQ(background_parse("#10203g", &background), -EINVAL);
	CHECK_EQ(background_parse("# 10203", &background), -EINVAL);
	CHECK_EQ(background_parse("", &background), -EINVAL);
	CHECK_EQ(palette_background(palette_by_name("mem")).bottom.green, 255);
}
