/*
 * Made-up unwind rows: handmade, or pseudo-random with a fixed seed. All of their rules are
 * unchanged after packing and unpacking.
 */
#ifndef STOOK_TESTS_UNIT_UNWIND_FIXTURE_H
#define STOOK_TESTS_UNIT_UNWIND_FIXTURE_H

#include <elf.h>
#include <stdlib.h>

#include "base/array.h"
#include "elf/unwind/unwind_rows.h"
#include "unit/test.h"

/* Parameters of random rows; the defaults in parentheses resemble compiled code. */
struct row_wishes {
	uint64_t seed;
	uint64_t start;
	size_t nr_rows;
	uint32_t max_step;    /* bytes between rows (40); sometimes far more */
	uint32_t nr_rules;    /* number of different rules (200) */
	uint32_t wide_chance; /* 1 of this many rules is wide (16); 0: none */
	uint32_t gap_chance;  /* 1 of this many rows is UNWIND_CFA_NONE (20) */
};

static inline uint32_t fixture_random(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*state >> 33) % below;
}

static inline uint32_t rows_add_rule(struct unwind_rows *rows, struct unwind_rule rule)
{
	CHECK_EQ(array_reserve(&rows->rules, &rows->rule_capacity, rows->nr_rules + 1,
			       sizeof(*rows->rules)),
		 0);
	rows->rules[rows->nr_rules] = rule;
	return (uint32_t)rows->nr_rules++;
}

static inline void rows_add(struct unwind_rows *rows, uint64_t address, uint32_t rule)
{
	CHECK_EQ(array_reserve(&rows->rows, &rows->row_capacity, rows->nr_rows + 1,
			       sizeof(*rows->rows)),
		 0);
	rows->rows[rows->nr_rows++] = (struct unwind_row){address, rule};
}

static inline void rows_init(struct unwind_rows *rows)
{
	*rows = (struct unwind_rows){0};
	(void)rows_add_rule(rows, (struct unwind_rule){.cfa = UNWIND_CFA_NONE});
}

static inline void rows_free(struct unwind_rows *rows)
{
	free(rows->rows);
	free(rows->rules);
}

/* Different numbers give different rules. */
static inline struct unwind_rule fixture_packable(uint32_t number)
{
	struct unwind_rule rule = {
		.cfa = UNWIND_CFA_REGISTER,
		.reg = number % 2 ? 6 : 7,
		.offset = (int32_t)(number / 4 % 4096 * 8),
		.ra = {UNWIND_AT_CFA, 0, -8},
	};

	if (number / 2 % 2)
		rule.fp = (struct unwind_place){UNWIND_AT_CFA, 0,
						-8 * (int32_t)(number / 16384 % 127 + 1)};
	return rule;
}

static inline struct unwind_rule fixture_wide(uint32_t number)
{
	struct unwind_rule rule = {.cfa = UNWIND_CFA_MEMORY, .reg = 10, .offset = -8};

	rule.add = (int32_t)number;
	rule.ra = (struct unwind_place){UNWIND_AT_CFA, 0, -8};
	rule.fp = (struct unwind_place){UNWIND_AT_REGISTER, 6, 0};
	return rule;
}

/* Makes a function of a megabyte, a gap of 16, and another function. */
static inline void rows_make_large(struct unwind_rows *rows)
{
	rows_init(rows);
	(void)rows_add_rule(rows, fixture_packable(8));
	(void)rows_add_rule(rows, fixture_packable(9));
	rows_add(rows, 0x400010, 1);
	rows_add(rows, 0x400014, 2);
	rows_add(rows, 0x500014, 0);
	rows_add(rows, 0x1500000, 1);
	rows_add(rows, 0x1510000, 0);
}

static inline void rows_make(struct unwind_rows *rows, const struct row_wishes *wishes)
{
	uint64_t state = wishes->seed, address = wishes->start;
	uint32_t i, rule, previous = 0;

	rows_init(rows);
	for (i = 1; i < wishes->nr_rules; i++)
		(void)rows_add_rule(rows, wishes->wide_chance && i % wishes->wide_chance == 0
						  ? fixture_wide(i)
						  : fixture_packable(i));
	while (rows->nr_rows < wishes->nr_rows) {
		rule = fixture_random(&state, wishes->nr_rules);
		if (wishes->gap_chance && fixture_random(&state, wishes->gap_chance) == 0)
			rule = 0;
		if (rule == previous)
			continue;
		rows_add(rows, address, rule);
		previous = rule;
		address += 1 + fixture_random(&state, wishes->max_step);
		if (fixture_random(&state, 1000) == 0)
			address += fixture_random(&state, 300000);
	}
	if (previous)
		rows_add(rows, address, 0);
}

#endif
