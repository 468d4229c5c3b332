/* The governor against hosts of which the cost is known: a fixed part, and one that depends on the rate. */
#include "agent/governor.h"

#include "unit/test.h"

#define SECOND	1000000000ULL
#define NR_CPUS 4
#define MOST	19
#define BUDGET	0.005

struct host {
	double fixed, by_rate;	/* shares of the machine; the latter at the highest rate */
	double saved[NR_SHEDS]; /* of fixed, by what is shed */
	double burst;		/* in addition, once */
	struct governor_reading sum;
	struct governor governor;
};

static void begin(struct host *host, double fixed, double by_rate)
{
	const struct governor_limits limits = {BUDGET, MOST};

	*host = (struct host){
		.fixed = fixed, .by_rate = by_rate, .sum = {.now_ns = SECOND, .nr_cpus = NR_CPUS}};
	governor_init(&host->governor, &limits, &host->sum);
}

static double fixed_now(const struct host *host)
{
	return host->fixed - host->saved[host->governor.shed];
}

static double cost(const struct host *host)
{
	return fixed_now(host) + host->by_rate / host->governor.one_of;
}

/* An epoch. Each part is of two kinds of cost. */
static void pass(struct host *host)
{
	const double all = 10.0 * SECOND * NR_CPUS;
	const double fixed = fixed_now(host) + host->burst;
	const double by_rate = host->by_rate / host->governor.one_of;

	host->burst = 0;
	host->sum.now_ns += 10 * SECOND;
	host->sum.cost_ns[COST_EVENTS] += (uint64_t)(all * fixed * 0.75);
	host->sum.cost_ns[COST_HELPERS] += (uint64_t)(all * fixed * 0.25);
	host->sum.cost_ns[COST_SAMPLES] += (uint64_t)(all * by_rate * 0.75);
	host->sum.cost_ns[COST_RECORDS] += (uint64_t)(all * by_rate * 0.25);
	governor_judge(&host->governor, &host->sum);
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
	CHECK(host.governor.fixed > 0.00099 && host.governor.fixed < 0.00101);
	CHECK(host.governor.by_rate > 0.00199 && host.governor.by_rate < 0.00201);
	CHECK(host.governor.shares[COST_SAMPLES] > 0.00149 &&
	      host.governor.shares[COST_SAMPLES] < 0.00151);
	CHECK_EQ(host.governor.shed, SHED_NOTHING);
}

/* Fewer samples would not make a store smaller that is made smaller. */
TEST(governor_knows_that_upkeep_does_not_depend_on_the_rate)
{
	struct host host;

	begin(&host, 0, 0.002);
	host.sum.cost_ns[COST_UPKEEP] += (uint64_t)(10.0 * SECOND * NR_CPUS * 0.01);
	pass(&host);
	CHECK(host.governor.fixed > 0.0099 && host.governor.fixed < 0.0101);
	CHECK_EQ(after(&host, 50), 1);
}

