/*
 * kernel/ring: reading a BPF ring buffer that the test itself writes. The data pages are mapped
 * twice in a row, as the kernel does, so records may wrap around the end.
 */
#include "unit/test.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/ring.h"

#define HEADER_BYTES BPF_RINGBUF_HDR_SZ
#define BUSY	     BPF_RINGBUF_BUSY_BIT
#define DISCARDED    BPF_RINGBUF_DISCARD_BIT

struct fake {
	struct ring ring;
	char *data;
};

static void fake_open(struct fake *fake)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = memfd_create("ring", MFD_CLOEXEC);
	char *memory;

	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, (off_t)(3 * page)), 0); /* consumer, producer, data */
	memory = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(memory != MAP_FAILED);
	CHECK(mmap(memory + 3 * page, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		   (off_t)(2 * page)) != MAP_FAILED);
	(void)close(fd);
	fake->ring = (struct ring){.consumer = memory,
				   .producer = memory + page,
				   .page_bytes = page,
				   .data_bytes = page};
	fake->data = memory + 2 * page;
}

static void fake_close(struct fake *fake)
{
	CHECK_EQ(munmap(fake->ring.consumer, 4 * fake->ring.page_bytes), 0);
}

static unsigned long *producer_position(struct fake *fake)
{
	return fake->ring.producer;
}

static unsigned long consumer_position(const struct fake *fake)
{
	return *(const unsigned long *)fake->ring.consumer;
}

static uint32_t *header_at(struct fake *fake, uint64_t position)
{
	return (uint32_t *)(fake->data + position % fake->ring.data_bytes);
}

/* Appends a record of `bytes` bytes, all of them `fill`; returns its position. */
static uint64_t produce(struct fake *fake, uint32_t bytes, uint32_t flags, char fill)
{
	uint64_t position = *producer_position(fake);
	uint32_t *header = header_at(fake, position);

	memset((char *)header + HEADER_BYTES, fill, bytes);
	*header = bytes | flags;
	*producer_position(fake) += (HEADER_BYTES + bytes + 7) / 8 * 8;
	CHECK(*producer_position(fake) - consumer_position(fake) <= fake->ring.data_bytes);
	return position;
}

static void check_next(struct fake *fake, uint64_t end, size_t bytes, char fill)
{
	size_t got = 0, i;
	const char *record = ring_next(&fake->ring, end, &got);

	CHECK(record != NULL);
	CHECK_EQ(got, bytes);
	for (i = 0; i < bytes; i++)
		CHECK_EQ(record[i], fill);
}

static void check_end(struct fake *fake, uint64_t end)
{
	size_t bytes = 77;

	CHECK(ring_next(&fake->ring, end, &bytes) == NULL);
	CHECK_EQ(bytes, 77);
}

TEST(ring_gives_what_was_put_in)
{
	struct fake fake;
	uint64_t end;

	fake_open(&fake);
	check_end(&fake, 0);
	(void)produce(&fake, 8, 0, 'a');
	(void)produce(&fake, 13, 0, 'b');
	(void)produce(&fake, 0, 0, 'c');
	(void)produce(&fake, 100, 0, 'd');
	end = ring_producer_position(&fake.ring);
	CHECK_EQ(end, 16 + 24 + 8 + 112);
	check_next(&fake, end, 8, 'a');
	check_next(&fake, end, 13, 'b');
	check_next(&fake, end, 0, 'c');
	check_next(&fake, end, 100, 'd');
	check_end(&fake, end);
	CHECK_EQ(consumer_position(&fake), end);
	check_end(&fake, end);
	fake_close(&fake);
}

/* The kernel may overwrite everything before the consumer's position. */
TEST(ring_record_is_ours_until_the_next_call)
{
	struct fake fake;
	uint64_t second, end;

	fake_open(&fake);
	(void)produce(&fake, 64, 0, 'a');
	second = produce(&fake, 64, 0, 'b');
	end = ring_producer_position(&fake.ring);
	check_next(&fake, end, 64, 'a');
	CHECK_EQ(consumer_position(&fake), 0);
	check_next(&fake, end, 64, 'b');
	CHECK_EQ(consumer_position(&fake), second);
	check_end(&fake, end);
	CHECK_EQ(consumer_position(&fake), end);
	fake_close(&fake);
}

TEST(ring_stops_at_the_noted_position)
{
	struct fake fake;
	uint64_t end;

	fake_open(&fake);
	(void)produce(&fake, 16, 0, 'a');
	end = ring_producer_position(&fake.ring);
	(void)produce(&fake, 16, 0, 'b');
	check_next(&fake, end, 16, 'a');
	check_end(&fake, end);
	check_end(&fake, end);
	check_next(&fake, ring_producer_position(&fake.ring), 16, 'b');
	fake_close(&fake);
}

TEST(ring_skips_discarded_records)
{
	struct fake fake;
	uint64_t end;

	fake_open(&fake);
	(void)produce(&fake, 16, DISCARDED, 'x');
	(void)produce(&fake, 40, DISCARDED, 'y');
	(void)produce(&fake, 16, 0, 'a');
	(void)produce(&fake, 16, DISCARDED, 'z');
	end = ring_producer_position(&fake.ring);
	check_next(&fake, end, 16, 'a');
	check_end(&fake, end);
	CHECK_EQ(consumer_position(&fake), end);
	fake_close(&fake);
}

/* A reserved record holds up the records after it, even submitted ones. */
TEST(ring_waits_for_a_reservation)
{
	struct fake fake;
	uint64_t held, end;

	fake_open(&fake);
	(void)produce(&fake, 8, 0, 'a');
	held = produce(&fake, 24, BUSY, 'b');
	(void)produce(&fake, 8, 0, 'c');
	end = ring_producer_position(&fake.ring);
	check_next(&fake, end, 8, 'a');
	check_end(&fake, end);
	check_end(&fake, end);
	CHECK_EQ(consumer_position(&fake), held);
	*header_at(&fake, held) = 24;
	check_next(&fake, end, 24, 'b');
	check_next(&fake, end, 8, 'c');
	check_end(&fake, end);
	fake_close(&fake);
}

TEST(ring_goes_around_many_times)
{
	struct fake fake;
	uint64_t produced = 0, consumed = 0;
	uint32_t state = 1;

	fake_open(&fake);
	while (consumed < 20000) {
		uint64_t end;

		for (state = state * 1664525 + 1013904223; state >> 30; produced++) {
			uint32_t bytes = (uint32_t)(produced * 7919 % 500);
			uint64_t used = *producer_position(&fake) - consumer_position(&fake);

			if (used + bytes + 16 > fake.ring.data_bytes)
				break;
			(void)produce(&fake, bytes, 0, (char)produced);
		}
		end = ring_producer_position(&fake.ring);
		for (; consumed < produced; consumed++)
			check_next(&fake, end, consumed * 7919 % 500, (char)consumed);
		check_end(&fake, end);
	}
	fake_close(&fake);
}

TEST(ring_opens_a_map_and_refuses_others)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = memfd_create("ring", MFD_CLOEXEC);
	struct ring ring;
	struct error error = {0};

	CHECK_EQ(ftruncate(fd, (off_t)(4 * page)), 0);
	CHECK_EQ(ring_open(&ring, fd, page, &error), 0);
	CHECK_EQ(ring_producer_position(&ring), 0);
	ring_close(&ring);
	ring_close(&ring);
	CHECK_EQ(ring_open(&ring, -1, page, &error), -EBADF);
	CHECK_EQ(error.code, -EBADF);
	ring_close(&ring);
	(void)close(fd);
}
