/*
 * elf/image/instructions: one of each form (tests/replay/instructions.sh has millions), and
 * instructions that begin functions, under a uprobe.
 */
#include "elf/image/instructions.h"

#include <elf.h>
#include <string.h>

#include "base/array.h"
#include "unit/test.h"
#include "unit/tiny_elf.h"

/* The expected length is the string's length. */
struct instruction {
	const char *bytes;
	size_t nr;
};

#define IS(bytes)                        \
	{                                \
		bytes, sizeof(bytes) - 1 \
	}

static const struct instruction instructions[] = {
	IS("\x90"),					/* nop */
	IS("\xc3"),					/* ret */
	IS("\xf3\xc3"),					/* repz ret */
	IS("\xf3\x0f\x1e\xfa"),				/* endbr64 */
	IS("\x55"),					/* push %rbp */
	IS("\x41\x57"),					/* push %r15 */
	IS("\x48\x89\xe5"),				/* mov %rsp,%rbp */
	IS("\x48\x83\xec\x10"),				/* sub $0x10,%rsp */
	IS("\x48\x81\xec\x00\x10\x00\x00"),		/* sub $0x1000,%rsp */
	IS("\x66\x81\xf9\x34\x12"),			/* cmp $0x1234,%cx */
	IS("\x66\x48\x81\xf9\x34\x12\x00\x00"),		/* 66 cmp $0x1234,%rcx */
	IS("\x8b\x04\x24"),				/* mov (%rsp),%eax */
	IS("\x8b\x45\xfc"),				/* mov -4(%rbp),%eax */
	IS("\x8b\x85\x00\xff\xff\xff"),			/* mov -0x100(%rbp),%eax */
	IS("\x8b\x05\x00\x00\x00\x00"),			/* mov 0(%rip),%eax */
	IS("\x8b\x04\x25\x00\x00\x00\x00"),		/* mov 0x0,%eax */
	IS("\x8b\x44\x24\x08"),				/* mov 8(%rsp),%eax */
	IS("\x8b\x84\x24\x00\x01\x00\x00"),		/* mov 0x100(%rsp),%eax */
	IS("\x8b\x04\x8d\x00\x00\x00\x00"),		/* mov 0(,%rcx,4),%eax */
	IS("\x67\x8b\x00"),				/* mov (%eax),%eax */
	IS("\xb8\x01\x00\x00\x00"),			/* mov $1,%eax */
	IS("\x66\xb8\x01\x00"),				/* mov $1,%ax */
	IS("\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"), /* movabs $…,%rax */
	IS("\x48\xa1\x01\x02\x03\x04\x05\x06\x07\x08"), /* movabs …,%rax */
	IS("\x67\xa1\x01\x02\x03\x04"),			/* addr32 mov …,%eax */
	IS("\xc8\x10\x00\x00"),				/* enter $0x10,$0 */
	IS("\xc2\x08\x00"),				/* ret $8 */
	IS("\xe8\x00\x00\x00\x00"),			/* call */
	IS("\x66\x66\x48\xe8\x00\x00\x00\x00"),		/* data16 data16 rex.W call */
	IS("\xe9\x00\x00\x00\x00"),			/* jmp */
	IS("\xeb\x00"),					/* jmp */
	IS("\x0f\x84\x00\x00\x00\x00"),			/* je */
	IS("\xf2\xff\x25\x00\x00\x00\x00"),		/* bnd jmp *0(%rip) */
	IS("\x3e\xff\xe0"),				/* notrack jmp *%rax */
	IS("\x68\x00\x00\x00\x00"),			/* push $0 */
	IS("\x6a\x00"),					/* push $0 */
	IS("\x69\xc0\x01\x00\x00\x00"),			/* imul $1,%eax,%eax */
	IS("\xf6\x07\x01"),				/* testb $1,(%rdi) */
	IS("\xf6\x1f"),					/* negb (%rdi) */
	IS("\xf7\xc7\x00\x00\x00\x01"),			/* test $0x1000000,%edi */
	IS("\x66\xf7\x07\x00\x01"),			/* testw $0x100,(%rdi) */
	IS("\xf7\xd8"),					/* neg %eax */
	IS("\x64\x48\x8b\x04\x25\x28\x00\x00\x00"),	/* mov %fs:0x28,%rax */
	IS("\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"), /* cs nopw 0(%rax,%rax,1) */
	IS("\xf0\x48\x0f\xb1\x17"),			/* lock cmpxchg %rdx,(%rdi) */
	IS("\x0f\x05"),					/* syscall */
	IS("\x0f\xa2"),					/* cpuid */
	IS("\x0f\x20\xc0"),				/* mov %cr0,%rax */
	IS("\x0f\x20\x04"),				/* the same: ModRM is never memory */
	IS("\x0f\xba\xe0\x07"),				/* bt $7,%eax */
	IS("\x66\x0f\x70\xc0\x1b"),			/* pshufd $0x1b,%xmm0,%xmm0 */
	IS("\x66\x0f\x38\x00\xc1"),			/* pshufb %xmm1,%xmm0 */
	IS("\x66\x0f\x3a\x0f\xc1\x08"),			/* palignr $8,%xmm1,%xmm0 */
	IS("\x0f\x0f\xc1\x9e"),				/* pfadd %mm1,%mm0 */
	IS("\xdd\x05\x00\x00\x00\x00"),			/* fldl 0(%rip) */
	IS("\x9b"),					/* fwait */
	IS("\xc7\xf8\x00\x00\x00\x00"),			/* xbegin */
	IS("\xc5\xf8\x77"),				/* vzeroupper */
	IS("\xc5\xfe\x6f\x07"),				/* vmovdqu (%rdi),%ymm0 */
	IS("\xc5\xf9\x73\xd8\x08"),			/* vpsrldq $8,%xmm0,%xmm0 */
	IS("\xc4\xe2\x7d\x58\x05\x00\x00\x00\x00"),	/* vpbroadcastd 0(%rip),%ymm0 */
	IS("\xc4\xe3\x7d\x39\xc1\x01"),			/* vextracti128 $1,%ymm0,%xmm1 */
	IS("\xc4\xe2\x78\xf2\xc1"),			/* andn %ecx,%eax,%eax */
	IS("\x64\xc5\xfe\x6f\x07"),			/* vmovdqu %fs:(%rdi),%ymm0 */
	IS("\x62\xf1\xfe\x48\x6f\x47\x01"),		/* vmovdqu64 0x40(%rdi),%zmm0 */
	IS("\x62\xf3\x75\x48\x25\xc2\xff"),		/* vpternlogd $-1,%zmm2,%zmm1,%zmm0 */
	IS("\x62\xf1\x75\x48\x72\xd0\x07"),		/* vpsrld $7,%zmm0,%zmm1 */
	IS("\x62\xf5\x74\x48\x58\xc2"),			/* vaddph %zmm2,%zmm1,%zmm0 */
	IS("\x62\xf6\x75\x48\x98\xc2"),			/* vfmadd132ph %zmm2,%zmm1,%zmm0 */
	IS("\x8f\xe8\x78\xc2\xec\x0e"),			/* vprotd $0xe,%xmm4,%xmm5 */
	IS("\x8f\xe9\x78\x9b\xc1"),			/* vpshaq … */
	IS("\x8f\xea\x78\x10\xc1\x00\x00\x00\x00"),	/* bextr $0,%ecx,%eax */
	IS("\x8f\x45\x08"),				/* pop 8(%rbp) */
	IS("\x66\x66\x66\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"),	    /* nopw, padded */
	IS("\x2e\x2e\x2e\x2e\x2e\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"), /* 15 bytes */
};

