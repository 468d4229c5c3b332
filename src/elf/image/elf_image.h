/*
 * An ELF file, opened for reading: where its code lies, and what identifies its content.
 *
 * It is read with pread, never mapped: the file belongs to somebody else and may shrink under our
 * hands. All of its numbers are taken as claims to be checked.
 */
#ifndef STOOK_ELF_IMAGE_ELF_IMAGE_H
#define STOOK_ELF_IMAGE_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libelf.h>

#include "base/error.h"

#define BUILD_ID_MAX_BYTES 32

struct elf_segment {
	uint64_t offset; /* in the file */
	uint64_t vaddr;	 /* as linked */
	uint64_t bytes;	 /* in the file */
};

struct elf_image {
	Elf *elf; /* for headers; contents are read by elf_image_read() */
	int fd;	  /* -1 for an image in memory */
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

/* Whether it has a section of this type (SHT_SYMTAB, …) with any content. */
bool elf_image_has_section(const struct elf_image *image, uint32_t type);

/* Whether its build id is this one; never, if there is none. */
bool elf_image_has_build_id(const struct elf_image *image, const uint8_t *build_id, size_t nr);

/* The same of the file behind fd; false if it is no ELF file. */
bool elf_image_fd_has_build_id(int fd, const uint8_t *build_id, size_t nr);

/* Reads exactly nr bytes at an offset: 0, -ENOEXEC if the file ends before that, or -errno. */
int elf_image_read(const struct elf_image *image, uint64_t offset, void *to, size_t nr);

/* The address, as linked, of the code at a file offset; 0 or -ENOENT if no segment has it. */
int elf_image_offset_to_vaddr(const struct elf_image *image, uint64_t offset, uint64_t *ret_vaddr);

#endif
