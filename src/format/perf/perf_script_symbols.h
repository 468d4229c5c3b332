/* The functions of perf script text: each is looked at once, and then known by a small number. */
#ifndef STOOK_FORMAT_PERF_PERF_SCRIPT_SYMBOLS_H
#define STOOK_FORMAT_PERF_PERF_SCRIPT_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/strings.h"
#include "format/perf/perf_script_code.h"
#include "format/perf/perf_script_line.h"
#include "profile/profile.h"

struct perf_symbol {
	uint32_t name; /* the profile's string; 0: none */
	uint32_t module;
	uint32_t frame; /* by itself */
	enum frame_kind kind;
	enum perf_code code;
};

struct perf_symbols {
	struct profile *profile;
	struct strings *texts;
	struct perf_symbol *symbols; /* by the number of the text */
	size_t cap_symbols;
	char *key;
	size_t cap_key;
};

int perf_symbols_init(struct perf_symbols *symbols, struct profile *profile); /* 0 or -ENOMEM */
void perf_symbols_clear(struct perf_symbols *symbols);

/* Which one a frame is in: good until the next one is asked for. NULL when out of memory. */
const struct perf_symbol *perf_symbols_find(struct perf_symbols *symbols,
					    const struct perf_frame *frame);

#endif
