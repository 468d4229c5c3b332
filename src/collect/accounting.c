/* Adding up where samples went; see accounting.h. */
#include "collect/accounting.h"

static uint64_t lost_of(const struct wire_counters *counters)
{
	uint64_t lost = 0;
	unsigned reason;

	for (reason = 0; reason < WIRE_NR_LOSS_REASONS; reason++)
		lost += counters->lost[reason];
	return lost;
}

bool accounting_holds(const struct wire_counters *counters)
{
	return counters->entries == counters->idle + counters->filtered + counters->recorded +
					    counters->counted + lost_of(counters);
}

void accounting_close_epoch(struct accounting *accounting, const struct wire_counters *counters)
{
	struct wire_counters *sum = &accounting->sum;
	unsigned reason;

	sum->entries += counters->entries;
	sum->idle += counters->idle;
	sum->filtered += counters->filtered;
	sum->recorded += counters->recorded;
	sum->counted += counters->counted;
	sum->weight += counters->weight;
	for (reason = 0; reason < WIRE_NR_LOSS_REASONS; reason++)
		sum->lost[reason] += counters->lost[reason];
	accounting->nr_epochs++;
	accounting->nr_violations += !accounting_holds(counters);
}

uint64_t accounting_lost(const struct accounting *accounting)
{
	return lost_of(&accounting->sum);
}

uint64_t accounting_samples_of(const struct accounting *accounting, uint64_t events)
{
	const struct wire_counters *sum = &accounting->sum;

	if (!sum->weight)
		return 0;
	return (uint64_t)((double)events / (double)sum->weight * (double)sum->entries);
}

uint64_t accounting_unseen(const struct accounting *accounting, uint64_t events)
{
	uint64_t seen = accounting->sum.weight;

	return events > seen ? accounting_samples_of(accounting, events - seen) : 0;
}
