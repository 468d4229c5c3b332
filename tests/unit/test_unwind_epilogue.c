/*
 * bpf/unwind_epilogue.h: the rule for JIT-compiled code from its next instructions, at each
 * instruction; and no rule if an instruction is unknown or truncated. The expected rules are those
 * of the assembler's .cfi_* directives for the same code, as shown by readelf
 * --debug-dump=frames-interp.
 */
#include <string.h>
#include <sys/mman.h>

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

/* Returns UNWIND_PACKED_NONE if there is no rule. */
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
/* The CFA is sp + bytes, the return address below it, the saved frame pointer at CFA - slot. */
#define TOP(bytes) UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_TOP, (bytes) / 8, 0)
#define TOP_FP(bytes, slot) \
	UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_TOP_FP, (bytes) / 8, (slot) / 8)
#define LR(bytes)   UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_LR, (bytes) / 8, 0)
#define PAIR(bytes) UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_PAIR, (bytes) / 8, (bytes) / 8)

struct instruction {
	const char *code;
	size_t bytes;
	uint32_t rule; /* before the instruction */
};

#define INSN(code_, rule_)                      \
	{                                       \
		code_, sizeof(code_) - 1, rule_ \
	}

/* Checks the rule at each instruction, and that truncated code has none. */
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
	CHECK_NONE(next_x86, "\x90\xc3");		  /* unknown instruction */
	CHECK_NONE(next_x86, "\xeb\x00\xc3");		  /* jmp */
	CHECK_NONE(next_x86, "\x5c\xc3");		  /* pop %rsp */
	CHECK_NONE(next_x86, "\x50\xc3");		  /* push %rax; ret: a jump */
	CHECK_NONE(next_x86, "\x48\x83\xc4\x10\x50\xc3"); /* the same after an add */
	CHECK_NONE(next_x86, "\x48\x83\xc4\x04\xc3");	  /* misaligned */
	CHECK_NONE(next_x86, "\x48\x83\xec\x08\xc3");	  /* returns to a local variable */
	CHECK_NONE(next_x86, "\x48\x89\xe5\xc3");	  /* the frame pointer is lost */
	CHECK_NONE(next_x86, "\x48\x83\xec\x08\x5d\xc3"); /* pops an unknown word */
	CHECK_NONE(next_x86, "\x55\x58\x50\x5d\xc3");	  /* pops another register's push */
	CHECK_NONE(next_x86, "\x55\x48\x89\xe5\x5b\xc3"); /* into another register */
	CHECK_NONE(next_x86, "\x48\x83\xc4\x10\xff\xd0\x48\x83\xec\x10\x5d\xc3"); /* overwritten */
	CHECK_NONE(next_arm64, "\x60\x00\x3f\xd6\xc0\x03\x5f\xd6");		  /* blr; ret */
	CHECK_NONE(next_arm64, "\xfd\x03\x00\x91\xc0\x03\x5f\xd6"); /* mov x29, sp; ret */
	CHECK_NONE(next_arm64, "\xff\x43\x00\xd1\xfd\x7b\xc1\xa8\xc0\x03\x5f\xd6");
	CHECK_NONE(next_arm64, "\xfd\x7b\x41\xa9\xc0\x03\x5f\xd6"); /* ldp without the move */
}

/* Code longer than the limit. */
TEST(unwind_epilogue_ends)
{
	char code[UNWIND_CODE_BYTES];

	memset(code, 0x58, sizeof(code)); /* pop %rax */
	CHECK_EQ(rule_of(next_x86, code, sizeof(code)), NONE);
	code[UNWIND_CODE_INSTRUCTIONS - 1] = (char)0xc3;
	CHECK_EQ(rule_of(next_x86, code, sizeof(code)), TOP(8 * UNWIND_CODE_INSTRUCTIONS));
}

#if defined(__x86_64__)
/* --- compared with execution ------------------------------------------------------------------ */

/*
 * run_on_stack(code, sp, fp, returns): runs the code with these registers. The code returns to some
 * place in `landing`, where the stack pointer and the frame pointer are stored. `returns` is a
 * function that the code may call through %rdx.
 */
#define LANDING_BYTES 1024

