/*
 * Connects the symbolizer with its sources; the symbolizer itself knows neither sessions nor JVMs.
 *
 * With --interval a profile is named many times. A JVM writes its whole map at each request, so
 * after its first answer it is asked again only if its code was sampled since then. A JVM that
 * failed is not asked again: asking means sending it a signal.
 */
#include "run/names.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/kernel_ask.h"
#include "proc/file_open.h"
#include "proc/java_attach.h"
#include "profile/merge.h"
#include "run/complain.h"
#include "sym/debug_packages.h"

/* A JVM answers within milliseconds unless it is stopped or swapped out. */
#define JVM_NS (3 * NS_PER_SEC)

/*
 * Limit of the time spent waiting for all JVMs in one interval, and of the time spent in the whole
 * run on JVMs that do not answer. A JVM is asked only if JVM_NS are left.
 */
#define ALL_JVMS_NS (10 * NS_PER_SEC)

#define REFILL_SHARE 10 /* 1/10 of each interval is added to the naming budget */

/* --- options --------------------------------------------------------------------------------- */

/* Enough for the largest programs; reading the next file's symbols frees the previous file's. */
#define MAX_SYMBOL_BYTES (256UL << 20)

/*
 * Limits over all files and processes of a run: enough for the symbols of a host that runs
 * browsers, databases and thousands of JIT-compiling processes.
 */
#define MAX_NAMING_SECONDS 60
#define MAX_NAMING_BYTES   (4ULL << 30)

struct symbolizer_options naming_options_symbolizer(const struct naming_options *options)
{
	return (struct symbolizer_options){
		.demangle = options->demangle,
		.run_time = options->run_time,
		.places = {options->debug_folders, options->nr_debug_folders},
		.inlined = options->inlined,
		.lines = options->lines,
		.raw_aliases = options->raw_aliases,
		.no_starts = options->no_starts,
		.max_bytes = options->max_bytes ? options->max_bytes : MAX_SYMBOL_BYTES,
	};
}

/* Shows the names that the kernel has. */
struct shown_names {
	const struct demangle_style *style;
	int (*add)(void *context, size_t i, const char *name, const char *module);
	void *context;
};

static int add_shown(void *context, size_t i, const char *name, const char *module)
{
	const struct shown_names *names = context;
	cleanup_free char *shown = symbolizer_kernel_name(name, names->style);

	return shown ? names->add(names->context, i, shown, module) : -ENOMEM;
}

static int ask_kernel(void *self, const uint64_t *addresses, size_t nr,
		      int (*add)(void *context, size_t i, const char *name, const char *module),
		      void *context, struct error *error)
{
	const struct naming_options *options = self;
	struct shown_names names = {&options->demangle, add, context};

	return kernel_ask(NULL, addresses, nr, add_shown, &names, error);
}

struct kernel_code_names naming_options_kernel(const struct naming_options *options)
{
	return (struct kernel_code_names){ask_kernel, (void *)options};
}

struct read_budget naming_options_budget(const struct naming_options *options, int stop_fd)
{
	uint64_t seconds = options->naming_seconds ? options->naming_seconds : MAX_NAMING_SECONDS;
	uint64_t bytes = options->naming_bytes ? options->naming_bytes : MAX_NAMING_BYTES;
	struct read_budget budget;

	read_budget_init(&budget, seconds * NS_PER_SEC, bytes, stop_fd);
	return budget;
}

/* --- the session's names ---------------------------------------------------------------------- */

/* Files whose names are looked up are closed again, so that few are enough. */
#define COPIES_MAX_OPEN 4096

static int make_copies(struct session_names *names)
{
	names->are_copies = true;
	names->profile = profile_new();
	names->files = file_table_new(COPIES_MAX_OPEN);
	names->runtimes = runtime_table_new();
	return names->profile && names->files && names->runtimes ? 0 : -ENOMEM;
}

int session_names_take(struct session_names *names, struct session_part *part)
{
	const struct profile *before = names->profile;
	int err = file_table_move(names->files, part->files);

	if (err == 0)
		err = runtime_table_move(names->runtimes, part->runtimes);
	if (err == 0)
		err = profile_take_part(&names->profile, part->profile);
	if (names->profile != before)
		symbolizer_change_profile(names->symbolizer);
	return err;
}

/* Forgets the JVMs of which the table has no entry any more. */
static void forget_jvms(struct session_names *names)
{
	const struct u64_map_slot *slot;
	size_t position = 0;

	while ((slot = u64_map_next(&names->jvms, &position))) {
		if (runtime_table_get(names->runtimes, (uint32_t)slot->key))
			continue;
		(void)u64_map_remove(&names->jvms, slot->key);
		position--; /* removing may have moved another entry to this slot */
	}
}

