/* elf/unwind/cfi_program: each instruction, each form of expression, each truncation. */
#include "unit/test.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "elf/unwind/cfi_program.h"
#include "unit/cfi_fixture.h"

/* Runs a program for 0x1000 to 0x1100; returns `address rule` for each range, or "broken". */
static const char *run_on(uint16_t machine, const char *letters, const char *code, size_t nr)
{
	static char text[2000];
	struct made made = {.is_arm64 = machine == EM_AARCH64};
	size_t has_data = letters[0] ? 1 : 0;
	size_t common = put_common(&made, true, letters, "", has_data);
	char program_bytes[200] = "";
	struct cfi_section section = {.bytes = made.bytes, .is_eh_frame = true};
	uint64_t start, end, reach = 0x1000;
	struct cfi_function function;
	struct cfi_program program;
	struct unwind_rule rule;
	struct cfi_reader reader;
	int found;

	CHECK(nr < sizeof(program_bytes));
	memcpy(program_bytes + has_data, code, nr); /* after the augmentation length, 0 */
	put_function(&made, true, common, 0x1000, 0x100, program_bytes, has_data + nr);
	section.nr = made.nr;
	cfi_reader_init(&reader, &section);
	CHECK_EQ(cfi_reader_next(&reader, &function), CFI_FUNCTION);
	CHECK_EQ(cfi_program_init(&program, cfi_machine_find(machine), &section, &function), 0);
	text[0] = '\0';
	while ((found = cfi_program_next(&program, &start, &end)) > 0) {
		bool is_whole = cfi_program_rule(&program, &rule);

		CHECK_EQ(start, reach);
		CHECK(end > start && end <= 0x1100);
		reach = end;
		sprintf(text + strlen(text), "%s%x ", text[0] ? "; " : "",
			(unsigned)(start - 0x1000));
		show_rule(text, &rule);
		strcat(text, is_whole ? "" : " less");
	}
	if (found < 0)
		return "broken";
	CHECK_EQ(reach, 0x1100);
	return text;
}

#define RUN(code)	 run_on(EM_X86_64, "", code, sizeof(code) - 1)
#define RUN_SIGNAL(code) run_on(EM_X86_64, "zS", code, sizeof(code) - 1)
#define RUN_ARM(code)	 run_on(EM_AARCH64, "", code, sizeof(code) - 1)

#define PUSH_RBP "\x41\x0e\x10\x86\x02" /* advance 1, CFA offset 16, rbp at CFA - 16 */

TEST(cfi_program_of_a_usual_function)
{
	CHECK_STR(RUN(""), "0 r7+8 c-8 same");
	CHECK_STR(RUN(PUSH_RBP "\x43\x0d\x06\x6f\x0c\x07\x08"),
		  "0 r7+8 c-8 same; 1 r7+16 c-8 c-16; 4 r6+16 c-8 c-16; 33 r7+8 c-8 c-16");
	CHECK_STR(RUN(PUSH_RBP "\x44\x0a\x0e\x08\xc6\x41\x0b"),
		  "0 r7+8 c-8 same; 1 r7+16 c-8 c-16; 5 r7+8 c-8 same; 6 r7+16 c-8 c-16");
	CHECK_STR(RUN("\x41\x0e\x10\x86\x02\x42\x06\x06"), /* restore_extended */
		  "0 r7+8 c-8 same; 1 r7+16 c-8 c-16; 3 r7+16 c-8 same");
}

TEST(cfi_program_steps)
{
	CHECK_STR(RUN("\x02\x10\x0e\x10\x03\x20\x00\x0e\x18\x04\x40\x00\x00\x00\x0e\x20"),
		  "0 r7+8 c-8 same; 10 r7+16 c-8 same; 30 r7+24 c-8 same; 70 r7+32 c-8 same");
	CHECK_STR(RUN("\x1d\x10\x00\x00\x00\x00\x00\x00\x00\x0e\x10"),
		  "0 r7+8 c-8 same; 10 r7+16 c-8 same");
	CHECK_STR(RUN("\x01\x20\x10\x00\x00\x00\x00\x00\x00\x0e\x10"), /* set_loc 0x1020 */
		  "0 r7+8 c-8 same; 20 r7+16 c-8 same");
	CHECK_STR(RUN("\x41\x01\x00\x10\x00\x00\x00\x00\x00\x00"), "broken"); /* backwards */
	CHECK_STR(RUN("\x40\x0e\x10"), "0 r7+16 c-8 same");		      /* advance by 0 */
	CHECK_STR(RUN("\x03\x00\x01\x0e\x10"), "0 r7+8 c-8 same"); /* to the end and past it */
	CHECK_STR(RUN("\x03\xff\xff\x0e\x10"), "0 r7+8 c-8 same");
	CHECK_STR(RUN("\x1d\xff\xff\xff\xff\xff\xff\xff\xff"), "broken");
}

