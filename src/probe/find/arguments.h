/*
 * Where a probe has what an operand asks for: by which register a function gets its arguments, what
 * the note of a static probe says, at which offset a tracepoint has a field. Pure: the texts are
 * read by others.
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

/* Offsets of registers are those in the machine's struct pt_regs. */
struct argument_registers {
	uint16_t at[ARGUMENTS_OF_FUNCTION];
};

struct argument_machine {
	struct argument_registers functions; /* of C and whatever calls as C does */
	struct argument_registers go;	     /* since Go 1.17; 1.18 on arm64 */
	uint16_t result;
	/* Parses an operand of a static probe's note, behind the `@`: fills kind and place. */
	bool (*take_place)(const char *text, struct tally_fetch *fetch);
};

extern const struct argument_machine arguments_x86, arguments_arm64;

/* The one that this program was built for. */
const struct argument_machine *arguments_machine(void);

/*
 * format is the tracepoint's, of its file in tracefs; NULL for other probes. by_trampoline: a
 * kernel function is hooked by fentry and fexit, where arguments are not in registers. 0; or
 * -EINVAL, telling what the probe has instead.
 */
int arguments_find(const struct argument_machine *machine, const struct probe *probe,
		   const char *format, bool by_trampoline, const struct operand *operand,
		   struct tally_fetch *ret, struct error *error);

/* True if a tracepoint has a field of this name that is a text. */
bool arguments_field_is_text(const char *format, const char *field);

#endif
