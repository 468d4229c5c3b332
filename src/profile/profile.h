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
 * Frames get their names late, see sym/symbolizer.h: the function that is there by the symbol
 * table, and on request the functions that were inlined at this place, with source lines.
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
	MODULE_UNKNOWN,	 /* an address in no mapping that we know of: [unknown] */
	MODULE_KERNEL,	 /* the kernel, its modules, BPF programs */
	MODULE_FILE,	 /* an ELF file; `file` is its number in proc/file_table */
	MODULE_VDSO,	 /* code that the kernel maps into every process */
	MODULE_RUN_TIME, /* executable memory without a file: JIT-compiled code */
};

struct module {
	enum module_kind kind;
	uint32_t file; /* MODULE_FILE: see above; MODULE_RUN_TIME: number in proc/runtime_table + 1,
			  0: of no process that is known */
	uint32_t name; /* string: path, "[vdso]", "[kernel]", … */
};

#define PROFILE_BUILD_ID_BYTES 32
#define PROFILE_MAX_SEGMENTS   4

/* The identity of a file's code, valid on other machines too, and the addresses it is linked to. */
struct module_code {
	uint8_t build_id[PROFILE_BUILD_ID_BYTES];
	uint8_t build_id_bytes; /* 0: none */
	uint8_t nr_segments;
	bool is_gone;	/* it could not be opened: it was not there any more */
	bool is_unread; /* it could not be opened for another reason: not ours to read, mostly */
	struct module_segment {
		uint64_t offset; /* in the file */
		uint64_t vaddr;	 /* as linked */
		uint64_t bytes;
	} segments[PROFILE_MAX_SEGMENTS]; /* of code */
};

/* Every profile has these two modules from the start. */
#define MODULE_NR_UNKNOWN 0
#define MODULE_NR_KERNEL  1

/* A function at an address, and where in its source; strings, 0 and 0: not known. */
struct code_line {
	uint32_t function;
	uint32_t file; /* path */
	uint32_t line;
};

struct frame {
	uint64_t address;
	uint32_t module;
	uint32_t function;   /* string; 0: not named (yet, or for good) */
	uint32_t first_line; /* see profile_lines() */
	uint16_t nr_lines;
	enum frame_kind kind;
};

/* Samples with equal frames differ in these. Labels that were not asked for are 0. */
struct sample_labels {
	uint32_t comm;	 /* string: the thread's name */
	uint32_t cgroup; /* string: path below the cgroup root */
	uint32_t probe;	 /* string: the name of the probe that was hit */
	int32_t pid;	 /* as the user's pid namespace has it */
	int32_t tid;
	int32_t cpu;
	uint32_t set;	    /* number of a label set, see below; 0: empty */
	uint32_t slice;	    /* number of a slice of time; 0: not told apart */
	uint8_t user_end;   /* enum walk_end: why its last frame is the last one */
	uint8_t kernel_end; /* likewise */
	bool gave_up;	    /* its spare labels, see profile_set_spare_labels() */
};

struct sample {
	struct sample_labels labels;
	uint32_t stack; /* its frames, shared by samples that differ in labels only */
	uint16_t nr_frames;
	uint16_t nr_kernel_frames; /* the first ones */
	uint64_t count;		   /* its main value */
};

/* Which labels were asked for, and so are worth showing. */
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
 * Past so many different frames, further ones are one frame without a name, in no module. Whoever
 * reads a file that was asked for by name may set more.
 */
#define PROFILE_MAX_FRAMES	(1U << 20)
#define PROFILE_MAX_FILE_FRAMES (1U << 24)

/*
 * A frame at such an address, where no code can lie, was not at any: it had a name only, see
 * profile_add_named_frame().
 */
#define PROFILE_NOWHERE (UINT64_MAX - PROFILE_MAX_FILE_FRAMES)

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

/*
 * Labels (LABEL_PID, LABEL_TID) that are given up first: past half of the limit, further different samples
 * are counted without them. profile_unlabelled_count() says how many samples that concerned.
 */
