/*
 * What call frame information says at one address, as far as it is followed: the canonical frame
 * address, and where the return address and the frame pointer were saved. What it says of other
 * registers is parsed and dropped.
 */
#ifndef STOOK_ELF_UNWIND_CFI_STATE_H
#define STOOK_ELF_UNWIND_CFI_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/unwind_format.h"

/* The registers that count, by their DWARF numbers, and the habits of an architecture. */
struct cfi_machine {
	uint16_t machine; /* EM_X86_64, … */
	uint8_t sp, fp, ra;
	bool has_link_register;	     /* ra can be in its register; else it is always in memory */
	bool converts_signal_frames; /* their CFI is taken as written */
};

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

#endif
