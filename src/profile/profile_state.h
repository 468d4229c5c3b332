/* The struct behind profile.h; private to the files that implement it. */
#ifndef STOOK_PROFILE_PROFILE_STATE_H
#define STOOK_PROFILE_PROFILE_STATE_H

#include "base/hash.h"
#include "base/strings.h"
#include "profile/profile.h"
#include "profile/stack_table.h"

/* Address of the frame "[other stacks]": no code can be there. */
#define OTHER_STACKS_ADDRESS UINT64_MAX

/* A value of all samples, other than the main value. */
struct value_column {
	struct value_type type;
	uint64_t *amounts; /* of the first nr samples; the others have 0 */
	size_t nr, cap;
	uint64_t total;
};

struct profile {
	struct strings *strings;
	uint32_t samples_string, count_string; /* default type of the main value */

	struct module *modules;
	size_t nr_modules, cap_modules;
	struct number_index module_index;
	struct module_code *codes; /* of the first nr_codes modules */
	size_t nr_codes, cap_codes;

	struct frame *frames;
	size_t nr_frames, cap_frames, max_frames;
	struct number_index frame_index; /* frames with an address, by address */
	struct number_index named_index; /* frames without an address, by function and lines */
	struct code_line *lines;
	size_t nr_lines, cap_lines;

	struct stack_table stacks;
	struct sample *samples;
	size_t nr_samples, cap_samples;
	struct number_index sample_index;

	uint64_t total;
	bool keeps_order;      /* only neighbours are one sample */
	size_t limit_bytes;    /* 0: none */
	unsigned spare_labels; /* enum label bits: dropped past half of the limit */
	uint64_t unlabelled_count;
	int64_t other_stack; /* -1: not needed yet */
	uint64_t other_count;

	struct value_type main_type;
	struct value_column columns[PROFILE_MAX_VALUES - 1];
	size_t nr_columns;
	struct stack_table label_sets; /* see profile_samples.c */
	struct time_slice *slices;
	size_t nr_slices, cap_slices;
	struct number_index slice_index;
	uint32_t *comments; /* strings */
	size_t nr_comments, cap_comments;
	struct profile_origin origin;
};

/* In profile_samples.c: true if no more samples, stacks and frames may be added, see profile_set_limit(). */
bool profile_is_at_limit(const struct profile *profile);

#endif
