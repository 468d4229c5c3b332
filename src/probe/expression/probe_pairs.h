/* Calls and returns of the same functions, brought together in a list of probes. */
#ifndef STOOK_PROBE_EXPRESSION_PROBE_PAIRS_H
#define STOOK_PROBE_EXPRESSION_PROBE_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/expression/probe_list.h"

struct probe_pairs_options {
	bool calls, returns; /* what is taken from hits is known at calls, at returns */
	bool paired;	     /* in any case */
	bool force_returns;  /* return probes that may end programs */
};

struct probe_pairs {
	bool are_paired; /* each function has both, and what is known at one is needed at the other */
	uint32_t *functions; /* of each probe the number that stands for its function */
};

/*
 * Makes of the list what is needed: calls become returns, or what is missing of a pair is added
 * behind all that is there. 0; -EINVAL for a probe that has no return, or must not have; -ENOMEM.
 */
int probe_pairs_make(struct probe_list *list, const struct probe_pairs_options *options,
		     struct probe_pairs *ret, struct error *error);
void probe_pairs_clear(struct probe_pairs *pairs);

#endif
