/*
 * Frames found by reading x86-64 code.
 *
 * A function begins with the return address on top of the stack, so the position of the stack
 * pointer at an instruction follows from the instructions before it: pushes, pops, additions. It
 * must be the same on all paths to an instruction, or it is unknown. The frame pointer is where a
 * push or a store saved it, until it is restored.
 *
 * There are three sources of information, in this order:
 *
 *	1  functions (symbols, and call targets) begin with a depth of one word; from there along all
 *	   branches and jumps
 *	2  code that is not reached that way, mostly the cases of a switch, has the depth required by the
 *	   code it leads to: reached code, or a `ret`, where the return address is on top again
 *	3  a frame pointer set to 0 together with a stack pointer above the return address is how programs
 *	   and threads begin: they have no caller
 *
 * Nothing is guessed: on a path that is not understood (the stack pointer is set in another way),
 * at an instruction that two paths reach with different depths, or for a return address that was
 * popped, there is no rule from there on. A frame pointer that is overwritten without having been
 * saved is lost.
 */
#include "elf/unwind/code_frames.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "elf/image/instructions.h"
#include "elf/image/stack_effect.h"
#include "elf/symbols/function_list.h"

#define WORD_BYTES 8
#define X86_SP	   7 /* DWARF number */
#define X86_FP	   6

/* Limits for looking ahead in code of unknown depth: number of instructions, and of rounds. */
#define AHEAD_MAX	    512
#define NR_ROUNDS	    16
#define FUNCTION_ALIGN	    16
#define WORTH_A_PART	    16
#define FIXED_ADDRESS_MIN   0x100000 /* smaller immediates are not taken for addresses */
#define BEGINNING_MAX_BYTES 256
#define PADDING_AT_MOST	    16 /* bytes; longer gaps are searched for code */
#define EFFECTS_MAX	    (1U << 20)

/* --- the state at an instruction ------------------------------------------------------------- */

/*
 * All positions are in words below the CFA. Packed into 32 bits, since there is one state for each
 * byte of code. Depth 0: the stack pointer is unknown; then `frame` gives the position, or nothing
 * is known.
 */
struct state {
	unsigned is_reached : 1;
	unsigned is_entry : 1;	    /* a function begins here: no code falls through to it */
	unsigned is_after_call : 1; /* the call before it is known to return */
	unsigned depth : 12;	    /* of the stack pointer; 1: at the return address */
	unsigned saved : 8;	    /* where the frame pointer was saved, or FP_… */
	unsigned frame : 4;	    /* where the frame pointer points now; 0: elsewhere */
};

#define FP_SAME	  0
#define FP_ZERO	  0xfeU /* cleared at the beginning of a program or thread */
#define FP_LOST	  0xffU
#define SAVED_MAX 0xfdU
#define DEPTH_MAX 0xfffU
#define FRAME_MAX 15U

_Static_assert(sizeof(struct state) == 4, "one for each byte of code");

static const struct state at_entry = {.is_reached = 1, .depth = 1};
static const struct state unknown = {.is_reached = 1, .saved = FP_LOST};

static bool is_known(struct state state)
{
	return state.is_reached && (state.depth || state.frame || state.saved == FP_ZERO);
}

static bool is_same(struct state a, struct state b)
{
	return a.depth == b.depth && a.saved == b.saved && a.frame == b.frame;
}

/* The depth after moving the stack pointer by bytes; 0 if it is invalid. */
static unsigned depth_after(unsigned depth, int64_t bytes)
{
	int64_t words = (int64_t)depth - bytes / WORD_BYTES;

	return depth && bytes % WORD_BYTES == 0 && words > 0 && words <= (int64_t)DEPTH_MAX
		       ? (unsigned)words
		       : 0;
}

static void move_frame_pointer(struct state *state, const struct stack_effect *effect)
{
	unsigned slot = depth_after(state->depth, effect->fp_bytes);

	switch (effect->fp) {
	case FP_KEPT:
		return;
	case FP_PUSHED:
	case FP_STORED:
		if (effect->fp == FP_PUSHED)
			slot = depth_after(state->depth, -WORD_BYTES);
		/*
		 * Only the caller's value counts; a frame pointer in use as a number may be stored
		 * again.
		 */
		if (state->saved == FP_SAME && slot > 1 && slot <= SAVED_MAX)
			state->saved = slot;
		return;
	case FP_POPPED:
	case FP_LOADED:
		if (effect->fp == FP_POPPED)
			slot = state->depth;
		state->frame = 0;
		if (state->saved != FP_ZERO && state->saved != FP_SAME && slot == state->saved)
			state->saved = FP_SAME;
		else if (state->saved == FP_SAME)
			state->saved = FP_LOST;
		return;
	case FP_FROM_SP:
		state->frame = slot <= FRAME_MAX ? slot : 0;
		break;
	case FP_ZEROED:
		state->frame = 0;
		if (state->saved == FP_SAME) {
			state->saved = FP_ZERO;
			return;
		}
		break;
	case FP_WRITTEN:
		state->frame = 0;
		break;
	}
	if (state->saved == FP_SAME)
		state->saved = FP_LOST;
}

