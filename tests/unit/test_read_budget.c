/* base/file/read_budget: shares of parts, lasting refusals, and refunds. */
#include "base/file/read_budget.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "unit/test.h"

#define LONG_NS (1000 * NS_PER_SEC)

static void nap_ms(int ms)
{
	(void)poll(NULL, 0, ms);
}

TEST(read_budget_without_one_allows_everything)
{
	CHECK_EQ(read_budget_take(NULL, UINT64_MAX), 0);
	CHECK(read_budget_left_ns(NULL) == UINT64_MAX);
	CHECK_EQ(read_budget_stop_fd(NULL), -1);
}

TEST(read_budget_gives_a_part_half_of_what_is_left)
{
	struct read_budget budget;

	read_budget_init(&budget, LONG_NS, 1000, -1);
	read_budget_begin(&budget);
	CHECK_EQ(read_budget_take(&budget, 300), 0);
	CHECK_EQ(read_budget_take(&budget, 200), 0);
	CHECK_EQ(read_budget_take(&budget, 1), -EDQUOT);
	CHECK_EQ(read_budget_take(&budget, 0), -EDQUOT);
	CHECK(read_budget_left_ns(&budget) == 0);
	CHECK_EQ(read_budget_end(&budget), -EDQUOT);
	read_budget_begin(&budget);
	CHECK_EQ(read_budget_take(&budget, 251), -EDQUOT);
	CHECK_EQ(read_budget_end(&budget), -EDQUOT);
	read_budget_begin(&budget);
	CHECK_EQ(read_budget_take(&budget, 250), 0);
	CHECK_EQ(read_budget_end(&budget), 0);
	CHECK_EQ(budget.left_bytes, 250);
}

/* The total is limited however many parts take their share. */
TEST(read_budget_comes_to_an_end)
{
	struct read_budget budget;
	int parts = 0;

	read_budget_init(&budget, LONG_NS, 1 << 20, -1);
	do {
		read_budget_begin(&budget);
		(void)read_budget_take(&budget, budget.part_bytes);
	} while (read_budget_end(&budget) == 0 && ++parts < 100);
	CHECK(parts > 8 && parts < 20);
	read_budget_begin(&budget);
	CHECK_EQ(read_budget_take(&budget, 0), -EDQUOT);
	CHECK_EQ(read_budget_end(&budget), -EDQUOT);
}

/* The times are long enough for a busy machine. */
TEST(read_budget_of_time)
{
	struct read_budget budget;

	read_budget_init(&budget, 400 * NS_PER_MS, 1000, -1);
	read_budget_begin(&budget);
	CHECK(read_budget_left_ns(&budget) <= 200 * NS_PER_MS);
	nap_ms(250);
	CHECK_EQ(read_budget_take(&budget, 1), -ETIME);
	CHECK_EQ(read_budget_end(&budget), -ETIME);
	CHECK(budget.left_ns <= 150 * NS_PER_MS);
	nap_ms(250); /* between parts the time is not counted */
	read_budget_begin(&budget);
	nap_ms(250);
	CHECK_EQ(read_budget_end(&budget), 0);
	CHECK_EQ(budget.left_ns, 0);
	read_budget_begin(&budget);
	CHECK_EQ(read_budget_take(&budget, 0), -ETIME);
	(void)read_budget_end(&budget);
	read_budget_init(&budget, 0, 0, -1);
	read_budget_begin(&budget);
	CHECK_EQ(read_budget_end(&budget), -ETIME);
}

TEST(read_budget_ends_when_the_user_wants_it)
{
	struct read_budget budget;
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	read_budget_init(&budget, LONG_NS, 1000, ends[0]);
	CHECK_EQ(read_budget_stop_fd(&budget), ends[0]);
	read_budget_begin(&budget);
	CHECK_EQ(read_budget_take(&budget, 1), 0);
	CHECK_EQ(write(ends[1], "", 1), 1);
	nap_ms(15);
	CHECK_EQ(read_budget_take(&budget, 1), -ECANCELED);
	CHECK_EQ(read_budget_end(&budget), -ECANCELED);
	read_budget_begin(&budget); /* the descriptor stays readable */
	CHECK_EQ(read_budget_take(&budget, 1), -ECANCELED);
	CHECK_EQ(read_budget_end(&budget), -ECANCELED);
}

TEST(read_budget_gives_time_and_bytes_back)
{
	struct read_budget budget;

	read_budget_init(&budget, 100, 1000, -1);
	budget.left_ns = budget.left_bytes = 0;
	read_budget_refill(&budget, 10);
	CHECK_EQ(budget.left_ns, 10);
	CHECK_EQ(budget.left_bytes, 100);
	read_budget_refill(&budget, 95);
	CHECK_EQ(budget.left_ns, 100);
	CHECK_EQ(budget.left_bytes, 1000);
	read_budget_refill(&budget, UINT64_MAX);
	CHECK_EQ(budget.left_bytes, 1000);
}
