/*
 * The interpreter of call frame instructions.
 *
 * Only the registers of the return address and of the frame pointer are tracked, so a state has
 * some fifty bytes and remembering one is a copy. The program of a common entry is run each time
 * the reader reads the entry, and its result is stored there. The operands of an unknown
 * instruction have unknown length, so it makes the function's entry invalid.
 *
 * DWARF expressions are programs for a stack machine, but compilers use few forms: a register plus
 * a number, or the memory there, plus a number. So they are evaluated here over values of these
 * forms; any other result is not understood, and real-world code has none. One more expression is
 * recognised by its bytes, that of linkers for lazy binding stubs (PLT), which push at byte N of
 * each 16:  rsp + 8 + ((rip & 15) >= N) * 8
 */
#include "elf/unwind/cfi_program.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/array.h"

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

/* --- expressions ----------------------------------------------------------------------------- */

#define DEPTH_MAX 8

enum form {
	FORM_NUMBER,   /* offset */
	FORM_CFA,      /* CFA + offset */
	FORM_REGISTER, /* reg + offset */
	FORM_MEMORY,   /* *(reg + offset) + add */
};

/* Numbers are unsigned, so that they may wrap around. */
struct value {
	enum form form;
	uint64_t reg;
	uint64_t offset;
	uint64_t add;
};

struct machine_stack {
	struct value values[DEPTH_MAX];
	unsigned nr;
};

static bool push_value(struct machine_stack *stack, enum form form, uint64_t reg, uint64_t offset)
{
	if (stack->nr == DEPTH_MAX)
		return false;
	stack->values[stack->nr++] = (struct value){form, reg, offset, 0};
	return true;
}

static bool add_number(struct machine_stack *stack, uint64_t number)
{
	struct value *top;

	if (!stack->nr)
		return false;
	top = &stack->values[stack->nr - 1];
	if (top->form == FORM_MEMORY)
		top->add += number;
	else
		top->offset += number;
	return true;
}

/* Adds the two topmost values, one of which must be a number. */
static bool add_top(struct machine_stack *stack)
{
	struct value *top;

	if (stack->nr < 2)
		return false;
	top = &stack->values[--stack->nr];
	if (top->form != FORM_NUMBER) {
		struct value lower = top[-1];

		top[-1] = *top;
		*top = lower;
	}
	return top->form == FORM_NUMBER && add_number(stack, top->offset);
}

static bool subtract(struct machine_stack *stack)
{
	struct value *top;

	if (stack->nr < 2)
		return false;
	top = &stack->values[--stack->nr];
	return top->form == FORM_NUMBER && add_number(stack, -top->offset);
}

static bool dereference(struct machine_stack *stack)
{
	if (!stack->nr || stack->values[stack->nr - 1].form != FORM_REGISTER)
		return false;
	stack->values[stack->nr - 1].form = FORM_MEMORY;
	return true;
}

static bool push_constant(struct machine_stack *stack, uint8_t operation, struct bytes *bytes)
{
	uint64_t number;

	switch (operation) {
	case DW_OP_const1u:
		number = bytes_u8(bytes);
		break;
	case DW_OP_const1s:
		number = (uint64_t)(int8_t)bytes_u8(bytes);
		break;
	case DW_OP_const2u:
		number = bytes_u16(bytes);
		break;
	case DW_OP_const2s:
		number = (uint64_t)(int16_t)bytes_u16(bytes);
		break;
	case DW_OP_const4u:
		number = bytes_u32(bytes);
		break;
	case DW_OP_const4s:
		number = (uint64_t)(int32_t)bytes_u32(bytes);
		break;
	case DW_OP_const8u:
	case DW_OP_const8s:
		number = bytes_u64(bytes);
		break;
	case DW_OP_constu:
		number = bytes_uleb(bytes);
		break;
	case DW_OP_consts:
		number = (uint64_t)bytes_sleb(bytes);
		break;
	default:
		return false;
	}
	return push_value(stack, FORM_NUMBER, 0, number);
}

static bool run_operation(struct machine_stack *stack, uint8_t operation, struct bytes *bytes)
{
	uint64_t reg;

	if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31)
		return push_value(stack, FORM_NUMBER, 0, operation - DW_OP_lit0);
	if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31)
		return push_value(stack, FORM_REGISTER, operation - DW_OP_breg0,
				  (uint64_t)bytes_sleb(bytes));
	switch (operation) {
	case DW_OP_bregx:
		reg = bytes_uleb(bytes);
		return push_value(stack, FORM_REGISTER, reg, (uint64_t)bytes_sleb(bytes));
	case DW_OP_plus_uconst:
		return add_number(stack, bytes_uleb(bytes));
	case DW_OP_plus:
		return add_top(stack);
	case DW_OP_minus:
		return subtract(stack);
	case DW_OP_deref:
		return dereference(stack);
	case DW_OP_nop:
		return true;
	default:
		return push_constant(stack, operation, bytes);
	}
}

/* Evaluates an expression, starting with the given stack; the result is on top. */
static bool run_expression(struct bytes bytes, struct machine_stack *stack, struct value *ret)
{
	while (bytes.nr)
		if (!run_operation(stack, bytes_u8(&bytes), &bytes))
			return false;
	if (bytes.failed || !stack->nr)
		return false;
	*ret = stack->values[stack->nr - 1];
	return ret->reg < UNWIND_NR_REGS && cfi_offset_fits((int64_t)ret->offset) &&
	       cfi_offset_fits((int64_t)ret->add);
}

