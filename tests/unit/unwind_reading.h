/*
 * Unwind rows and tables read like the kernel reads them: the rule at an address, and unpacking of
 * packed rules.
 */
#ifndef STOOK_TESTS_UNIT_UNWIND_READING_H
#define STOOK_TESTS_UNIT_UNWIND_READING_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/unwind/unwind_rows.h"
#include "elf/unwind/unwind_table.h"

/* Returns the rule at an address, rules[0] if there is none. */
static inline const struct unwind_rule *unwind_rows_find(const struct unwind_rows *rows,
							 uint64_t address)
{
	size_t above = unwind_rows_above(rows, address);

	return &rows->rules[above ? rows->rows[above - 1].rule : 0];
}

static inline struct unwind_place reading_at_cfa(int32_t offset)
{
	return (struct unwind_place){.where = UNWIND_AT_CFA, .offset = offset};
}

static inline void reading_expand_saved(struct unwind_rule *rule, uint32_t how, int32_t slot)
{
	switch (how) {
	case UNWIND_SAVED_TOP_FP:
		rule->fp = reading_at_cfa(-slot);
		/* fall through */
	case UNWIND_SAVED_TOP:
		rule->ra = reading_at_cfa(-8);
		break;
	case UNWIND_SAVED_LR:
		break; /* both unchanged */
	case UNWIND_SAVED_AT_BASE:
		slot = rule->offset;
		/* fall through */
	case UNWIND_SAVED_PAIR:
		rule->fp = reading_at_cfa(-slot);
		rule->ra = reading_at_cfa(-slot + 8);
		break;
	case UNWIND_SAVED_RA:
		rule->ra = reading_at_cfa(-slot);
		break;
	}
}

/* Unpacks a rule that is not wide; returns UNWIND_CFA_NONE if it is invalid. */
static inline struct unwind_rule unwind_pack_expand(uint32_t packed, uint16_t machine)
{
	bool is_arm64 = machine == EM_AARCH64;
	struct unwind_rule rule = {.cfa = UNWIND_CFA_NONE};
	uint32_t base = UNWIND_PACKED_BASE(packed);

	if (!unwind_pack_is_sound(packed, machine, 0))
		return rule;
	if (base == UNWIND_BASE_SPECIAL) {
		rule.cfa = (uint8_t)UNWIND_PACKED_NUMBER(packed);
		return rule;
	}
	rule.cfa = UNWIND_CFA_REGISTER;
	rule.reg = base == UNWIND_BASE_SP ? (is_arm64 ? 31 : 7) : (is_arm64 ? 29 : 6);
	rule.offset = UNWIND_PACKED_OFFSET(packed);
	reading_expand_saved(&rule, UNWIND_PACKED_SAVED(packed), UNWIND_PACKED_SLOT(packed));
	return rule;
}

/* Finds the last row that starts at or before a byte; the first row starts at byte 0. */
static inline uint32_t reading_find_row(const uint32_t *rows, uint32_t nr, uint32_t byte)
{
	while (nr > 1) {
		uint32_t half = nr / 2;

		if (UNWIND_ROW_OFFSET(rows[half]) <= byte)
			rows += half;
		nr -= half;
	}
	return UNWIND_ROW_RULE(rows[0]);
}

/* Returns the packed rule at an address, like the kernel; UNWIND_PACKED_NONE outside the table. */
static inline uint32_t unwind_table_find(const struct unwind_table *table, uint64_t address)
{
	uint64_t offset = address - table->start, page = offset >> UNWIND_PAGE_SHIFT;
	const uint32_t *index;
	uint32_t entry;

	if (address < table->start || page >= table->nr_pages ||
	    table->pages[page] == UNWIND_NO_PAGE)
		return UNWIND_PACKED_NONE;
	index = table->words + table->pages[page];
	entry = index[(offset >> UNWIND_BUCKET_SHIFT) % UNWIND_PAGE_BUCKETS];
	if (entry & UNWIND_INDEX_RULE)
		return entry & ~UNWIND_INDEX_RULE;
	return reading_find_row(index + UNWIND_PAGE_BUCKETS + UNWIND_INDEX_FIRST(entry),
				UNWIND_INDEX_NR(entry),
				(uint32_t)offset & ((1U << UNWIND_BUCKET_SHIFT) - 1));
}

/* Unpacks any rule of the table. */
static inline struct unwind_rule unwind_table_unpack(const struct unwind_table *table,
						     uint32_t packed)
{
	if (UNWIND_PACKED_BASE(packed) == UNWIND_BASE_WIDE &&
	    UNWIND_PACKED_NUMBER(packed) < table->nr_wide)
		return table->wide[UNWIND_PACKED_NUMBER(packed)];
	return unwind_pack_expand(packed, table->machine);
}

#endif
