/*
 * Packs rows into pages, in one pass.
 *
 * Rules are packed first, each once, so that a row costs one lookup by number. A packed form is
 * tried for each way in which the machine's compilers save the return address and the frame
 * pointer. Only exact matches are used; everything that would need rounding, or is unusual in any
 * way, becomes a wide rule. arm64 has two forms for the usual pair of fp and lr: relative to the
 * CFA or, in large frames where that is out of range, to the register that the CFA is computed
 * from.
 *
 * Then the rows are laid out bucket by bucket: written after the page's previous rows, and removed
 * again if one rule applies to the whole bucket, or if the page already has the same sequence of
 * rows. Neighbours that differ only in what packing drops are merged.
 *
 * Whole pages are compared only with the previous one: equal pages occur inside very large
 * functions and long sequences of linker-made code, where they are adjacent.
 */
#include "elf/unwind/unwind_table.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

/* How registers were saved, and the slot in units of 8. */
struct saved {
	uint32_t how; /* enum unwind_saved */
	uint32_t slot;
};

struct machine {
	uint16_t elf_machine;
	uint8_t sp, fp;	   /* DWARF numbers */
	uint32_t saved_by; /* a bit for each supported enum unwind_saved */
	bool (*pack_saved)(const struct unwind_rule *rule, struct saved *ret);
};

/* Converts bytes to units of 8. False if that is not exact, or above max. */
static bool to_units(int64_t bytes, uint32_t max, uint32_t *ret_units)
{
	if (bytes < 0 || bytes % 8 || bytes / 8 > max)
		return false;
	*ret_units = (uint32_t)(bytes / 8);
	return true;
}

static bool is_at_cfa(const struct unwind_place *place)
{
	return place->where == UNWIND_AT_CFA;
}

static bool is_untouched(const struct unwind_place *place)
{
	return place->where == UNWIND_SAME || place->where == UNWIND_LOST;
}

/* A call pushes the return address; the frame pointer is anywhere below it, or was not saved. */
static bool pack_saved_x86(const struct unwind_rule *rule, struct saved *ret)
{
	if (!is_at_cfa(&rule->ra) || rule->ra.offset != -8)
		return false;
	if (is_untouched(&rule->fp)) {
		*ret = (struct saved){UNWIND_SAVED_TOP, 0};
		return true;
	}
	ret->how = UNWIND_SAVED_TOP_FP;
	return is_at_cfa(&rule->fp) &&
	       to_units(-(int64_t)rule->fp.offset, UNWIND_SLOT_MAX, &ret->slot);
}

static bool pack_saved_arm64(const struct unwind_rule *rule, struct saved *ret)
{
	int64_t fp = rule->fp.offset, ra = rule->ra.offset;

	*ret = (struct saved){UNWIND_SAVED_LR, 0};
	if (is_untouched(&rule->fp) && rule->ra.where == UNWIND_SAME)
		return true;
	if (!is_at_cfa(&rule->ra))
		return false;
	if (is_untouched(&rule->fp)) {
		ret->how = UNWIND_SAVED_RA;
		return to_units(-ra, UNWIND_SLOT_MAX, &ret->slot);
	}
	if (!is_at_cfa(&rule->fp) || ra != fp + 8)
		return false;
	ret->how = UNWIND_SAVED_PAIR;
	if (to_units(-fp, UNWIND_SLOT_MAX, &ret->slot))
		return true;
	ret->how = UNWIND_SAVED_AT_BASE;
	return fp == -(int64_t)rule->offset;
}

static const struct machine machines[] = {
	{EM_X86_64, 7, 6, 1 << UNWIND_SAVED_TOP | 1 << UNWIND_SAVED_TOP_FP, pack_saved_x86},
	{EM_AARCH64, 31, 29,
	 1 << UNWIND_SAVED_LR | 1 << UNWIND_SAVED_PAIR | 1 << UNWIND_SAVED_AT_BASE |
		 1 << UNWIND_SAVED_RA,
	 pack_saved_arm64},
};

static const struct machine *machine_of(uint16_t elf_machine)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(machines); i++)
		if (machines[i].elf_machine == elf_machine)
			return &machines[i];
	return NULL;
}

static bool unwind_pack_knows(uint16_t machine)
{
	return machine_of(machine) != NULL;
}

/* Rules without parameters. */
static bool is_bare(uint32_t cfa)
{
	return cfa == UNWIND_CFA_NONE || cfa == UNWIND_CFA_END || cfa == UNWIND_CFA_CHAIN;
}

