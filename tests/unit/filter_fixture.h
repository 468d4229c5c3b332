/* A tracepoint's format, a record of it, and an interpreter of the instructions that a filter is compiled to. */
#ifndef STOOK_TESTS_UNIT_FILTER_FIXTURE_H
#define STOOK_TESTS_UNIT_FILTER_FIXTURE_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "unit/test.h"

static const char format[] = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
			     "\n"
			     "\tfield:u32 dev;\toffset:8;\tsize:4;\tsigned:0;\n"
			     "\tfield:s8 level;\toffset:12;\tsize:1;\tsigned:1;\n"
			     "\tfield:u16 flags;\toffset:14;\tsize:2;\tsigned:0;\n"
			     "\tfield:u64 sector;\toffset:16;\tsize:8;\tsigned:0;\n"
			     "\tfield:int error;\toffset:24;\tsize:4;\tsigned:1;\n"
			     "\tfield:u32 odd;\toffset:29;\tsize:4;\tsigned:0;\n"
			     "\tfield:char name[8];\toffset:40;\tsize:8;\tsigned:0;\n"
			     "\tfield:__data_loc char[] cmd;\toffset:48;\tsize:4;\tsigned:0;\n"
			     "\tfield:__rel_loc char[] path;\toffset:52;\tsize:4;\tsigned:0;\n"
			     "\tfield:unsigned long args[6];\toffset:56;\tsize:48;\tsigned:0;\n"
			     /* As no tracepoint has them: where programs cannot read. */
			     "\tfield:u8 early;\toffset:2;\tsize:1;\tsigned:0;\n"
			     "\tfield:u8 distant;\toffset:40000;\tsize:1;\tsigned:0;\n";

static struct {
	uint64_t registers;
	uint32_t dev;
	int8_t level;
	uint8_t pad;
	uint16_t flags;
	uint64_t sector;
	int32_t error;
	uint8_t odd[12];
	char name[8];
	uint32_t cmd, path;
	uint64_t args[6];
	char texts[32];
} record = {
	.dev = 0x80000001,
	.level = -3,
	.flags = 0x12,
	.sector = UINT64_MAX,
	.error = -2,
	.name = {'f', 'u', 'l', 'l', 'n', 'a', 'm', 'e'},
	.cmd = 11 << 16 | 104,
	.path = 5 << 16 | (104 + 16 - 56),
	.texts = "git status\0     /tmp",
};

/* --- an interpreter ---------------------------------------------------------------------------- */

static inline uint64_t call(int32_t function, const uint64_t *registers)
{
	char *to = (char *)registers[1];

	switch (function) {
	case BPF_FUNC_get_current_pid_tgid:
		return 77ULL << 32 | 78;
	case BPF_FUNC_get_smp_processor_id:
		return 3;
	case BPF_FUNC_get_current_comm:
		memset(to, 0, registers[2]);
		memcpy(to, "worker", 6);
		return 0;
	case BPF_FUNC_probe_read_kernel_str:
		return (uint64_t)snprintf(to, registers[2], "%s", (const char *)registers[3]) + 1;
	}
	CHECK(false);
	return 0;
}

static inline uint64_t load(uint8_t size, uint64_t address)
{
	uint64_t value = 0;

	memcpy(&value, (const void *)address,
	       size == BPF_B   ? 1
	       : size == BPF_H ? 2
	       : size == BPF_W ? 4
			       : 8);
	return value;
}

static inline bool jumps(uint8_t operation, uint64_t to, uint64_t from)
{
	switch (operation) {
	case BPF_JA:
		return true;
	case BPF_JEQ:
		return to == from;
	case BPF_JNE:
		return to != from;
	case BPF_JLT:
		return to < from;
	case BPF_JLE:
		return to <= from;
	case BPF_JGT:
		return to > from;
	case BPF_JGE:
		return to >= from;
	case BPF_JSLT:
		return (int64_t)to < (int64_t)from;
	case BPF_JSLE:
		return (int64_t)to <= (int64_t)from;
	case BPF_JSGT:
		return (int64_t)to > (int64_t)from;
	case BPF_JSGE:
		return (int64_t)to >= (int64_t)from;
	case BPF_JSET:
		return to & from;
	}
	CHECK(false);
	return false;
}

static inline uint64_t calculate(uint8_t operation, uint64_t to, uint64_t from)
{
	switch (operation) {
	case BPF_MOV:
		return from;
	case BPF_ADD:
		return to + from;
	case BPF_AND:
		return to & from;
	case BPF_LSH:
		return to << from;
	case BPF_RSH:
		return to >> from;
	case BPF_ARSH:
		return (uint64_t)((int64_t)to >> from);
	}
	CHECK(false);
	return 0;
}

/* True if the instructions run into what follows; they must not if they end the program, with 1. */
static inline bool run(const struct bpf_insn *instructions, size_t nr)
{
	uint64_t stack[64], registers[11] = {0};
	size_t i;

	registers[1] = (uint64_t)&record;
	registers[10] = (uint64_t)(stack + ARRAY_SIZE(stack));
	for (i = 0; i < nr; i++) {
		const struct bpf_insn *at = &instructions[i];
		uint64_t *to = &registers[at->dst_reg];
		const uint64_t from = BPF_SRC(at->code) == BPF_X ? registers[at->src_reg]
								 : (uint64_t)(int64_t)at->imm;

		switch (BPF_CLASS(at->code)) {
		case BPF_LD:
			*to = (uint32_t)at->imm | (uint64_t)(uint32_t)at[1].imm << 32;
			i++;
			break;
		case BPF_LDX:
			*to = load(BPF_SIZE(at->code), registers[at->src_reg] + (uint64_t)at->off);
			break;
		case BPF_ALU64:
			*to = calculate(BPF_OP(at->code), *to, from);
			break;
		default:
			if (BPF_OP(at->code) == BPF_EXIT) {
				CHECK_EQ(registers[0], 1);
				return false;
			}
			if (BPF_OP(at->code) == BPF_CALL)
				registers[0] = call(at->imm, registers);
			else if (jumps(BPF_OP(at->code), *to, from))
				i += (size_t)at->off;
		}
		CHECK(i < nr);
	}
	CHECK_EQ(i, nr);
	CHECK_EQ(registers[1], (uint64_t)&record);
	return true;
}

#endif
