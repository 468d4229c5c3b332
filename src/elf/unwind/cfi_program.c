/*
 * The interpreter of call frame instructions.
 *
 * Of all registers only the return address' and the frame pointer are followed, so a state is some
 * fifty bytes and remembering one is a copy. The program of the common entry is run once for each
 * time that the reader reads it, and its outcome kept there.
 *
 * An instruction that is not known has operands of unknown length: the function is broken.
 */
#include "elf/unwind/cfi_program.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>

#include "base/array.h"
#include "elf/dwarf/dwarf_numbers.h"
#include "elf/unwind/cfi_expression.h"

static const struct cfi_machine machines[] = {
	{.machine = EM_X86_64, .sp = 7, .fp = 6, .ra = 16, .converts_signal_frames = true},
	{.machine = EM_AARCH64, .sp = 31, .fp = 29, .ra = 30, .has_link_register = true},
};

const struct cfi_machine *cfi_machine_find(uint16_t machine)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(machines); i++)
		if (machines[i].machine == machine)
			return &machines[i];
	return NULL;
}

/* --- the canonical frame address ----------------------------------------------------------- */

static void define_cfa(struct cfi_state *state, uint64_t reg, int64_t offset)
{
	bool is_known = reg < UNWIND_NR_REGS && cfi_offset_fits(offset);

	state->cfa_register = reg;
	state->cfa_offset = offset;
	state->rule.cfa = is_known ? UNWIND_CFA_REGISTER : UNWIND_CFA_NONE;
	state->rule.reg = is_known ? (uint8_t)reg : 0;
	state->rule.offset = is_known ? (int32_t)offset : 0;
	state->rule.add = 0;
}

static void define_cfa_by_expression(struct cfi_program *program)
{
	struct bytes expression = bytes_cut(&program->code, bytes_uleb(&program->code));
	struct unwind_rule *rule = &program->state.rule;

	if (!cfi_expression_cfa(expression, program->machine, rule))
		rule->cfa = UNWIND_CFA_NONE;
}

/* --- registers ----------------------------------------------------------------------------- */

static void set_place(struct cfi_program *program, uint64_t reg, struct unwind_place place,
		      bool is_known)
{
	struct cfi_state *state = &program->state;

	if (reg == program->function->common->ra_column) {
		state->rule.ra = place;
		state->is_ra_known = is_known;
	}
	if (reg == program->machine->fp) {
		state->rule.fp = place;
		state->is_fp_known = is_known;
	}
}

static void save_at_cfa(struct cfi_program *program, uint64_t reg, int64_t offset)
{
	struct unwind_place place = {.where = UNWIND_AT_CFA, .offset = (int32_t)offset};

	set_place(program, reg, place, cfi_offset_fits(offset));
}

static void save_in_register(struct cfi_program *program, uint64_t reg, uint64_t other)
{
	struct unwind_place place = {.where = UNWIND_IN_REGISTER, .reg = (uint8_t)other};

	set_place(program, reg, place, other < UNWIND_NR_REGS);
}

static void set_where(struct cfi_program *program, uint64_t reg, enum unwind_where where)
{
	set_place(program, reg, (struct unwind_place){.where = (uint8_t)where}, true);
}

static void save_by_expression(struct cfi_program *program, uint64_t reg, bool is_value)
{
	struct bytes expression = bytes_cut(&program->code, bytes_uleb(&program->code));
	struct unwind_place place = {0};
	bool is_known = cfi_expression_place(expression, is_value, &place);

	set_place(program, reg, place, is_known);
}

static void restore(struct cfi_program *program, uint64_t reg)
{
	const struct cfi_state *initial = &program->initial;

	if (reg == program->function->common->ra_column) {
		program->state.rule.ra = initial->rule.ra;
		program->state.is_ra_known = initial->is_ra_known;
	}
	if (reg == program->machine->fp) {
		program->state.rule.fp = initial->rule.fp;
		program->state.is_fp_known = initial->is_fp_known;
	}
}

/* --- instructions -------------------------------------------------------------------------- */

/* A number in units of the data alignment. Past 64 bits is past 32 too, and so not known. */
static int64_t factored(const struct cfi_program *program, int64_t number)
{
	int64_t product;

	if (__builtin_mul_overflow(number, program->function->common->data_align, &product))
		return INT64_MAX;
	return product;
}

