/*
 * Call frame information (CFI) as rows: the rule from each address on. The first half of the table
 * compiler: it reads .eh_frame and .debug_frame, runs their programs, and merges equal neighbours.
 * unwind_table.h packs the result.
 *
 * The bytes are untrusted: everything is read within bounds, and there are limits. A broken entry
 * is skipped and counted; the others are kept.
 */
#ifndef STOOK_ELF_UNWIND_UNWIND_ROWS_H
#define STOOK_ELF_UNWIND_UNWIND_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/unwind_format.h"
#include "elf/image/elf_image.h"

struct unwind_row {
	uint64_t address; /* as linked; the row is valid up to the next one's address */
	uint32_t rule;	  /* index in rules[] */
};

struct unwind_rows {
	struct unwind_row *rows; /* by address, neighbours differ */
	size_t nr_rows, row_capacity;
	struct unwind_rule *rules; /* without duplicates; rules[0] is UNWIND_CFA_NONE */
	size_t nr_rules, rule_capacity;

	size_t nr_functions;  /* entries (FDEs) read */
	size_t nr_broken;     /* invalid entries, skipped */
	size_t nr_not_packed; /* rows with rules that struct unwind_rule cannot express */
};

/* Limit of rows from one file; beyond it -E2BIG. */
#define UNWIND_ROWS_MAX (32U << 20)

/*
 * Reads the CFI of an x86-64 or arm64 image: .eh_frame, and for code without that .debug_frame of
 * the file itself or of `debug`, its debug file (may be NULL). Gaps between functions are rows of
 * UNWIND_CFA_NONE. There are rules for the starts of programs and threads, and for signal returns,
 * also in code without CFI.
 *
 * 0 (also without any CFI: then no rows), or a negative errno. Clear *rows in either case.
 */
int unwind_rows_read(struct unwind_rows *rows, const struct elf_image *image,
		     const struct elf_image *debug, struct error *error);

/* Frees the memory of *rows. */
void unwind_rows_clear(struct unwind_rows *rows);

/* The index of the first row above an address: the one before it, if any, applies there. */
size_t unwind_rows_above(const struct unwind_rows *rows, uint64_t address);

#endif