bool unwind_pack_rule(const struct unwind_rule *rule, uint16_t machine, uint32_t *ret_packed)
{
	const struct machine *registers = machine_of(machine);
	struct saved saved = {0};
	uint32_t base, offset;

	if (is_bare(rule->cfa)) {
		*ret_packed = UNWIND_PACK_NUMBER(UNWIND_BASE_SPECIAL, rule->cfa);
		return true;
	}
	if (!registers || rule->cfa != UNWIND_CFA_REGISTER || rule->is_signal_frame)
		return false;
	if (rule->reg != registers->sp && rule->reg != registers->fp)
		return false;
	if (!to_units(rule->offset, UNWIND_OFFSET_MAX, &offset) ||
	    !registers->pack_saved(rule, &saved))
		return false;
	base = rule->reg == registers->sp ? UNWIND_BASE_SP : UNWIND_BASE_FP;
	*ret_packed = UNWIND_PACK(base, saved.how, offset, saved.slot);
	return true;
}

bool unwind_pack_is_sound(uint32_t packed, uint16_t machine, size_t nr_wide)
{
	const struct machine *registers = machine_of(machine);

	if (packed >> 24)
		return false;
	switch (UNWIND_PACKED_BASE(packed)) {
	case UNWIND_BASE_SPECIAL:
		return is_bare(UNWIND_PACKED_NUMBER(packed));
	case UNWIND_BASE_WIDE:
		return UNWIND_PACKED_NUMBER(packed) < nr_wide;
	default:
		return registers && registers->saved_by >> UNWIND_PACKED_SAVED(packed) & 1;
	}
}

static bool place_is_sound(const struct unwind_place *place)
{
	return place->where <= UNWIND_LOST && place->reg < UNWIND_NR_REGS;
}

bool unwind_pack_wide_is_sound(const struct unwind_rule *rule)
{
	return (rule->cfa <= UNWIND_CFA_SIGNAL || rule->cfa == UNWIND_CFA_GO_STACK) &&
	       rule->reg < UNWIND_NR_REGS && place_is_sound(&rule->ra) && place_is_sound(&rule->fp);
}

#define PAGE_BYTES	(1ULL << UNWIND_PAGE_SHIFT)
#define BUCKET_BYTES	(1ULL << UNWIND_BUCKET_SHIFT)
#define PAGE_MAX_WORDS	(UNWIND_PAGE_BUCKETS + UNWIND_PAGE_MAX_ROWS)
#define NR_STRETCHES	512 /* a power of two, well above UNWIND_PAGE_BUCKETS */
#define UNKNOWN_BUCKET	(UNWIND_INDEX_RULE | UNWIND_PACKED_NONE)
#define RULE_IS_DROPPED UINT32_MAX /* packed rules have 24 bits */

struct packer {
	struct unwind_table *table;
	const struct unwind_rows *rows;
	size_t next_row;  /* the first one not laid out yet */
	uint32_t running; /* the packed rule before next_row */
	uint32_t *packed; /* for each rule of rows */
	size_t word_capacity, wide_capacity;

	/* The current page, at the end of the table's words. */
	uint32_t *page_rows; /* after its index */
	uint32_t nr_page_rows;
	uint32_t stretches[NR_STRETCHES]; /* its index entries with rows, by hash; 0: free */
};

/* --- rules ----------------------------------------------------------------------------------- */

/*
 * Packs each rule into 24 bits, or as a wide rule. A rule is dropped if there are too many wide
 * ones, or it is invalid.
 */
static int pack_rules(struct packer *packer)
{
	const struct unwind_rows *rows = packer->rows;
	struct unwind_table *table = packer->table;
	size_t i;

	packer->packed = malloc((rows->nr_rules + 1) * sizeof(*packer->packed));
	if (!packer->packed)
		return -ENOMEM;
	for (i = 0; i < rows->nr_rules; i++) {
		const struct unwind_rule *rule = &rows->rules[i];

		if (unwind_pack_rule(rule, table->machine, &packer->packed[i]))
			continue;
		packer->packed[i] = RULE_IS_DROPPED;
		if (table->nr_wide == UNWIND_MAX_WIDE || !unwind_pack_wide_is_sound(rule))
			continue;
		if (ARRAY_ADD(table->wide, table->nr_wide, packer->wide_capacity, *rule) < 0)
			return -ENOMEM;
		packer->packed[i] = UNWIND_PACK_NUMBER(UNWIND_BASE_WIDE, table->nr_wide - 1);
	}
	return 0;
}

/* --- rows ------------------------------------------------------------------------------------ */

/*
 * Returns an index entry for the nr rows written after the page's: of an equal sequence if the page
 * has one, else of these rows, which are then added to the page.
 */
