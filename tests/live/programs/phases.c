/*
 * phases SECONDS ROUNDS: spends its time in two functions in turn.
 *
 * Property: each phase is SECONDS of wall time, all of it in phase_even or in phase_odd, beginning
 * with phase_even; there are 2 * ROUNDS phases. Prints a line for each phase: the function's name
 * and its CPU time in nanoseconds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "burn.h"

NAMED void phase_even(uint64_t end_ns)
{
	while (monotonic_ns() < end_ns)
		BURN_TURNS(100000);
}

NAMED void phase_odd(uint64_t end_ns)
{
	while (monotonic_ns() < end_ns)
		BURN_TURNS(100001);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	int rounds = argc > 2 ? atoi(argv[2]) : 1;
	uint64_t end_ns = monotonic_ns(), used_ns = thread_cpu_ns();

	for (int i = 0; i < 2 * rounds; i++) {
		uint64_t before_ns = used_ns;

		end_ns += (uint64_t)(seconds * 1e9);
		if (i % 2)
			phase_odd(end_ns);
		else
			phase_even(end_ns);
		used_ns = thread_cpu_ns();
		printf("%s %" PRIu64 "\n", i % 2 ? "phase_odd" : "phase_even", used_ns - before_ns);
		fflush(stdout);
	}
	return 0;
}
