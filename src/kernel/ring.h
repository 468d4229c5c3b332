/*
 * Reads a BPF ring buffer. libbpf's own reader continues for as long as the producer adds records;
 * a drain must stop at the position that it noted.
 */
#ifndef STOOK_KERNEL_RING_H
#define STOOK_KERNEL_RING_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct ring {
	void *consumer; /* a page that we write: the consumer position */
	void *producer; /* a page that the kernel writes (the producer position), then the data, mapped twice */
	size_t page_bytes, data_bytes;
	size_t held_bytes; /* size of the last returned record, which the kernel must not overwrite yet */
};

/* Maps the ring buffer. Returns 0 or a negative errno. */
int ring_open(struct ring *ring, int map_fd, size_t data_bytes, struct error *error);
void ring_close(struct ring *ring);

/* Returns the position up to which producers have reserved. */
uint64_t ring_producer_position(const struct ring *ring);

/*
 * Returns the next record before position `end`, valid until the next call, which gives its space
 * back to the kernel. NULL at the end, or at a record that is reserved and not yet submitted.
 */
const void *ring_next(struct ring *ring, uint64_t end, size_t *ret_bytes);

#endif
