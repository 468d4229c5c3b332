/* What became of the hits of a run that goes to rows: sums over its intervals. */
#ifndef STOOK_CMD_TALLY_TOTALS_H
#define STOOK_CMD_TALLY_TOTALS_H

#include <stdint.h>

#include "collect/tallier.h"

void tally_totals_add(struct tally_counters *total, const struct tally_counters *interval);

/* Hits that are in no row, for whatever reason. */
uint64_t tally_totals_lost(const struct tally_counters *counters);

/* A line on stderr for each reason. */
void tally_totals_tell_lost(const struct tally_counters *total);

#endif
