/* collect/accounting: the conservation law, and the estimate of ticks skipped by the kernel. */
#include "unit/test.h"

#include "collect/accounting.h"

static struct wire_counters balanced(void)
{
	struct wire_counters counters = {
		.idle = 5, .own = 3, .filtered = 7, .recorded = 11, .counted = 13};
	unsigned reason;

	counters.entries = 5 + 3 + 7 + 11 + 13;
	for (reason = 0; reason < WIRE_NR_LOSS_REASONS; reason++) {
		counters.lost[reason] = reason + 1;
		counters.entries += reason + 1;
	}
	counters.weight = (counters.entries - counters.idle) * 1000;
	return counters;
}

/* Changing any counter by one breaks the law, except the weight, which is not part of it. */
TEST(accounting_law)
{
	struct wire_counters counters = balanced();
	uint64_t *words = (uint64_t *)&counters;
	size_t nr = sizeof(counters) / sizeof(*words), i;

	CHECK(accounting_holds(&counters));
	CHECK(accounting_holds(&(struct wire_counters){0}));
	for (i = 0; i < nr; i++) {
		bool is_weight = &words[i] == (uint64_t *)&counters.weight;

		words[i]++;
		CHECK_EQ(accounting_holds(&counters), is_weight);
		words[i] -= 2;
		CHECK_EQ(accounting_holds(&counters), is_weight);
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
	struct accounting accounting = {
		.sum = {.entries = 150, .idle = 50, .weight = 150000}, /* weight 1000 each */
	};

	CHECK_EQ(accounting_unseen(&accounting, 150000), 0);
	CHECK_EQ(accounting_unseen(&accounting, 149000), 0); /* less than the weight: none */
	CHECK_EQ(accounting_unseen(&accounting, 151000), 1);
	CHECK_EQ(accounting_unseen(&accounting, 160000), 10);
	CHECK_EQ(accounting_unseen(&accounting, 250000), 100);
	CHECK_EQ(accounting_samples_of(&accounting, 5000), 5);
	CHECK_EQ(accounting_unseen(&(struct accounting){0}, 1000), 0);
	CHECK_EQ(accounting_unseen(&(struct accounting){.sum = {.entries = 1}}, 1000), 0);
}
