/*
 * Everything that is interned lies in a growing array, in order of its numbers, with a
 * number_index to find it by content: 48 bytes a frame, 64 bytes a sample, 4 bytes a frame of a
 * stack. Frames are profile_frames.c's, samples profile_samples.c's.
 */
#include "profile/profile_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int64_t profile_add_string(struct profile *profile, const char *text)
{
	return strings_add(profile->strings, text);
}

int64_t profile_add_string_bytes(struct profile *profile, const char *bytes, size_t nr)
{
	return strings_add_bytes(profile->strings, bytes, nr);
}

void profile_set_origin(struct profile *profile, const struct profile_origin *origin)
{
	profile->origin = *origin;
}

const struct profile_origin *profile_origin(const struct profile *profile)
{
	return &profile->origin;
}

bool profile_is_sum(const struct profile *profile)
{
	return profile->origin.counted.unit != 0;
}

int profile_add_comment(struct profile *profile, const char *line)
{
	int64_t string = strings_add(profile->strings, line);

	if (string < 0 || array_reserve(&profile->comments, &profile->cap_comments,
					profile->nr_comments + 1, sizeof(*profile->comments)) < 0)
		return -ENOMEM;
	profile->comments[profile->nr_comments++] = (uint32_t)string;
	return 0;
}

size_t profile_nr_comments(const struct profile *profile)
{
	return profile->nr_comments;
}

const char *profile_comment(const struct profile *profile, size_t number)
{
	return strings_get(profile->strings, profile->comments[number]);
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

/* Every profile has these from the start. */
static int add_first_things(struct profile *profile)
{
	int64_t samples = strings_add(profile->strings, "samples");
	int64_t count = strings_add(profile->strings, "count");

	if (samples < 0 || count < 0 ||
	    add_first_module(profile, MODULE_UNKNOWN, "[unknown]") < 0 ||
	    add_first_module(profile, MODULE_KERNEL, "[kernel]") < 0)
		return -ENOMEM;
	profile->samples_string = (uint32_t)samples;
	profile->count_string = (uint32_t)count;
	return 0;
}

struct profile *profile_new(void)
{
	struct profile *profile = calloc(1, sizeof(*profile));

	if (!profile)
		return NULL;
	profile->other_stack = -1;
	profile->max_frames = PROFILE_MAX_FRAMES;
	profile->strings = strings_new();
	if (!profile->strings || add_first_things(profile) < 0) {
		profile_free(profile);
		return NULL;
	}
	return profile;
}

void profile_free(struct profile *profile)
{
	size_t i;

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
	number_index_clear(&profile->named_index);
	for (i = 0; i < profile->nr_columns; i++)
		free(profile->columns[i].amounts);
	stack_table_clear(&profile->label_sets);
	free(profile->slices);
	number_index_clear(&profile->slice_index);
	free(profile->comments);
	free(profile);
}

size_t profile_bytes(const struct profile *profile)
{
	size_t columns = 0, i;

	for (i = 0; i < profile->nr_columns; i++)
		columns += profile->columns[i].cap * sizeof(*profile->columns[i].amounts);
	return columns + sizeof(*profile) + strings_bytes(profile->strings) +
	       profile->cap_modules * sizeof(*profile->modules) +
	       number_index_bytes(&profile->module_index) +
	       profile->cap_frames * sizeof(*profile->frames) +
	       profile->cap_codes * sizeof(*profile->codes) +
	       profile->cap_lines * sizeof(*profile->lines) +
	       number_index_bytes(&profile->frame_index) + stack_table_bytes(&profile->stacks) +
	       profile->cap_samples * sizeof(*profile->samples) +
	       number_index_bytes(&profile->sample_index) +
	       number_index_bytes(&profile->named_index) + stack_table_bytes(&profile->label_sets) +
	       number_index_bytes(&profile->slice_index) +
	       profile->cap_slices * sizeof(*profile->slices) +
	       profile->cap_comments * sizeof(*profile->comments);
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
