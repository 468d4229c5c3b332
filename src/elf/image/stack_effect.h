/*
 * Effects of an x86-64 instruction on control flow, the stack pointer and the frame pointer: all that
 * is needed to follow a frame through code (elf/unwind/code_frames).
 */
#ifndef STOOK_ELF_IMAGE_STACK_EFFECT_H
#define STOOK_ELF_IMAGE_STACK_EFFECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where execution goes. */
enum code_flow {
	FLOW_ON,     /* to the next one */
	FLOW_BRANCH, /* there, or to the target */
	FLOW_JUMP,
	FLOW_CALL,
	FLOW_RETURN,
	FLOW_INDIRECT, /* to where a register or memory says */
	FLOW_STOP,     /* traps */
};

/* The effect on the stack pointer. */
enum sp_effect {
	SP_STAYS,
	SP_MOVES,   /* by `bytes` */
	SP_FROM_FP, /* is the frame pointer + bytes */
	SP_LEAVE,   /* is the frame pointer, which is popped */
	SP_LOST,    /* anything else */
};

/* The effect on the frame pointer. */
enum fp_effect {
	FP_KEPT,
	FP_PUSHED,
	FP_POPPED,
	FP_STORED,  /* at sp + fp_bytes */
	FP_LOADED,  /* from there */
	FP_FROM_SP, /* is the stack pointer + fp_bytes */
	FP_ZEROED,
	FP_WRITTEN, /* any other way */
};

struct stack_effect {
	size_t length; /* 0: no instruction, or cut off */
	enum code_flow flow;
	bool has_target;
	int64_t target; /* from the end of the instruction */
	enum sp_effect sp;
	int64_t bytes;
	enum fp_effect fp;
	int64_t fp_bytes;
	bool is_padding; /* one that does nothing */
	bool is_address; /* `lea` of what is at the target */
	uint32_t number; /* put into a register: an address, in programs that are linked low */
};

/*
 * Reads the instruction at code, of which nr bytes are there. An instruction that writes the stack
 * pointer in a way that has no value above is SP_LOST, and FP_WRITTEN likewise.
 */
void stack_effect_read(struct stack_effect *ret, const uint8_t *code, size_t nr);

#endif
