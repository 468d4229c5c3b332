/*
 * Call frame information as a hostile file might have it. The first byte chooses how the remaining
 * bytes are read: as an .eh_frame or a .debug_frame section of one of the machines, or as a whole
 * ELF file.
 *
 *	make fuzz && tests/fuzz/seeds.sh FOLDER && build/fuzz/fuzz_cfi FOLDER
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/unwind/cfi_entries.h"
#include "elf/unwind/cfi_program.h"
#include "elf/unwind/unwind_rows.h"
#include "fuzz/fuzz.h"
#include "unit/unwind_reading.h"

/* Runs the section's CFI programs one by one; their ranges must be in order and without gaps. */
static void run_section(const uint8_t *bytes, size_t nr, uint16_t machine, bool is_eh_frame)
{
	struct cfi_section section = {
		.bytes = (uint8_t *)bytes, .nr = nr, .address = 0x1000, .is_eh_frame = is_eh_frame};
	static struct cfi_program program;
	static struct cfi_reader reader;
	struct cfi_function function;
	enum cfi_found found;

	cfi_reader_init(&reader, &section);
	while ((found = cfi_reader_next(&reader, &function)) != CFI_END) {
		uint64_t reach = function.start, start, end;
		struct unwind_rule rule;

		if (found == CFI_BROKEN ||
		    cfi_program_init(&program, cfi_machine_find(machine), &section, &function) < 0)
			continue;
		while (cfi_program_next(&program, &start, &end) > 0) {
			expect(start == reach && end > start && end <= function.end);
			reach = end;
			(void)cfi_program_rule(&program, &rule);
			expect(rule.cfa <= UNWIND_CFA_SIGNAL && rule.reg < UNWIND_NR_REGS &&
			       rule.ra.reg < UNWIND_NR_REGS && rule.fp.reg < UNWIND_NR_REGS);
		}
	}
}

static void check_rows(const struct unwind_rows *rows)
{
	size_t i;

	for (i = 0; i < rows->nr_rows; i++) {
		expect(rows->rows[i].rule < rows->nr_rules);
		expect(!i || (rows->rows[i].address > rows->rows[i - 1].address &&
			      rows->rows[i].rule != rows->rows[i - 1].rule));
	}
	for (i = 0; i < rows->nr_rows; i += 1 + rows->nr_rows / 64)
		expect(unwind_rows_find(rows, rows->rows[i].address) ==
		       &rows->rules[rows->rows[i].rule]);
}

static void read_image(const uint8_t *bytes, size_t nr)
{
	struct elf_image image;
	struct unwind_rows rows;

	if (elf_image_open_memory(&image, bytes, nr, NULL) < 0)
		return;
	if (unwind_rows_read(&rows, &image, &image, NULL) == 0)
		check_rows(&rows);
	unwind_rows_clear(&rows);
	elf_image_close(&image);
}

/* Builds an ELF file that contains only the given section; any address counts as code. */
static void read_as_section(const uint8_t *bytes, size_t nr, uint16_t machine, bool is_eh_frame)
{
	static const char names[] = "\0.eh_frame\0.debug_frame";
	Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					 ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_EXEC,
			     .e_machine = machine,
			     .e_version = EV_CURRENT,
			     .e_entry = 0x2010,
			     .e_phoff = sizeof(header),
			     .e_ehsize = sizeof(header),
			     .e_phentsize = sizeof(Elf64_Phdr),
			     .e_phnum = 1,
			     .e_shentsize = sizeof(Elf64_Shdr),
			     .e_shnum = 3,
			     .e_shstrndx = 2};
	Elf64_Phdr code = {PT_LOAD, PF_X, 0, 0, 0, INT64_MAX, INT64_MAX, 1};
	Elf64_Shdr sections[3] = {0};
	size_t at = sizeof(header) + sizeof(code), end = at + nr;
	uint8_t *file = malloc(end + sizeof(names) + sizeof(sections));

	if (!file)
		return;
	sections[1] = (Elf64_Shdr){
		is_eh_frame ? 1 : 11, SHT_PROGBITS, SHF_ALLOC, 0x1000, at, nr, 0, 0, 8, 0};
	sections[2] = (Elf64_Shdr){0, SHT_STRTAB, 0, 0, end, sizeof(names), 0, 0, 1, 0};
	header.e_shoff = end + sizeof(names);
	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), &code, sizeof(code));
	memcpy(file + at, bytes, nr);
	memcpy(file + end, names, sizeof(names));
	memcpy(file + header.e_shoff, sections, sizeof(sections));
	read_image(file, header.e_shoff + sizeof(sections));
	free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	uint16_t machine;
	bool is_eh_frame;

	if (!nr)
		return 0;
	if (bytes[0] & 4) {
		read_image(bytes + 1, nr - 1);
		return 0;
	}
	machine = bytes[0] & 1 ? EM_AARCH64 : EM_X86_64;
	is_eh_frame = !(bytes[0] & 2);
	run_section(bytes + 1, nr - 1, machine, is_eh_frame);
	read_as_section(bytes + 1, nr - 1, machine, is_eh_frame);
	return 0;
}
