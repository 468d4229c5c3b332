/* elf/unwind/code_frames: made-up functions with known frames, and libm compared with its CFI. */
#include "elf/unwind/code_frames.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/unwind/unwind_rows.h"
#include "unit/made_elf.h"
#include "unit/test.h"
#include "unit/tiny_elf.h"
#include "unit/unwind_reading.h"

#define TEXT 0x401000

struct code {
	const char *bytes;
	size_t nr;
	uint64_t functions[3]; /* symbol offsets; the first one is always valid */
};

#define CODE(text, ...)                 \
	{                               \
		text, sizeof(text) - 1, \
		{                       \
			__VA_ARGS__     \
		}                       \
	}

static size_t build(uint8_t *bytes, const struct code *code)
{
	Elf64_Sym symbols[ARRAY_SIZE(code->functions) + 1] = {{0}};
	size_t i, nr = 1;

	for (i = 0; i < ARRAY_SIZE(code->functions); i++)
		if (!i || code->functions[i])
			symbols[nr++] = (Elf64_Sym){.st_name = 1,
						    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
						    .st_shndx = 1,
						    .st_value = TEXT + code->functions[i]};
	{
		const struct made_section sections[] = {
			{".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, code->bytes,
			 code->nr, 0, 0},
			{".symtab", SHT_SYMTAB, 0, 0, symbols, nr * sizeof(symbols[0]), 3,
			 sizeof(symbols[0])},
			{".strtab", SHT_STRTAB, 0, 0, "\0f", 3, 0, 0},
		};

		return made_elf_build(bytes, EM_X86_64, sections, ARRAY_SIZE(sections));
	}
}

static void show(char *to, uint64_t address, const struct unwind_rule *rule)
{
	to += sprintf(to, "%llx ", (unsigned long long)(address - TEXT));
	if (rule->cfa != UNWIND_CFA_REGISTER)
		sprintf(to, "%s; ", rule->cfa == UNWIND_CFA_END ? "end" : "none");
	else if (rule->fp.where == UNWIND_AT_CFA)
		sprintf(to, "%s+%d c%d; ", rule->reg == 7 ? "sp" : "fp", rule->offset,
			rule->fp.offset);
	else
		sprintf(to, "%s+%d %s; ", rule->reg == 7 ? "sp" : "fp", rule->offset,
			rule->fp.where == UNWIND_LOST ? "lost" : "u");
}

static const char *frames_of(const struct code *code)
{
	static char text[4000];
	uint8_t bytes[MADE_ROOM];
	struct code_frames frames = {0};
	const struct code_spans none = {0};
	struct elf_image image;
	size_t i;

	CHECK_EQ(elf_image_open_memory(&image, bytes, build(bytes, code), NULL), 0);
	CHECK_EQ(code_frames_read(&frames, &image, NULL, &none), 0);
	text[0] = '\0';
	for (i = 0; i < frames.nr; i++)
		show(text + strlen(text), frames.frames[i].address, &frames.frames[i].rule);
	code_frames_clear(&frames);
	elf_image_close(&image);
	return text;
}

#define NOPS_16 "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"

