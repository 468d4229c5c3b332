/* collect/accounting: the conservation laws, and the estimate of ticks skipped by the kernel. */
#include "unit/test.h"

#include <stdio.h>

#include "base/array.h"
#include "collect/accounting.h"

static struct wire_counters balanced(void)
{
	struct wire_counters counters = {
		.idle = 5, .own = 3, .filtered = 7, .ended = 2, .recorded = 11, .counted = 13};
	unsigned reason;

	counters.entries = 5 + 3 + 7 + 2 + 11 + 13;
	for (reason = 0; reason < WIRE_NR_LOSS_REASONS; reason++) {
		counters.lost[reason] = reason + 1;
		counters.entries += reason + 1;
	}
	counters.events[0].periods = (counters.entries - counters.idle) * 1000;
	counters.counted_ns = 1000;
	counters.sent_ns = 300;
	counters.passed_ns = 20;
	counters.cut_ns = 4;
	counters.waited_ns = 1324;
	return counters;
}

/* True for counters that are in none of the sums: those of events, time and weights, and how many waits there were. */
static bool is_free(const struct wire_counters *counters, const uint64_t *word)
{
	const uint64_t *events = (const uint64_t *)counters->events;

	return (word >= events &&
		word < events + (sizeof(counters->events)) / (sizeof(uint64_t))) ||
	       word == (const uint64_t *)&counters->run_ns ||
	       word == (const uint64_t *)&counters->taken_weight ||
	       word == (const uint64_t *)&counters->waits ||
	       word == (const uint64_t *)&counters->unseen ||
	       word == (const uint64_t *)&counters->stolen_ns ||
	       word == (const uint64_t *)&counters->sent ||
	       word == (const uint64_t *)&counters->passed ||
	       word == (const uint64_t *)&counters->cut;
}

/* Changing any other counter by one breaks a law. */
TEST(accounting_law)
{
	struct wire_counters counters = balanced();
	uint64_t *words = (uint64_t *)&counters;
	size_t nr = sizeof(counters) / sizeof(*words), i;

	CHECK(accounting_holds(&counters));
	CHECK(accounting_holds(&(struct wire_counters){0}));
	for (i = 0; i < nr; i++) {
		bool holds = is_free(&counters, &words[i]);

		words[i]++;
		CHECK_EQ(accounting_holds(&counters), holds);
		words[i] -= 2;
		CHECK_EQ(accounting_holds(&counters), holds);
		words[i]++;
	}
}

TEST(accounting_adds_every_field)
{
	struct accounting accounting = {0};
	struct wire_counters counters = balanced();
	const uint64_t *words = (const uint64_t *)&counters;
	const uint64_t *sums = (const uint64_t *)&accounting.sum;
	size_t i;

	accounting_close_epoch(&accounting, &counters);
	accounting_close_epoch(&accounting, &counters);
	for (i = 0; i < sizeof(counters) / sizeof(*words); i++)
		CHECK_EQ(sums[i], 2 * words[i]);
	CHECK_EQ(accounting.nr_epochs, 2);
	CHECK_EQ(accounting.nr_violations, 0);
	CHECK_EQ(accounting_lost(&accounting), WIRE_NR_LOSS_REASONS * (WIRE_NR_LOSS_REASONS + 1));
}

/* Opposite errors in two epochs are two violations, though the total is balanced. */
TEST(accounting_sees_violations_in_each_epoch)
{
	struct accounting accounting = {0};
	struct wire_counters counters = balanced();

	counters.counted++;
	accounting_close_epoch(&accounting, &counters);
	counters.counted -= 2;
	accounting_close_epoch(&accounting, &counters);
	CHECK(accounting_holds(&accounting.sum));
	CHECK_EQ(accounting.nr_violations, 2);
	CHECK_EQ(accounting.nr_epochs, 2);
}

TEST(accounting_unseen_ticks)
{
	const struct wire_event event = {.entries = 150, .periods = 150000}; /* 1000 each */

	CHECK_EQ(accounting_unseen(&event, 150000), 0);
	CHECK_EQ(accounting_unseen(&event, 149000), 0); /* less than the weight: none */
	CHECK_EQ(accounting_unseen(&event, 151000), 1);
	CHECK_EQ(accounting_unseen(&event, 160000), 10);
	CHECK_EQ(accounting_unseen(&event, 250000), 100);
	CHECK_EQ(accounting_samples_of(&event, 5000), 5);
	CHECK_EQ(accounting_unseen(&(struct wire_event){0}, 1000), 0);
	CHECK_EQ(accounting_unseen(&(struct wire_event){.entries = 1}, 1000), 0);
}

/* The kernel starts some of a CPU's figures from 0 when it comes back; an offline CPU has none. */
TEST(absence_of_cpus_that_were_offline)
{
	struct absence absence = {0};

	CHECK_EQ(absence_begin(&absence, (const uint32_t[]){0, 65535}, 2), 0);
	CHECK_EQ(absence_begin(&absence, (const uint32_t[]){0}, 1), 0); /* it is back */
	CHECK_EQ(absence.nr_cpus, 2);
	absence.cpus[0].before.idle_ns = absence.cpus[0].before.nr_idle =
		absence.cpus[0].before.stolen_ns = UINT64_MAX / 2;
	absence.cpus[1].before = absence.cpus[0].before;
	absence_end(&absence, 1000);
	CHECK(!absence.idle_ns && !absence.nr_idle && !absence.stolen_ns);
	absence_clear(&absence);
}

/* Calls of read() by this process so far; UINT64_MAX if the kernel does not count them. */
static uint64_t nr_reads(void)
{
	FILE *file = fopen("/proc/self/io", "re");
	unsigned long long nr;

	if (!file || fscanf(file, "rchar: %*u wchar: %*u syscr: %llu", &nr) != 1)
		nr = UINT64_MAX;
	if (file)
		(void)fclose(file);
	return nr;
}

/* /proc/stat has a line for each CPU, so it is read once for all of them, in whatever order they are given. */
TEST(absence_of_many_cpus_reads_stat_once)
{
	uint32_t cpus[1024];
	struct absence absence = {0};
	const uint64_t before = nr_reads();
	uint64_t reads;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (uint32_t)(ARRAY_SIZE(cpus) - 1 - i); /* most are offline */
	CHECK_EQ(absence_begin(&absence, cpus, ARRAY_SIZE(cpus)), 0);
	reads = nr_reads() - before;
	CHECK_EQ(absence.nr_cpus, ARRAY_SIZE(cpus));
	/* The last one is CPU 0. */
	CHECK(absence.cpus[ARRAY_SIZE(cpus) - 1].before.idle_ns > 0);
	CHECK_EQ(absence.cpus[0].before.idle_ns, 0);
	if (before == UINT64_MAX)
		SKIP("needs /proc/self/io");
	CHECK(reads < ARRAY_SIZE(cpus));
	absence_clear(&absence);
}
