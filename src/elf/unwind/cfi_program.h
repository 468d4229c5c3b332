/*
 * Runs the program of a function's entry: a list of changes to the rules, and of advances to the
 * next address.
 *
 *	cfi_program_init(&program, machine, section, &function);
 *	while (cfi_program_next(&program, &start, &end) > 0)
 *		program.state is valid in [start, end)
 *
 * Ranges are returned in order, without gaps, from the function's start to its end. Equal
 * neighbours are not merged.
 */
#ifndef STOOK_ELF_UNWIND_CFI_PROGRAM_H
#define STOOK_ELF_UNWIND_CFI_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "elf/unwind/cfi_entries.h"

/* Limit of states remembered at a time; compilers use one or two. */
#define CFI_REMEMBERED_MAX 64

struct cfi_program {
	const struct cfi_machine *machine;
	const struct cfi_section *section;
	const struct cfi_function *function;
	struct bytes code;
	uint64_t address; /* the state is valid from here on */
	bool is_done;
	struct cfi_state state, initial;
	struct cfi_state remembered[CFI_REMEMBERED_MAX];
	unsigned nr_remembered;
};

/* The machine for an e_machine, or NULL. */
const struct cfi_machine *cfi_machine_find(uint16_t machine);

/*
 * The section and the function must outlive *program. 0, or -EINVAL if the common entry's program
 * is invalid.
 */
int cfi_program_init(struct cfi_program *program, const struct cfi_machine *machine,
		     const struct cfi_section *section, const struct cfi_function *function);

/* 1, 0 at the end, or -EINVAL: then ranges returned before are not reliable, either. */
int cfi_program_next(struct cfi_program *program, uint64_t *ret_start, uint64_t *ret_end);

/* The rule for the state; false if it cannot express everything in the CFI. */
bool cfi_program_rule(const struct cfi_program *program, struct unwind_rule *ret_rule);

#endif
