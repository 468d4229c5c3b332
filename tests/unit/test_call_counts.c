/* cmd/funccount: rows from counters that the test writes as the kernel would. */
#include "cmd/funccount_test.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "unit/test.h"

#define NR_CPUS 2
#define STRIDE	8

static struct probe_file files[] = {{.handle = -1, .path = "/bin/a"},
				    {.handle = -1, .path = "/bin/b"}};

static struct probe probes[] = {
	{.kind = PROBE_USER, .name = "init", .detail = "hash.c"},
	{.kind = PROBE_USER, .name = "init", .detail = "list.c", .is_return = true},
	{.kind = PROBE_USDT, .name = "gc:start", .offset = 1},
	{.kind = PROBE_KERNEL, .name = "vfs_read", .symbol = "vfs_read"},
	{.kind = PROBE_USDT, .name = "gc:start", .offset = 2},
	{.kind = PROBE_USDT, .name = "gc:start", .offset = 2, .file = 1},
	{.kind = PROBE_USER, .name = "init", .file = 1},
};

static const struct probe_list list = {
	.probes = probes, .nr_probes = ARRAY_SIZE(probes), .files = files, .nr_files = 2};

static struct wire_hits memory[NR_CPUS * STRIDE];

static const struct hits hits = {
	.per_cpu = memory, .stride = STRIDE, .nr_probes = ARRAY_SIZE(probes), .nr_cpus = NR_CPUS};

static struct call_counts begin(uint64_t now_ns)
{
	struct call_counts counts;
	struct error error = {0};

	memset(memory, 0, sizeof(memory));
	CHECK_EQ(call_counts_init(&counts, &list, &hits, now_ns, &error), 0);
	return counts;
}

TEST(call_counts_have_a_row_for_each_probe_but_static_ones)
{
	struct call_counts counts = begin(0);
	struct call_interval interval = call_counts_read(&counts, NULL, NS_PER_SEC);

	CHECK_EQ(interval.nr, 6);
	CHECK_STR(interval.rows[0].label, "init (hash.c)");
	CHECK_STR(interval.rows[1].label, "r:init (list.c)");
	CHECK_STR(interval.rows[2].label, "gc:start");
	CHECK_STR(interval.rows[2].file, "/bin/a");
	CHECK_STR(interval.rows[2].kind, "usdt");
	CHECK_STR(interval.rows[3].label, "vfs_read");
	CHECK(!interval.rows[3].file);
	CHECK_STR(interval.rows[4].label, "gc:start");
	CHECK_STR(interval.rows[4].file, "/bin/b");
	CHECK_STR(interval.rows[5].label, "init");
	CHECK(interval.seconds > 0.999 && interval.seconds < 1.001);
	call_counts_clear(&counts);
}

TEST(call_counts_are_differences_over_all_cpus)
{
	struct call_counts counts = begin(NS_PER_SEC);
	struct call_interval interval;

	memory[3] = (struct wire_hits){.counted = 5, .filtered = 100};
	memory[STRIDE + 3].counted = 7;
	interval = call_counts_read(&counts, NULL, 3 * NS_PER_SEC);
	CHECK_EQ(interval.rows[3].count, 12);
	CHECK(interval.rows[3].per_second > 5.999 && interval.rows[3].per_second < 6.001);
	memory[STRIDE + 3].counted = 8;
	interval = call_counts_read(&counts, NULL, 4 * NS_PER_SEC);
	CHECK_EQ(interval.rows[3].count, 1);
	interval = call_counts_read(&counts, NULL, 4 * NS_PER_SEC); /* an interval of zero length */
	CHECK_EQ(interval.rows[3].count, 0);
	call_counts_clear(&counts);
}

/* For any order and number of readings, the reported counts sum up to the counters. */
TEST(call_counts_lose_nothing_between_intervals)
{
	struct call_counts counts = begin(0);
	uint64_t sum = 0, total = 0, i;

	for (i = 1; i <= 1000; i++) {
		struct call_interval interval;

		memory[i % NR_CPUS * STRIDE].counted += i * 7 % 13;
		total += i * 7 % 13;
		if (i % 3)
			continue;
		interval = call_counts_read(&counts, NULL, i * NS_PER_MS);
		/* The caller may reorder the rows. */
		call_interval_choose(&interval, CALL_BY_COUNT, 1);
		CHECK(interval.nr <= 1);
		sum += interval.rows[0].count;
	}
	sum += call_counts_read(&counts, NULL, i * NS_PER_MS).rows[0].count;
	CHECK_EQ(sum, total);
	call_counts_clear(&counts);
}

TEST(call_counts_of_a_static_probe_are_one)
{
	struct call_counts counts = begin(0);
	struct call_interval interval;

	memory[2].counted = 3;
	memory[STRIDE + 4].counted = 4;
	memory[5].counted = 50;
	interval = call_counts_read(&counts, NULL, NS_PER_SEC);
	CHECK_EQ(interval.rows[2].count, 7);
	CHECK(interval.rows[2].per_second > 6.999 && interval.rows[2].per_second < 7.001);
	CHECK_EQ(interval.rows[4].count, 50);
	call_counts_clear(&counts);
}

TEST(call_counts_without_memory)
{
	struct error error = {0};
	size_t n;

	for (n = 1; n < 100; n++) {
		struct call_counts counts;
		int err;

		(void)test_fail_allocation(n);
		err = call_counts_init(&counts, &list, &hits, 0, &error);
		(void)test_fail_allocation(0);
		call_counts_clear(&counts);
		if (!err)
			return;
		CHECK_EQ(err, -ENOMEM);
	}
	CHECK(false);
}

TEST(call_keys_are_words)
{
	static const char *const bad[] = {"",	     ",",  "pid,", ",pid",     "func",
					  "pid,pid", "pi", "pidx", "pid,stack"};
	struct error error = {0};
	size_t i;

	CHECK_EQ(call_keys_check("pid", &error), 0);
	CHECK_EQ(call_keys_check("cgroup,cpu,comm,tid,pid", &error), 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK_EQ(call_keys_check(bad[i], &error), -EINVAL);
}