/* x86-64's stubs: registers 7 and 16 are rsp and rip. */
static bool is_plt(struct bytes bytes, const struct cfi_machine *machine, int32_t *ret_pushed_at)
{
	const uint8_t before[] = {DW_OP_breg0 + 7, 8, DW_OP_breg0 + 16, 0, DW_OP_lit15, DW_OP_and};
	const uint8_t after[] = {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
	const uint8_t *at = bytes.at;

	if (machine->ra != 16 || bytes.nr != sizeof(before) + 1 + sizeof(after))
		return false;
	if (memcmp(at, before, sizeof(before)) ||
	    memcmp(at + sizeof(before) + 1, after, sizeof(after)))
		return false;
	*ret_pushed_at = at[sizeof(before)] - DW_OP_lit0;
	return *ret_pushed_at >= 0 && *ret_pushed_at < 16;
}

/* Sets the rule's CFA; false, and unchanged, if a rule cannot express it. */
static bool expression_cfa(struct bytes expression, const struct cfi_machine *machine,
			   struct unwind_rule *rule)
{
	struct machine_stack stack = {.nr = 0};
	struct value value;
	int32_t pushed_at;

	if (expression.failed)
		return false;
	if (is_plt(expression, machine, &pushed_at)) {
		rule->cfa = UNWIND_CFA_PLT;
		rule->reg = machine->sp;
		rule->offset = 8;
		rule->add = pushed_at;
		return true;
	}
	if (!run_expression(expression, &stack, &value) ||
	    (value.form != FORM_REGISTER && value.form != FORM_MEMORY))
		return false;
	rule->cfa = value.form == FORM_MEMORY ? UNWIND_CFA_MEMORY : UNWIND_CFA_REGISTER;
	rule->reg = (uint8_t)value.reg;
	rule->offset = (int32_t)value.offset;
	rule->add = (int32_t)value.add;
	return true;
}

/* The place of a register: the expression is its address or, with is_value, its value. */
static bool expression_place(struct bytes expression, bool is_value, struct unwind_place *ret_place)
{
	struct machine_stack stack = {.nr = 0};
	struct value value;

	(void)push_value(&stack, FORM_CFA, 0, 0); /* the stack initially contains the CFA */
	if (expression.failed || !run_expression(expression, &stack, &value))
		return false;
	if (value.form == FORM_REGISTER)
		ret_place->where = is_value ? UNWIND_IN_REGISTER : UNWIND_AT_REGISTER;
	else if (value.form == FORM_CFA && !is_value)
		ret_place->where = UNWIND_AT_CFA;
	else if (value.form == FORM_MEMORY && is_value && !value.add)
		ret_place->where = UNWIND_AT_REGISTER;
	else
		return false;
	ret_place->reg = (uint8_t)value.reg;
	ret_place->offset = (int32_t)value.offset;
	return true;
}

/* --- the canonical frame address ------------------------------------------------------------- */

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

/* --- registers ------------------------------------------------------------------------------- */

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

static void set_where(struct cfi_program *program, uint64_t reg, enum unwind_where where)
{
	set_place(program, reg, (struct unwind_place){.where = (uint8_t)where}, true);
}

static void save_by_expression(struct cfi_program *program, uint64_t reg, bool is_value)
{
	struct bytes expression = bytes_cut(&program->code, bytes_uleb(&program->code));
	struct unwind_place place = {0};
	bool is_known = expression_place(expression, is_value, &place);

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

/* --- instructions ---------------------------------------------------------------------------- */

/*
 * A number multiplied by the data alignment. Overflow of 64 bits is also one of 32, which is not
 * supported.
 */
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

/* Instructions that define where a register was saved. */
static int run_register(struct cfi_program *program, uint8_t instruction)
{
	const struct unwind_place unknown = {0};
	struct bytes *code = &program->code;
	uint64_t reg = bytes_uleb(code), other; /* all of them start with a register */

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
	case DW_CFA_val_offset: /* the value is CFA + offset: no place expresses that */
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
		other = bytes_uleb(code);
		set_place(program, reg,
			  (struct unwind_place){UNWIND_IN_REGISTER, (uint8_t)other, 0},
			  other < UNWIND_NR_REGS);
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

/* Advances of the address, remembered states, and instructions that are ignored. */
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
		if (program->nr_remembered == CFI_REMEMBERED_MAX)
			return -EINVAL;
		program->remembered[program->nr_remembered++] = program->state;
		return 0;
	case DW_CFA_restore_state:
		if (!program->nr_remembered)
			return -EINVAL;
		program->state = program->remembered[--program->nr_remembered];
		return 0;
	case DW_CFA_GNU_args_size:
		(void)bytes_uleb(code);
		return 0;
	case DW_CFA_AARCH64_negate_ra_state: /* UNWIND_ADDRESS_MASK removes signatures anyway */
	case DW_CFA_nop:
		return 0;
	default:
		return run_register(program, instruction);
	}
}

/* Definitions of the CFA: the most frequent instructions after advances. */
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
		if (!expression_cfa(bytes_cut(code, bytes_uleb(code)), program->machine,
				    &state->rule))
			state->rule.cfa = UNWIND_CFA_NONE;
		return 0;
	default:
		return run_step(program, instruction);
	}
}

/* The first three instructions have an operand in their lower six bits. */
#define HIGH_TWO 0xc0

static int run_instruction(struct cfi_program *program)
{
	uint8_t instruction = bytes_u8(&program->code);
	uint8_t operand = instruction & (uint8_t)~HIGH_TWO;
	int err = 0;

	switch (instruction & HIGH_TWO) {
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

/* --- a function ------------------------------------------------------------------------------ */

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
		common->is_sound = false; /* for other functions with the same common entry */
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

/* --- the outcome ----------------------------------------------------------------------------- */

/* Converts a register's own place into that of the return address, if the state has one. */
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
