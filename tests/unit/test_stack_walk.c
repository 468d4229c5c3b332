/*
 * collect/unwind/stack_walk: from the words of a raw record to frames and the reason why the walk
 * ended; deferred records wait in order, unchanged, within a limit, and are handed over once.
 */
#include "collect/unwind/stack_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
	push(&walk, 8, 0); /* the first function has no frame */
	push(&walk, 9, JIT + CODE_BYTES);
	check_walk(&walk, WALK_COMPLETE, JIT, JIT + 0x500, JIT + CODE_BYTES, DONE);
	unwind_pool_tables(walk.pool)[TABLE].state = UNWIND_TABLE_ABSENT;
	push(&walk, 9, IN(0));
	check_walk(&walk, WALK_COMPLETE, JIT, JIT + 0x500, IN(0), DONE);
	walk_close(&walk);
}

#if defined(__x86_64__)
/*
 * Pushes the frames of two CPython trampolines, each called by the function of rule 0 and returning
 * to it, and the first frame.
 */
static void push_trampolines(struct walk *walk, size_t word)
{
	push(walk, word, JIT + 0x500);
	push(walk, word + 1, WORD(100)); /* alignment: an old frame pointer */
	push(walk, word + 2, IN(0));
	push(walk, word + 3, JIT + 0x600);
	push(walk, word + 5, IN(0));
	push(walk, word + 6, IN(1));
	push(walk, 100, 0);
	push(walk, 101, 0x1234);
}

/* A raw record contains no code of callers, from which a rule could be read. */
TEST(stack_walk_tries_the_trampoline_of_python)
{
	static const struct unwind_rule rules[] = {RULE(SP, 8, AT(-8), SAME), END,
						   RULE(SP, 16, AT(-8), SAME)};
	/* Not a frame pointer; two that lead nowhere; and zero, which means no caller. */
	static const uint64_t fps[] = {0x123456789, WORD(100), WORD(0), 0};
	struct walk walk;
	size_t i;

	walk_open(&walk, rules);
	push_trampolines(&walk, 0);
	for (i = 0; i < ARRAY_SIZE(fps); i++) {
		walk.words[UNWIND_REG_FP] = fps[i];
		check_walk(&walk, WALK_COMPLETE, IN(0), JIT + 0x500, IN(0), JIT + 0x600, IN(0),
			   IN(1), DONE);
	}
	/* Consecutive code addresses alone do not make frames. */
	walk.words[UNWIND_REG_FP] = 0x123456789;
	push(&walk, 2, JIT + 0x700);
	push(&walk, 4, IN(0));
	check_walk(&walk, WALK_NO_RULE, IN(0), JIT + 0x500, DONE);
	push(&walk, 2, IN(0));
	/* Another layout is not a trampoline: frame pointers do not lead through it. */
	walk.words[UNWIND_REG_FP] = 0x123456789;
	push(&walk, 5, 0x1234);
	check_walk(&walk, WALK_NO_RULE, IN(0), JIT + 0x500, DONE);
	push(&walk, 5, 0); /* no first frame, either */
	check_walk(&walk, WALK_NO_RULE, IN(0), JIT + 0x500, DONE);
	walk_close(&walk);
}

/* A raw record contains the code of the first frame. */
TEST(stack_walk_follows_the_code_of_the_first_frame)
{
	static const struct unwind_rule rules[] = {RULE(SP, 8, AT(-8), SAME), END};
	/* pop %r9; add $16, %rsp; ret */
	static const uint8_t code[WIRE_RAW_CODE_BYTES] = {0x41, 0x59, 0x48, 0x83, 0xc4, 0x10, 0xc3};
	struct walk walk;

	walk_open(&walk, rules);
	memcpy(&walk.words[WIRE_RAW_CODE], code, sizeof(code));
	walk.words[WIRE_RAW_PC] = JIT + 0x500;
	walk.words[UNWIND_REG_FP] = 0x123456789;
	push(&walk, 3, IN(0));
	push(&walk, 4, IN(1));
	check_walk(&walk, WALK_COMPLETE, JIT + 0x500, IN(0), IN(1), DONE);
	/* It is not that of a caller. */
	push(&walk, 3, JIT + 0x600);
	push(&walk, 7, IN(1));
	check_walk(&walk, WALK_NO_RULE, JIT + 0x500, JIT + 0x600, DONE);
	walk_close(&walk);
}

