/* Profiles as folded stacks, for tests. */
#ifndef STOOK_TESTS_UNIT_FOLDED_TEXT_H
#define STOOK_TESTS_UNIT_FOLDED_TEXT_H

#include <stdio.h>
#include <stdlib.h>

#include "format/folded/folded.h"
#include "unit/test.h"

/* Returns the profile as folded stacks; the caller frees the text. */
static inline char *folded_text(const struct profile *profile, struct format_options options)
{
	char *text = NULL;
	size_t nr;
	FILE *out = open_memstream(&text, &nr);

	CHECK_EQ(folded_write(profile, &options, out), 0);
	(void)fclose(out);
	return text;
}

static inline void check_folded_text(const struct profile *profile, struct format_options options,
				     const char *wanted)
{
	char *text = folded_text(profile, options);

	CHECK_STR(text, wanted);
	free(text);
}

#endif