__asm__(".text\n"
	"run_on_stack:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	"
	"push %r15\n"
	"	mov %rsp, own_sp(%rip)\n"
	"	mov %rsi, %rsp\n"
	"	mov %rdx, %rbp\n"
	"	mov %rcx, %rdx\n"
	"	jmp *%rdi\n"
	"landing:\n"
	"	.skip 1024, 0x90\n"
	"	mov %rsp, landed_sp(%rip)\n"
	"	mov %rbp, landed_fp(%rip)\n"
	"	mov own_sp(%rip), %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	"
	"pop %rbp\n"
	"returns:\n"
	"	ret\n"
	".local own_sp, landed_sp, landed_fp\n"
	".comm own_sp, 8\n"
	".comm landed_sp, 8\n"
	".comm landed_fp, 8\n");

extern const char landing[], returns[];
extern uint64_t landed_sp, landed_fp;
void run_on_stack(const void *code, uint64_t *sp, uint64_t fp, const char *call);

#define STACK_WORDS 256
#define FIRST_WORD  128

/* Each word of the stack is a different address in `landing`. */
static uint64_t word_of(size_t i)
{
	return (uint64_t)(uintptr_t)landing + i;
}

/* Runs the code and checks that the rule agrees; returns false if there is no rule. */
static bool check_run(void *place, const char *code, size_t bytes)
{
	static uint64_t stack[STACK_WORDS];
	uint32_t rule = rule_of(next_x86, code, bytes);
	uint64_t cfa, fp = 0x123456789;
	size_t i;

	if (rule == NONE)
		return false;
	for (i = 0; i < STACK_WORDS; i++)
		stack[i] = word_of(i);
	memcpy(place, code, bytes);
	run_on_stack(place, stack + FIRST_WORD, fp, returns);
	CHECK_EQ(UNWIND_PACKED_BASE(rule), UNWIND_BASE_SP);
	cfa = FIRST_WORD + UNWIND_PACKED_OFFSET(rule) / 8;
	CHECK_EQ(landed_sp, (uint64_t)(uintptr_t)(stack + cfa));
	CHECK_EQ(stack[cfa - 1], word_of(cfa - 1)); /* the return address was there before */
	if (UNWIND_PACKED_SAVED(rule) == UNWIND_SAVED_TOP_FP)
		fp = word_of(cfa - UNWIND_PACKED_SLOT(rule) / 8);
	else
		CHECK_EQ(UNWIND_PACKED_SAVED(rule), UNWIND_SAVED_TOP);
	CHECK_EQ(landed_fp, fp);
	return true;
}

TEST(unwind_epilogue_is_what_the_processor_does)
{
	static const char *const parts[] = {
		"\x50",
		"\x53",
		"\x55",
		"\x55",
		"\x41\x55",
		"\x58",
		"\x5b",
		"\x5d",
		"\x5d",
		"\x41\x5d",
		"\xff\xd2",
		"\x48\x89\xe5",
		"\x48\x83\xc4\x08",
		"\x48\x83\xc4\x10",
		"\x48\x83\xec\x08",
		"\x48\x83\xec\x18",
		"\x48\x83\xc4\xf8",
		"\xf3\x0f\x1e\xfa",
	};
	void *place = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t nr_rules = 0, nr_saved = 0, turn;
	uint32_t random = 1;

	if (place == MAP_FAILED)
		SKIP("needs memory that is writable and executable");
	for (turn = 0; turn < 200000; turn++) {
		char code[UNWIND_CODE_BYTES];
		size_t bytes = 0, left = turn % 7;

		for (; left; left--) {
			const char *part;

			random = random * 1664525 + 1013904223;
			part = parts[(random >> 16) % ARRAY_SIZE(parts)];
			memcpy(code + bytes, part, strlen(part));
			bytes += strlen(part);
		}
		code[bytes++] = (char)0xc3;
		if (!check_run(place, code, bytes))
			continue;
		nr_rules++;
		nr_saved +=
			UNWIND_PACKED_SAVED(rule_of(next_x86, code, bytes)) == UNWIND_SAVED_TOP_FP;
	}
	CHECK(nr_rules > 10000);
	CHECK(nr_saved > 1000);
	CHECK_EQ(munmap(place, 4096), 0);
}
#endif
