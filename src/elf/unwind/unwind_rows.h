/*
 * Call frame information (CFI) as rows: from which address on which rule holds. The
 * first half of the table compiler: .eh_frame and .debug_frame are read, their programs run, and
 * neighbours that are equal merged. unwind_table.h packs the result.
 *
 * The bytes are somebody else's: everything is read within bounds, and amounts have limits. A
 * broken entry is left out and counted; the others stay.
 */
#ifndef STOOK_ELF_UNWIND_UNWIND_ROWS_H
#define STOOK_ELF_UNWIND_UNWIND_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/unwind_format.h"
#include "elf/image/elf_image.h"

struct unwind_row {
	uint64_t address; /* as linked: the row holds from here up to the next one's address */
	uint32_t rule;	  /* its place in rules[] */
};

struct unwind_rows {
	struct unwind_row *rows; /* by address, neighbours differ */
	size_t nr_rows, row_capacity;
	struct unwind_rule *rules; /* each one once; rules[0] is UNWIND_CFA_NONE */
	size_t nr_rules, rule_capacity;

	size_t nr_functions;  /* entries (FDEs) that were read … */
	size_t nr_broken;     /* … or left out because they make no sense */
	size_t nr_not_packed; /* rows whose rule is beyond what struct unwind_rule can say */
};

/* More rows than this are not read from one file: -E2BIG. */
#define UNWIND_ROWS_MAX (32U << 20)

/*
 * Reads the CFI of an x86-64 or arm64 image: .eh_frame, then where that says nothing .debug_frame,
 * of the file itself or of `debug`, its file of debug information (may be NULL). Gaps between
 * functions are rows of UNWIND_CFA_NONE. Where a program or thread begins, or a signal handler
 * returns to, the rules say so, also in code that has no CFI.
 *
 * 0 (also if there is no CFI at all: no rows), or a negative errno. Clear *rows in either case.
 */
int unwind_rows_read(struct unwind_rows *rows, const struct elf_image *image,
		     const struct elf_image *debug, struct error *error);

/* Frees what it holds. */
void unwind_rows_clear(struct unwind_rows *rows);

/* The place of the first row above an address: the one before, if any, holds there. */
size_t unwind_rows_above(const struct unwind_rows *rows, uint64_t address);

#endif
