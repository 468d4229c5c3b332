/*
 * Everything that is interned lies in a growing array, in order of its numbers, with a
 * number_index to find it by content: 48 bytes a frame, 56 bytes a sample, 4 bytes a frame of a
 * stack. A stack is kept once, so finding a sample compares labels and one number.
 */
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/strings.h"
#include "profile/number_index.h"
#include "profile/stack_table.h"

#define OTHER_STACKS_NAME    "[other stacks]"
#define OTHER_STACKS_ADDRESS UINT64_MAX /* no code can lie there */

struct profile {
	struct strings *strings;

	struct module *modules;
	size_t nr_modules, cap_modules;
	struct number_index module_index;
	struct module_code *codes; /* by module, the first nr_codes of them */
	size_t nr_codes, cap_codes;

	struct frame *frames;
	size_t nr_frames, cap_frames;
	struct number_index frame_index;
	struct code_line *lines;
	size_t nr_lines, cap_lines;

	struct stack_table stacks;
	struct sample *samples;
	size_t nr_samples, cap_samples;
	struct number_index sample_index;

	uint64_t total;
	size_t limit_bytes;  /* 0: none */
	int64_t other_stack; /* -1: not needed yet */
	uint64_t other_count;
	struct profile_origin origin;
};

/* --- strings, modules, frames ------------------------------------------------------------------
 */

int64_t profile_add_string(struct profile *profile, const char *text)
{
	return strings_add(profile->strings, text);
}

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

int64_t profile_add_frame(struct profile *profile, enum frame_kind kind, uint32_t module,
			  uint64_t address)
{
	uint64_t hash = hash_add((uint64_t)module << 1 | (kind == FRAME_KERNEL), address);
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(&profile->frame_index, hash, &probe, &number)) {
		const struct frame *frame = &profile->frames[number];

		if (frame->address == address && frame->module == module && frame->kind == kind)
			return number;
	}
	if (profile->nr_frames >= PROFILE_MAX_FRAMES && (module != MODULE_NR_UNKNOWN || address))
		return profile_add_frame(profile, kind, MODULE_NR_UNKNOWN, 0);
	if (profile->nr_frames >= UINT32_MAX - 1 ||
	    array_reserve(&profile->frames, &profile->cap_frames, profile->nr_frames + 1,
			  sizeof(*profile->frames)) < 0 ||
	    number_index_reserve(&profile->frame_index) < 0)
		return -ENOMEM;
	number = (uint32_t)profile->nr_frames++;
	profile->frames[number] =
		(struct frame){.address = address, .module = module, .kind = kind};
	number_index_add(&profile->frame_index, hash, number);
	return number;
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

/* --- samples -----------------------------------------------------------------------------------
 */

static uint64_t hash_of_sample(const struct sample *sample)
{
	const struct sample_labels *labels = &sample->labels;
	uint64_t hash = hash_add(sample->stack, (uint64_t)labels->comm << 32 | labels->cgroup);

	hash = hash_add(hash, (uint64_t)(uint32_t)labels->pid << 32 | (uint32_t)labels->tid);
	return hash_add(hash, (uint64_t)(uint32_t)labels->cpu << 32 | labels->user_end << 8 |
				      labels->kernel_end);
}

static bool same_sample(const struct sample *a, const struct sample *b)
{
	return a->stack == b->stack && a->nr_kernel_frames == b->nr_kernel_frames &&
	       a->labels.comm == b->labels.comm && a->labels.cgroup == b->labels.cgroup &&
	       a->labels.pid == b->labels.pid && a->labels.tid == b->labels.tid &&
	       a->labels.cpu == b->labels.cpu && a->labels.user_end == b->labels.user_end &&
	       a->labels.kernel_end == b->labels.kernel_end;
}

static int64_t find_sample(const struct profile *profile, const struct sample *sample)
{
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(&profile->sample_index, hash_of_sample(sample), &probe, &number))
		if (same_sample(&profile->samples[number], sample))
			return number;
	return -ENOENT;
}

