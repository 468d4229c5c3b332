/* The governor against hosts of which the cost is known: a fixed part, and one that depends on the rate. */
#include "agent/governor.h"

#include "unit/test.h"

#define SECOND	1000000000ULL
#define NR_CPUS 4
#define MOST	19
#define BUDGET	0.005

struct host {
	double fixed, by_rate; /* shares of the machine; the latter at the highest rate */
	struct governor_reading sum;
	struct governor governor;
};

static void begin(struct host *host, double fixed, double by_rate)
{
	const struct governor_limits limits = {BUDGET, MOST, NR_CPUS};

	*host = (struct host){.fixed = fixed, .by_rate = by_rate, .sum = {SECOND, SECOND, SECOND}};
	governor_init(&host->governor, &limits, &host->sum);
}

/* An epoch: the fixed part is our own, the other one that of programs. */
static void pass(struct host *host)
{
	const double all = 10.0 * SECOND * NR_CPUS;

	host->sum.now_ns += 10 * SECOND;
	host->sum.own_ns += (uint64_t)(all * host->fixed);
	host->sum.bpf_ns += (uint64_t)(all * host->by_rate / host->governor.one_of);
	governor_judge(&host->governor, &host->sum);
}

static double cost(const struct host *host)
{
	return host->fixed + host->by_rate / host->governor.one_of;
}

static uint32_t after(struct host *host, unsigned nr)
{
	while (nr--)
		pass(host);
	return host->governor.one_of;
}

TEST(governor_leaves_a_cheap_host_alone)
{
	struct host host;

	begin(&host, 0.001, 0.002);
	CHECK_EQ(after(&host, 50), 1);
	CHECK(host.governor.own > 0.00099 && host.governor.own < 0.00101);
	CHECK(host.governor.bpf > 0.00199 && host.governor.bpf < 0.00201);
}

TEST(governor_holds_the_budget)
{
	static const double shares[] = {0.006, 0.01, 0.02, 0.05};
	size_t i;

	for (i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		struct host host;
		uint32_t settled;

		begin(&host, 0.0015, shares[i]);
		settled = after(&host, 20);
		CHECK(cost(&host) <= BUDGET);
		CHECK(cost(&host) >= 0.5 * BUDGET); /* no more is given up than needed */
		CHECK_EQ(after(&host, 1), settled);
		CHECK_EQ(after(&host, 20), settled);
	}
}

TEST(governor_follows_a_storm_and_its_end)
{
	struct host host;

	begin(&host, 0.001, 0.002);
	(void)after(&host, 5);
	host.by_rate = 0.04;
	CHECK_EQ(after(&host, 1), 2); /* at once, in steps */
	(void)after(&host, 5);
	CHECK(cost(&host) <= BUDGET);
	host.by_rate = 0.002;
	CHECK_EQ(after(&host, 20), 1);
}

TEST(governor_asks_for_a_pause_only_at_the_lowest_rate)
{
	struct host host;

	begin(&host, 0.03, 0);
	CHECK_EQ(after(&host, 5), MOST);
	CHECK(!governor_is_runaway(&host.governor));
	(void)after(&host, 5);
	CHECK(!governor_is_runaway(&host.governor));
	(void)after(&host, 1);
	CHECK(governor_is_runaway(&host.governor));
	governor_resume(&host.governor, &host.sum);
	CHECK(!governor_is_runaway(&host.governor));
	CHECK_EQ(host.governor.one_of, MOST);

	begin(&host, 0.012, 0); /* over the budget, but not far */
	CHECK_EQ(after(&host, 100), MOST);
	CHECK(!governor_is_runaway(&host.governor));
}

TEST(governor_survives_odd_readings)
{
	struct host host;
	struct governor_reading odd;

	begin(&host, 0.001, 0.002);
	odd = host.sum;
	governor_judge(&host.governor, &odd); /* no time has passed */
	odd.now_ns += SECOND;
	odd.own_ns = 0; /* fell */
	governor_judge(&host.governor, &odd);
	CHECK_EQ(host.governor.one_of, 1);
	CHECK(host.governor.own == 0);
	host.governor.limits.budget = 0; /* none */
	host.fixed = 0.5;
	host.sum = odd;
	CHECK_EQ(after(&host, 20), 1);
	CHECK(!governor_is_runaway(&host.governor));
}
