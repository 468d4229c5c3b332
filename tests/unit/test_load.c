/* kernel/load: instructions that old kernels do not know are removed from programs. */
#include "unit/test.h"

#include <string.h>

#include "kernel/load.h"

static struct bpf_insn atomic(uint8_t size, int32_t what)
{
	return (struct bpf_insn){.code = (uint8_t)(BPF_STX | BPF_ATOMIC | size),
				 .dst_reg = 1,
				 .src_reg = 2,
				 .off = 8,
				 .imm = what};
}

TEST(load_takes_out_what_exchanges)
{
	struct bpf_insn program[] = {
		atomic(BPF_DW, BPF_CMPXCHG),
		atomic(BPF_W, BPF_XCHG),
		atomic(BPF_DW, BPF_ADD | BPF_FETCH),
		atomic(BPF_DW, BPF_ADD), /* supported everywhere */
		{.code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = 10, .src_reg = 1, .off = -8},
		{.code = BPF_JMP | BPF_EXIT},
	};
	const struct bpf_insn nothing = {.code = BPF_JMP | BPF_JA};
	struct bpf_insn before[6];
	size_t i;

	memcpy(before, program, sizeof(before));
	load_remove_exchange(program, 6);
	for (i = 0; i < 6; i++)
		CHECK(!memcmp(&program[i], i < 3 ? &nothing : &before[i], sizeof(nothing)));
}

/* A 64-bit constant takes two instructions, and its second half may look like any instruction. */
TEST(load_leaves_constants_alone)
{
	struct bpf_insn program[] = {
		{.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .imm = 1},
		atomic(BPF_DW, BPF_CMPXCHG),
		atomic(BPF_DW, BPF_CMPXCHG),
	};
	struct bpf_insn before[3];

	memcpy(before, program, sizeof(before));
	load_remove_exchange(program, 3);
	CHECK(!memcmp(program, before, 2 * sizeof(before[0])));
	CHECK(memcmp(&program[2], &before[2], sizeof(before[0])) != 0);
}

TEST(load_takes_nothing_out_of_nothing)
{
	load_remove_exchange(NULL, 0);
}
