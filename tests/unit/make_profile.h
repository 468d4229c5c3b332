/*
 * Profiles for tests, from lines as people write stacks: `comm;main;libc.so!read;sys_read_[k] 3`.
 *
 * Root first. A frame is `module!name`, of module `app` without `module!`, and of the kernel with
 * `_[k]`. `!` without a name makes a frame that has none. `name@x` is another address in `name`.
 * `[missed]` as first or last frame makes the user or kernel stack a missed one.
 */
#ifndef STOOK_TESTS_UNIT_MAKE_PROFILE_H
#define STOOK_TESTS_UNIT_MAKE_PROFILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "profile/profile.h"
#include "unit/test.h"

#define MAKE_MAX_FRAMES 600

static inline uint32_t make_module(struct profile *profile, const char *name)
{
	struct module module = {.kind = MODULE_FILE};
	char path[256];
	int64_t number;

	if (!*name)
		return MODULE_NR_UNKNOWN;
	(void)snprintf(path, sizeof(path), "/usr/lib/%s", name);
	module.name = (uint32_t)profile_add_string(profile, path);
	number = profile_add_module(profile, &module);
	CHECK(number >= 0);
	return (uint32_t)number;
}

static inline uint32_t make_frame(struct profile *profile, char *text, bool kernel)
{
	uint64_t address = hash_bytes(text, strlen(text));
	char *name = strchr(text, '!');
	char *at = strrchr(text, '@');
	uint32_t module = MODULE_NR_KERNEL;
	int64_t frame;

	if (at)
		*at = '\0';
	if (name)
		*name++ = '\0';
	if (!kernel)
		module = make_module(profile, name ? text : "app");
	name = name ? name : text;
	frame = profile_add_frame(profile, kernel ? FRAME_KERNEL : FRAME_USER, module, address);
	CHECK(frame >= 0);
	if (*name)
		CHECK_EQ(profile_set_function(profile, (uint32_t)frame, name), 0);
	return (uint32_t)frame;
}

struct make_stack {
	uint32_t user[MAKE_MAX_FRAMES], kernel[MAKE_MAX_FRAMES]; /* root first */
	size_t nr_user, nr_kernel;
};

static inline void make_stack_add(struct profile *profile, struct make_stack *stack,
				  struct sample_labels *labels, char *text)
{
	size_t length = strlen(text);
	bool kernel = length > 4 && !strcmp(text + length - 4, "_[k]");

	if (!strcmp(text, "[missed]") && !stack->nr_user && labels->user_end != WALK_MISSED) {
		labels->user_end = WALK_MISSED;
		return;
	}
	if (!strcmp(text, "[missed]")) {
		labels->kernel_end = WALK_MISSED;
		return;
	}
	if (kernel) {
		text[length - 4] = '\0';
		labels->kernel_end = WALK_UNWOUND;
		stack->kernel[stack->nr_kernel++] = make_frame(profile, text, true);
	} else {
		labels->user_end = WALK_UNWOUND;
		stack->user[stack->nr_user++] = make_frame(profile, text, false);
	}
}

/* With labels besides the comm, which the line has. */
static inline int64_t make_labelled(struct profile *profile, struct sample_labels labels,
				    const char *line)
{
	struct make_stack stack = {.nr_user = 0};
	uint32_t frames[2 * MAKE_MAX_FRAMES];
	size_t nr = 0;
	size_t i;
	char *copy = strdup(line);
	char *space = strrchr(copy, ' ');
	char *rest = copy;
	int64_t sample;

	CHECK(space != NULL);
	*space = '\0';
	labels.comm = (uint32_t)profile_add_string(profile, strsep(&rest, ";"));
	while (rest)
		make_stack_add(profile, &stack, &labels, strsep(&rest, ";"));
	for (i = stack.nr_kernel; i; i--)
		frames[nr++] = stack.kernel[i - 1];
	for (i = stack.nr_user; i; i--)
		frames[nr++] = stack.user[i - 1];
	sample = profile_add_sample(profile, &labels, frames, nr, stack.nr_kernel,
				    strtoull(space + 1, NULL, 10));
	CHECK(sample >= 0);
	free(copy);
	return sample;
}

static inline int64_t make_sample(struct profile *profile, const char *line)
{
	return make_labelled(profile, (struct sample_labels){0}, line);
}

#endif
