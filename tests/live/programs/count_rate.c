/*
 * count_rate CALLS RATE: calls rate_hit() CALLS times, RATE times a second (0: as fast as
 * possible).
 *
 * Prints `CALLS CPU_NS WALL_NS`: the CPU time of this thread and the wall time. A call does almost
 * nothing, so the additional time under a probe is the probe's cost. The program makes a thousand
 * calls, then sleeps until the next thousand are due; if it cannot keep the rate it runs longer,
 * with the same number of calls.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "burn.h"

#define BATCH 1000

/* The first instruction is that of most functions: saving a register. */
NAMED void rate_hit(void)
{
	__asm__ volatile("" ::"r"(__builtin_frame_address(0)) : "memory");
}

static void sleep_until(uint64_t ns)
{
	struct timespec then = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) == EINTR)
		;
}

int main(int argc, char **argv)
{
	uint64_t calls = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	uint64_t rate = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	uint64_t begin_ns = monotonic_ns(), cpu_ns = thread_cpu_ns();

	for (uint64_t done = 0; done < calls; done += BATCH) {
		for (int i = 0; i < BATCH; i++)
			rate_hit();
		if (rate)
			sleep_until(begin_ns + (done + BATCH) * 1000000000 / rate);
	}
	printf("%lu %lu %lu\n", calls, thread_cpu_ns() - cpu_ns, monotonic_ns() - begin_ns);
	return 0;
}
