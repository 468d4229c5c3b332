/*
 * Properties of machine instructions that probes depend on: their length, and the kernel's way to
 * execute them.
 *
 * The length of x86-64 instructions is determined by tables: for each opcode a letter for what
 * follows it, as in the opcode maps of the processor manuals. Nothing else is decoded.
 *
 *	prefixes   0F, 0F 38, 0F 3A, or VEX, EVEX, XOP   opcode   ModRM SIB displacement   immediate
 *
 * Near branches have 32-bit offsets whatever the prefixes are, as in Intel's processors and the
 * kernel's decoder (AMD's use 16 bits with 66h). fwait is an instruction of its own.
 *
 * For uprobes, arch/ARCH/kernel/ of Linux emulates some instructions instead of single-stepping
 * them: on x86 `push` of a register, `nop`, near calls, jumps and branches; on arm64 branches,
 * `nop`, and loads and addresses relative to the program counter.
 *
 * Not supported: extrq and insertq with immediates, APX.
 *
 * elfutils' libasm is no alternative: it decodes 28,500 of the 690,000 instructions of libcrypto
 * differently than objdump, including all 15,200 of AVX; this file none.
 */
#include "elf/image/instructions.h"

#include <elf.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"

#define ARM64_BYTES 4

/*
 * Letters for what follows an opcode. z: 32 bits, but 16 with the prefix 66h and without REX.W.
 *
 *	.  nothing		m  ModRM		x  no such instruction
 *	b  8 bits		B  ModRM, 8 bits	p  a prefix or an escape
 *	w  16 bits		j  32 bits
 *	z  z			Z  ModRM, z
 *	e  16 and 8 bits	v  64 bits with REX.W, else z
 *	o  an address		t  ModRM, and 8 bits if it is `test`	T  the same with z
 */
static const char one_byte[256 + 1] = "mmmmbzxxmmmmbzxp" /* 00: 0F escapes */
				      "mmmmbzxxmmmmbzxx" /* 10 */
				      "mmmmbzpxmmmmbzpx" /* 20 */
				      "mmmmbzpxmmmmbzpx" /* 30 */
				      "pppppppppppppppp" /* 40: REX */
				      "................" /* 50 */
				      "xxpmppppzZbB...." /* 60: 62 is EVEX */
				      "bbbbbbbbbbbbbbbb" /* 70 */
				      "BZxBmmmmmmmmmmmm" /* 80 */
				      "..........x....." /* 90 */
				      "oooo....bz......" /* a0 */
				      "bbbbbbbbvvvvvvvv" /* b0 */
				      "BBw.ppBZe.w..bx." /* c0: c4, c5 are VEX */
				      "mmmmxxx.mmmmmmmm" /* d0 */
				      "bbbbbbbbjjxb...." /* e0 */
				      "p.pp..tT......mm" /* f0 */;

/* After 0F. ModRM of 20 to 23 never has an address: it counts as 8 bits. */
static const char two_bytes[256 + 1] = "mmmmx.....x.xm.B" /* 00 */
				       "mmmmmmmmmmmmmmmm" /* 10 */
				       "bbbbxxxxmmmmmmmm" /* 20 */
				       "......x.pxpxxxxx" /* 30: 38, 3A escape */
				       "mmmmmmmmmmmmmmmm" /* 40 */
				       "mmmmmmmmmmmmmmmm" /* 50 */
				       "mmmmmmmmmmmmmmmm" /* 60 */
				       "BBBBmmm.mmxxmmmm" /* 70 */
				       "jjjjjjjjjjjjjjjj" /* 80 */
				       "mmmmmmmmmmmmmmmm" /* 90 */
				       "...mBmmm...mBmmm" /* a0 */
				       "mmmmmmmmmmBmmmmm" /* b0 */
				       "mmBmBBBm........" /* c0 */
				       "mmmmmmmmmmmmmmmm" /* d0 */
				       "mmmmmmmmmmmmmmmm" /* e0 */
				       "mmmmmmmmmmmmmmmm" /* f0 */;

struct prefixes {
	bool has_16_bits; /* 66: 16-bit operands */
	bool has_32_bits; /* 67: 32-bit addresses */
	bool has_rex, has_rex_w;
	bool is_no_vex; /* 66, F0, F2, F3: not allowed before VEX and EVEX */
	uint8_t repeat; /* F2, F3 */
};

/* --- prefixes and escapes -------------------------------------------------------------------- */

/*
 * Processes a prefix; false if the byte is not one. REX is only valid directly before the opcode.
 */
