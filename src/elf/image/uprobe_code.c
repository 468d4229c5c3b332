/*
 * What the kernel does in an instruction's place; see uprobe_code.h. That is a matter of
 * arch/ARCH/kernel/ of Linux: on x86 `push` of a register, `nop`, near calls, jumps and branches; on
 * arm64 branches, `nop`, and loads and addresses relative to the program counter.
 */
#include "elf/image/uprobe_code.h"

#include <elf.h>
#include <string.h>

#include "base/array.h"

/* Of one byte: call, jmp, nop, and the branches with a short way. */
static bool is_branch(uint8_t opcode)
{
	return opcode == 0xe8 || opcode == 0xe9 || opcode == 0xeb || opcode == 0x90 ||
	       (opcode & 0xf0) == 0x70;
}

/* The one that compilers write. */
static bool is_nop5(const uint8_t *code, size_t nr)
{
	static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

	return nr >= sizeof(nop5) && !memcmp(code, nop5, sizeof(nop5));
}

static bool is_done_on_x86(const uint8_t *code, size_t nr)
{
	if (nr && code[0] == 0x41) /* REX.B: of r8 to r15 */
		return nr > 1 && (code[1] & 0xf8) == 0x50;
	if (nr && ((code[0] & 0xf8) == 0x50 || is_branch(code[0])))
		return true;
	if (nr > 1 && code[0] == 0x0f && (code[1] & 0xf0) == 0x80)
		return true;
	return is_nop5(code, nr);
}

/* Behind one of these a vector instruction may begin: segments, and the size of addresses. */
static bool is_prefix(uint8_t byte)
{
	switch (byte) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0x67:
		return true;
	default:
		return false;
	}
}

/* The opcode of a vector instruction (VEX, EVEX), or -1. */
static int vector_opcode(const uint8_t *code, size_t nr)
{
	size_t at = 0;

	while (at < nr && is_prefix(code[at]))
		at++;
	if (at == nr)
		return -1;
	switch (code[at]) {
	case 0xc5:
		at += 2;
		break;
	case 0xc4:
		at += 3;
		break;
	case 0x62:
		at += 4;
		break;
	default:
		return -1;
	}
	return at < nr ? code[at] : -1;
}

/* What else the kernel mends after it was stepped over: popf, calls and returns. */
static bool is_mended(uint8_t opcode)
{
	switch (opcode) {
	case 0x9a:
	case 0x9d:
	case 0xc2:
	case 0xc3:
	case 0xca:
	case 0xcb:
	case 0xea:
	case 0xff:
		return true;
	default:
		return false;
	}
}

bool uprobe_code_breaks(uint16_t machine, const uint8_t *code, size_t nr)
{
	int opcode = machine == EM_X86_64 ? vector_opcode(code, nr) : -1;

	return opcode >= 0 && (is_branch((uint8_t)opcode) || is_mended((uint8_t)opcode));
}

bool uprobe_code_becomes_call(uint16_t machine, const uint8_t *code, size_t nr)
{
	return machine == EM_X86_64 && is_nop5(code, nr);
}

/* `lock`, and vector instructions whose opcode is that of `ins`, `outs`, `in` or `out` elsewhere. */
bool uprobe_code_is_refused(uint16_t machine, const uint8_t *code, size_t nr)
{
	int opcode;

	if (machine != EM_X86_64 || !nr)
		return false;
	opcode = vector_opcode(code, nr);
	return code[0] == 0xf0 ||
	       (opcode >= 0 && ((opcode & 0xfc) == 0x6c || (opcode & 0xfc) == 0xec));
}

static bool is_done_on_arm64(const uint8_t *code, size_t nr)
{
	static const struct {
		uint32_t mask, value;
	} done[] = {
		{0xffffffff, 0xd503201f}, /* nop */
		{0x7c000000, 0x14000000}, /* b, bl */
		{0xff000010, 0x54000000}, /* b.cond */
		{0x7e000000, 0x34000000}, /* cbz, cbnz */
		{0x7e000000, 0x36000000}, /* tbz, tbnz */
		{0xff9ffc1f, 0xd61f0000}, /* br, blr, ret */
		{0x1f000000, 0x10000000}, /* adr, adrp */
		{0xbf000000, 0x18000000}, /* ldr of a word nearby */
		{0xff000000, 0x98000000}, /* ldrsw likewise */
	};
	uint32_t word;
	size_t i;

	if (nr < sizeof(word))
		return false;
	word = (uint32_t)code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
	       (uint32_t)code[3] << 24;
	for (i = 0; i < ARRAY_SIZE(done); i++)
		if ((word & done[i].mask) == done[i].value)
			return true;
	return false;
}

bool uprobe_code_is_stepped(uint16_t machine, const uint8_t *code, size_t nr)
{
	if (machine == EM_X86_64)
		return !is_done_on_x86(code, nr);
	if (machine == EM_AARCH64)
		return !is_done_on_arm64(code, nr);
	return true;
}
