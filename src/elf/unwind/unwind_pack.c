/*
 * Packing a rule: a form is tried for each way in which the machine's compilers save the return
 * address and the frame pointer. Only exact fits are taken: what would need rounding, or is odd in
 * any way, is left to a wide rule.
 *
 * arm64 has two forms for the usual pair of fp and lr: counted from the CFA, or, in large frames
 * where that is too far, at the register that the CFA is counted from.
 */
#include "elf/unwind/unwind_pack.h"

#include <elf.h>

#include "base/array.h"

/* How things were saved, and the slot in units of 8. */
struct saved {
	uint32_t how; /* enum unwind_saved */
	uint32_t slot;
};

struct machine {
	uint16_t elf_machine;
	uint8_t sp, fp;	   /* DWARF numbers */
	uint32_t saved_by; /* a bit for each enum unwind_saved that it has */
	bool (*pack_saved)(const struct unwind_rule *rule, struct saved *ret);
};

/* Bytes as units of 8, if they are that and not too many. */
static bool to_units(int64_t bytes, uint32_t max, uint32_t *ret_units)
{
	if (bytes < 0 || bytes % 8 || bytes / 8 > max)
		return false;
	*ret_units = (uint32_t)(bytes / 8);
	return true;
}

static bool is_at_cfa(const struct unwind_place *place)
{
	return place->where == UNWIND_AT_CFA;
}

static bool is_untouched(const struct unwind_place *place)
{
	return place->where == UNWIND_SAME || place->where == UNWIND_LOST;
}

/* A call pushes the return address; the frame pointer is anywhere below, or was not saved. */
static bool pack_saved_x86(const struct unwind_rule *rule, struct saved *ret)
{
	if (!is_at_cfa(&rule->ra) || rule->ra.offset != -8)
		return false;
	if (is_untouched(&rule->fp)) {
		*ret = (struct saved){UNWIND_SAVED_TOP, 0};
		return true;
	}
	ret->how = UNWIND_SAVED_TOP_FP;
	return is_at_cfa(&rule->fp) &&
	       to_units(-(int64_t)rule->fp.offset, UNWIND_SLOT_MAX, &ret->slot);
}

static bool pack_saved_arm64(const struct unwind_rule *rule, struct saved *ret)
{
	int64_t fp = rule->fp.offset, ra = rule->ra.offset;

	*ret = (struct saved){UNWIND_SAVED_LR, 0};
	if (is_untouched(&rule->fp) && rule->ra.where == UNWIND_SAME)
		return true;
	if (!is_at_cfa(&rule->ra))
		return false;
	if (is_untouched(&rule->fp)) {
		ret->how = UNWIND_SAVED_RA;
		return to_units(-ra, UNWIND_SLOT_MAX, &ret->slot);
	}
	if (!is_at_cfa(&rule->fp) || ra != fp + 8)
		return false;
	ret->how = UNWIND_SAVED_PAIR;
	if (to_units(-fp, UNWIND_SLOT_MAX, &ret->slot))
		return true;
	ret->how = UNWIND_SAVED_AT_BASE;
	return fp == -(int64_t)rule->offset;
}

static const struct machine machines[] = {
	{EM_X86_64, 7, 6, 1 << UNWIND_SAVED_TOP | 1 << UNWIND_SAVED_TOP_FP, pack_saved_x86},
	{EM_AARCH64, 31, 29,
	 1 << UNWIND_SAVED_LR | 1 << UNWIND_SAVED_PAIR | 1 << UNWIND_SAVED_AT_BASE |
		 1 << UNWIND_SAVED_RA,
	 pack_saved_arm64},
};

static const struct machine *machine_of(uint16_t elf_machine)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(machines); i++)
		if (machines[i].elf_machine == elf_machine)
			return &machines[i];
	return NULL;
}

bool unwind_pack_knows(uint16_t machine)
{
	return machine_of(machine) != NULL;
}

