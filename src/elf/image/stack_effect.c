/*
 * Effects of x86-64 instructions on the stack pointer and the frame pointer.
 *
 * instruction_length() finds the end of the instruction; this file decodes its prefixes, opcode and
 * ModRM. Vector instructions write neither register.
 */
#include "elf/image/stack_effect.h"

#include <elf.h>

#include "base/bytes.h"
#include "elf/image/instructions.h"

#define WORD_BYTES 8
#define SP	   4 /* register numbers in instructions */
#define FP	   5

/* A decoded instruction, as far as needed here. */
struct parts {
	uint8_t rex, opcode;
	bool is_two_bytes; /* 0F opcode */
	bool has_16_bits, has_segment;
	uint8_t mode, reg, rm; /* of ModRM, with REX's bits */
	bool has_base;	       /* memory at base + displacement, no index */
	uint8_t base;
	int32_t displacement;
	struct bytes rest; /* immediates after it */
};

static int32_t read_signed(struct bytes *bytes, size_t nr)
{
	return nr == 1 ? (int8_t)bytes_u8(bytes) : (int32_t)bytes_u32(bytes);
}

static void read_modrm(struct parts *parts, struct bytes *code)
{
	uint8_t modrm = bytes_u8(code), sib;

	parts->mode = modrm >> 6;
	parts->reg = (modrm >> 3 & 7) | (parts->rex & 4) << 1;
	parts->rm = (modrm & 7) | (parts->rex & 1) << 3;
	if (parts->mode == 3)
		return;
	parts->base = parts->rm;
	parts->has_base = true;
	if ((modrm & 7) == SP) {
		sib = bytes_u8(code);
		parts->base = (sib & 7) | (parts->rex & 1) << 3;
		parts->has_base = (sib >> 3 & 7) == SP && !(parts->rex & 2);
	}
	if (parts->mode == 0 && (parts->base & 7) == FP)
		parts->has_base = false; /* no base, or relative to the program counter */
	if (parts->mode == 1)
		parts->displacement = read_signed(code, 1);
	else if (parts->mode == 2 || (parts->mode == 0 && (parts->base & 7) == FP))
		parts->displacement = read_signed(code, 4);
}

/* False for vector instructions (VEX, EVEX), and others that write neither register. */
static bool take_apart(struct parts *parts, const uint8_t *start, size_t nr)
{
	struct bytes code = bytes_of(start, nr);
	uint8_t byte = bytes_u8(&code);

	*parts = (struct parts){0};
	for (;; byte = bytes_u8(&code)) {
		if (byte == 0x66)
			parts->has_16_bits = true;
		else if (byte == 0x64 || byte == 0x65)
			parts->has_segment = true;
		else if (byte != 0xf2 && byte != 0xf3 && byte != 0x2e && byte != 0x3e &&
			 byte != 0x26 && byte != 0x36 && byte != 0x67 && byte != 0xf0)
			break;
	}
	if ((byte & 0xf0) == 0x40) {
		parts->rex = byte;
		byte = bytes_u8(&code);
	}
	if (byte == 0xc4 || byte == 0xc5 || byte == 0x62)
		return false;
	if (byte == 0x0f) {
		parts->is_two_bytes = true;
		byte = bytes_u8(&code);
		if (byte == 0x38 || byte == 0x3a)
			return false;
	}
	parts->opcode = byte;
	parts->rest = code;
	return !code.failed;
}

/* Records a write to a general register. */
static void write_register(struct stack_effect *effect, unsigned reg)
{
	if (reg == SP)
		effect->sp = SP_LOST;
	else if (reg == FP)
		effect->fp = FP_WRITTEN;
}

/* Opcodes after 0F that write the register in ModRM's reg field. */
static bool writes_reg_of_two(uint8_t opcode)
{
	return (opcode & 0xf0) == 0x40 || opcode == 0x2c || opcode == 0x2d || opcode == 0x50 ||
	       opcode == 0xaf || opcode == 0xb6 || opcode == 0xb7 ||
	       (opcode >= 0xb8 && opcode <= 0xbf && opcode != 0xba) || opcode == 0xc5 ||
	       opcode == 0xd7;
}