static const struct instruction none[] = {
	IS("\x06"),				    /* push %es */
	IS("\x60"),				    /* pusha */
	IS("\x9a\x00\x00\x00\x00\x00\x00\x00\x00"), /* lcall */
	IS("\xd5\x00\x00\x00\x00\x00"),		    /* REX2 */
	IS("\x0f\x04\x00\x00\x00\x00"),		    /* undefined */
	IS("\x66\xc5\xfe\x6f\x07"),		    /* prefixes before VEX */
	IS("\x48\xc5\xfe\x6f\x07"),		    /* REX before VEX */
	IS("\xf0\x62\xf1\xfe\x48\x6f\x47\x01"),	    /* lock before EVEX */
	IS("\xc4\xe7\x7d\x39\xc1\x01"),		    /* map 7 */
	IS("\x66\x0f\x78\xc0\x01\x02"),		    /* extrq */
	IS("\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66"), /* only prefixes */
	IS("\x2e\x2e\x2e\x2e\x2e\x2e\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"), /* 16 bytes */
};

static size_t length_of(const void *bytes, size_t nr)
{
	return instruction_length(EM_X86_64, test_guarded(bytes, nr), nr);
}

TEST(instruction_length_of_each_shape)
{
	size_t i, shorter;

	for (i = 0; i < ARRAY_SIZE(instructions); i++) {
		const struct instruction *instruction = &instructions[i];
		char longer[32] = "";

		memcpy(longer, instruction->bytes, instruction->nr);
		CHECK_EQ(length_of(longer, sizeof(longer)), instruction->nr);
		CHECK_EQ(length_of(instruction->bytes, instruction->nr), instruction->nr);
		for (shorter = 0; shorter < instruction->nr; shorter++)
			CHECK_EQ(length_of(instruction->bytes, shorter), 0);
	}
}

