/*
 * count_rate CALLS RATE: calls rate_hit() so often, RATE times a second (0: as fast as it can).
 *
 * Prints `CALLS CPU_NS WALL_NS`: what that took of this thread's CPU time, and of everybody's. A call
 * does next to nothing, so what it takes more under a probe is the probe's. The pace is kept by
 * calling a thousand times, then sleeping until it is time for the next thousand; a program that
 * can't keep it is late, and calls no less.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "burn.h"

#define BATCH 1000

/* Begins with what most functions begin with: saving a register. */
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
