/*
 * probe/find/tracepoint_filter: instructions are run by an interpreter over a record; tests/live/filters.sh compares the
 * hits that they choose with the ones that the kernel's filter counts.
 */
#include "unit/test.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "probe/find/tracepoint_filter.h"

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
			     "\tfield:unsigned long args[6];\toffset:56;\tsize:48;\tsigned:0;\n";

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

static uint64_t call(int32_t function, const uint64_t *registers)
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

static uint64_t load(uint8_t size, uint64_t address)
{
	uint64_t value = 0;

	memcpy(&value, (const void *)address,
	       size == BPF_B   ? 1
	       : size == BPF_H ? 2
	       : size == BPF_W ? 4
			       : 8);
	return value;
}

static bool jumps(uint8_t operation, uint64_t to, uint64_t from)
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

static uint64_t calculate(uint8_t operation, uint64_t to, uint64_t from)
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
static bool run(const struct bpf_insn *instructions, size_t nr)
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

/* --- what filters choose ------------------------------------------------------------------------ */

static const struct {
	const char *text;
	bool is_chosen;
} filters[] = {
	{"dev == 0x80000001", true},
	{"dev > 0x80000000", true},
	{"dev < 0", false},
	{"dev == 6442450945", true}, /* truncated to 32 bits, as in the kernel */
	{"level < 0", true},
	{"level == -3", true},
	{"level == 253", true},
	{"level >= -2", false},
	{"level <= -3", true},
	{"flags & 2", true},
	{"flags & 4", false},
	{"flags&0x10", true},
	{"sector == 18446744073709551615", true},
	{"sector > 5", true},
	{"error != -2", false},
	{"  error==-2  ", true},
	{"common_pid == 78", true},
	{"common_pid != 78", false},
	{"CPU == 3", true},
	{"cpu > 3", false},
	{"comm == \"worker\"", true},
	{"COMM == 'work'", false},
	{"comm ~ \"work*\"", true},
	{"name == \"fullname\"", true},
	{"name == 'fullnam'", false},
	{"name != 'fullnam'", true},
	{"name ~ 'fullname*'", true},
	{"name ~ '*'", true},
	{"name != 'fullname'", false},
	{"cmd == 'git status'", true},
	{"cmd == 'git'", false},
	{"cmd ~ 'git *'", true},
	{"cmd == ''", false},
	{"path == '/tmp'", true},
	{"path ~ '/var*'", false},
	{"dev == 1 || level == -3", true},
	{"dev == 1 || level == 3", false},
	{"level == -3 && error == -2", true},
	{"level == -3 && error == 2", false},
	{"level == 3 && error == 2 || flags & 2", true},
	{"level == 3 && (error == 2 || flags & 2)", false},
	{"flags & 2 || level == 3 && error == 2", true},
	{"!level == 3", true},
	{"!(level == -3 && error == -2)", false},
	{"!!level == -3", true},
	{"!(!(level == 3 || !(error == -2)) && name == 'x')", true},
	{"(((level == -3)))", true},
};

TEST(filters_choose_hits)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(filters); i++) {
		struct bpf_insn *instructions = NULL;
		struct error error = {0};
		size_t nr = 0;
		int err = tracepoint_filter_compile("a:b", format, filters[i].text, &instructions,
						    &nr, &error);

		if (err || run(instructions, nr) != filters[i].is_chosen)
			(void)fprintf(stderr, "%s: %s\n", filters[i].text, error.text);
		CHECK_EQ(err, 0);
		CHECK_EQ(run(instructions, nr), filters[i].is_chosen);
		free(instructions);
	}
}

/* --- what is refused ---------------------------------------------------------------------------- */

