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
 * more with --by; formats that keep labels for other programs get all there are. There is no pager:
 * what is shown fits on a page or two, and who wants one has a pipe.
 */
#include <errno.h>

#include "cmd/category_file.h"
#include "cmd/commands.h"
#include "cmd/complain.h"
#include "cmd/outputs.h"
#include "cmd/report_options.h"
#include "view/categories.h"

struct report {
	struct report_command_options options;
	struct inputs inputs;
	struct categories *categories;
	struct outputs outputs;
};

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
	const struct report_command_options *options = &report->options;
	struct format_options format = {.lines = options->lines, .report = &options->style};
	int err = category_file_load(options->categories, &report->categories, error);

	format.categories = report->categories;
	if (!err)
		err = outputs_open(&report->outputs, &options->output, &format, false, error);
	if (!err)
		err = read_inputs(report, error);
	if (err)
		return err;
	outputs_set_labels(&report->outputs, options->labels, report->inputs.notes.labels);
	if (options->width)
		report->outputs.format.width = options->width;
	return outputs_write(&report->outputs, report->inputs.profile, error);
}

static void clear(struct report *report)
{
	outputs_clear(&report->outputs);
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
