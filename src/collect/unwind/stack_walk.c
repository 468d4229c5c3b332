/*
 * Walks raw records in user space, with the same step function and the same tables as the BPF side;
 * stack memory is read from the record. A record that has to wait for a table is copied.
 */
#include "collect/unwind/stack_walk.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "bpf/unwind_epilogue.h"

/* The stack memory of a record, and the unwind table of the current frame. */
struct unwind_memory {
	const struct unwind_pool *pool;
	uint64_t start;
	const uint64_t *words;
	size_t nr_words;
	bool is_beyond; /* the failed read was above the captured stack */
	struct unwind_table_entry *table;
	struct unwind_rule wide;
	uint32_t code_rule; /* the first frame's rule, if it is in JIT-compiled code; then none */
	uint32_t jit_rule;  /* rule to try in JIT-compiled code */
	bool in_jit;	    /* the current frame is in JIT-compiled code */
	bool met_jit;	    /* the current or an earlier frame is in JIT-compiled code */
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

/* Finds the unwind rule at an address. Returns WALK_NONE, or how the walk ends. */
static enum walk_end find_rule(const struct stack_walk_context *context, uint64_t address,
			       struct unwind_memory *memory, uint32_t *ret_packed,
			       uint32_t *ret_wanted)
{
	const struct mapping *mapping = mappings_find(context->mappings, address);
	const uint32_t code_rule = memory->code_rule;
	int64_t number;

	memory->table = NULL;
	memory->code_rule = UNWIND_PACKED_NONE;
	*ret_packed = UNWIND_PACKED_NONE;
	if (!mapping)
		return WALK_NO_MAPPING;
	number = context->table_of(context->argument, mapping);
	if (memory->in_jit && number < 0 && memory->jit_rule != UNWIND_PACKED_NONE)
		return WALK_NO_RULE; /* trampolines do not call each other */
	memory->in_jit = number < 0;
	if (number < 0) {
		memory->met_jit = true;
		*ret_packed = code_rule != UNWIND_PACKED_NONE ? code_rule : memory->jit_rule;
		return WALK_NONE;
	}
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

/* This loop corresponds to walk_frame() on the BPF side. */
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
		if (end == WALK_COMPLETE && memory->in_jit && packed != UNWIND_PACKED_NONE)
			end = WALK_NO_RULE; /* the supposed return address was zero */
	}
	return end;
}

/* The rule of the first frame as JIT-compiled code, as the BPF side finds it. */
static uint32_t rule_of_code(const uint64_t *words)
{
	struct unwind_epilogue epilogue = {.code = {0}};
	int end = UNWIND_EPILOGUE_ON;
	unsigned turn;

	memcpy(epilogue.code, words + WIRE_RAW_CODE, WIRE_RAW_CODE_BYTES);
	for (turn = 0; turn < UNWIND_CODE_INSTRUCTIONS && end == UNWIND_EPILOGUE_ON; turn++)
		end = unwind_epilogue_next(&epilogue);
	return end == UNWIND_EPILOGUE_RETURNS ? epilogue.packed : UNWIND_PACKED_NONE;
}

static enum walk_end walk_words(const struct stack_walk_context *context,
				struct unwind_memory *memory, const uint64_t *words, size_t nr,
				struct user_stack *ret)
{
	struct unwind_walk walk = {.is_exact = 1, .known = UNWIND_FIRST_KNOWN};
	enum walk_end end;

	ret->nr = 0;
	memory->in_jit = false;
	memory->code_rule = rule_of_code(words);
	memcpy(walk.regs, words, sizeof(walk.regs));
	walk.pc = words[WIRE_RAW_PC] & ~WIRE_RAW_IN_CALL;
	walk.is_call = (words[WIRE_RAW_PC] & WIRE_RAW_IN_CALL) != 0;
	memory->start = (walk.regs[UNWIND_REG_SP] & ~7ULL) - WIRE_RAW_RED_ZONE;
	memory->words = words + WIRE_RAW_HEAD;
	memory->nr_words = nr - WIRE_RAW_HEAD;
	end = walk_frames(context, memory, &walk, ret);
	if (end == WALK_FAULT && memory->is_beyond &&
	    memory->nr_words * 8 > WIRE_RAW_RED_ZONE + WIRE_RAW_STACK_BYTES - 4096)
		end = WALK_TRUNCATED; /* the stack is larger than a record can hold */
	return ret->end = end;
}

/* True if the walk with the tried rule is better than the walk by frame pointers. */
static bool is_better(enum walk_end tried, enum walk_end end)
{
	if (tried == WALK_COMPLETE || end == WALK_COMPLETE)
		return tried == WALK_COMPLETE;
	return (tried == WALK_TRUNCATED || tried == WALK_RAW) && end != WALK_TRUNCATED;
}

/*
 * A record contains the code of the first frame only, from which the BPF side derives the rule of each JIT-compiled
 * frame. So if frame pointers do not lead through the others, the one known shape without frame
 * pointers is tried (a trampoline). If the guess were wrong, the unwind tables of the callers would
 * not lead to a complete stack.
 */
void stack_walk(const struct stack_walk_context *context, const uint64_t *words, size_t nr,
		struct user_stack *ret)
{
	struct unwind_memory memory = {.pool = context->pool, .jit_rule = UNWIND_PACKED_NONE};
	struct user_stack tried;

	ret->nr = 0;
	ret->end = WALK_MISSED;
	if (nr < WIRE_RAW_HEAD)
		return;
	walk_words(context, &memory, words, nr, ret);
	if (ret->end == WALK_RAW || !memory.met_jit)
		return;
	memory.jit_rule = UNWIND_PACKED_TRAMPOLINE;
	if (is_better(walk_words(context, &memory, words, nr, &tried), ret->end))
		*ret = tried;
}

/* --- deferred records --------------------------------------------------------------------------- */

int deferred_list_add(struct deferred_list *list, const struct wire_record *record, size_t bytes,
		      const struct mappings *mappings, const struct lacked_table *lacked)
{
	size_t held = bytes + mappings_nr(mappings) * sizeof(struct mapping);
	struct wire_record *copy;

	if (list->bytes + held > DEFERRED_MAX_BYTES)
		return -ENOSPC;
	if (ARRAY_RESERVE(list->items, list->capacity, list->nr + 1) < 0)
		return -ENOMEM;
	copy = malloc(bytes);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, record, bytes);
	list->items[list->nr++] =
		(struct deferred){copy, mappings_ref((struct mappings *)mappings), held, *lacked};
	list->bytes += held;
	return 0;
}

static void release(struct deferred_list *list, struct deferred *item)
{
	list->bytes -= item->bytes;
	mappings_unref(item->mappings);
	free(item->record);
}

int deferred_list_retry(struct deferred_list *list,
			int (*take)(void *context, struct deferred *item), void *context)
{
	size_t kept = 0, i;
	int err = 0;

	for (i = 0; i < list->nr; i++) {
		struct deferred *item = &list->items[i];
		int taken = err ? err : take(context, item);

		if (taken == 0) {
			release(list, item);
			continue;
		}
		if (taken != -EAGAIN)
			err = taken;
		list->items[kept++] = *item;
	}
	list->nr = kept;
	return err;
}

void deferred_list_clear(struct deferred_list *list)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		release(list, &list->items[i]);
	free(list->items);
	*list = (struct deferred_list){0};
}