void session_names_release(struct session_names *names)
{
	file_table_sweep(names->files);
	runtime_table_close_gone(names->runtimes);
	runtime_table_sweep(names->runtimes);
	forget_jvms(names);
}

int session_names_init(struct session_names *names, struct session *session,
		       const struct stack_options *options, const struct run_config *tasks,
		       int stop_fd, struct error *error)
{
	struct symbolizer_options symbolizer = naming_options_symbolizer(&options->naming);

	*names = (struct session_names){
		.profile = session_profile(session),
		.files = session_files(session),
		.runtimes = session_runtimes(session),
		.options = options,
		.tasks = tasks,
		.budget = naming_options_budget(&options->naming, stop_fd),
	};
	if (tasks->interval_ns && make_copies(names) < 0)
		return error_no_memory(error, "");
	symbolizer.budget = &names->budget;
	symbolizer.files = names->files;
	symbolizer.runtimes = names->runtimes;
	symbolizer.kernel = (struct kernel_names){.name = kernel_ask};
	symbolizer.kernel_fallback = kallsyms_names(&names->kallsyms);
	symbolizer.leave_files = options->no_symbols; /* another machine names them */
	symbolizer.memory = options->name_memory;
	/* With --interval, tables are still made while names are looked up. */
	if (!tasks->interval_ns)
		symbolizer.worker = session_worker(session);
	names->symbolizer = symbolizer_new(&symbolizer);
	if (!names->symbolizer)
		return error_set(error, -ENOMEM, "out of memory");
	/* run/intervals sets it itself. */
	if (!tasks->interval_ns)
		symbolizer_set_niceness(names->symbolizer, session_niceness(session));
	return 0;
}

/* Returns the path of a stripped file if its debug package should be looked up, else NULL. */
static const char *path_for_package(struct session_names *names,
				    const struct quality_nameless *stripped)
{
	const struct profile *profile = names->profile;
	const struct module *module = profile_module(profile, stripped->module);
	const struct file *file;

	if (!names_worth_a_row(stripped->samples, profile_total(profile)) ||
	    module->kind != MODULE_FILE)
		return NULL;
	file = file_table_get(names->files, module->file);
	return file->is_of_root ? file->path : NULL;
}

int session_names_find_packages(struct session_names *names, const struct quality *quality)
{
	const char *paths[QUALITY_MAX_BLAMED];
	size_t places[QUALITY_MAX_BLAMED], i, nr = 0;
	char *found[DEBUG_PACKAGES_MAX_PATHS];
	int err = 0;

	if (names->has_packages || names->options->no_symbols)
		return 0;
	for (i = 0; i < QUALITY_MAX_BLAMED; i++) {
		paths[nr] = path_for_package(names, &quality->stripped[i]);
		places[nr] = i;
		nr += paths[nr] != NULL;
	}
	if (nr)
		err = debug_packages_find("", paths, nr, found);
	for (i = 0; i < nr && !err; i++)
		names->packages[places[i]] = found[i];
	names->has_packages = !err;
	return err;
}

void session_names_clear(struct session_names *names)
{
	size_t i;

	symbolizer_free(names->symbolizer);
	kallsyms_free(names->kallsyms);
	u64_map_clear(&names->jvms);
	for (i = 0; i < ARRAY_SIZE(names->packages); i++)
		free(names->packages[i]);
	if (names->are_copies) {
		profile_free(names->profile);
		file_table_free(names->files);
		runtime_table_free(names->runtimes);
	}
	*names = (struct session_names){0};
}

/* --- asking JVMs ---------------------------------------------------------------------------- */

/* What is known of a JVM; nothing so far if it has no entry. */
static struct session_jvm jvm_of(const struct session_names *names, uint32_t number)
{
	const uint64_t *value = u64_map_find(&names->jvms, number);
	struct session_jvm jvm = {.state = JVM_NOT_ASKED};

	if (value) {
		jvm.state = (enum jvm_state)(*value & 0xff);
		jvm.is_told_of = *value >> 8;
	}
	return jvm;
}

static int set_jvm(struct session_names *names, uint32_t number, struct session_jvm jvm)
{
	return u64_map_set(&names->jvms, number, jvm.state | (uint64_t)jvm.is_told_of << 8);
}

