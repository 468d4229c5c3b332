/*
 * A profile in memory: distinct stacks and the number of times each was seen. Pure data, no I/O.
 *
 * Everything is interned and identified by a small number: strings, modules (files that code comes
 * from), frames, samples. A *sample* here is one line of the profile: a stack with its labels and
 * a value; adding a known sample adds to its value. The numbers stay valid until profile_free().
 *
 * Frames of a sample run from the leaf to the root: kernel frames first, then user frames.
 * A frame's address says where its code is: for the kernel the address itself, for a user module
 * the offset in the file. It is the address to look up: one byte is already subtracted from return
 * addresses, so that a call at a function's end is not attributed to the next function.
 *
 * Frames are named late, see sym/symbolizer.h: with the function that the symbol table has at the
 * address, and on request with the functions inlined there, with source lines.
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
	MODULE_UNKNOWN,	 /* an address in no known mapping: [unknown] */
	MODULE_KERNEL,	 /* the kernel, its modules, BPF programs */
	MODULE_FILE,	 /* an ELF file; `file` is its number in proc/file_table */
	MODULE_VDSO,	 /* code that the kernel maps into every process */
	MODULE_RUN_TIME, /* executable memory without a file: JIT-compiled code */
};

struct module {
	enum module_kind kind;
	uint32_t file; /* MODULE_FILE: see above; MODULE_RUN_TIME: number in proc/runtime_table + 1,
			  0: process not known */
	uint32_t name; /* string: path, "[vdso]", "[kernel]", … */
};

#define PROFILE_BUILD_ID_BYTES 32
#define PROFILE_MAX_SEGMENTS   4

/* The identity of a file's code, valid across machines, and its link-time addresses. */
struct module_code {
	uint8_t build_id[PROFILE_BUILD_ID_BYTES];
	uint8_t build_id_bytes; /* 0: none */
	uint8_t nr_segments;
	bool is_gone;	/* could not be opened: deleted */
	bool is_unread; /* could not be read, or not to its end: permission or time were missing */
	struct module_segment {
		uint64_t offset; /* in the file */
		uint64_t vaddr;	 /* as linked */
		uint64_t bytes;
	} segments[PROFILE_MAX_SEGMENTS]; /* of code */
};

/* Converts an offset in the file to a link-time address. 0; -ENOENT if no segment contains it. */
int module_code_vaddr(const struct module_code *code, uint64_t offset, uint64_t *ret);
/* The other way round. */
int module_code_offset(const struct module_code *code, uint64_t vaddr, uint64_t *ret);

/* Every profile has these two modules from the start. */
#define MODULE_NR_UNKNOWN 0
#define MODULE_NR_KERNEL  1

/* A function at an address, and its source line. function and file are strings; 0: not known. */
struct code_line {
	uint32_t function;
	uint32_t file; /* path */
	uint32_t line;
};

struct frame {
	uint64_t address;
	uint32_t module;
	uint32_t function;   /* string; 0: not named yet, or no name found */
	uint32_t first_line; /* see profile_lines() */
	uint16_t nr_lines;
	enum frame_kind kind;
};

/* Samples with equal stacks are distinguished by these. Labels that were not requested are 0. */
struct sample_labels {
	uint32_t comm;	 /* string: the thread's name */
	uint32_t cgroup; /* string: path below the cgroup root */
	uint32_t probe;	 /* string: the name of the probe that was hit */
	int32_t pid;	 /* in the user's pid namespace */
	int32_t tid;
	int32_t cpu;
	uint32_t set;	    /* number of a label set, see below; 0: empty */
	uint32_t slice;	    /* number of a time slice; 0: no slices */
	uint8_t user_end;   /* enum walk_end: why the user stack ends */
	uint8_t kernel_end; /* enum walk_end, for the kernel stack */
	bool gave_up;	    /* its spare labels were dropped, see profile_set_spare_labels() */
};