TEST(instruction_length_of_none)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(none); i++)
		CHECK_EQ(length_of(none[i].bytes, none[i].nr), 0);
}

/* REX only applies directly before the opcode. */
TEST(instruction_length_of_a_rex_that_does_not_count)
{
	CHECK_EQ(length_of("\x48\x66\xb8\x01\x00\x00\x00", 7), 5);
	CHECK_EQ(length_of("\x48\x41\xb8\x01\x00\x00\x00\x00", 8), 7);
}

TEST(instruction_length_of_any_bytes)
{
	uint8_t bytes[INSTRUCTION_MAX_BYTES + 1];
	uint64_t state = 4;
	size_t round, nr, i;

	for (round = 0; round < 2000; round++) { /* a guard page each */
		nr = tiny_random(&state) % sizeof(bytes);
		for (i = 0; i < nr; i++)
			bytes[i] = (uint8_t)tiny_random(&state);
		CHECK(length_of(bytes, nr) <= nr);
	}
}

TEST(instruction_length_of_other_machines)
{
	const uint8_t nop[] = {0x1f, 0x20, 0x03, 0xd5};

	CHECK_EQ(instruction_length(EM_AARCH64, nop, 4), 4);
	CHECK_EQ(instruction_length(EM_AARCH64, nop, 3), 0);
	CHECK_EQ(instruction_length(EM_RISCV, nop, 4), 0);
}

struct probed_instruction {
	const char *text;
	uint8_t code[UPROBE_CODE_BYTES];
	bool is_stepped; /* single-stepped, or misjudged by the kernel */
};

static void check_all(uint16_t machine, const struct probed_instruction *all, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (uprobe_code_is_stepped(machine, all[i].code, UPROBE_CODE_BYTES) !=
		    all[i].is_stepped)
			CHECK_STR(all[i].text, all[i].is_stepped ? "stepped" : "not stepped");
}

/*
 * Measured on Linux 6.18: a probe on an instruction that is not single-stepped costs less than a
 * tenth of others.
 */
TEST(x86)
{
	static const struct probed_instruction all[] = {
		{"push %rbp", {0x55}, false},
		{"push %r15", {0x41, 0x57}, false},
		{"nop", {0x90}, false},
		{"nopl 0(%rax,%rax,1)", {0x0f, 0x1f, 0x44, 0x00, 0x00}, false},
		{"jmp, near", {0xe9, 1, 2, 3, 4}, false},
		{"jmp, short", {0xeb, 1}, false},
		{"call", {0xe8, 1, 2, 3, 4}, false},
		{"je, short", {0x74, 1}, false},
		{"je, near", {0x0f, 0x84, 1, 2, 3, 4}, false},
		{"pop %rbp", {0x5d}, true},
		{"pop %r15", {0x41, 0x5f}, true},
		{"endbr64", {0xf3, 0x0f, 0x1e, 0xfa}, true},
		{"sub $8,%rsp", {0x48, 0x83, 0xec, 0x08}, true},
		{"xor %eax,%eax", {0x31, 0xc0}, true},
		{"mov %rdi,%rax", {0x48, 0x89, 0xf8}, true},
		{"cmpb $0,0(%rip)", {0x80, 0x3d, 0, 0, 0, 0, 0}, true},
		{"mov %r8,%rax", {0x4c, 0x89, 0xc0}, true},
		{"movaps", {0x0f, 0x28, 0xc1}, true},
	};

	check_all(EM_X86_64, all, ARRAY_SIZE(all));
}

