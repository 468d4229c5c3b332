/*
 * Properties of machine instructions that probes depend on. Their length, to find instruction
 * boundaries: a probe in the middle of an instruction would corrupt the program. And the effect of
 * a uprobe on an instruction: the kernel puts a breakpoint there, and then either single-steps a
 * copy of the instruction or emulates it.
 */
#ifndef STOOK_ELF_IMAGE_INSTRUCTIONS_H
#define STOOK_ELF_IMAGE_INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSTRUCTION_MAX_BYTES 15 /* the maximum of all machines */

/*
 * The length of the instruction at code, of which nr bytes are available; 0: not understood, or
 * truncated. machine: EM_X86_64 (64-bit mode) or EM_AARCH64. Some byte sequences that are not valid
 * instructions get a length, too.
 */
size_t instruction_length(uint16_t machine, const uint8_t *code, size_t nr);

/* Number of bytes that the functions below need. */
#define UPROBE_CODE_BYTES 12

/*
 * True if the kernel has to single-step the instruction, which costs a second trap; in virtual
 * machines that may cost ten times the first.
 *
 * machine: EM_X86_64 or EM_AARCH64. An older kernel may single-step instructions that a newer one
 * emulates; true if that is uncertain.
 */
bool uprobe_code_is_stepped(uint16_t machine, const uint8_t *code, size_t nr);

/*
 * True if the kernel mistakes the instruction for another one and emulates, or corrects, that one:
 * a probe there would break the program. On x86 Linux ignores the opcode map, and so mistakes
 * vector instructions (VEX, EVEX) for a branch, `nop` or `popf` with the same opcode byte in
 * another map: it skips them, or kills the program. Seen on 6.18 with `vpbroadcastb`, with which
 * memset() and strchr() begin: grep, bash and compilers crash.
 */
bool uprobe_code_breaks(uint16_t machine, const uint8_t *code, size_t nr);

/*
 * True if the kernel replaces the instruction by a call, as on x86 since Linux 6.18 with a 5-byte
 * `nop` that was hit: that is faster, but the call writes its return address below the stack
 * pointer, where a leaf function may keep its data (red zone). Seen on 6.18: the function computes
 * wrong results. At a function's beginning the red zone is not in use yet.
 */
bool uprobe_code_becomes_call(uint16_t machine, const uint8_t *code, size_t nr);

/*
 * True if the kernel certainly rejects a probe there. One such place fails a whole link, and each
 * attempt to find it costs a grace period, so it is better to know beforehand. On arm64 also for a load relative to the
 * program counter: kernels before 6.12, unless they were mended, read the program's memory for it as if it were their
 * own, which is an oops where the processor forbids that (PAN).
 */
bool uprobe_code_is_refused(uint16_t machine, const uint8_t *code, size_t nr);

/*
 * True if the kernel may reject a probe there: a guess from the first byte, so that a few places have to be tried one
 * by one instead of all of a link that failed.
 */
bool uprobe_code_is_doubtful(uint16_t machine, const uint8_t *code, size_t nr);

#endif