struct sample {
	struct sample_labels labels;
	uint32_t stack; /* interned frames, shared by samples that differ only in labels */
	uint16_t nr_frames;
	/* Kernel frames come first; the whole stack of a waker may come before them, and counts as theirs. */
	uint16_t nr_kernel_frames;
	uint64_t count; /* the main value */
};

/* Bits of the labels that were requested and are shown. */
enum label {
	LABEL_PID = 1 << 0,
	LABEL_TID = 1 << 1,
	LABEL_COMM = 1 << 2,
	LABEL_CPU = 1 << 3,
	LABEL_CGROUP = 1 << 4,
	LABEL_PROBE = 1 << 5,
	LABEL_SET = 1 << 6,
	LABEL_SLICE = 1 << 7,
};

/*
 * Limit on distinct frames. Past it, all further frames share one frame without a name, in the
 * unknown module. Readers of a file that the user named may set a higher limit.
 */
#define PROFILE_MAX_FRAMES	(1U << 20)
#define PROFILE_MAX_FILE_FRAMES (1U << 24)

/*
 * Frames at or above this address, where no code can be, have no real address: they are known by
 * name only, see profile_add_named_frame().
 */
#define PROFILE_NOWHERE (UINT64_MAX - PROFILE_MAX_FILE_FRAMES)

struct profile;

/* Returns NULL when out of memory. The caller frees it with profile_free(). */
struct profile *profile_new(void);
void profile_free(struct profile *profile);

/*
 * Limits the bytes of samples, their stacks and frames. Past the limit, new samples are counted by their
 * labels under a stack of a single frame, "[other stacks]", so that totals stay right on a run of
 * days. Past twice the limit, their labels are dropped too. Known samples are counted as before. 0:
 * no limit. profile_other_count() returns the number of samples in "[other stacks]".
 */
void profile_set_limit(struct profile *profile, size_t bytes);

/*
 * Sets the labels (LABEL_PID, LABEL_TID) to drop first: past half of the limit, new samples are
 * counted without them. profile_unlabelled_count() returns the number of samples that lost them.
 */
void profile_set_spare_labels(struct profile *profile, unsigned labels);
uint64_t profile_unlabelled_count(const struct profile *profile);
void profile_set_max_frames(struct profile *profile, size_t nr);
uint64_t profile_other_count(const struct profile *profile);

/* From now on, samples are in the order in which they were added: an equal one is only counted if it was the last. */
void profile_keep_order(struct profile *profile);

/* Intern a value. Each returns its number, or -ENOMEM. */
int64_t profile_add_string(struct profile *profile, const char *text);
int64_t profile_add_string_bytes(struct profile *profile, const char *bytes, size_t nr);
/* For text from untrusted files: NUL bytes, which would end it, become `?`. */
int64_t profile_add_foreign_string(struct profile *profile, const char *text, size_t nr);
int64_t profile_add_module(struct profile *profile, const struct module *module);
int64_t profile_add_frame(struct profile *profile, enum frame_kind kind, uint32_t module,
			  uint64_t address);

/* Returns the number of the frame at an address; -ENOENT. */
int64_t profile_find_frame(const struct profile *profile, enum frame_kind kind, uint32_t module,
			   uint64_t address);

/*
 * Takes a frame's address away: the code that was there is gone. The frame keeps its samples and its name; from now on
 * another frame may have the address.
 */
void profile_displace_frame(struct profile *profile, uint32_t frame);

/*
 * Interns a frame without an address by its lines, as for profile_set_lines(). One line without a
 * file and line number is just a name; no line is code without a name.
 */
int64_t profile_add_named_frame(struct profile *profile, enum frame_kind kind, uint32_t module,
				const struct code_line *lines, size_t nr);

/*
 * Adds count to the sample with these labels and frame numbers. Returns the sample's number, valid
 * until profile_reset_samples(); -ENOMEM; or -EINVAL if nr_frames is too large or below
 * nr_kernel_frames.
 */
