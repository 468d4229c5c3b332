/*
 * shortlived MICROSECONDS: burns so much CPU time in a known chain of functions, and exits.
 *
 * Property: but for start and exit, every sample of it is a_outer;b_middle;c_inner, whether the
 * process lives 5 ms or 5 s. What the work itself cost is MICROSECONDS to within one call of
 * c_inner (some 50 us).
 */
#include <stdlib.h>

#include "burn.h"

NAMED void c_inner(void)
{
	BURN_TURNS(100000);
}

NAMED void b_middle(uint64_t end_ns)
{
	while (thread_cpu_ns() < end_ns)
		c_inner();
}

NAMED void a_outer(uint64_t cpu_us)
{
	b_middle(thread_cpu_ns() + cpu_us * 1000);
}

int main(int argc, char **argv)
{
	a_outer(argc > 1 ? strtoull(argv[1], NULL, 10) : 10000);
	return 0;
}