TEST(arm64)
{
	static const struct probed_instruction all[] = {
		{"nop", {0x1f, 0x20, 0x03, 0xd5}, false},
		{"b", {0x01, 0x00, 0x00, 0x14}, false},
		{"bl", {0x01, 0x00, 0x00, 0x94}, false},
		{"b.eq", {0x20, 0x00, 0x00, 0x54}, false},
		{"cbz x0", {0x20, 0x00, 0x00, 0xb4}, false},
		{"tbnz w0, #3", {0x20, 0x00, 0x18, 0x37}, false},
		{"ret", {0xc0, 0x03, 0x5f, 0xd6}, false},
		{"br x16", {0x00, 0x02, 0x1f, 0xd6}, false},
		{"adrp x0", {0x00, 0x00, 0x00, 0x90}, false},
		{"ldr x0, nearby", {0x40, 0x00, 0x00, 0x58}, false},
		{"stp x29, x30, [sp, #-16]!", {0xfd, 0x7b, 0xbf, 0xa9}, true},
		{"paciasp", {0x3f, 0x23, 0x03, 0xd5}, true},
		{"bti c", {0x5f, 0x24, 0x03, 0xd5}, true},
		{"sub sp, sp, #16", {0xff, 0x43, 0x00, 0xd1}, true},
		{"mov x0, #0", {0x00, 0x00, 0x80, 0xd2}, true},
		{"ldr x0, [x0]", {0x00, 0x00, 0x40, 0xf9}, true},
		{"ret, with authentication", {0xff, 0x0b, 0x5f, 0xd6}, true},
	};

	check_all(EM_AARCH64, all, ARRAY_SIZE(all));
}

/* Measured on Linux 6.18: misjudged instructions are as cheap as a branch, and are skipped. */
TEST(vector_instructions_that_are_mistaken)
{
	static const struct probed_instruction all[] = {
		{"vzeroupper", {0xc5, 0xf8, 0x77}, true},
		{"vpor", {0xc5, 0xf9, 0xeb, 0xc0}, true},
		{"vpsubsb", {0xc5, 0xf9, 0xe8, 0xc0}, true},
		{"vpcmpeqb", {0xc5, 0xf9, 0x74, 0xc0}, true},
		{"kmovw", {0xc5, 0xf8, 0x90, 0xc1}, true},
		{"vmovq", {0xc4, 0xe1, 0xf9, 0x7e, 0xc0}, true},
		{"vpbroadcastb %esi,%ymm17", {0x62, 0xe2, 0x7d, 0x28, 0x7a, 0xce}, true},
		{"vfnmadd132sd", {0xc4, 0xe2, 0xf1, 0x9d, 0xc1}, true}, /* kills the program */
		{"vpbroadcastb %edi,%ymm16", {0x62, 0xe2, 0x7d, 0x28, 0x7a, 0xc7}, true},
		{"vmovdqa %gs:(%rax)", {0x65, 0xc5, 0xf9, 0x7f, 0x00}, true},
		{"vxorps", {0xc5, 0xf8, 0x57, 0xc0}, false},
		{"vpaddb", {0xc5, 0xf9, 0xfc, 0xc0}, false},
		{"por", {0x66, 0x0f, 0xeb, 0xc0}, false},
		{"je, short", {0x74, 0xc5}, false},
	};
	size_t i, nr;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		if (uprobe_code_breaks(EM_X86_64, all[i].code, UPROBE_CODE_BYTES) !=
		    all[i].is_stepped)
			CHECK_STR(all[i].text, all[i].is_stepped ? "mistaken" : "not mistaken");
		CHECK(!uprobe_code_breaks(EM_AARCH64, all[i].code, UPROBE_CODE_BYTES));
	}
	for (nr = 0; nr < 3; nr++)
		CHECK(!uprobe_code_breaks(EM_X86_64, test_guarded("\xc5\xf8\x77", nr), nr));
}

