/* bpf/unwind_step.h in user space: each way to get from a frame to its caller. */
#include <stddef.h>
#include <ucontext.h>

#include "unit/test.h"
#include "bpf/unwind_walk.h"
#include "unit/walk_fixture.h"

#if defined(__x86_64__) /* offsets from sp when a handler returns; libc's register names */
#define SIGNAL_FP offsetof(ucontext_t, uc_mcontext.gregs[REG_RBP])
#define SIGNAL_SP offsetof(ucontext_t, uc_mcontext.gregs[REG_RSP])
#define SIGNAL_PC offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP])
#else
#define SIGNAL_FP (128 + offsetof(ucontext_t, uc_mcontext.regs[29]))
#define SIGNAL_SP (128 + offsetof(ucontext_t, uc_mcontext.sp))
#define SIGNAL_PC (128 + offsetof(ucontext_t, uc_mcontext.pc))
#endif

TEST(unwind_step_by_packed_rules)
{
	static const struct unwind_rule rules[] = {
		RULE(SP, 24, AT(-8), SAME), RULE(FP, 16, AT(-8), AT(-16)),
		RULE(SP, 32, AT(-8), AT(-24)), RULE(FP, 16, AT(-8), AT(-16)), END};
	struct walk walk;

	walk_open(&walk, rules);
	walk.words[UNWIND_REG_FP] = WORD(6);
	push(&walk, 2, IN(1));
	push(&walk, 6, 1); /* not used by the next rule */
	push(&walk, 7, IN(2));
	push(&walk, 9, WORD(14));
	push(&walk, 11, IN(3));
	push(&walk, 15, IN(4) | ~UNWIND_ADDRESS_MASK); /* signed, or not canonical */
	check_walk(&walk, WALK_COMPLETE, IN(0), IN(1), IN(2), IN(3), IN(4), DONE);
	walk_close(&walk);
}

/* Packed forms that only arm64's compilers need work on all machines. */
TEST(unwind_step_by_packed_rules_of_arm64)
{
	static const struct unwind_rule rules[] = {
		RULE(31, 0, SAME, SAME), RULE(31, 32, AT(-24), AT(-32)),
		RULE(29, 4096, AT(-4088), AT(-4096)), RULE(31, 32, AT(-16), SAME), END};
	struct walk walk;

	walk_open_for(&walk, rules, ARRAY_SIZE(rules), EM_AARCH64);
	if (!(UNWIND_FIRST_KNOWN >> UNWIND_REG_RA &
	      1)) { /* no link register here: skip the first rule */
		walk.words[WIRE_RAW_PC] = IN(1);
		push(&walk, 0, WORD(10));
		push(&walk, 1, IN(2));
		push(&walk, 10, 0);
		push(&walk, 11, IN(3));
		push(&walk, 10 + 512 + 2, IN(4));
		check_walk(&walk, WALK_COMPLETE, IN(1), IN(2), IN(3), IN(4), DONE);
		walk_close(&walk);
		return;
	}
	walk.words[UNWIND_REG_RA] = IN(1);
	push(&walk, 0, WORD(10)); /* fp */
	push(&walk, 1, IN(2));
	push(&walk, 10, 0);
	push(&walk, 11, IN(3));
	push(&walk, 10 + 512 + 2, IN(4));
	check_walk(&walk, WALK_COMPLETE, IN(0), IN(1), IN(2), IN(3), IN(4), DONE);
	walk_close(&walk);
}

TEST(unwind_step_ends_where_programs_begin)
{
	static const struct unwind_rule rules[] = {END, RULE(SP, 8, AT(-8), SAME)};
	struct walk walk;

	walk_open(&walk, rules);
	push(&walk, 0, IN(1));
	check_walk(&walk, WALK_COMPLETE, IN(0), DONE);
	walk.words[WIRE_RAW_PC] = IN(1);
	push(&walk, 0, 0); /* a return address of 0 also ends the stack */
	check_walk(&walk, WALK_COMPLETE, IN(1), DONE);
	walk_close(&walk);
}

