/*
 * bpf/unwind_step.h and bpf/unwind_lookup.h: arbitrary registers, stacks and tables, as from a
 * hostile program and a corrupted pool. A walk must end within the limit of frames, and read only
 * the stack and the chunk, whose buffers have exactly their sizes.
 *
 * The input: the number of stack words; 33 registers (the stack pointer is moved onto the stack);
 * the stack; the rest, which is repeated at both ends of the pool's only chunk. Stack words below
 * STACK_WORDS become pointers into the stack, so that walks get past the first frame.
 *
 *	make fuzz && build/fuzz/fuzz_step -max_len=4096 CORPUS
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bpf/unwind_pool.h"
#include "bpf/wire.h"
#include "fuzz/fuzz.h"

#define MAX_FRAMES   WIRE_MAX_USER_FRAMES
#define STACK_WORDS  256
#define FILLED_BYTES 16384 /* bytes filled at each end of the chunk */
#define STACK_START  0x7ffd00000000ULL

struct unwind_memory {
	uint64_t *stack; /* STACK_WORDS */
	char *chunk;
	struct unwind_rule wide;
	const struct unwind_table_entry *table;
	unsigned nr_reads; /* in the current step */
};

static int unwind_read(struct unwind_memory *memory, uint64_t address, __u64 *ret)
{
	uint64_t word = (address - STACK_START) / sizeof(uint64_t);

	if (++memory->nr_reads > 16)
		abort(); /* too many reads for the kernel */
	if (address < STACK_START || address % sizeof(uint64_t) || word >= STACK_WORDS)
		return -1;
	*ret = memory->stack[word];
	return 0;
}

/* All places of the first chunks map to the only chunk. */
static char *unwind_chunk(const struct unwind_memory *memory, uint32_t place)
{
	return POOL_CHUNK(place) < POOL_MAX_CHUNKS / 2 ? memory->chunk : NULL;
}

#define UNWIND_ITEM(chunk, offset, type) \
	((type *)((chunk) + ((offset) & (POOL_CHUNK_BYTES - 1) & ~(sizeof(type) - 1))))

#include "bpf/unwind_lookup.h"

static const struct unwind_rule *unwind_wide(struct unwind_memory *memory, uint32_t number)
{
	if (unwind_read_wide(memory, memory->table, number, &memory->wide))
		return NULL;
	return &memory->wide;
}

#include "bpf/unwind_step.h"

/*
 * Aborts unless the step keeps the invariant: the stack pointer grows, except over signal frames
 * and in code that keeps frame pointers throughout.
 */
static void check_step(const struct unwind_walk *before, const struct unwind_walk *after,
		       uint32_t packed, const struct unwind_rule *wide)
{
	if (after->regs[UNWIND_REG_SP] & 7 || after->pc & ~UNWIND_ADDRESS_MASK)
		abort();
	if (after->is_exact ||
	    packed == UNWIND_PACK_NUMBER(UNWIND_BASE_SPECIAL, UNWIND_CFA_CHAIN) ||
	    (UNWIND_PACKED_BASE(packed) == UNWIND_BASE_WIDE && wide->cfa == UNWIND_CFA_GO_STACK))
		return;
	if (after->regs[UNWIND_REG_SP] < before->regs[UNWIND_REG_SP])
		abort();
	if (after->regs[UNWIND_REG_SP] == before->regs[UNWIND_REG_SP] && !before->is_exact)
		abort();
}

static void walk_all(struct unwind_memory *memory, struct unwind_walk *walk)
{
	unsigned nr;

	for (nr = 0; nr < MAX_FRAMES; nr++) {
		struct unwind_walk before = *walk;
		uint64_t offset = (walk->pc - !walk->is_exact) & 0xffffff;
		uint32_t packed = unwind_find_rule(memory, memory->table, offset);
		int end;

		memory->nr_reads = 0;
		end = unwind_step(memory, walk, packed);
		if (end < 0 || end >= NR_WALK_ENDS)
			abort();
		if (end)
			return;
		check_step(&before, walk, packed, &memory->wide);
	}
}

static const uint8_t *take(const uint8_t **bytes, size_t *nr, size_t wanted)
{
	const uint8_t *taken = *bytes;

	if (*nr < wanted)
		return NULL;
	*bytes += wanted;
	*nr -= wanted;
	return taken;
}

static void fill_chunk(char *chunk, const uint8_t *bytes, size_t nr)
{
	size_t at, piece;

	for (at = 0; nr && at < FILLED_BYTES; at += piece) {
		piece = nr < FILLED_BYTES - at ? nr : FILLED_BYTES - at;
		memcpy(chunk + at, bytes, piece);
		memcpy(chunk + POOL_CHUNK_BYTES - FILLED_BYTES + at, bytes, piece);
	}
}

static void read_stack(struct unwind_memory *memory, const uint8_t *bytes, size_t nr_words)
{
	size_t i;

	memcpy(memory->stack, bytes, nr_words * sizeof(uint64_t));
	for (i = 0; i < nr_words; i++)
		if (memory->stack[i] < STACK_WORDS)
			memory->stack[i] = STACK_START + memory->stack[i] * sizeof(uint64_t);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr)
{
	static char *chunk; /* 1 MiB with its own red zone; too slow to allocate for each input */
	cleanup_free uint64_t *stack = calloc(STACK_WORDS, sizeof(*stack));
	struct unwind_memory memory = {.stack = stack};
	struct unwind_walk walk = {.is_exact = 1, .known = ~0U};
	const uint8_t *nr_stack = take(&bytes, &nr, 1);
	const uint8_t *regs = take(&bytes, &nr, WIRE_RAW_HEAD * sizeof(uint64_t));
	const uint8_t *entry = take(&bytes, &nr, sizeof(struct unwind_table_entry));
	const uint8_t *words = nr_stack ? take(&bytes, &nr, *nr_stack * sizeof(uint64_t)) : NULL;
	struct unwind_table_entry table;

	if (!chunk)
		chunk = calloc(1, POOL_CHUNK_BYTES);
	if (!stack || !chunk)
		abort();
	if (!regs || !entry || !words)
		return 0;
	memory.chunk = chunk;
	memory.table = &table;
	memcpy(&table, entry, sizeof(table));
	memcpy(walk.regs, regs, sizeof(walk.regs));
	memcpy(&walk.pc, regs + sizeof(walk.regs), sizeof(walk.pc));
	walk.regs[UNWIND_REG_SP] = STACK_START + walk.regs[UNWIND_REG_SP] % (STACK_WORDS * 8);
	if (walk.regs[UNWIND_REG_FP] < STACK_WORDS)
		walk.regs[UNWIND_REG_FP] = STACK_START + walk.regs[UNWIND_REG_FP] * 8;
	read_stack(&memory, words, *nr_stack);
	fill_chunk(chunk, bytes, nr < 4096 ? nr : 4096);
	walk_all(&memory, &walk);
	return 0;
}