static bool is_due(const struct session_names *names, uint32_t number)
{
	const struct runtime_process *process = runtime_table_get(names->runtimes, number);
	const enum jvm_state state = jvm_of(names, number).state;

	return process && process->runtime && process->runtime->is_java && state != JVM_ENDED &&
	       state != JVM_SILENT;
}

/* JVMs that answered before are still asked when the time for unresponsive JVMs is used up. */
static bool has_time(const struct session_names *names, uint32_t number, uint64_t begin_ns)
{
	if (read_budget_left_ns(&names->budget) < JVM_NS)
		return false;
	if (clock_now_ns() - begin_ns + JVM_NS > ALL_JVMS_NS)
		return false;
	return jvm_of(names, number).state == JVM_ANSWERED ||
	       names->vain_ns + JVM_NS <= ALL_JVMS_NS;
}

static int ask_jvm(struct session_names *names, uint32_t number)
{
	struct session_jvm jvm = jvm_of(names, number);
	uint64_t begin_ns = clock_now_ns();
	struct error error = {0};
	int err = java_attach_write_map(runtime_table_get(names->runtimes, number), JVM_NS,
					names->budget.stop_fd, &error);

	if (err == -ECANCELED)
		return 0;
	if (err == 0 || (err == -ESRCH && jvm.state == JVM_ANSWERED)) {
		jvm.state = err == 0 ? JVM_ANSWERED : JVM_ENDED;
		return set_jvm(names, number, jvm);
	}
	names->vain_ns += clock_now_ns() - begin_ns;
	jvm.state = err == -EAGAIN ? JVM_NOT_READY : JVM_SILENT;
	if (!names->tasks->quiet && !jvm.is_told_of)
		complain_error(&error);
	jvm.is_told_of = true;
	return set_jvm(names, number, jvm);
}