TEST(unwind_step_of_a_realigned_stack)
{
	static const struct unwind_rule rules[] = {{.cfa = UNWIND_CFA_MEMORY,
						    .reg = UNWIND_REG_FP,
						    .offset = -8,
						    .add = 16,
						    .ra = AT(-8),
						    .fp = {UNWIND_AT_REGISTER, UNWIND_REG_FP, 0}},
						   RULE(FP, 16, AT(-8), AT(-16)),
						   END};
	struct walk walk;

	walk_open(&walk, rules);
	walk.words[UNWIND_REG_FP] = WORD(4);
	push(&walk, 3, WORD(8)); /* the CFA is 16 above */
	push(&walk, 4, WORD(12));
	push(&walk, 9, IN(1));
	push(&walk, 13, IN(2));
	check_walk(&walk, WALK_COMPLETE, IN(0), IN(1), IN(2), DONE);
	walk_close(&walk);
}

/* For a caller only sp, fp and pc are known. */
TEST(unwind_step_knows_other_registers_only_in_the_first_frame)
{
	static const struct unwind_rule rules[] = {RULE(R10, 8, AT(-8), SAME),
						   {.cfa = UNWIND_CFA_REGISTER,
						    .reg = UNWIND_REG_SP,
						    .offset = 8,
						    .ra = {UNWIND_IN_REGISTER, R10, 3},
						    .fp = LOST},
						   RULE(FP, 16, AT(-8), AT(-16))};
	struct walk walk;

	walk_open(&walk, rules);
	walk.words[R10] = WORD(2);
	push(&walk, 2, IN(0));
	push(&walk, 3, IN(0));
	check_walk(&walk, WALK_NO_RULE, IN(0), IN(0), DONE);
	walk.words[WIRE_RAW_PC] = IN(1);
	walk.words[R10] = IN(2) - 3;
	check_walk(&walk, WALK_NO_RULE, IN(1), IN(2), DONE); /* its frame pointer is lost */
	walk_close(&walk);
}

/* The stub has pushed its number from byte 11 of each 16 bytes on. */
TEST(unwind_step_of_lazy_binding_stubs)
{
	static const struct unwind_rule rules[] = {{.cfa = UNWIND_CFA_PLT,
						    .reg = UNWIND_REG_SP,
						    .offset = 8,
						    .add = 11,
						    .ra = AT(-8),
						    .fp = SAME},
						   END};
	struct walk walk;
	uint64_t byte;

	for (byte = 0; byte < 32; byte++) {
		walk_open(&walk, rules);
		walk.words[WIRE_RAW_PC] = IN(0) + byte;
		push(&walk, byte % 16 >= 11, IN(1));
		check_walk(&walk, WALK_COMPLETE, IN(0) + byte, IN(1), DONE);
		walk_close(&walk);
	}
}

/*
 * Code interrupted by a signal made no call: its own address is looked up, not the byte before. It
 * is reported as the address plus one, and its stack may be below the handler's.
 */
TEST(unwind_step_through_a_signal_handler)
{
	static const struct unwind_rule rules[] = {RULE(SP, 16, AT(-8), SAME),
						   {.cfa = UNWIND_CFA_SIGNAL},
						   RULE(FP, 16, AT(-8), AT(-16)),
						   END};
	struct walk walk;
	size_t sp = 2;

	walk_open(&walk, rules);
	push(&walk, 1, IN(1));
	push(&walk, sp + SIGNAL_FP / 8, WORD(400));
	push(&walk, sp + SIGNAL_SP / 8, WORD(1));
	push(&walk, sp + SIGNAL_PC / 8, START_OF(2)); /* its first byte */
	push(&walk, 401, IN(3));
	check_walk(&walk, WALK_COMPLETE, IN(0), IN(1), START_OF(2) + 1, IN(3), DONE);
	walk_close(&walk);
}

TEST(unwind_step_through_a_signal_frame_of_cfi)
{
	static const struct unwind_rule rules[] = {{.cfa = UNWIND_CFA_REGISTER,
						    .reg = UNWIND_REG_SP,
						    .is_signal_frame = 1,
						    .offset = 0,
						    .ra = AT(0),
						    .fp = SAME},
						   RULE(SP, 16, AT(-8), SAME),
						   END};
	struct walk walk;

	walk_open(&walk, rules);
	push(&walk, 0, START_OF(1));
	push(&walk, 1, IN(2));
	check_walk(&walk, WALK_COMPLETE, IN(0), START_OF(1) + 1, IN(2), DONE);
	walk_close(&walk);
}

