/*
 * The frames to name are listed and sorted by module. The frames of each module are named by the
 * function for its kind, from a table, within the module's part of the budget. JIT-compiled code
 * comes last: each process has a map of its own, which can be large and serves only one module. Its
 * frames are named again at each call, because another function may be at the address by then.
 *
 * The kernel's code is named here, all other in name_file.c.
 */
#include "sym/symbolizer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "sym/naming.h"

/* --- the kernel ------------------------------------------------------------------------------- */

/*
 * The kernel's prefix for the padding before a function. Stacks of an interrupted kernel contain
 * addresses of interrupted instructions, which look like return addresses: the byte before is
 * looked up for all.
 */
#define BEFORE_FUNCTION "__pfx_"

char *symbolizer_kernel_name(const char *name, const struct demangle_style *style)
{
	/* Padding is never executed: the function was interrupted at its first instruction. */
	if (!strncmp(name, BEFORE_FUNCTION, sizeof(BEFORE_FUNCTION) - 1))
		name += sizeof(BEFORE_FUNCTION) - 1;
	return demangle_function(name, style);
}

/* The kernel module's name is not used: it is not part of a function name. */
static int add_kernel_name(void *context, size_t i, const char *name, const char *module)
{
	const struct naming *naming = context;
	cleanup_free char *shown =
		symbolizer_kernel_name(name, &naming->symbolizer->options.demangle);
	int64_t string;

	if (i >= naming->nr)
		return -EINVAL;
	string = shown ? profile_add_string(naming->profile, shown) : -ENOMEM;
	if (string < 0)
		return (int)string;
	profile_set_name(naming->profile, naming->frames[i].frame, (uint32_t)string);
	return 0;
}

/* True if the source worked; otherwise result.kernel_error has the reason, if there is a source. */
static bool ask(const struct kernel_names *source, const struct naming *naming,
		const uint64_t *addresses)
{
	struct error *error = &naming->symbolizer->result.kernel_error;
	struct error reason = {0};
	int err;

	if (!source->name)
		return false;
	err = source->name(source->self, addresses, naming->nr, add_kernel_name, (void *)naming,
			   &reason);
	if (err < 0) {
		reason.code = err;
		*error = reason;
	}
	return err >= 0;
}

static int name_in_kernel(const struct naming *naming)
{
	const struct symbolizer_options *options = &naming->symbolizer->options;
	cleanup_free uint64_t *addresses = calloc(naming->nr, sizeof(*addresses));
	struct error *error = &naming->symbolizer->result.kernel_error;
	struct error before = *error;
	bool named;
	size_t i;

	if (!addresses)
		return -ENOMEM;
	for (i = 0; i < naming->nr; i++)
		addresses[i] = naming->frames[i].address;
	named = ask(&options->kernel, naming, addresses) ||
		ask(&options->kernel_fallback, naming, addresses);
	if (!named && error->code != -ENOMEM)
		return 0;
	*error = before;
	return named ? 0 : -ENOMEM;
}

/* --- all of them ----------------------------------------------------------------------------- */

static int (*const name_module[])(const struct naming *naming) = {
	[MODULE_UNKNOWN] = NULL,
	[MODULE_KERNEL] = name_in_kernel,
	[MODULE_FILE] = name_in_file,
	[MODULE_VDSO] = name_in_vdso,
	[MODULE_RUN_TIME] = name_in_run_time,
};

static int compare_pending(const void *left, const void *right)
{
	const struct pending_frame *a = left, *b = right;

	return COMPARE(a->module, b->module)
		       ?: COMPARE(a->address, b->address) ?: COMPARE(a->frame, b->frame);
}

static bool may_have_lines(const struct symbolizer *symbolizer, enum module_kind kind)
{
	return (symbolizer->options.inlined || symbolizer->options.lines) &&
	       (kind == MODULE_FILE || kind == MODULE_VDSO);
}

static bool is_tried(const struct symbolizer *symbolizer, uint32_t module, size_t frame)
{
	return frame < symbolizer->nr_frames_tried &&
	       !(module < symbolizer->nr_modules && symbolizer->is_untried[module]);
}

static bool is_pending(const struct symbolizer *symbolizer, const struct profile *profile, size_t i,
		       bool run_time)
{
	const struct frame *frame = profile_frame(profile, (uint32_t)i);
	enum module_kind kind = profile_module(profile, frame->module)->kind;

	if (kind == MODULE_RUN_TIME || run_time)
		return kind == MODULE_RUN_TIME && run_time;
	return !is_tried(symbolizer, frame->module, i) && name_module[kind] &&
	       (!profile_is_named(profile, frame) ||
		(!frame->nr_lines && may_have_lines(symbolizer, kind)));
}