/* The state after an instruction. */
static struct state after(struct state state, const struct stack_effect *effect)
{
	unsigned frame = state.frame;

	if (effect->sp == SP_LEAVE) {
		state.depth = frame;
		move_frame_pointer(&state, &(struct stack_effect){.fp = FP_POPPED});
		state.depth = depth_after(frame, WORD_BYTES);
		return is_known(state) ? state : unknown;
	}
	move_frame_pointer(&state, effect);
	if (effect->sp == SP_MOVES)
		state.depth = depth_after(state.depth, effect->bytes);
	else if (effect->sp == SP_FROM_FP)
		state.depth = depth_after(frame, effect->bytes);
	else if (effect->sp == SP_LOST)
		state.depth = 0;
	return is_known(state) ? state : unknown;
}

/* Merges the states of two paths: keeps what both agree on. */
static struct state merge_states(struct state a, struct state b)
{
	if (a.depth != b.depth || a.frame != b.frame) {
		if (a.frame == b.frame)
			a.depth = 0; /* the frame pointer gives the position */
		else if (a.depth == b.depth)
			a.frame = 0;
		else
			return unknown;
	}
	if (a.saved != b.saved)
		a.saved = FP_LOST;
	return is_known(a) ? a : unknown;
}

/*
 * The rule goes by the frame pointer where that points into the frame, as compilers' rules do. The stack pointer of a
 * caller is found by the rules of its callee, which miss arguments that another function pushed before it jumped to the
 * callee, as V8's allocation does.
 */
static struct unwind_rule rule_of(struct state state)
{
	struct unwind_rule rule = {.cfa = UNWIND_CFA_REGISTER,
				   .reg = state.frame ? X86_FP : X86_SP,
				   .ra = {.where = UNWIND_AT_CFA, .offset = -WORD_BYTES}};

	if (!is_known(state))
		return (struct unwind_rule){.cfa = UNWIND_CFA_NONE};
	if (!state.depth && !state.frame)
		return (struct unwind_rule){.cfa = UNWIND_CFA_END};
	rule.offset = WORD_BYTES * (int32_t)(state.frame ?: state.depth);
	if (state.saved == FP_LOST || state.saved == FP_ZERO)
		rule.fp.where = UNWIND_LOST;
	else if (state.saved != FP_SAME)
		rule.fp = (struct unwind_place){.where = UNWIND_AT_CFA,
						.offset = -WORD_BYTES * (int32_t)state.saved};
	return rule;
}

/* --- functions ------------------------------------------------------------------------------- */

/* Known starts of functions. */
struct beginnings {
	struct function_list functions;
	const struct elf_image *image;
	const struct code_spans *known;
	/*
	 * Found in other code, sorted: targets of its calls and jumps, and addresses that it takes.
	 */
	struct address {
		uint64_t address;
	} * called, *taken;
	size_t nr_called, cap_called, nr_taken, cap_taken;
};

static int add_target(struct beginnings *beginnings, uint64_t target, bool is_call)
{
	const struct code_spans *known = beginnings->known;
	size_t i = code_spans_at(known, target), segment;

	if (i < known->nr && known->spans[i].start <= target)
		return 0;
	for (segment = 0; segment < beginnings->image->nr_segments; segment++)
		if (target - beginnings->image->segments[segment].vaddr <
		    beginnings->image->segments[segment].bytes)
			break;
	if (segment == beginnings->image->nr_segments)
		return 0; /* data */
	if (is_call)
		return ARRAY_ADD(beginnings->called, beginnings->nr_called, beginnings->cap_called,
				 (struct address){target});
	return ARRAY_ADD(beginnings->taken, beginnings->nr_taken, beginnings->cap_taken,
			 (struct address){target});
}

static int compare_addresses(const void *left, const void *right)
{
	const struct address *a = left, *b = right;

	return COMPARE(a->address, b->address);
}

