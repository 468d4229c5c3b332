/*
 * The effect of an x86-64 instruction on control flow, the stack pointer and the frame pointer, as
 * needed to track a frame through code (elf/unwind/code_frames).
 */
#ifndef STOOK_ELF_IMAGE_STACK_EFFECT_H
#define STOOK_ELF_IMAGE_STACK_EFFECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Control flow. */
enum code_flow {
	FLOW_ON,     /* to the next instruction */
	FLOW_BRANCH, /* to the next instruction or the target */
	FLOW_JUMP,
	FLOW_CALL,
	FLOW_RETURN,
	FLOW_INDIRECT, /* to an address in a register or memory */
	FLOW_STOP,     /* traps */
};

/* The effect on the stack pointer. */
enum sp_effect {
	SP_STAYS,
	SP_MOVES,   /* by `bytes` */
	SP_FROM_FP, /* set to the frame pointer + bytes */
	SP_LEAVE,   /* set to the frame pointer, which is popped */
	SP_LOST,    /* anything else */
};

/* The effect on the frame pointer. */
enum fp_effect {
	FP_KEPT,
	FP_PUSHED,
	FP_POPPED,
	FP_STORED,  /* at sp + fp_bytes */
	FP_LOADED,  /* from sp + fp_bytes */
	FP_FROM_SP, /* set to the stack pointer + fp_bytes */
	FP_ZEROED,
	FP_WRITTEN, /* in any other way */
};

/* Small, since many are kept: 20 bytes. */
struct stack_effect {
	unsigned length : 4; /* 0: not an instruction, or truncated */
	enum code_flow flow : 4;
	enum sp_effect sp : 4;
	enum fp_effect fp : 4;
	bool has_target : 1;
	bool is_padding : 1; /* a no-op */
	bool is_address : 1; /* `lea` of the target address */
	int32_t target;	     /* relative to the end of the instruction */
	int32_t bytes;
	int32_t fp_bytes;
	uint32_t number; /* immediate loaded into a register: maybe an address (non-PIE) */
};

/*
 * Decodes the instruction at code, of which nr bytes are available. Writes of the stack pointer
 * that have no value above are SP_LOST, of the frame pointer FP_WRITTEN.
 */
void stack_effect_read(struct stack_effect *ret, const uint8_t *code, size_t nr);

#endif
