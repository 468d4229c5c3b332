/*
 * stook flame: draws existing profiles, recorded by stook or by other tools.
 *
 *	$ perf script | stook flame -o perf.svg
 *	$ stook flame monday.pb.gz tuesday.pb.gz -o week.svg -o week.html
 *	$ stook flame --colors java --inverted app.folded > app.svg
 *
 * Several inputs are merged into one graph. Any output format may be chosen, so this also converts
 * between formats.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file/out_file.h"
#include "run/complain.h"
#include "run/outputs.h"
#include "cmd/inputs.h"
#include "cmd/options/filter_options.h"
#include "cmd/options/option_table.h"
#include "cmd/options/output_options.h"
#include "format/flame/flame.h"
#include "format/flame/palette.h"
#include "view/amount.h"

/* --- how graphs look ------------------------------------------------------------------------- */

static int take_colors(void *context, const char *value, struct error *error)
{
	struct flame_style *style = context;

	style->palette = palette_by_name(value);
	if (style->palette)
		return 0;
	return error_set(error, -EINVAL, "bad value '%s' for --colors: one of %s", value,
			 palette_names());
}

static int take_bgcolors(void *context, const char *value, struct error *error)
{
	struct flame_style *style = context;
	struct background background;

	if (background_parse(value, &background) < 0)
		return option_bad(error, "--bgcolors", value,
				  "white, yellow, blue, green, grey, or #rrggbb");
	style->bgcolors = value;
	return 0;
}

/* Limit for dimensions: larger pictures are surely a mistake. */
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
	struct flame_style *style = context;

	return take_pixels("--width", value, &style->width, error);
}

static int take_height(void *context, const char *value, struct error *error)
{
	struct flame_style *style = context;

	return take_pixels("--height", value, &style->height, error);
}

/* Parses a number above 0 that is followed by the given suffix. Returns 0 or -EINVAL. */
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
	struct flame_style *style = context;

	style->minwidth = style->minwidth_percent = 0;
	if (parse_positive(value, "", &style->minwidth) < 0 &&
	    parse_positive(value, "%", &style->minwidth_percent) < 0)
		return option_bad(error, "--minwidth", value, "pixels (0.1) or a share (0.01%)");
	return 0;
}

static int take_fontsize(void *context, const char *value, struct error *error)
{
	struct flame_style *style = context;

	if (parse_positive(value, "", &style->fontsize) < 0 || style->fontsize > 1000)
		return option_bad(error, "--fontsize", value, "a number of pixels");
	return 0;
}

static int take_total(void *context, const char *value, struct error *error)
{
	struct flame_style *style = context;

	if (parse_positive(value, "", &style->total) < 0)
		return option_bad(error, "--total", value, "a count");
	return 0;
}

static int take_factor(void *context, const char *value, struct error *error)
{
	struct flame_style *style = context;

	if (parse_positive(value, "", &style->factor) < 0)
		return option_bad(error, "--factor", value, "a number above 0");
	return 0;
}

static const struct option_row style_rows[] = {
	OPTION_TEXT(0, "title", "TEXT", struct flame_style, title,
		    "title of the graph (default: what was sampled)"),
	OPTION_TEXT(0, "subtitle", "TEXT", struct flame_style, subtitle,
		    "below the title (default: number of samples)"),
	{0, "width", "PIXELS", take_width, "width of the picture without scripts (default 1200)"},
	{0, "height", "PIXELS", take_height, "height of a frame (default 16)"},
	{0, "minwidth", "PIXELS", take_minwidth,
	 "omit narrower frames: pixels, or N% of the total (default 0.1)"},
	OPTION_TEXT(0, "fonttype", "FONT", struct flame_style, fonttype, "font (default Verdana)"),
	{0, "fontsize", "PIXELS", take_fontsize, "font size (default 12)"},
	OPTION_TEXT(0, "countname", "NAME", struct flame_style, countname,
		    "unit of the counts (default: from the profile)"),
	OPTION_TEXT(0, "nametype", "NAME", struct flame_style, nametype,
		    "kind of the frames (default \"Function:\")"),
	{0, "colors", "PALETTE", take_colors,
	 "kind (of frame; default), hot, mem, io, wakeup, chain, java, js, perl, red, …"},
	{0, "bgcolors", "COLOR", take_bgcolors,
	 "background: white, yellow, blue, green, grey, or #rrggbb"},
	OPTION_SWITCH(0, "hash", struct flame_style, hash,
		      "similar colours for names with the same beginning"),
	OPTION_SWITCH(0, "random", struct flame_style, random, "random colours"),
	OPTION_SWITCH(0, "reverse", struct flame_style, reverse, "merge stacks from the leaf"),
	OPTION_SWITCH(0, "inverted", struct flame_style, inverted, "icicle graph: root at the top"),
	OPTION_SWITCH(0, "flamechart", struct flame_style, flamechart,
		      "stacks in the order of the input"),
	OPTION_SWITCH(0, "negate", struct flame_style, negate, "in a difference, blue is more"),
	OPTION_TEXT(0, "notes", "TEXT", struct flame_style, notes,
		    "description stored in the file"),
	{0, "total", "COUNT", take_total,
	 "count of the full width, if larger than the sum of all samples"},
	{0, "factor", "N", take_factor, "multiply displayed counts by N"},
};