int64_t profile_add_sample(struct profile *profile, const struct sample_labels *labels,
			   const uint32_t *frames, size_t nr_frames, size_t nr_kernel_frames,
			   uint64_t count);
void profile_add_count(struct profile *profile, uint32_t sample, uint64_t count);

/* Drops a sample: sets all its values to 0. Samples with only zeros are not shown. */
void profile_drop_sample(struct profile *profile, uint32_t sample);

/* Moves the sample's values to the same stack's sample with these labels. 0 or -ENOMEM. */
int profile_relabel_sample(struct profile *profile, uint32_t sample,
			   const struct sample_labels *labels);

/* Name a frame, by string number or by text. The latter returns 0 or -ENOMEM. */
void profile_set_name(struct profile *profile, uint32_t frame, uint32_t string);
int profile_set_function(struct profile *profile, uint32_t frame, const char *name);

/*
 * A function with a known start address but no symbol is shown as file name + link-time start:
 * `libz.so.1+0x4a20`. This text is the same in all runs of a build. It does not count as a name and
 * may be replaced by one. profile_set_start() returns 0 or -ENOMEM; profile_is_start() is true if
 * the string `function` is such a text, of which profile_start() returns the address.
 */
int profile_set_start(struct profile *profile, uint32_t frame, uint64_t start);
bool profile_is_start(const struct profile *profile, uint32_t function, uint32_t module);
uint64_t profile_start(const struct profile *profile, uint32_t function);

/* True if the frame has a function name; a text from profile_set_start() does not count. */
bool profile_is_named(const struct profile *profile, const struct frame *frame);

/*
 * The lines of a frame: the functions inlined there, innermost first, then the function that
 * contains them, whose name is the frame's. profile_set_lines() returns 0 or -ENOMEM,
 * profile_lines() returns NULL for a frame without lines, as if they were not requested.
 */
int profile_set_lines(struct profile *profile, uint32_t frame, const struct code_line *lines,
		      size_t nr);
const struct code_line *profile_lines(const struct profile *profile, const struct frame *frame);

/* A module's code. set returns 0 or -ENOMEM; the getter returns NULL if it was never set. */
int profile_set_code(struct profile *profile, uint32_t module, const struct module_code *code);
const struct module_code *profile_code(const struct profile *profile, uint32_t module);

#define PROFILE_RATIO_BYTES 512 /* longer names of a ratio are ignored */

/* How the samples were taken. */
struct profile_origin {
	uint32_t event;	      /* string: "cpu-clock" */
	uint32_t unit;	      /* string, unit of the period: "nanoseconds", "count" */
	uint64_t period;      /* of the event, per sample; 0: variable */
	uint64_t time_ns;     /* start, wall clock; 0: not known */
	uint64_t duration_ns; /* 0: not known */
	size_t nr_events; /* the first values are events that were sampled together; 0: one event */
	uint32_t ratio;	  /* string, "instructions/cycles": see profile/ratio.h; 0: none */
};

void profile_set_origin(struct profile *profile, const struct profile_origin *origin);
const struct profile_origin *profile_origin(const struct profile *profile);

/* Adds a line of the run's report as a comment. 0 or -ENOMEM. */
int profile_add_comment(struct profile *profile, const char *line);
/*
 * Returns the text of the first comment on a topic that contains these words; NULL if there is
 * none. Such comments begin with the topic, one word padded with blanks to 9 columns, which is
 * skipped.
 */
const char *profile_comment_about(const struct profile *profile, const char *topic,
				  const char *words);
size_t profile_nr_comments(const struct profile *profile);
const char *profile_comment(const struct profile *profile, size_t number);

/* Drops the samples, their values, label sets and time slices; strings, modules and frames stay. */
void profile_reset_samples(struct profile *profile);

uint32_t profile_nr_strings(const struct profile *profile);
const char *profile_string(const struct profile *profile, uint32_t string);

