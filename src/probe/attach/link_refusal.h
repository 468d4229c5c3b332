/* What the kernel means when it does not attach a probe: this one can't be, or none can. Pure. */
#ifndef STOOK_PROBE_ATTACH_LINK_REFUSAL_H
#define STOOK_PROBE_ATTACH_LINK_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "probe/attach/probe_hook.h"

/* Why this probe can't be attached; NULL: the errno says that no other could be either. */
const char *link_refusal(enum probe_hook hook, int err);

/* For those others: says what failed and what to try; returns err. */
int link_failure(enum probe_hook hook, int err, size_t nr, struct error *error);

#endif