static size_t sort_addresses(struct address *addresses, size_t nr)
{
	size_t i, kept = 0;

	if (nr)
		qsort(addresses, nr, sizeof(*addresses), compare_addresses);
	for (i = 0; i < nr; i++)
		if (!kept || addresses[i].address != addresses[kept - 1].address)
			addresses[kept++] = addresses[i];
	return kept;
}

/* Sorts both arrays and removes duplicates. Returns how many addresses are left in them. */
static size_t settle_beginnings(struct beginnings *beginnings)
{
	beginnings->nr_called = sort_addresses(beginnings->called, beginnings->nr_called);
	beginnings->nr_taken = sort_addresses(beginnings->taken, beginnings->nr_taken);
	return beginnings->nr_called + beginnings->nr_taken;
}

/* --- one piece of code ----------------------------------------------------------------------- */

struct piece {
	uint64_t start; /* address */
	size_t nr;
	uint8_t *code;
	struct state *states; /* at the start of instructions; elsewhere not reached */
	/*
	 * Each instruction is visited several times, so its effect is kept: by byte of code, the index
	 * of the effect, or 0 if it was not decoded yet. Plain instructions share one effect per length.
	 */
	uint32_t *effect_at;
	struct stack_effect *effects;
	size_t nr_effects, cap_effects;
	struct stack_effect unkept; /* the last effect that had no room in effects[] */
	uint32_t *entries;	    /* starts of functions; sorted by begin_anew() only */
	size_t nr_entries, cap_entries;
	uint32_t *todo; /* instructions whose successors must be visited */
	size_t nr_todo, cap_todo;
	uint32_t *calls; /* calls that were reached */
	size_t nr_calls, cap_calls;
	uint32_t *taken; /* code whose address is taken */
	size_t nr_taken, cap_taken;
	struct beginnings *beginnings;
	struct u64_map returning; /* call targets that returned somewhere; best effort */
	bool has_learned;	  /* new starts of functions were found: analyse again */
};

/* An address that the instruction takes, of code or data; 0: none. next: the address after it. */
static uint64_t taken_address(const struct stack_effect *effect, uint64_t next)
{
	if (effect->is_address)
		return next + (uint64_t)effect->target;
	return effect->number >= FIXED_ADDRESS_MIN ? effect->number : 0;
}

static bool is_plain(const struct stack_effect *effect)
{
	return effect->flow == FLOW_ON && effect->sp == SP_STAYS && effect->fp == FP_KEPT &&
	       !effect->is_padding && !effect->is_address && !effect->number;
}

/* Indexes of the shared effects: plain instructions by length (1 to 15), and no instruction. */
#define EFFECT_NONE	  16
#define NR_SHARED_EFFECTS 17

static int share_effects(struct piece *piece)
{
	unsigned i;

	if (array_reserve(&piece->effects, &piece->cap_effects, NR_SHARED_EFFECTS,
			  sizeof(*piece->effects)) < 0)
		return -ENOMEM;
	for (i = 0; i < NR_SHARED_EFFECTS; i++)
		piece->effects[i] = (struct stack_effect){.length = i < EFFECT_NONE ? i : 0};
	piece->nr_effects = NR_SHARED_EFFECTS;
	return 0;
}

/* Keeps an effect, if there is room. */
static void keep_effect(struct piece *piece, uint64_t at, const struct stack_effect *effect)
{
	uint32_t number = effect->length;

	if (!effect->length) {
		number = EFFECT_NONE;
	} else if (!is_plain(effect)) {
		if (piece->nr_effects == EFFECTS_MAX ||
		    ARRAY_ADD(piece->effects, piece->nr_effects, piece->cap_effects, *effect) < 0)
			return;
		number = (uint32_t)piece->nr_effects - 1;
	}
	piece->effect_at[at] = number;
}

static const struct stack_effect *read_anew(struct piece *piece, uint64_t at)
{
	struct stack_effect *effect = &piece->unkept;
	size_t i;

	stack_effect_read(effect, piece->code + at, piece->nr - at);
	for (i = 1; i < effect->length && !piece->states[at + i].is_entry; i++)
		;
	if (i < effect->length)
		*effect = (struct stack_effect){0};
	else
		keep_effect(piece, at, effect);
	return effect;
}

/*
 * The instruction at `at`; none if a function begins inside it, since the bytes are then data.
 * Valid until the next call.
 */
static inline const struct stack_effect *read_at(struct piece *piece, uint64_t at)
{
	uint32_t number = piece->effect_at[at];

	return number ? &piece->effects[number] : read_anew(piece, at);
}

