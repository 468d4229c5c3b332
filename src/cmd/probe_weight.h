/* What a hit weighs: the VALUE of `stook stackcount --weight`. */
#ifndef STOOK_CMD_PROBE_WEIGHT_H
#define STOOK_CMD_PROBE_WEIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/attach/probe_features.h"
#include "probe/expression/expression.h"
#include "probe/expression/probe_list.h"

/* An operand, or its lowest bytes: "arg2", "(int)retval", "args.bytes". */
struct probe_weight {
	struct operand operand;
	uint8_t bytes; /* 0: all that there are */
	bool is_signed;
};

/* 0 or -EINVAL, with what is wrong. */
int probe_weight_parse(const char *text, struct probe_weight *ret, struct error *error);

/*
 * Where each probe of the list has it: as many, the caller's to free. 0 or a negative errno: what one
 * of the probes has not can't be added up.
 */
int probe_weight_find(const struct probe_weight *weight, const struct probe_list *list,
		      const struct probe_features *features, struct tally_fetch **ret,
		      struct error *error);

#endif
