/*
 * DWARF expressions of call frame information, recognised by what they amount to.
 */
#ifndef STOOK_ELF_UNWIND_CFI_EXPRESSION_H
#define STOOK_ELF_UNWIND_CFI_EXPRESSION_H

#include <stdbool.h>

#include "base/bytes.h"
#include "bpf/unwind_format.h"
#include "elf/unwind/cfi_state.h"

/* Sets the rule's CFA; false, and nothing set, if it cannot say what the expression does. */
bool cfi_expression_cfa(struct bytes expression, const struct cfi_machine *machine,
			struct unwind_rule *rule);

/* The place of a register whose address the expression is, or with is_value, whose value. */
bool cfi_expression_place(struct bytes expression, bool is_value, struct unwind_place *ret_place);

#endif
