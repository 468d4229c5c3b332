/* What a kind of machine has where; see arguments.c. Offsets are those in its struct pt_regs. */
#ifndef STOOK_PROBE_FIND_ARGUMENT_MACHINE_H
#define STOOK_PROBE_FIND_ARGUMENT_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/expression/expression.h"

#define ARGUMENTS_OF_FUNCTION 6

struct argument_registers {
	uint16_t at[ARGUMENTS_OF_FUNCTION];
};

struct argument_machine {
	struct argument_registers functions; /* of C and whatever calls as C does */
	struct argument_registers go;	     /* since Go 1.17; 1.18 on arm64 */
	uint16_t result;
	/* Of a static probe's note, behind the `@`: fills kind and where. False: not known. */
	bool (*take_place)(const char *text, struct tally_fetch *fetch);
};

#endif
