/*
 * Events of CPU models by the names that vendors and perf give them (uops_executed.core), through libpfm4. The library
 * is loaded when it is first needed, and need not be there.
 *
 * The rule for names: libpfm4 writes EVENT:UMASK, perf event.umask. Case does not matter, and each `.` is read as `:`.
 * The few events whose first word differs are in a table.
 */
#ifndef STOOK_EVENT_MODELS_H
#define STOOK_EVENT_MODELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model_code {
	uint64_t config[3]; /* config, config1, config2 */
	const char *pmu;    /* where CPUs have different kinds of cores; NULL: raw events */
};

/*
 * Finds an event of a model by libpfm4's name of it ("skl"), or of this CPU if that is NULL. Returns 0; -ENOENT; or
 * -ENOSYS if there is no libpfm4, or it does not know the CPU.
 */
int models_find(const char *model, const char *text, struct model_code *ret);

/* Calls visit with each name in perf's spelling, and its description. 0, or -ENOSYS as above. */
typedef void models_visit_fn(void *context, const char *name, const char *description);
int models_each(const char *model, models_visit_fn *visit, void *context);

/* Returns the model in words, "Intel Skylake"; NULL if it is not known. */
const char *models_describe(const char *model);

#endif
