/*
 * bpf/unwind_step.h on stacks saved from live programs (tests/tools/saved_stack.h describes the
 * format): it must find the frames that another unwinder found. No program, file or privilege is
 * needed: the text contains the stack words that were read and the rules that applied.
 *
 * Rules go through unwind_pack_rule(), like those of a table.
 */
#include <elf.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "bpf/wire.h"
#include "elf/unwind/unwind_table.h"
#include "unit/test.h"

#define MAX_WORDS 4096
#define STACKS	  "tests/replay/stacks/*.txt"

#if defined(__x86_64__)
#define OWN_MACHINE "x86-64"
#define OWN_ELF	    EM_X86_64
#else
#define OWN_MACHINE "arm64"
#define OWN_ELF	    EM_AARCH64
#endif

struct stack_word {
	uint64_t address, value;
};

struct rule_at {
	uint64_t address;
	struct unwind_rule rule;
};

struct stack {
	char machine[16], end[24];
	uint64_t regs[WIRE_RAW_HEAD];
	struct stack_word words[MAX_WORDS];
	struct rule_at rules[WIRE_MAX_USER_FRAMES];
	uint64_t frames[WIRE_MAX_USER_FRAMES];
	size_t nr_words, nr_rules, nr_frames;
};

static const char *const walk_end_names[NR_WALK_ENDS] = {
#define X(id, name, words) name,
	WALK_ENDS(X)
#undef X
};

/* --- interface of the step ----------------------------------------------------------------- */

struct unwind_memory {
	const struct stack *stack;
	const struct unwind_rule *wide; /* of the current frame */
	size_t hidden_word;		/* an unreadable word; nr_words: none */
};

static int unwind_read(const struct unwind_memory *memory, uint64_t address, __u64 *ret)
{
	size_t i;

	for (i = 0; i < memory->stack->nr_words; i++) {
		if (memory->stack->words[i].address != address)
			continue;
		*ret = memory->stack->words[i].value;
		return i == memory->hidden_word ? -1 : 0;
	}
	return -1;
}

static const struct unwind_rule *unwind_wide(const struct unwind_memory *memory, uint32_t number)
{
	return number ? NULL : memory->wide;
}

#include "bpf/unwind_step.h"

/* Finds the packed rule at an address; returns false if no mapping contains it. */
static bool find_rule(struct unwind_memory *memory, uint64_t address, uint32_t *ret)
{
	size_t i;

	for (i = 0; i < memory->stack->nr_rules; i++) {
		if (memory->stack->rules[i].address != address)
			continue;
		memory->wide = &memory->stack->rules[i].rule;
		if (!unwind_pack_rule(memory->wide, OWN_ELF, ret))
			*ret = UNWIND_PACK_NUMBER(UNWIND_BASE_WIDE, 0);
		return true;
	}
	return false;
}

static enum walk_end walk_stack(const struct stack *stack, size_t hidden_word, uint64_t *frames,
				size_t *ret_nr)
{
	struct unwind_walk walk = {.is_exact = 1, .known = ~0U, .pc = stack->regs[WIRE_RAW_PC]};
	struct unwind_memory memory = {.stack = stack, .hidden_word = hidden_word};
	enum walk_end end = WALK_NONE;
	size_t nr = 0;
	uint32_t packed;

	memcpy(walk.regs, stack->regs, sizeof(walk.regs));
	while (!end && nr < WIRE_MAX_USER_FRAMES) {
		if (!find_rule(&memory, walk.pc - !walk.is_exact, &packed)) {
			end = WALK_NO_MAPPING;
			break;
		}
		frames[nr] = walk.pc + (nr && walk.is_exact);
		nr++;
		end = (enum walk_end)unwind_step(&memory, &walk, packed);
	}
	*ret_nr = nr;
	return end;
}

/* --- parsing ------------------------------------------------------------------------------- */

/* Returns the index of a name in a list. */
static uint8_t number_of(const char *name, const char *const *names, size_t nr)
{
	size_t i;

	for (i = 0; i < nr && strcmp(names[i], name) != 0; i++)
		;
	CHECK(i < nr);
	return (uint8_t)i;
}

