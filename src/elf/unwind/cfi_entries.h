/*
 * The entries of a section of call frame information. A *common* entry (CIE) has what many
 * functions share; a *function's* entry (FDE) has an address range and a program, whose first part
 * is that of its common entry.
 */
#ifndef STOOK_ELF_UNWIND_CFI_ENTRIES_H
#define STOOK_ELF_UNWIND_CFI_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "elf/unwind/cfi_section.h"
#include "elf/unwind/cfi_state.h"

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

	/* For who runs the program: what holds after it, so that it is run once. */
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
