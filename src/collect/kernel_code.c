/*
 * An address is asked for once in a profile, and a page of the kernel itself once in the run: modules and BPF programs
 * have pages of their own. So what is remembered is limited by the size of the kernel's code, however long the run is.
 * The functions of modules have no event when they go away; a module that is unloaded in the epoch in which it was
 * first sampled gets no name.
 */
#include "collect/kernel_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"

/* Pages of the kernel itself that are remembered, 256 MiB of code; further ones are asked for in each profile. */
#define CORE_MAX   65536
#define PAGE_SHIFT 12 /* the smallest pages */

/* A kernel that could not be asked is left alone for a number of epochs, which doubles with each failure in a row. */
#define MAX_DOUBLINGS 6

void kernel_code_clear(struct kernel_code *code)
{
	free(code->loose);
	free(code->gone);
	u64_map_clear(&code->core);
	*code = (struct kernel_code){0};
}

void kernel_code_change_profile(struct kernel_code *code)
{
	code->nr_seen = code->nr_loose = code->first_asked = 0;
}

static bool has_address(const struct frame *frame)
{
	return frame->kind == FRAME_KERNEL && frame->module == MODULE_NR_KERNEL &&
	       frame->address < PROFILE_NOWHERE;
}

/* --- asking ----------------------------------------------------------------------------------- */

/* Frames that the kernel is asked for, the last ones of code->loose. */
struct question {
	struct kernel_code *code;
	struct profile *profile;
	const uint32_t *frames;
	const uint64_t *addresses;
	bool *is_core;
	bool has_failed; /* for want of our own memory */
};

/* The kernel names no module for BPF programs and trampolines. Some functions of its own have such names, too. */
static bool may_go_away(const char *name, const char *module)
{
	return *module || text_starts_with(name, "bpf_");
}

static int take_name(void *context, size_t i, const char *name, const char *module)
{
	struct question *question = context;
	int err = 0;

	question->is_core[i] = !may_go_away(name, module);
	if (question->is_core[i] && question->code->core.nr < CORE_MAX &&
	    u64_map_set(&question->code->core, question->addresses[i] >> PAGE_SHIFT, 0) < 0)
		err = -ENOMEM;
	if (!err)
		err = profile_set_function(question->profile, question->frames[i], name);
	question->has_failed = err < 0;
	return err;
}

/*
 * Asks for the loose frames from number `first` on, and removes those of the kernel itself. A kernel that could not be
 * asked, for want of memory perhaps, is asked again at a later call: -EAGAIN.
 */
static int ask(struct kernel_code *code, struct profile *profile, size_t first)
{
	const size_t nr = code->nr_loose - first;
	uint32_t *frames = code->loose + first;
	cleanup_free uint64_t *addresses = calloc(nr, sizeof(*addresses));
	cleanup_free bool *is_core = calloc(nr, sizeof(*is_core));
	struct question question = {code, profile, frames, addresses, is_core, false};
	struct error unnamed = {0};
	size_t i;
	int err;

	if (!addresses || !is_core)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		addresses[i] = profile_frame(profile, frames[i])->address;
	err = code->names.name(code->names.self, addresses, nr, take_name, &question, &unnamed);
	if (err < 0) {
		code->nr_failures += code->nr_failures < MAX_DOUBLINGS;
		code->nr_rests = 1U << code->nr_failures;
		return question.has_failed ? -ENOMEM : -EAGAIN;
	}
	code->nr_failures = 0;
	for (i = 0; i < nr; i++)
		if (!is_core[i])
			code->loose[first++] = frames[i];
	code->nr_loose = first;
	return 0;
}

int kernel_code_name(struct kernel_code *code, struct profile *profile)
{
	const size_t first = code->nr_loose, nr_seen = code->nr_seen;
	int err = 0;

	code->first_asked = first;
	if (code->nr_rests) {
		code->nr_rests--;
		return 0;
	}
	for (; code->nr_seen < profile_nr_frames(profile); code->nr_seen++) {
		const uint32_t number = (uint32_t)code->nr_seen;
		const struct frame *frame = profile_frame(profile, number);

		if (has_address(frame) && !frame->function &&
		    !u64_map_find(&code->core, frame->address >> PAGE_SHIFT) &&
		    ARRAY_ADD(code->loose, code->nr_loose, code->cap_loose, number) < 0)
			return -ENOMEM;
	}
	if (code->names.name && code->nr_loose > first)
		err = ask(code, profile, first);
	if (err != -EAGAIN)
		return err;
	code->nr_loose = first; /* as if they had not been seen */
	code->nr_seen = nr_seen;
	return 0;
}

/* --- unloading -------------------------------------------------------------------------------- */

int kernel_code_add_gone(struct kernel_code *code, const struct gone_code *gone)
{
	const struct gone_code moved = *gone;
	size_t at = array_first(code->nr_gone, i, code->gone[i].time_ns > gone->time_ns);

	if (ARRAY_ADD(code->gone, code->nr_gone, code->cap_gone, moved) < 0)
		return -ENOMEM;
	memmove(&code->gone[at + 1], &code->gone[at],
		(code->nr_gone - 1 - at) * sizeof(*code->gone));
	code->gone[at] = moved;
	return 0;
}

static bool is_in(const struct frame *frame, const struct gone_code *gone)
{
	return has_address(frame) && frame->address >= gone->start && frame->address < gone->end;
}

/* If several were at an address, one after the other, the frame is of the first: the list is sorted by time. */
int kernel_code_correct(const struct kernel_code *code, struct profile *profile)
{
	size_t i, nr;
	int err = 0;

	for (nr = code->nr_gone; nr-- > 0;)
		for (i = code->first_asked; i < code->nr_loose && !err; i++)
			if (is_in(profile_frame(profile, code->loose[i]), &code->gone[nr]))
				err = profile_set_function(profile, code->loose[i],
							   code->gone[nr].name);
	return err;
}

/* If the frame's code is gone, its address may become another frame's. 1: it is gone; 0 or -ENOMEM. */
static int displace(struct profile *profile, uint32_t number, const struct gone_code *gone)
{
	const struct frame *frame = profile_frame(profile, number);

	if (!is_in(frame, gone))
		return 0;
	if (!frame->function && profile_set_function(profile, number, gone->name) < 0)
		return -ENOMEM;
	profile_displace_frame(profile, number);
	return 1;
}

static int replay_one(struct kernel_code *code, struct profile *profile,
		      const struct gone_code *gone)
{
	size_t i, left = 0;
	int err = 0;

	for (i = 0; i < code->nr_loose; i++) {
		int is_gone = err < 0 ? 0 : displace(profile, code->loose[i], gone);

		if (is_gone <= 0)
			code->loose[left++] = code->loose[i];
		err = is_gone < 0 ? is_gone : err;
	}
	code->nr_loose = left;
	for (i = code->nr_seen; i < profile_nr_frames(profile) && err >= 0; i++)
		err = displace(profile, (uint32_t)i, gone);
	return err < 0 ? err : 0;
}

int kernel_code_replay(struct kernel_code *code, struct profile *profile, uint64_t until_ns)
{
	size_t nr = 0;
	int err = 0;

	while (!err && nr < code->nr_gone && code->gone[nr].time_ns <= until_ns)
		err = replay_one(code, profile, &code->gone[nr++]);
	if (!nr)
		return 0;
	code->nr_gone -= nr;
	memmove(code->gone, code->gone + nr, code->nr_gone * sizeof(*code->gone));
	return err;
}
