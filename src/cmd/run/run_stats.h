/* The numbers of a run for programs. */
#ifndef STOOK_CMD_RUN_RUN_STATS_H
#define STOOK_CMD_RUN_RUN_STATS_H

#include <stdio.h>

#include "cmd/run/run_summary.h"

/* `name value` a line. */
void run_stats_write(const struct run_summary *run, FILE *out);

#endif
