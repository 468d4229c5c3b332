/*
 * Debug files from a debuginfod server, through its own client library, which is looked for when
 * it is first needed. Only if the environment asks for it: DEBUGINFOD_URLS is set.
 */
#ifndef STOOK_SYM_DEBUGINFOD_H
#define STOOK_SYM_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

/* All that a run waits for servers, at most; then nobody is asked any more. */
#define DEBUGINFOD_MAX_NS (30 * NS_PER_SEC)

struct debuginfod;

/* NULL if the environment does not ask for it, or when out of memory. */
struct debuginfod *debuginfod_new(void);
void debuginfod_free(struct debuginfod *client);

/* A descriptor of the debug file, or -ENOENT; one of another build id counts as none. */
int debuginfod_open(struct debuginfod *client, const uint8_t *build_id, size_t build_id_bytes);

/* What there is to be told when all is done: NULL, or why files were not asked for. */
const char *debuginfod_trouble(const struct debuginfod *client);

#endif
