/*
 * How long machine instructions are, to tell whether a place is the beginning of one: a probe in
 * the middle of an instruction would change what the program does.
 */
#ifndef STOOK_ELF_IMAGE_INSTRUCTIONS_H
#define STOOK_ELF_IMAGE_INSTRUCTIONS_H

#include <stddef.h>
#include <stdint.h>

#define INSTRUCTION_MAX_BYTES 15 /* the longest of any machine here */

/*
 * Bytes of the instruction at code, of which nr bytes are there; 0: not understood, or cut off.
 * machine: EM_X86_64 (64-bit mode) or EM_AARCH64. Not every length is that of an instruction that
 * exists: bytes that make none where one is expected may be understood as one.
 */
size_t instruction_length(uint16_t machine, const uint8_t *code, size_t nr);

#endif
