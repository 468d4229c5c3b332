/* Debug files from debuginfod servers. */
#ifndef STOOK_SYM_DEBUGINFOD_H
#define STOOK_SYM_DEBUGINFOD_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/read_budget.h"
#include "worker/worker.h"

struct debuginfod;

/* Limit on the total time that a run waits for servers; after that none is asked. */
#define DEBUGINFOD_MAX_NS (30 * NS_PER_SEC)

/* Limit on the size of a debug file from a server. */
#define DEBUGINFOD_MAX_BYTES (4ULL << 30)

/* True if the client library can be loaded. No server is asked. */
bool debuginfod_is_there(void);

/* Returns NULL if DEBUGINFOD_URLS is not set, or when out of memory. */
struct debuginfod *debuginfod_new(void);
void debuginfod_free(struct debuginfod *client);

/*
 * Stook's side of a parser's request: downloads the debug file, waiting no longer than the budget (NULL: none)
 * allows. Returns 0, or -ENODATA.
 */
int debuginfod_place(struct debuginfod *client, const struct worker_want *want,
		     const struct read_budget *budget, struct worker_place *ret);

/*
 * Returns why servers were not asked for some files, to report at the end of the run; NULL: no
 * trouble.
 */
const char *debuginfod_trouble(const struct debuginfod *client);

#endif