/* Discards cached instructions that begin before `at` and end after it. */
static void forget_before(struct piece *piece, uint64_t at)
{
	uint64_t back;

	for (back = 1; back < INSTRUCTION_MAX_BYTES && back <= at; back++)
		if (piece->effects[piece->effect_at[at - back]].length > back)
			piece->effect_at[at - back] = 0;
}

/* Records that a path reaches an instruction with this state. 0 or -ENOMEM. */
static int reach(struct piece *piece, uint64_t at, struct state state)
{
	struct state *old;

	if (at >= piece->nr)
		return 0;
	old = &piece->states[at];
	if (old->is_reached) {
		state = merge_states(*old, state);
		if (is_same(*old, state))
			return 0;
	}
	old->is_reached = 1;
	old->depth = state.depth;
	old->saved = state.saved;
	old->frame = state.frame;
	return ARRAY_ADD(piece->todo, piece->nr_todo, piece->cap_todo, (uint32_t)at);
}

static int add_entry(struct piece *piece, uint64_t at)
{
	return ARRAY_ADD(piece->entries, piece->nr_entries, piece->cap_entries, (uint32_t)at);
}

/* Records that a function begins at `at`, and drops all conclusions that contradict this. */
static int enter(struct piece *piece, uint64_t at)
{
	struct state *state = at < piece->nr ? &piece->states[at] : NULL;

	if (!state || state->is_entry)
		return 0;
	piece->has_learned = true;
	forget_before(piece, at);
	*state = (struct state){.is_entry = 1};
	return add_entry(piece, at) ?: reach(piece, at, at_entry);
}

/*
 * Continues at the next instruction, unless a function begins there or the instruction before is a
 * call that is not known to return.
 */
static int fall_through(struct piece *piece, uint64_t at, struct state state, bool is_call)
{
	if (at >= piece->nr || piece->states[at].is_entry)
		return 0;
	return is_call && !piece->states[at].is_after_call ? 0 : reach(piece, at, state);
}

/* Follows all paths from the instructions in todo. */
static int follow(struct piece *piece)
{
	int err = 0;

	while (piece->nr_todo && err == 0) {
		uint64_t at = piece->todo[--piece->nr_todo], next, target, taken;
		struct state state = piece->states[at];
		const struct stack_effect *effect = read_at(piece, at);

		if (!effect->length)
			continue;
		next = at + effect->length;
		target = effect->has_target ? next + (uint64_t)effect->target : piece->nr;
		taken = taken_address(effect, piece->start + next);
		if (taken - piece->start < piece->nr)
			err = ARRAY_ADD(piece->taken, piece->nr_taken, piece->cap_taken,
					(uint32_t)(taken - piece->start));
		else if (taken)
			err = add_target(piece->beginnings, taken, false);
		if (err == 0 && effect->has_target && target >= piece->nr &&
		    (effect->flow == FLOW_CALL || state.depth == 1))
			err = add_target(piece->beginnings, piece->start + target, true);
		if (err == 0 && effect->flow == FLOW_CALL)
			err = enter(piece, target)
				      ?: ARRAY_ADD(piece->calls, piece->nr_calls, piece->cap_calls,
						   (uint32_t)at);
		state = after(state, effect);
		if (err == 0 && (effect->flow == FLOW_BRANCH || effect->flow == FLOW_JUMP) &&
		    target < piece->nr && !piece->states[target].is_entry)
			err = reach(piece, target, state);
		if (err == 0 && (effect->flow == FLOW_ON || effect->flow == FLOW_BRANCH ||
				 effect->flow == FLOW_CALL))
			err = fall_through(piece, next, state, effect->flow == FLOW_CALL);
	}
	return err;
}

/* The effect of a path, to compute the state at its start from a known state at its end. */
struct way {
	int64_t moved;	     /* words down since the first instruction */
	int64_t restored_at; /* place that the frame pointer was restored from, as in `moved` */
	bool is_restored;
};

static struct state before_way(const struct way *way, struct state known)
{
	int64_t depth = (int64_t)known.depth - way->moved;
	int64_t saved = way->restored_at + depth;
	struct state state = {.is_reached = 1, .saved = known.saved, .frame = known.frame};

	if (!known.depth || depth < 1 || depth > (int64_t)DEPTH_MAX || known.saved == FP_ZERO)
		return (struct state){0};
	state.depth = (unsigned)depth;
	if (way->is_restored && known.saved == FP_SAME) {
		if (saved < 2 || saved > (int64_t)SAVED_MAX)
			return (struct state){0};
		state.saved = (unsigned)saved;
		state.frame = 0;
	}
	return state;
}