TEST(governor_holds_the_budget)
{
	static const double shares[] = {0.006, 0.01, 0.02, 0.05};
	size_t i;

	for (i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		struct host host;
		uint32_t settled;

		begin(&host, 0.0015, shares[i]);
		settled = after(&host, 60);
		CHECK(cost(&host) <= BUDGET);
		CHECK(cost(&host) >= 0.5 * BUDGET); /* no more is given up than needed */
		CHECK_EQ(after(&host, 1), settled);
		CHECK_EQ(after(&host, 20), settled);
		CHECK_EQ(host.governor.shed, SHED_NOTHING);
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

/* Fewer samples would not make it cheaper. */
TEST(governor_keeps_the_samples_if_they_are_not_the_cost)
{
	struct host host;

	begin(&host, 0.006, 0.0004);
	CHECK_EQ(after(&host, 100), 1);
	begin(&host, 0.006, 0.002); /* a tenth of the budget is left to them */
	CHECK(after(&host, 100) <= 5);
	CHECK(host.by_rate / host.governor.one_of <= BUDGET / 10);
}

/* A new program's symbols: once. */
TEST(governor_outlasts_a_burst)
{
	struct host host;

	begin(&host, 0.001, 0.0005);
	(void)after(&host, 5);
	host.burst = 0.02;
	(void)after(&host, 1);
	CHECK_EQ(host.governor.one_of, 1);
	CHECK_EQ(after(&host, 10), 1);
	CHECK_EQ(host.governor.shed, SHED_NOTHING);
}

TEST(governor_sheds_in_order_and_takes_it_back)
{
	struct host host;

	begin(&host, 0.006, 0.0004);
	host.saved[SHED_NAMING] = host.saved[SHED_TABLES] = 0.002;
	(void)after(&host, 60);
	CHECK_EQ(host.governor.shed, SHED_NAMING); /* which is enough, and still needed */
	CHECK(cost(&host) <= BUDGET);
	host.fixed = 0.012;
	(void)after(&host, 60);
	CHECK_EQ(host.governor.shed, SHED_TABLES);
	host.fixed = 0.003;
	(void)after(&host, 60);
	CHECK_EQ(host.governor.shed, SHED_NOTHING);
}

TEST(governor_asks_for_a_pause_only_when_all_is_shed)
{
	struct host host;

	begin(&host, 0.04, 0.001);
	while (host.governor.shed != SHED_TABLES)
		(void)after(&host, 1);
	CHECK(!governor_is_runaway(&host.governor));
	(void)after(&host, 5);
	CHECK(!governor_is_runaway(&host.governor));
	(void)after(&host, 1);
	CHECK(governor_is_runaway(&host.governor));
	governor_resume(&host.governor, &host.sum);
	CHECK(!governor_is_runaway(&host.governor));
	CHECK_EQ(host.governor.shed, SHED_TABLES);

	begin(&host, 0.012, 0); /* over the budget, but not far */
	(void)after(&host, 100);
	CHECK(!governor_is_runaway(&host.governor));
	begin(&host, 0, 0.8); /* samples, at the lowest rate */
	CHECK_EQ(after(&host, 40), MOST);
	CHECK(governor_is_runaway(&host.governor));
}

/* An epoch of this length with costs of one kind. */
static void spend(struct host *host, enum governor_cost kind, double share, double seconds)
{
	host->sum.now_ns += (uint64_t)(seconds * SECOND);
	host->sum.cost_ns[kind] += (uint64_t)(share * seconds * SECOND * NR_CPUS);
	governor_judge(&host->governor, &host->sum);
}

/* Twenty times the budget: not even half a minute, with nothing shed. */
TEST(governor_asks_for_a_pause_at_once_if_the_cost_is_extreme)
{
	static const enum governor_cost kinds[] = {COST_SAMPLES, COST_RECORDS, COST_SWITCHES,
						   COST_EVENTS};
	struct host host;
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		begin(&host, 0, 0);
		spend(&host, kinds[i], 20 * BUDGET, 10);
		CHECK(!governor_is_runaway(&host.governor));
		spend(&host, kinds[i], 20 * BUDGET, 10);
		CHECK(governor_is_runaway(&host.governor));
		CHECK(governor_is_extreme(&host.governor));
		CHECK_EQ(host.governor.shed, SHED_NOTHING);
		governor_resume(&host.governor, &host.sum);
		CHECK(!governor_is_runaway(&host.governor));
	}
}

TEST(governor_waits_where_a_pause_is_too_much)
{
	struct host host;
	unsigned i;

	begin(&host, 0, 0); /* not in a row */
	for (i = 0; i < 10; i++) {
		spend(&host, COST_EVENTS, 20 * BUDGET, 10);
		CHECK(!governor_is_extreme(&host.governor));
		spend(&host, COST_EVENTS, 0, 10);
	}
	begin(&host, 0, 0); /* short epochs: as long as others */
	for (i = 0; i < 14; i++)
		spend(&host, COST_EVENTS, 20 * BUDGET, 1);
	CHECK(!governor_is_extreme(&host.governor));
	spend(&host, COST_EVENTS, 20 * BUDGET, 1);
	CHECK(governor_is_extreme(&host.governor));
	begin(&host, 0, 0); /* a pause would not end them */
	for (i = 0; i < 4; i++) {
		spend(&host, COST_NAMES, 20 * BUDGET, 10);
		spend(&host, COST_HELPERS, 20 * BUDGET, 10);
		CHECK(!governor_is_extreme(&host.governor));
	}
	begin(&host, 0, 0); /* twenty times nearly nothing */
	host.governor.limits.budget = BUDGET / 100;
	for (i = 0; i < 4; i++)
		spend(&host, COST_EVENTS, 20 * BUDGET / 100, 10);
	CHECK(!governor_is_extreme(&host.governor));
}

#define MB (1ULL << 20)

static enum memory_verdict judge_for(struct memory *memory, uint64_t bytes, unsigned seconds,
				     uint64_t *now_ns)
{
	enum memory_verdict verdict = MEMORY_FITS;
	unsigned i;

	for (i = 0; i < seconds; i++)
		verdict = memory_judge(memory, bytes, 128 * MB, *now_ns += SECOND);
	return verdict;
}

TEST(memory_is_held)
{
	struct memory memory = {0};
	uint64_t now_ns = SECOND;

	CHECK_EQ(judge_for(&memory, 100 * MB, 600, &now_ns), MEMORY_FITS);
	CHECK_EQ(judge_for(&memory, 120 * MB, 600, &now_ns), MEMORY_SHRINK);
	CHECK_EQ(judge_for(&memory, 140 * MB, 180, &now_ns), MEMORY_SHRINK);
	CHECK_EQ(judge_for(&memory, 100 * MB, 1, &now_ns), MEMORY_FITS); /* it was held again */
	CHECK_EQ(judge_for(&memory, 140 * MB, 180, &now_ns), MEMORY_SHRINK);
	CHECK_EQ(judge_for(&memory, 140 * MB, 1, &now_ns), MEMORY_PAUSE);
	memory_resume(&memory);
	CHECK_EQ(judge_for(&memory, 140 * MB, 1, &now_ns), MEMORY_SHRINK);
	CHECK_EQ(memory.bytes, 140 * MB);
}

TEST(memory_that_is_extreme_is_not_borne)
{
	struct memory memory = {0};
	uint64_t now_ns = SECOND;

	CHECK_EQ(judge_for(&memory, 300 * MB, 1, &now_ns), MEMORY_SHRINK); /* for a moment */
	CHECK_EQ(judge_for(&memory, 200 * MB, 1, &now_ns), MEMORY_SHRINK);
	CHECK_EQ(judge_for(&memory, 300 * MB, 2, &now_ns), MEMORY_SHRINK);
	CHECK_EQ(judge_for(&memory, 300 * MB, 1, &now_ns), MEMORY_EXTREME);
	CHECK_EQ(memory.most_bytes, 300 * MB);
	CHECK_EQ(memory_judge(&memory, 1000 * MB, 0, now_ns), MEMORY_FITS); /* no limit */
}

/* The machine is the CPUs that are online. */
TEST(governor_follows_cpus_that_come_and_go)
{
	struct host host;

	begin(&host, 0, BUDGET / 2);
	CHECK_EQ(after(&host, 6), 1);
	host.sum.nr_cpus = NR_CPUS / 4; /* the same work is four times as large a share */
	CHECK_EQ(after(&host, 6), 3);
	host.sum.nr_cpus = NR_CPUS;
	CHECK_EQ(after(&host, 12), 1);
}

TEST(governor_survives_odd_readings)
{
	struct host host;
	struct governor_reading odd;

	begin(&host, 0.001, 0.002);
	(void)after(&host, 1);
	odd = host.sum;
	governor_judge(&host.governor, &odd); /* no time has passed */
	odd.now_ns += SECOND;
	odd.cost_ns[COST_EVENTS] = 0; /* fell */
	governor_judge(&host.governor, &odd);
	CHECK_EQ(host.governor.one_of, 1);
	CHECK(host.governor.shares[COST_EVENTS] == 0);
	host.governor.limits.budget = 0; /* none */
	host.fixed = 0.5;
	host.sum = odd;
	CHECK_EQ(after(&host, 20), 1);
	CHECK(!governor_is_runaway(&host.governor));
}
