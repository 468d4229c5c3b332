/*
 * Where the probes of a run have what an expression asks for, with what has to be known of them
 * besides: how tracepoints lay out their fields, and how the kernel's functions are hooked.
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

struct probe_operands {
	char **formats; /* of each probe that was there first: a tracepoint's, or NULL */
	size_t nr_formats;
};

/* 0 or a negative errno. To be cleared in each case. */
int probe_operands_init(struct probe_operands *operands, const struct probe_list *list,
			struct error *error);
void probe_operands_clear(struct probe_operands *operands);

/* Whether a tracepoint has such a field, and that is a text. */
bool probe_operands_is_text(const struct probe_operands *operands, const char *field);

/* Where the probe with this number has an operand. 0 or -EINVAL, naming the probe. */
int probe_operands_find(const struct probe_operands *operands, const struct probe_list *list,
			uint32_t number, const struct probe_features *features,
			const struct operand *operand, struct tally_fetch *ret,
			struct error *error);

/* Whether the kernel can fetch all of these. 0 or -EOPNOTSUPP. */
int probe_operands_check(const struct tally_fetch *fetches, size_t nr, struct error *error);

#endif