/* Adds an instruction's effect. False if it can't be reverted. */
static bool go_way(struct way *way, const struct stack_effect *effect)
{
	if ((effect->sp != SP_STAYS && effect->sp != SP_MOVES) || effect->bytes % WORD_BYTES)
		return false;
	switch (effect->fp) {
	case FP_KEPT:
		break;
	case FP_POPPED:
	case FP_LOADED:
		way->is_restored = true; /* preliminary: the loaded value may be a number */
		way->restored_at = way->moved;
		if (effect->fp == FP_LOADED)
			way->restored_at -= effect->fp_bytes / WORD_BYTES;
		break;
	case FP_WRITTEN:
		if (way->is_restored)
			return false;
		break;
	default:
		return false;
	}
	way->moved -= effect->bytes / WORD_BYTES;
	return true;
}

/* The state that an instruction must lead to: a known one, or that of a return. */
static struct state known_behind(const struct piece *piece, const struct stack_effect *effect,
				 uint64_t next)
{
	uint64_t target = next + (uint64_t)effect->target;

	if (effect->flow == FLOW_RETURN)
		return at_entry;
	if (effect->has_target && effect->flow != FLOW_CALL && target < piece->nr)
		return piece->states[target];
	return (struct state){0};
}

/*
 * The state at an unreached instruction, by the code it leads to; not reached if that is unknown.
 * *ret_end: the end of the straight path. An indirect jump after pops of registers is probably a
 * tail call at a function's end. This guess is made only if calls_return is set: calls on the path
 * are assumed to return.
 */
static struct state look_ahead(struct piece *piece, uint64_t at, bool calls_return,
			       uint64_t *ret_end)
{
	struct way way = {0};
	unsigned i;

	for (i = 0; i < AHEAD_MAX && at < piece->nr; i++) {
		struct state known = piece->states[at];
		const struct stack_effect *effect;

		*ret_end = at;
		if (known.is_entry)
			break;
		if (known.is_reached)
			return before_way(&way, known);
		effect = read_at(piece, at);
		if (!effect->length)
			break;
		at = *ret_end = at + effect->length;
		if (!go_way(&way, effect))
			break;
		known = known_behind(piece, effect, at);
		if (known.is_reached)
			return before_way(&way, known);
		if (effect->flow == FLOW_INDIRECT && calls_return && way.moved < 0)
			return before_way(&way, at_entry);
		if (effect->flow == FLOW_STOP || effect->flow == FLOW_JUMP ||
		    effect->flow == FLOW_INDIRECT || (effect->flow == FLOW_CALL && !calls_return))
			break;
	}
	return (struct state){0};
}

/*
 * Visits the unreached code, instruction by instruction. *ret_found: true if something was added.
 */
static int look_at_rest(struct piece *piece, bool *ret_found)
{
	uint64_t at = 0, end;
	int err = 0;

	*ret_found = false;
	while (at < piece->nr && err == 0) {
		const struct stack_effect *effect;
		struct state state;

		effect = read_at(piece, at);
		if (piece->states[at].is_reached || effect->is_padding || !effect->length) {
			at += effect->length ? effect->length : 1;
			continue;
		}
		end = at + effect->length;
		state = look_ahead(piece, at, false, &end);
		if (state.is_reached) {
			*ret_found = true;
			err = reach(piece, at, state);
			if (err == 0)
				err = follow(piece);
		} else {
			at = end;
		}
	}
	return err;
}

static int add_frame(struct code_frames *frames, uint64_t address, const struct unwind_rule *rule)
{
	const struct code_frame *last = frames->nr ? &frames->frames[frames->nr - 1] : NULL;

	if (last && !memcmp(&last->rule, rule, sizeof(*rule)))
		return 0;
	return ARRAY_ADD(frames->frames, frames->nr, frames->capacity,
			 (struct code_frame){address, *rule});
}

static int add_frames(struct code_frames *frames, struct piece *piece)
{
	const struct unwind_rule none = {.cfa = UNWIND_CFA_NONE};
	struct state last = {0};
	size_t at = 0;
	int err = 0;

	while (at < piece->nr && err == 0) {
		struct state state = piece->states[at];

		if (!at || state.is_reached != last.is_reached || !is_same(state, last)) {
			struct unwind_rule rule = rule_of(state);

			err = add_frame(frames, piece->start + at, &rule);
		}
		last = state;
		at += state.is_reached && read_at(piece, at)->length ? read_at(piece, at)->length
								     : 1;
	}
	return err < 0 ? err : add_frame(frames, piece->start + piece->nr, &none);
}

