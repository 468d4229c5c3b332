/*
 * An ELF file, opened for reading: its code segments, its build id, its sections by name or by
 * type, and its relocations.
 *
 * It is read with pread(), never mapped: an untrusted file may be truncated at any time. All of its
 * numbers are checked. A file without section headers, or with unreadable ones, has no sections.
 */
#ifndef STOOK_ELF_IMAGE_ELF_IMAGE_H
#define STOOK_ELF_IMAGE_ELF_IMAGE_H

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/file/read_budget.h"

#define BUILD_ID_MAX_BYTES 32

struct elf_segment {
	uint64_t offset; /* in the file */
	uint64_t vaddr;	 /* as linked */
	uint64_t bytes;	 /* in the file */
};

struct elf_image {
	Elf *elf;		    /* for headers; contents are read by elf_image_read() */
	int fd;			    /* -1 for an image in memory */
	struct read_budget *budget; /* charged for reads; NULL after opening: no limit */
	const uint8_t *memory;
	uint64_t bytes;		      /* size of the whole file when it was opened */
	uint64_t changed_ns;	      /* its ctime then; 0: it is memory */
	bool is_64;		      /* Elf64_* structures, else Elf32_* */
	uint16_t machine;	      /* EM_X86_64, … */
	uint64_t entry;		      /* entry point of a program, as linked; 0: none */
	struct elf_segment *segments; /* executable PT_LOADs, by offset */
	size_t nr_segments;
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	size_t build_id_bytes; /* 0: the file has none */
};

/*
 * Opens the ELF file behind fd, which the caller owns and must keep open until elf_image_close(). 0
 * or a negative errno: -ENOEXEC if it is not a valid ELF file. On failure nothing needs to be
 * closed.
 */
int elf_image_open(struct elf_image *image, int fd, struct error *error);

/*
 * Reads only the file header, at most 64 bytes, to see what code the file has. 0, or an error like those of
 * elf_image_open(), which may still refuse the file.
 */
int elf_header_check(int fd, bool *ret_is_64, uint16_t *ret_machine, struct error *error);

/* Like elf_image_open(), for bytes in our own memory (the vdso), which must outlive the image. */
int elf_image_open_memory(struct elf_image *image, const void *bytes, size_t nr,
			  struct error *error);

void elf_image_close(struct elf_image *image);

/* True if it has a non-empty section of this type (SHT_SYMTAB, …). */
bool elf_image_has_section(const struct elf_image *image, uint32_t type);

/* True if it has this build id; false if it has none. */
bool elf_image_has_build_id(const struct elf_image *image, const uint8_t *build_id, size_t nr);

/* True if the file behind fd is an ELF file with this build id. */
bool elf_image_fd_has_build_id(int fd, const uint8_t *build_id, size_t nr);

/*
 * Reads exactly nr bytes at an offset: 0; -ENOEXEC if the file is shorter; -ENXIO if a range of 64
 * KiB or more is almost only a hole; an error of read_budget_take(); or another -errno.
 */
int elf_image_read(const struct elf_image *image, uint64_t offset, void *to, size_t nr);

/*
 * Finds the address, as linked, of the code at a file offset. 0, or -ENOENT if no segment contains
 * it.
 */
int elf_image_offset_to_vaddr(const struct elf_image *image, uint64_t offset, uint64_t *ret_vaddr);

/*
 * Iterates over program headers of a type (PT_LOAD, …). *i is the index, initially 0. False if
 * there are no more that can be read.
 */
bool elf_segment_next(const struct elf_image *image, uint32_t type, size_t *i, GElf_Phdr *ret);

/* --- sections -------------------------------------------------------------------------------- */

#define SECTION_NAME_MAX_BYTES 31 /* maximum length of a name to find */

/* The first section with that name, or type. 0 or -ENOENT. */
int elf_section_find(const struct elf_image *image, const char *name, GElf_Shdr *ret);
int elf_section_find_type(const struct elf_image *image, uint32_t type, GElf_Shdr *ret);

/*
 * Reads a whole section of at most max_bytes into memory that the caller frees. -ENOEXEC if it is
 * empty, larger, compressed, not in the file, or has no content (SHT_NOBITS); -ENOMEM.
 */
int elf_section_read(const struct elf_image *image, const GElf_Shdr *header, uint64_t max_bytes,
		     uint8_t **ret);

/* --- relocations ----------------------------------------------------------------------------- */

#define RELOCATIONS_CHUNK 512

/*
 * Iterates over the relocations that the dynamic linker applies: all SHT_RELA sections of a loaded
 * file, read in pieces.
 *
 *	struct relocations relocations;
 *	GElf_Rela relocation;
 *	relocations_init(&relocations, image);
 *	while (relocations_next(&relocations, &relocation))
 *		…
 *
 * Unreadable sections are skipped. 32-bit files have no relocations here, since we don't unwind
 * 32-bit machines. The iterator needs no cleanup; the caller owns the image.
 */

struct relocations {
	const struct elf_image *image;
	Elf_Scn *section;
	uint64_t offset, end; /* in the file: the rest of the section */
	uint64_t nr_left;     /* limit of relocations still to be read, over all sections */
	Elf64_Rela chunk[RELOCATIONS_CHUNK];
	size_t at, nr; /* in the chunk */
};

void relocations_init(struct relocations *relocations, const struct elf_image *image);
bool relocations_next(struct relocations *relocations, GElf_Rela *ret);

/* --- the vdso -------------------------------------------------------------------------------- */

/*
 * The code that the kernel maps into every process, found in our own process: it is the same in all
 * of them. Returns an ELF image in memory and its length; NULL if there is no valid one.
 */
const void *vdso_find(size_t *ret_bytes);

#endif
