/* collect/unwind/stack_walk: from the words of a raw record to frames, and how that ends. */
#include "collect/unwind/stack_walk.h"

#include "unit/test.h"
#include "unit/walk_fixture.h"

TEST(stack_walk_by_frame_pointers_without_a_table)
{
	static const struct unwind_rule rules[] = {END};
	struct walk walk;

	walk_open(&walk, rules);
	walk.words[WIRE_RAW_PC] = JIT;
	walk.words[UNWIND_REG_FP] = WORD(3);
	push(&walk, 3, WORD(8));
	push(&walk, 4, JIT + 0x500);
	push(&walk, 8, 0); /* who began had no frame */
	push(&walk, 9, JIT + CODE_BYTES);
	check_walk(&walk, WALK_COMPLETE, JIT, JIT + 0x500, JIT + CODE_BYTES, DONE);
	unwind_pool_tables(walk.pool)[TABLE].state = UNWIND_TABLE_ABSENT;
	push(&walk, 9, IN(0));
	check_walk(&walk, WALK_COMPLETE, JIT, JIT + 0x500, IN(0), DONE);
	walk_close(&walk);
}

/* Functions of 128 bytes of stack, up to the end of what was captured. */
static enum walk_end end_of_stack(size_t bytes)
{
	static const struct unwind_rule rules[] = {RULE(SP, 128, AT(-8), SAME)};
	enum walk_end end;
	struct walk walk;
	size_t word;

	walk_open(&walk, rules);
	for (word = 0; word < bytes / 8; word++)
		push(&walk, word, word % 16 == 15 ? IN(0) : 0);
	run(&walk);
	CHECK_EQ(walk.stack.nr, 1 + bytes / 128);
	end = walk.stack.end;
	walk_close(&walk);
	return end;
}

/* The capture is of some pages; the first of them from the stack pointer on. */
TEST(stack_walk_tells_the_end_of_a_full_capture)
{
	CHECK_EQ(end_of_stack(0), WALK_FAULT);
	CHECK_EQ(end_of_stack(8), WALK_FAULT);
	CHECK_EQ(end_of_stack(WIRE_RAW_STACK_BYTES - 4096), WALK_FAULT);
	CHECK_EQ(end_of_stack(WIRE_RAW_STACK_BYTES - 4096 + 8), WALK_TRUNCATED);
	CHECK_EQ(end_of_stack(WIRE_RAW_STACK_BYTES), WALK_TRUNCATED);
}

TEST(stack_walk_stops_at_the_frame_limit)
{
	static const struct unwind_rule rules[] = {RULE(SP, 8, AT(-8), SAME)};
	static const uint32_t limits[] = {1, 5, WIRE_MAX_USER_FRAMES, UINT32_MAX};
	struct walk walk;
	size_t i;

	walk_open(&walk, rules);
	for (i = 0; i < 1000; i++)
		push(&walk, i, IN(0));
	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		walk.max_frames = limits[i];
		run(&walk);
		CHECK_EQ(walk.stack.end, WALK_TRUNCATED);
		CHECK_EQ(walk.stack.nr, i < 2 ? limits[i] : WIRE_MAX_USER_FRAMES);
	}
	walk_close(&walk);
}

/* The leaf is where the program was, whatever is there; a caller has to be code. */
TEST(stack_walk_leaves_all_code)
{
	static const struct unwind_rule rules[] = {RULE(SP, 8, AT(-8), SAME)};
	struct walk walk;

	walk_open(&walk, rules);
	push(&walk, 0, CODE); /* returns to the first byte: the call was before it */
	check_walk(&walk, WALK_NO_MAPPING, IN(0), DONE);
	walk.words[WIRE_RAW_PC] = 0x1234;
	check_walk(&walk, WALK_NO_MAPPING, 0x1234UL, DONE);
	walk_close(&walk);
}

TEST(stack_walk_asks_for_the_table_that_it_needs)
{
	static const struct unwind_rule rules[] = {END};
	struct walk walk;

	walk_open(&walk, rules);
	loaded_table_unload(&walk.loaded, walk.pool, UNWIND_TABLE_WANTED);
	run(&walk);
	CHECK_EQ(walk.stack.end, WALK_RAW);
	CHECK_EQ(walk.stack.wanted_table, TABLE);
	CHECK(walk.stack.nr <= 1);
	walk_close(&walk);
}

/* As the kernel's walk does, so that no table goes while only walks in user space need it. */
TEST(stack_walk_notes_when_a_table_was_of_use)
{
	static const struct unwind_rule rules[] = {END};
	const struct unwind_table_entry *entry;
	struct walk walk;

	walk_open(&walk, rules);
	entry = &unwind_pool_tables(walk.pool)[TABLE];
	walk.epoch = 7;
	walk.words[WIRE_RAW_PC] = JIT;
	run(&walk);
	CHECK_EQ(entry->used_epoch, 0);
	walk.words[WIRE_RAW_PC] = IN(0);
	run(&walk);
	CHECK_EQ(entry->used_epoch, 7);
	walk_close(&walk);
}

TEST(stack_walk_without_all_registers)
{
	const struct stack_walk_context none = {.max_frames = 10};
	static struct user_stack stack;
	uint64_t words[WIRE_RAW_REGS] = {0};

	stack_walk(&none, test_guarded(words, sizeof(words) - 8), WIRE_RAW_REGS - 1, &stack);
	CHECK(stack.nr == 0 && stack.end == WALK_MISSED);
	stack_walk(&none, test_guarded(words, sizeof(words)), WIRE_RAW_REGS, &stack);
	CHECK(stack.nr == 1 && stack.end == WALK_NO_MAPPING);
}
