/*
 * Profiles for tests, from lines of folded stacks: `comm;main;libc.so!read;sys_read_[k] 3`.
 *
 * Frames are listed root first. A frame is `module!name`; the module is `app` without `module!`,
 * and the kernel with `_[k]`. `!` without a name makes an unnamed frame. `name@x` is another
 * address in `name`. `name{/path/file.c:12}` has a line. `name_[i]` was inlined into the frame
 * before it, `name_[j]` is JIT-compiled; a module `~x` was deleted. `[missed]` as first or last
 * frame marks the user or kernel stack as missed.
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
	const struct module_code gone = {.is_gone = true};
	struct module module = {.kind = MODULE_FILE};
	char path[256];
	int64_t number;

	if (!*name)
		return MODULE_NR_UNKNOWN;
	(void)snprintf(path, sizeof(path), "/usr/lib/%s", name + (*name == '~'));
	module.name = (uint32_t)profile_add_string(profile, path);
	module.file = *name == '~';
	number = profile_add_module(profile, &module);
	CHECK(number >= 0);
	if (*name == '~')
		CHECK_EQ(profile_set_code(profile, (uint32_t)number, &gone), 0);
	return (uint32_t)number;
}

static inline uint32_t make_run_time_module(struct profile *profile)
{
	struct module module = {.kind = MODULE_RUN_TIME, .file = 1};
	int64_t number;

	module.name = (uint32_t)profile_add_string(profile, "//anon");
	number = profile_add_module(profile, &module);
	CHECK(number >= 0);
	return (uint32_t)number;
}

/* Removes the suffix; returns true if it was there. */
static inline bool make_suffix(char *text, const char *suffix)
{
	size_t nr = strlen(text), nr_suffix = strlen(suffix);

	if (nr <= nr_suffix || strcmp(text + nr - nr_suffix, suffix) != 0)
		return false;
	text[nr - nr_suffix] = '\0';
	return true;
}

/* Removes `{path:number}` from a name; the returned line has no path if there was none. */
static inline struct code_line make_line(struct profile *profile, char *name)
{
	struct code_line line = {0};
	char *path = strchr(name, '{'), *number = path ? strrchr(path, ':') : NULL;

	if (number) {
		*path++ = '\0';
		*number++ = '\0';
		line.file = (uint32_t)profile_add_string(profile, path);
		line.line = (uint32_t)strtoul(number, NULL, 10);
	}
	line.function = (uint32_t)profile_add_string(profile, name);
	return line;
}

static inline uint32_t make_frame(struct profile *profile, char *text, bool kernel)
{
	uint64_t address = hash_stable_bytes(text, strlen(text));
	char *name = strchr(text, '!');
	char *at = strrchr(text, '@');
	bool run_time = !kernel && make_suffix(text, "_[j]");
	uint32_t module = MODULE_NR_KERNEL;
	struct code_line line;
	int64_t frame;

	if (at)
		*at = '\0';
	if (name)
		*name++ = '\0';
	if (run_time)
		module = make_run_time_module(profile);
	else if (!kernel)
		module = make_module(profile, name ? text : "app");
	name = name ? name : text;
	line = make_line(profile, name);
	frame = profile_add_frame(profile, kernel ? FRAME_KERNEL : FRAME_USER, module, address);
	CHECK(frame >= 0);
	if (*name)
		CHECK_EQ(profile_set_function(profile, (uint32_t)frame, name), 0);
	if (line.file)
		CHECK_EQ(profile_set_lines(profile, (uint32_t)frame, &line, 1), 0);
	return (uint32_t)frame;
}

/* Adds a frame of a function inlined into the given frame, at another address. */
static inline uint32_t make_inlined(struct profile *profile, uint32_t into, char *name)
{
	const struct frame outer = *profile_frame(profile, into);
	struct code_line lines[16] = {{0}, {.function = outer.function}};
	uint64_t address = outer.address ^ hash_stable_bytes(name, strlen(name));
	int64_t frame = profile_add_frame(profile, outer.kind, outer.module, address);
	char outer_name[256];

	CHECK(frame >= 0 && outer.nr_lines < 15);
	if (outer.nr_lines)
		memcpy(lines + 1, profile_lines(profile, &outer), outer.nr_lines * sizeof(*lines));
	(void)snprintf(outer_name, sizeof(outer_name), "%s",
		       profile_string(profile, outer.function));
	lines[0] = make_line(profile, name);
	CHECK_EQ(profile_set_function(profile, (uint32_t)frame, outer_name), 0);
	CHECK_EQ(profile_set_lines(profile, (uint32_t)frame, lines,
				   outer.nr_lines ? outer.nr_lines + 1 : 2),
		 0);
	return (uint32_t)frame;
}

struct make_stack {
	uint32_t user[MAKE_MAX_FRAMES], kernel[MAKE_MAX_FRAMES]; /* root first */
	size_t nr_user, nr_kernel;
	uint32_t *last; /* frame */
};

static inline void make_stack_add(struct profile *profile, struct make_stack *stack,
				  struct sample_labels *labels, char *text)
{
	bool kernel = make_suffix(text, "_[k]");

	if (stack->last && make_suffix(text, "_[i]")) {
		*stack->last = make_inlined(profile, *stack->last, text);
		return;
	}
	if (!strcmp(text, "[missed]") && !stack->nr_user && labels->user_end != WALK_MISSED) {
		labels->user_end = WALK_MISSED;
		return;
	}
	if (!strcmp(text, "[missed]")) {
		labels->kernel_end = WALK_MISSED;
		return;
	}
	if (kernel) {
		labels->kernel_end = WALK_UNWOUND;
		stack->last = &stack->kernel[stack->nr_kernel++];
	} else {
		labels->user_end = WALK_UNWOUND;
		stack->last = &stack->user[stack->nr_user++];
	}
	*stack->last = make_frame(profile, text, kernel);
}

/* Adds a stack with labels; the line gives the comm. */
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

static inline void set_main_value(struct profile *profile, const char *type, const char *unit)
{
	struct value_type main;

	CHECK_EQ(profile_make_value_type(profile, type, unit, &main), 0);
	profile_set_main_type(profile, main);
}

/* Returns a profile of newline-terminated lines. */
static inline struct profile *make_profile(const char *lines)
{
	struct profile *profile = profile_new();
	char *copy = strdup(lines), *rest = copy, *line;

	CHECK(profile && copy);
	while ((line = strsep(&rest, "\n")) && *line)
		(void)make_sample(profile, line);
	free(copy);
	return profile;
}

#endif
