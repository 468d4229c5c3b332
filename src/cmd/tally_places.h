/*
 * What `stook tally` takes from hits and where it is found: the options compiled for the probes that
 * there are, which may become more (a call's return).
 */
#ifndef STOOK_CMD_TALLY_PLACES_H
#define STOOK_CMD_TALLY_PLACES_H

#include "base/error.h"
#include "cmd/probe_operands.h"
#include "cmd/tally_options.h"
#include "probe/attach/probe_features.h"
#include "probe/expression/probe_list.h"
#include "probe/expression/tally_query.h"

struct tally_places {
	struct tally_query query;
	struct probe_pairs pairs;
	struct tally_probe *probes;  /* of each probe of the list */
	struct tally_fetch *fetches; /* of each, one for each operand */
	struct probe_operands operands;
};

/*
 * 0 or a negative errno. To be cleared in each case. What may not be used in this run is taken from
 * the features.
 */
int tally_places_find(struct tally_places *places, const struct tally_options *options,
		      struct probe_list *list, struct probe_features *features,
		      struct error *error);
void tally_places_clear(struct tally_places *places);

#endif
