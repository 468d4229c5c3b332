/*
 * A stack to walk in user space. The code is a sequence of functions of 256 bytes, one for each
 * rule, and some code without a table; the stack is handmade.
 */
#ifndef STOOK_TESTS_UNIT_WALK_FIXTURE_H
#define STOOK_TESTS_UNIT_WALK_FIXTURE_H

#include <stdarg.h>
#include <string.h>

#include "collect/unwind/stack_walk.h"
#include "collect/unwind/unwind_pool.h"
#include "unit/test.h"
#include "unit/unwind_fixture.h"

#define CODE	    0x400000UL
#define CODE_BYTES  0x100000UL
#define START_OF(i) (CODE + 0x100UL * (i))
#define IN(i)	    (START_OF(i) + 0x10) /* an address in the function of rule i */
#define JIT	    0x7000000UL
#define STACK	    0x7ffd10000000UL
#define WORD(i)	    (STACK + 8UL * (i)) /* address of the i-th word of the stack */
#define TABLE	    5

#define SP  7 /* register numbers of x86-64's packed forms */
#define FP  6
#define R10 10

#define SAME	  ((struct unwind_place){.where = UNWIND_SAME})
#define LOST	  ((struct unwind_place){.where = UNWIND_LOST})
#define AT(bytes) ((struct unwind_place){.where = UNWIND_AT_CFA, .offset = (bytes)})
#define RULE(cfa_reg, bytes, ra_place, fp_place)                                                 \
	{                                                                                        \
		.cfa = UNWIND_CFA_REGISTER, .reg = (cfa_reg), .offset = (bytes), .ra = ra_place, \
		.fp = fp_place                                                                   \
	}
#define END                           \
	{                             \
		.cfa = UNWIND_CFA_END \
	}

struct walk {
	struct unwind_pool *pool;
	struct loaded_table loaded;
	struct mappings *mappings;
	uint64_t words[WIRE_MAX_RAW_WORDS]; /* as in a record; sp is STACK */
	size_t nr_stack;
	uint32_t max_frames;
	uint32_t epoch;
	struct user_stack stack;
};

static inline int64_t table_of(void *argument, const struct mapping *mapping)
{
	(void)argument;
	return mapping->kind == MAPPING_FILE ? TABLE : -1;
}

static inline void load_rules(struct walk *walk, const struct unwind_rule *rules, uint32_t nr,
			      uint16_t machine)
{
	struct unwind_table table;
	struct unwind_rows rows;
	uint32_t i;

	rows_init(&rows);
	for (i = 0; i < nr; i++)
		rows_add(&rows, 0x100 * i, rows_add_rule(&rows, rules[i]));
	rows_add(&rows, 0x100 * nr, 0);
	CHECK_EQ(unwind_table_pack(&table, &rows, machine), 0);
	CHECK_EQ(table.nr_rows_dropped, 0);
	CHECK_EQ(loaded_table_load(&walk->loaded, walk->pool, TABLE, &table), 0);
	unwind_table_clear(&table);
	rows_free(&rows);
}

/* The program counter starts in the first rule's function; the frame pointer is 0. */
static inline void walk_open_for(struct walk *walk, const struct unwind_rule *rules, uint32_t nr,
				 uint16_t machine)
{
	const struct mapping code = {CODE, CODE + CODE_BYTES, 0, MAPPING_FILE, 0};
	const struct mapping jit = {JIT, JIT + CODE_BYTES, 0, MAPPING_ANON, 0};

	memset(walk, 0, sizeof(*walk));
	walk->pool = unwind_pool_new(NULL, 1 << 20, NULL);
	walk->mappings = mappings_new();
	CHECK(walk->pool && walk->mappings);
	CHECK_EQ(mappings_add(&walk->mappings, &code), 0);
	CHECK_EQ(mappings_add(&walk->mappings, &jit), 0);
	load_rules(walk, rules, nr, machine);
	walk->max_frames = WIRE_MAX_USER_FRAMES;
	walk->words[UNWIND_REG_SP] = STACK;
	walk->words[WIRE_RAW_PC] = IN(0);
}

#define walk_open(walk, rules) walk_open_for(walk, rules, ARRAY_SIZE(rules), EM_X86_64)

static inline void walk_close(struct walk *walk)
{
	loaded_table_clear(&walk->loaded);
	mappings_unref(walk->mappings);
	unwind_pool_free(walk->pool);
}

/* Stores a word; the stack ends after the last word stored. */
static inline void push(struct walk *walk, size_t word, uint64_t value)
{
	walk->words[WIRE_RAW_STACK + word] = value;
	if (word >= walk->nr_stack)
		walk->nr_stack = word + 1;
}

static inline void run(struct walk *walk)
{
	const struct stack_walk_context context = {.pool = walk->pool,
						   .mappings = walk->mappings,
						   .table_of = table_of,
						   .max_frames = walk->max_frames,
						   .epoch = walk->epoch};
	size_t nr = WIRE_RAW_STACK + walk->nr_stack;
	uint64_t *guarded = test_guarded(walk->words, nr * sizeof(*guarded));

	stack_walk(&context, guarded, nr, &walk->stack);
}

#define DONE 0UL

/* Walks and compares the frames with the following arguments, terminated by DONE. */
static inline void check_walk(struct walk *walk, enum walk_end end, ...)
{
	uint64_t expected;
	uint32_t nr = 0;
	va_list frames;

	run(walk);
	va_start(frames, end);
	while ((expected = va_arg(frames, uint64_t))) {
		CHECK(nr < walk->stack.nr);
		CHECK_EQ(walk->stack.frames[nr++], expected);
	}
	va_end(frames);
	CHECK_EQ(walk->stack.nr, nr);
	CHECK_EQ(walk->stack.end, end);
}

#endif
