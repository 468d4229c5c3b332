/* The options about stacks, of every command that collects them. */
#ifndef STOOK_CMD_OPTIONS_STACK_OPTIONS_H
#define STOOK_CMD_OPTIONS_STACK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/matcher.h"
#include "cmd/options/naming_options.h"
#include "cmd/options/option_table.h"
#include "cmd/options/output_options.h"

/* How user stacks are walked. */
enum unwind_mode {
	UNWIND_AUTO, /* tables, or frame pointers if the kernel can't be made to use them */
	UNWIND_CFI,
	UNWIND_FP,
};

struct stack_options {
	struct matcher *comm; /* NULL: threads of all names */
	bool no_user, no_kernel;
	unsigned labels;   /* enum label bits */
	uint64_t slice_ns; /* of the timeline; 0: none */
	enum unwind_mode unwind;
	size_t max_table_bytes;	  /* 0: the default */
	const char *table_folder; /* NULL: the default; "none" */
	bool force;
	uint64_t max_depth; /* 0: the default */

	struct naming_options naming;
	bool java, no_symbols;

	struct output_options output;
	const char *stats_path;
	size_t ring_bytes, max_counts; /* 0: chosen by what is expected */
};

/* The rows, for option_table_parse(), but for those about names and outputs. */
struct option_group stack_options_group(struct stack_options *options);

/* Refuses options that contradict each other: 0 or -EINVAL. */
int stack_options_check(const struct stack_options *options, struct error *error);

void stack_options_clear(struct stack_options *options);

#endif
