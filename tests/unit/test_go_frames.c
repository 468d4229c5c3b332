/* elf/unwind/go_frames: rows of a made-up Go 1.20 program, from the stack sizes in its table. */
#include "elf/unwind/go_frames.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "elf/unwind/unwind_rows.h"
#include "unit/made_elf.h"
#include "unit/test.h"
#include "unit/tiny_elf.h"
#include "unit/unwind_reading.h"

#define TEXT	   0x401000
#define TEXT_BYTES 0x200
#define TABLE	   0x500000
#define TABLE_ROOM 1024

/* Machine code from the runtime's sources, without the irrelevant parts. */
#define TO_G0	  "\x48\x8b\x5a\x38\x48\x89\xdc" /* mov 56(%rdx),%rbx; mov %rbx,%rsp */
#define CALL	  "\xff\xd7"
#define FIND_CURG "\x48\x8b\x58\x30\x48\x8b\x83\xc0\0\0\0" /* rax: m of g, its curg */
#define TO_CURG	  "\x48\x8b\x60\x38\xc3"		   /* mov 56(%rax),%rsp; ret */

static const struct {
	const char *name;
	const char *sizes; /* pairs: frame size delta, sign-magnitude in bit 0; instruction bytes */
	const char *code;
	size_t nr_code;
	uint64_t offset; /* from TEXT */
} functions[] = {
	{"main.leaf", "\x02\x10", "", 0, 0},
	{"main.frame", "\x02\x04\x30\x08\x2f\x04", "", 0, 0x10},
	{"runtime.goexit.abi0", "\x02\x10", "", 0, 0x20},
	{"runtime.systemstack.abi0", "\x02\x40", TO_G0 CALL FIND_CURG TO_CURG "\x90", 26, 0x30},
	{"runtime.morestack", "\x02\x10", TO_G0 CALL, 9, 0x70},
	{"runtime.mcall", "\x02\x10", "\x49\x8b\x66\x38" CALL, 6, 0x80},
	{"runtime.nanotime1", "\x02\x02\x20\x0e", "\x90\x90\x48\x8b\x62\x38\xff\xd0\x4c\x89\xe4",
	 11, 0x90},
	{"runtime.clone", "\x02\x10", "\x0f\x05\xc3\xff\xd0", 5, 0xa0},
	{"crosscall2", "\x02\x01\x10\x0f", "\x9c", 1, 0xb0},
	{"runtime.sigreturn", "\x02\x10", "", 0, 0xc0},
	{"main.broken", "", "", 0, 0xd0},
	{"runtime.mcallback", "\x02\x10", "\x49\x8b\x66\x38", 4,
	 0xe0}, /* similar prefix, other name */
};
#define NR_FUNCTIONS ARRAY_SIZE(functions)

static const char rows_wanted[] =
	"401000 sp+8 u; 401014 sp+32 c-16; 40101c sp+8 u; 401020 end; 401030 sp+8 u; "
	"401037 goroutine r14+48+192+56 called; 401048 sp+8 u; 401077 goroutine r14+48+192+56 in "
	"it; "
	"401080 sp+8 u; 401084 end; 401090 sp+8 u; 401092 sp+24 c-16; 401096 chain; "
	"40109b sp+24 c-16; 4010a0 sp+8 u; 4010a3 end; 4010b0 sp+8 u; 4010b1 sp+16 u; "
	"4010bf signal; 4010d0 chain; 4010e0 sp+8 u; 4010f0 none; ";

struct program {
	uint8_t text[TEXT_BYTES], table[TABLE_ROOM];
	size_t nr_table;
};

static void put(struct program *program, uint64_t value, unsigned nr)
{
	memcpy(program->table + program->nr_table, &value, nr);
	program->nr_table += nr;
}

static void make_program(struct program *program)
{
	uint32_t names[NR_FUNCTIONS], sizes[NR_FUNCTIONS];
	size_t i, names_at = 72, sizes_at, parts_at;

	memset(program, 0, sizeof(*program));
	program->nr_table = names_at;
	for (i = 0; i < NR_FUNCTIONS; i++) {
		names[i] = (uint32_t)(program->nr_table - names_at);
		strcpy((char *)program->table + program->nr_table, functions[i].name);
		program->nr_table += strlen(functions[i].name) + 1;
		memcpy(program->text + functions[i].offset, functions[i].code,
		       functions[i].nr_code);
	}
	sizes_at = program->nr_table++; /* offset 0 means none */
	for (i = 0; i < NR_FUNCTIONS; i++) {
		size_t nr = strlen(functions[i].sizes);

		sizes[i] = nr ? (uint32_t)(program->nr_table - sizes_at) : 0;
		memcpy(program->table + program->nr_table, functions[i].sizes, nr);
		program->nr_table += nr + 1;
	}
	parts_at = program->nr_table;
	for (i = 0; i < NR_FUNCTIONS; i++) {
		put(program, functions[i].offset, 4);
		put(program, (2 * NR_FUNCTIONS + 1) * 4 + i * 20, 4);
	}
	put(program, TEXT_BYTES, 4);
	for (i = 0; i < NR_FUNCTIONS; i++) {
		put(program, functions[i].offset, 4);
		put(program, names[i], 4);
		put(program, 0, 8); /* arguments, deferred calls */
		put(program, sizes[i], 4);
	}
	i = program->nr_table;
	program->nr_table = 0;
	put(program, 0xfffffff1, 4);
	put(program, 0, 2);
	put(program, 1, 1);
	put(program, 8, 1);
	put(program, NR_FUNCTIONS, 8);
	put(program, 0, 8);
	put(program, TEXT, 8);
	put(program, names_at, 8);
	put(program, sizes_at, 8);
	put(program, sizes_at, 8);
	put(program, sizes_at, 8);
	put(program, parts_at, 8);
	program->nr_table = i;
}

