/*
 * collect/unwind/unwinder from end to end: this process' own stack, by the tables of its own files, has
 * the frames that the compiler's runtime finds in it (backtrace()).
 */
#include "collect/unwind/unwinder.h"

#include <errno.h>
#include <execinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "proc/mappings.h"
#include "proc/process_table.h"
#include "unit/test.h"
#include "unit/unwinder_fixture.h"

#define POOL_BYTES (32UL << 20)

/* A sample of ourselves, and what it has to come out as. */
static struct raw_record sample;
static void *expected[128];
static int nr_expected;

/* Where the mapping that has this address ends. */
static uint64_t end_of_mapping(uint64_t address)
{
	struct maps_entry entry;
	struct maps maps;
	uint64_t end = 0;

	CHECK_EQ(maps_open(&maps, getpid()), 0);
	while (!end && maps_next(&maps, &entry))
		if (address >= entry.start && address < entry.end)
			end = entry.end;
	maps_close(&maps);
	CHECK(end > address);
	return end;
}

/* Registers by their DWARF numbers. */
static void take_registers(const ucontext_t *context, uint64_t *words)
{
#if defined(__x86_64__)
	static const int by_number[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
					REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
					REG_R12, REG_R13, REG_R14, REG_R15};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(by_number); i++)
		words[i] = (uint64_t)context->uc_mcontext.gregs[by_number[i]];
	words[WIRE_RAW_PC] = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
#else
	memcpy(words, context->uc_mcontext.regs, 31 * sizeof(*words));
	words[UNWIND_REG_SP] = context->uc_mcontext.sp;
	words[WIRE_RAW_PC] = context->uc_mcontext.pc;
#endif
}

/* As the kernel side does; all of our stack may be read, redzones too. */
__attribute__((noinline, no_sanitize("address"))) static void take_sample(void)
{
	const volatile uint64_t *stack;
	ucontext_t context;
	size_t nr, i;

	make_raw(&sample, (uint32_t)getpid(), 0);
	nr_expected = backtrace(expected, ARRAY_SIZE(expected));
	CHECK_EQ(getcontext(&context), 0);
	take_registers(&context, sample.words);
	stack = (const volatile uint64_t *)sample.words[UNWIND_REG_SP];
	nr = (end_of_mapping((uint64_t)stack) - (uint64_t)stack) / 8;
	if (nr > WIRE_RAW_STACK_BYTES / 8)
		nr = WIRE_RAW_STACK_BYTES / 8;
	for (i = 0; i < nr; i++)
		sample.words[WIRE_RAW_STACK + i] = stack[i];
	sample.record.nr_user = (uint16_t)(WIRE_RAW_STACK + nr);
}

static int sample_and_compare(const void *a, const void *b)
{
	if (!nr_expected)
		take_sample();
	return *(const int *)a - *(const int *)b;
}

/* With code of libc between. */
static void sample_below_libc(void)
{
	int numbers[] = {3, 1, 2};

	qsort(numbers, ARRAY_SIZE(numbers), sizeof(*numbers), sample_and_compare);
	CHECK(nr_expected > 3);
}

struct self {
	struct world world;
	struct process_table *processes;
	const struct mappings *mappings;
};

static void self_open(struct self *self)
{
	world_open(&self->world, POOL_BYTES);
	self->processes = process_table_new(self->world.files);
	CHECK(self->processes != NULL);
	CHECK_EQ(process_table_meet(self->processes, getpid()), 0);
	self->mappings = process_table_mappings(self->processes, getpid(), clock_now_ns());
	CHECK(self->mappings != NULL);
}

static void self_close(struct self *self)
{
	unwinder_free(self->world.unwinder); /* it has the file table's numbers */
	process_table_free(self->processes);
	file_table_free(self->world.files);
}

static int walk(struct self *self, struct user_stack *stack)
{
	return unwinder_walk(self->world.unwinder, &sample.record, self->mappings, stack);
}

/* Under a sanitizer its own backtrace() stands before the compiler's. */
static void check_stack(const struct user_stack *stack)
{
	uint32_t shift = (uint32_t)nr_expected - stack->nr, i;

	CHECK_EQ(stack->end, WALK_COMPLETE);
	CHECK(shift <= 1);
	CHECK_EQ(stack->frames[0], sample.words[WIRE_RAW_PC]);
	for (i = 1; i < stack->nr; i++) /* the first ones are two places in one function */
		CHECK_EQ(stack->frames[i], (uint64_t)(uintptr_t)expected[i + shift]);
}

TEST(unwinder_walks_our_own_stack_once_its_tables_are_made)
{
	static struct user_stack stack;
	struct self self;
	unsigned nr_again = 0;

	sample_below_libc();
	self_open(&self);
	while (walk(&self, &stack) == -EAGAIN) {
		CHECK_EQ(unwinder_nr_waiting(self.world.unwinder), 1);
		wait_for_tables(&self.world);
		nr_again++;
	}
	CHECK(nr_again >= 2); /* this program, libc */
	CHECK_EQ(cost_of(&self.world).nr_tables, nr_again);
	CHECK_EQ(cost_of(&self.world).nr_walked, 1);
	check_stack(&stack);
	CHECK_EQ(walk(&self, &stack), 0);
	check_stack(&stack);
	self_close(&self);
}

TEST(unwinder_preloads_all_tables_of_a_process)
{
	static struct user_stack stack;
	struct self self;

	sample_below_libc();
	self_open(&self);
	unwinder_preload(self.world.unwinder, self.mappings);
	CHECK(unwinder_nr_waiting(self.world.unwinder) >= 2);
	wait_for_tables(&self.world);
	CHECK_EQ(walk(&self, &stack), 0);
	check_stack(&stack);
	CHECK_EQ(unwinder_nr_waiting(self.world.unwinder), 0);
	self_close(&self);
}

/* The table of the vdso is there from the beginning. */
TEST(unwinder_knows_the_vdso_before_any_file)
{
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
	static struct user_stack stack;
	struct self self;

	if (!vdso)
		SKIP("this process has no vdso");
	self_open(&self);
	make_raw(&sample, (uint32_t)getpid(), vdso); /* its headers: no code */
	CHECK_EQ(walk(&self, &stack), 0);
	CHECK_EQ(stack.nr, 1);
	CHECK_EQ(state_of(&self.world, 0), UNWIND_TABLE_READY);
	self_close(&self);
}