static const struct {
	const char *text;
	int code;
	const char *error, *hint; /* parts */
} refusals[] = {
	{"", -EINVAL, "bad filter '' of 'a:b': a field expected (column 1)",
	 "its fields are dev, level, flags, sector,"},
	{"devv == 1", -EINVAL, "no field 'devv' (column 1)", "its fields are dev"},
	{"dev", -EINVAL, "==, !=, <, <=, >, >=, & or ~ expected (column 4)", ""},
	{"dev && level == 1", -EINVAL, "expected (column 5)", ""},
	{"dev == ", -EINVAL, "a number expected (column 8)", ""},
	{"dev == x", -EINVAL, "a number expected (column 8)", ""},
	{"dev == 1x", -EINVAL, "bad number (column 8)", ""},
	{"dev == 99999999999999999999", -EINVAL, "bad number", ""},
	{"dev ~ 'x'", -EINVAL, "~ is for texts", ""},
	{"dev == 1 level", -EINVAL, "&& or || expected (column 10)", ""},
	{"dev == 1 &&", -EINVAL, "a field expected (column 12)", ""},
	{"(dev == 1", -EINVAL, "')' expected (column 10)", ""},
	{"dev == 1)", -EINVAL, "&& or || expected (column 9)", ""},
	{"name == full", -EINVAL, "a text in quotes expected (column 9)", ""},
	{"name == 'full", -EINVAL, "the quote is not closed (column 9)", ""},
	{"name > 'full'", -EINVAL, "texts are compared by ==, != or ~", ""},
	{"args == 1", -EINVAL, "'args' is no number and no text", ""},
	{"odd == 1", -EOPNOTSUPP, "odd cannot be evaluated for stacks", "stook stat -e a:b"},
	{"common_type == 1", -EOPNOTSUPP, "common_type cannot be evaluated", "stook stat"},
	{"name ~ '*name'", -EOPNOTSUPP, "a glob other than 'text*'", "stook stat"},
	{"cmd == '0123456789012345678901234567890123456789012345678901234567890123'", -EOPNOTSUPP,
	 "a text of more than 63 bytes", "stook stat"},
	{"((((((((((((((((((((((((((((((((((dev == 1))))))))))))))))))))))))))))))))))", -EINVAL,
	 "too many levels (column 33)", ""},
};

TEST(wrong_filters_are_explained)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		struct bpf_insn *instructions = NULL;
		struct error error = {0};
		size_t nr = 0;

		CHECK_EQ(tracepoint_filter_compile("a:b", format, refusals[i].text, &instructions,
						   &nr, &error),
			 refusals[i].code);
		if (!strstr(error.text, refusals[i].error) || !strstr(error.hint, refusals[i].hint))
			(void)fprintf(stderr, "%s: %s (%s)\n", refusals[i].text, error.text,
				      error.hint);
		CHECK(strstr(error.text, refusals[i].error) != NULL);
		CHECK(strstr(error.hint, refusals[i].hint) != NULL);
		CHECK(!instructions);
	}
}

TEST(a_filter_that_only_the_kernel_rejects_is_told)
{
	struct error error = {0};

	CHECK_EQ(tracepoint_filter_explain("a:b", format, "name ~ '*x*'", &error), -EINVAL);
	CHECK(strstr(error.text, "the kernel rejects the filter 'name ~ '*x*'' of 'a:b'") != NULL);
	CHECK_EQ(tracepoint_filter_explain("a:b", format, "naem == 1", &error), -EINVAL);
	CHECK(strstr(error.text, "no field 'naem' (column 1)") != NULL);
}

/* Every beginning of a filter, and memory that runs out at every allocation. */
TEST(filters_that_end_early)
{
	static const char whole[] = "!(dev == 1 || name ~ 'fu*') && cmd != \"git\" && flags & 0x2";
	size_t nth, nr_bytes;

	for (nr_bytes = 0; nr_bytes < sizeof(whole); nr_bytes++) {
		char *text = strndup(whole, nr_bytes);
		struct bpf_insn *instructions = NULL;
		size_t nr;

		(void)tracepoint_filter_compile("a:b", format, text, &instructions, &nr, NULL);
		free(instructions);
		free(text);
	}
	for (nth = 1; nth < 100; nth++) {
		struct bpf_insn *instructions = NULL;
		size_t nr;
		int err;

		(void)test_fail_allocation(nth);
		err = tracepoint_filter_compile("a:b", format, whole, &instructions, &nr, NULL);
		(void)test_fail_allocation(0);
		free(instructions);
		if (!err)
			return;
	}
	CHECK(false);
}