static void read_rule(struct stack *stack, const char *line)
{
	static const char *const cfas[] = {
		[UNWIND_CFA_NONE] = "none",	[UNWIND_CFA_END] = "end",
		[UNWIND_CFA_CHAIN] = "chain",	[UNWIND_CFA_REGISTER] = "register",
		[UNWIND_CFA_MEMORY] = "memory", [UNWIND_CFA_PLT] = "plt",
		[UNWIND_CFA_SIGNAL] = "signal", [UNWIND_CFA_GO_STACK] = "goroutine",
	};
	static const char *const places[] = {
		[UNWIND_SAME] = "same",	     [UNWIND_AT_CFA] = "cfa", [UNWIND_AT_REGISTER] = "at",
		[UNWIND_IN_REGISTER] = "in", [UNWIND_LOST] = "lost",
	};
	struct rule_at *at = &stack->rules[stack->nr_rules++];
	int reg, offset, add, ra_reg, ra_offset, fp_reg, fp_offset;
	char cfa[16], ra[16], fp[16];

	CHECK(stack->nr_rules < WIRE_MAX_USER_FRAMES);
	CHECK_EQ(sscanf(line, "rule %" SCNx64 " cfa %15s %d %d %d ra %15s %d %d fp %15s %d %d",
			&at->address, cfa, &reg, &offset, &add, ra, &ra_reg, &ra_offset, fp,
			&fp_reg, &fp_offset),
		 11);
	at->rule = (struct unwind_rule){
		.cfa = number_of(cfa, cfas, ARRAY_SIZE(cfas)),
		.reg = (uint8_t)reg,
		.is_signal_frame = strstr(line, " signal\n") != NULL,
		.offset = offset,
		.add = add,
		.ra = {number_of(ra, places, ARRAY_SIZE(places)), (uint8_t)ra_reg, ra_offset},
		.fp = {number_of(fp, places, ARRAY_SIZE(places)), (uint8_t)fp_reg, fp_offset},
	};
}

static void read_line(struct stack *stack, const char *line)
{
	struct stack_word word;
	uint64_t value;
	size_t number;

	if (sscanf(line, "reg %zu %" SCNx64, &number, &value) == 2 && number < WIRE_RAW_HEAD)
		stack->regs[number] = value;
	else if (sscanf(line, "word %" SCNx64 " %" SCNx64, &word.address, &word.value) == 2 &&
		 stack->nr_words < MAX_WORDS)
		stack->words[stack->nr_words++] = word;
	else if (!strncmp(line, "rule ", 5))
		read_rule(stack, line);
	else if (sscanf(line, "frame %" SCNx64, &value) == 1 &&
		 stack->nr_frames < WIRE_MAX_USER_FRAMES)
		stack->frames[stack->nr_frames++] = value;
	else if (sscanf(line, "machine %15s", stack->machine) != 1 &&
		 sscanf(line, "end %23s", stack->end) != 1)
		CHECK(!strncmp(line, "map ", 4) || line[0] == '#');
}

/* Returns false if the stack is from another machine type. */
static bool read_stack(struct stack *stack, const char *path)
{
	FILE *file = fopen(path, "re");
	char line[512];

	CHECK(file != NULL);
	memset(stack, 0, sizeof(*stack));
	while (fgets(line, sizeof(line), file))
		read_line(stack, line);
	(void)fclose(file);
	CHECK(stack->nr_frames > 0 && stack->machine[0] && stack->end[0]);
	return !strcmp(stack->machine, OWN_MACHINE);
}

/* --- tests --------------------------------------------------------------------------------- */

/* Calls `check` with each stack of this machine type. */
static void for_all_stacks(void (*check)(const struct stack *stack, const char *path))
{
	static struct stack stack;
	size_t nr = 0, i;
	glob_t found;

	CHECK_EQ(glob(STACKS, 0, NULL, &found), 0);
	for (i = 0; i < found.gl_pathc; i++) {
		if (!read_stack(&stack, found.gl_pathv[i]))
			continue;
		check(&stack, found.gl_pathv[i]);
		nr++;
	}
	globfree(&found);
	if (!nr)
		SKIP("stacks that were saved on " OWN_MACHINE);
}

static void check_frames(const struct stack *stack, const char *path)
{
	static uint64_t frames[WIRE_MAX_USER_FRAMES];
	size_t nr, i;
	enum walk_end end = walk_stack(stack, stack->nr_words, frames, &nr);

	fprintf(stderr, "%s: %zu frames, %s\n", path, nr, walk_end_names[end]);
	CHECK_EQ(nr, stack->nr_frames);
	for (i = 0; i < nr; i++)
		CHECK_EQ(frames[i], stack->frames[i]);
	CHECK_STR(walk_end_names[end], stack->end);
}

TEST(replay_finds_the_frames)
{
	for_all_stacks(check_frames);
}

/* A stack with an unreadable word gives fewer frames, and no wrong ones. */
static void check_without_a_word(const struct stack *stack, const char *path)
{
	static uint64_t frames[WIRE_MAX_USER_FRAMES];
	size_t hidden, nr, i;

	(void)path;
	for (hidden = 0; hidden < stack->nr_words; hidden++) {
		(void)walk_stack(stack, hidden, frames, &nr);
		CHECK(nr > 0 && nr <= stack->nr_frames);
		for (i = 0; i < nr; i++)
			CHECK_EQ(frames[i], stack->frames[i]);
	}
}

TEST(replay_invents_nothing)
{
	for_all_stacks(check_without_a_word);
}
