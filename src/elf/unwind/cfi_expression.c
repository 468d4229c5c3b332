/*
 * Expressions are a language for a stack machine, but compilers write few things in it: a register
 * plus a number, or what is in memory there, plus a number. So they are run here over values of
 * that form; what leads out of it is not understood, and the rest of the world's code has none.
 *
 * One more shape is known by its bytes, that of the linkers' stubs for lazy binding (PLT), which
 * push at byte N of each 16:  rsp + 8 + ((rip & 15) >= N) * 8
 */
#include "elf/unwind/cfi_expression.h"

#include <string.h>

#include "elf/dwarf/dwarf_numbers.h"

#define DEPTH_MAX 8

enum form {
	FORM_NUMBER,   /* offset */
	FORM_CFA,      /* CFA + offset */
	FORM_REGISTER, /* reg + offset */
	FORM_MEMORY,   /* *(reg + offset) + add */
};

/* Numbers are unsigned, so that they may wrap. */
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

static bool push(struct machine_stack *stack, enum form form, uint64_t reg, uint64_t offset)
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

/* Adds the two topmost values, of which one is a number. */
static bool add(struct machine_stack *stack)
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
	return push(stack, FORM_NUMBER, 0, number);
}

static bool run_operation(struct machine_stack *stack, uint8_t operation, struct bytes *bytes)
{
	uint64_t reg;

	if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31)
		return push(stack, FORM_NUMBER, 0, operation - DW_OP_lit0);
	if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31)
		return push(stack, FORM_REGISTER, operation - DW_OP_breg0,
			    (uint64_t)bytes_sleb(bytes));
	switch (operation) {
	case DW_OP_bregx:
		reg = bytes_uleb(bytes);
		return push(stack, FORM_REGISTER, reg, (uint64_t)bytes_sleb(bytes));
	case DW_OP_plus_uconst:
		return add_number(stack, bytes_uleb(bytes));
	case DW_OP_plus:
		return add(stack);
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

/* Runs it over what the stack has; its result is on top. */
static bool run(struct bytes bytes, struct machine_stack *stack, struct value *ret)
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

/* x86-64's stub: registers 7 and 16 are rsp and rip. */
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

bool cfi_expression_cfa(struct bytes expression, const struct cfi_machine *machine,
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
	if (!run(expression, &stack, &value) ||
	    (value.form != FORM_REGISTER && value.form != FORM_MEMORY))
		return false;
	rule->cfa = value.form == FORM_MEMORY ? UNWIND_CFA_MEMORY : UNWIND_CFA_REGISTER;
	rule->reg = (uint8_t)value.reg;
	rule->offset = (int32_t)value.offset;
	rule->add = (int32_t)value.add;
	return true;
}

bool cfi_expression_place(struct bytes expression, bool is_value, struct unwind_place *ret_place)
{
	struct machine_stack stack = {.nr = 0};
	struct value value;

	(void)push(&stack, FORM_CFA, 0, 0); /* it starts with the CFA on the stack */
	if (expression.failed || !run(expression, &stack, &value))
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