void profile_set_spare_labels(struct profile *profile, unsigned labels);
uint64_t profile_unlabelled_count(const struct profile *profile);
void profile_set_max_frames(struct profile *profile, size_t nr);
uint64_t profile_other_count(const struct profile *profile);

/* Interning. Each returns a number, or -ENOMEM. */
int64_t profile_add_string(struct profile *profile, const char *text);
int64_t profile_add_string_bytes(struct profile *profile, const char *bytes, size_t nr);
/* Text from a file that others made: NUL bytes, which would end it, become `?`. */
int64_t profile_add_foreign_string(struct profile *profile, const char *text, size_t nr);
int64_t profile_add_module(struct profile *profile, const struct module *module);
int64_t profile_add_frame(struct profile *profile, enum frame_kind kind, uint32_t module,
			  uint64_t address);

/*
 * A frame that has no address and is known by what it says: the lines as for profile_set_lines();
 * one line without a file is a name alone, none is code without a name.
 */
int64_t profile_add_named_frame(struct profile *profile, enum frame_kind kind, uint32_t module,
				const struct code_line *lines, size_t nr);

/*
 * Adds count to the sample with these labels and frame numbers. Its number, good until
 * profile_reset_samples(); -ENOMEM; or -EINVAL when the numbers of frames make no sense.
 */
int64_t profile_add_sample(struct profile *profile, const struct sample_labels *labels,
			   const uint32_t *frames, size_t nr_frames, size_t nr_kernel_frames,
			   uint64_t count);
void profile_add_count(struct profile *profile, uint32_t sample, uint64_t count);

/* Takes the sample out: its count and its other values become 0, and such samples are not shown. */
void profile_drop_sample(struct profile *profile, uint32_t sample);

/* Moves the sample's values to the one that has these labels. 0 or -ENOMEM. */
int profile_relabel_sample(struct profile *profile, uint32_t sample,
			   const struct sample_labels *labels);

/* Names a frame; by the number of a string, or by a text: 0 or -ENOMEM. */
void profile_set_name(struct profile *profile, uint32_t frame, uint32_t string);
int profile_set_function(struct profile *profile, uint32_t frame, const char *name);

/*
 * A function whose name is not known, though where it begins is, has the file's name and the start as
 * linked in the place of a name: `libz.so.1+0x4a20`. It is the same in all runs of a build, and no
 * name: it may be replaced by one. set_start: 0 or -ENOMEM.
 */
int profile_set_start(struct profile *profile, uint32_t frame, uint64_t start);
bool profile_is_start(const struct profile *profile, uint32_t function, uint32_t module);

/* True if the frame's function has a name. */
bool profile_is_named(const struct profile *profile, const struct frame *frame);

/*
 * The lines of a frame: first the innermost of the functions that were inlined there, last the one
 * that they were inlined into, whose name is the frame's. A frame has none (NULL) unless they were
 * asked for. 0 or -ENOMEM.
 */
int profile_set_lines(struct profile *profile, uint32_t frame, const struct code_line *lines,
		      size_t nr);
const struct code_line *profile_lines(const struct profile *profile, const struct frame *frame);

/* A module's code; NULL if it was never set. 0 or -ENOMEM. */
int profile_set_code(struct profile *profile, uint32_t module, const struct module_code *code);
const struct module_code *profile_code(const struct profile *profile, uint32_t module);

/* How the samples were taken. Texts of others' making: strings. */
struct profile_origin {
	uint32_t event;	      /* string: "cpu-clock" */
	uint32_t unit;	      /* string, of the period: "nanoseconds", "count" */
	uint64_t period;      /* of the event, for each sample; 0: it varied */
	uint64_t time_ns;     /* when it began, of the day's clock; 0: not known */
	uint64_t duration_ns; /* 0: not known */
};