static int64_t intern_sample(struct profile *profile, const struct sample *sample)
{
	int64_t known = find_sample(profile, sample);
	uint32_t number;

	if (known >= 0)
		return known;
	if (profile->nr_samples >= UINT32_MAX - 1 ||
	    array_reserve(&profile->samples, &profile->cap_samples, profile->nr_samples + 1,
			  sizeof(*profile->samples)) < 0 ||
	    number_index_reserve(&profile->sample_index) < 0)
		return -ENOMEM;
	number = (uint32_t)profile->nr_samples++;
	profile->samples[number] = *sample;
	number_index_add(&profile->sample_index, hash_of_sample(sample), number);
	return number;
}

/* What the limit is about: it grows sample by sample, unlike the memory held, which doubles. */
static size_t sample_bytes(const struct profile *profile)
{
	return stack_table_used_bytes(&profile->stacks) +
	       profile->nr_samples * (sizeof(*profile->samples) + NUMBER_INDEX_BYTES_EACH);
}

/* The number of the stack "[other stacks]", or -ENOMEM. */
static int64_t other_stack(struct profile *profile)
{
	int64_t frame;
	uint32_t number;

	if (profile->other_stack >= 0)
		return profile->other_stack;
	frame = profile_add_frame(profile, FRAME_USER, MODULE_NR_UNKNOWN, OTHER_STACKS_ADDRESS);
	if (frame < 0 || profile_set_function(profile, (uint32_t)frame, OTHER_STACKS_NAME) < 0)
		return -ENOMEM;
	number = (uint32_t)frame;
	profile->other_stack = stack_table_add(&profile->stacks, &number, 1);
	return profile->other_stack;
}

static int64_t intern_other(struct profile *profile, const struct sample_labels *labels)
{
	struct sample sample = {.nr_frames = 1};
	int64_t stack = other_stack(profile);

	if (stack < 0)
		return stack;
	sample.stack = (uint32_t)stack;
	if (sample_bytes(profile) / 2 < profile->limit_bytes)
		sample.labels = *labels;
	sample.labels.user_end = WALK_UNWOUND;
	sample.labels.kernel_end = WALK_NONE;
	return intern_sample(profile, &sample);
}

static int64_t intern(struct profile *profile, struct sample *sample, const uint32_t *frames)
{
	int64_t stack = stack_table_find(&profile->stacks, frames, sample->nr_frames);
	int64_t known;

	if (stack >= 0) {
		sample->stack = (uint32_t)stack;
		known = find_sample(profile, sample);
		if (known >= 0)
			return known;
	}
	if (profile->limit_bytes && sample_bytes(profile) >= profile->limit_bytes)
		return intern_other(profile, &sample->labels);
	if (stack < 0)
		stack = stack_table_add(&profile->stacks, frames, sample->nr_frames);
	if (stack < 0)
		return stack;
	sample->stack = (uint32_t)stack;
	return intern_sample(profile, sample);
}

int64_t profile_add_sample(struct profile *profile, const struct sample_labels *labels,
			   const uint32_t *frames, size_t nr_frames, size_t nr_kernel_frames,
			   uint64_t count)
{
	struct sample sample = {
		.labels = *labels,
		.nr_frames = (uint16_t)nr_frames,
		.nr_kernel_frames = (uint16_t)nr_kernel_frames,
	};
	int64_t number;

	if (nr_frames > UINT16_MAX || nr_kernel_frames > nr_frames)
		return -EINVAL;
	number = intern(profile, &sample, frames);
	if (number >= 0)
		profile_add_count(profile, (uint32_t)number, count);
	return number;
}

void profile_add_count(struct profile *profile, uint32_t sample, uint64_t count)
{
	profile->samples[sample].count += count;
	profile->total += count;
	if (profile->samples[sample].stack == profile->other_stack)
		profile->other_count += count;
}

