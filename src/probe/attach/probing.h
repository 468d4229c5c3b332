/*
 * Probes attached and watched: all at once, or under a budget step by step, while hot ones are
 * detached before they cost more than they may. For every command that probes.
 *
 *	probing_new()
 *	probing_start()		without a budget everything is attached now
 *	probing_step()		with one: attaches some more, looks at rates, cuts; says when to come again
 *	probing_stop()		nothing hits any more
 *	probing_free()
 *
 * What the budget means: on no CPU do hits take more than the share of its time, over a second once
 * all probes have been tried, over a tenth of a second while the search goes on. A probe that is
 * cut stays cut until the end. The others of its group are away meanwhile, some 0.1 s, and what
 * they were hit then is not in their counts (away_ns). Where hits lead to work besides being counted, only
 * what is too hot without it is cut: first the work is done for one hit in two, four, … of the hottest, and
 * for more of them again as they cool down.
 */
#ifndef STOOK_PROBE_ATTACH_PROBING_H
#define STOOK_PROBE_ATTACH_PROBING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/attach/budget.h"
#include "probe/attach/probe_features.h"
#include "probe/attach/probe_links.h"
#include "probe/attach/probe_object.h"
#include "probe/expression/probe_list.h"

struct probing_options {
	const struct probe_list *list;
	const struct probe_features *features;
	const struct probe_programs *programs;
	const struct hits *hits;
	int32_t pid;	     /* as in probe_links_options */
	double budget_share; /* 0: no budget */
	double work_ns;	     /* what a hit costs beyond being counted: a stack, a record */
	/* Lets one hit in 1 << bits of a probe do its work; not NULL if there is any. */
	void (*thin)(void *context, uint32_t number, unsigned bits);
	void *context;
};

enum probe_state {
	PROBE_WAITING, /* not attached yet, or away */
	PROBE_ATTACHED,
	PROBE_REFUSED, /* .why */
	PROBE_CUT,     /* by the budget: .cut_* */
	NR_PROBE_STATES
};

struct probe_status {
	enum probe_state state;
	const char *why;      /* the kernel does not take it */
	uint64_t attached_ns; /* when first, on CLOCK_MONOTONIC; 0: never */
	uint64_t away_ns;     /* how long it was detached since, because of others */
	uint64_t left_ns;     /* when that was last: if it is waiting, it is still away */
	uint64_t cut_ns;      /* when its count ended */
	double cut_rate;      /* hits a second then, on all CPUs */
	uint64_t thinned_ns;  /* when its hits were thinned out first; 0: never */
	uint8_t most_bits;    /* at the most, one in 1 << most_bits was left */
};

struct probing;

/* All that options points to must outlive it. NULL on failure. */
struct probing *probing_new(const struct probing_options *options, struct error *error);
void probing_free(struct probing *probing);

/*
 * Under a budget the calling thread, which is to take the steps as well, has the highest ordinary
 * priority until all probes have been tried, or the stop.
 */
int probing_start(struct probing *probing, struct error *error);

/*
 * To be called when the time has come that the last call (or the start: at once) told of:
 * *ret_next_ns, UINT64_MAX if never. 0 or a negative errno.
 */
int probing_step(struct probing *probing, uint64_t *ret_next_ns, struct error *error);

void probing_stop(struct probing *probing);

/*
 * True if a program that is started for the run may begin: all probes are attached; or under a
 * budget, the search is over, or takes too long to wait for.
 */
bool probing_is_ready(const struct probing *probing);

const struct probe_status *probing_status(const struct probing *probing, uint32_t number);
size_t probing_nr(const struct probing *probing, enum probe_state state);
/* The measured costs of a hit; zeros without a budget. */
const struct budget *probing_budget(const struct probing *probing);
/* Hits of our own processes, as far as they are left out. */
uint64_t probing_own(const struct probing *probing);
uint64_t probing_missed(const struct probing *probing); /* see probe_links_missed() */

#endif