TEST(cfi_program_cfa)
{
	CHECK_STR(RUN("\x12\x06\x7e"), "0 r6+16 c-8 same"); /* signed, in units of -8 */
	CHECK_STR(RUN("\x13\x7d"), "0 r7+24 c-8 same");
	CHECK_STR(RUN("\x0c\x20\x08"), "0 none less");			       /* register 32 */
	CHECK_STR(RUN("\x0e\xff\xff\xff\xff\x0f"), "0 none less");	       /* 4 GiB */
	CHECK_STR(RUN("\x0e\xff\xff\xff\xff\x0f\x0e\x08"), "0 r7+8 c-8 same"); /* back in range */
	CHECK_STR(RUN("\x0f\x02\x76\x00\x0d\x07"), "0 r7+8 c-8 same");
}

TEST(cfi_program_registers)
{
	CHECK_STR(RUN("\x05\x06\x03"), "0 r7+8 c-8 c-24");	/* offset_extended */
	CHECK_STR(RUN("\x11\x06\x7d"), "0 r7+8 c-8 c+24");	/* … signed */
	CHECK_STR(RUN("\x2f\x06\x02"), "0 r7+8 c-8 c+16");	/* … negative */
	CHECK_STR(RUN("\x09\x10\x02"), "0 r7+8 r2+0 same");	/* register */
	CHECK_STR(RUN("\x09\x10\x21"), "0 none less");		/* … 33 */
	CHECK_STR(RUN("\x07\x10"), "0 end");			/* undefined */
	CHECK_STR(RUN("\x08\x10"), "0 none less");		/* same_value: invalid on x86 */
	CHECK_STR(RUN("\x07\x06"), "0 r7+8 c-8 lost");		/* undefined */
	CHECK_STR(RUN("\x86\x02\x08\x06"), "0 r7+8 c-8 same");	/* same_value */
	CHECK_STR(RUN("\x14\x06\x02"), "0 r7+8 c-8 lost less"); /* val_offset */
	CHECK_STR(RUN("\x15\x10\x02"), "0 none less");
	CHECK_STR(RUN("\x83\x02\x07\x03\x14\x0c\x01"), "0 r7+8 c-8 same"); /* others: ignored */
	CHECK_STR(RUN("\x2e\x10\x2d\x00"), "0 r7+8 c-8 same"); /* args_size, window_save, nop */
}

TEST(cfi_program_expressions)
{
	/* The CFA: rsp + 16; *(rbp - 8) + 16; by constants; with subtraction. */
	CHECK_STR(RUN("\x0f\x02\x77\x10"), "0 r7+16 c-8 same");
	CHECK_STR(RUN("\x0f\x03\x76\x78\x06"), "0 (r6-8)+0 c-8 same");
	CHECK_STR(RUN("\x0f\x05\x76\x78\x06\x23\x10"), "0 (r6-8)+16 c-8 same");
	CHECK_STR(RUN("\x0f\x06\x77\x08\x0a\x00\x01\x22"), "0 r7+264 c-8 same");
	CHECK_STR(RUN("\x0f\x04\x38\x77\x08\x22"), "0 r7+16 c-8 same");
	CHECK_STR(RUN("\x0f\x05\x92\x07\x28\x38\x1c"), "0 r7+32 c-8 same");
	/* The lazy binding stub of the PLT, and look-alikes. */
	CHECK_STR(RUN("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"), "0 plt11 c-8 same");
	CHECK_STR(RUN("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x40\x2a\x33\x24\x22"), "0 none less");
	CHECK_STR(RUN("\x0f\x0b\x77\x08\x81\x00\x3f\x1a\x3b\x2a\x33\x24\x22"), "0 none less");
	/* Unsupported: empty, a constant, two memory loads, too few operands, a product. */
	CHECK_STR(RUN("\x0f\x00"), "0 none less");
	CHECK_STR(RUN("\x0f\x01\x31"), "0 none less");
	CHECK_STR(RUN("\x0f\x04\x76\x08\x06\x06"), "0 none less");
	CHECK_STR(RUN("\x0f\x01\x22"), "0 none less");
	CHECK_STR(RUN("\x0f\x01\x06"), "0 none less");
	CHECK_STR(RUN("\x0f\x04\x77\x08\x38\x1e"), "0 none less");
	CHECK_STR(RUN("\x0f\x09\x31\x31\x31\x31\x31\x31\x31\x31\x31"), "0 none less"); /* deep */
	CHECK_STR(RUN("\x0f\x05\x31\x77\x08\x1c\x96"), "0 none less"); /* minus a register */
	/* Saved registers: relative to a register, to the CFA, as a value. */
	CHECK_STR(RUN("\x10\x06\x02\x77\x08"), "0 r7+8 c-8 (r7+8)");
	CHECK_STR(RUN("\x10\x06\x02\x23\x10"), "0 r7+8 c-8 c+16");
	CHECK_STR(RUN("\x10\x06\x02\x38\x1c"), "0 r7+8 c-8 c-8");
	CHECK_STR(RUN("\x16\x06\x02\x77\x08"), "0 r7+8 c-8 r7+8");
	CHECK_STR(RUN("\x16\x06\x03\x77\x08\x06"), "0 r7+8 c-8 (r7+8)");
	CHECK_STR(RUN("\x16\x06\x02\x23\x10"), "0 r7+8 c-8 lost less");
	CHECK_STR(RUN("\x10\x06\x03\x77\x08\x06"), "0 r7+8 c-8 lost less");
	CHECK_STR(RUN("\x10\x03\x03\x77\x08\x06"), "0 r7+8 c-8 same"); /* rbx is not tracked */
}

