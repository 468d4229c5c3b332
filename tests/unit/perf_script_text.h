/* Reads perf script text for tests, and shows the result. */
#ifndef STOOK_TESTS_UNIT_PERF_SCRIPT_TEXT_H
#define STOOK_TESTS_UNIT_PERF_SCRIPT_TEXT_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/perf/perf_script.h"
#include "format/perf/perf_script_parts.h"
#include "profile/profile.h"
#include "unit/folded_text.h"
#include "unit/test.h"

static inline bool is_text(struct perf_text text, const char *wanted)
{
	return text.nr == strlen(wanted) && !memcmp(text.at, wanted, text.nr);
}

static inline struct profile *read_text(const char *text, struct format_notes *notes)
{
	struct profile *profile = profile_new();
	struct error error = {0};
	FILE *in = fmemopen((void *)text, strlen(text), "r");

	CHECK_EQ(perf_script_read(in, profile, notes, &error), 0);
	(void)fclose(in);
	return profile;
}

static inline void check_folded(const struct profile *profile, unsigned labels, const char *wanted)
{
	const struct format_options options = {.labels = labels, .annotate = true, .lines = true};

	check_folded_text(profile, options, wanted);
}

static inline const char *type_text(const struct profile *profile, size_t number)
{
	return profile_string(profile, profile_value_type(profile, number).type);
}

static inline const char *unit_text(const struct profile *profile, size_t number)
{
	return profile_string(profile, profile_value_type(profile, number).unit);
}

#endif