static void read_two_bytes(struct stack_effect *effect, struct parts *parts)
{
	uint8_t opcode = parts->opcode;

	if ((opcode & 0xf0) == 0x80) {
		effect->flow = FLOW_BRANCH;
		effect->has_target = true;
		effect->target = read_signed(&parts->rest, 4);
		return;
	}
	if (opcode == 0x0b || opcode == 0xb9 || opcode == 0xff || opcode == 0x07) {
		effect->flow = FLOW_STOP; /* ud2 and similar, sysret */
		return;
	}
	if (opcode >= 0xc8 && opcode <= 0xcf) { /* bswap */
		write_register(effect, (opcode & 7) | (parts->rex & 1) << 3);
		return;
	}
	if (opcode == 0x1f) {
		effect->is_padding = true;
		return;
	}
	read_modrm(parts, &parts->rest);
	if (writes_reg_of_two(opcode))
		write_register(effect, parts->reg);
	/* cmpxchg, xadd, shld, shrd, bts and similar, movd and movq, popcnt and similar */
	if (parts->mode == 3 &&
	    (opcode == 0xb1 || opcode == 0xc1 || opcode == 0xa4 || opcode == 0xa5 ||
	     opcode == 0xac || opcode == 0xad || opcode == 0xab || opcode == 0xb3 ||
	     opcode == 0xbb || opcode == 0xba || opcode == 0x7e))
		write_register(effect, parts->rm);
	if (opcode == 0xc1 || opcode == 0xa2) /* xadd writes both; cpuid neither sp nor fp */
		write_register(effect, opcode == 0xc1 ? parts->reg : 0);
}

/* add, or, adc, sbb, and, sub, xor, cmp with an immediate. */
static void read_arithmetic(struct stack_effect *effect, struct parts *parts)
{
	unsigned which;
	int32_t bytes;

	read_modrm(parts, &parts->rest);
	which = parts->reg & 7;
	bytes = read_signed(&parts->rest, parts->opcode == 0x81 && !parts->has_16_bits ? 4 : 1);
	if (parts->mode != 3 || which == 7)
		return;
	write_register(effect, parts->rm);
	if (parts->rm != SP || !(parts->rex & 8) || parts->has_16_bits)
		return;
	if (which == 0 || (which == 5 && bytes != INT32_MIN)) {
		effect->sp = SP_MOVES;
		effect->bytes = which == 0 ? bytes : -bytes;
	}
}

/* lea, and mov in both directions. */
static void read_move(struct stack_effect *effect, struct parts *parts)
{
	bool is_wide = parts->rex & 8, is_store = parts->opcode == 0x89;
	uint8_t to, from;

	read_modrm(parts, &parts->rest);
	if (parts->opcode == 0x8d) {
		write_register(effect, parts->reg);
		effect->is_address = parts->mode == 0 && (parts->rm & 7) == FP;
		effect->target = parts->displacement;
		if (!is_wide || !parts->has_base)
			return;
		if (parts->reg == SP && parts->base == SP)
			*effect = (struct stack_effect){
				.sp = SP_MOVES, .bytes = parts->displacement, .fp = effect->fp};
		else if (parts->reg == SP && parts->base == FP)
			*effect = (struct stack_effect){
				.sp = SP_FROM_FP, .bytes = parts->displacement, .fp = effect->fp};
		else if (parts->reg == FP && parts->base == SP)
			*effect = (struct stack_effect){.fp = FP_FROM_SP,
							.fp_bytes = parts->displacement};
		return;
	}
	if (parts->mode != 3) {
		bool is_on_stack = is_wide && parts->has_base && parts->base == SP &&
				   !parts->has_segment && parts->displacement % WORD_BYTES == 0;

		if (!is_store)
			write_register(effect, parts->reg);
		if (parts->reg == FP && is_on_stack) {
			effect->fp = is_store ? FP_STORED : FP_LOADED;
			effect->fp_bytes = parts->displacement;
		}
		return;
	}
	to = is_store ? parts->rm : parts->reg;
	from = is_store ? parts->reg : parts->rm;
	write_register(effect, to);
	if (is_wide && to == SP && from == FP)
		effect->sp = SP_FROM_FP;
	else if (is_wide && to == FP && from == SP)
		effect->fp = FP_FROM_SP;
}

