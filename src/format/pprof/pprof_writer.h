/*
 * The parts of the pprof writer. pprof_code.c maps a profile's code to pprof's terms, pprof_rows.c
 * provides the samples and their order; pprof_write.c writes both.
 */
#ifndef STOOK_FORMAT_PPROF_PPROF_WRITER_H
#define STOOK_FORMAT_PPROF_PPROF_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"
#include "format/pprof/pprof_fields.h"
#include "profile/profile.h"
#include "profile/stack_table.h"

/* The values of the file, in the file's order. */
struct pprof_values {
	struct profile_value values[PROFILE_MAX_VALUES];
	size_t nr;
	const char *preferred; /* type of the default value */
};

/* --- pprof_code.c ------------------------------------------------------------------------------ */

struct pprof_mapping {
	uint32_t object;
	uint64_t start, limit, offset;
};

/* A file, the kernel, or JIT-compiled code. */
struct pprof_object {
	enum module_kind kind;
	const char *name; /* without " (deleted)" */
	size_t name_bytes;
	bool is_gone;
	const struct module_code *code; /* or NULL */
	bool is_used, needs_whole;
	uint32_t first_mapping; /* of its segments; the whole file, if needed, is the last */
	bool has_functions, has_filenames, has_line_numbers, has_inlines;
};

/* Functions of the places for missed stacks, whose names are not among the profile's strings. */
#define PPROF_STRING_MISSED_USER   UINT32_MAX
#define PPROF_STRING_MISSED_KERNEL (UINT32_MAX - 1)

/* A location: an address in a mapping, and the source lines there. */
struct pprof_place {
	uint64_t address;
	uint32_t mapping; /* number + 1; 0: none */
	uint32_t nr_lines;
	const struct code_line *lines; /* innermost first; NULL: `name` is the only line */
	struct code_line name;
	uint32_t frame; /* the frame that this place was made from */
	bool is_used;	/* places of missed stacks may be unused */
	uint32_t id;	/* in the file; 0: unused. Set by pprof_rows_init() */
};

struct pprof_code {
	const struct profile *profile;
	uint32_t *object_of_module; /* number + 1; 0: none */
	struct pprof_object *objects;
	size_t nr_objects;
	struct pprof_mapping *mappings;
	size_t nr_mappings, cap_mappings;
	struct pprof_place *places; /* sorted by content, without duplicates */
	size_t nr_places;
	uint32_t *place_of_frame;	     /* including the two below */
	uint32_t missed_user, missed_kernel; /* indices of places */
};

/* Returns 0 or -ENOMEM. The caller clears the code in both cases. */
int pprof_code_init(struct pprof_code *code, const struct profile *profile);
void pprof_code_clear(struct pprof_code *code);

/* Returns the text of a code line's string. */
const char *pprof_code_string(const struct pprof_code *code, uint32_t string);
const struct code_line *pprof_code_lines(const struct pprof_place *place);

/* True if a place is in the kernel. */
bool pprof_code_is_kernel(const struct pprof_code *code, uint32_t place);

/* --- pprof_rows.c ------------------------------------------------------------------------------ */

/*
 * The labels of a sample as written, and how its stacks ended. Labels that were not requested are
 * 0. All members are 32-bit numbers without padding: a row of labels is interned as a sequence.
 */
struct pprof_row_labels {
	uint32_t comm, cgroup, probe;
	int32_t pid, tid, cpu;
	uint32_t set, slice;
	uint32_t user_end, kernel_end;	     /* enum walk_end + 1; 0: as readers assume */
	uint32_t missed_user, missed_kernel; /* 1: an additional place at that end */
};

struct pprof_row {
	struct pprof_row_labels labels;
	const struct sample *sample; /* one of the row's samples, for its frames */
	const uint32_t *frames;	     /* leaf first */
	uint64_t values[PROFILE_MAX_VALUES];
};

/* A sample with a value. */
struct pprof_row_sample {
	uint64_t key; /* for sorting: rank of its labels << 32 | rank of its stack */
	uint32_t sample, label_row;
};

struct pprof_rows {
	const struct profile *profile;
	const struct format_options *options;
	const struct pprof_values *values;
	const struct pprof_code *code;
	struct stack_table label_rows; /* of struct pprof_row_labels */
	struct pprof_row_sample *samples;
	size_t nr;
};

/*
 * Also assigns ids to the places that rows use. Returns 0 or -ENOMEM; the caller clears in both
 * cases.
 */
int pprof_rows_init(struct pprof_rows *rows, const struct profile *profile,
		    const struct format_options *options, const struct pprof_values *values,
		    struct pprof_code *code);
void pprof_rows_clear(struct pprof_rows *rows);

/*
 * Returns the row at *position, and moves *position after its samples; false at the end.
 *
 *	for (i = 0; pprof_rows_next(&rows, &i, &row);)
 */
bool pprof_rows_next(const struct pprof_rows *rows, size_t *position, struct pprof_row *ret);

/* Return the number of places of a row's stack, and one of them, counted from the leaf. */
size_t pprof_row_places(const struct pprof_row *row);
uint32_t pprof_row_place(const struct pprof_code *code, const struct pprof_row *row, size_t i);

#endif
