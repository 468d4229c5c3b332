/*
 * Finds where a probe has the value of an operand: a function's argument by register, a static
 * probe's by its note, a tracepoint's field by offset. Pure: the texts are read by others.
 */
#ifndef STOOK_PROBE_FIND_ARGUMENTS_H
#define STOOK_PROBE_FIND_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/expression/expression.h"
#include "probe/expression/probe_list.h"

#define ARGUMENTS_OF_FUNCTION 6

/* Offsets of registers in the machine's struct pt_regs. */
struct argument_registers {
	uint16_t at[ARGUMENTS_OF_FUNCTION];
};

struct argument_machine {
	struct argument_registers functions; /* C calling convention */
	struct argument_registers go;	     /* Go's own, since Go 1.17; 1.18 on arm64 */
	uint16_t result;
	/*
	 * Parses the location of an argument in a static probe's note, after the `@`. Fills kind
	 * and location.
	 */
	bool (*take_place)(const char *text, struct tally_fetch *fetch);
};

extern const struct argument_machine arguments_x86, arguments_arm64;

/* Returns the machine that this program was built for. */
const struct argument_machine *arguments_machine(void);

/*
 * Fills ret with how to fetch the operand. format: a tracepoint's file `format` in tracefs; NULL
 * for other probes. by_trampoline: a kernel function is attached by fentry or fexit, where
 * arguments are not in registers. Returns 0, or -EINVAL with an error that lists what the probe
 * has.
 */
int arguments_find(const struct argument_machine *machine, const struct probe *probe,
		   const char *format, bool by_trampoline, const struct operand *operand,
		   struct tally_fetch *ret, struct error *error);

/* True if a tracepoint has a string field with this name. */
bool arguments_field_is_text(const char *format, const char *field);

#endif
