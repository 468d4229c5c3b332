/*
 * Call frame information (CFI): the sections .eh_frame and .debug_frame, in memory and
 * decompressed, and their entries. A *common* entry (CIE) has what many functions share; a
 * *function's* entry (FDE) has an address range and a program, which is run after that of its
 * common entry.
 */
#ifndef STOOK_ELF_UNWIND_CFI_ENTRIES_H
#define STOOK_ELF_UNWIND_CFI_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "bpf/unwind_format.h"
#include "elf/image/elf_image.h"

/* Limit of a section's size. LLVM's and Node's have 3 to 5 MB, the largest known ones 100. */
#define CFI_SECTION_MAX_BYTES (256U << 20)

struct cfi_section {
	uint8_t *bytes;
	size_t nr;
	uint64_t address;   /* of the first byte, as linked: base of pc-relative pointers */
	uint64_t text, got; /* addresses of .text and .got, bases of other pointers; or 0 */
	bool is_eh_frame;   /* false: .debug_frame, which differs in details */
	bool ends_at_zero;  /* size unknown: an entry of length 0 ends it */
};

/*
 * Both fill an empty *section and leave it empty if there is none with content. If the section is
 * larger than the file or the limit, or can't be decompressed, it stays empty and *is_broken is
 * set. 0, or a negative errno if the file cannot be read or memory runs out. Clear it in either
 * case.
 */
int cfi_section_read_eh_frame(struct cfi_section *section, const struct elf_image *image,
			      bool *is_broken, struct error *error);
int cfi_section_read_debug_frame(struct cfi_section *section, const struct elf_image *image,
				 bool *is_broken, struct error *error);

/*
 * True for Go programs, recognised by the section of their function table, which stripping doesn't
 * remove.
 */
bool cfi_section_is_of_go(const struct elf_image *image);

void cfi_section_clear(struct cfi_section *section);

/* --- state ----------------------------------------------------------------------------------- */

/* DWARF numbers of the registers that are tracked, and properties of the architecture. */
struct cfi_machine {
	uint16_t machine; /* EM_X86_64, … */
	uint8_t sp, fp, ra;
	bool has_link_register;	     /* ra can be in its register; else always in memory */
	bool converts_signal_frames; /* the CFI of signal frames is used as written */
};

/*
 * The rules at one address, as far as they are tracked: the canonical frame address, and where the
 * return address and the frame pointer were saved. Other registers are parsed and ignored.
 */
struct cfi_state {
	/* The CFA's last register and offset; kept while an expression defines the CFA. */
	uint64_t cfa_register;
	int64_t cfa_offset;

	/* UNWIND_CFA_NONE, and false, if struct unwind_rule cannot express the CFI. */
	struct unwind_rule rule;
	bool is_ra_known, is_fp_known;
};

/* Offsets have 64 bits in CFI, but 32 in a struct unwind_rule. */
static inline bool cfi_offset_fits(int64_t offset)
{
	return offset >= INT32_MIN && offset <= INT32_MAX;
}

/* --- entries --------------------------------------------------------------------------------- */

struct cfi_common {
	size_t offset; /* in the section, if is_read */
	bool is_read, is_sound;
	bool has_augmentation_data; /* in its functions' entries: "z" */
	bool is_signal_frame;	    /* "S" */
	uint8_t address_bytes, segment_bytes;
	uint8_t pointer_encoding; /* of its functions' addresses: "R" */
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_column; /* the register used for the return address */
	struct bytes program;

	/* State after the program, set by the interpreter, so that the program is run only once. */
	struct cfi_state initial;
	bool has_initial;
};

struct cfi_function {
	struct cfi_common *common; /* owned by the reader, valid until its next call */
	size_t offset;		   /* in the section */
	uint64_t start, end;	   /* as linked */
	struct bytes program;
};

/* Number of cached common entries. Most files have fewer; .debug_frame has one per source file. */
#define CFI_NR_RECENT 64

struct cfi_reader {
	const struct cfi_section *section;
	size_t next;	 /* offset of the next entry */
	uint64_t budget; /* remaining bytes of common entries that may be read */
	struct cfi_common recent[CFI_NR_RECENT];
};

void cfi_reader_init(struct cfi_reader *reader, const struct cfi_section *section);

enum cfi_found {
	CFI_END,
	CFI_FUNCTION,
	CFI_BROKEN, /* an invalid entry; there may be more */
};

/* Reads the next function's entry. */
enum cfi_found cfi_reader_next(struct cfi_reader *reader, struct cfi_function *function);

/* Reads the function's entry at an offset found by cfi_reader_next(): 0 or -EINVAL. */
int cfi_reader_get(struct cfi_reader *reader, size_t offset, struct cfi_function *function);

/*
 * Reads a pointer at the cursor, which is inside the section's bytes. `function` is the base of
 * DW_EH_PE_funcrel. 0, or -EINVAL if it is truncated, has an unknown encoding, or is known at run
 * time only.
 */
int cfi_pointer_read(struct bytes *bytes, const struct cfi_section *section, uint8_t encoding,
		     uint8_t address_bytes, uint64_t function, uint64_t *ret_pointer);

#endif
