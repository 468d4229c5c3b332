/*
 * bpf/unwind_epilogue.h: the rule of JIT-compiled code by its next instructions, at each of them; and
 * none where one is not known, or is not all there. The rules are those that the assembler's own
 * directives give to the same code (.cfi_*, by readelf --debug-dump=frames-interp).
 */
#include <string.h>

#include "base/array.h"
#include "bpf/unwind_epilogue.h"
#include "unit/test.h"

typedef int next_function(struct unwind_epilogue *epilogue);

static int next_x86(struct unwind_epilogue *epilogue)
{
	return unwind_epilogue_next_x86(epilogue);
}

static int next_arm64(struct unwind_epilogue *epilogue)
{
	return unwind_epilogue_next_arm64(epilogue);
}

/* UNWIND_PACKED_NONE: there is none. */
static uint32_t rule_of(next_function *next, const void *code, size_t bytes)
{
	struct unwind_epilogue epilogue = {0};
	int end = UNWIND_EPILOGUE_ON, turn;

	CHECK(bytes <= UNWIND_CODE_BYTES);
	memcpy(epilogue.code, code, bytes);
	for (turn = 0; turn < UNWIND_CODE_INSTRUCTIONS && end == UNWIND_EPILOGUE_ON; turn++)
		end = next(&epilogue);
	return end == UNWIND_EPILOGUE_RETURNS ? epilogue.packed : UNWIND_PACKED_NONE;
}

#define NONE UNWIND_PACKED_NONE
/* The CFA is sp + bytes; the return address is below it, and the frame pointer at CFA - slot. */
#define TOP(bytes) UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_TOP, (bytes) / 8, 0)
#define TOP_FP(bytes, slot) \
	UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_TOP_FP, (bytes) / 8, (slot) / 8)
#define LR(bytes)   UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_LR, (bytes) / 8, 0)
#define PAIR(bytes) UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_PAIR, (bytes) / 8, (bytes) / 8)

struct instruction {
	const char *code;
	size_t bytes;
	uint32_t rule; /* before it */
};

#define INSN(code_, rule_)                      \
	{                                       \
		code_, sizeof(code_) - 1, rule_ \
	}

/* At each instruction that the code has; and there is no rule where the end is cut off. */
static void check_code(next_function *next, const struct instruction *code, size_t nr)
{
	char bytes[UNWIND_CODE_BYTES];
	size_t end = 0, at = 0, i, cut;

	for (i = 0; i < nr; i++) {
		CHECK(end + code[i].bytes <= sizeof(bytes));
		memcpy(bytes + end, code[i].code, code[i].bytes);
		end += code[i].bytes;
	}
	for (i = 0; i < nr; at += code[i++].bytes) {
		CHECK_EQ(rule_of(next, bytes + at, end - at), code[i].rule);
		for (cut = at; cut < end; cut++)
			CHECK_EQ(rule_of(next, bytes + at, cut - at), NONE);
	}
}

#define CHECK_CODE(next, code) check_code(next, code, ARRAY_SIZE(code))

TEST(unwind_epilogue_of_python_3_12)
{
	static const struct instruction code[] = {
		INSN("\x48\x83\xec\x08", TOP(8)),  /* sub $8, %rsp */
		INSN("\xff\xd1", TOP(16)),	   /* call *%rcx */
		INSN("\x48\x83\xc4\x08", TOP(16)), /* add $8, %rsp */
		INSN("\xc3", TOP(8)),		   /* ret */
	};

	CHECK_CODE(next_x86, code);
	CHECK_EQ(rule_of(next_x86, "\x48\x83\xc4\x08\xc3", 5),
		 UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_TOP, 2, 0));
}

TEST(unwind_epilogue_of_python_3_14)
{
	static const struct instruction code[] = {
		INSN("\xf3\x0f\x1e\xfa", TOP(8)), /* endbr64 */
		INSN("\x55", TOP(8)),		  /* push %rbp */
		INSN("\x48\x89\xe5", TOP_FP(16, 16)),
		INSN("\xff\xd1", TOP_FP(16, 16)), /* call *%rcx */
		INSN("\x5d", TOP_FP(16, 16)),	  /* pop %rbp */
		INSN("\xc3", TOP(8)),
	};

	CHECK_CODE(next_x86, code);
}

TEST(unwind_epilogue_of_python_on_arm64)
{
	static const struct instruction code[] = {
		INSN("\x5f\x24\x03\xd5", LR(0)),    /* bti c */
		INSN("\xfd\x7b\xbf\xa9", LR(0)),    /* stp x29, x30, [sp, #-16]! */
		INSN("\xfd\x03\x00\x91", PAIR(16)), /* mov x29, sp */
		INSN("\x60\x00\x3f\xd6", PAIR(16)), /* blr x3 */
		INSN("\xfd\x7b\xc1\xa8", PAIR(16)), /* ldp x29, x30, [sp], #16 */
		INSN("\xc0\x03\x5f\xd6", LR(0)),    /* ret */
	};

	CHECK_CODE(next_arm64, code);
}