static uint32_t share_stretch(struct packer *packer, uint32_t nr)
{
	const uint32_t *rows = packer->page_rows + packer->nr_page_rows;
	uint64_t at = hash_key(rows, nr * sizeof(*rows));
	uint32_t entry;

	for (at %= NR_STRETCHES; (entry = packer->stretches[at]); at = (at + 1) % NR_STRETCHES)
		if (UNWIND_INDEX_NR(entry) == nr &&
		    !memcmp(packer->page_rows + UNWIND_INDEX_FIRST(entry), rows,
			    nr * sizeof(*rows)))
			return entry;
	entry = UNWIND_INDEX(packer->nr_page_rows, nr);
	packer->stretches[at] = entry;
	packer->nr_page_rows += nr;
	return entry;
}

/* Returns the index entry of the 256 bytes from start on. */
static uint32_t pack_bucket(struct packer *packer, uint64_t start)
{
	uint32_t *to = packer->page_rows + packer->nr_page_rows;
	const struct unwind_rows *rows = packer->rows;
	uint32_t nr = 1;

	to[0] = UNWIND_ROW(0, packer->running);
	while (packer->next_row < rows->nr_rows &&
	       rows->rows[packer->next_row].address - start < BUCKET_BYTES) {
		const struct unwind_row *row = &rows->rows[packer->next_row++];
		uint32_t offset = (uint32_t)(row->address - start);
		uint32_t packed = packer->packed[row->rule];

		if (packed == RULE_IS_DROPPED) {
			packer->table->nr_rows_dropped++;
			packed = UNWIND_PACKED_NONE;
		}
		packer->running = packed;
		if (offset == 0)
			to[0] = UNWIND_ROW(0, packed);
		else if (packed != UNWIND_ROW_RULE(to[nr - 1]))
			to[nr++] = UNWIND_ROW(offset, packed);
	}
	return nr == 1 ? UNWIND_INDEX_RULE | UNWIND_ROW_RULE(to[0]) : share_stretch(packer, nr);
}

/* --- pages ----------------------------------------------------------------------------------- */

/* *last_page is the position of the last page made. */
static int pack_page(struct packer *packer, uint32_t number, uint32_t *last_page)
{
	struct unwind_table *table = packer->table;
	uint64_t start = table->start + number * PAGE_BYTES;
	uint32_t *index, i, nr;
	bool is_known = false;

	if (ARRAY_RESERVE(table->words, packer->word_capacity, table->nr_words + PAGE_MAX_WORDS) <
	    0)
		return -ENOMEM;
	index = table->words + table->nr_words;
	packer->page_rows = index + UNWIND_PAGE_BUCKETS;
	packer->nr_page_rows = 0;
	memset(packer->stretches, 0, sizeof(packer->stretches));
	for (i = 0; i < UNWIND_PAGE_BUCKETS; i++) {
		index[i] = pack_bucket(packer, start + i * BUCKET_BYTES);
		is_known |= index[i] != UNKNOWN_BUCKET;
	}
	table->pages[number] = UNWIND_NO_PAGE;
	if (!is_known)
		return 0;
	nr = UNWIND_PAGE_BUCKETS + packer->nr_page_rows;
	if (*last_page == UNWIND_NO_PAGE || table->nr_words - *last_page != nr ||
	    memcmp(table->words + *last_page, index, nr * sizeof(*index)) != 0) {
		*last_page = (uint32_t)table->nr_words;
		table->nr_words += nr;
	}
	table->pages[number] = *last_page;
	table->page_words[number] = nr;
	return 0;
}

static bool row_is_none(const struct packer *packer, const struct unwind_row *row)
{
	return packer->packed[row->rule] == UNWIND_PACKED_NONE;
}

/*
 * Sets the address of the first page and the number of pages: from the first rule to the end of the
 * last one.
 */
static int span_pages(struct packer *packer, uint64_t *ret_nr_pages)
{
	const struct unwind_rows *rows = packer->rows;
	const struct unwind_row *last;
	uint64_t nr_pages;

	*ret_nr_pages = 0;
	while (packer->next_row < rows->nr_rows &&
	       row_is_none(packer, rows->rows + packer->next_row))
		packer->next_row++;
	if (packer->next_row == rows->nr_rows)
		return 0;
	last = &rows->rows[rows->nr_rows - 1];
	packer->table->start = rows->rows[packer->next_row].address & ~(PAGE_BYTES - 1);
	nr_pages =
		(last->address - packer->table->start - row_is_none(packer, last)) / PAGE_BYTES + 1;
	if (nr_pages > UNWIND_TABLE_MAX_PAGES)
		return -E2BIG;
	*ret_nr_pages = nr_pages;
	return 0;
}

