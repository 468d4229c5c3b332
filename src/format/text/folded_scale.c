/* The unit is all that a profile knows of it, so that it survives other formats. */
#include "format/text/folded_scale.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

struct folded_scale folded_scale(unsigned decimals)
{
	struct folded_scale scale = {.decimals = decimals, .factor = 1};

	for (; decimals; decimals--)
		scale.factor *= 10;
	return scale;
}

struct folded_scale folded_scale_of(const struct profile *profile)
{
	struct value_type counted = profile_origin(profile)->counted;
	const char *unit = profile_string(profile, counted.unit);
	size_t nr = strlen(FOLDED_PARTS_OF), zeros;

	if (strcmp(profile_string(profile, counted.type), FOLDED_WEIGHT) != 0 ||
	    !text_starts_with(unit, FOLDED_PARTS_OF))
		return folded_scale(0);
	zeros = strspn(unit + nr, "0");
	return folded_scale(unit[nr + zeros] || zeros > FOLDED_MAX_DECIMALS ? 0 : (unsigned)zeros);
}

const char *folded_scale_text(char text[FOLDED_SCALE_BYTES], uint64_t count,
			      struct folded_scale scale)
{
	uint64_t part = count % scale.factor;
	int digits = (int)scale.decimals;
	int nr = snprintf(text, FOLDED_SCALE_BYTES, "%" PRIu64, count / scale.factor);

	for (; part && part % 10 == 0; part /= 10)
		digits--;
	if (part)
		(void)snprintf(text + nr, FOLDED_SCALE_BYTES - (size_t)nr, ".%0*" PRIu64, digits,
			       part);
	return text;
}