TEST(cfi_program_constants)
{
	CHECK_STR(RUN("\x0f\x05\x77\x00\x08\xff\x22"), "0 r7+255 c-8 same");
	CHECK_STR(RUN("\x0f\x05\x77\x00\x09\xff\x22"), "0 r7-1 c-8 same");
	CHECK_STR(RUN("\x0f\x06\x77\x00\x0b\xff\xff\x22"), "0 r7-1 c-8 same");
	CHECK_STR(RUN("\x0f\x08\x77\x00\x0c\xff\xff\xff\xff\x22"), "0 none less");
	CHECK_STR(RUN("\x0f\x08\x77\x00\x0d\xff\xff\xff\xff\x22"), "0 r7-1 c-8 same");
	CHECK_STR(RUN("\x0f\x0c\x77\x00\x0e\xff\xff\xff\xff\xff\xff\xff\xff\x22"),
		  "0 r7-1 c-8 same");
	CHECK_STR(RUN("\x0f\x06\x77\x00\x10\x80\x01\x22"), "0 r7+128 c-8 same");
	CHECK_STR(RUN("\x0f\x05\x77\x00\x11\x7f\x22"), "0 r7-1 c-8 same");
}

TEST(cfi_program_signal_frames)
{
	/* glibc's signal frame: every register is saved relative to rsp. */
	CHECK_STR(RUN_SIGNAL("\x0f\x04\x77\xa0\x01\x06\x10\x10\x03\x77\xa8\x01\x10\x06\x03\x77\xf8"
			     "\x00"),
		  "0 S:(r7+160)+0 (r7+168) (r7+120)");
	CHECK_STR(RUN_SIGNAL("\x0f\x01\x31"), "0 S:signal less");
}

TEST(cfi_program_arm64)
{
	CHECK_STR(RUN_ARM(""), "0 r31+0 same same"); /* return address in the link register */
	CHECK_STR(RUN_ARM("\x44\x0e\x10\x9d\x02\x9e\x01\x44\x2d\x48\xde\xdd\x0e\x00"),
		  "0 r31+0 same same; 4 r31+16 c-8 c-16; 8 r31+16 c-8 c-16; 10 r31+0 same same");
	CHECK_STR(RUN_ARM("\x07\x1e"), "0 end");
	/* CFI of arm64 signal frames is not used. */
	CHECK_STR(run_on(EM_AARCH64, "zS", "\x0c\x1d\x00", 3), "0 S:signal");
}

TEST(cfi_program_remembers_so_much)
{
	char code[2 * CFI_REMEMBERED_MAX + 2];

	memset(code, 0x0a, CFI_REMEMBERED_MAX);
	memset(code + CFI_REMEMBERED_MAX, 0x0b, CFI_REMEMBERED_MAX + 2);
	CHECK_STR(run_on(EM_X86_64, "", code, 2 * CFI_REMEMBERED_MAX), "0 r7+8 c-8 same");
	CHECK_STR(run_on(EM_X86_64, "", code, 2 * CFI_REMEMBERED_MAX + 1), "broken");
	memset(code, 0x0a, CFI_REMEMBERED_MAX + 1);
	CHECK_STR(run_on(EM_X86_64, "", code, CFI_REMEMBERED_MAX + 1), "broken");
}

TEST(cfi_program_unknown_instructions)
{
	CHECK_STR(RUN("\x17"), "broken");
	CHECK_STR(RUN("\x3f"), "broken");
	CHECK_STR(RUN("\x0c\x07"), "broken"); /* truncated */
}