/* Frame pointers are used if they lead on. */
TEST(stack_walk_believes_frame_pointers_first)
{
	static const struct unwind_rule rules[] = {RULE(SP, 8, AT(-8), SAME), END};
	struct walk walk;

	walk_open(&walk, rules);
	push(&walk, 0, JIT + 0x500);
	push(&walk, 2, JIT + 0x700); /* the trampoline rule would read this … */
	push(&walk, 6, WORD(20));
	push(&walk, 7, IN(1));
	walk.words[UNWIND_REG_FP] = WORD(6);
	check_walk(&walk, WALK_COMPLETE, IN(0), JIT + 0x500, IN(1), DONE);
	walk_close(&walk);
}
#endif

/* Walks functions of 128 bytes of stack up to the end of the captured stack. */
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

/* The capture is a number of pages; the first one starts at the stack pointer. */
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

/* The leaf may be at any address; a caller must be in code. */
TEST(stack_walk_leaves_all_code)
{
	static const struct unwind_rule rules[] = {RULE(SP, 8, AT(-8), SAME)};
	struct walk walk;

	walk_open(&walk, rules);
	push(&walk, 0, CODE); /* returns to the first byte: the call is before it */
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

/* Marks the table as used, like the kernel does, so that tables used here are not evicted. */
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
	uint64_t words[WIRE_RAW_HEAD] = {0};

	stack_walk(&none, test_guarded(words, sizeof(words) - 8), WIRE_RAW_HEAD - 1, &stack);
	CHECK(stack.nr == 0 && stack.end == WALK_MISSED);
	stack_walk(&none, test_guarded(words, sizeof(words)), WIRE_RAW_HEAD, &stack);
	CHECK(stack.nr == 1 && stack.end == WALK_NO_MAPPING);
}

/* --- deferred records --------------------------------------------------------------------------- */

#define MAX_TAKEN 64

struct taker {
	uint64_t ids[MAX_TAKEN]; /* ids handed over, in order */
	size_t nr;
	uint64_t not_yet; /* ids with any of these bits stay */
	uint64_t failing; /* this id fails */
	const struct mappings *mappings;
};

/* The words of each record are its id, so that an incomplete copy is noticed. */
static int take(void *context, struct deferred *item)
{
	const struct wire_record *record = item->record;
	struct taker *taker = context;
	const uint64_t *words = (const uint64_t *)(record + 1);
	size_t i;

	for (i = 0; i < (size_t)record->nr_user + record->nr_kernel; i++)
		CHECK_EQ(words[i], record->id);
	CHECK(item->mappings == taker->mappings);
	CHECK_EQ(item->lacked.number, record->id);
	CHECK(taker->nr < MAX_TAKEN);
	taker->ids[taker->nr++] = record->id;
	if (record->id == taker->failing)
		return -ENOMEM;
	return record->id & taker->not_yet ? -EAGAIN : 0;
}

static int add(struct deferred_list *list, uint64_t id, uint16_t nr_user, uint16_t nr_kernel,
	       const struct mappings *mappings)
{
	size_t nr = (size_t)nr_user + nr_kernel, bytes = sizeof(struct wire_record) + 8 * nr, i;
	struct wire_record *record = malloc(bytes);
	int err;

	if (!record)
		return -ENOMEM;
	memset(record, 0, sizeof(*record));
	record->id = id;
	record->nr_user = nr_user;
	record->nr_kernel = nr_kernel;
	for (i = 0; i < nr; i++)
		((uint64_t *)(record + 1))[i] = id;
	err = deferred_list_add(list, record, bytes, mappings,
				&(struct lacked_table){.number = (uint32_t)id});
	free(record);
	return err;
}

static void check_ids(struct taker *taker, uint64_t first, uint64_t step, size_t nr)
{
	size_t i;

	CHECK_EQ(taker->nr, nr);
	for (i = 0; i < nr; i++)
		CHECK_EQ(taker->ids[i], first + i * step);
	taker->nr = 0;
}