void profile_set_origin(struct profile *profile, const struct profile_origin *origin);
const struct profile_origin *profile_origin(const struct profile *profile);

/* Comments that the run made about itself, line by line. 0 or -ENOMEM. */
int profile_add_comment(struct profile *profile, const char *line);
/*
 * The rest of the first comment on a topic that has these words in it: such comments begin with the topic, a
 * word, and blanks up to column 9. NULL: there is none.
 */
const char *profile_comment_about(const struct profile *profile, const char *topic,
				  const char *words);
size_t profile_nr_comments(const struct profile *profile);
const char *profile_comment(const struct profile *profile, size_t number);

/*
 * Forgets the samples, their values, label sets and slices of time; strings, modules and frames stay
 * known.
 */
void profile_reset_samples(struct profile *profile);

uint32_t profile_nr_strings(const struct profile *profile);
const char *profile_string(const struct profile *profile, uint32_t string);

size_t profile_nr_modules(const struct profile *profile);
const struct module *profile_module(const struct profile *profile, uint32_t module);
/* Its name without folders, for showing; JIT-compiled code is in `[JIT]`. */
const char *profile_module_name(const struct profile *profile, uint32_t module);

size_t profile_nr_frames(const struct profile *profile);
const struct frame *profile_frame(const struct profile *profile, uint32_t frame);

size_t profile_nr_samples(const struct profile *profile);
const struct sample *profile_sample(const struct profile *profile, uint32_t sample);
/* The sample's frame numbers, leaf first; valid until the next add. */
const uint32_t *profile_sample_frames(const struct profile *profile, const struct sample *sample);

uint64_t profile_total(const struct profile *profile); /* of the main value */
size_t profile_bytes(const struct profile *profile);   /* memory held */

/* --- values ----------------------------------------------------------------------------------- */

/*
 * A sample has one value or more, each with a name and a unit: "samples" in "count", "hits" in "count",
 * "cpu" in "nanoseconds", "alloc_space" in "bytes". Number 0 is the main value: a sample's count, by
 * which a profile is read, sorted and shown. To show another value, choose it: the two change places.
 */
struct value_type {
	uint32_t type; /* strings. Where a type is set, 0 stands for "samples" … */
	uint32_t unit; /* … and for "count" */
};

/* With the main value. More are refused. */
#define PROFILE_MAX_VALUES 64

/* The type of the main value; samples unless it is set. */
void profile_set_main_type(struct profile *profile, struct value_type type);

/* The strings of a type. 0 or -ENOMEM. */
int profile_make_value_type(struct profile *profile, const char *type, const char *unit,
			    struct value_type *ret);

/* The number of a value of this type, known or new; or -E2BIG. */
int profile_add_value_type(struct profile *profile, const struct value_type *wanted);

size_t profile_nr_values(const struct profile *profile); /* at least 1 */
struct value_type profile_value_type(const struct profile *profile, size_t number);
const char *profile_value_name(const struct profile *profile, size_t number);
const char *profile_value_unit(const struct profile *profile, size_t number);

/* True if the main value is a sum of some amount; samples and hits are counted one by one. */
bool profile_is_sum(const struct profile *profile);

int profile_add_value(struct profile *profile, uint32_t sample, size_t number, uint64_t amount);
void profile_clear_value(struct profile *profile, size_t number); /* not 0: all of it is 0 then */
uint64_t profile_value(const struct profile *profile, uint32_t sample, size_t number);
uint64_t profile_value_total(const struct profile *profile, size_t number);
bool profile_has_value(const struct profile *profile, uint32_t sample); /* one that is not 0 */

/* True if the total plus `more` is still a number that files can hold. */
bool profile_value_has_room(const struct profile *profile, size_t number, uint64_t more);

/* Makes this value the main one, and the main value this one. 0 or -ENOMEM. */
int profile_choose_value(struct profile *profile, size_t number);

/* The value of this type's name; -ENOENT if there is none. */
int profile_find_value(const struct profile *profile, const char *type);