static int64_t read_number(struct cfi_program *program)
{
	uint64_t number = bytes_uleb(&program->code);

	return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

static int64_t read_factored_signed(struct cfi_program *program)
{
	return factored(program, bytes_sleb(&program->code));
}

static int move_by(struct cfi_program *program, uint64_t units)
{
	uint64_t distance, to;

	if (__builtin_mul_overflow(units, program->function->common->code_align, &distance) ||
	    __builtin_add_overflow(program->address, distance, &to))
		return -EINVAL;
	program->address = to;
	return 0;
}

static int move_to(struct cfi_program *program)
{
	const struct cfi_function *function = program->function;
	uint64_t to;

	if (cfi_pointer_read(&program->code, program->section, function->common->pointer_encoding,
			     function->common->address_bytes, function->start, &to) < 0 ||
	    to < program->address)
		return -EINVAL;
	program->address = to;
	return 0;
}

static int remember(struct cfi_program *program)
{
	if (program->nr_remembered == CFI_REMEMBERED_MAX)
		return -EINVAL;
	program->remembered[program->nr_remembered++] = program->state;
	return 0;
}

static int recall(struct cfi_program *program)
{
	if (!program->nr_remembered)
		return -EINVAL;
	program->state = program->remembered[--program->nr_remembered];
	return 0;
}

/* Where registers were saved. */
static int run_register(struct cfi_program *program, uint8_t instruction)
{
	const struct unwind_place unknown = {0};
	struct bytes *code = &program->code;
	uint64_t reg = bytes_uleb(code); /* all of them start with it */

	switch (instruction) {
	case DW_CFA_offset_extended:
		save_at_cfa(program, reg, factored(program, read_number(program)));
		return 0;
	case DW_CFA_offset_extended_sf:
		save_at_cfa(program, reg, read_factored_signed(program));
		return 0;
	case DW_CFA_GNU_negative_offset_extended:
		save_at_cfa(program, reg, factored(program, -read_number(program)));
		return 0;
	case DW_CFA_val_offset: /* it is CFA + offset: no place says that */
	case DW_CFA_val_offset_sf:
		(void)bytes_uleb(code);
		set_place(program, reg, unknown, false);
		return 0;
	case DW_CFA_expression:
		save_by_expression(program, reg, false);
		return 0;
	case DW_CFA_val_expression:
		save_by_expression(program, reg, true);
		return 0;
	case DW_CFA_register:
		save_in_register(program, reg, bytes_uleb(code));
		return 0;
	case DW_CFA_restore_extended:
		restore(program, reg);
		return 0;
	case DW_CFA_undefined:
		set_where(program, reg, UNWIND_LOST);
		return 0;
	case DW_CFA_same_value:
		set_where(program, reg, UNWIND_SAME);
		return 0;
	default:
		return -EINVAL;
	}
}

/* Steps to another address, what is remembered, and what says nothing to us. */
static int run_step(struct cfi_program *program, uint8_t instruction)
{
	struct bytes *code = &program->code;

	switch (instruction) {
	case DW_CFA_set_loc:
		return move_to(program);
	case DW_CFA_advance_loc1:
		return move_by(program, bytes_u8(code));
	case DW_CFA_advance_loc2:
		return move_by(program, bytes_u16(code));
	case DW_CFA_advance_loc4:
		return move_by(program, bytes_u32(code));
	case DW_CFA_MIPS_advance_loc8:
		return move_by(program, bytes_u64(code));
	case DW_CFA_remember_state:
		return remember(program);
	case DW_CFA_restore_state:
		return recall(program);
	case DW_CFA_GNU_args_size:
		(void)bytes_uleb(code);
		return 0;
	case DW_CFA_AARCH64_negate_ra_state: /* the mask takes signatures off anyway */
	case DW_CFA_nop:
		return 0;
	default:
		return run_register(program, instruction);
	}
}

/* What the CFA is: most of all instructions but steps. */
static int run_definition(struct cfi_program *program, uint8_t instruction)
{
	struct cfi_state *state = &program->state;
	struct bytes *code = &program->code;
	uint64_t reg;

	switch (instruction) {
	case DW_CFA_def_cfa:
		reg = bytes_uleb(code);
		define_cfa(state, reg, read_number(program));
		return 0;
	case DW_CFA_def_cfa_sf:
		reg = bytes_uleb(code);
		define_cfa(state, reg, read_factored_signed(program));
		return 0;
	case DW_CFA_def_cfa_register:
		define_cfa(state, bytes_uleb(code), state->cfa_offset);
		return 0;
	case DW_CFA_def_cfa_offset:
		define_cfa(state, state->cfa_register, read_number(program));
		return 0;
	case DW_CFA_def_cfa_offset_sf:
		define_cfa(state, state->cfa_register, read_factored_signed(program));
		return 0;
	case DW_CFA_def_cfa_expression:
		define_cfa_by_expression(program);
		return 0;
	default:
		return run_step(program, instruction);
	}
}

static int run_instruction(struct cfi_program *program)
{
	uint8_t instruction = bytes_u8(&program->code);
	uint8_t operand = instruction & (uint8_t)~DW_CFA_high_two;
	int err = 0;

	switch (instruction & DW_CFA_high_two) {
	case DW_CFA_advance_loc:
		err = move_by(program, operand);
		break;
	case DW_CFA_offset:
		save_at_cfa(program, operand, factored(program, read_number(program)));
		break;
	case DW_CFA_restore:
		restore(program, operand);
		break;
	default:
		err = run_definition(program, instruction);
	}
	return program->code.failed ? -EINVAL : err;
}

/* --- a function ---------------------------------------------------------------------------- */

static int run_common(struct cfi_program *program, struct cfi_common *common)
{
	int err = 0;

	program->initial = (struct cfi_state){.is_ra_known = true, .is_fp_known = true};
	program->state = program->initial;
	program->code = common->program;
	while (program->code.nr && err == 0)
		err = run_instruction(program);
	if (err < 0)
		return err;
	common->initial = program->state;
	common->has_initial = true;
	return 0;
}

int cfi_program_init(struct cfi_program *program, const struct cfi_machine *machine,
		     const struct cfi_section *section, const struct cfi_function *function)
{
	struct cfi_common *common = function->common;

	program->machine = machine;
	program->section = section;
	program->function = function;
	program->address = function->start;
	program->is_done = false;
	program->nr_remembered = 0;
	if (!common->has_initial && run_common(program, common) < 0) {
		common->is_sound = false; /* for the other functions that have it */
		return -EINVAL;
	}
	program->initial = common->initial;
	program->state = common->initial;
	program->code = function->program;
	program->address = function->start;
	program->nr_remembered = 0;
	return 0;
}

int cfi_program_next(struct cfi_program *program, uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t start = program->address, end = program->function->end;

	if (program->is_done)
		return 0;
	while (program->code.nr && program->address == start)
		if (run_instruction(program) < 0)
			return -EINVAL;
	if (program->address == start || program->address >= end)
		program->is_done = true;
	*ret_start = start;
	*ret_end = program->is_done ? end : program->address;
	return 1;
}

/* --- the outcome --------------------------------------------------------------------------- */

/* What a register's own place means for the return address, if the state has one. */
static bool settle_ra(const struct cfi_program *program, struct unwind_rule *rule)
{
	uint64_t column = program->function->common->ra_column;

	if (!program->state.is_ra_known)
		return false;
	if (rule->ra.where != UNWIND_SAME || column == program->machine->ra)
		return rule->ra.where != UNWIND_SAME || program->machine->has_link_register;
	if (column >= UNWIND_NR_REGS)
		return false;
	rule->ra = (struct unwind_place){.where = UNWIND_IN_REGISTER, .reg = (uint8_t)column};
	return true;
}

bool cfi_program_rule(const struct cfi_program *program, struct unwind_rule *ret_rule)
{
	const struct cfi_state *state = &program->state;
	bool is_signal = program->function->common->is_signal_frame;
	struct unwind_rule rule = state->rule;

	*ret_rule = (struct unwind_rule){.cfa = UNWIND_CFA_NONE};
	if (is_signal && !program->machine->converts_signal_frames) {
		ret_rule->cfa = UNWIND_CFA_SIGNAL;
		ret_rule->is_signal_frame = true;
		return true;
	}
	if (state->is_ra_known && rule.ra.where == UNWIND_LOST) {
		ret_rule->cfa = UNWIND_CFA_END;
		return true;
	}
	if (rule.cfa == UNWIND_CFA_NONE || !settle_ra(program, &rule)) {
		ret_rule->cfa = is_signal ? UNWIND_CFA_SIGNAL : UNWIND_CFA_NONE;
		ret_rule->is_signal_frame = is_signal;
		return false;
	}
	if (!state->is_fp_known)
		rule.fp = (struct unwind_place){.where = UNWIND_LOST};
	rule.is_signal_frame = is_signal;
	*ret_rule = rule;
	return state->is_fp_known;
}