/* Counts for a function how often its calls seem to return (low half) and not to (high half). */
static void note_returning(struct piece *piece, uint64_t target, bool returns)
{
	const uint64_t *old = u64_map_find(&piece->returning, target);

	(void)u64_map_set(&piece->returning, target, (old ? *old : 0) + (returns ? 1 : 1ULL << 32));
}

/* True if there is a return between the beginning of a function and that of the next one. */
static bool has_return(struct piece *piece, uint64_t at)
{
	const struct stack_effect *effect;
	unsigned i;

	for (i = 0; i < AHEAD_MAX && at < piece->nr && (!i || !piece->states[at].is_entry); i++) {
		effect = read_at(piece, at);
		if (!effect->length)
			return false;
		if (effect->flow == FLOW_RETURN)
			return true;
		at += effect->length;
	}
	return false;
}

static bool seems_to_return(struct piece *piece, uint64_t target)
{
	const uint64_t *counts = u64_map_find(&piece->returning, target);

	return counts ? (uint32_t)*counts > *counts >> 32 : has_return(piece, target);
}

/*
 * True if the code after a call continues with the state before it. It must, if the call returns;
 * but some calls never return, and an unrelated part of the program may follow. So the state is
 * compared with the one required by the code that follows. If that is unknown, no function may
 * begin after the call. In either case most calls of the same function must seem to return.
 */
static bool does_return(struct piece *piece, const struct stack_effect *call, uint64_t next,
			struct state state)
{
	uint64_t target = next + (uint64_t)call->target, end = next;
	struct state ahead = look_ahead(piece, next, true, &end);
	const struct stack_effect *effect;

	if (ahead.is_reached) {
		if (call->has_target)
			note_returning(piece, target, state.depth == ahead.depth);
		return state.depth == ahead.depth &&
		       (!call->has_target || seems_to_return(piece, target));
	}
	effect = read_at(piece, next);
	if (!effect->length || effect->is_padding)
		return false;
	if (call->has_target)
		return seems_to_return(piece, target);
	return (piece->start + next) % FUNCTION_ALIGN != 0;
}

/* Continues after calls. *ret_found: something was added. */
static int look_behind_calls(struct piece *piece, bool *ret_found)
{
	size_t i;
	int err = 0;

	for (i = 0; i < piece->nr_calls && err == 0; i++) {
		uint64_t at = piece->calls[i], next;
		struct state state = piece->states[at];
		struct stack_effect call = *read_at(piece, at);

		next = at + call.length;
		if (!is_known(state) || next >= piece->nr || piece->states[next].is_reached ||
		    !does_return(piece, &call, next, state))
			continue;
		*ret_found = true;
		piece->states[next].is_after_call = 1;
		err = reach(piece, next, state) ?: follow(piece);
	}
	return err;
}

/*
 * Code whose address is taken is a function, unless it leads to code that contradicts this: it may
 * also be a label. *ret_found: something was added.
 */
static int look_at_taken(struct piece *piece, bool *ret_found)
{
	size_t i;
	int err = 0;

	for (i = 0; i < piece->nr_taken && err == 0; i++) {
		uint64_t at = piece->taken[i], end;
		struct state ahead;

		if (piece->states[at].is_reached)
			continue;
		ahead = look_ahead(piece, at, true, &end);
		if (ahead.is_reached && ahead.depth != 1)
			continue;
		*ret_found = true;
		forget_before(piece, at);
		piece->states[at].is_entry = 1;
		err = add_entry(piece, at) ?: reach(piece, at, at_entry) ?: follow(piece);
	}
	return err;
}

static int compare_entries(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return COMPARE(*a, *b);
}

/* Discards all states, except for the starts of functions. */
static int begin_anew(struct piece *piece)
{
	size_t i;
	int err = 0;

	piece->nr_todo = piece->nr_calls = piece->nr_taken = 0;
	piece->has_learned = false;
	memset(piece->states, 0, piece->nr * sizeof(*piece->states));
	if (piece->nr_entries)
		qsort(piece->entries, piece->nr_entries, sizeof(*piece->entries), compare_entries);
	for (i = 0; i < piece->nr_entries && err == 0; i++) {
		piece->states[piece->entries[i]].is_entry = 1;
		err = reach(piece, piece->entries[i], at_entry);
	}
	return err;
}