/*
 * Samples that were each taken after the same number of events stand for so many of them: this follows
 * from the main value and the origin's period, and is not stored. A file may have it beside the samples;
 * it then is a value like others.
 */
struct profile_value {
	const char *type, *unit;
	size_t number;	 /* the stored value that its amounts are read from … */
	uint64_t factor; /* … and what they are multiplied by: 1, or the period */
	bool is_event;	 /* it says no more than the main value and the period do */
};

/* The event where the origin has no name for it; another name for the time of the clocks' events. */
#define PROFILE_SOME_EVENTS "events"
#define PROFILE_CPU_TIME    "cpu"

/*
 * All values: those that are stored, at their numbers, and behind them the events that the samples stand
 * for unless a stored value has their name. How many.
 */
size_t profile_values(const struct profile *profile, struct profile_value ret[PROFILE_MAX_VALUES]);

/*
 * The reverse: where the main value says no more than stored samples and the period do, samples become
 * the main value. 0 or -ENOMEM.
 */
int profile_choose_samples(struct profile *profile);

/* True if the event is a clock of CPU time, whose period is in nanoseconds. */
bool profile_is_of_clock(const struct profile *profile);

/* So much of the main value is one sample: 1 of samples and hits; of the event the period; 0: not known. */
uint64_t profile_sample_amount(const struct profile *profile);

/*
 * Amounts with fractions are stored multiplied by a power of 10, which their unit tells: such a value is a
 * "weight" in units of "1/1000". Whoever shows them divides them again.
 */
struct value_scale {
	unsigned decimals;
	uint64_t factor; /* 10 to the power of it */
};

/* So many digits of a fraction are worth keeping. */
#define VALUE_MAX_DECIMALS 6

struct value_scale value_scale(unsigned decimals);

/* Makes the main value a weight that is so scaled. 0 or -ENOMEM. */
int profile_set_scale(struct profile *profile, struct value_scale scale);

/* The main value's: of no decimals, by 1, unless its unit tells another one. */
struct value_scale profile_scale(const struct profile *profile);

/* A scaled amount as it was read: "2.25", "10". */
#define VALUE_SCALE_BYTES 32
const char *value_scale_text(char text[VALUE_SCALE_BYTES], uint64_t amount,
			     struct value_scale scale);

/* --- label sets ------------------------------------------------------------------------------- */

/*
 * Labels that other programs made up, such as "request" and "trace_id" in pprof files. All of a
 * sample's labels form one set, interned and known by a number; 0 is the empty set.
 */

struct set_label {
	uint32_t key;  /* strings, here and below */
	uint32_t text; /* 0: it is a number */
	uint32_t unit; /* of the number; 0: none */
	int64_t number;
};

/* More labels of one sample are refused. */
#define LABEL_SET_MAX 64

/* In any order, which is kept. The set's number; -ENOMEM; -E2BIG. */
int64_t profile_add_label_set(struct profile *profile, const struct set_label *labels, size_t nr);

/* The labels of a set into *ret, and how many they are. */
size_t profile_label_set(const struct profile *profile, uint32_t set,
			 struct set_label ret[LABEL_SET_MAX]);

/* --- slices of time --------------------------------------------------------------------------- */

/*
 * The slices of time in which samples were taken; each slice has samples of its own. Slices are
 * numbered from 1 in the order of adding.
 */

struct time_slice {
	uint64_t start_ns, end_ns; /* of the day's clock */
};

/* More are refused: a day of seconds. */
#define PROFILE_MAX_SLICES 86400

/* The number of the slice, known or new; -ENOMEM; -E2BIG. */
int64_t profile_add_slice(struct profile *profile, const struct time_slice *slice);

/* The run ended at this time: slices that were open then end there. */
void profile_end_slices(struct profile *profile, uint64_t end_ns);

size_t profile_nr_slices(const struct profile *profile);
struct time_slice profile_slice(const struct profile *profile, uint32_t number);

#endif
