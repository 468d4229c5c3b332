/*
 * Loading programs with compare and exchange in them on kernels that have no such instruction (before
 * Linux 5.12). Their verifier refuses it wherever it stands, also in code that can't be reached. So
 * the instruction is taken out just before a program is loaded; the program must know, by a constant,
 * not to get there.
 */
#ifndef STOOK_KERNEL_NO_EXCHANGE_H
#define STOOK_KERNEL_NO_EXCHANGE_H

#include <stddef.h>

#include <bpf/libbpf.h>
#include <linux/bpf.h>

/* Of a program that libbpf is about to load. 0 or a negative errno. */
int no_exchange_take_out_of(struct bpf_program *program);

/* Puts instructions that do nothing in the place of those that exchange. Pure. */
void no_exchange_take_out(struct bpf_insn *instructions, size_t nr);

#endif