static const struct {
	const char *name, *frames;
	struct code code;
} cases[] = {
	/* mov %rdi,%rax; rep movsb; ret */
	{"a leaf", "0 sp+8 u; 6 none; ", CODE("\x48\x89\xf8\xf3\xa4\xc3" NOPS_16)},
	/* push %rbx; sub $0x20,%rsp; nop; add $0x20,%rsp; pop %rbx; ret */
	{"registers that were pushed",
	 "0 sp+8 u; 1 sp+16 u; 5 sp+48 u; a sp+16 u; b sp+8 u; c none; ",
	 CODE("\x53\x48\x83\xec\x20\x90\x48\x83\xc4\x20\x5b\xc3" NOPS_16)},
	/* push %rbp; mov %rsp,%rbp; sub %rax,%rsp; leave; ret */
	{"a frame pointer and room by a register",
	 "0 sp+8 u; 1 sp+16 c-16; 4 fp+16 c-16; 8 sp+8 u; 9 none; ",
	 CODE("\x55\x48\x89\xe5\x48\x29\xc4\xc9\xc3" NOPS_16)},
	/* push %rbp; xor %ebp,%ebp; pop %rbp; ret */
	{"a number where the frame pointer was", "0 sp+8 u; 1 sp+16 c-16; 4 sp+8 u; 5 none; ",
	 CODE("\x55\x31\xed\x5d\xc3" NOPS_16)},
	/* xor %ebp,%ebp; ret: it is not restored */
	{"a lost frame pointer", "0 sp+8 u; 2 sp+8 lost; 3 none; ", CODE("\x31\xed\xc3" NOPS_16)},
	/* xor %ebp,%ebp; and $-16,%rsp; call *%rax; hlt */
	{"where a program begins", "0 sp+8 u; 2 sp+8 lost; 6 end; 9 none; ",
	 CODE("\x31\xed\x48\x83\xe4\xf0\xff\xd0\xf4" NOPS_16)},
	/* push %rax; jmp *table(,%rdi,8); add $8,%rsp; ret: a switch case, known by its end */
	{"a case of a switch", "0 sp+8 u; 1 sp+16 u; c sp+8 u; d none; ",
	 CODE("\x50\xff\x24\xfd\0\0\0\0\x48\x83\xc4\x08\xc3" NOPS_16)},
	/* push %rax; js to 5; pop %rax; ret: two paths reach the same `nop`, with depth 16 and 8 */
	{"two ways with two depths", "0 sp+8 u; 3 sp+16 u; 4 none; ",
	 CODE("\x78\x02\x50\x90\x90\x90\xeb\xfe" NOPS_16)},
	/* pop %rdx; syscall; push %rdx; ret: a return address in a register */
	{"a popped return address", "0 sp+8 u; 1 none; ", CODE("\x5a\x0f\x05\x52\xc3" NOPS_16)},
	/* mov 8(%rdi),%rsp; ret */
	{"a stack pointer from elsewhere", "0 sp+8 u; 4 none; ",
	 CODE("\x48\x8b\x67\x08\xc3" NOPS_16)},
	/* sub $24,%rsp; call a function that never returns; push %rbx; pop %rbx; ret */
	{"a call that does not return",
	 "0 sp+8 u; 4 sp+32 u; 9 sp+8 u; a sp+16 u; b sp+8 u; c none; 10 sp+8 u; 12 none; ",
	 CODE("\x48\x83\xec\x18\xe8\x07\0\0\0\x53\x5b\xc3\x90\x90\x90\x90\xeb\xfe" NOPS_16)},
	/* sub $8,%rsp; call; add $8,%rsp; ret */
	{"a call that returns", "0 sp+8 u; 4 sp+16 u; d sp+8 u; e none; 10 sp+8 u; 11 none; ",
	 CODE("\x48\x83\xec\x08\xe8\x07\0\0\0\x48\x83\xc4\x08\xc3\x90\x90\xc3" NOPS_16)},
	/* push %rbp; mov %rsp,%rbp; push %rax; call; mov %rbp,%rsp; pop %rbp; ret: the callee may leave arguments */
	{"a call in a frame",
	 "0 sp+8 u; 1 sp+16 c-16; 4 fp+16 c-16; d sp+16 c-16; e sp+8 u; f none; 10 sp+8 u; 11 "
	 "none; ",
	 CODE("\x55\x48\x89\xe5\x50\xe8\x06\0\0\0\x48\x89\xec\x5d\xc3\x90\xc3" NOPS_16)},
	/* ret; data that overlaps the next function */
	{"data before a function", "0 sp+8 u; 1 none; 3 sp+8 u; 4 none; ",
	 CODE("\xc3\x48\xb8\xc3" NOPS_16, 0, 3)},
};

TEST(code_frames_by_what_code_does)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		printf("%s\n", cases[i].name);
		CHECK_STR(frames_of(&cases[i].code), cases[i].frames);
	}
}

static void read_frames(const uint8_t *bytes, size_t nr)
{
	struct code_frames frames = {0};
	const struct code_spans none = {0};
	struct elf_image image;

	if (elf_image_open_memory(&image, bytes, nr, NULL) < 0)
		return;
	(void)code_frames_read(&frames, &image, NULL, &none);
	code_frames_clear(&frames);
	elf_image_close(&image);
}

