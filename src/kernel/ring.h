/*
 * The reading side of a BPF ring buffer. libbpf's own reader runs after the producer for as long
 * as it adds records; a drain must stop at the position that it noted.
 */
#ifndef STOOK_KERNEL_RING_H
#define STOOK_KERNEL_RING_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct ring {
	void *consumer; /* a page that we write: how far we have read */
	void *producer; /* a page that the kernel writes, then the data, twice in a row */
	size_t page_bytes, data_bytes;
	size_t held_bytes; /* of the record handed out last, which the kernel must not overwrite */
};

/* 0 or a negative errno. */
int ring_open(struct ring *ring, int map_fd, size_t data_bytes, struct error *error);
void ring_close(struct ring *ring);

/* How far producers have reserved. */
uint64_t ring_producer_position(const struct ring *ring);

/*
 * The next record before position `end`, good until the next call: only that gives its place
 * back to the kernel. NULL at the end, or at a record that is reserved and not yet submitted.
 */
const void *ring_next(struct ring *ring, uint64_t end, size_t *ret_bytes);

#endif