TEST(instructions_that_take_no_probe)
{
	static const uint8_t lock[] = {0xf0, 0x48, 0x29, 0x57, 0x10}; /* lock sub %rdx,0x10(%rdi) */
	static const uint8_t vmovd[] = {0xc5, 0xf9, 0x6e, 0xce};      /* vmovd %esi,%xmm1 */
	static const uint8_t vpxor[] = {0xc5, 0xf9, 0xef, 0xc0};
	static const uint8_t literals[][4] = {
		{0x41, 0x00, 0x00, 0x58}, /* ldr x1, 8 */
		{0x41, 0x00, 0x00, 0x18}, /* ldr w1, 8 */
		{0x41, 0x00, 0x00, 0x98}, /* ldrsw x1, 8 */
	};
	static const uint8_t adr[] = {0x41, 0x00, 0x00, 0x10}, ldr[] = {0x21, 0x00, 0x40, 0xf9};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(literals); i++) {
		CHECK(uprobe_code_is_refused(EM_AARCH64, literals[i], 4));
		CHECK(!uprobe_code_is_refused(EM_AARCH64, test_guarded(literals[i], 3), 3));
		CHECK(!uprobe_code_is_stepped(EM_AARCH64, literals[i], 4));
	}
	CHECK(!uprobe_code_is_refused(EM_AARCH64, adr, 4));
	CHECK(!uprobe_code_is_refused(EM_AARCH64, ldr, 4));
	CHECK(uprobe_code_is_refused(EM_X86_64, lock, sizeof(lock)));
	CHECK(!uprobe_code_is_refused(EM_X86_64, lock + 1, sizeof(lock) - 1));
	CHECK(!uprobe_code_is_refused(EM_X86_64, lock, 0));
	CHECK(uprobe_code_is_refused(EM_X86_64, vmovd, sizeof(vmovd)));
	CHECK(uprobe_code_is_refused(EM_X86_64, vpxor, sizeof(vpxor)));
	CHECK(!uprobe_code_is_refused(EM_X86_64, test_guarded(vmovd, 2), 2));
	CHECK(!uprobe_code_is_refused(EM_AARCH64, lock, sizeof(lock)));
}

TEST(a_nop_that_becomes_a_call)
{
	static const uint8_t nopl[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	static const uint8_t nopw[] = {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00};

	CHECK(uprobe_code_becomes_call(EM_X86_64, nopl, sizeof(nopl)));
	CHECK(!uprobe_code_becomes_call(EM_X86_64, test_guarded(nopl, 4), 4));
	CHECK(!uprobe_code_becomes_call(EM_X86_64, nopw, sizeof(nopw)));
	CHECK(!uprobe_code_becomes_call(EM_X86_64, (const uint8_t *)"\x90", 1));
	CHECK(!uprobe_code_becomes_call(EM_AARCH64, nopl, sizeof(nopl)));
}

TEST(code_that_may_be_rejected)
{
	CHECK(uprobe_code_is_doubtful(EM_X86_64, (const uint8_t *)"\xc5\xf8\x77",
				      3));					/* vzeroupper */
	CHECK(!uprobe_code_is_doubtful(EM_X86_64, (const uint8_t *)"\x55", 1)); /* push */
	CHECK(!uprobe_code_is_doubtful(EM_X86_64, (const uint8_t *)"", 0));
	CHECK(!uprobe_code_is_doubtful(EM_AARCH64, (const uint8_t *)"\xf4\x4f\xbe\xa9", 4));
}

TEST(code_that_is_cut_off)
{
	static const uint8_t nopl[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	size_t nr;

	for (nr = 0; nr < sizeof(nopl); nr++)
		CHECK(uprobe_code_is_stepped(EM_X86_64, test_guarded(nopl, nr), nr));
	CHECK(!uprobe_code_is_stepped(EM_X86_64, test_guarded(nopl, sizeof(nopl)), sizeof(nopl)));
	CHECK(uprobe_code_is_stepped(EM_X86_64, test_guarded("\x41", 1), 1));
	CHECK(uprobe_code_is_stepped(EM_AARCH64, test_guarded("\x1f\x20\x03", 3), 3));
	CHECK(uprobe_code_is_stepped(EM_ARM, test_guarded("\x90", 1), 1));
}
