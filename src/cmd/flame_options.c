/* How flame graphs look; see flame_options.h. */
#include "cmd/flame_options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/flame/palette.h"

/* --- texts ----------------------------------------------------------------------------------- */

#define TAKE_TEXT(field)                                                               \
	static int take_##field(void *context, const char *value, struct error *error) \
	{                                                                              \
		struct flame_options *options = context;                               \
                                                                                       \
		options->style.field = value;                                          \
		return 0;                                                              \
	}

TAKE_TEXT(title)
TAKE_TEXT(subtitle)
TAKE_TEXT(notes)
TAKE_TEXT(countname)
TAKE_TEXT(nametype)
TAKE_TEXT(fonttype)

static int take_colors(void *context, const char *value, struct error *error)
{
	struct flame_options *options = context;

	options->style.palette = palette_by_name(value);
	if (options->style.palette)
		return 0;
	return error_set(error, -EINVAL, "bad value '%s' for --colors: one of %s", value,
			 palette_names());
}

static int take_bgcolors(void *context, const char *value, struct error *error)
{
	struct flame_options *options = context;
	struct background background;

	if (background_parse(value, &background) < 0)
		return option_bad(error, "--bgcolors", value,
				  "white, yellow, blue, green, grey, or #rrggbb");
	options->style.bgcolors = value;
	return 0;
}

/* --- numbers --------------------------------------------------------------------------------- */

/* Pictures that are larger than this are nobody's wish. */
#define MAX_PIXELS 100000

static int take_pixels(const char *option, const char *value, unsigned *ret, struct error *error)
{
	const struct option_number wanted = {option, 1, MAX_PIXELS, "a number of pixels"};
	uint64_t number;
	int err = option_take_number(&wanted, value, &number, error);

	if (err)
		return err;
	*ret = (unsigned)number;
	return 0;
}

static int take_width(void *context, const char *value, struct error *error)
{
	struct flame_options *options = context;

	return take_pixels("--width", value, &options->style.width, error);
}

static int take_height(void *context, const char *value, struct error *error)
{
	struct flame_options *options = context;

	return take_pixels("--height", value, &options->style.height, error);
}

/* A number above 0, with what may stand behind it. 0 or -EINVAL. */
static int parse_positive(const char *text, const char *behind, double *ret)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || strcmp(end, behind) != 0 || !isfinite(number) || number <= 0 ||
	    strspn(text, "0123456789.eE+-") != (size_t)(end - text))
		return -EINVAL;
	*ret = number;
	return 0;
}

static int take_minwidth(void *context, const char *value, struct error *error)
{
	struct flame_style *style = &((struct flame_options *)context)->style;

	style->minwidth = style->minwidth_percent = 0;
	if (parse_positive(value, "", &style->minwidth) < 0 &&
	    parse_positive(value, "%", &style->minwidth_percent) < 0)
		return option_bad(error, "--minwidth", value, "pixels (0.1) or a share (0.01%)");
	return 0;
}

static int take_fontsize(void *context, const char *value, struct error *error)
{
	struct flame_options *options = context;

	if (parse_positive(value, "", &options->style.fontsize) < 0 ||
	    options->style.fontsize > 1000)
		return option_bad(error, "--fontsize", value, "a number of pixels");
	return 0;
}

static int take_total(void *context, const char *value, struct error *error)
{
	struct flame_options *options = context;

	if (parse_positive(value, "", &options->style.total) < 0)
		return option_bad(error, "--total", value, "a count");
	return 0;
}

static int take_factor(void *context, const char *value, struct error *error)
{
	struct flame_options *options = context;

	if (parse_positive(value, "", &options->style.factor) < 0)
		return option_bad(error, "--factor", value, "a number above 0");
	return 0;
}

/* --- switches -------------------------------------------------------------------------------- */

static const struct option_row rows[] = {
	{0, "title", "TEXT", take_title, "above the graph; by default what was sampled"},
	{0, "subtitle", "TEXT", take_subtitle, "below the title; by default how many samples"},
	{0, "width", "PIXELS", take_width, "of the picture where no script runs; 1200"},
	{0, "height", "PIXELS", take_height, "of a frame; 16"},
	{0, "minwidth", "PIXELS", take_minwidth,
	 "leave narrower frames out; 0.1; N% of all also goes"},
	{0, "fonttype", "FONT", take_fonttype, "Verdana"},
	{0, "fontsize", "PIXELS", take_fontsize, "12"},
	{0, "countname", "NAME", take_countname, "what counts are of; by default the profile says"},
	{0, "nametype", "NAME", take_nametype, "what frames are; \"Function:\""},
	{0, "colors", "PALETTE", take_colors,
	 "kind (of frame; the default), hot, mem, io, wakeup, chain, java, js, perl, red, …"},
	{0, "bgcolors", "COLOR", take_bgcolors, "white, yellow, blue, green, grey, or #rrggbb"},
	OPTION_SWITCH(0, "hash", struct flame_options, style.hash,
		      "names that begin alike get colours alike"),
	OPTION_SWITCH(0, "random", struct flame_options, style.random, "colours by chance"),
	OPTION_SWITCH(0, "reverse", struct flame_options, style.reverse,
		      "merge stacks from the leaf"),
	OPTION_SWITCH(0, "inverted", struct flame_options, style.inverted,
		      "icicle graph: the root on top"),
	OPTION_SWITCH(0, "flamechart", struct flame_options, style.flamechart,
		      "stacks in the order of the input"),
	OPTION_SWITCH(0, "negate", struct flame_options, style.negate,
		      "of a difference: blue is more"),
	{0, "notes", "TEXT", take_notes, "a description in the file"},
	{0, "total", "COUNT", take_total,
	 "what the whole width stands for, if it is more than all"},
	{0, "factor", "N", take_factor, "multiply the counts shown"},
};

struct option_group flame_options_group(struct flame_options *options)
{
	return (struct option_group){rows, ARRAY_SIZE(rows), options};
}
