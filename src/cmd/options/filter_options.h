/*
 * Selects samples of a profile, for all commands that read profiles back.
 *
 *	--comm RE --pid LIST --tid LIST --module RE --symbol RE		and --not-… of each
 *	--focus RE --ignore RE
 *
 * --module and --symbol apply to the leaf function, as in perf report; --focus and --ignore to any
 * function on the stack, as in pprof.
 */
#ifndef STOOK_CMD_OPTIONS_FILTER_OPTIONS_H
#define STOOK_CMD_OPTIONS_FILTER_OPTIONS_H

#include "base/error.h"
#include "cmd/options/option_table.h"
#include "view/filter.h"

struct filter_options {
	struct filter filter;
	uint64_t dropped; /* counts dropped by all calls of filter_options_apply() */
};

struct option_group filter_options_group(struct filter_options *options);

/* Takes a value for an option that a command offers under another name. Returns 0 or -errno. */
int filter_options_take_pattern(struct filter_options *options, enum filter_subject subject,
				enum filter_sense sense, const char *value, struct error *error);

void filter_options_clear(struct filter_options *options);

/* Drops unwanted samples. Returns 0; -EINVAL if the profile lacks a label; -ENOMEM. */
int filter_options_apply(struct filter_options *options, struct profile *profile,
			 struct error *error);

/* Reports on stderr, if no sample is left, which option excluded them. */
void filter_options_report(const struct filter_options *options, const struct profile *profile);

#endif
