/*
 * stook report: profiles that are there already, of stook's or of other tools' making, as tables
 * and trees, or in any other format.
 *
 *	$ perf script | stook report
 *	19,804 samples
 *
 *	 SELF  SAMPLES  TOTAL  FUNCTION                       MODULE
 *	 9.1%    1,808   9.9%  dictFind                       redis-server
 *	…
 *
 *	 TOTAL  CALL PATH (below 0.5% left out)
 *	 81.0%  redis-server
 *	 80.2%  └ __libc_start_main
 *	…
 *	$ stook report week.pb.gz -s comm,module -g none --not-comm 'swapper.*'
 *	$ stook report in.perf -o out.pb.gz
 *
 * Several inputs become one profile. People are shown samples by thread name unless they ask for
 * more with --by; formats that keep labels for other programs get all there are, so the two kinds
 * of outputs are written apart. There is no pager: what is shown fits on a page or two, and who
 * wants one has a pipe.
 */
#include <errno.h>

#include "base/array.h"
#include "cmd/category_file.h"
#include "cmd/commands.h"
#include "cmd/complain.h"
#include "cmd/outputs.h"
#include "cmd/report_options.h"
#include "profile/categories.h"

struct report {
	struct report_command_options options;
	struct inputs inputs;
	struct categories *categories;
	struct output_options for_people, for_programs;
	struct outputs shown, kept;
};

/* --- outputs --------------------------------------------------------------------------------- */

/* Formats that other programs read labels from. */
static bool keeps_labels(const struct format *format)
{
	static const char *const names[] = {"pprof", "perf"};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (format == format_by_name(names[i]))
			return true;
	return false;
}

static void split_outputs(struct report *report)
{
	const struct output_options *all = &report->options.output;
	const struct format *on_stdout = all->stdout_format;
	size_t i;

	report->for_people = report->for_programs = *all;
	report->for_people.nr_paths = report->for_programs.nr_paths = 0;
	if (on_stdout && keeps_labels(on_stdout))
		report->for_people.stdout_format = NULL;
	else
		report->for_programs.stdout_format = NULL;
	for (i = 0; i < all->nr_paths; i++) {
		const struct format *format = format_by_path(all->paths[i]);
		struct output_options *options = format && keeps_labels(format)
							 ? &report->for_programs
							 : &report->for_people;

		options->paths[options->nr_paths++] = all->paths[i];
	}
}

static bool has_output(const struct output_options *options)
{
	return options->stdout_format || options->nr_paths;
}

/* Without any, the report goes to stdout. */
static int open_outputs(struct report *report, struct error *error)
{
	const struct report_command_options *options = &report->options;
	const struct format_options format = {
		.lines = options->lines,
		.report = &options->style,
		.categories = report->categories,
	};
	int err = 0;

	split_outputs(report);
	if (has_output(&report->for_programs))
		err = outputs_open(&report->kept, &report->for_programs, &format, false, error);
	if (err || (has_output(&options->output) && !has_output(&report->for_people)))
		return err;
	err = outputs_open(&report->shown, &report->for_people, &format, false, error);
	if (options->width)
		report->shown.format.width = options->width;
	return err;
}

static int write_outputs(struct report *report, struct error *error)
{
	unsigned asked = report->options.labels, there = report->inputs.notes.labels;
	int err = 0;

	report->kept.format.labels = asked ? asked : there;
	report->shown.format.labels = asked ? asked : there & LABEL_COMM;
	if (report->kept.options)
		err = outputs_write(&report->kept, report->inputs.profile, error);
	if (!err && report->shown.options)
		err = outputs_write(&report->shown, report->inputs.profile, error);
	return err;
}

/* --- all of it ------------------------------------------------------------------------------- */

static int read_inputs(struct report *report, struct error *error)
{
	struct report_command_options *options = &report->options;
	int err = inputs_read(&report->inputs, &options->input, options->paths.paths,
			      options->paths.nr, error);

	if (!err && profile_nr_samples(report->inputs.profile))
		err = report_options_check(options, report->inputs.notes.labels, error);
	if (!err)
		err = filter_options_apply(&options->filter, report->inputs.profile, error);
	if (err || options->is_quiet)
		return err;
	inputs_complain(&report->inputs);
	filter_options_tell(&options->filter, report->inputs.profile);
	return 0;
}

static int run(struct report *report, struct error *error)
{
	int err = category_file_load(report->options.categories, &report->categories, error);

	if (!err)
		err = open_outputs(report, error);
	if (!err)
		err = read_inputs(report, error);
	return err ? err : write_outputs(report, error);
}

static void clear(struct report *report)
{
	outputs_clear(&report->kept);
	outputs_clear(&report->shown);
	inputs_clear(&report->inputs);
	categories_free(report->categories);
	report_options_clear(&report->options);
}

int cmd_report(int argc, char **argv)
{
	struct report report = {.categories = NULL};
	struct error error = {0};
	int err = report_options_parse(&report.options, argc, argv, &error);
	int status = err < 0 ? EXIT_USAGE : 0;

	if (!err) {
		err = run(&report, &error);
		status = err && err != -EPIPE ? EXIT_FAILED : 0;
	}
	if (err < 0 && err != -EPIPE)
		complain_error(&error);
	clear(&report);
	return status;
}
