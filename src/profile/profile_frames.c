/*
 * Modules and frames. A frame is found by kind, module and address; one that is known by name only
 * gets an address where no code can lie (PROFILE_NOWHERE), and is found by what it says.
 */
#include "profile/profile_state.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

/* --- modules ---------------------------------------------------------------------------------- */

static bool same_module(const struct module *a, const struct module *b)
{
	return a->kind == b->kind && a->file == b->file && a->name == b->name;
}

int64_t profile_add_module(struct profile *profile, const struct module *module)
{
	uint64_t hash = hash_add(hash_add(module->kind, module->file), module->name);
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(&profile->module_index, hash, &probe, &number))
		if (same_module(&profile->modules[number], module))
			return number;
	if (profile->nr_modules >= UINT32_MAX - 1 ||
	    array_reserve(&profile->modules, &profile->cap_modules, profile->nr_modules + 1,
			  sizeof(*profile->modules)) < 0 ||
	    number_index_reserve(&profile->module_index) < 0)
		return -ENOMEM;
	number = (uint32_t)profile->nr_modules++;
	profile->modules[number] = *module;
	number_index_add(&profile->module_index, hash, number);
	return number;
}

int profile_set_code(struct profile *profile, uint32_t module, const struct module_code *code)
{
	if (array_reserve(&profile->codes, &profile->cap_codes, (size_t)module + 1, sizeof(*code)) <
	    0)
		return -ENOMEM;
	for (; profile->nr_codes <= module; profile->nr_codes++)
		profile->codes[profile->nr_codes] = (struct module_code){0};
	profile->codes[module] = *code;
	return 0;
}

const struct module_code *profile_code(const struct profile *profile, uint32_t module)
{
	const struct module_code *code;

	if (module >= profile->nr_codes)
		return NULL;
	code = &profile->codes[module];
	return code->build_id_bytes || code->nr_segments || code->is_gone ? code : NULL;
}

/* --- frames ----------------------------------------------------------------------------------- */

static bool is_full(const struct profile *profile)
{
	return profile->nr_frames >= profile->max_frames;
}

/* The frames that stand for others, for which there is always room. */
static bool is_stand_in(uint32_t module, uint64_t address)
{
	return module == MODULE_NR_UNKNOWN && (!address || address == OTHER_STACKS_ADDRESS);
}

/* A new frame, found in the index by the hash; its number, or -ENOMEM. */
static int64_t push_frame(struct profile *profile, struct number_index *index, uint64_t hash,
			  const struct frame *frame)
{
	uint32_t number;

	if (profile->nr_frames >= UINT32_MAX - 1 ||
	    array_reserve(&profile->frames, &profile->cap_frames, profile->nr_frames + 1,
			  sizeof(*profile->frames)) < 0 ||
	    number_index_reserve(index) < 0)
		return -ENOMEM;
	number = (uint32_t)profile->nr_frames++;
	profile->frames[number] = *frame;
	number_index_add(index, hash, number);
	return number;
}

int64_t profile_add_frame(struct profile *profile, enum frame_kind kind, uint32_t module,
			  uint64_t address)
{
	uint64_t hash = hash_add(hash_u64((uint64_t)module << 1 | (kind == FRAME_KERNEL)), address);
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(&profile->frame_index, hash, &probe, &number)) {
		const struct frame *frame = &profile->frames[number];

		if (frame->address == address && frame->module == module && frame->kind == kind)
			return number;
	}
	if (is_full(profile) && !is_stand_in(module, address))
		return profile_add_frame(profile, kind, MODULE_NR_UNKNOWN, 0);
	return push_frame(profile, &profile->frame_index, hash,
			  &(struct frame){.address = address, .module = module, .kind = kind});
}

/* A name without a place in the source is the frame's alone. */
static size_t nr_real_lines(const struct code_line *lines, size_t nr)
{
	return nr == 1 && !lines->file && !lines->line ? 0 : nr;
}

static bool says(const struct profile *profile, const struct frame *frame,
		 const struct code_line *lines, size_t nr)
{
	size_t nr_real = nr_real_lines(lines, nr);

	return frame->function == (nr ? lines[nr - 1].function : 0) && frame->nr_lines == nr_real &&
	       (!nr_real ||
		!memcmp(profile_lines(profile, frame), lines, nr_real * sizeof(*lines)));
}

static int64_t push_named(struct profile *profile, uint64_t hash, const struct frame *frame,
			  const struct code_line *lines, size_t nr)
{
	int64_t number = push_frame(profile, &profile->named_index, hash, frame);

	if (number < 0 || !nr_real_lines(lines, nr))
		return number;
	return profile_set_lines(profile, (uint32_t)number, lines, nr) < 0 ? -ENOMEM : number;
}

int64_t profile_add_named_frame(struct profile *profile, enum frame_kind kind, uint32_t module,
				const struct code_line *lines, size_t nr)
{
	uint64_t hash = hash_add(module, (uint64_t)kind);
	struct frame frame = {.module = module, .kind = kind};
	size_t probe = 0;
	uint32_t number;

	if (nr > UINT16_MAX)
		nr = UINT16_MAX;
	if (nr)
		hash = hash_add(hash, hash_key(lines, nr * sizeof(*lines)));
	while (number_index_next(&profile->named_index, hash, &probe, &number)) {
		const struct frame *known = &profile->frames[number];

		if (known->module == module && known->kind == kind &&
		    says(profile, known, lines, nr))
			return number;
	}
	if (is_full(profile))
		return profile_add_frame(profile, kind, MODULE_NR_UNKNOWN, 0);
	frame.function = nr ? lines[nr - 1].function : 0;
	frame.address = PROFILE_NOWHERE + profile->nr_frames;
	return push_named(profile, hash, &frame, lines, nr);
}

void profile_set_name(struct profile *profile, uint32_t frame, uint32_t string)
{
	profile->frames[frame].function = string;
}

int profile_set_function(struct profile *profile, uint32_t frame, const char *name)
{
	int64_t string = strings_add(profile->strings, name);

	if (string < 0)
		return (int)string;
	profile_set_name(profile, frame, (uint32_t)string);
	return 0;
}

int profile_set_lines(struct profile *profile, uint32_t frame, const struct code_line *lines,
		      size_t nr)
{
	if (nr > UINT16_MAX)
		nr = UINT16_MAX;
	if (profile->nr_lines + nr > UINT32_MAX ||
	    array_reserve(&profile->lines, &profile->cap_lines, profile->nr_lines + nr,
			  sizeof(*lines)) < 0)
		return -ENOMEM;
	if (nr)
		memcpy(profile->lines + profile->nr_lines, lines, nr * sizeof(*lines));
	profile->frames[frame].first_line = (uint32_t)profile->nr_lines;
	profile->frames[frame].nr_lines = (uint16_t)nr;
	profile->nr_lines += nr;
	return 0;
}

const struct code_line *profile_lines(const struct profile *profile, const struct frame *frame)
{
	return frame->nr_lines ? profile->lines + frame->first_line : NULL;
}

void profile_set_max_frames(struct profile *profile, size_t nr)
{
	profile->max_frames = nr < PROFILE_MAX_FILE_FRAMES ? nr : PROFILE_MAX_FILE_FRAMES;
}