static size_t build(uint8_t *bytes, const struct program *program, const char *name)
{
	const struct made_section sections[] = {
		{".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, program->text, TEXT_BYTES,
		 0, 0},
		{name, SHT_PROGBITS, SHF_ALLOC, TABLE, program->table, program->nr_table, 0, 0},
	};

	return made_elf_build(bytes, EM_X86_64, sections, ARRAY_SIZE(sections));
}

static void show_rule(char *to, const struct unwind_rule *rule)
{
	switch (rule->cfa) {
	case UNWIND_CFA_REGISTER:
		to += sprintf(to, "sp+%d ", rule->offset);
		if (rule->fp.where == UNWIND_SAME)
			strcpy(to, "u");
		else
			sprintf(to, "c%+d", rule->fp.offset);
		break;
	case UNWIND_CFA_GO_STACK:
		sprintf(to, "goroutine r%d+%d+%d+%d %s", rule->reg, rule->offset, rule->add,
			rule->ra.offset, rule->ra.where == UNWIND_SAME ? "in it" : "called");
		break;
	default:
		strcpy(to, rule->cfa == UNWIND_CFA_END	    ? "end"
			   : rule->cfa == UNWIND_CFA_CHAIN  ? "chain"
			   : rule->cfa == UNWIND_CFA_SIGNAL ? "signal"
							    : "none");
	}
}

static const char *rows_of(const uint8_t *bytes, size_t nr)
{
	static char text[4000];
	struct elf_image image;
	struct unwind_rows rows;
	size_t i, at = 0;

	text[0] = '\0';
	CHECK_EQ(elf_image_open_memory(&image, bytes, nr, NULL), 0);
	CHECK_EQ(unwind_rows_read(&rows, &image, NULL, NULL), 0);
	for (i = 0; i < rows.nr_rows && at < sizeof(text) - 100; i++) {
		at += (size_t)sprintf(text + at, "%llx ", (unsigned long long)rows.rows[i].address);
		show_rule(text + at, &rows.rules[rows.rows[i].rule]);
		strcat(text, "; ");
		at = strlen(text);
	}
	unwind_rows_clear(&rows);
	elf_image_close(&image);
	return text;
}

TEST(go_frames_by_stack_sizes)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab"};
	uint8_t bytes[MADE_ROOM];
	struct program program;
	size_t i;

	make_program(&program);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		CHECK_STR(rows_of(bytes, build(bytes, &program, names[i])), rows_wanted);
}

/* If systemstack() is not recognised, frame pointers lead from one stack to the other. */
TEST(go_frames_of_an_unknown_runtime)
{
	uint8_t bytes[MADE_ROOM];
	struct program program;

	make_program(&program);
	program.text[0x30 + 11] = 0x59; /* another register */
	CHECK(strstr(rows_of(bytes, build(bytes, &program, ".gopclntab")), "401037 chain; 401048"));
}

/* An unknown table version: all code is taken to keep frame pointers. */
TEST(go_frames_of_an_unknown_table)
{
	uint8_t bytes[MADE_ROOM];
	struct program program;

	make_program(&program);
	program.table[0] = 0xf5;
	CHECK_STR(rows_of(bytes, build(bytes, &program, ".gopclntab")),
		  "401000 chain; 401200 none; ");
}

static void read_rows(const uint8_t *bytes, size_t nr)
{
	struct elf_image image;
	struct unwind_rows rows;

	if (elf_image_open_memory(&image, bytes, nr, NULL) < 0)
		return;
	(void)unwind_rows_read(&rows, &image, NULL, NULL);
	unwind_rows_clear(&rows);
	elf_image_close(&image);
}

TEST(go_frames_truncated_and_damaged)
{
	uint8_t sound[MADE_ROOM], *guarded;
	struct program program;
	uint64_t state = 3;
	size_t nr, i, at = 0;

	make_program(&program);
	nr = build(sound, &program, ".gopclntab");
	for (i = nr; i; i--)
		read_rows(test_guarded(sound, i - 1), i - 1);
	while (memcmp(sound + at, program.table, program.nr_table) != 0)
		at++;
	guarded = test_guarded(sound, nr);
	for (i = 0; i < 10000; i++) {
		memcpy(guarded, sound, nr);
		tiny_damage(guarded + at, program.nr_table, &state);
		read_rows(guarded, nr);
	}
}

TEST(go_frames_out_of_memory)
{
	uint8_t bytes[MADE_ROOM];
	struct program program;
	struct unwind_rows rows;
	struct elf_image image;
	size_t nth;
	int err = -1;

	make_program(&program);
	CHECK_EQ(elf_image_open_memory(&image, bytes, build(bytes, &program, ".gopclntab"), NULL),
		 0);
	for (nth = 1; err; nth++) {
		test_fail_allocation(nth);
		err = unwind_rows_read(&rows, &image, NULL, NULL);
		test_fail_allocation(0);
		unwind_rows_clear(&rows);
		CHECK(err == 0 || err == -ENOMEM);
	}
	CHECK(nth > 8);
	elf_image_close(&image);
}