/* From the scheduler's stack to the goroutine's saved registers, if g's pointers agree. */
TEST(unwind_step_to_the_stack_of_a_goroutine)
{
	enum { G0 = 20, M = 40, G = 60, M_OF_G = 2, CURG = 5, SAVED = 3 };
	static const struct unwind_rule rules[] = {{.cfa = UNWIND_CFA_GO_STACK,
						    .reg = R10,
						    .offset = M_OF_G * 8,
						    .add = CURG * 8,
						    .ra = {UNWIND_AT_CFA, 0, SAVED * 8}},
						   {.cfa = UNWIND_CFA_GO_STACK,
						    .reg = R10,
						    .offset = M_OF_G * 8,
						    .add = CURG * 8,
						    .ra = {UNWIND_SAME, 0, SAVED * 8}},
						   RULE(SP, 8, AT(-8), SAME),
						   RULE(FP, 16, AT(-8), AT(-16)),
						   END};
	struct walk walk;

	walk_open(&walk, rules);
	walk.words[R10] = WORD(G0);
	walk.words[UNWIND_REG_FP] = WORD(12);
	push(&walk, G0 + M_OF_G, WORD(M));
	push(&walk, M, WORD(G0));
	push(&walk, M + CURG, WORD(G));
	push(&walk, G + SAVED, WORD(8));
	push(&walk, G + SAVED + 1, IN(3));
	push(&walk, 8, IN(2)); /* return address of systemstack() */
	push(&walk, 9, IN(3));
	push(&walk, 13, IN(4));
	check_walk(&walk, WALK_COMPLETE, IN(0), IN(2), IN(3), IN(4), DONE);
	walk.words[WIRE_RAW_PC] = IN(1); /* morestack() */
	check_walk(&walk, WALK_COMPLETE, IN(1), IN(3), IN(4), DONE);
	push(&walk, M + CURG, 0); /* no goroutine: the scheduler's own stack */
	check_walk(&walk, WALK_COMPLETE, IN(1), DONE);
	push(&walk, M + CURG, WORD(G));
	push(&walk, M, WORD(G)); /* the register was not g */
	check_walk(&walk, WALK_COMPLETE, IN(1), IN(4), DONE);
	walk.words[R10] = 12345;
	check_walk(&walk, WALK_COMPLETE, IN(1), IN(4), DONE);
	walk_close(&walk);
}

TEST(unwind_step_refuses_what_is_no_frame_pointer)
{
	static const uint64_t wrong[] = {WORD(0) - 8, WORD(0) + 1, 8};
	static const struct unwind_rule rules[] = {END};
	struct walk walk;
	size_t i;

	walk_open(&walk, rules);
	push(&walk, 7, 0);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		walk.words[WIRE_RAW_PC] = JIT;
		walk.words[UNWIND_REG_FP] = wrong[i];
		check_walk(&walk, WALK_NO_RULE, JIT, DONE);
	}
	walk.words[UNWIND_REG_FP] = WORD(7); /* the return address would be past the stack */
	check_walk(&walk, WALK_FAULT, JIT, DONE);
	walk_close(&walk);
}

TEST(unwind_step_goes_up_the_stack_only)
{
	static const struct unwind_rule rules[] = {
		{.cfa = UNWIND_CFA_REGISTER, .reg = UNWIND_REG_SP, .offset = 0, .ra = AT(0)},
		{.cfa = UNWIND_CFA_REGISTER, .reg = UNWIND_REG_SP, .offset = -8, .ra = AT(8)},
		{.cfa = UNWIND_CFA_REGISTER, .reg = UNWIND_REG_SP, .offset = 4, .ra = AT(-4)},
		END};
	struct walk walk;

	walk_open(&walk, rules);
	push(&walk, 0, IN(3)); /* a leaf may have no frame … */
	check_walk(&walk, WALK_COMPLETE, IN(0), IN(3), DONE);
	push(&walk, 0, IN(0)); /* … but its caller must have one */
	check_walk(&walk, WALK_NO_PROGRESS, IN(0), IN(0), DONE);
	walk.words[WIRE_RAW_PC] = IN(1);
	check_walk(&walk, WALK_NO_PROGRESS, IN(1), DONE);
	walk.words[WIRE_RAW_PC] = IN(2);
	check_walk(&walk, WALK_NO_PROGRESS, IN(2), DONE);
	walk_close(&walk);
}
