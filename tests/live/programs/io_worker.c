/*
 * io_worker SECONDS: lets a worker of io_uring use CPU time.
 *
 * Property: nearly all of it is used by threads called iou-wrk-PID, which run only in the kernel: they
 * read zeros into large buffers, and have no user stack. Exits with 2 if the kernel has no io_uring.
 */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "burn.h"

#define BUFFER_BYTES (64UL << 20)

int main(int argc, char **argv)
{
	uint64_t end_ns = monotonic_ns() + (uint64_t)((argc > 1 ? atof(argv[1]) : 1) * 1e9);
	struct io_uring_params params = {0};
	int zero = open("/dev/zero", O_RDONLY);
	int ring = (int)syscall(SYS_io_uring_setup, 1, &params);
	char *buffer = malloc(BUFFER_BYTES), *entries, *rings;
	struct io_uring_sqe *sqe;

	if (ring < 0 || zero < 0 || !buffer || !(params.features & IORING_FEAT_SINGLE_MMAP))
		return 2;
	rings = mmap(NULL, params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe),
		     PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	entries =
		mmap(NULL, sizeof(*sqe), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	if (rings == MAP_FAILED || entries == MAP_FAILED)
		return 2;
	sqe = (struct io_uring_sqe *)entries;
	while (monotonic_ns() < end_ns) {
		*sqe = (struct io_uring_sqe){
			.opcode = IORING_OP_READ,
			.flags = IOSQE_ASYNC,
			.fd = zero,
			.addr = (uintptr_t)buffer,
			.len = BUFFER_BYTES,
		};
		*(uint32_t *)(rings + params.sq_off.array) = 0;
		__atomic_add_fetch((uint32_t *)(rings + params.sq_off.tail), 1, __ATOMIC_RELEASE);
		if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
			return 2;
		__atomic_add_fetch((uint32_t *)(rings + params.cq_off.head), 1, __ATOMIC_RELEASE);
	}
	return 0;
}
