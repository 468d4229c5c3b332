/*
 * Makes pprof files out of folded stacks, and folded stacks or another pprof file out of those, for
 * whoever wants to judge them: see tests/replay/pprof.sh.
 *
 *	make_pprof <STACKS >FILE.pb.gz
 *	make_pprof folded <FILE.pb.gz
 *	make_pprof pprof <FILE.pb.gz >AGAIN.pb.gz
 *
 * A line of STACKS is `COMM;FRAME;…;FRAME COUNT`, root first. A FRAME is `MODULE!NAME`, a kernel's
 * `NAME_[k]`, one inlined into the frame before it `NAME_[i]`, made at run time `NAME_[j]`. Without
 * MODULE! it is of `app`. Modules have two segments, build ids, and lines in `NAME.c`.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "format/format.h"
#include "profile/profile.h"

#define MAX_FRAMES 1024

struct stack {
	uint32_t user[MAX_FRAMES], kernel[MAX_FRAMES]; /* root first */
	size_t nr_user, nr_kernel;
};

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "make_pprof: %s\n", what);
	exit(1);
}

/* The number that adding gave. */
static uint32_t checked(int64_t number)
{
	if (number < 0)
		die("out of memory");
	return (uint32_t)number;
}

static uint32_t string_of(struct profile *profile, const char *text)
{
	return checked(profile_add_string(profile, text));
}

static uint32_t module_of(struct profile *profile, const char *name)
{
	struct module_code code = {
		.build_id_bytes = 20,
		.nr_segments = 2,
		.segments = {{0x1000, 0x401000, 0x100000}, {0x102000, 0x603000, 0x100000}},
	};
	struct module module = {.kind = MODULE_FILE};
	uint64_t hash = hash_bytes(name, strlen(name));
	char path[256];
	uint32_t number;

	memcpy(code.build_id, &hash, sizeof(hash));
	(void)snprintf(path, sizeof(path), "/usr/lib/%s", name);
	module.name = string_of(profile, path);
	number = checked(profile_add_module(profile, &module));
	if (profile_set_code(profile, number, &code) < 0)
		die("out of memory");
	return number;
}

static bool take_suffix(char *text, const char *suffix)
{
	size_t nr = strlen(text), nr_suffix = strlen(suffix);

	if (nr <= nr_suffix || strcmp(text + nr - nr_suffix, suffix) != 0)
		return false;
	text[nr - nr_suffix] = '\0';
	return true;
}

static struct code_line line_of(struct profile *profile, const char *name, unsigned number)
{
	char file[300];

	(void)snprintf(file, sizeof(file), "/src/%s.c", name);
	return (struct code_line){string_of(profile, name), string_of(profile, file), number};
}

/* Two lines: the function that was inlined, and the one that is there. */
static void inline_into(struct profile *profile, uint32_t frame, const char *outer,
			const char *inner)
{
	struct code_line lines[2];

	lines[0] = line_of(profile, inner, 11);
	lines[1] = line_of(profile, outer, 22);
	if (profile_set_lines(profile, frame, lines, 2) < 0)
		die("out of memory");
}

static uint32_t frame_of(struct profile *profile, char *text, const char *inlined, bool is_kernel)
{
	uint64_t hash = hash_bytes(text, strlen(text));
	uint64_t address = (hash & 1 ? 0x1000 : 0x102000) + (hash >> 1) % 0x100000;
	struct module jit = {.kind = MODULE_RUN_TIME, .file = 1};
	uint32_t module = MODULE_NR_KERNEL, frame;
	char *name = strchr(text, '!');

	if (inlined)
		address = address / 2 + 0x800;
	if (name)
		*name++ = '\0';
	if (is_kernel)
		address |= 0xffffffff81000000;
	else if (take_suffix(name ? name : text, "_[j]"))
		module = checked(profile_add_module(profile, &jit));
	else
		module = module_of(profile, name ? text : "app");
	name = name ? name : text;
	frame = checked(
		profile_add_frame(profile, is_kernel ? FRAME_KERNEL : FRAME_USER, module, address));
	if (profile_set_function(profile, frame, name) < 0)
		die("out of memory");
	if (inlined)
		inline_into(profile, frame, name, inlined);
	return frame;
}

static void add_frame(struct profile *profile, struct stack *stack, char *text, char *next)
{
	bool is_kernel = take_suffix(text, "_[k]");
	const char *inlined = next && take_suffix(next, "_[i]") ? next : NULL;
	uint32_t frame = frame_of(profile, text, inlined, is_kernel);

	if (stack->nr_kernel >= MAX_FRAMES || stack->nr_user >= MAX_FRAMES)
		die("too many frames");
	if (is_kernel)
		stack->kernel[stack->nr_kernel++] = frame;
	else
		stack->user[stack->nr_user++] = frame;
	if (inlined)
		*next = '\0'; /* has been taken */
}

static void add_stack(struct profile *profile, struct stack *stack, char *rest)
{
	char *text = strsep(&rest, ";");

	while (text) {
		char *next = strsep(&rest, ";");

		if (*text)
			add_frame(profile, stack, text, next);
		text = next;
	}
}

static void add_line(struct profile *profile, char *line)
{
	struct sample_labels labels = {.user_end = WALK_COMPLETE, .kernel_end = WALK_NONE};
	struct stack *stack = calloc(1, sizeof(*stack));
	uint32_t frames[2 * MAX_FRAMES];
	char *count = strrchr(line, ' '), *rest = line;
	size_t nr = 0, i;

	if (!stack || !count)
		die("a line has no count");
	*count++ = '\0';
	labels.comm = string_of(profile, strsep(&rest, ";"));
	labels.pid = labels.tid = 1000;
	add_stack(profile, stack, rest);
	if (stack->nr_kernel)
		labels.kernel_end = WALK_UNWOUND;
	for (i = stack->nr_kernel; i; i--)
		frames[nr++] = stack->kernel[i - 1];
	for (i = stack->nr_user; i; i--)
		frames[nr++] = stack->user[i - 1];
	if (profile_add_sample(profile, &labels, frames, nr, stack->nr_kernel,
			       strtoull(count, NULL, 10)) < 0)
		die("out of memory");
	free(stack);
}

static void read_stacks(struct profile *profile)
{
	struct profile_origin origin = {
		.period = 10000000,
		.time_ns = 1700000000000000000,
		.duration_ns = 5000000000,
	};
	char *line = NULL;
	size_t cap = 0;
	ssize_t nr;

	origin.event = string_of(profile, "cpu-clock");
	origin.unit = string_of(profile, "nanoseconds");
	profile_set_origin(profile, &origin);
	while ((nr = getline(&line, &cap, stdin)) > 0) {
		if (line[nr - 1] == '\n')
			line[nr - 1] = '\0';
		add_line(profile, line);
	}
	free(line);
}

int main(int argc, char **argv)
{
	const struct format_options options = {
		.labels = LABEL_COMM | LABEL_PID | LABEL_TID | LABEL_CPU, .annotate = true};
	const struct format *pprof = format_by_name("pprof");
	const struct format *to = format_by_name(argc > 1 ? argv[1] : "pprof");
	struct profile *profile = profile_new();
	struct format_notes notes;
	struct error error = {0};

	if (!profile || !to)
		die("usage: make_pprof [FORMAT]");
	if (argc == 1)
		read_stacks(profile);
	else if (pprof->read(stdin, profile, &notes, &error) < 0)
		die(error.text);
	if (to->write(profile, &options, stdout) < 0)
		die("cannot write");
	profile_free(profile);
	return 0;
}
