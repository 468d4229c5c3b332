/*
 * stook symbolize: adds symbols to a profile recorded without them, on a machine that has the
 * files.
 *
 *	host$ stook profile --no-symbols -o raw.pb.gz 30
 *	desk$ stook symbolize raw.pb.gz -o named.pb.gz --debug-dir /srv/debug
 *	stook: 12,034 of 12,120 frames have symbols
 *	       no symbols in redis-server (build id 9d6a…): 86 frames
 *
 * A first Ctrl-C during naming ends naming: the profile is written with the names found so far.
 *
 * Files are found by build id: at the recorded path if the file there has the same id, else among
 * the debug files. Names from the recording host (kernel, JIT-compiled code) are kept. See run/code_names.h.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <unistd.h>

#include "base/array.h"
#include "cmd/inputs.h"
#include "cmd/options/naming_options.h"
#include "cmd/options/output_options.h"
#include "run/code_names.h"
#include "run/complain.h"
#include "run/outputs.h"

struct symbolize {
	const char *input;
	struct output_options output;
	struct naming_options naming;
	bool is_quiet;
	struct outputs outputs;
	struct input_options input_options;
	struct inputs inputs;
	struct code_names names;
};

/* --- the command line ------------------------------------------------------------------------ */

static int take_input(void *context, const char *word, struct error *error)
{
	struct symbolize *symbolize = context;

	if (symbolize->input)
		return error_set(error, -EINVAL, "more than one profile: '%s' and '%s'",
				 symbolize->input, word);
	symbolize->input = word;
	return 0;
}

static int parse(struct symbolize *symbolize, int argc, char **argv, struct error *error)
{
	const struct option_group groups[] = {
		output_options_group(&symbolize->output),
		naming_options_group(&symbolize->naming),
		quiet_option_group(&symbolize->is_quiet),
	};
	const struct option_table table = {
		.groups = groups,
		.nr_groups = ARRAY_SIZE(groups),
		.take_word = take_input,
		.context = symbolize,
		.usage = "usage: stook symbolize [OPTIONS] IN.pb.gz\n"
			 "\n"
			 "Adds symbols to a profile recorded without them ('stook profile "
			 "--no-symbols'), from\n"
			 "files on this machine with the same build ids. IN may be - for stdin.\n",
		.examples = "\nexamples:\n"
			    "  stook symbolize raw.pb.gz -o named.pb.gz\n"
			    "  stook symbolize raw.pb.gz --debug-dir /srv/debug --inline -f > "
			    "named.folded",
	};
	int err = option_table_parse(&table, argc, argv, error);

	for (; !err && optind < argc; optind++)
		err = take_input(symbolize, argv[optind], error);
	if (!err && !symbolize->input)
		err = error_set(error, -EINVAL, "no profile given");
	return err;
}

/* --- the command ----------------------------------------------------------------------------- */

/* The input is read as pprof, unless the suffix of its name is that of another format. */
static int choose_format(struct symbolize *symbolize, struct error *error)
{
	const struct format *named = format_by_path(symbolize->input);

	symbolize->input_options.read.format = format_by_name("pprof");
	if (named && named != symbolize->input_options.read.format &&
	    !access(symbolize->input, F_OK))
		return error_set(error, -EINVAL,
				 "'%s' has no addresses to symbolize: a .pb.gz file is needed",
				 symbolize->input);
	return 0;
}

/* Reads and writes. */
static int convert(void *context, struct error *error)
{
	struct symbolize *symbolize = context;
	struct inputs *inputs = &symbolize->inputs;
	int err = inputs_read(inputs, &symbolize->input_options, &symbolize->input, 1, error);

	if (err)
		return err;
	if (!symbolize->is_quiet)
		inputs_complain(inputs);
	outputs_set_labels(&symbolize->outputs, 0, inputs->notes.labels);
	err = code_names_add(&symbolize->names, inputs->profile, symbolize->input_options.sandbox,
			     error);
	return err ? err : outputs_write(&symbolize->outputs, inputs->profile, error);
}

static int answer(void *context, const void *question, size_t nr, void **ret, size_t *ret_nr,
		  struct error *error)
{
	struct symbolize *symbolize = context;

	return code_names_answer(&symbolize->names, question, nr, ret, ret_nr, error);
}

static int run(struct symbolize *symbolize, struct error *error)
{
	const struct format_options format = {.lines = symbolize->naming.lines};
	struct confined confined = {
		.paths = {&symbolize->input},
		.nr = {1},
		.input = &symbolize->input_options,
		.outputs = &symbolize->outputs,
		.run = convert,
		.answer = answer,
		.context = symbolize,
	};
	int err = choose_format(symbolize, error);

	if (!err)
		err = outputs_open(&symbolize->outputs, &symbolize->output, &format, false, error);
	(void)signal(SIGPIPE, SIG_IGN); /* as signals_listen() does, but a child cannot any more */
	if (!err)
		err = confined_run(&confined, error);
	if (!err && !symbolize->is_quiet)
		err = code_names_report(&symbolize->names, symbolize->inputs.profile, error);
	return err;
}

int cmd_symbolize(int argc, char **argv)
{
	struct symbolize symbolize = {0};
	struct error error = {0};
	int err = parse(&symbolize, argc, argv, &error);

	code_names_init(&symbolize.names, &symbolize.naming);
	if (err) {
		if (err < 0)
			complain_error(&error);
		naming_options_clear(&symbolize.naming);
		return err < 0 ? EXIT_USAGE : 0;
	}
	err = run(&symbolize, &error);
	if (err && err != -EPIPE)
		complain_error(&error);
	outputs_clear(&symbolize.outputs);
	code_names_clear(&symbolize.names);
	inputs_clear(&symbolize.inputs);
	naming_options_clear(&symbolize.naming);
	return err && err != -EPIPE ? EXIT_FAILED : 0;
}
