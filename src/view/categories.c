/*
 * A function is tried against the patterns that can begin as its name does, one after the other,
 * and once in a profile, wherever it occurs: that keeps a table of a thousand patterns cheap for a
 * million functions. How a table is read is categories_parse.c's.
 */
#include "view/categories.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "base/hash.h"
#include "view/categories_table.h"

#define NO_NAME	   "[unknown]"
#define NAME_BYTES 1024 /* a function's name without arguments is not longer, or not tried */

/* --- functions ------------------------------------------------------------------------------- */

/* A module as patterns have it, `ext4` for the kernel's `[ext4]`, and as it is. */
static bool module_fits(const char *glob, const char *module)
{
	char bare[256];
	size_t nr = strlen(module);

	if (glob_fits(glob, module))
		return true;
	if (nr < 3 || nr > sizeof(bare) || module[0] != '[' || module[nr - 1] != ']')
		return false;
	memcpy(bare, module + 1, nr - 2);
	bare[nr - 2] = '\0';
	return glob_fits(glob, bare);
}

static bool is_where(const struct pattern *pattern, const char *module, enum frame_kind kind)
{
	switch (pattern->where) {
	case WHERE_KERNEL:
		return kind == FRAME_KERNEL;
	case WHERE_USER:
		return kind == FRAME_USER;
	case WHERE_MODULE:
		return module_fits(pattern->module, module);
	case WHERE_ANY:
		break;
	}
	return true;
}

static bool is_named(const struct pattern *pattern, const char *name)
{
	if (pattern->glob)
		return glob_fits(pattern->glob, name);
	return !regexec(&pattern->regex, name, 0, NULL, 0);
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/*
 * The bytes in front of a function's arguments: of the kernel's a compiler's suffix, as in
 * `tcp_ack.part.0`, is no part of the name either. Parentheses that are no arguments':
 * `operator()`, `(anonymous namespace)`, and Go's `main.(*Server).Serve`.
 */
static size_t name_bytes(const char *name, enum frame_kind kind)
{
	size_t depth = 0, i;

	if (kind == FRAME_KERNEL)
		return strcspn(name, ".");
	for (i = 0; name[i]; i++) {
		bool is_operator = i >= 8 && begins(name + i - 8, "operator");

		if (name[i] == '<' && !is_operator)
			depth++;
		else if (name[i] == '>' && depth && name[i - 1] != '-')
			depth--;
		else if (name[i] == '(' && i && !depth && !is_operator && name[i - 1] != '.' &&
			 !begins(name + i, "(anonymous namespace)"))
			break;
	}
	return i;
}

uint32_t categories_of_function(const struct categories *categories, const char *function,
				const char *module, enum frame_kind kind)
{
	const char *name = function && *function ? function : NO_NAME;
	size_t nr = name_bytes(name, kind);
	const uint32_t *end =
		categories->by_byte + categories->first_of_byte[(unsigned char)*name + 1];
	const uint32_t *number;
	char bare[NAME_BYTES] = "";
	bool has_bare = nr && nr < sizeof(bare) && name[nr];

	if (has_bare)
		memcpy(bare, name, nr);
	number = categories->by_byte + categories->first_of_byte[(unsigned char)*name];
	for (; number < end; number++) {
		const struct pattern *pattern = &categories->patterns[*number];

		if (is_where(pattern, module, kind) &&
		    (is_named(pattern, name) || (has_bare && is_named(pattern, bare))))
			return pattern->category;
	}
	return CATEGORY_OTHER;
}

/* --- profiles -------------------------------------------------------------------------------- */

struct counter {
	const struct categories *categories;
	const struct profile *profile;
	struct u64_map known; /* functions: see category_of() */
	uint8_t *of_frame;    /* the innermost function's in it that has one */
};

/* Of one function in a frame; each is looked up once. Or -ENOMEM. */
static int category_of(struct counter *counter, const struct frame *frame, uint32_t name)
{
	uint64_t key =
		(uint64_t)name << 32 | (uint64_t)frame->module << 1 | (frame->kind == FRAME_KERNEL);
	const uint64_t *known = u64_map_find(&counter->known, key);
	uint32_t category;

	if (known)
		return (int)*known;
	category = categories_of_function(
		counter->categories, profile_string(counter->profile, name),
		profile_module_name(counter->profile, frame->module), frame->kind);
	if (u64_map_set(&counter->known, key, category) < 0)
		return -ENOMEM;
	return (int)category;
}

static int find_frame(struct counter *counter, uint32_t number)
{
	const struct frame *frame = profile_frame(counter->profile, number);
	const struct code_line *lines =
		frame->nr_lines ? profile_lines(counter->profile, frame) : NULL;
	size_t nr = lines ? frame->nr_lines : 1, i;
	int category = CATEGORY_OTHER;

	for (i = 0; i < nr && category == CATEGORY_OTHER; i++)
		category = category_of(counter, frame, lines ? lines[i].function : frame->function);
	if (category < 0)
		return category;
	counter->of_frame[number] = (uint8_t)category;
	return 0;
}

/*
 * The kernel's own table is about the kernel: nothing in it belongs to whoever called from outside.
 */
static uint32_t find_sample(const struct counter *counter, const struct sample *sample)
{
	const uint32_t *frames = profile_sample_frames(counter->profile, sample);
	size_t nr = sample->nr_frames, i;

	if (counter->categories->of_kernel && sample->nr_kernel_frames)
		nr = sample->nr_kernel_frames;
	for (i = 0; i < nr; i++)
		if (counter->of_frame[frames[i]] != CATEGORY_OTHER)
			return counter->of_frame[frames[i]];
	return CATEGORY_OTHER;
}

static int count_all(struct counter *counter, uint32_t *of_sample, uint64_t *counts)
{
	uint32_t i;

	for (i = 0; i < profile_nr_frames(counter->profile); i++)
		if (find_frame(counter, i) < 0)
			return -ENOMEM;
	for (i = 0; i < profile_nr_samples(counter->profile); i++) {
		const struct sample *sample = profile_sample(counter->profile, i);

		of_sample[i] = find_sample(counter, sample);
		counts[of_sample[i]] += sample->count;
	}
	return 0;
}

int categories_count(const struct categories *categories, const struct profile *profile,
		     uint32_t **ret_of_sample, uint64_t **ret_counts)
{
	struct counter counter = {.categories = categories, .profile = profile};
	cleanup_free uint32_t *of_sample =
		calloc(profile_nr_samples(profile) + 1, sizeof(*of_sample));
	cleanup_free uint64_t *counts = calloc(categories->nr, sizeof(*counts));
	int err = -ENOMEM;

	counter.of_frame = calloc(profile_nr_frames(profile) + 1, 1);
	if (of_sample && counts && counter.of_frame)
		err = count_all(&counter, of_sample, counts);
	u64_map_clear(&counter.known);
	free(counter.of_frame);
	if (err)
		return err;
	*ret_of_sample = take_pointer(&of_sample);
	*ret_counts = take_pointer(&counts);
	return 0;
}