size_t profile_nr_modules(const struct profile *profile);
const struct module *profile_module(const struct profile *profile, uint32_t module);
/* The module's name without folders, for output; `[JIT]` for JIT-compiled code. */
const char *profile_module_name(const struct profile *profile, uint32_t module);

size_t profile_nr_frames(const struct profile *profile);
const struct frame *profile_frame(const struct profile *profile, uint32_t frame);

size_t profile_nr_samples(const struct profile *profile);
const struct sample *profile_sample(const struct profile *profile, uint32_t sample);
/* Returns the sample's frame numbers, leaf first; valid until the next add. */
const uint32_t *profile_sample_frames(const struct profile *profile, const struct sample *sample);

uint64_t profile_total(const struct profile *profile); /* of the main value */
size_t profile_bytes(const struct profile *profile);   /* memory held */

/* --- values ----------------------------------------------------------------------------------- */

/*
 * A sample has one value or more, each with a name and a unit: "samples" in "count", "hits" in
 * "count", "cpu" in "nanoseconds", "alloc_space" in "bytes". Number 0 is the main value: a sample's
 * count, which readers fill and views sort by and show. To show another value, choose it: the two
 * are swapped.
 */
struct value_type {
	uint32_t type; /* string; 0 in a type to set or add: "samples" */
	uint32_t unit; /* string; 0 in a type to set or add: "count" */
};

/* Limit on values, the main value included. More are refused. */
#define PROFILE_MAX_VALUES 64

/* Sets the type of the main value; the default is "samples". */
void profile_set_main_type(struct profile *profile, struct value_type type);

/* Interns the strings of a type. 0 or -ENOMEM. */
int profile_make_value_type(struct profile *profile, const char *type, const char *unit,
			    struct value_type *ret);

/* Returns the number of the value of this type, which is added if needed; or -E2BIG. */
int profile_add_value_type(struct profile *profile, const struct value_type *wanted);

size_t profile_nr_values(const struct profile *profile); /* at least 1 */
struct value_type profile_value_type(const struct profile *profile, size_t number);
const char *profile_value_name(const struct profile *profile, size_t number);
const char *profile_value_unit(const struct profile *profile, size_t number);

/* True if the main value sums amounts (bytes, nanoseconds); false if it counts samples or hits. */
bool profile_is_sum(const struct profile *profile);

int profile_add_value(struct profile *profile, uint32_t sample, size_t number, uint64_t amount);
void profile_clear_value(struct profile *profile, size_t number); /* to 0; not the main value */
uint64_t profile_value(const struct profile *profile, uint32_t sample, size_t number);
uint64_t profile_value_total(const struct profile *profile, size_t number);
bool profile_has_value(const struct profile *profile, uint32_t sample); /* one not 0 */

/* True if the total plus `more` does not exceed INT64_MAX, the most that file formats can hold. */
bool profile_value_has_room(const struct profile *profile, size_t number, uint64_t more);

/* Swaps this value with the main value. 0 or -ENOMEM. */
int profile_choose_value(struct profile *profile, size_t number);

/* Returns the number of the first value with this type name; -ENOENT if there is none. */
int profile_find_value(const struct profile *profile, const char *type);

/*
 * With a fixed period, the number of events is samples * period. It is derived from the main value
 * and the origin's period, not stored, unless a file that was read has it as a value of its own.
 */
struct profile_value {
	const char *type, *unit;
	size_t number;	 /* of the stored value that has the amounts */
	uint64_t factor; /* to multiply the amounts by: 1, or the period */
	bool is_event;	 /* it equals the main value * period */
};

/*
 * Value names: the number of events if the origin has no event name, and the customary name for the
 * time of clock events.
 */
#define PROFILE_SOME_EVENTS "events"
#define PROFILE_CPU_TIME    "cpu"

/*
 * Lists all values: the stored ones at their numbers, then the derived number of events, unless a
 * stored value has that name. Returns how many.
 */