/* Rules that say all by their kind. */
static bool is_bare(uint32_t cfa)
{
	return cfa == UNWIND_CFA_NONE || cfa == UNWIND_CFA_END || cfa == UNWIND_CFA_CHAIN;
}

bool unwind_pack_rule(const struct unwind_rule *rule, uint16_t machine, uint32_t *ret_packed)
{
	const struct machine *registers = machine_of(machine);
	struct saved saved = {0};
	uint32_t base, offset;

	if (is_bare(rule->cfa)) {
		*ret_packed = UNWIND_PACK_NUMBER(UNWIND_BASE_SPECIAL, rule->cfa);
		return true;
	}
	if (!registers || rule->cfa != UNWIND_CFA_REGISTER || rule->is_signal_frame)
		return false;
	if (rule->reg != registers->sp && rule->reg != registers->fp)
		return false;
	if (!to_units(rule->offset, UNWIND_OFFSET_MAX, &offset) ||
	    !registers->pack_saved(rule, &saved))
		return false;
	base = rule->reg == registers->sp ? UNWIND_BASE_SP : UNWIND_BASE_FP;
	*ret_packed = UNWIND_PACK(base, saved.how, offset, saved.slot);
	return true;
}

static struct unwind_place at_cfa(int32_t offset)
{
	return (struct unwind_place){.where = UNWIND_AT_CFA, .offset = offset};
}

static void expand_saved(struct unwind_rule *rule, uint32_t how, int32_t slot)
{
	switch (how) {
	case UNWIND_SAVED_TOP_FP:
		rule->fp = at_cfa(-slot);
		/* fall through */
	case UNWIND_SAVED_TOP:
		rule->ra = at_cfa(-8);
		break;
	case UNWIND_SAVED_LR:
		break; /* both are where they were */
	case UNWIND_SAVED_AT_BASE:
		slot = rule->offset;
		/* fall through */
	case UNWIND_SAVED_PAIR:
		rule->fp = at_cfa(-slot);
		rule->ra = at_cfa(-slot + 8);
		break;
	case UNWIND_SAVED_RA:
		rule->ra = at_cfa(-slot);
		break;
	}
}

struct unwind_rule unwind_pack_expand(uint32_t packed, uint16_t machine)
{
	const struct machine *registers = machine_of(machine);
	struct unwind_rule rule = {.cfa = UNWIND_CFA_NONE};
	uint32_t base = UNWIND_PACKED_BASE(packed);

	if (!unwind_pack_is_sound(packed, machine, 0))
		return rule;
	if (base == UNWIND_BASE_SPECIAL) {
		rule.cfa = (uint8_t)UNWIND_PACKED_NUMBER(packed);
		return rule;
	}
	rule.cfa = UNWIND_CFA_REGISTER;
	rule.reg = base == UNWIND_BASE_SP ? registers->sp : registers->fp;
	rule.offset = UNWIND_PACKED_OFFSET(packed);
	expand_saved(&rule, UNWIND_PACKED_SAVED(packed), UNWIND_PACKED_SLOT(packed));
	return rule;
}

bool unwind_pack_is_sound(uint32_t packed, uint16_t machine, size_t nr_wide)
{
	const struct machine *registers = machine_of(machine);

	if (packed >> 24)
		return false;
	switch (UNWIND_PACKED_BASE(packed)) {
	case UNWIND_BASE_SPECIAL:
		return is_bare(UNWIND_PACKED_NUMBER(packed));
	case UNWIND_BASE_WIDE:
		return UNWIND_PACKED_NUMBER(packed) < nr_wide;
	default:
		return registers && registers->saved_by >> UNWIND_PACKED_SAVED(packed) & 1;
	}
}

static bool place_is_sound(const struct unwind_place *place)
{
	return place->where <= UNWIND_LOST && place->reg < UNWIND_NR_REGS;
}

bool unwind_pack_wide_is_sound(const struct unwind_rule *rule)
{
	return rule->cfa <= UNWIND_CFA_SIGNAL && rule->reg < UNWIND_NR_REGS &&
	       place_is_sound(&rule->ra) && place_is_sound(&rule->fp);
}
