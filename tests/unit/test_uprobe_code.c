/* elf/image/uprobe_code: instructions that begin functions. */
#include "elf/image/uprobe_code.h"

#include <elf.h>

#include "base/array.h"
#include "unit/test.h"

struct instruction {
	const char *text;
	uint8_t code[UPROBE_CODE_BYTES];
	bool is_stepped; /* or mistaken */
};

static void check_all(uint16_t machine, const struct instruction *all, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (uprobe_code_is_stepped(machine, all[i].code, UPROBE_CODE_BYTES) !=
		    all[i].is_stepped)
			CHECK_STR(all[i].text, all[i].is_stepped ? "stepped" : "not stepped");
}

/* As measured on Linux 6.18: those that are not stepped cost less than a tenth there. */
TEST(x86)
{
	static const struct instruction all[] = {
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
	static const struct instruction all[] = {
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

/* As measured on Linux 6.18: what is mistaken costs as little as a branch, and has no effect. */
TEST(vector_instructions_that_are_mistaken)
{
	static const struct instruction all[] = {
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
