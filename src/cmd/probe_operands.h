/*
 * The places of values at the probes of a run: of a weight (`stook stackcount --weight`),
 * or the keys and values of a query (`stook tally`, `stook funccount --by`).
 */
#ifndef STOOK_CMD_PROBE_OPERANDS_H
#define STOOK_CMD_PROBE_OPERANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/attach/probe_features.h"
#include "probe/expression/expression.h"
#include "probe/expression/probe_list.h"
#include "probe/expression/tally_query.h"

struct probe_operands {
	char **formats; /* of each probe that was there first: a tracepoint's, or NULL */
	size_t nr_formats;
};

/* An operand, or its lowest bytes: "arg2", "(int)retval", "args.bytes". */
struct probe_weight {
	struct operand operand;
	uint8_t bytes; /* 0: all that there are */
	bool is_signed;
};

/* 0 or -EINVAL, with what is wrong. */
int probe_weight_parse(const char *text, struct probe_weight *ret, struct error *error);

/*
 * The place of the weight at each probe of the list, the caller's to free. 0 or a negative errno: a
 * value that one of the probes does not have can't be added up.
 */
int probe_weight_find(const struct probe_weight *weight, const struct probe_list *list,
		      const struct probe_features *features, struct tally_fetch **ret,
		      struct error *error);

struct tally_places {
	struct tally_query query;
	struct probe_pairs pairs;
	struct tally_probe *probes;  /* of each probe of the list */
	struct tally_fetch *fetches; /* of each, one for each operand */
	struct probe_operands operands;
};

/*
 * Compiles the query for the probes that there are, which may become more (a call's return), also in
 * languages where that is risky with force_returns. What may not be used in this run is taken from
 * the features. 0 or a negative errno. To be cleared in each case.
 */
int tally_places_find(struct tally_places *places, const struct tally_query_options *options,
		      bool force_returns, struct probe_list *list, struct probe_features *features,
		      struct error *error);
void tally_places_clear(struct tally_places *places);

#endif