/* Adds the processes with samples in the profile, which holds this interval only: their numbers. 0 or -ENOMEM. */
static int list_sampled(const struct session_names *names, struct u64_map *ret)
{
	const struct profile *profile = names->profile;
	size_t i, k;

	for (i = 0; i < profile_nr_samples(profile); i++) {
		const struct sample *sample = profile_sample(profile, (uint32_t)i);
		const uint32_t *frames = profile_sample_frames(profile, sample);

		for (k = 0; k < sample->nr_frames; k++) { /* a waker's come before the kernel's */
			const struct frame *frame = profile_frame(profile, frames[k]);
			const struct module *module = profile_module(profile, frame->module);

			if (module->kind == MODULE_RUN_TIME && module->file &&
			    u64_map_set(ret, module->file - 1, 0) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

/* Asks each JVM whose JIT-compiled code was sampled since it was last asked. */
static int ask_jvms(struct session_names *names)
{
	cleanup(u64_map_clear) struct u64_map sampled = {0};
	uint64_t begin_ns = clock_now_ns();
	const struct u64_map_slot *slot;
	size_t position = 0;
	int err = list_sampled(names, &sampled);

	while (!err && (slot = u64_map_next(&sampled, &position))) {
		const uint32_t number = (uint32_t)slot->key;

		if (!is_due(names, number))
			continue;
		if (read_budget_take(&names->budget, 0) == -ECANCELED)
			break;
		if (has_time(names, number, begin_ns)) {
			err = ask_jvm(names, number);
			continue;
		}
		if (!names->tasks->quiet && !names->is_late_told)
			complain("some JVMs were not asked for their symbols: %s",
				 read_budget_left_ns(&names->budget) < JVM_NS
					 ? "asking one may take longer than --naming-time leaves"
					 : "others took too long to answer");
		names->is_late_told = true;
	}
	return err;
}

const char *session_names_why_silent(const struct session_names *names, uint32_t process)
{
	static const char *const words[] = {
		[JVM_NOT_ASKED] = "no time was left to ask it",
		[JVM_NOT_READY] = "it could not be asked (see above)",
		[JVM_ENDED] = "it exited before it could be asked again",
		[JVM_SILENT] = "asking it failed (see above)",
	};
	const struct runtime_process *asked = runtime_table_get(names->runtimes, process);

	if (!names->options->java || !asked || !asked->runtime || !asked->runtime->is_java)
		return NULL;
	return words[jvm_of(names, process).state];
}

/* --- naming ---------------------------------------------------------------------------------- */

int session_names_apply(struct session_names *names, struct error *error)
{
	const uint64_t refill_ns = names->tasks->interval_ns / REFILL_SHARE;
	int err = 0;

	/*
	 * With --interval the budgets are refilled, slowly enough that naming never takes more than a
	 * tenth of a long run.
	 */
	if (names->nr_rounds++) {
		read_budget_refill(&names->budget, refill_ns);
		names->vain_ns -= refill_ns < names->vain_ns ? refill_ns : names->vain_ns;
		symbolizer_give_time(names->symbolizer, refill_ns);
	}
	if (names->options->java) {
		read_budget_begin(&names->budget);
		err = ask_jvms(names);
		(void)read_budget_end(&names->budget);
	}
	if (err < 0)
		return error_set(error, -ENOMEM, "out of memory while asking JVMs");
	if (symbolizer_name(names->symbolizer, names->profile) < 0)
		return error_set(error, -ENOMEM, "out of memory while naming functions");
	return 0;
}

/* --- reasons for missing names --------------------------------------------------------------- */

char *naming_cut(const struct symbolizer *symbolizer, size_t number)
{
	struct symbolizer_result result;
	char *sentence = NULL;
	size_t i;

	symbolizer_summarize(symbolizer, &result);
	const struct {
		size_t nr;
		const char *what, *option;
	} limits[] = {
		{result.cuts.nr_by_time, "exceeded the time limit", "--naming-time"},
		{result.cuts.nr_by_bytes, "exceeded the read limit", "--naming-bytes"},
	};
	size_t nr = 0;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		if (!limits[i].nr || nr++ != number)
			continue;
		if (asprintf(&sentence,
			     "names are missing: %zu files or processes %s%s%s (raise %s)",
			     limits[i].nr, limits[i].what, number ? "" : ", first: ",
			     number ? "" : result.cuts.first, limits[i].option) < 0)
			return NULL;
		return sentence;
	}
	if (result.cuts.is_stopped && nr == number)
		return strdup("names are missing: a signal interrupted the search for symbols");
	return NULL;
}

/* " (last: SIGSYS)" or " (last: status 13)"; empty if no process exited by itself. */
static const char *how_it_died(int status, char *text, size_t nr)
{
	text[0] = '\0';
	if (status && WIFSIGNALED(status))
		(void)snprintf(text, nr, " (last: SIG%s)", sigabbrev_np(WTERMSIG(status)));
	else if (status)
		(void)snprintf(text, nr, " (last: status %d)", WEXITSTATUS(status));
	return text;
}

char *reading_trouble(const struct worker_troubles *troubles, size_t number)
{
	uint64_t nr_crashed = troubles->nr_parsers_died + troubles->nr_openers_died;
	uint64_t nr_late = troubles->nr_parsers_late + troubles->nr_openers_late;
	char how[64];

	if (troubles->cannot_start[0] && !number--)
		return text_printf("not read: %s", troubles->cannot_start);
	if (nr_crashed + nr_late && !number--)
		return text_printf("helper processes that read files crashed %" PRIu64
				   " times%s and were killed %" PRIu64 " times for taking too long",
				   nr_crashed, how_it_died(troubles->last_status, how, sizeof(how)),
				   nr_late);
	if (troubles->silent[0] && !number--)
		return text_printf("%s could not be looked at or read in time", troubles->silent);
	if (troubles->nr_devices_given_up && !number--)
		return text_printf("%zu file systems did not answer repeatedly and were not asked "
				   "again for a minute%s%s",
				   troubles->nr_devices_given_up,
				   troubles->silent_device[0] ? ", the first is that of " : "",
				   troubles->silent_device);
	if (troubles->nr_files_given_up && !number--)
		return text_printf("%zu files were given up after three such failures each%s%s",
				   troubles->nr_files_given_up,
				   troubles->given_up[0] ? ", the first is " : "",
				   troubles->given_up);
	if (troubles->nr_abandoned && !number--)
		return text_printf("%zu helper processes cannot be killed: they wait for a file "
				   "system that does not answer",
				   troubles->nr_abandoned);
	return NULL;
}

void naming_notes_print(const struct symbolizer *symbolizer)
{
	struct symbolizer_result result;

	symbolizer_summarize(symbolizer, &result);
	if (result.kernel_error.code)
		complain_error(&result.kernel_error);
	if (result.nr_tables_failed)
		complain("symbols could not be read %zu times: malformed file, or map larger than "
			 "--symbol-bytes",
			 result.nr_tables_failed);
	if (result.lines_error.code)
		complain_error(&result.lines_error);
	if (result.nr_split_lost)
		complain("%zu compilation units without their inlined calls: .dwo file not found "
			 "(.dwp files are not supported)",
			 result.nr_split_lost);
	if (result.debuginfod_trouble)
		complain("debuginfod was not asked for all debug files: %s",
			 result.debuginfod_trouble);
}
