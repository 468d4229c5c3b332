/*
 * A steady load for `stook diff`: diff_load MICROSECONDS. Three functions take turns on one thread
 * until the program is killed: whole() and rest() spend 1,000 and 500 microseconds of CPU time each
 * time, part() as many as it is told; with 0 it is not called. By time and not by turns, since what a
 * turn costs depends on how a loop and its stack happen to lie in memory, by up to a half from one run
 * to the next.
 */
#include <stdio.h>
#include <stdlib.h>

#include "burn.h"

#define TURNS_A_LOOK 10000 /* at the clock */

#define BURN_MICROSECONDS(us)                                             \
	for (uint64_t burn_end = thread_cpu_ns() + 1000 * (uint64_t)(us); \
	     thread_cpu_ns() < burn_end;)                                 \
	BURN_TURNS(TURNS_A_LOOK)

NAMED void whole(void)
{
	BURN_MICROSECONDS(1000);
}

NAMED void part(unsigned long us)
{
	BURN_MICROSECONDS(us);
}

NAMED void rest(void)
{
	BURN_MICROSECONDS(500);
}

/* How long a round is depends on chance: ticks must not keep step with it. */
NAMED void shift_phase(unsigned *seed)
{
	BURN_MICROSECONDS(rand_r(seed) % 100);
}

NAMED void work(unsigned long us)
{
	unsigned seed = 1;

	for (;;) {
		whole();
		if (us)
			part(us);
		rest();
		shift_phase(&seed);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		(void)fprintf(stderr, "usage: diff_load MICROSECONDS\n");
		return 2;
	}
	work(strtoul(argv[1], NULL, 10));
	return 0;
}