TEST(unwind_epilogue_of_other_shapes)
{
	static const struct instruction pops[] = {
		INSN("\x41\x57", TOP(8)),	   /* push %r15 */
		INSN("\x53", TOP(16)),		   /* push %rbx */
		INSN("\x48\x83\xec\x18", TOP(24)), /* sub $24, %rsp */
		INSN("\x41\xff\xd2", TOP(48)),	   /* call *%r10 */
		INSN("\x48\x83\xc4\x18", TOP(48)), /* add $24, %rsp */
		INSN("\x5b", TOP(24)),		   /* pop %rbx */
		INSN("\x41\x5f", TOP(16)),	   /* pop %r15 */
		INSN("\xf3\xc3", TOP(8)),	   /* rep ret */
	};
	static const struct instruction saves[] = {
		INSN("\x48\x83\xc4\x10", TOP_FP(48, 32)), /* add $16, %rsp */
		INSN("\x5d", TOP_FP(32, 32)),		  /* pop %rbp */
		INSN("\x41\x5c", TOP(24)),		  /* pop %r12: not %rsp */
		INSN("\x41\x5d", TOP(16)),		  /* pop %r13: not %rbp */
		INSN("\xc3", TOP(8)),
	};
	static const struct instruction arm64[] = {
		INSN("\xff\x83\x00\x91", UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_PAIR, 10, 6)),
		INSN("\xfd\x7b\xc3\xa8", PAIR(48)), /* ldp x29, x30, [sp], #48 */
		INSN("\xbf\x23\x03\xd5", LR(0)),    /* autiasp */
		INSN("\xff\x0b\x5f\xd6", LR(0)),    /* retaa */
	};

	CHECK_CODE(next_x86, pops);
	CHECK_CODE(next_x86, saves);
	CHECK_CODE(next_arm64, arm64);
}

#define CHECK_NONE(next, code) CHECK_EQ(rule_of(next, code, sizeof(code) - 1), NONE)

TEST(unwind_epilogue_guesses_nothing)
{
	CHECK_NONE(next_x86, "");
	CHECK_NONE(next_x86, "\x90\xc3");		  /* nop: not one that is known */
	CHECK_NONE(next_x86, "\xeb\x00\xc3");		  /* jmp */
	CHECK_NONE(next_x86, "\x5c\xc3");		  /* pop %rsp */
	CHECK_NONE(next_x86, "\x50\xc3");		  /* push %rax; ret: a jump */
	CHECK_NONE(next_x86, "\x48\x83\xc4\x10\x50\xc3"); /* the same, higher up */
	CHECK_NONE(next_x86, "\x48\x83\xc4\x04\xc3");	  /* odd */
	CHECK_NONE(next_x86, "\x48\x83\xec\x08\xc3");	  /* returns to a local variable */
	CHECK_NONE(next_x86, "\x48\x89\xe5\xc3");	  /* the frame pointer is lost */
	CHECK_NONE(next_x86, "\x48\x83\xec\x08\x5d\xc3"); /* pops what was never pushed */
	CHECK_NONE(next_x86, "\x55\x58\x50\x5d\xc3");	  /* pops another's push */
	CHECK_NONE(next_x86, "\x55\x48\x89\xe5\x5b\xc3"); /* to another register */
	CHECK_NONE(next_x86, "\x48\x83\xc4\x10\xff\xd0\x48\x83\xec\x10\x5d\xc3"); /* overwritten */
	CHECK_NONE(next_arm64, "\x60\x00\x3f\xd6\xc0\x03\x5f\xd6");		  /* blr; ret */
	CHECK_NONE(next_arm64, "\xfd\x03\x00\x91\xc0\x03\x5f\xd6"); /* mov x29, sp; ret */
	CHECK_NONE(next_arm64, "\xff\x43\x00\xd1\xfd\x7b\xc1\xa8\xc0\x03\x5f\xd6");
	CHECK_NONE(next_arm64, "\xfd\x7b\x41\xa9\xc0\x03\x5f\xd6"); /* ldp without the move */
}

/* More code than is looked at. */
TEST(unwind_epilogue_ends)
{
	char code[UNWIND_CODE_BYTES];

	memset(code, 0x58, sizeof(code)); /* pop %rax */
	CHECK_EQ(rule_of(next_x86, code, sizeof(code)), NONE);
	code[UNWIND_CODE_INSTRUCTIONS - 1] = (char)0xc3;
	CHECK_EQ(rule_of(next_x86, code, sizeof(code)), TOP(8 * UNWIND_CODE_INSTRUCTIONS));
}
