/* collect/sampling: buffer sizes grow with the rate, within bounds, unless the user gave them. */
#include "collect/sampler.h"

#include "unit/test.h"

static const struct sampled_event *clock_at(const struct sampling_rate *rate)
{
	static struct sampled_event sampled;

	CHECK_EQ(event_parse("cpu-clock", &sampled.event, NULL), 0);
	sampled.rate = *rate;
	return &sampled;
}

TEST(sizes_grow_with_the_rate)
{
	size_t small_ring = 0, small_counts = 0, ring = 0, counts = 0;

	sampling_choose_sizes(clock_at(&(struct sampling_rate){.frequency = 99}), 1, 2, false,
			      &small_ring, &small_counts);
	sampling_choose_sizes(clock_at(&(struct sampling_rate){.frequency = 9999}), 1, 64, false,
			      &ring, &counts);
	CHECK(ring > small_ring && counts > small_counts);
	CHECK_EQ(ring & (ring - 1), 0);
	CHECK(small_ring >= 4096);
}

TEST(sizes_have_an_end)
{
	size_t ring = 0, counts = 0;

	sampling_choose_sizes(clock_at(&(struct sampling_rate){.frequency = 1000000}), 1, 4096,
			      false, &ring, &counts);
	CHECK_EQ(ring, 64UL << 20);
	CHECK_EQ(counts, 131072);
}

TEST(sizes_of_a_clock_follow_its_period)
{
	size_t ring = 0, counts = 0, ring_hz = 0, counts_hz = 0;

	sampling_choose_sizes(clock_at(&(struct sampling_rate){.period = 1000000}), 1, 8, false,
			      &ring, &counts);
	sampling_choose_sizes(clock_at(&(struct sampling_rate){.frequency = 1000}), 1, 8, false,
			      &ring_hz, &counts_hz);
	CHECK_EQ(ring, ring_hz);
	CHECK_EQ(counts, counts_hz);
}

TEST(sizes_leave_what_was_asked_for)
{
	size_t ring = 4096, counts = 7;

	sampling_choose_sizes(clock_at(&(struct sampling_rate){.frequency = 9999}), 1, 64, false,
			      &ring, &counts);
	CHECK_EQ(ring, 4096);
	CHECK_EQ(counts, 7);
}

TEST(sizes_have_room_for_raw_records)
{
	size_t ring = 0, raw_ring = 0, counts = 0;

	sampling_choose_sizes(clock_at(&(struct sampling_rate){.frequency = 999}), 1, 2, false,
			      &ring, &counts);
	sampling_choose_sizes(clock_at(&(struct sampling_rate){.frequency = 999}), 1, 2, true,
			      &raw_ring, &counts);
	CHECK(raw_ring > ring);
}
