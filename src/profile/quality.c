/*
 * Classifies stacks by how their walk ended and by the names of their frames. One pass over the
 * samples counts broken stacks and JIT-compiled frames without a name, per module.
 */
#include "profile/quality.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

/* Outermost functions of programs and threads, in glibc, musl and Go. */
static const char *const beginnings[] = {
	"main",
	"_start",
	"_dl_start_user",
	"clone",
	"__clone",
	"clone3",
	"__clone3",
	"runtime.goexit",
	"runtime.goexit.abi0",
	"runtime.mstart", /* on the runtime's own stack of a thread (g0) */
	"runtime.mstart.abi0",
	"runtime.mcall",
	"runtime.morestack",
	"runtime.morestack.abi0",
	"runtime.rt0_go",
	"runtime.rt0_go.abi0",
	"start_thread",
	"__libc_start_main",
};

/* Frames that a walk finds above main are libc's start code, or stale values of a register. */
#define FRAMES_ABOVE_MAIN 3

static bool reaches_beginning(const struct profile *profile, const struct sample *sample)
{
	const uint32_t *frames = profile_sample_frames(profile, sample);
	size_t i, k, above = 0;

	for (i = sample->nr_frames; i > sample->nr_kernel_frames && above <= FRAMES_ABOVE_MAIN;
	     i--, above++) {
		const struct frame *frame = profile_frame(profile, frames[i - 1]);

		for (k = 0; k < ARRAY_SIZE(beginnings); k++)
			if (!strcmp(profile_string(profile, frame->function), beginnings[k]))
				return true;
	}
	return false;
}

/* Keeps the entries with most samples, sorted. */
static void blame(struct quality *quality, const struct quality_blame *blame)
{
	size_t place;

	for (place = QUALITY_MAX_BLAMED; place; place--) {
		if (quality->blamed[place - 1].samples >= blame->samples)
			break;
		if (place < QUALITY_MAX_BLAMED)
			quality->blamed[place] = quality->blamed[place - 1];
		quality->blamed[place - 1] = *blame;
	}
}

/*
 * Returns the file to blame for a broken stack: the file of the outermost frame that is in a file.
 * Frames beyond it, found by following a register that is not a frame pointer, are not code.
 */
static uint32_t blamed_module(const struct profile *profile, const struct sample *sample)
{
	const uint32_t *frames = profile_sample_frames(profile, sample);
	uint32_t module = MODULE_NR_UNKNOWN;
	size_t i;

	for (i = sample->nr_frames; i > sample->nr_kernel_frames; i--) {
		module = profile_frame(profile, frames[i - 1])->module;
		if (module != MODULE_NR_UNKNOWN)
			break;
	}
	return module;
}

/* True if the frame is JIT-compiled code. */
static bool is_run_time(const struct profile *profile, uint32_t frame)
{
	return profile_module(profile, profile_frame(profile, frame)->module)->kind ==
	       MODULE_RUN_TIME;
}

/*
 * Only the interpreter knows Python's own stack, unless `python -X perf` compiles a trampoline (JIT
 * code, perhaps not named yet) for each Python function, which calls the interpreter. Python does
 * not use trampolines during startup and shutdown.
 */
static void judge_python(const struct profile *profile, const struct sample *sample,
			 uint64_t *interpreted_in)
{
	const uint32_t *frames = profile_sample_frames(profile, sample);
	const struct frame *interpreter = NULL;
	size_t i;

	for (i = sample->nr_kernel_frames; i < sample->nr_frames; i++) {
		const struct frame *frame = profile_frame(profile, frames[i]);
		const char *name = profile_string(profile, frame->function);

		if (!frame->function)
			continue;
		/* `py::` is the prefix of names in Python's perf map. */
		if (!strncmp(name, "py::", 4) || !strcmp(name, "Py_InitializeFromConfig") ||
		    !strcmp(name, "Py_FinalizeEx") || !strncmp(name, "_Py_Finalize", 12))
			return;
		if (strcmp(name, "_PyEval_EvalFrameDefault") != 0)
			continue;
		if (i + 1 < sample->nr_frames && is_run_time(profile, frames[i + 1]))
			return;
		interpreter = frame;
	}
	if (interpreter)
		interpreted_in[interpreter->module] += sample->count;
}

/* If a frame in JIT-compiled code has no name, counts the sample for the module of that code. */
static void judge_run_time(const struct profile *profile, const struct sample *sample,
			   uint64_t *nameless_in)
{
	const uint32_t *frames = profile_sample_frames(profile, sample);
	size_t i;

	/*
	 * A stack belongs to one process, which has a single module of JIT-compiled code: the first
	 * such frame decides.
	 */
	for (i = sample->nr_kernel_frames; i < sample->nr_frames; i++) {
		const struct frame *frame = profile_frame(profile, frames[i]);

		if (frame->function || !is_run_time(profile, frames[i]))
			continue;
		nameless_in[frame->module] += sample->count;
		return;
	}
}