/* Enters the functions that begin in the piece. */
static int enter_functions(struct piece *piece, const struct beginnings *beginnings)
{
	const struct function_list *functions = &beginnings->functions;
	const struct address *called = beginnings->called;
	size_t i = ARRAY_NR_BELOW(functions->functions, functions->nr, vaddr, piece->start);
	int err = 0;

	for (; i < functions->nr && err == 0; i++) {
		const struct listed_function *function = &functions->functions[i];

		if (function->vaddr - piece->start >= piece->nr)
			break;
		/* Cold parts, moved out of a function by the compiler, are jumped to. */
		if (!strstr(function_list_text(functions, function->name), ".cold"))
			err = enter(piece, function->vaddr - piece->start);
	}
	i = ARRAY_NR_BELOW(called, beginnings->nr_called, address, piece->start);
	for (; i < beginnings->nr_called && err == 0; i++) {
		if (called[i].address - piece->start >= piece->nr)
			break;
		err = enter(piece, called[i].address - piece->start);
	}
	return err;
}

static int take_addresses(struct piece *piece, const struct beginnings *beginnings)
{
	const struct address *taken = beginnings->taken;
	size_t i = ARRAY_NR_BELOW(taken, beginnings->nr_taken, address, piece->start);
	int err = 0;

	for (; i < beginnings->nr_taken && err == 0; i++) {
		uint64_t at = taken[i].address - piece->start;

		if (at >= piece->nr)
			break;
		err = ARRAY_ADD(piece->taken, piece->nr_taken, piece->cap_taken, (uint32_t)at);
	}
	return err;
}

static int read_piece(struct code_frames *frames, struct piece *piece,
		      struct beginnings *beginnings)
{
	bool has_found = true;
	unsigned round, more;
	int err = enter_functions(piece, beginnings);

	piece->has_learned = true;
	for (round = 0; round < NR_ROUNDS && piece->has_learned && err == 0; round++) {
		err = begin_anew(piece) ?: take_addresses(piece, beginnings) ?: follow(piece);
		has_found = true;
		for (more = 0; more < NR_ROUNDS && has_found && err == 0; more++)
			err = look_at_rest(piece, &has_found)
			?: look_behind_calls(piece, &has_found)
			?: look_at_taken(piece, &has_found);
	}
	return err < 0 ? err : add_frames(frames, piece);
}

/* --- gaps ------------------------------------------------------------------------------------ */

/* Reads the code of a segment in [start, end), which are addresses. */
static int read_gap(struct code_frames *frames, const struct elf_image *image,
		    const struct elf_segment *segment, uint64_t start, uint64_t end,
		    struct beginnings *beginnings)
{
	struct piece piece = {.start = start, .nr = end - start, .beginnings = beginnings};
	cleanup_free uint8_t *code = malloc(piece.nr);
	cleanup_free struct state *states = calloc(piece.nr, sizeof(*states));
	cleanup_free uint32_t *effect_at = calloc(piece.nr, sizeof(*effect_at));
	int err;

	if (!code || !states || !effect_at)
		return -ENOMEM;
	piece.code = code;
	piece.states = states;
	piece.effect_at = effect_at;
	if (elf_image_read(image, segment->offset + (start - segment->vaddr), code, piece.nr) < 0)
		return 0;
	err = share_effects(&piece) ?: read_piece(frames, &piece, beginnings);
	free(piece.effects);
	free(piece.entries);
	free(piece.todo);
	free(piece.calls);
	free(piece.taken);
	u64_map_clear(&piece.returning);
	return err;
}

static int read_segment(struct code_frames *frames, const struct elf_image *image,
			const struct elf_segment *segment, const struct code_spans *known,
			struct beginnings *beginnings, uint64_t *left)
{
	uint64_t at = segment->vaddr, end = segment->vaddr + segment->bytes, start;
	int err = 0;

	while (err == 0 && code_spans_next_gap(known, at, end, &start, &at)) {
		if (at - start <= PADDING_AT_MOST || at - start > *left)
			continue;
		*left -= at - start;
		err = read_gap(frames, image, segment, start, at, beginnings);
	}
	return err;
}

/* --- information from other code ------------------------------------------------------------- */

/* Adds the addresses outside of all spans that the code of a span calls or takes. */
static int read_span(struct beginnings *beginnings, const struct elf_image *image,
		     const struct elf_segment *segment, const struct code_span *span)
{
	size_t nr = span->end - span->start, at = 0;
	cleanup_free uint8_t *code = malloc(nr);
	struct stack_effect effect;
	int err = 0;

	if (!code)
		return -ENOMEM;
	if (elf_image_read(image, segment->offset + (span->start - segment->vaddr), code, nr) < 0)
		return 0;
	while (at < nr && err == 0) {
		stack_effect_read(&effect, code + at, nr - at);
		at += effect.length;
		if (!effect.length)
			break;
		if (effect.flow == FLOW_CALL && effect.has_target)
			err = add_target(beginnings, span->start + at + (uint64_t)effect.target,
					 true);
		else if (taken_address(&effect, span->start + at))
			err = add_target(beginnings, taken_address(&effect, span->start + at),
					 false);
	}
	return err;
}

