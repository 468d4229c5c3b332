/* Sums the epochs' counters, and measures the time in which no samples could be taken. */
#include "collect/accounting.h"

#include "base/clock.h"
#include "proc/process_info.h"

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
	return counters->entries == counters->idle + counters->own + counters->filtered +
					    counters->recorded + counters->counted +
					    counters->thinned + lost_of(counters);
}

void accounting_close_epoch(struct accounting *accounting, const struct wire_counters *counters)
{
	struct wire_counters *sum = &accounting->sum;
	unsigned reason;

	sum->entries += counters->entries;
	sum->idle += counters->idle;
	sum->own += counters->own;
	sum->filtered += counters->filtered;
	sum->recorded += counters->recorded;
	sum->counted += counters->counted;
	sum->thinned += counters->thinned;
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

/* --- absence ------------------------------------------------------------------------------------ */

/* Resolution of /proc/stat: 10 ms. */
#define STEP_NS (10 * NS_PER_MS)

#define IDLE_ENTRY_NS (50 * NS_PER_US)

static struct cpu_absence since_boot(const struct absence *absence)
{
	struct cpu_absence sum = {0}, one;
	size_t i;

	for (i = 0; i < absence->nr_cpus; i++) {
		process_cpu_absence(absence->cpus[i], &one);
		sum.idle_ns += one.idle_ns;
		sum.nr_idle += one.nr_idle;
		sum.stolen_ns += one.stolen_ns;
	}
	return sum;
}

void absence_begin(struct absence *absence, const uint32_t *cpus, size_t nr_cpus)
{
	struct cpu_absence now;

	*absence = (struct absence){.cpus = cpus, .nr_cpus = nr_cpus};
	now = since_boot(absence);
	absence->idle_ns = now.idle_ns;
	absence->nr_idle = now.nr_idle;
	absence->stolen_ns = now.stolen_ns;
}

int absence_throttle(struct absence *absence, uint64_t id, uint64_t time_ns)
{
	return u64_map_set(&absence->throttled_since, id, time_ns);
}

void absence_unthrottle(struct absence *absence, uint64_t id, uint64_t time_ns)
{
	const uint64_t *since = u64_map_find(&absence->throttled_since, id);

	if (!since)
		return;
	if (time_ns > *since)
		absence->throttled_ns += time_ns - *since;
	(void)u64_map_remove(&absence->throttled_since, id);
}

void absence_end(struct absence *absence, uint64_t now_ns)
{
	struct cpu_absence now = since_boot(absence);
	const struct u64_map_slot *slot;
	size_t position = 0;

	absence->idle_ns = now.idle_ns - absence->idle_ns;
	absence->nr_idle = now.nr_idle - absence->nr_idle;
	absence->stolen_ns = now.stolen_ns - absence->stolen_ns;
	while ((slot = u64_map_next(&absence->throttled_since, &position)))
		if (now_ns > slot->value)
			absence->throttled_ns += now_ns - slot->value;
	u64_map_clear(&absence->throttled_since);
}

/*
 * Entering and leaving idle runs in the idle task but is not reported as idle time: some
 * microseconds on hardware, tens of microseconds in a VM where each is an exit to the hypervisor.
 */
uint64_t absence_error_ns(const struct absence *absence)
{
	return 2 * STEP_NS * absence->nr_cpus + absence->nr_idle * IDLE_ENTRY_NS;
}

void absence_clear(struct absence *absence)
{
	u64_map_clear(&absence->throttled_since);
}
