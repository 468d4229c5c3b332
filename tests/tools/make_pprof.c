/*
 * Converts folded stacks to pprof files, and these to folded stacks or pprof again, for comparison
 * with other tools: see tests/replay/pprof.sh.
 *
 *	make_pprof <STACKS >FILE.pb.gz
 *	make_pprof --all <STACKS >FILE.pb.gz
 *	make_pprof folded <FILE.pb.gz
 *	make_pprof pprof <FILE.pb.gz >AGAIN.pb.gz
 *
 * A line of STACKS is `COMM;FRAME;…;FRAME COUNT`, root first. A FRAME is `MODULE!NAME`; of the
 * kernel `NAME_[k]`, inlined into the frame before it `NAME_[i]`, JIT-compiled `NAME_[j]`. Without
 * MODULE! it belongs to `app`. Modules have two segments, build ids, and lines in `NAME.c`.
 *
 * With --all the profile uses every feature: line N of the stacks, from 0, also has a value `alloc`
 * in bytes, 100 times its count; labels `request` (`rN`) and `size` (N kilobytes, in bytes); and a
 * time slice of one second, the first for even N and the second for odd N. There are two comments.
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
#define START_NS   1700000000000000000
#define SLICE_NS   1000000000

struct stack {
	uint32_t user[MAX_FRAMES], kernel[MAX_FRAMES]; /* root first */
	size_t nr_user, nr_kernel;
};

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "make_pprof: %s\n", what);
	exit(1);
}

/* Checks the result of an addition and returns it as a number. */
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
	uint64_t hash = hash_stable_bytes(name, strlen(name));
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

/* Sets two lines: the inlined function and the function that contains it. */
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
	uint64_t hash = hash_stable_bytes(text, strlen(text));
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
		*next = '\0'; /* has been parsed */
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

static uint32_t set_of(struct profile *profile, unsigned number)
{
	struct set_label labels[2] = {{.number = 0}, {.number = 1024 * (int64_t)number}};
	char request[16];

	(void)snprintf(request, sizeof(request), "r%u", number);
	labels[0].key = string_of(profile, "request");
	labels[0].text = string_of(profile, request);
	labels[1].key = string_of(profile, "size");
	labels[1].unit = string_of(profile, "bytes");
	return checked(profile_add_label_set(profile, labels, 2));
}

static uint32_t slice_of(struct profile *profile, unsigned number)
{
	struct time_slice slice = {.start_ns = START_NS + number % 2 * (uint64_t)SLICE_NS};

	slice.end_ns = slice.start_ns + SLICE_NS;
	return checked(profile_add_slice(profile, &slice));
}

static void add_allocated(struct profile *profile, uint32_t sample, uint64_t bytes)
{
	struct value_type type = {string_of(profile, "alloc"), string_of(profile, "bytes")};
	uint32_t number = checked(profile_add_value_type(profile, &type));

	if (profile_add_value(profile, sample, number, bytes) < 0)
		die("out of memory");
}

/* Joins the frames of a stack, leaf first; returns their number. */
static size_t join(const struct stack *stack, uint32_t frames[2 * MAX_FRAMES])
{
	size_t nr = 0, i;

	for (i = stack->nr_kernel; i; i--)
		frames[nr++] = stack->kernel[i - 1];
	for (i = stack->nr_user; i; i--)
		frames[nr++] = stack->user[i - 1];
	return nr;
}

static void add_line(struct profile *profile, char *line, bool has_all, unsigned number)
{
	struct sample_labels labels = {.user_end = WALK_COMPLETE, .kernel_end = WALK_NONE};
	struct stack *stack = calloc(1, sizeof(*stack));
	uint32_t frames[2 * MAX_FRAMES], sample;
	char *text = strrchr(line, ' '), *rest = line;
	uint64_t count;
	size_t nr;

	if (!stack || !text)
		die("a line has no count");
	*text++ = '\0';
	count = strtoull(text, NULL, 10);
	labels.comm = string_of(profile, strsep(&rest, ";"));
	labels.pid = labels.tid = 1000;
	if (has_all) {
		labels.set = set_of(profile, number);
		labels.slice = slice_of(profile, number);
	}
	add_stack(profile, stack, rest);
	if (stack->nr_kernel)
		labels.kernel_end = WALK_UNWOUND;
	nr = join(stack, frames);
	sample = checked(profile_add_sample(profile, &labels, frames, nr, stack->nr_kernel, count));
	if (has_all)
		add_allocated(profile, sample, 100 * count);
	free(stack);
}

static void read_stacks(struct profile *profile, bool has_all)
{
	struct profile_origin origin = {
		.period = 10000000,
		.time_ns = START_NS,
		.duration_ns = 5000000000,
	};
	char *line = NULL;
	unsigned number = 0;
	size_t cap = 0;
	ssize_t nr;

	origin.event = string_of(profile, "cpu-clock");
	origin.unit = string_of(profile, "nanoseconds");
	profile_set_origin(profile, &origin);
	while ((nr = getline(&line, &cap, stdin)) > 0) {
		if (line[nr - 1] == '\n')
			line[nr - 1] = '\0';
		add_line(profile, line, has_all, number++);
	}
	free(line);
	if (has_all && (profile_add_comment(profile, "made by make_pprof") < 0 ||
			profile_add_comment(profile, "and judged by others") < 0))
		die("out of memory");
}

int main(int argc, char **argv)
{
	bool has_all = argc > 1 && !strcmp(argv[1], "--all");
	bool is_made = argc == 1 || has_all;
	struct format_options options = {.annotate = true};
	const struct format *pprof = format_by_name("pprof");
	const struct format *to = is_made ? pprof : format_by_name(argv[1]);
	struct profile *profile = profile_new();
	struct format_notes notes = {.labels = LABEL_COMM | LABEL_PID | LABEL_TID | LABEL_CPU};
	struct error error = {0};

	if (!profile || !to)
		die("usage: make_pprof [--all|FORMAT]");
	if (has_all)
		notes.labels |= LABEL_SET | LABEL_SLICE;
	if (is_made)
		read_stacks(profile, has_all);
	else if (format_read(stdin, "-", &(struct format_read_options){.format = pprof}, profile,
			     &notes, &error) < 0)
		die(error.text);
	options.labels = notes.labels;
	if (to->write(profile, &options, stdout) < 0)
		die("cannot write");
	profile_free(profile);
	return 0;
}
