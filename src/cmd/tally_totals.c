/* See tally_totals.h. All counters are 64-bit: they are added as the array they are. */
#include "cmd/tally_totals.h"

#include <stddef.h>

#include "base/array.h"
#include "cmd/complain.h"
#include "format/text/columns.h"

static const char *const loss_sentences[] = {
#define X(id, name, sentence) sentence,
	TALLY_LOSS_REASONS(X)
#undef X
};

void tally_totals_add(struct tally_counters *total, const struct tally_counters *interval)
{
	uint64_t *sum = (uint64_t *)total;
	const uint64_t *add = (const uint64_t *)interval;
	size_t i;

	for (i = 0; i < sizeof(*total) / sizeof(*sum); i++)
		sum[i] += add[i];
}

uint64_t tally_totals_lost(const struct tally_counters *counters)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(counters->lost); i++)
		sum += counters->lost[i];
	return sum;
}

void tally_totals_tell_lost(const struct tally_counters *total)
{
	char number[COLUMNS_NUMBER_BYTES];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(loss_sentences); i++)
		if (total->lost[i])
			complain("lost %s hits: %s", columns_number(number, total->lost[i]),
				 loss_sentences[i]);
}