struct flame {
	struct input_request request;
	struct flame_style style;
	struct output_options output;
	bool lines;
	struct inputs inputs;
	struct outputs outputs;
};

/* --- the command line ------------------------------------------------------------------------ */

static int take_by(void *context, const char *value, struct error *error)
{
	struct flame *flame = context;

	return label_keys_take(value, &flame->request.labels, error);
}

static const struct option_row rows[] = {
	{0, "by", "KEY,…", take_by,
	 "labels at the root: comm (default), pid, tid, cpu, cgroup, probe"},
	OPTION_TEXT(0, "categories", "FILE", struct flame, request.categories,
		    "colours by a table of 'category: pattern …' lines, or 'kernel' or 'waits' "
		    "(built in)"),
	OPTION_SWITCH(0, "lines", struct flame, lines,
		      "show source lines after names, where IN has them"),
};

static int parse(struct flame *flame, int argc, char **argv, struct error *error)
{
	const struct option_group groups[] = {
		output_options_group(&flame->output),
		{style_rows, ARRAY_SIZE(style_rows), &flame->style},
		filter_options_group(&flame->request.filter),
		input_options_group(&flame->request.options),
		{rows, ARRAY_SIZE(rows), flame},
		quiet_option_group(&flame->request.is_quiet),
	};
	const struct option_table table = {
		.groups = groups,
		.nr_groups = ARRAY_SIZE(groups),
		.take_word = input_paths_take,
		.context = &flame->request.paths,
		.usage = "usage: stook flame [OPTIONS] [IN…] [-o OUT.svg]\n"
			 "\n"
			 "Draws a flame graph of profiles: pprof, folded stacks, or what 'perf "
			 "script' prints.\n"
			 "Reads stdin without IN, or for -. Writes the picture to stdout without "
			 "-o.\n",
		.examples = "\nexamples:\n"
			    "  perf script | stook flame -o perf.svg\n"
			    "  stook flame --inverted --colors java app.folded > app.svg\n"
			    "  stook flame before.pb.gz --comm redis --ignore idle -o redis.svg",
	};

	int err = option_table_parse(&table, argc, argv, error);

	if (!err)
		err = input_paths_take_rest(&flame->request.paths, argc, argv, error);
	flame->request.options.keep_order = flame->style.flamechart;
	return err ? err : inputs_check(flame->request.paths.paths, flame->request.paths.nr, error);
}

/* --- the command ----------------------------------------------------------------------------- */

/* Like flamegraph.pl, ignores a --total below the sum of the samples. */
static void report_ignored_total(const struct flame *flame)
{
	const struct profile *profile = flame->inputs.profile;
	char number[AMOUNT_BYTES], counted[AMOUNT_COUNTED_BYTES];

	if (!flame->request.is_quiet && svg_ignores_total(profile, &flame->style))
		complain("--total %.15g ignored: less than the profile's %s%s", flame->style.total,
			 amount_total(profile, profile_total(profile), number),
			 amount_counted(profile, profile_total(profile), counted));
}

/* Reads and writes. */
static int draw(void *context, struct error *error)
{
	struct flame *flame = context;
	int err = inputs_load(&flame->inputs, &flame->request, flame->request.labels, error);

	if (err)
		return err;
	report_ignored_total(flame);
	flame->outputs.format.categories = flame->inputs.categories;
	outputs_set_labels(&flame->outputs, flame->request.labels, flame->inputs.notes.labels);
	return outputs_write(&flame->outputs, flame->inputs.profile, error);
}

static int run(struct flame *flame, struct error *error)
{
	const struct format_options format = {.lines = flame->lines, .flame = &flame->style};
	struct confined confined = confined_request(&flame->request, &flame->outputs);
	int err = outputs_open(&flame->outputs, &flame->output, &format, false, error);

	confined.run = draw;
	confined.context = flame;
	return err ? err : confined_run(&confined, error);
}

int cmd_flame(int argc, char **argv)
{
	struct flame flame = {.output = {.default_format = "svg"}};
	struct error error = {0};
	int err = parse(&flame, argc, argv, &error);
	int status = err < 0 ? EXIT_USAGE : 0;

	if (!err) {
		err = run(&flame, &error);
		status = err && err != -EPIPE ? EXIT_FAILED : 0;
	}
	if (err < 0 && err != -EPIPE)
		complain_error(&error);
	outputs_clear(&flame.outputs);
	inputs_clear(&flame.inputs);
	input_request_clear(&flame.request);
	return status;
}
