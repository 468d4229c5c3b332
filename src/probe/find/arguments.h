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

struct argument_machine;

extern const struct argument_machine arguments_x86, arguments_arm64;

/* The one that this program was built for. */
const struct argument_machine *arguments_machine(void);

/*
 * format is the tracepoint's, of its file in tracefs; NULL for other probes. by_trampoline: a kernel
 * function is hooked by fentry and fexit, where arguments are not in registers. 0; or -EINVAL,
 * telling what the probe has instead.
 */
int arguments_find(const struct argument_machine *machine, const struct probe *probe,
		   const char *format, bool by_trampoline, const struct operand *operand,
		   struct tally_fetch *ret, struct error *error);

/* Whether a tracepoint has a field, and that is a text. */
bool arguments_field_is_text(const char *format, const char *field);

#endif
