/*
 * The naming of a profile that has none, for commands that read profiles. As root it is done by the host of a process
 * without rights: a profile with the code to name goes to the host, and comes back with names.
 */
#include "run/code_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "elf/image/debug_link.h"
#include "profile/named_code.h"
#include "run/complain.h"
#include "run/names.h"
#include "run/processes.h"

void code_names_init(struct code_names *names, const struct naming_options *options)
{
	*names = (struct code_names){.options = options, .signal_fd = -1};
}

void code_names_clear(struct code_names *names)
{
	symbolizer_free(names->symbolizer);
	signals_stop_listening(names->signal_fd, NULL);
	profile_free(names->asked);
}

/* Names the frames of a profile, with the rights to read files. */
static int name(struct code_names *names, struct profile *profile, struct error *error)
{
	struct symbolizer_options options = naming_options_symbolizer(names->options);

	names->signal_fd = signals_listen(error);
	if (names->signal_fd < 0)
		return names->signal_fd;
	names->budget = naming_options_budget(names->options, names->signal_fd);
	options.budget = &names->budget;
	names->symbolizer = symbolizer_new(&options);
	if (!names->symbolizer || symbolizer_name(names->symbolizer, profile) < 0)
		return error_no_memory(error, "");
	return 0;
}

/* In the host: names the frames that the child asks about. Once, since it may have been compromised. */
int code_names_answer(struct code_names *names, const void *question, size_t nr, void **ret,
		      size_t *ret_nr, struct error *error)
{
	int err = names->asked ? -EALREADY : named_code_read(question, nr, &names->asked);

	if (err == 0)
		err = name(names, names->asked, error);
	if (err == 0)
		err = named_code_write(names->asked, ret, ret_nr);
	return err;
}

/* In the child: asks the host for names. Signals are for the host from now on; it ends the child if it ends. */
static int ask(struct profile *profile, struct sandbox *sandbox, struct error *error)
{
	struct profile *named = NULL;
	cleanup_free void *question = NULL, *answer = NULL;
	size_t nr;
	int err = named_code_write(profile, &question, &nr);

	signals_leave();
	if (err == 0)
		err = sandbox_ask(sandbox, question, nr, &answer, &nr, error);
	if (err == 0)
		err = named_code_read(answer, nr, &named);
	if (err == 0)
		err = named_code_take(profile, named);
	profile_free(named);
	return err < 0 && !*error->text
		       ? error_set(error, err, "cannot take over names: %s", strerror(-err))
		       : err;
}

int code_names_add(struct code_names *names, struct profile *profile, struct sandbox *sandbox,
		   struct error *error)
{
	return sandbox ? ask(profile, sandbox, error) : name(names, profile, error);
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

int code_names_report(const struct code_names *names, const struct profile *profile,
		      struct error *error)
{
	const struct profile *named = names->asked ? names->asked : profile;
	cleanup_free size_t *nr_missing = names->symbolizer ? count_missing(named) : NULL;
	struct symbolizer_result result;
	char numbers[2][NUMBER_COMMAS_BYTES];
	uint32_t module;

	if (!names->symbolizer)
		return 0;
	if (!nr_missing)
		return error_no_memory(error, "");
	symbolizer_summarize(names->symbolizer, &result);
	complain("%s of %s frames have symbols", number_commas(numbers[0], result.nr_named),
		 number_commas(numbers[1], result.nr_named + result.nr_unnamed));
	for (module = 0; module < profile_nr_modules(named); module++)
		if (nr_missing[module])
			report_missing(named, module, nr_missing[module]);
	report_cuts(names->symbolizer);
	report_troubles(names->symbolizer);
	naming_notes_print(names->symbolizer);
	return 0;
}