static bool take_prefix(struct prefixes *prefixes, uint8_t byte)
{
	bool is_rex = (byte & 0xf0) == 0x40;

	switch (byte) {
	case 0x66:
		prefixes->has_16_bits = true;
		break;
	case 0x67:
		prefixes->has_32_bits = true;
		break;
	case 0xf2:
	case 0xf3:
		prefixes->repeat = byte;
		break;
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0xf0:
		break;
	default:
		if (!is_rex)
			return false;
	}
	prefixes->is_no_vex |= byte == 0x66 || byte >= 0xf0;
	prefixes->has_rex = is_rex;
	prefixes->has_rex_w = is_rex && byte & 8;
	return true;
}

/* The letter for an opcode of VEX, EVEX or XOP, by its map number. */
static char kind_of_map(unsigned map, uint8_t opcode)
{
	switch (map) {
	case 1:
		if (opcode == 0x77) /* vzeroupper */
			return '.';
		return two_bytes[opcode] == 'B' ? 'B' : 'm';
	case 3:
	case 8:
		return 'B';
	case 2:
	case 5:
	case 6:
	case 9:
		return 'm';
	case 10:
		return 'Z';
	default:
		return 'x';
	}
}

/*
 * True if the byte begins VEX, EVEX or XOP. 8F is pop unless the next byte has a map number of 8 or
 * more.
 */
static bool is_vex(const struct bytes *code, uint8_t byte)
{
	if (byte == 0x8f)
		return code->nr && code->at[0] & 0x18;
	return byte == 0xc4 || byte == 0xc5 || byte == 0x62;
}

/* Reads the payload bytes, the first of which has the map number, and returns the opcode. */
static uint8_t read_vex(struct bytes *code, uint8_t escape, unsigned *ret_map)
{
	uint8_t first = bytes_u8(code);

	if (escape == 0xc5) {
		*ret_map = 1;
	} else if (escape == 0x62) {
		*ret_map = first & 7;
		(void)bytes_skip(code, 2);
	} else {
		*ret_map = first & 0x1f;
		(void)bytes_skip(code, 1);
	}
	return bytes_u8(code);
}

static char read_two_bytes(struct bytes *code, const struct prefixes *prefixes)
{
	uint8_t opcode = bytes_u8(code);

	switch (opcode) {
	case 0x38:
		(void)bytes_u8(code);
		return 'm';
	case 0x3a:
		(void)bytes_u8(code);
		return 'B';
	case 0x78: /* extrq, insertq */
		return prefixes->has_16_bits || prefixes->repeat == 0xf2 ? 'x' : 'm';
	default:
		return two_bytes[opcode];
	}
}

/* Reads everything up to the opcode. Returns the letter for what follows. */
static char read_opcode(struct bytes *code, struct prefixes *prefixes)
{
	uint8_t byte = bytes_u8(code), opcode;
	unsigned map;

	while (!code->failed && take_prefix(prefixes, byte))
		byte = bytes_u8(code);
	if (byte == 0x0f)
		return read_two_bytes(code, prefixes);
	if (!is_vex(code, byte))
		return one_byte[byte];
	if (prefixes->is_no_vex || prefixes->has_rex)
		return 'x';
	opcode = read_vex(code, byte, &map);
	return kind_of_map(map, opcode);
}

/* --- after the opcode ------------------------------------------------------------------------ */

/* Reads ModRM, SIB and the displacement. Returns ModRM's reg field. */
static unsigned read_modrm(struct bytes *code)
{
	uint8_t modrm = bytes_u8(code);
	unsigned mode = modrm >> 6, base = modrm & 7, displacement = 0;

	if (mode != 3) {
		if (base == 4)
			base = bytes_u8(code) & 7;
		if (mode == 1)
			displacement = 1;
		else if (mode == 2 || base == 5)
			displacement = 4;
		(void)bytes_skip(code, displacement);
	}
	return modrm >> 3 & 7;
}

static unsigned immediate_bytes(char kind, const struct prefixes *prefixes)
{
	unsigned z = prefixes->has_16_bits && !prefixes->has_rex_w ? 2 : 4;

	switch (kind) {
	case 'b':
	case 'B':
		return 1;
	case 'w':
		return 2;
	case 'e':
		return 3;
	case 'j':
		return 4;
	case 'z':
	case 'Z':
		return z;
	case 'v':
		return prefixes->has_rex_w ? 8 : z;
	case 'o':
		return prefixes->has_32_bits ? 4 : 8;
	default:
		return 0;
	}
}

