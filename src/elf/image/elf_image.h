/*
 * An ELF file, opened for reading: where its code lies, what identifies its content, its sections
 * by name or by type, and the relocations of its words.
 *
 * It is read with pread, never mapped: the file belongs to somebody else and may shrink under our
 * hands. All of its numbers are taken as claims to be checked. A file without section headers, or
 * with headers that cannot be read, has no sections.
 */
#ifndef STOOK_ELF_IMAGE_ELF_IMAGE_H
#define STOOK_ELF_IMAGE_ELF_IMAGE_H

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/read_budget.h"

#define BUILD_ID_MAX_BYTES 32

struct elf_segment {
	uint64_t offset; /* in the file */
	uint64_t vaddr;	 /* as linked */
	uint64_t bytes;	 /* in the file */
};

struct elf_image {
	Elf *elf;		    /* for headers; contents are read by elf_image_read() */
	int fd;			    /* -1 for an image in memory */
	struct read_budget *budget; /* that reading counts against; NULL, as when opened: none */
	const uint8_t *memory;
	uint64_t bytes;		      /* of the whole file, when it was opened */
	bool is_64;		      /* Elf64_* structures, else Elf32_* */
	uint16_t machine;	      /* EM_X86_64, … */
	uint64_t entry;		      /* where the program begins, as linked; 0: nowhere */
	struct elf_segment *segments; /* executable PT_LOADs, by offset */
	size_t nr_segments;
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	size_t build_id_bytes; /* 0: the file has none */
};

/*
 * Opens the ELF file behind fd, which stays the caller's and must stay open until the close.
 * 0 or a negative errno: -ENOEXEC for what is no (sound) ELF file. On failure nothing is held.
 */
int elf_image_open(struct elf_image *image, int fd, struct error *error);

/* The same over bytes in our own memory (the vdso); they must outlive the image. */
int elf_image_open_memory(struct elf_image *image, const void *bytes, size_t nr,
			  struct error *error);

void elf_image_close(struct elf_image *image);

/* True if it has a section of this type (SHT_SYMTAB, …) with any content. */
bool elf_image_has_section(const struct elf_image *image, uint32_t type);

/* True if its build id is this one; never, if there is none. */
bool elf_image_has_build_id(const struct elf_image *image, const uint8_t *build_id, size_t nr);

/* The same of the file behind fd; false if it is no ELF file. */
bool elf_image_fd_has_build_id(int fd, const uint8_t *build_id, size_t nr);

/*
 * Reads exactly nr bytes at an offset: 0; -ENOEXEC if the file ends before that; -ENXIO for 64 KiB
 * or more of which next to nothing is stored, a hole; what read_budget_take() refuses with; or
 * another -errno.
 */
int elf_image_read(const struct elf_image *image, uint64_t offset, void *to, size_t nr);

/* The address, as linked, of the code at a file offset; 0 or -ENOENT if no segment has it. */
int elf_image_offset_to_vaddr(const struct elf_image *image, uint64_t offset, uint64_t *ret_vaddr);

/*
 * Goes to the next program header of a type (PT_LOAD, …), from number *i on, which is 0 to begin
 * with. False if there is none that can be read.
 */
bool elf_segment_next(const struct elf_image *image, uint32_t type, size_t *i, GElf_Phdr *ret);

/* --- sections -------------------------------------------------------------------------------- */

#define SECTION_NAME_MAX_BYTES 31 /* of a name that is looked for */

/* The first section of that name, or type. 0 or -ENOENT. */
int elf_section_find(const struct elf_image *image, const char *name, GElf_Shdr *ret);
int elf_section_find_type(const struct elf_image *image, uint32_t type, GElf_Shdr *ret);

/*
 * Reads all of a section, of at most max_bytes, into memory that is the caller's to free. -ENOEXEC
 * if it is empty, larger, compressed, not in the file, or has no bytes there (SHT_NOBITS); -ENOMEM.
 */
int elf_section_read(const struct elf_image *image, const GElf_Shdr *header, uint64_t max_bytes,
		     uint8_t **ret);

/* --- relocations ----------------------------------------------------------------------------- */

#define RELOCATIONS_CHUNK 512

/*
 * Iterates over the words of a loaded file that the dynamic linker fills in: all of its SHT_RELA
 * sections, read in pieces.
 *
 *	struct relocations relocations;
 *	GElf_Rela relocation;
 *	relocations_init(&relocations, image);
 *	while (relocations_next(&relocations, &relocation))
 *		…
 *
 * Sections that cannot be read are left out. Only files of 64 bits have any relocations: the
 * machines with 32 bits are none that we walk. The iterator holds nothing that must be given back;
 * the image stays the caller's.
 */

struct relocations {
	const struct elf_image *image;
	Elf_Scn *section;
	uint64_t offset, end; /* in the file: what is left of the section */
	uint64_t nr_left;     /* that may still be read, of any section */
	Elf64_Rela chunk[RELOCATIONS_CHUNK];
	size_t at, nr; /* in the chunk */
};

void relocations_init(struct relocations *relocations, const struct elf_image *image);
bool relocations_next(struct relocations *relocations, GElf_Rela *ret);

/* --- the vdso -------------------------------------------------------------------------------- */

/*
 * The code that the kernel maps into every process, found in our own: it is the same in all. An ELF
 * image in memory, and its length; NULL if there is none that makes sense.
 */
const void *vdso_find(size_t *ret_bytes);

#endif
