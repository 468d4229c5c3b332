/* Sums the epochs' counters, and measures the time in which no samples could be taken. */
#include "collect/accounting.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"

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
					    counters->ended + counters->recorded +
					    counters->counted + counters->thinned +
					    lost_of(counters) &&
	       counters->waited_ns == counters->counted_ns + counters->sent_ns +
					      counters->passed_ns + counters->cut_ns;
}

void accounting_add(struct accounting *accounting, const struct accounting *other)
{
	add_words(&accounting->sum, &other->sum, sizeof(accounting->sum));
	accounting->nr_epochs += other->nr_epochs;
	accounting->nr_violations += other->nr_violations;
}

void accounting_close_epoch(struct accounting *accounting, const struct wire_counters *counters)
{
	const struct accounting one = {*counters, 1, !accounting_holds(counters)};

	accounting_add(accounting, &one);
}

uint64_t accounting_lost(const struct accounting *accounting)
{
	return lost_of(&accounting->sum);
}

uint64_t accounting_samples_of(const struct wire_event *event, uint64_t occurrences)
{
	if (!event->periods)
		return 0;
	return (uint64_t)((double)occurrences / (double)event->periods * (double)event->entries);
}

uint64_t accounting_unseen(const struct wire_event *event, uint64_t occurrences)
{
	uint64_t seen = event->periods;

	return occurrences > seen ? accounting_samples_of(event, occurrences - seen) : 0;
}

/* --- absence ------------------------------------------------------------------------------------ */

/* Resolution of /proc/stat: 10 ms. */
#define STEP_NS (10 * NS_PER_MS)

#define IDLE_ENTRY_NS (50 * NS_PER_US)

/* Sets what a CPU begins with. 0 or -ENOMEM. */
static int begin_cpu(struct absence *absence, const struct absent_cpu *begun)
{
	size_t i;

	for (i = 0; i < absence->nr_cpus; i++)
		if (absence->cpus[i].cpu == begun->cpu) {
			absence->cpus[i] = *begun;
			return 0;
		}
	return ARRAY_ADD(absence->cpus, absence->nr_cpus, absence->cap_cpus, *begun);
}

int absence_begin(struct absence *absence, const uint32_t *cpus, size_t nr_cpus)
{
	cleanup_free struct cpu_absence *now = calloc(nr_cpus + 1, sizeof(*now));
	int err = now ? 0 : -ENOMEM;
	size_t i;

	if (!err && nr_cpus)
		process_cpu_absences(cpus, nr_cpus, now);
	for (i = 0; i < nr_cpus && !err; i++)
		err = begin_cpu(absence, &(struct absent_cpu){cpus[i], now[i]});
	return err;
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

/* An offline CPU has no figures, and one that was offline may have begun from 0 again. */
static uint64_t difference(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* Without memory, nothing of idle and steal time is known. */
static void add_up(struct absence *absence)
{
	cleanup_free struct cpu_absence *now = calloc(absence->nr_cpus + 1, sizeof(*now));
	cleanup_free uint32_t *cpus = calloc(absence->nr_cpus + 1, sizeof(*cpus));
	size_t i;

	if (!now || !cpus)
		return;
	for (i = 0; i < absence->nr_cpus; i++)
		cpus[i] = absence->cpus[i].cpu;
	process_cpu_absences(cpus, absence->nr_cpus, now);
	for (i = 0; i < absence->nr_cpus; i++) {
		const struct cpu_absence *before = &absence->cpus[i].before;

		absence->idle_ns += difference(now[i].idle_ns, before->idle_ns);
		absence->nr_idle += difference(now[i].nr_idle, before->nr_idle);
		absence->stolen_ns += difference(now[i].stolen_ns, before->stolen_ns);
	}
}

void absence_end(struct absence *absence, uint64_t now_ns)
{
	const struct u64_map_slot *slot;
	size_t position = 0;

	add_up(absence);
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
	free(absence->cpus);
	u64_map_clear(&absence->throttled_since);
}