/* Keeps the modules with most samples. */
static void list_nameless(struct quality_nameless *list, const uint64_t *nameless_in,
			  size_t nr_modules)
{
	size_t module, place;

	for (module = 0; module < nr_modules; module++) {
		const struct quality_nameless one = {(uint32_t)module, nameless_in[module]};

		for (place = QUALITY_MAX_BLAMED; place; place--) {
			if (list[place - 1].samples >= one.samples)
				break;
			if (place < QUALITY_MAX_BLAMED)
				list[place] = list[place - 1];
			list[place - 1] = one;
		}
	}
}

/* Counts the sample by the reason why its leaf has no name. A file that was read is stripped. */
static void judge_nameless(const struct profile *profile, const struct frame *leaf, uint64_t count,
			   struct quality *quality, uint64_t *stripped_in)
{
	const struct module_code *code = profile_code(profile, leaf->module);

	quality->unnamed += count;
	if (profile_module(profile, leaf->module)->kind == MODULE_RUN_TIME)
		quality->run_time += count;
	else if (code && code->is_unread)
		quality->unread += count;
	else if (code && code->is_gone)
		quality->gone += count;
	else if (leaf->module == MODULE_NR_UNKNOWN)
		quality->unmapped += count;
	else if (profile_module(profile, leaf->module)->kind == MODULE_FILE)
		stripped_in[leaf->module] += count;
	else
		quality->kernel += count;
}

static void judge_sample(const struct profile *profile, const struct sample *sample,
			 struct quality *quality, uint64_t *broken_in, uint64_t *stripped_in)
{
	const uint32_t *frames = profile_sample_frames(profile, sample);
	const struct frame *leaf = sample->nr_frames ? profile_frame(profile, frames[0]) : NULL;

	if (leaf && !profile_is_named(profile, leaf))
		judge_nameless(profile, leaf, sample->count, quality, stripped_in);
	if (sample->labels.user_end == WALK_NONE)
		return;
	quality->user += sample->count;
	quality->ends[sample->labels.user_end % NR_WALK_ENDS] += sample->count;
	if (sample->labels.user_end == WALK_MISSED ||
	    sample->nr_frames == sample->nr_kernel_frames) {
		quality->missed += sample->count;
		return;
	}
	if (sample->labels.user_end == WALK_COMPLETE || reaches_beginning(profile, sample)) {
		quality->complete += sample->count;
	} else if (sample->labels.user_end == WALK_TRUNCATED) {
		quality->truncated += sample->count;
	} else {
		quality->broken += sample->count;
		broken_in[blamed_module(profile, sample) * NR_WALK_ENDS +
			  sample->labels.user_end % NR_WALK_ENDS] += sample->count;
	}
}

int quality_judge(const struct profile *profile, struct quality *ret)
{
	size_t nr_modules = profile_nr_modules(profile), i, end;
	cleanup_free uint64_t *broken_in =
		calloc(nr_modules + 1, NR_WALK_ENDS * sizeof(*broken_in));
	cleanup_free uint64_t *nameless_in = calloc(nr_modules + 1, sizeof(*nameless_in));
	cleanup_free uint64_t *interpreted_in = calloc(nr_modules + 1, sizeof(*interpreted_in));
	cleanup_free uint64_t *stripped_in = calloc(nr_modules + 1, sizeof(*stripped_in));

	if (!broken_in || !nameless_in || !interpreted_in || !stripped_in)
		return -ENOMEM;
	*ret = (struct quality){0};
	for (i = 0; i < profile_nr_samples(profile); i++) {
		const struct sample *sample = profile_sample(profile, (uint32_t)i);

		judge_sample(profile, sample, ret, broken_in, stripped_in);
		judge_run_time(profile, sample, nameless_in);
		judge_python(profile, sample, interpreted_in);
	}
	for (i = 0; i < nr_modules; i++)
		for (end = 0; end < NR_WALK_ENDS; end++)
			blame(ret, &(struct quality_blame){
					   .module = (uint32_t)i,
					   .end = (enum walk_end)end,
					   .samples = broken_in[i * NR_WALK_ENDS + end],
				   });
	list_nameless(ret->nameless, nameless_in, nr_modules);
	list_nameless(ret->interpreted, interpreted_in, nr_modules);
	list_nameless(ret->stripped, stripped_in, nr_modules);
	return 0;
}