TEST(code_frames_of_any_bytes)
{
	char text[600];
	struct code code = {text, sizeof(text), {0, 100, 301}};
	uint8_t bytes[MADE_ROOM];
	uint64_t state = 5;
	size_t i, round;

	for (round = 0; round < 3000; round++) {
		const struct code *pattern = &cases[round % ARRAY_SIZE(cases)].code;

		for (i = 0; i < sizeof(text); i++)
			text[i] = pattern->bytes[i % pattern->nr];
		for (i = 0; i < round % 50; i++)
			tiny_damage((uint8_t *)text, sizeof(text), &state);
		read_frames(bytes, build(bytes, &code));
	}
}

TEST(code_frames_out_of_memory)
{
	uint8_t bytes[MADE_ROOM];
	const struct code_spans none = {0};
	struct code_frames frames = {0};
	struct elf_image image;
	size_t nth;
	int err = -1;

	CHECK_EQ(elf_image_open_memory(&image, bytes,
				       build(bytes, &cases[ARRAY_SIZE(cases) - 2].code), NULL),
		 0);
	for (nth = 1; err; nth++) {
		test_fail_allocation(nth);
		err = code_frames_read(&frames, &image, NULL, &none);
		test_fail_allocation(0);
		code_frames_clear(&frames);
		CHECK(err == 0 || err == -ENOMEM);
	}
	CHECK(nth > 5);
	elf_image_close(&image);
}

/* --- compared with the compiler's CFI --------------------------------------------------------- */

static const struct unwind_rule *code_rule(const struct code_frames *frames, uint64_t address)
{
	static const struct unwind_rule none = {.cfa = UNWIND_CFA_NONE};
	size_t above = ARRAY_NR_UP_TO(frames->frames, frames->nr, address, address);

	return above ? &frames->frames[above - 1].rule : &none;
}

/* True if both agree, or if a restored frame pointer is still in its stack slot, too. */
static bool agree(const struct unwind_rule *code, const struct unwind_rule *cfi)
{
	if (code->cfa != cfi->cfa || code->ra.offset != cfi->ra.offset)
		return false;
	if (code->reg != cfi->reg)
		return true; /* relative to the other register */
	if (code->offset != cfi->offset)
		return false;
	if (code->fp.where == UNWIND_LOST || cfi->fp.where == UNWIND_LOST)
		return true;
	if (code->fp.where == cfi->fp.where)
		return code->fp.offset == cfi->fp.offset;
	return code->fp.where == UNWIND_SAME && -cfi->fp.offset > code->offset;
}

TEST(code_frames_are_what_cfi_says)
{
	cleanup_fd int fd = -1;
	const struct code_spans none = {0};
	struct code_frames frames = {0};
	struct unwind_rows rows;
	struct elf_image image;
	size_t nr_same = 0, nr_other = 0, nr_unknown = 0;
	uint64_t at;

	fd = open("/usr/lib/x86_64-linux-gnu/libm.so.6", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || elf_image_open(&image, fd, NULL) < 0)
		SKIP("needs libm as a shared library for x86-64");
	CHECK_EQ(unwind_rows_read(&rows, &image, NULL, NULL), 0);
	CHECK_EQ(code_frames_read(&frames, &image, NULL, &none), 0);
	for (at = image.segments[0].vaddr; at < image.segments[0].vaddr + image.segments[0].bytes;
	     at++) {
		const struct unwind_rule *cfi = unwind_rows_find(&rows, at);
		const struct unwind_rule *code = code_rule(&frames, at);

		if (cfi->cfa != UNWIND_CFA_REGISTER && cfi->cfa != UNWIND_CFA_END)
			continue;
		if (code->cfa == UNWIND_CFA_NONE)
			nr_unknown++;
		else if (agree(code, cfi))
			nr_same++;
		else
			nr_other++;
	}
	printf("%zu bytes of code with the frame that CFI says, %zu with another one, %zu "
	       "unknown\n",
	       nr_same, nr_other, nr_unknown);
	CHECK(nr_same > 10000);
	CHECK_EQ(nr_other, 0);
	CHECK(nr_unknown * 10 < nr_same);
	unwind_rows_clear(&rows);
	code_frames_clear(&frames);
	elf_image_close(&image);
}
