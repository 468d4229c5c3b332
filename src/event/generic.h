/* Events that the kernel has numbers for on every machine: hardware, cache, software and raw events, breakpoints. */
#ifndef STOOK_EVENT_GENERIC_H
#define STOOK_EVENT_GENERIC_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define BREAKPOINT "mem:"

/* Sets type and config to those of the name; false if there is no such event. */
bool generic_find(const char *name, struct perf_event_attr *attr);

/* Calls visit with each name but raw numbers; of the synonyms of a cache event only with the first. */
typedef void generic_visit_fn(void *context, const char *name, const char *description,
			      uint32_t type);
void generic_each(generic_visit_fn *visit, void *context);

/*
 * Parses mem:ADDRESS[/BYTES][:rwx]. *ret_modifiers is the text after the last `:`, or NULL. 0 or -EINVAL.
 */
int breakpoint_parse(const char *text, struct perf_event_attr *attr, const char **ret_modifiers,
		     struct error *error);

#endif
