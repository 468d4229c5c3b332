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
 * If the profile is read by a child without rights (cmd/inputs.h), the child sends its modules and frames to this
 * process, which names them as it names those of a run, and sends them back.
 *
 * Files are found by build id: at the recorded path if the file there has the same id, else among
 * the debug files. Names from the recording host (kernel, JIT-compiled code) are kept.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "run/complain.h"
#include "run/outputs.h"
#include "run/names.h"
#include "cmd/inputs.h"
#include "cmd/options/naming_options.h"
#include "cmd/options/output_options.h"
#include "run/processes.h"
#include "elf/image/debug_link.h"
#include "profile/named_code.h"
#include "base/text.h"
#include "sym/symbolizer.h"

struct symbolize {
	const char *input;
	struct output_options output;
	struct naming_options naming;
	bool is_quiet;
	struct outputs outputs;
	struct input_options input_options;
	struct inputs inputs;
	struct profile *asked; /* in the host of a child without rights: the code to name */
	struct read_budget budget;
	struct symbolizer *symbolizer;
	int signal_fd; /* readable if a signal should end naming */
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

/* --- reading and naming ---------------------------------------------------------------------- */

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

/* Names the frames of a profile, with the rights to read files. */
static int name(struct symbolize *symbolize, struct profile *profile, struct error *error)
{
	struct symbolizer_options options = naming_options_symbolizer(&symbolize->naming);

	symbolize->signal_fd = signals_listen(error);
	if (symbolize->signal_fd < 0)
		return symbolize->signal_fd;
	symbolize->budget = naming_options_budget(&symbolize->naming, symbolize->signal_fd);
	options.budget = &symbolize->budget;
	symbolize->symbolizer = symbolizer_new(&options);
	if (!symbolize->symbolizer || symbolizer_name(symbolize->symbolizer, profile) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	return 0;
}

/* In the host: names the frames that the child asks about. Once, since it may have been compromised. */
static int answer(void *context, const void *question, size_t nr, void **ret, size_t *ret_nr,
		  struct error *error)
{
	struct symbolize *symbolize = context;
	int err = symbolize->asked ? -EALREADY : named_code_read(question, nr, &symbolize->asked);

	if (err == 0)
		err = name(symbolize, symbolize->asked, error);
	if (err == 0)
		err = named_code_write(symbolize->asked, ret, ret_nr);
	return err;
}

/* In the child: asks the host for names. Signals are for the host from now on; it ends the child if it ends. */
static int ask(struct symbolize *symbolize, struct error *error)
{
	struct profile *profile = symbolize->inputs.profile, *named = NULL;
	cleanup_free void *question = NULL, *names = NULL;
	size_t nr;
	int err = named_code_write(profile, &question, &nr);

	signals_leave();
	if (err == 0)
		err = sandbox_ask(symbolize->input_options.sandbox, question, nr, &names, &nr,
				  error);
	if (err == 0)
		err = named_code_read(names, nr, &named);
	if (err == 0)
		err = named_code_take(profile, named);
	profile_free(named);
	return err < 0 && !*error->text
		       ? error_set(error, err, "cannot take over names: %s", strerror(-err))
		       : err;
}

/* --- missing symbols ------------------------------------------------------------------------- */

/* Returns the number of frames without a symbol for each module. */
static size_t *count_missing(const struct profile *profile)
{
	size_t *nr = calloc(profile_nr_modules(profile), sizeof(*nr));
	size_t i;

	for (i = 0; nr && i < profile_nr_frames(profile); i++) {
		const struct frame *frame = profile_frame(profile, (uint32_t)i);

		nr[frame->module] += !profile_is_named(profile, frame) &&
				     profile_module(profile, frame->module)->kind == MODULE_FILE;
	}
	return nr;
}

static void report_missing(const struct profile *profile, uint32_t module, size_t nr)
{
	const char *path = profile_string(profile, profile_module(profile, module)->name);
	const struct module_code *code = profile_code(profile, module);
	char id[DEBUG_FILE_ID_BYTES] = "";

	if (code)
		debug_file_id(code->build_id, code->build_id_bytes, id);
	(void)fputs("       no symbols in ", stderr);
	(void)text_write_columns(stderr, path, text_columns(path), "");
	if (*id)
		(void)fprintf(stderr, " (build id %.2s%s)", id, id + 3);
	else
		(void)fputs(" (no build id)", stderr);
	(void)fprintf(stderr, ": %zu frame%s\n", nr, nr == 1 ? "" : "s");
}

static void report_cuts(const struct symbolizer *symbolizer)
{
	size_t i;

	for (i = 0;; i++) {
		cleanup_free char *cut = naming_cut(symbolizer, i);

		if (!cut)
			return;
		complain("%s", cut);
	}
}

static void report_troubles(const struct symbolizer *symbolizer)
{
	struct worker_troubles troubles = {0};
	size_t i;

	symbolizer_add_troubles(symbolizer, &troubles);
	for (i = 0;; i++) {
		cleanup_free char *trouble = reading_trouble(&troubles, i);

		if (!trouble)
			return;
		complain("files: %s", trouble);
	}
}

static int report(const struct symbolize *symbolize, struct error *error)
{
	const struct profile *profile =
		symbolize->asked ? symbolize->asked : symbolize->inputs.profile;
	cleanup_free size_t *nr_missing = count_missing(profile);
	struct symbolizer_result result;
	char numbers[2][NUMBER_COMMAS_BYTES];
	uint32_t module;

	if (!nr_missing)
		return error_set(error, -ENOMEM, "out of memory");
	symbolizer_summarize(symbolize->symbolizer, &result);
	complain("%s of %s frames have symbols", number_commas(numbers[0], result.nr_named),
		 number_commas(numbers[1], result.nr_named + result.nr_unnamed));
	for (module = 0; module < profile_nr_modules(profile); module++)
		if (nr_missing[module])
			report_missing(profile, module, nr_missing[module]);
	report_cuts(symbolize->symbolizer);
	report_troubles(symbolize->symbolizer);
	naming_notes_print(symbolize->symbolizer);
	return 0;
}

/* --- the command ----------------------------------------------------------------------------- */

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
	err = symbolize->input_options.sandbox ? ask(symbolize, error)
					       : name(symbolize, inputs->profile, error);
	return err ? err : outputs_write(&symbolize->outputs, inputs->profile, error);
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
		err = report(symbolize, error);
	return err;
}

int cmd_symbolize(int argc, char **argv)
{
	struct symbolize symbolize = {.signal_fd = -1};
	struct error error = {0};
	int err = parse(&symbolize, argc, argv, &error);

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
	symbolizer_free(symbolize.symbolizer);
	signals_stop_listening(symbolize.signal_fd, NULL);
	inputs_clear(&symbolize.inputs);
	profile_free(symbolize.asked);
	naming_options_clear(&symbolize.naming);
	return err && err != -EPIPE ? EXIT_FAILED : 0;
}
