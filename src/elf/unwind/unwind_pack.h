/*
 * One rule in the 24 bits of bpf/unwind_format.h: which rules fit into them, and what they say.
 * Pure functions. `machine` is the ELF machine of the code (EM_X86_64, EM_AARCH64), which need not
 * be the one that this runs on: it says which registers sp and fp are, and how they are saved.
 */
#ifndef STOOK_ELF_UNWIND_UNWIND_PACK_H
#define STOOK_ELF_UNWIND_UNWIND_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind_format.h"

bool unwind_pack_knows(uint16_t machine);

/*
 * Packs a rule; false (and *ret_packed as it was) if it has to be a wide one. A frame pointer that
 * is lost is packed as one that stayed: no caller can tell them apart, as it may not use it.
 */
bool unwind_pack_rule(const struct unwind_rule *rule, uint16_t machine, uint32_t *ret_packed);

/* What a packed rule says that is no wide one; UNWIND_CFA_NONE if it says nothing. */
struct unwind_rule unwind_pack_expand(uint32_t packed, uint16_t machine);

/* Whether it is one that unwind_pack_rule() makes, or the number of one of nr_wide wide rules. */
bool unwind_pack_is_sound(uint32_t packed, uint16_t machine, size_t nr_wide);

/* Whether all kinds and registers of a wide rule exist, so that the step may trust them. */
bool unwind_pack_wide_is_sound(const struct unwind_rule *rule);

#endif
