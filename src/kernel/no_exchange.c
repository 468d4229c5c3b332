/*
 * libbpf has put all that a program calls behind it by then, so one pass over its instructions does.
 */
#include "kernel/no_exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static bool is_exchange(const struct bpf_insn *instruction)
{
	return BPF_CLASS(instruction->code) == BPF_STX &&
	       BPF_MODE(instruction->code) == BPF_ATOMIC && instruction->imm != BPF_ADD;
}

void no_exchange_take_out(struct bpf_insn *instructions, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (is_exchange(&instructions[i]))
			instructions[i] = (struct bpf_insn){.code = BPF_JMP | BPF_JA};
		else if (instructions[i].code == (BPF_LD | BPF_IMM | BPF_DW))
			i++; /* its second half is no instruction */
	}
}

int no_exchange_take_out_of(struct bpf_program *program)
{
	size_t nr = bpf_program__insn_cnt(program);
	cleanup_free struct bpf_insn *copy = calloc(nr, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	memcpy(copy, bpf_program__insns(program), nr * sizeof(*copy));
	no_exchange_take_out(copy, nr);
	return bpf_program__set_insns(program, copy, nr);
}
