/* collect/sampling: buffer sizes grow with the rate, within bounds, unless the user gave them, and fit into a limit. */
#include "collect/sampler.h"

#include "unit/test.h"

static const struct sampled_event *clock_at(const struct sampling_rate *rate)
{
	static struct sampled_event sampled;

	CHECK_EQ(event_parse("cpu-clock", &sampled.event, NULL), 0);
	sampled.rate = *rate;
	return &sampled;
}

static struct sampling_sizes sizes_of(const struct sampling_rate *rate, size_t nr_cpus)
{
	const struct sampling_needs needs = {
		.events = clock_at(rate), .nr_events = 1, .nr_cpus = nr_cpus};
	struct sampling_sizes sizes = {0};

	(void)sampling_choose_sizes(&needs, &sizes);
	return sizes;
}

TEST(sizes_grow_with_the_rate)
{
	const struct sampling_sizes small = sizes_of(&(struct sampling_rate){.frequency = 99}, 2);
	const struct sampling_sizes large =
		sizes_of(&(struct sampling_rate){.frequency = 9999}, 64);

	CHECK(large.ring_bytes > small.ring_bytes && large.max_counts > small.max_counts);
	CHECK_EQ(large.ring_bytes & (large.ring_bytes - 1), 0);
	CHECK(small.ring_bytes >= 4096);
	CHECK_EQ(small.max_threads, 0);
}

TEST(sizes_have_an_end)
{
	const struct sampling_sizes sizes =
		sizes_of(&(struct sampling_rate){.frequency = 1000000}, 4096);

	CHECK_EQ(sizes.ring_bytes, 64UL << 20);
	CHECK_EQ(sizes.max_counts, 131072);
}

TEST(sizes_of_a_clock_follow_its_period)
{
	const struct sampling_sizes sizes = sizes_of(&(struct sampling_rate){.period = 1000000}, 8);
	const struct sampling_sizes in_hz = sizes_of(&(struct sampling_rate){.frequency = 1000}, 8);

	CHECK_EQ(sizes.ring_bytes, in_hz.ring_bytes);
	CHECK_EQ(sizes.max_counts, in_hz.max_counts);
}

TEST(sizes_leave_what_was_asked_for)
{
	struct sampling_needs needs = {
		.events = clock_at(&(struct sampling_rate){.frequency = 9999}),
		.nr_events = 1,
		.nr_cpus = 64,
	};
	struct sampling_sizes sizes = {.ring_bytes = 1 << 20, .max_counts = 7};

	(void)sampling_choose_sizes(&needs, &sizes);
	CHECK_EQ(sizes.ring_bytes, 1 << 20);
	CHECK_EQ(sizes.max_counts, 7);
	needs.max_bytes = 1000; /* also if there is a limit */
	(void)sampling_choose_sizes(&needs, &sizes);
	CHECK_EQ(sizes.ring_bytes, 1 << 20);
	CHECK_EQ(sizes.max_counts, 7);
}

TEST(sizes_have_room_for_raw_records)
{
	struct sampling_needs needs = {
		.events = clock_at(&(struct sampling_rate){.frequency = 999}),
		.nr_events = 1,
		.nr_cpus = 2,
	};
	struct sampling_sizes sizes = {0}, raw = {0};

	(void)sampling_choose_sizes(&needs, &sizes);
	needs.has_raw = true;
	(void)sampling_choose_sizes(&needs, &raw);
	CHECK(raw.ring_bytes > sizes.ring_bytes);
}

/* A host of 256 CPUs and 100,000 threads, whose waits are followed. */
static size_t fit(size_t max_bytes, struct sampling_sizes *ret)
{
	const struct sampling_needs needs = {
		.nr_cpus = 256, .has_waits = true, .nr_threads = 100000, .max_bytes = max_bytes};

	*ret = (struct sampling_sizes){0};
	return sampling_choose_sizes(&needs, ret);
}

TEST(sizes_fit_into_a_limit)
{
	static const size_t limits[] = {200UL << 20, 64UL << 20, 16UL << 20, 3UL << 20};
	struct sampling_sizes before, sizes;
	const size_t unlimited = fit(0, &before);
	size_t i;

	CHECK(unlimited > limits[0]);
	CHECK_EQ(before.max_threads, 400000);
	CHECK_EQ(fit(unlimited, &sizes), unlimited); /* nothing is made smaller without need */
	for (i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		const size_t bytes = fit(limits[i], &sizes);

		CHECK(bytes <= limits[i]);
		CHECK(bytes > limits[i] / 3);
		CHECK_EQ(sizes.ring_bytes & (sizes.ring_bytes - 1), 0);
		CHECK(sizes.ring_bytes <= before.ring_bytes);
		CHECK(sizes.max_counts <= before.max_counts);
		CHECK(sizes.max_threads <= before.max_threads);
	}
	CHECK(fit(1, &sizes) > 1); /* the least */
	CHECK(sizes.ring_bytes >= 65536 && sizes.max_counts >= 1024 && sizes.max_threads >= 4096);
}

static const uint64_t second = 1000000000;

TEST(reading_of_a_cpu_that_was_offline)
{
	const struct sampling_reading half = {
		.events = 7, .enabled_ns = second / 2, .running_ns = second / 4};
	struct sampling_reading sum = {0};

	sampling_add_cpu(&sum, 0, &half, false, second / 2);
	CHECK_EQ(sum.nr_short + sum.nr_uncounted, 0);
	sampling_add_cpu(&sum, 3, &half, true, second);
	CHECK_EQ(sum.events, 14);
	CHECK_EQ(sum.enabled_ns, second);
	CHECK_EQ(sum.running_ns, second / 2);
	CHECK_EQ(sum.nr_short, 1);
	CHECK_EQ(sum.short_cpu, 3);
	CHECK_EQ(sum.short_ns, second / 2);
	/* It was not noticed. */
	sampling_add_cpu(&sum, 4, &half, false, second);
	CHECK_EQ(sum.nr_short, 2);
	/* It was away all the time. */
	sampling_add_cpu(&sum, 5, &(struct sampling_reading){0}, true, second);
	CHECK_EQ(sum.nr_short, 3);
	CHECK_EQ(sum.nr_uncounted, 0);
}

/* A pinned event is read as nothing. */
TEST(reading_of_an_event_without_a_counter)
{
	struct sampling_reading sum = {0};

	sampling_add_cpu(&sum, 2, &(struct sampling_reading){0}, false, second);
	CHECK_EQ(sum.nr_short, 0);
	CHECK_EQ(sum.short_ns, 0);
	CHECK_EQ(sum.nr_uncounted, 1);
	CHECK_EQ(sum.uncounted_cpu, 2);
	CHECK_EQ(sum.uncounted_ns, second);
}
