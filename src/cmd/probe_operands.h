/*
 * Places of values at the probes of a run: of a weight (`stook stackcount --weight`), of the
 * keys and values of a query (`stook tally`, `stook funccount --by`), or in the filter of a tracepoint.
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
#include "run/config.h"

struct probe_operands {
	char **formats; /* for each initial probe: a tracepoint's format, or NULL */
	size_t nr_formats;
};

/* An operand, or its lowest bytes: "arg2", "(int)retval", "args.bytes". */
struct probe_weight {
	struct operand operand;
	uint8_t bytes; /* 0: the whole operand */
	bool is_signed;
};

/* Returns 0 or -EINVAL, with *error. */
int probe_weight_parse(const char *text, struct probe_weight *ret, struct error *error);

/*
 * Returns the place of the weight at each probe of the list, which the caller frees. Returns 0 or a
 * negative errno; fails if one of the probes does not have the value.
 */
int probe_weight_find(const struct probe_weight *weight, const struct probe_list *list,
		      const struct probe_features *features, struct tally_fetch **ret,
		      struct error *error);

/*
 * Compiles the filters of the options' patterns for the list's tracepoints. 0 or a negative errno, also if two patterns
 * with different filters match the same tracepoint.
 */
int probe_filters_compile(struct probe_list *list, const struct probe_options *options,
			  struct error *error);

struct tally_places {
	struct tally_query query;
	struct probe_pairs pairs;
	struct tally_probe *probes;  /* one per probe of the list */
	struct tally_fetch *fetches; /* one per probe and operand */
	struct probe_operands operands;
};

/*
 * Compiles the query for the given probes. Adds probes if needed (a call's return); with
 * force_returns also in languages where return probes are risky. Clears features that must not be
 * used in this run. Returns 0 or a negative errno. The caller clears places in each case.
 */
int tally_places_find(struct tally_places *places, const struct tally_query_options *options,
		      bool force_returns, struct probe_list *list, struct probe_features *features,
		      struct error *error);
void tally_places_clear(struct tally_places *places);

#endif
