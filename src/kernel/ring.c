/*
 * Reading a BPF ring buffer. A record is a header of 8 bytes, whose first word is the length with
 * two flag bits, and the data, padded to 8 bytes. Positions only grow. The data area is mapped
 * twice in a row, so that a record that wraps around is contiguous.
 */
#include "kernel/ring.h"

#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int ring_open(struct ring *ring, int map_fd, size_t data_bytes, struct error *error)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	*ring = (struct ring){.page_bytes = page, .data_bytes = data_bytes};
	ring->consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	ring->producer =
		mmap(NULL, page + 2 * data_bytes, PROT_READ, MAP_SHARED, map_fd, (off_t)page);
	if (ring->consumer == MAP_FAILED || ring->producer == MAP_FAILED) {
		int err = error_set_errno(error, "cannot map the ring buffer of %zu bytes",
					  data_bytes);

		ring_close(ring);
		return err;
	}
	return 0;
}

void ring_close(struct ring *ring)
{
	if (ring->consumer && ring->consumer != MAP_FAILED)
		(void)munmap(ring->consumer, ring->page_bytes);
	if (ring->producer && ring->producer != MAP_FAILED)
		(void)munmap(ring->producer, ring->page_bytes + 2 * ring->data_bytes);
	*ring = (struct ring){0};
}

/* Positions are unsigned longs in the kernel. */
uint64_t ring_producer_position(const struct ring *ring)
{
	return __atomic_load_n((const unsigned long *)ring->producer, __ATOMIC_ACQUIRE);
}

static const char *data_at(const struct ring *ring, uint64_t position)
{
	return (const char *)ring->producer + ring->page_bytes + position % ring->data_bytes;
}

static uint64_t record_bytes(uint32_t length)
{
	length &= ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
	return (BPF_RINGBUF_HDR_SZ + (uint64_t)length + 7) & ~7ULL;
}

const void *ring_next(struct ring *ring, uint64_t end, size_t *ret_bytes)
{
	unsigned long *consumer = ring->consumer;
	unsigned long position = *consumer + ring->held_bytes;
	const void *found = NULL;

	ring->held_bytes = 0;

	while (position < end && !found) {
		const char *header = data_at(ring, position);
		uint32_t length = __atomic_load_n((const uint32_t *)header, __ATOMIC_ACQUIRE);

		if (length & BPF_RINGBUF_BUSY_BIT)
			break;
		if (length & BPF_RINGBUF_DISCARD_BIT) {
			position += record_bytes(length);
			continue;
		}
		found = header + BPF_RINGBUF_HDR_SZ;
		*ret_bytes = length;
		ring->held_bytes = record_bytes(length);
	}
	__atomic_store_n(consumer, position, __ATOMIC_RELEASE);
	return found;
}
