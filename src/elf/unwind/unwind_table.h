/*
 * An unwind table: rows packed into pages in the format of bpf/unwind_format.h. The second half of
 * the table compiler.
 */
#ifndef STOOK_ELF_UNWIND_UNWIND_TABLE_H
#define STOOK_ELF_UNWIND_UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind_format.h"
#include "elf/unwind/unwind_rows.h"

/* Instead of an index in a table's words: the page has no rules. */
#define UNWIND_NO_PAGE UINT32_MAX

struct unwind_table {
	uint16_t machine;     /* of the code: EM_X86_64, EM_AARCH64 */
	uint64_t start;	      /* address of the first page, a multiple of the page size */
	uint32_t nr_pages;    /* the last page is the last one with rules */
	uint32_t *pages;      /* by page: index of its first word in words[], or UNWIND_NO_PAGE */
	uint32_t *page_words; /* by page: its number of words, index and rows; 0: none */
	uint32_t *words;      /* page after page; one equal to the previous page is not repeated */
	size_t nr_words;
	struct unwind_rule *wide;
	size_t nr_wide;

	size_t nr_rows;		/* before packing */
	size_t nr_rows_dropped; /* with invalid rules, or wide ones beyond UNWIND_MAX_WIDE */
};

/* Limit of code between the first and the last row of one file; beyond it -E2BIG. */
#define UNWIND_TABLE_MAX_PAGES (1U << 17) /* 8 GiB */

/*
 * The maximum of words that follows from that limit and UNWIND_ROWS_MAX: for each bucket its entry
 * and first row, and the rows.
 */
#define UNWIND_TABLE_MAX_WORDS (2U * UNWIND_TABLE_MAX_PAGES * UNWIND_PAGE_BUCKETS + UNWIND_ROWS_MAX)

/*
 * Packs the rows of a file for `machine`. The last row, if it has a rule, extends to the end of its
 * page. 0 or -ENOMEM, -E2BIG. Without rows the table has no pages. Clear *table in either case.
 */
int unwind_table_pack(struct unwind_table *table, const struct unwind_rows *rows, uint16_t machine);
void unwind_table_clear(struct unwind_table *table);

/*
 * Checks an untrusted table: no lookup may read beyond a page, no rule may use a register or a wide
 * rule that doesn't exist. 0 or -EINVAL.
 */
int unwind_table_check(const struct unwind_table *table);

/* Memory used by the pages, their indices and the wide rules. */
size_t unwind_table_bytes(const struct unwind_table *table);

/*
 * --- one rule in 24 bits --------------------------------------------------------------------
 *
 * Packs rules into the 24 bits of bpf/unwind_format.h. Pure functions. `machine` is the ELF machine
 * of the code (EM_X86_64, EM_AARCH64), not necessarily the one that this runs on: it determines
 * which registers are sp and fp, and how they are saved.
 */

/*
 * Packs a rule; false, and *ret_packed unchanged, if it must be a wide one. A lost frame pointer is
 * packed as an unchanged one: a caller must not rely on a lost one, so this makes no difference.
 */
bool unwind_pack_rule(const struct unwind_rule *rule, uint16_t machine, uint32_t *ret_packed);

/* True if it is a result of unwind_pack_rule(), or the number of one of nr_wide wide rules. */
bool unwind_pack_is_sound(uint32_t packed, uint16_t machine, size_t nr_wide);

/*
 * True if all kinds and registers of a wide rule are valid, so that unwind_step() needs no checks.
 */
bool unwind_pack_wide_is_sound(const struct unwind_rule *rule);

#endif
