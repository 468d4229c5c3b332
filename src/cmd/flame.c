/*
 * stook flame: draws profiles that are there already, of stook's or of other tools' making.
 *
 *	$ perf script | stook flame -o perf.svg
 *	$ stook flame monday.pb.gz tuesday.pb.gz -o week.svg -o week.html
 *	$ stook flame --colors java --inverted app.folded > app.svg
 *
 * Several inputs become one graph. What is written may be any format, so this also turns one into
 * another.
 */
#include "cmd/commands.h"

#include <errno.h>

#include "base/array.h"
#include "cmd/category_file.h"
#include "cmd/complain.h"
#include "cmd/flame_options.h"
#include "cmd/inputs.h"
#include "cmd/options/filter_options.h"
#include "cmd/options/label_keys.h"
#include "cmd/options/quiet_option.h"
#include "cmd/outputs.h"
#include "format/flame/svg.h"
#include "format/text/amount.h"

struct flame {
	struct input_paths paths;
	struct input_options input;
	struct filter_options filter;
	struct flame_options flame;
	struct output_options output;
	const char *categories_path; /* NULL: none are wanted */
	unsigned labels; /* that were asked for; 0: thread names, or all where they are kept */
	bool lines;
	bool is_quiet;
	struct categories *categories;
	struct inputs inputs;
	struct outputs outputs;
};

/* --- the command line ------------------------------------------------------------------------ */

static int take_categories(void *context, const char *value, struct error *error)
{
	struct flame *flame = context;

	flame->categories_path = value;
	return 0;
}

static int take_by(void *context, const char *value, struct error *error)
{
	struct flame *flame = context;

	return label_keys_take(value, &flame->labels, error);
}

static const struct option_row rows[] = {
	{0, "by", "KEY,…", take_by,
	 "labels at the root: comm (the default), pid, tid, cpu, cgroup"},
	{0, "categories", "FILE", take_categories,
	 "colours by a table 'category: pattern …', or by the one for the 'kernel'"},
	OPTION_SWITCH(0, "lines", struct flame, lines,
		      "show source lines behind names, where IN has them"),
};

static int parse(struct flame *flame, int argc, char **argv, struct error *error)
{
	const struct option_group groups[] = {
		output_options_group(&flame->output), flame_options_group(&flame->flame),
		filter_options_group(&flame->filter), input_options_group(&flame->input),
		{rows, ARRAY_SIZE(rows), flame},      quiet_option_group(&flame->is_quiet),
	};
	const struct option_table table = {
		.groups = groups,
		.nr_groups = ARRAY_SIZE(groups),
		.take_word = input_paths_take,
		.context = &flame->paths,
		.usage = "usage: stook flame [OPTIONS] [IN…] [-o OUT.svg]\n"
			 "\n"
			 "Draws a flame graph of profiles: pprof, folded stacks, or what 'perf "
			 "script' prints.\n"
			 "Without IN, or for -, from stdin; without -o the picture goes to "
			 "stdout.\n",
		.examples = "\nexamples:\n"
			    "  perf script | stook flame -o perf.svg\n"
			    "  stook flame --inverted --colors java app.folded > app.svg\n"
			    "  stook flame before.pb.gz --comm redis --ignore idle -o redis.svg",
	};

	int err = option_table_parse(&table, argc, argv, error);

	return err ? err : inputs_check(flame->paths.paths, flame->paths.nr, error);
}

/* flamegraph.pl does not draw less than there is, either. */
static void tell_of_total(const struct flame *flame)
{
	const struct profile *profile = flame->inputs.profile;
	char number[AMOUNT_BYTES], counted[AMOUNT_COUNTED_BYTES];

	if (svg_ignores_total(profile, &flame->flame.style))
		complain("--total %.15g is less than the profile's %s%s, and ignored",
			 flame->flame.style.total,
			 amount_total(profile, profile_total(profile), number),
			 amount_counted(profile, profile_total(profile), counted));
}

/* --- all of it ------------------------------------------------------------------------------- */

static int read_inputs(struct flame *flame, struct error *error)
{
	int err = category_file_load(flame->categories_path, &flame->categories, error);

	if (!err)
		err = inputs_read(&flame->inputs, &flame->input, flame->paths.paths,
				  flame->paths.nr, error);
	if (!err && profile_nr_samples(flame->inputs.profile))
		err = label_keys_check(flame->labels, flame->inputs.notes.labels, error);
	if (!err)
		err = filter_options_apply(&flame->filter, flame->inputs.profile, error);
	if (err)
		return err;
	if (!flame->is_quiet) {
		inputs_complain(&flame->inputs);
		filter_options_tell(&flame->filter, flame->inputs.profile);
		tell_of_total(flame);
	}
	return 0;
}

static int draw(struct flame *flame, struct error *error)
{
	const struct format_options format = {
		.lines = flame->lines,
		.flame = &flame->flame.style,
		.categories = flame->categories,
	};
	int err;

	err = outputs_open(&flame->outputs, &flame->output, &format, false, error);
	outputs_set_labels(&flame->outputs, flame->labels, flame->inputs.notes.labels);
	if (!err)
		err = outputs_write(&flame->outputs, flame->inputs.profile, error);
	return err;
}

static void clear(struct flame *flame)
{
	outputs_clear(&flame->outputs);
	inputs_clear(&flame->inputs);
	filter_options_clear(&flame->filter);
	categories_free(flame->categories);
	input_paths_clear(&flame->paths);
}

int cmd_flame(int argc, char **argv)
{
	struct flame flame = {.output = {.default_format = "svg"}};
	struct error error = {0};
	int err = parse(&flame, argc, argv, &error);

	if (err) {
		if (err < 0)
			complain_error(&error);
		clear(&flame);
		return err < 0 ? EXIT_USAGE : 0;
	}
	err = read_inputs(&flame, &error);
	if (!err)
		err = draw(&flame, &error);
	if (err && err != -EPIPE)
		complain_error(&error);
	clear(&flame);
	return err && err != -EPIPE ? EXIT_FAILED : 0;
}