static size_t x86_64_length(const uint8_t *start, size_t nr)
{
	struct bytes code =
		bytes_of(start, nr < INSTRUCTION_MAX_BYTES ? nr : INSTRUCTION_MAX_BYTES);
	struct prefixes prefixes = {0};
	char kind = read_opcode(&code, &prefixes);

	if (kind == 'x' || kind == 'p')
		return 0;
	if (kind == 't' || kind == 'T') {
		bool is_test = read_modrm(&code) < 2;

		kind = !is_test ? '.' : kind == 't' ? 'b' : 'z';
	} else if (kind == 'm' || kind == 'B' || kind == 'Z') {
		(void)read_modrm(&code);
	}
	(void)bytes_skip(&code, immediate_bytes(kind, &prefixes));
	return code.failed ? 0 : (size_t)(code.at - start);
}

size_t instruction_length(uint16_t machine, const uint8_t *code, size_t nr)
{
	switch (machine) {
	case EM_X86_64:
		return x86_64_length(code, nr);
	case EM_AARCH64:
		return nr < ARM64_BYTES ? 0 : ARM64_BYTES;
	default:
		return 0;
	}
}

/* --- uprobes on instructions ----------------------------------------------------------------- */

/* One-byte opcodes of call, jmp, nop, and short branches. */
static bool is_branch(uint8_t opcode)
{
	return opcode == 0xe8 || opcode == 0xe9 || opcode == 0xeb || opcode == 0x90 ||
	       (opcode & 0xf0) == 0x70;
}

/* The 5-byte nop that compilers emit. */
static bool is_nop5(const uint8_t *code, size_t nr)
{
	static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

	return nr >= sizeof(nop5) && !memcmp(code, nop5, sizeof(nop5));
}

static bool is_done_on_x86(const uint8_t *code, size_t nr)
{
	if (nr && code[0] == 0x41) /* REX.B: push of r8 to r15 */
		return nr > 1 && (code[1] & 0xf8) == 0x50;
	if (nr && ((code[0] & 0xf8) == 0x50 || is_branch(code[0])))
		return true;
	if (nr > 1 && code[0] == 0x0f && (code[1] & 0xf0) == 0x80)
		return true;
	return is_nop5(code, nr);
}

/* Prefixes that may precede a vector instruction: segments, and the address size. */
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

/*
 * Instructions whose effect the kernel corrects after single-stepping them: popf, calls and
 * returns.
 */
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

/* ldr and ldrsw of a literal. */
static bool is_literal_load(const uint8_t *code, size_t nr)
{
	struct bytes bytes = bytes_of(code, nr);
	const uint32_t word = bytes_u32(&bytes);

	return !bytes.failed &&
	       ((word & 0xbf000000) == 0x18000000 || (word & 0xff000000) == 0x98000000);
}

/* On x86 `lock`, and vector instructions with the same opcode byte as `ins`, `outs`, `in` or `out`. */
bool uprobe_code_is_refused(uint16_t machine, const uint8_t *code, size_t nr)
{
	int opcode;

	if (machine == EM_AARCH64)
		return is_literal_load(code, nr);
	if (machine != EM_X86_64 || !nr)
		return false;
	opcode = vector_opcode(code, nr);
	return code[0] == 0xf0 ||
	       (opcode >= 0 && ((opcode & 0xfc) == 0x6c || (opcode & 0xfc) == 0xec));
}

/*
 * Uprobes on x86 reject the prefixes lock, cs, ss, ds and es; AVX; privileged instructions. The first byte of an arm64
 * instruction does not determine its kind: no guess.
 */
bool uprobe_code_is_doubtful(uint16_t machine, const uint8_t *code, size_t nr)
{
	static const uint8_t doubtful[] = {0xf0, 0x2e, 0x36, 0x3e, 0x26, 0x62, 0xc4, 0xc5,
					   0xf1, 0xf4, 0xfa, 0xfb, 0xcc, 0xce, 0xcf};

	return machine == EM_X86_64 && nr && memchr(doubtful, code[0], ARRAY_SIZE(doubtful));
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
	};
	struct bytes bytes = bytes_of(code, nr);
	uint32_t word = bytes_u32(&bytes);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(done) && !bytes.failed; i++)
		if ((word & done[i].mask) == done[i].value)
			return true;
	return is_literal_load(code, nr);
}

bool uprobe_code_is_stepped(uint16_t machine, const uint8_t *code, size_t nr)
{
	if (machine == EM_X86_64)
		return !is_done_on_x86(code, nr);
	if (machine == EM_AARCH64)
		return !is_done_on_arm64(code, nr);
	return true;
}
