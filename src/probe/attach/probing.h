/*
 * Attaches and watches probes: all at once, or under a budget step by step, where hot probes are
 * detached before they cost more than allowed. For every command that probes.
 *
 *	probing_new()
 *	probing_start()		without a budget: attaches everything
 *	probing_step()		with a budget: attaches some more, checks rates, detaches; says when to
 *				call again
 *	probing_stop()		after this, no probe is hit any more
 *	probing_free()
 *
 * The budget limits the share of CPU time that hits take on any CPU: over a second once all probes
 * have been tried, over a tenth of a second while the search goes on. A probe that exceeds it is
 * detached until the end ("cut"). The other members of its group are detached meanwhile, for some
 * 0.1 s, and hits during that time are not counted (away_ns). If hits cause work besides counting,
 * that work is thinned out first, to one hit in two, four, … of the hottest probes, and back as
 * they cool down; a probe is cut only if it is too hot even without that work.
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
	int32_t pid;	     /* as in struct probe_links_options */
	double budget_share; /* 0: no budget */
	double work_ns;	     /* cost of a hit beyond counting: stack, record */
	/*
	 * Thins a probe's work out to one hit in 1 << bits. Must not be NULL if work_ns is not 0.
	 */
	void (*thin)(void *context, uint32_t number, unsigned bits);
	void *context;
};

enum probe_state {
	PROBE_WAITING, /* not attached yet, or temporarily detached */
	PROBE_ATTACHED,
	PROBE_REFUSED, /* .why */
	PROBE_CUT,     /* detached by the budget: .cut_* */
	NR_PROBE_STATES
};

struct probe_status {
	enum probe_state state;
	const char *why;      /* why the kernel rejects it */
	uint64_t attached_ns; /* first time, CLOCK_MONOTONIC; 0: never */
	uint64_t away_ns;     /* total time detached since, because of others */
	uint64_t left_ns;     /* last time it was detached; still is, if PROBE_WAITING */
	uint64_t cut_ns;      /* when it was detached for good */
	double cut_rate;      /* hits per second then, on all CPUs */
	uint64_t thinned_ns;  /* first time its work was thinned out; 0: never */
	uint8_t most_bits;    /* strongest thinning: one in 1 << most_bits */
};

struct probing;

/* Everything that options points to must outlive the result. Returns NULL on failure. */
struct probing *probing_new(const struct probing_options *options, struct error *error);
void probing_free(struct probing *probing);

/*
 * Under a budget, the calling thread, which must also call probing_step(), runs at the highest
 * ordinary priority until all probes have been tried, or until probing_stop().
 */
int probing_start(struct probing *probing, struct error *error);

/*
 * Call at the time that the last call returned in *ret_next_ns (after the start: immediately);
 * UINT64_MAX: never. Returns 0 or a negative errno.
 */
int probing_step(struct probing *probing, uint64_t *ret_next_ns, struct error *error);

void probing_stop(struct probing *probing);

/*
 * True if the program that is started for the run may begin: all probes are attached; or under a
 * budget, the search is over or takes too long to wait for.
 */
bool probing_is_ready(const struct probing *probing);

const struct probe_status *probing_status(const struct probing *probing, uint32_t number);
size_t probing_nr(const struct probing *probing, enum probe_state state);
/* Returns the measured costs of a hit; zeros without a budget. */
const struct budget *probing_budget(const struct probing *probing);
/* Returns the excluded hits of our own processes. */
uint64_t probing_own_hits(const struct probing *probing);
uint64_t probing_missed(const struct probing *probing); /* see probe_links_missed() */

#endif