static bool is_in_segment(const struct elf_segment *segment, const struct code_span *span)
{
	return span->start >= segment->vaddr && span->end <= segment->vaddr + segment->bytes;
}

/*
 * Reads all spans of a segment, if the gaps are large enough to be worth the time: a static
 * program's C library, but not the padding between functions.
 */
static int read_spans(struct beginnings *beginnings, const struct elf_image *image,
		      const struct elf_segment *segment, const struct code_spans *known)
{
	uint64_t covered = 0;
	size_t i;
	int err = 0;

	for (i = 0; i < known->nr; i++)
		if (is_in_segment(segment, &known->spans[i]))
			covered += known->spans[i].end - known->spans[i].start;
	if (covered > CODE_FRAMES_MAX_BYTES || segment->bytes - covered < covered / WORTH_A_PART)
		return 0;
	for (i = 0; i < known->nr && err == 0; i++)
		if (is_in_segment(segment, &known->spans[i]))
			err = read_span(beginnings, image, segment, &known->spans[i]);
	return err;
}

uint64_t code_frames_first_call(const struct elf_image *image, uint64_t start, uint64_t end)
{
	uint8_t code[BEGINNING_MAX_BYTES];
	size_t nr = end - start < sizeof(code) ? end - start : sizeof(code), at = 0, i;
	struct stack_effect effect;

	for (i = 0; i < image->nr_segments; i++)
		if (start - image->segments[i].vaddr < image->segments[i].bytes)
			break;
	if (image->machine != EM_X86_64 || i == image->nr_segments ||
	    elf_image_read(image, image->segments[i].offset + (start - image->segments[i].vaddr),
			   code, nr) < 0)
		return end;
	do {
		stack_effect_read(&effect, code + at, nr - at);
		at += effect.length;
	} while (effect.length && effect.flow != FLOW_CALL && effect.flow != FLOW_JUMP);
	return effect.length ? start + at : end;
}

/* --- a file ---------------------------------------------------------------------------------- */

/* True if read_segment() finds code to read. */
static bool has_gap(const struct elf_image *image, const struct code_spans *known)
{
	uint64_t at, end, start;
	size_t i;

	for (i = 0; i < image->nr_segments; i++) {
		at = image->segments[i].vaddr;
		end = at + image->segments[i].bytes;
		while (code_spans_next_gap(known, at, end, &start, &at))
			if (at - start > PADDING_AT_MOST)
				return true;
	}
	return false;
}

int code_frames_read(struct code_frames *frames, const struct elf_image *image,
		     const struct elf_image *debug, const struct code_spans *known)
{
	const unsigned tables = SYMBOLS_STATIC | SYMBOLS_DYNAMIC;
	struct beginnings beginnings = {.image = image, .known = known};
	unsigned rounds = 0;
	size_t i, nr, nr_before;
	int err;

	/* Without a gap, the functions of a large program would be listed in vain. */
	if (image->machine != EM_X86_64 || !has_gap(image, known))
		return 0;
	err = function_list_read(&beginnings.functions, image, tables, NULL);
	if (err != -ENOMEM && debug)
		err = function_list_read(&beginnings.functions, debug, tables, NULL);
	if (err != -ENOMEM)
		err = function_list_settle(&beginnings.functions);
	for (i = 0; i < image->nr_segments && err != -ENOMEM; i++)
		err = read_spans(&beginnings, image, &image->segments[i], known);
	/* Code in one gap may lead into another one. */
	nr = settle_beginnings(&beginnings);
	do {
		uint64_t left = CODE_FRAMES_MAX_BYTES;

		nr_before = nr;
		frames->nr = 0;
		for (i = 0; i < image->nr_segments && err != -ENOMEM; i++)
			err = read_segment(frames, image, &image->segments[i], known, &beginnings,
					   &left);
		nr = settle_beginnings(&beginnings);
	} while (err != -ENOMEM && nr > nr_before && ++rounds < NR_ROUNDS);
	function_list_clear(&beginnings.functions);
	free(beginnings.called);
	free(beginnings.taken);
	return err == -ENOMEM ? err : 0;
}

void code_frames_clear(struct code_frames *frames)
{
	free(frames->frames);
	*frames = (struct code_frames){0};
}