/* Lists the frames to name, either in JIT-compiled or in all other code, sorted by module. */
static size_t list_pending(const struct symbolizer *symbolizer, const struct profile *profile,
			   bool run_time, struct pending_frame *pending)
{
	size_t i, nr = 0, nr_frames = profile_nr_frames(profile);

	for (i = 0; i < nr_frames; i++) {
		const struct frame *frame = profile_frame(profile, (uint32_t)i);

		if (is_pending(symbolizer, profile, i, run_time))
			pending[nr++] =
				(struct pending_frame){frame->module, (uint32_t)i, frame->address};
	}
	qsort(pending, nr, sizeof(*pending), compare_pending);
	return nr;
}

/* Counts a module that the budget cut short. */
static void note_cut(struct symbolizer *symbolizer, const struct naming *naming, int refused)
{
	const struct module *module = profile_module(naming->profile, naming->module);
	const struct runtime_table *runtimes = symbolizer->options.runtimes;
	const struct runtime_process *process = NULL;
	struct naming_cuts *cuts = &symbolizer->result.cuts;

	cuts->nr_by_time += refused == -ETIME;
	cuts->nr_by_bytes += refused == -EDQUOT;
	cuts->is_stopped |= refused == -ECANCELED;
	if (cuts->first[0] || refused == -ECANCELED)
		return;
	if (module->kind == MODULE_RUN_TIME && module->file && runtimes)
		process = runtime_table_get(runtimes, module->file - 1);
	if (process)
		(void)snprintf(cuts->first, sizeof(cuts->first), "the map of process %d",
			       process->pid);
	else
		(void)snprintf(cuts->first, sizeof(cuts->first), "%s",
			       profile_string(naming->profile, module->name));
}

static bool is_all_named(const struct naming *naming)
{
	size_t i;

	for (i = 0; i < naming->nr; i++)
		if (!profile_is_named(naming->profile,
				      profile_frame(naming->profile, naming->frames[i].frame)))
			return false;
	return true;
}

/*
 * A file that was cut short was not read to its end: a frame without a name says nothing about it. 0 or -ENOMEM. What
 * another machine stored of a file stays as it is.
 */
static int mark_unread(const struct naming *naming)
{
	const struct module_code *known = profile_code(naming->profile, naming->module);
	struct module_code code = known ? *known : (struct module_code){.build_id_bytes = 0};

	if (!naming->symbolizer->options.files || is_all_named(naming) ||
	    profile_module(naming->profile, naming->module)->kind != MODULE_FILE)
		return 0;
	code.is_unread = true;
	return profile_set_code(naming->profile, naming->module, &code);
}

/*
 * Names one module's frames within its part of the budget. 0; 1 if cut short, or no helper process could answer; or
 * -ENOMEM.
 */
static int name_part(struct naming *naming)
{
	struct symbolizer *symbolizer = naming->symbolizer;
	struct read_budget *budget = symbolizer->options.budget;
	enum module_kind kind = profile_module(naming->profile, naming->module)->kind;
	int err = 0, refused;

	if (!budget)
		return name_module[kind](naming);
	read_budget_begin(budget);
	if (read_budget_take(budget, 0) == 0)
		err = name_module[kind](naming);
	refused = read_budget_end(budget);
	if (refused < 0) {
		note_cut(symbolizer, naming, refused);
		err = err < 0 ? err : mark_unread(naming) ?: err;
	}
	return err < 0 ? err : err > 0 || refused < 0;
}

/* 0 or -ENOMEM. */
static int name_pending(struct naming *naming, const struct pending_frame *pending, size_t nr)
{
	struct symbolizer *symbolizer = naming->symbolizer;
	size_t start, end;
	int err = 0;

	for (start = 0; start < nr && err >= 0; start = end) {
		for (end = start + 1; end < nr; end++)
			if (pending[end].module != pending[start].module)
				break;
		naming->module = pending[start].module;
		naming->frames = pending + start;
		naming->nr = end - start;
		err = name_part(naming);
		if (err >= 0 && naming->module < symbolizer->nr_modules)
			symbolizer->is_untried[naming->module] = err > 0;
	}
	return err < 0 ? err : 0;
}

/* Makes room for marks of the modules that were added. 0 or -ENOMEM. */
static int mark_modules(struct symbolizer *symbolizer, const struct profile *profile)
{
	const size_t nr = profile_nr_modules(profile), before = symbolizer->nr_modules;
	bool *marks;

	if (nr <= before)
		return 0;
	marks = realloc(symbolizer->is_untried, nr * sizeof(*marks));
	if (!marks)
		return -ENOMEM;
	memset(marks + before, 0, (nr - before) * sizeof(*marks));
	symbolizer->is_untried = marks;
	symbolizer->nr_modules = nr;
	return 0;
}

static void count(struct symbolizer *symbolizer, const struct profile *profile)
{
	struct symbolizer_result *result = &symbolizer->result;
	size_t i, nr = profile_nr_frames(profile);

	result->nr_named = 0;
	for (i = 0; i < nr; i++)
		result->nr_named += profile_is_named(profile, profile_frame(profile, (uint32_t)i));
	result->nr_unnamed = nr - result->nr_named;
}

