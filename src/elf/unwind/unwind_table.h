/*
 * An unwind table: rows packed into pages as bpf/unwind_format.h lays them out. The second half of
 * the table compiler.
 */
#ifndef STOOK_ELF_UNWIND_UNWIND_TABLE_H
#define STOOK_ELF_UNWIND_UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind_format.h"
#include "elf/unwind/unwind_rows.h"

/* A place in a table's words that is none: no rule is known in all of the page. */
#define UNWIND_NO_PAGE UINT32_MAX

struct unwind_table {
	uint16_t machine;  /* whose code it is: EM_X86_64, EM_AARCH64 */
	uint64_t start;	   /* address of the first page: a multiple of the page size */
	uint32_t nr_pages; /* the last page is the last one with rules */
	uint32_t *pages;   /* for each: the index of its first word in words[], or UNWIND_NO_PAGE */
	uint32_t *page_words; /* for each: how many words it has, index and rows; 0: none */
	uint32_t *words; /* page behind page; one that equals the page before is not there again */
	size_t nr_words;
	struct unwind_rule *wide;
	size_t nr_wide;

	size_t nr_rows;		/* before packing */
	size_t nr_rows_dropped; /* of wide rules past UNWIND_MAX_WIDE, or that make no sense */
};

/* More code than this between the first and the last row of one file: -E2BIG. */
#define UNWIND_TABLE_MAX_PAGES (1U << 17) /* 8 GiB */

/*
 * The most words by that limit and UNWIND_ROWS_MAX: for each bucket its entry and first row, and
 * rows.
 */
#define UNWIND_TABLE_MAX_WORDS (2U * UNWIND_TABLE_MAX_PAGES * UNWIND_PAGE_BUCKETS + UNWIND_ROWS_MAX)

/*
 * Packs the rows of a file for `machine`. The last row, if it has a rule, holds to the end of its
 * page. 0 or -ENOMEM, -E2BIG. No rows make a table without pages. Clear *table in either case.
 */
int unwind_table_pack(struct unwind_table *table, const struct unwind_rows *rows, uint16_t machine);
void unwind_table_clear(struct unwind_table *table);

/*
 * Checks a table that comes from elsewhere: no lookup reads past a page, no rule names
 * a register or a wide rule that there is not. 0 or -EINVAL.
 */
int unwind_table_check(const struct unwind_table *table);

/* Memory held by the pages, their places and the wide rules. */
size_t unwind_table_bytes(const struct unwind_table *table);

/*
 * --- one rule in 24 bits --------------------------------------------------------------------
 *
 * Which rules fit into the 24 bits of bpf/unwind_format.h. Pure functions.
 * `machine` is the ELF machine of the code (EM_X86_64, EM_AARCH64), which need not be the one that
 * this runs on: it says which registers sp and fp are, and how they are saved.
 */

/*
 * Packs a rule; false (and *ret_packed as it was) if it has to be a wide one. A frame pointer that
 * is lost is packed as one that stayed: no caller can tell them apart, as it may not use it.
 */
bool unwind_pack_rule(const struct unwind_rule *rule, uint16_t machine, uint32_t *ret_packed);

/* True if it is one that unwind_pack_rule() makes, or the number of one of nr_wide wide rules. */
bool unwind_pack_is_sound(uint32_t packed, uint16_t machine, size_t nr_wide);

/* True if all kinds and registers of a wide rule exist, so that the step may trust them. */
bool unwind_pack_wide_is_sound(const struct unwind_rule *rule);

#endif