void profile_reset_samples(struct profile *profile)
{
	stack_table_reset(&profile->stacks);
	number_index_reset(&profile->sample_index);
	profile->nr_samples = 0;
	profile->total = 0;
	profile->other_stack = -1;
	profile->other_count = 0;
}

void profile_set_limit(struct profile *profile, size_t bytes)
{
	profile->limit_bytes = bytes;
}

void profile_set_origin(struct profile *profile, const struct profile_origin *origin)
{
	profile->origin = *origin;
}

const struct profile_origin *profile_origin(const struct profile *profile)
{
	return &profile->origin;
}

/* --- the whole ---------------------------------------------------------------------------------
 */

static int add_first_module(struct profile *profile, enum module_kind kind, const char *name)
{
	struct module module = {.kind = kind};
	int64_t string = strings_add(profile->strings, name);
	int64_t number;

	if (string < 0)
		return (int)string;
	module.name = (uint32_t)string;
	number = profile_add_module(profile, &module);
	return number < 0 ? (int)number : 0;
}

struct profile *profile_new(void)
{
	struct profile *profile = calloc(1, sizeof(*profile));

	if (!profile)
		return NULL;
	profile->other_stack = -1;
	profile->strings = strings_new();
	if (!profile->strings || add_first_module(profile, MODULE_UNKNOWN, "[unknown]") < 0 ||
	    add_first_module(profile, MODULE_KERNEL, "[kernel]") < 0) {
		profile_free(profile);
		return NULL;
	}
	return profile;
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	strings_free(profile->strings);
	free(profile->modules);
	number_index_clear(&profile->module_index);
	free(profile->codes);
	free(profile->lines);
	free(profile->frames);
	number_index_clear(&profile->frame_index);
	stack_table_clear(&profile->stacks);
	free(profile->samples);
	number_index_clear(&profile->sample_index);
	free(profile);
}

size_t profile_bytes(const struct profile *profile)
{
	return sizeof(*profile) + strings_bytes(profile->strings) +
	       profile->cap_modules * sizeof(*profile->modules) +
	       number_index_bytes(&profile->module_index) +
	       profile->cap_frames * sizeof(*profile->frames) +
	       profile->cap_codes * sizeof(*profile->codes) +
	       profile->cap_lines * sizeof(*profile->lines) +
	       number_index_bytes(&profile->frame_index) + stack_table_bytes(&profile->stacks) +
	       profile->cap_samples * sizeof(*profile->samples) +
	       number_index_bytes(&profile->sample_index);
}

/* --- reading -----------------------------------------------------------------------------------
 */

uint32_t profile_nr_strings(const struct profile *profile)
{
	return strings_nr(profile->strings);
}

const char *profile_string(const struct profile *profile, uint32_t string)
{
	return strings_get(profile->strings, string);
}

size_t profile_nr_modules(const struct profile *profile)
{
	return profile->nr_modules;
}

const struct module *profile_module(const struct profile *profile, uint32_t module)
{
	return &profile->modules[module];
}

const char *profile_module_name(const struct profile *profile, uint32_t module)
{
	const char *path = profile_string(profile, profile->modules[module].name);
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	if (profile->modules[module].kind == MODULE_RUN_TIME)
		return "[JIT]";
	return *name ? name : "[unknown]";
}

size_t profile_nr_frames(const struct profile *profile)
{
	return profile->nr_frames;
}

const struct frame *profile_frame(const struct profile *profile, uint32_t frame)
{
	return &profile->frames[frame];
}

size_t profile_nr_samples(const struct profile *profile)
{
	return profile->nr_samples;
}

const struct sample *profile_sample(const struct profile *profile, uint32_t sample)
{
	return &profile->samples[sample];
}

const uint32_t *profile_sample_frames(const struct profile *profile, const struct sample *sample)
{
	size_t nr;

	return stack_table_get(&profile->stacks, sample->stack, &nr);
}

uint64_t profile_total(const struct profile *profile)
{
	return profile->total;
}

uint64_t profile_other_count(const struct profile *profile)
{
	return profile->other_count;
}
