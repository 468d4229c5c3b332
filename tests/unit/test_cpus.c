/* kernel/cpus: lists with gaps have two sizes. */
#include "kernel/cpus.h"

#include <errno.h>

#include "unit/test.h"

TEST(cpus_without_gaps)
{
	struct cpus cpus = {0};

	CHECK_EQ(cpus_parse(&cpus, "0-3"), 0);
	CHECK_EQ(cpus.nr, 4);
	CHECK_EQ(cpus.end, 4);
	cpus_clear(&cpus);
}

TEST(cpus_with_gaps)
{
	struct cpus cpus = {0};

	CHECK_EQ(cpus_parse(&cpus, "0,2-3,128-129"), 0);
	CHECK_EQ(cpus.nr, 5);
	CHECK_EQ(cpus.end, 130);
	CHECK_EQ(cpus.numbers[2], 3);
	CHECK_EQ(cpus.numbers[4], 129);
	cpus_clear(&cpus);
}

TEST(cpus_need_a_list)
{
	struct cpus cpus = {0};

	CHECK_EQ(cpus_parse(&cpus, ""), -EINVAL);
	CHECK_EQ(cpus_parse(&cpus, "0-"), -EINVAL);
	CHECK_EQ(cpus_parse(&cpus, "0-65536"), -ERANGE);
	CHECK(cpus.numbers == NULL);
}

TEST(cpus_of_this_machine)
{
	struct cpus online = {0}, possible = {0};

	CHECK_EQ(cpus_read(&online, "online", NULL), 0);
	CHECK_EQ(cpus_read(&possible, "possible", NULL), 0);
	CHECK(online.nr >= 1 && online.nr <= possible.nr && possible.nr <= possible.end);
	cpus_clear(&online);
	cpus_clear(&possible);
}

TEST(cpus_that_are_not_online_are_named)
{
	const uint32_t wanted[] = {1, 8, 9};
	struct cpus online = {0};
	struct error error = {0};

	CHECK_EQ(cpus_parse(&online, "0-3,8"), 0);
	CHECK_EQ(cpus_check(&online, wanted, 2, &error), 0);
	CHECK_EQ(cpus_check(&online, wanted, 3, &error), -ENODEV);
	CHECK_STR(error.text, "no such CPU, or not online: 9");
	cpus_clear(&online);
}