TEST(deferred_records_go_in_order_and_once)
{
	struct mappings *mappings = mappings_new();
	struct taker taker = {.mappings = mappings};
	struct deferred_list list = {0};
	uint64_t id;

	for (id = 1; id <= 10; id++)
		CHECK_EQ(add(&list, id, (uint16_t)id, (uint16_t)(10 - id), mappings), 0);
	mappings_unref(mappings); /* the list has its own references */
	CHECK_EQ(list.bytes, 10 * (sizeof(struct wire_record) + 80));
	taker.not_yet = 1;
	CHECK_EQ(deferred_list_retry(&list, take, &taker), 0);
	check_ids(&taker, 1, 1, 10);
	CHECK_EQ(list.nr, 5);
	CHECK_EQ(deferred_list_retry(&list, take, &taker), 0);
	check_ids(&taker, 1, 2, 5); /* the ones that stayed */
	CHECK_EQ(list.bytes, 5 * (sizeof(struct wire_record) + 80));
	taker.not_yet = 0;
	CHECK_EQ(deferred_list_retry(&list, take, &taker), 0);
	check_ids(&taker, 1, 2, 5);
	CHECK(list.nr == 0 && list.bytes == 0);
	CHECK_EQ(deferred_list_retry(&list, take, &taker), 0);
	CHECK_EQ(taker.nr, 0);
	deferred_list_clear(&list);
	deferred_list_clear(&list);
}

/* The failing record and all after it stay; the earlier ones are gone. */
TEST(deferred_records_stay_after_a_failure)
{
	struct taker taker = {.not_yet = 1, .failing = 6};
	struct deferred_list list = {0};
	uint64_t id;

	for (id = 1; id <= 10; id++)
		CHECK_EQ(add(&list, id, 3, 0, NULL), 0);
	CHECK_EQ(deferred_list_retry(&list, take, &taker), -ENOMEM);
	check_ids(&taker, 1, 1, 6);
	CHECK_EQ(list.nr, 8);
	taker.failing = taker.not_yet = 0;
	CHECK_EQ(deferred_list_retry(&list, take, &taker), 0);
	CHECK_EQ(taker.nr, 8);
	CHECK(taker.ids[0] == 1 && taker.ids[1] == 3 && taker.ids[2] == 5 && taker.ids[3] == 6 &&
	      taker.ids[7] == 10);
	CHECK_EQ(list.bytes, 0);
	deferred_list_clear(&list);
}

TEST(deferred_records_are_limited_in_bytes)
{
	size_t bytes = sizeof(struct wire_record) + 8 * WIRE_MAX_RAW_WORDS, nr = 0;
	struct deferred_list list = {0};
	int err = 0;

	while (!err) {
		err = add(&list, 1, WIRE_MAX_RAW_WORDS, 0, NULL);
		nr += !err;
	}
	CHECK_EQ(err, -ENOSPC);
	CHECK_EQ(nr, DEFERRED_MAX_BYTES / bytes);
	CHECK_EQ(list.bytes, nr * bytes);
	CHECK_EQ(add(&list, 1, 1, 0, NULL),
		 DEFERRED_MAX_BYTES - list.bytes < sizeof(struct wire_record) + 8 ? -ENOSPC : 0);
	deferred_list_clear(&list);
	CHECK(!list.items && !list.nr && !list.bytes);
	CHECK_EQ(add(&list, 1, WIRE_MAX_RAW_WORDS, 0, NULL), 0);
	deferred_list_clear(&list);
}

/* If a process changes mappings that records refer to, it gets a copy; the copies count. */
TEST(deferred_records_are_limited_with_their_mappings)
{
	struct mappings *mappings = mappings_new();
	struct deferred_list list = {0};
	size_t i, nr_most = DEFERRED_MAX_BYTES / (20000 * sizeof(struct mapping));

	for (i = 0; i < 20000; i++)
		CHECK_EQ(mappings_add(&mappings, &(struct mapping){.start = 0x2000 * i,
								   .end = 0x2000 * i + 0x1000}),
			 0);
	for (i = 0; add(&list, i, 4, 0, mappings) == 0; i++)
		;
	CHECK(i > nr_most / 2 && i <= nr_most);
	deferred_list_clear(&list);
	CHECK_EQ(list.bytes, 0);
	mappings_unref(mappings);
}

TEST(deferred_records_without_memory)
{
	struct mappings *mappings = mappings_new();
	struct deferred_list list = {0};
	size_t nth;
	int err = -1;

	for (nth = 1; err; nth++) {
		(void)test_fail_allocation(nth);
		err = add(&list, nth, 4, 4, mappings);
		(void)test_fail_allocation(0);
		CHECK(!err || (err == -ENOMEM && !list.nr && !list.bytes));
	}
	CHECK_EQ(nth, 5); /* fails at: the test's own, the array, the copy; then none */
	deferred_list_clear(&list);
	mappings_unref(mappings);
}
