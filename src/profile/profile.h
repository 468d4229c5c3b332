/*
 * A profile in memory: different stacks and how often each was seen. Pure data, no I/O.
 *
 * Everything is interned and known by a small number: strings, modules (files that code comes
 * from), frames, samples. A *sample* here is one line of the profile: a stack with its labels and
 * a value; adding one that is there already adds to its value. The numbers stay valid for as long
 * as the profile lives.
 *
 * Frames of a sample run from the leaf to the root: kernel frames first, then user frames.
 * A frame's address says where its code is: for the kernel the address itself, for a user module
 * the offset in the file. It is the address to look up: callers of frame_address have taken one
 * byte off return addresses, so that a call at a function's end is not taken for the next function.
 *
 * Frames get their function names late, see sym/symbolizer.h.
 */
#ifndef STOOK_PROFILE_PROFILE_H
#define STOOK_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/walk_end.h"

enum frame_kind {
	FRAME_USER,
	FRAME_KERNEL,
};

enum module_kind {
	MODULE_UNKNOWN, /* an address in no mapping that we know of: [unknown] */
	MODULE_KERNEL,	/* the kernel, its modules, BPF programs */
	MODULE_FILE,	/* an ELF file; `file` is its number in proc/file_table */
	MODULE_VDSO,	/* code that the kernel maps into every process */
	MODULE_ANON,	/* executable memory without a file: code made at run time */
};

struct module {
	enum module_kind kind;
	uint32_t file; /* MODULE_FILE only */
	uint32_t name; /* string: path, "[vdso]", "[kernel]", … */
};

/* Every profile has these two modules from the start. */
#define MODULE_NR_UNKNOWN 0
#define MODULE_NR_KERNEL  1

struct frame {
	uint64_t address;
	uint32_t module;
	uint32_t function; /* string; 0: not named (yet, or for good) */
	enum frame_kind kind;
};

/* What tells samples apart besides their frames. Labels that were not asked for are 0. */
struct sample_labels {
	uint32_t comm;	 /* string: the thread's name */
	uint32_t cgroup; /* string: path below the cgroup root */
	int32_t pid;	 /* as the user's pid namespace has it */
	int32_t tid;
	int32_t cpu;
	uint8_t user_end;   /* enum walk_end: why its last frame is the last one */
	uint8_t kernel_end; /* likewise */
};

struct sample {
	struct sample_labels labels;
	uint32_t stack; /* its frames, shared by samples that differ in labels only */
	uint16_t nr_frames;
	uint16_t nr_kernel_frames; /* the first ones */
	uint64_t count;
};

/* Which labels were asked for, and so are worth showing. */
enum label {
	LABEL_PID = 1 << 0,
	LABEL_TID = 1 << 1,
	LABEL_COMM = 1 << 2,
	LABEL_CPU = 1 << 3,
	LABEL_CGROUP = 1 << 4,
};

/* Past so many different frames, further ones are one frame without a name, in no module. */
#define PROFILE_MAX_FRAMES (1U << 20)

struct profile;

/* NULL when out of memory. */
struct profile *profile_new(void);
void profile_free(struct profile *profile);

/*
 * Past so many bytes of samples and their stacks, further different ones are counted, label by
 * label, under a stack with no frame but the one named "[other stacks]", so that totals stay right
 * on a run of days. Past twice as many, their labels are given up too. What is there already is
 * counted as before. 0: no limit. profile_other_count() says how many samples that concerned.
 */
void profile_set_limit(struct profile *profile, size_t bytes);
uint64_t profile_other_count(const struct profile *profile);

/* Interning. Each returns a number, or -ENOMEM. */
int64_t profile_add_string(struct profile *profile, const char *text);
int64_t profile_add_module(struct profile *profile, const struct module *module);
int64_t profile_add_frame(struct profile *profile, enum frame_kind kind, uint32_t module,
			  uint64_t address);

/*
 * Adds count to the sample with these labels and frame numbers. Its number, good until
 * profile_reset_samples(); -ENOMEM; or -EINVAL when the numbers of frames make no sense.
 */
int64_t profile_add_sample(struct profile *profile, const struct sample_labels *labels,
			   const uint32_t *frames, size_t nr_frames, size_t nr_kernel_frames,
			   uint64_t count);
void profile_add_count(struct profile *profile, uint32_t sample, uint64_t count);

/* Names a frame. 0 or -ENOMEM. */
int profile_set_function(struct profile *profile, uint32_t frame, const char *name);

/* Sets all counts to zero and forgets the samples; strings, modules and frames stay known. */
void profile_reset_samples(struct profile *profile);

uint32_t profile_nr_strings(const struct profile *profile);
const char *profile_string(const struct profile *profile, uint32_t string);

size_t profile_nr_modules(const struct profile *profile);
const struct module *profile_module(const struct profile *profile, uint32_t module);
/* Its name without folders, for showing; code made at run time is in `[JIT]`. */
const char *profile_module_name(const struct profile *profile, uint32_t module);

size_t profile_nr_frames(const struct profile *profile);
const struct frame *profile_frame(const struct profile *profile, uint32_t frame);

size_t profile_nr_samples(const struct profile *profile);
const struct sample *profile_sample(const struct profile *profile, uint32_t sample);
/* The sample's frame numbers, leaf first; valid until the next add. */
const uint32_t *profile_sample_frames(const struct profile *profile, const struct sample *sample);

uint64_t profile_total(const struct profile *profile); /* sum of all counts */
size_t profile_bytes(const struct profile *profile);   /* memory held */

#endif