static int pack_pages(struct packer *packer)
{
	struct unwind_table *table = packer->table;
	uint32_t last_page = UNWIND_NO_PAGE;
	uint64_t nr_pages, i;
	int err;

	err = span_pages(packer, &nr_pages);
	if (err < 0 || !nr_pages)
		return err;
	table->pages = calloc(nr_pages, sizeof(*table->pages));
	table->page_words = calloc(nr_pages, sizeof(*table->page_words));
	if (!table->pages || !table->page_words)
		return -ENOMEM;
	for (i = 0; i < nr_pages; i++) {
		err = pack_page(packer, (uint32_t)i, &last_page);
		if (err < 0)
			return err;
		if (table->pages[i] != UNWIND_NO_PAGE)
			table->nr_pages = (uint32_t)i + 1;
	}
	return 0;
}

int unwind_table_pack(struct unwind_table *table, const struct unwind_rows *rows, uint16_t machine)
{
	struct packer packer = {.table = table, .rows = rows, .running = UNWIND_PACKED_NONE};
	int err;

	*table = (struct unwind_table){.machine = machine, .nr_rows = rows->nr_rows};
	err = pack_rules(&packer);
	if (!err)
		err = pack_pages(&packer);
	if (!err)
		array_shrink(&table->words, &packer.word_capacity, table->nr_words,
			     sizeof(*table->words));
	free(packer.packed);
	return err;
}

void unwind_table_clear(struct unwind_table *table)
{
	free(table->pages);
	free(table->page_words);
	free(table->words);
	free(table->wide);
	*table = (struct unwind_table){0};
}

size_t unwind_table_bytes(const struct unwind_table *table)
{
	return table->nr_words * sizeof(*table->words) + table->nr_wide * sizeof(*table->wide) +
	       table->nr_pages * (sizeof(*table->pages) + sizeof(*table->page_words));
}

/* --- checking -------------------------------------------------------------------------------- */

static bool page_is_sound(const struct unwind_table *table, const uint32_t *words, uint32_t nr)
{
	const uint32_t *rows = words + UNWIND_PAGE_BUCKETS;
	uint32_t i, nr_rows = nr - UNWIND_PAGE_BUCKETS;

	for (i = 0; i < UNWIND_PAGE_BUCKETS; i++) {
		uint32_t first = UNWIND_INDEX_FIRST(words[i]), nr_here = UNWIND_INDEX_NR(words[i]);

		if (words[i] & UNWIND_INDEX_RULE) {
			if (!unwind_pack_is_sound(words[i] & ~UNWIND_INDEX_RULE, table->machine,
						  table->nr_wide))
				return false;
		} else if (nr_here < 1 || nr_here > BUCKET_BYTES || first + nr_here > nr_rows ||
			   UNWIND_ROW_OFFSET(rows[first]) != 0) {
			return false;
		}
	}
	for (i = 0; i < nr_rows; i++)
		if (!unwind_pack_is_sound(UNWIND_ROW_RULE(rows[i]), table->machine, table->nr_wide))
			return false;
	return true;
}

/* Pages must be placed as pack_page() does, so that each is checked once. */
static bool pages_are_sound(const struct unwind_table *table)
{
	uint32_t i, nr, last_page = UNWIND_NO_PAGE;
	size_t end = 0;

	for (i = 0; i < table->nr_pages; i++) {
		nr = table->page_words[i];
		if (table->pages[i] == UNWIND_NO_PAGE) {
			if (nr)
				return false;
			continue;
		}
		if (table->pages[i] == last_page) {
			if (nr != end - last_page)
				return false;
			continue;
		}
		if (table->pages[i] != end || nr < UNWIND_PAGE_BUCKETS || nr > PAGE_MAX_WORDS ||
		    nr > table->nr_words - end || !page_is_sound(table, table->words + end, nr))
			return false;
		last_page = table->pages[i];
		end += nr;
	}
	return end == table->nr_words;
}

int unwind_table_check(const struct unwind_table *table)
{
	size_t i;

	if (!unwind_pack_knows(table->machine) || table->start % PAGE_BYTES ||
	    table->nr_pages > UNWIND_TABLE_MAX_PAGES || table->nr_wide > UNWIND_MAX_WIDE ||
	    table->nr_words > UNWIND_TABLE_MAX_WORDS ||
	    (table->nr_pages && table->start > UINT64_MAX - (table->nr_pages * PAGE_BYTES - 1)))
		return -EINVAL;
	for (i = 0; i < table->nr_wide; i++)
		if (!unwind_pack_wide_is_sound(&table->wide[i]))
			return -EINVAL;
	return pages_are_sound(table) ? 0 : -EINVAL;
}
