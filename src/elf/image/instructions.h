/*
 * Machine instructions as probes need them. Their lengths, to find where each begins: a probe in
 * the middle of an instruction would change what the program does. And what a uprobe on an
 * instruction means: the kernel puts a breakpoint there, and then either steps over a copy of the
 * instruction, or does itself what it would do.
 */
#ifndef STOOK_ELF_IMAGE_INSTRUCTIONS_H
#define STOOK_ELF_IMAGE_INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSTRUCTION_MAX_BYTES 15 /* the longest of any machine here */

/*
 * Bytes of the instruction at code, of which nr bytes are there; 0: not understood, or cut off.
 * machine: EM_X86_64 (64-bit mode) or EM_AARCH64. Not every length is that of an instruction that
 * exists: bytes that make none where one is expected may be understood as one.
 */
size_t instruction_length(uint16_t machine, const uint8_t *code, size_t nr);

/* Enough of the code to tell. */
#define UPROBE_CODE_BYTES 12

/*
 * True if the kernel has to step over it, which costs a second trap; in virtual machines that may
 * cost ten times the first.
 *
 * machine: EM_X86_64 or EM_AARCH64. An older kernel may step over what a newer one does itself;
 * true if that is not known for sure.
 */
bool uprobe_code_is_stepped(uint16_t machine, const uint8_t *code, size_t nr);

/*
 * True if the kernel takes the instruction for another one and does, or mends, what that would do:
 * a probe there would break the program. On x86 Linux looks at opcodes as if they stood alone, and
 * so takes vector instructions (VEX, EVEX) whose opcode means a branch, `nop` or `popf` in another
 * table for those: it skips them, or kills the program. Seen on 6.18 with `vpbroadcastb`, with
 * which memset() and strchr() begin: grep, bash and compilers crash.
 */
bool uprobe_code_breaks(uint16_t machine, const uint8_t *code, size_t nr);

/*
 * True if the kernel makes a call of it, as it does on x86 since Linux 6.18 with a `nop` of five
 * bytes that was hit: that is quicker, but the call's return address is written below the stack
 * pointer, where a function that calls nobody may keep what it works on. Seen on 6.18: the function
 * computes nonsense. At a function's beginning there is nothing there yet.
 */
bool uprobe_code_becomes_call(uint16_t machine, const uint8_t *code, size_t nr);

/*
 * True if the kernel takes no probe there for sure. One such place fails a whole link, and each
 * attempt to find it costs a grace period, so it is better known beforehand.
 */
bool uprobe_code_is_refused(uint16_t machine, const uint8_t *code, size_t nr);

#endif