size_t profile_values(const struct profile *profile, struct profile_value ret[PROFILE_MAX_VALUES]);

/*
 * If the main value is only the derived number of events (the stored value "samples" times the
 * period), makes that stored value the main value. 0 or -ENOMEM.
 */
int profile_choose_samples(struct profile *profile);

/* True if the event is a clock of CPU time, whose period is in nanoseconds. */
bool profile_has_clock_event(const struct profile *profile);

/*
 * Returns the amount of the main value per sample: 1 if it counts samples or hits, the period if it
 * counts the event, 0 if not known.
 */
uint64_t profile_sample_amount(const struct profile *profile);

/*
 * Amounts with fractions are stored multiplied by a power of 10, which is part of the unit: such a
 * value is a "weight" in units of "1/1000". Output code divides the amounts by the factor.
 */
struct value_scale {
	unsigned decimals;
	uint64_t factor; /* 10 to the power of decimals */
};

/* Limit on fraction digits that are kept. */
#define VALUE_MAX_DECIMALS 6

struct value_scale value_scale(unsigned decimals);

/* Makes the main value a weight with this scale. 0 or -ENOMEM. */
int profile_set_scale(struct profile *profile, struct value_scale scale);

/* Returns the main value's scale, from its unit: no decimals and factor 1 unless it is a weight. */
struct value_scale profile_scale(const struct profile *profile);

/* Formats a scaled amount as it was read: "2.25", "10". Returns text. */
#define VALUE_SCALE_BYTES 32
const char *value_scale_text(char text[VALUE_SCALE_BYTES], uint64_t amount,
			     struct value_scale scale);

/* --- label sets ------------------------------------------------------------------------------- */

/*
 * Labels with arbitrary keys from other programs, such as "request" and "trace_id" in pprof files.
 * All such labels of a sample form one set, interned and identified by a number; 0 is the empty
 * set.
 */

struct set_label {
	uint32_t key;  /* string */
	uint32_t text; /* string; 0: the label is a number */
	uint32_t unit; /* string, of the number; 0: none */
	int64_t number;
};

/* Limit on labels in a set; more are refused. */
#define LABEL_SET_MAX 64

/* Interns a set; the labels may come in any order, which is kept. Its number; -ENOMEM; -E2BIG. */
int64_t profile_add_label_set(struct profile *profile, const struct set_label *labels, size_t nr);

/* Copies the labels of a set to ret. Returns how many. */
size_t profile_label_set(const struct profile *profile, uint32_t set,
			 struct set_label ret[LABEL_SET_MAX]);

/*
 * Returns the text of a label by its key: "comm", "cgroup", "probe" or "state", "pid", "tid", "cpu", or the key of one
 * of the nr others, which need not be interned yet. NULL: it is missing. A number is formatted into `number`.
 */
#define LABEL_NUMBER_BYTES 24
const char *profile_label_text(const struct profile *profile, const struct sample_labels *labels,
			       const struct set_label *others, size_t nr, const char *key,
			       char number[LABEL_NUMBER_BYTES]);

/* --- slices of time --------------------------------------------------------------------------- */

/*
 * Time slices: samples of different slices are kept apart. Slices are numbered from 1 in the order
 * of adding.
 */

struct time_slice {
	uint64_t start_ns, end_ns; /* wall clock */
};

/* Limit on slices, a day of seconds; more are refused. */
#define PROFILE_MAX_SLICES 86400

/* Returns the number of the slice, which is added if needed; -ENOMEM; -E2BIG. */
int64_t profile_add_slice(struct profile *profile, const struct time_slice *slice);

/* Ends the slices that contain this time, the end of the run, at this time. */
void profile_end_slices(struct profile *profile, uint64_t end_ns);

size_t profile_nr_slices(const struct profile *profile);
struct time_slice profile_slice(const struct profile *profile, uint32_t number);

#endif
