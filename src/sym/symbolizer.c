/*
 * The frames to be named are listed and sorted by module; each run of one module is named by what
 * suits its kind, a row of a table.
 *
 * Frames of code made at run time are listed again at each call: the same address may have become
 * another function's.
 */
#include "sym/symbolizer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sym/naming.h"

struct symbolizer *symbolizer_new(const struct symbolizer_options *options)
{
	struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));

	if (!symbolizer)
		return NULL;
	symbolizer->options = *options;
	symbolizer->cache = symbol_cache_new(options->max_bytes);
	symbolizer->run_time = run_time_maps_new(options->max_bytes);
	symbolizer->debuginfod = debuginfod_new();
	if (symbolizer->cache && symbolizer->run_time)
		return symbolizer;
	symbolizer_free(symbolizer);
	return NULL;
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	symbol_cache_free(symbolizer->cache);
	run_time_maps_free(symbolizer->run_time);
	debuginfod_free(symbolizer->debuginfod);
	free(symbolizer);
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

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

static bool may_have_lines(const struct symbolizer *symbolizer, enum module_kind kind)
{
	return (symbolizer->options.inlined || symbolizer->options.lines) &&
	       (kind == MODULE_FILE || kind == MODULE_VDSO);
}

static bool is_pending(const struct symbolizer *symbolizer, const struct profile *profile, size_t i)
{
	const struct frame *frame = profile_frame(profile, (uint32_t)i);
	enum module_kind kind = profile_module(profile, frame->module)->kind;

	if (kind == MODULE_RUN_TIME)
		return true;
	return i >= symbolizer->nr_frames_tried && name_module[kind] &&
	       (!frame->function || (!frame->nr_lines && may_have_lines(symbolizer, kind)));
}

/* Lists the frames to be named, sorted by module; returns how many. */
static size_t list_pending(const struct symbolizer *symbolizer, const struct profile *profile,
			   struct pending_frame *pending)
{
	size_t i, nr = 0, nr_frames = profile_nr_frames(profile);

	for (i = 0; i < nr_frames; i++) {
		const struct frame *frame = profile_frame(profile, (uint32_t)i);

		if (is_pending(symbolizer, profile, i))
			pending[nr++] =
				(struct pending_frame){frame->module, (uint32_t)i, frame->address};
	}
	qsort(pending, nr, sizeof(*pending), compare_pending);
	return nr;
}

static int name_pending(struct naming *naming, const struct pending_frame *pending, size_t nr)
{
	size_t start, end;
	int err = 0;

	for (start = 0; start < nr && err == 0; start = end) {
		for (end = start + 1; end < nr; end++)
			if (pending[end].module != pending[start].module)
				break;
		naming->module = pending[start].module;
		naming->frames = pending + start;
		naming->nr = end - start;
		err = name_module[profile_module(naming->profile, naming->module)->kind](naming);
	}
	return err;
}

static void count(struct symbolizer *symbolizer, const struct profile *profile)
{
	struct symbolizer_result *result = &symbolizer->result;
	size_t i;

	symbolizer->nr_frames_tried = profile_nr_frames(profile);
	result->nr_named = 0;
	for (i = 0; i < symbolizer->nr_frames_tried; i++)
		result->nr_named += profile_frame(profile, (uint32_t)i)->function != 0;
	result->nr_unnamed = symbolizer->nr_frames_tried - result->nr_named;
}

int symbolizer_name(struct symbolizer *symbolizer, struct profile *profile)
{
	struct naming naming = {.symbolizer = symbolizer, .profile = profile};
	cleanup_free struct pending_frame *pending =
		calloc(profile_nr_frames(profile) + 1, sizeof(*pending));
	int err;

	if (!pending)
		return -ENOMEM;
	err = name_pending(&naming, pending, list_pending(symbolizer, profile, pending));
	if (err == 0)
		count(symbolizer, profile);
	return err;
}

void symbolizer_summarize(const struct symbolizer *symbolizer, struct symbolizer_result *ret)
{
	*ret = symbolizer->result;
	ret->debuginfod_trouble = debuginfod_trouble(symbolizer->debuginfod);
}
