/*
 * Call frame information: the sections .eh_frame and .debug_frame, in memory and inflated if they
 * were compressed, and their entries. A *common* entry (CIE) has what many functions share; a
 * *function's* entry (FDE) has an address range and a program, whose first part is that of its
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

/* True if the file holds Go: its table of functions, which no stripping removes, is a section. */
bool cfi_section_is_of_go(const struct elf_image *image);

void cfi_section_clear(struct cfi_section *section);

/* --- state ----------------------------------------------------------------------------------- */

/* The registers that count, by their DWARF numbers, and the habits of an architecture. */
struct cfi_machine {
	uint16_t machine; /* EM_X86_64, … */
	uint8_t sp, fp, ra;
	bool has_link_register;	     /* ra can be in its register; else it is always in memory */
	bool converts_signal_frames; /* their CFI is taken as written */
};

/*
 * The rules at one address, as far as they are followed: the canonical frame address, and where the
 * return address and the frame pointer were saved. Other registers are parsed and dropped.
 */
struct cfi_state {
	/* The CFA's last register and offset, also while an expression says what it is. */
	uint64_t cfa_register;
	int64_t cfa_offset;

	/* UNWIND_CFA_NONE, and false, are for what CFI says and struct unwind_rule cannot. */
	struct unwind_rule rule;
	bool is_ra_known, is_fp_known;
};

/* Offsets have 64 bits in CFI, and 32 in a struct unwind_rule. */
static inline bool cfi_offset_fits(int64_t offset)
{
	return offset >= INT32_MIN && offset <= INT32_MAX;
}

/* --- entries --------------------------------------------------------------------------------- */

struct cfi_common {
	size_t offset; /* where it is in the section, if is_read */
	bool is_read, is_sound;
	bool has_augmentation_data; /* in its functions' entries: "z" */
	bool is_signal_frame;	    /* "S" */
	uint8_t address_bytes, segment_bytes;
	uint8_t pointer_encoding; /* of its functions' addresses: "R" */
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_column; /* the register that stands for the return address */
	struct bytes program;

	/* The state after the program, kept by the interpreter, so that the program is run once. */
	struct cfi_state initial;
	bool has_initial;
};

struct cfi_function {
	struct cfi_common *common; /* the reader's, good until its next call */
	size_t offset;		   /* where it is in the section */
	uint64_t start, end;	   /* as linked */
	struct bytes program;
};

/* Common entries that are kept. Most files have fewer; .debug_frame has one a source file. */
#define CFI_NR_RECENT 64

struct cfi_reader {
	const struct cfi_section *section;
	size_t next;	 /* where the next entry is */
	uint64_t budget; /* bytes of common entries that may yet be read, again and again */
	struct cfi_common recent[CFI_NR_RECENT];
};

void cfi_reader_init(struct cfi_reader *reader, const struct cfi_section *section);

enum cfi_found {
	CFI_END,
	CFI_FUNCTION,
	CFI_BROKEN, /* an entry that makes no sense; there may be more */
};

/* The next function's entry. */
enum cfi_found cfi_reader_next(struct cfi_reader *reader, struct cfi_function *function);

/* The function's entry at an offset where cfi_reader_next() found one: 0 or -EINVAL. */
int cfi_reader_get(struct cfi_reader *reader, size_t offset, struct cfi_function *function);

/*
 * Reads a pointer at the cursor, which is inside the section's bytes. `function` is what
 * DW_EH_PE_funcrel is relative to. 0, or -EINVAL: cut short, unknown, or known at run time only.
 */
int cfi_pointer_read(struct bytes *bytes, const struct cfi_section *section, uint8_t encoding,
		     uint8_t address_bytes, uint64_t function, uint64_t *ret_pointer);

#endif
