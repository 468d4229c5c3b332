/*
 * An ELF file for x86-64 that has code segments and call frame information but no code:
 *
 *	offset 0x200: a note with the build id, 8 times the same byte
 *	offset 0x400: .eh_frame, as given
 *	and segments at any offset; the file is long enough for all of them
 */
#ifndef STOOK_TESTS_UNIT_CODE_FILE_H
#define STOOK_TESTS_UNIT_CODE_FILE_H

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/image/elf_image.h"
#include "unit/cfi_fixture.h"
#include "unit/test.h"

#define CODE_FILE_MAX_SEGMENTS 6
#define CODE_FILE_BUILD_ID     8
#define CODE_FILE_NOTE	       0x200
#define CODE_FILE_EH_FRAME     0x400

struct code_file {
	uint8_t build_id; /* every byte of the build id */
	struct elf_segment segments[CODE_FILE_MAX_SEGMENTS];
	size_t nr_segments;
	struct made eh_frame;
};

static inline void code_file_write(int fd, const void *bytes, size_t nr, uint64_t offset)
{
	CHECK_EQ(pwrite(fd, bytes, nr, (off_t)offset), (ssize_t)nr);
}

static inline void code_file_put_note(int fd, uint8_t build_id)
{
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t id[CODE_FILE_BUILD_ID];
	} note = {{4, CODE_FILE_BUILD_ID, NT_GNU_BUILD_ID}, "GNU", {0}};

	memset(note.id, build_id, sizeof(note.id));
	code_file_write(fd, &note, sizeof(note), CODE_FILE_NOTE);
}

static inline uint64_t code_file_put_sections(int fd, const struct made *eh_frame)
{
	static const char names[] = "\0.eh_frame\0.names";
	uint64_t at = (CODE_FILE_EH_FRAME + eh_frame->nr + 7) / 8 * 8;
	Elf64_Shdr sections[3] = {
		{0},
		{.sh_name = 1,
		 .sh_type = SHT_PROGBITS,
		 .sh_addr = 0x100000000 + CODE_FILE_EH_FRAME,
		 .sh_offset = CODE_FILE_EH_FRAME,
		 .sh_size = eh_frame->nr},
		{.sh_name = 11, .sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = sizeof(names)},
	};

	code_file_write(fd, eh_frame->bytes, eh_frame->nr, CODE_FILE_EH_FRAME);
	code_file_write(fd, names, sizeof(names), at);
	at = (at + sizeof(names) + 7) / 8 * 8;
	code_file_write(fd, sections, sizeof(sections), at);
	return at;
}

/* Returns a descriptor of the file, which has no name. */
static inline int code_file_make(const struct code_file *code)
{
	Elf64_Phdr segments[CODE_FILE_MAX_SEGMENTS + 1] = {
		{PT_NOTE, PF_R, CODE_FILE_NOTE, 0, 0, 16 + CODE_FILE_BUILD_ID, 0, 4}};
	Elf64_Ehdr header = {.e_ident = ELFMAG, .e_type = ET_DYN, .e_machine = EM_X86_64};
	int fd = memfd_create("code", MFD_CLOEXEC);
	uint64_t end = 0x10000;
	size_t i;

	CHECK(fd >= 0 && code->nr_segments <= CODE_FILE_MAX_SEGMENTS);
	CHECK_EQ(fchmod(fd, 0644), 0); /* world-writable files are not cached */
	for (i = 0; i < code->nr_segments; i++) {
		const struct elf_segment *segment = &code->segments[i];

		segments[i + 1] =
			(Elf64_Phdr){PT_LOAD, PF_R | PF_X,    segment->offset, segment->vaddr,
				     0,	      segment->bytes, segment->bytes,  1};
		if (segment->offset + segment->bytes > end)
			end = segment->offset + segment->bytes;
	}
	(void)!ftruncate(fd, (off_t)end); /* may fail for huge sizes: the end is never read */
	code_file_put_note(fd, code->build_id);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = header.e_version = EV_CURRENT;
	header.e_ehsize = sizeof(header);
	header.e_phoff = sizeof(header);
	header.e_phentsize = sizeof(segments[0]);
	header.e_phnum = (uint16_t)(code->nr_segments + 1);
	header.e_shoff = code_file_put_sections(fd, &code->eh_frame);
	header.e_shentsize = sizeof(Elf64_Shdr);
	header.e_shnum = 3;
	header.e_shstrndx = 2;
	code_file_write(fd, &header, sizeof(header), 0);
	code_file_write(fd, segments, (code->nr_segments + 1) * sizeof(segments[0]),
			sizeof(header));
	return fd;
}

/* Adds a function whose CFA offset alternates with each step: 16, 24, 16, 24, … */
static inline void code_file_add_steps(struct code_file *code, uint64_t address, uint32_t step,
				       uint32_t nr)
{
	char program[7 * 512];
	size_t common, used = 0;
	uint32_t i;

	CHECK(nr <= 512);
	for (i = 0; i < nr; i++) {
		if (i) {
			program[used++] = 0x04; /* DW_CFA_advance_loc4 */
			memcpy(program + used, &step, sizeof(step));
			used += sizeof(step);
		}
		program[used++] = 0x0e; /* DW_CFA_def_cfa_offset */
		program[used++] = i % 2 ? 24 : 16;
	}
	common = put_common(&code->eh_frame, true, "", "", 0);
	(void)put_function(&code->eh_frame, true, common, address, (uint64_t)step * nr, program,
			   used);
}

/* Returns a file with nr_pages pages of rules, no two neighbours equal; offset = address. */
static inline int code_file_of_pages(uint8_t build_id, uint32_t nr_pages)
{
	struct code_file code = {.build_id = build_id, .nr_segments = 1};

	code.segments[0] = (struct elf_segment){0x10000, 0x10000, (uint64_t)nr_pages << 16};
	code_file_add_steps(&code, 0x10000, 0x10000, nr_pages);
	return code_file_make(&code);
}

#endif
