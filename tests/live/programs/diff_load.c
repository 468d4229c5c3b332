/*
 * A steady load for `stook diff`: diff_load MICROSECONDS. Three functions take turns on one thread
 * until the program is killed: whole() and rest() spend 1,000 and 500 microseconds of CPU time per
 * call, part() MICROSECONDS; with 0 it is not called. They run for a time and not for a number of
 * turns, because the cost of a turn depends on the addresses of the loop and its stack, by up to a
 * half from one run to the next.
 */
#include <stdio.h>
#include <stdlib.h>

#include "burn.h"

/*
 * The clock is read about four times per call. Reading it is a system call; when that was 5 % of
 * the samples, it hid which of the three functions had become slower.
 */
#define FIRST_TURNS 20000 /* to measure the current cost of a turn */

#define BURN_MICROSECONDS(us)                                                                \
	do {                                                                                 \
		const uint64_t begin = thread_cpu_ns(), end = begin + 1000 * (uint64_t)(us); \
		uint64_t now = begin, turns = FIRST_TURNS, done = 0;                         \
                                                                                             \
		while (now < end) {                                                          \
			BURN_TURNS(turns);                                                   \
			done += turns;                                                       \
			now = thread_cpu_ns();                                               \
			turns = now < end ? done * (end - now) / (now - begin) + 1 : 0;      \
		}                                                                            \
	} while (0)

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

/* Rounds have a random length, so that ticks do not keep step with them. */
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
