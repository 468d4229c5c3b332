/*
 * Stubs are known by their instructions, not by the layouts that one linker makes: GNU ld, gold,
 * lld and mold order and pad them differently, but all jump the same way.
 *
 * x86-64:	[endbr64] [mov $index, %r11d] [bnd] jmp *slot(%rip) …
 * arm64:	[bti c] adrp x16, page; ldr x17, [x16, #low]; add x16, x16, #low; … br x17
 *
 * What comes first in a lazy .plt and calls the resolver pushes something before it jumps; so do
 * the halves of stubs in .plt whose other halves are in .plt.sec. None of these is a stub here. On
 * arm64 the first looks like a stub, but no relocation names its slot.
 */
#include "elf/symbols/plt_decode.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "base/array.h"

/* Steps over the bytes if they come next. */
static bool skip_exactly(struct bytes *code, const void *expected, size_t nr)
{
	if (code->nr < nr || memcmp(code->at, expected, nr) != 0)
		return false;
	(void)bytes_skip(code, nr);
	return true;
}

/* --- x86-64 -------------------------------------------------------------------------------- */

static size_t decode_x86_64(struct bytes code, uint64_t address, size_t unit, uint64_t *ret_slot)
{
	size_t nr = code.nr;
	int32_t distance;

	(void)skip_exactly(&code, "\xf3\x0f\x1e\xfa", 4); /* endbr64 */
	if (skip_exactly(&code, "\x41\xbb", 2))		  /* mov $index, %r11d */
		(void)bytes_u32(&code);
	(void)skip_exactly(&code, "\xf2", 1); /* bnd */
	if (!skip_exactly(&code, "\xff\x25", 2))
		return 0;
	distance = (int32_t)bytes_u32(&code);
	if (code.failed)
		return 0;
	*ret_slot = address + (nr - code.nr) + (uint64_t)(int64_t)distance;
	return nr - code.nr > unit ? 2 * unit : unit;
}

/* --- arm64 --------------------------------------------------------------------------------- */

#define INSTRUCTION 4

#define BTI_C		 0xd503245f
#define BR_X17		 0xd61f0220
#define ADRP_X16	 0x90000010
#define ADRP_X16_MASK	 0x9f00001f
#define LDR_X17_X16	 0xf9400211 /* the offset, in units of eight bytes, from bit 10 */
#define LDR_X17_X16_MASK 0xffc003ff

#define INSTRUCTIONS_MAX 8 /* of a stub */

/* The 21 bits of an adrp, in pages: two from bit 29, the others from bit 5. */
static uint64_t adrp_page(uint32_t adrp, uint64_t address)
{
	uint64_t pages = (adrp >> 29 & 3) | (uint64_t)(adrp >> 5 & 0x7ffff) << 2;
	uint64_t sign = 1ULL << 20;

	return (address & ~0xfffULL) + (((pages ^ sign) - sign) << 12);
}

/* Steps over what is left of a stub: up to its jump, and what fills it up to the next. */
static bool skip_to_end(struct bytes *code)
{
	static const uint8_t nop[] = {0x1f, 0x20, 0x03, 0xd5};
	size_t i;

	for (i = 0; i < INSTRUCTIONS_MAX; i++)
		if (bytes_u32(code) == BR_X17)
			break;
	while (skip_exactly(code, nop, sizeof(nop)))
		;
	return i < INSTRUCTIONS_MAX;
}

static size_t decode_arm64(struct bytes code, uint64_t address, size_t unit, uint64_t *ret_slot)
{
	uint32_t word = bytes_u32(&code), load;
	size_t nr = code.nr + INSTRUCTION;

	(void)unit;
	if (word == BTI_C) {
		word = bytes_u32(&code);
		address += INSTRUCTION;
	}
	load = bytes_u32(&code);
	if ((word & ADRP_X16_MASK) != ADRP_X16 || (load & LDR_X17_X16_MASK) != LDR_X17_X16 ||
	    !skip_to_end(&code))
		return 0;
	*ret_slot = adrp_page(word, address) + (load >> 10 & 0xfff) * 8;
	return nr - code.nr;
}

static const struct plt_machine machines[] = {
	{EM_X86_64, 0, decode_x86_64},
	{EM_AARCH64, INSTRUCTION, decode_arm64},
};

const struct plt_machine *plt_machine_find(uint16_t machine)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(machines); i++)
		if (machines[i].machine == machine)
			return &machines[i];
	return NULL;
}
