/* Walking in user space; see stack_walk.h. */
#include "collect/unwind/stack_walk.h"

#include <stdbool.h>
#include <string.h>

/* A record's stack, and where the rules of the frame are. */
struct unwind_memory {
	const struct unwind_pool *pool;
	uint64_t start;
	const uint64_t *words;
	size_t nr_words;
	bool is_beyond; /* the read that failed was above all that was captured */
	struct unwind_table_entry *table;
	struct unwind_rule wide;
};

static int unwind_read(struct unwind_memory *memory, uint64_t address, __u64 *ret)
{
	uint64_t word = (address - memory->start) / sizeof(uint64_t);

	if (address < memory->start || address % sizeof(uint64_t) || word >= memory->nr_words) {
		memory->is_beyond = address >= memory->start && address % sizeof(uint64_t) == 0;
		return -1;
	}
	*ret = memory->words[word];
	return 0;
}

static char *unwind_chunk(const struct unwind_memory *memory, uint32_t place)
{
	return unwind_pool_chunk(memory->pool, place);
}

#define UNWIND_ITEM(chunk, offset, type) \
	((type *)((chunk) + ((offset) & (POOL_CHUNK_BYTES - 1) & ~(sizeof(type) - 1))))

#include "bpf/unwind_lookup.h"

static const struct unwind_rule *unwind_wide(struct unwind_memory *memory, uint32_t number)
{
	if (!memory->table || unwind_read_wide(memory, memory->table, number, &memory->wide))
		return NULL;
	return &memory->wide;
}

#include "bpf/unwind_step.h"

/* Finds the rule at an address. WALK_NONE, or the walk's end. */
static enum walk_end find_rule(const struct stack_walk_context *context, uint64_t address,
			       struct unwind_memory *memory, uint32_t *ret_packed,
			       uint32_t *ret_wanted)
{
	const struct mapping *mapping = mappings_find(context->mappings, address);
	int64_t number;

	memory->table = NULL;
	*ret_packed = UNWIND_PACKED_NONE;
	if (!mapping)
		return WALK_NO_MAPPING;
	number = context->table_of(context->argument, mapping);
	if (number < 0)
		return WALK_NONE;
	memory->table = &unwind_pool_tables((struct unwind_pool *)context->pool)[number];
	if (memory->table->state == UNWIND_TABLE_ABSENT)
		return WALK_NONE;
	if (memory->table->state != UNWIND_TABLE_READY) {
		*ret_wanted = (uint32_t)number;
		return WALK_RAW;
	}
	if (memory->table->used_epoch != context->epoch)
		memory->table->used_epoch = context->epoch;
	*ret_packed =
		unwind_find_rule(memory, memory->table, address - mapping->start + mapping->offset);
	return WALK_NONE;
}

/* The same loop as walk_frame()'s in the kernel. */
static enum walk_end walk_frames(const struct stack_walk_context *context,
				 struct unwind_memory *memory, struct unwind_walk *walk,
				 struct user_stack *ret)
{
	enum walk_end end = WALK_NONE;

	while (!end) {
		uint32_t packed;

		if (ret->nr >= context->max_frames || ret->nr >= WIRE_MAX_USER_FRAMES)
			return WALK_TRUNCATED;
		end = find_rule(context, unwind_address(walk), memory, &packed, &ret->wanted_table);
		if (end && ret->nr)
			return end;
		ret->frames[ret->nr] = walk->pc + (ret->nr && walk->is_exact);
		ret->nr++;
		if (!end)
			end = unwind_step(memory, walk, packed);
	}
	return end;
}

void stack_walk(const struct stack_walk_context *context, const uint64_t *words, size_t nr,
		struct user_stack *ret)
{
	struct unwind_memory memory = {.pool = context->pool};
	struct unwind_walk walk = {.is_exact = 1, .known = UNWIND_FIRST_KNOWN};

	ret->nr = 0;
	ret->end = WALK_MISSED;
	if (nr < WIRE_RAW_REGS)
		return;
	memcpy(walk.regs, words, sizeof(walk.regs));
	walk.pc = words[WIRE_RAW_PC] & ~WIRE_RAW_IN_CALL;
	walk.is_call = (words[WIRE_RAW_PC] & WIRE_RAW_IN_CALL) != 0;
	memory.start = (walk.regs[UNWIND_REG_SP] & ~7ULL) - WIRE_RAW_RED_ZONE;
	memory.words = words + WIRE_RAW_REGS;
	memory.nr_words = nr - WIRE_RAW_REGS;
	ret->end = walk_frames(context, &memory, &walk, ret);
	if (ret->end == WALK_FAULT && memory.is_beyond &&
	    memory.nr_words * 8 > WIRE_RAW_RED_ZONE + WIRE_RAW_STACK_BYTES - 4096)
		ret->end = WALK_TRUNCATED; /* more stack than a record has room for */
}
