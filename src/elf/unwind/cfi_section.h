/*
 * A section with call frame information, in memory: .eh_frame or .debug_frame, inflated if it was
 * compressed.
 */
#ifndef STOOK_ELF_UNWIND_CFI_SECTION_H
#define STOOK_ELF_UNWIND_CFI_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "elf/image/elf_image.h"

/* A larger section is not read. LLVM's and Node's have 3 to 5 MB, the largest known ones 100. */
#define CFI_SECTION_MAX_BYTES (256U << 20)

struct cfi_section {
	uint8_t *bytes;
	size_t nr;
	uint64_t address;   /* of its first byte, as linked: what is pc-relative adds to it */
	uint64_t text, got; /* addresses of .text and .got, for pointers relative to them; or 0 */
	bool is_eh_frame;   /* else .debug_frame: the two differ in details */
	bool ends_at_zero;  /* its size is not known: an entry of length 0 ends it */
};

/*
 * Both fill an empty *section and leave it empty if there is none that holds anything; a section
 * that is larger than its file or the limit, or does not inflate, is none but sets *is_broken.
 * 0, or a negative errno if the file cannot be read or memory is short. Clear it in either case.
 */
int cfi_section_read_eh_frame(struct cfi_section *section, const struct elf_image *image,
			      bool *is_broken, struct error *error);
int cfi_section_read_debug_frame(struct cfi_section *section, const struct elf_image *image,
				 bool *is_broken, struct error *error);

/* Whether the file holds Go: its table of functions, which no stripping removes, is a section. */
bool cfi_section_is_of_go(const struct elf_image *image);

void cfi_section_clear(struct cfi_section *section);

#endif
