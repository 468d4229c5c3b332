/*
 * Messages for the user on stderr, all in one manner: `stook: what` and `  hint: what to try`. They may
 * quote what comes from others: a terminal is sent nothing that would control it. And exit statuses.
 */
#ifndef STOOK_RUN_COMPLAIN_H
#define STOOK_RUN_COMPLAIN_H

#include <stdbool.h>

#include "base/error.h"

enum {
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_OWN_FAILURE = 125, /* with `-- CMD`, whose own status may be anything */
};

void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
void complain_error(const struct error *error);

/* True if all went well. A reader who closed our pipe has seen enough: nothing to complain of. */
bool complain_unless_well(int err, const struct error *error);

#endif
