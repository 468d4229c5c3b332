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
#include <stdlib.h>

#include "base/array.h"
#include "cmd/category_file.h"
#include "cmd/complain.h"
#include "cmd/filter_options.h"
#include "cmd/flame_options.h"
#include "cmd/inputs.h"
#include "cmd/outputs.h"

struct flame {
	const char **paths;
	size_t nr_paths, cap_paths;
	struct input_options input;
	struct filter_options filter;
	struct flame_options flame;
	struct output_options output;
	const char *categories_path; /* NULL: none are wanted */
	bool is_quiet;
	struct categories *categories;
	struct inputs inputs;
	struct outputs outputs;
};

/* --- the command line ------------------------------------------------------------------------ */

static int take_quiet(void *context, const char *value, struct error *error)
{
	struct flame *flame = context;

	flame->is_quiet = true;
	return 0;
}

static int take_categories(void *context, const char *value, struct error *error)
{
	struct flame *flame = context;

	flame->categories_path = value;
	return 0;
}

static const struct option_row rows[] = {
	{0, "categories", "FILE", take_categories,
	 "colours by a table 'category: pattern …', or by the one for the 'kernel'"},
	{'q', "quiet", NULL, take_quiet, "nothing but results and errors"},
};

static int take_input(void *context, const char *word, struct error *error)
{
	struct flame *flame = context;

	if (array_reserve(&flame->paths, &flame->cap_paths, flame->nr_paths + 1,
			  sizeof(*flame->paths)) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	flame->paths[flame->nr_paths++] = word;
	return 0;
}

static int parse(struct flame *flame, int argc, char **argv, struct error *error)
{
	const struct option_group groups[] = {
		output_options_group(&flame->output), flame_options_group(&flame->flame),
		filter_options_group(&flame->filter), input_options_group(&flame->input),
		{rows, ARRAY_SIZE(rows), flame},
	};
	const struct option_table table = {
		.groups = groups,
		.nr_groups = ARRAY_SIZE(groups),
		.take_word = take_input,
		.context = flame,
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

	return option_table_parse(&table, argc, argv, error);
}

/* --- all of it ------------------------------------------------------------------------------- */

static int read_inputs(struct flame *flame, struct error *error)
{
	int err = category_file_load(flame->categories_path, &flame->categories, error);

	if (!err)
		err = inputs_read(&flame->inputs, &flame->input, flame->paths, flame->nr_paths,
				  error);
	if (!err)
		err = filter_options_apply(&flame->filter, flame->inputs.profile, error);
	if (err)
		return err;
	if (!flame->is_quiet) {
		inputs_complain(&flame->inputs);
		filter_options_tell(&flame->filter, flame->inputs.profile);
	}
	return 0;
}

static int draw(struct flame *flame, struct error *error)
{
	const struct format_options format = {
		.labels = flame->inputs.notes.labels,
		.flame = &flame->flame.style,
		.categories = flame->categories,
	};
	int err;

	if (!flame->output.nr_paths && !flame->output.stdout_format)
		flame->output.stdout_format = format_by_name("svg");
	err = outputs_open(&flame->outputs, &flame->output, &format, false, error);
	if (!err)
		err = flame_options_load(&flame->flame, error);
	if (!err)
		err = outputs_write(&flame->outputs, flame->inputs.profile, error);
	return err ? err : flame_options_save(&flame->flame, error);
}

static void clear(struct flame *flame)
{
	outputs_clear(&flame->outputs);
	inputs_clear(&flame->inputs);
	filter_options_clear(&flame->filter);
	flame_options_clear(&flame->flame);
	categories_free(flame->categories);
	free(flame->paths);
}

int cmd_flame(int argc, char **argv)
{
	struct flame flame = {.nr_paths = 0};
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