void symbolizer_limit_memory(struct symbolizer *symbolizer, const struct worker_memory *memory)
{
	symbolizer->little_bytes = memory->little_bytes;
	symbolizer->much_bytes = memory->much_bytes;
	symbolizer->has_new_limits = true;
}

static void take_limits(struct symbolizer *symbolizer)
{
	if (atomic_exchange(&symbolizer->has_new_limits, false))
		worker_limit_memory(
			symbolizer->worker,
			&(struct worker_memory){symbolizer->little_bytes, symbolizer->much_bytes});
}

uint64_t symbolizer_nr_over_memory(const struct symbolizer *symbolizer)
{
	return symbolizer->nr_over_memory;
}

int symbolizer_name(struct symbolizer *symbolizer, struct profile *profile)
{
	struct naming naming = {.symbolizer = symbolizer, .profile = profile};
	cleanup_free struct pending_frame *pending =
		calloc(profile_nr_frames(profile) + 1, sizeof(*pending));
	int err;

	if (!pending || mark_modules(symbolizer, profile) < 0)
		return -ENOMEM;
	if (symbolizer->options.worker)
		worker_take_over(symbolizer->options.worker);
	else
		take_limits(symbolizer);
	err = name_pending(&naming, pending, list_pending(symbolizer, profile, false, pending));
	if (err >= 0)
		err = name_pending(&naming, pending,
				   list_pending(symbolizer, profile, true, pending));
	if (err < 0)
		return err;
	symbolizer->nr_frames_tried = profile_nr_frames(profile);
	count(symbolizer, profile);
	return 0;
}

void symbolizer_change_profile(struct symbolizer *symbolizer)
{
	symbolizer->nr_frames_tried = symbolizer->nr_modules = 0;
}

void symbolizer_summarize(const struct symbolizer *symbolizer, struct symbolizer_result *ret)
{
	*ret = symbolizer->result;
	ret->debuginfod_trouble = debuginfod_trouble(symbolizer->options.places.server);
}

struct worker *symbolizer_worker(struct symbolizer *symbolizer)
{
	return symbolizer->worker;
}

void symbolizer_begin_reading(struct symbolizer *symbolizer)
{
	if (symbolizer->options.leave_files || symbolizer->options.worker)
		return;
	worker_begin(symbolizer->worker, PARSER_ROOT_FILES);
	worker_begin(symbolizer->worker, PARSER_OTHER_FILES);
}

void symbolizer_end_reading(struct symbolizer *symbolizer)
{
	worker_end(symbolizer->worker);
}

void symbolizer_give_time(struct symbolizer *symbolizer, uint64_t ns)
{
	symbolizer->lines_ns -= ns < symbolizer->lines_ns ? ns : symbolizer->lines_ns;
	debuginfod_forgive(symbolizer->options.places.server);
}

void symbolizer_set_niceness(struct symbolizer *symbolizer, int niceness)
{
	if (!symbolizer->options.worker)
		worker_set_niceness(symbolizer->worker, niceness);
}

void symbolizer_add_troubles(const struct symbolizer *symbolizer, struct worker_troubles *sum)
{
	if (!symbolizer->options.worker)
		worker_troubles_add(symbolizer->worker, sum);
}

/* --- the symbolizer -------------------------------------------------------------------------- */

/* Files are named one after the other. */
#define ELSEWHERE_OPEN_MAX 4

struct symbolizer *symbolizer_new(const struct symbolizer_options *options)
{
	struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));
	struct error error;

	if (!symbolizer)
		return NULL;
	symbolizer->options = *options;
	symbolizer->worker = options->worker ? options->worker : worker_new(&error);
	symbolizer->elsewhere = file_table_new(ELSEWHERE_OPEN_MAX);
	if (symbolizer->worker && !options->worker) {
		worker_limit_memory(symbolizer->worker, &options->memory);
		worker_set_tables(symbolizer->worker,
				  options->files ? options->files : symbolizer->elsewhere, NULL,
				  NULL);
	}
	symbolizer->vdso = names_state_new(options->max_bytes);
	symbolizer->options.places.crcs = &symbolizer->crcs;
	symbolizer->options.places.budget = options->budget;
	symbolizer->options.places.server = debuginfod_new();
	if (symbolizer->worker && symbolizer->vdso && symbolizer->elsewhere)
		return symbolizer;
	symbolizer_free(symbolizer);
	return NULL;
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	if (!symbolizer->options.worker)
		worker_free(symbolizer->worker);
	file_table_free(symbolizer->elsewhere);
	names_state_free(symbolizer->vdso);
	debuginfod_free(symbolizer->options.places.server);
	free(symbolizer->is_untried);
	free(symbolizer);
}