/* One-byte opcodes that change control flow. False for others. */
static bool read_flow(struct stack_effect *effect, struct parts *parts)
{
	uint8_t opcode = parts->opcode;
	bool is_near = opcode == 0xe8 || opcode == 0xe9;

	if ((opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0)
		effect->flow = FLOW_BRANCH;
	else if (opcode == 0xe8)
		effect->flow = FLOW_CALL;
	else if (opcode == 0xe9 || opcode == 0xeb)
		effect->flow = FLOW_JUMP;
	else if (opcode == 0xc3 || opcode == 0xc2)
		effect->flow = FLOW_RETURN;
	else if (opcode == 0xcc || opcode == 0xf4 || opcode == 0xcb || opcode == 0xca ||
		 opcode == 0xcf)
		effect->flow = FLOW_STOP; /* int3, hlt, far returns */
	else
		return false;
	if (effect->flow == FLOW_BRANCH || effect->flow == FLOW_CALL || effect->flow == FLOW_JUMP) {
		effect->has_target = true;
		effect->target = read_signed(&parts->rest, is_near ? 4 : 1);
	}
	return true;
}

static void read_group_ff(struct stack_effect *effect, struct parts *parts)
{
	read_modrm(parts, &parts->rest);
	switch (parts->reg & 7) {
	case 2:
	case 3:
		effect->flow = FLOW_CALL;
		break;
	case 4:
	case 5:
		effect->flow = FLOW_INDIRECT;
		break;
	case 6:
		effect->sp = SP_MOVES;
		effect->bytes = -WORD_BYTES;
		break;
	default:
		if (parts->mode == 3)
			write_register(effect, parts->rm);
	}
}

static void read_push_or_pop(struct stack_effect *effect, const struct parts *parts)
{
	unsigned reg = (parts->opcode & 7) | (parts->rex & 1) << 3;
	bool is_register = (parts->opcode & 0xf0) == 0x50;
	bool is_pop =
		is_register ? parts->opcode & 8 : parts->opcode == 0x8f || parts->opcode == 0x9d;

	effect->sp = parts->has_16_bits ? SP_LOST : SP_MOVES;
	effect->bytes = is_pop ? WORD_BYTES : -WORD_BYTES;
	if (is_register && reg == FP)
		effect->fp = is_pop ? FP_POPPED : FP_PUSHED;
	else if (is_register && reg == SP && is_pop)
		effect->sp = SP_LOST;
}

static void read_one_byte(struct stack_effect *effect, struct parts *parts)
{
	uint8_t opcode = parts->opcode;

	if (read_flow(effect, parts))
		return;
	if ((opcode & 0xf0) == 0x50 || opcode == 0x68 || opcode == 0x6a || opcode == 0x8f ||
	    opcode == 0x9c || opcode == 0x9d) {
		read_push_or_pop(effect, parts);
	} else if (opcode == 0x81 || opcode == 0x83) {
		read_arithmetic(effect, parts);
	} else if (opcode == 0x89 || opcode == 0x8b || opcode == 0x8d) {
		read_move(effect, parts);
	} else if (opcode == 0xff) {
		read_group_ff(effect, parts);
	} else if (opcode == 0xc9) {
		effect->sp = SP_LEAVE;
	} else if (opcode == 0xc8) {
		effect->sp = SP_LOST;
		effect->fp = FP_WRITTEN;
	} else if (opcode == 0x90) {
		effect->is_padding = true;
	} else if (opcode > 0x90 && opcode < 0x98) { /* xchg with rax */
		write_register(effect, (opcode & 7) | (parts->rex & 1) << 3);
	} else if (opcode >= 0xb8 && opcode < 0xc0) {
		effect->number = parts->rex & 8 ? 0 : bytes_u32(&parts->rest);
		write_register(effect, (opcode & 7) | (parts->rex & 1) << 3);
	} else if (opcode < 0x40 && (opcode & 7) < 4 && (opcode & 1)) { /* arithmetic */
		read_modrm(parts, &parts->rest);
		if (opcode >= 0x38)
			return; /* cmp */
		if (opcode & 2)
			write_register(effect, parts->reg);
		else if (parts->mode == 3)
			write_register(effect, parts->rm);
		if ((opcode == 0x31 || opcode == 0x33) && parts->mode == 3 && parts->reg == FP &&
		    parts->rm == FP)
			effect->fp = FP_ZEROED;
	} else if (opcode == 0x63 || opcode == 0x69 || opcode == 0x6b) {
		read_modrm(parts, &parts->rest);
		write_register(effect, parts->reg);
	} else if (opcode == 0x87 || opcode == 0xc1 || opcode == 0xd1 || opcode == 0xd3 ||
		   opcode == 0xc7 || opcode == 0xf7) {
		read_modrm(parts, &parts->rest);
		if (opcode == 0x87)
			write_register(effect, parts->reg);
		if (opcode == 0xc7 && !parts->has_16_bits)
			effect->number = bytes_u32(&parts->rest);
		if (parts->mode == 3 &&
		    !(opcode == 0xf7 && (parts->reg & 7) != 2 && (parts->reg & 7) != 3))
			write_register(effect, parts->rm);
	}
}

void stack_effect_read(struct stack_effect *ret, const uint8_t *code, size_t nr)
{
	struct parts parts;

	size_t length = instruction_length(EM_X86_64, code, nr);

	*ret = (struct stack_effect){0};
	if (length && take_apart(&parts, code, length)) {
		if (parts.is_two_bytes)
			read_two_bytes(ret, &parts);
		else
			read_one_byte(ret, &parts);
	}
	ret->length = length & 15;
}
