/*
 * shortlived MICROSECONDS: burns MICROSECONDS of CPU time in a known chain of functions, and exits.
 *
 * Property: except for start and exit, every sample is in a_outer;b_middle;c_inner, for a process
 * of 5 ms as for one of 5 s. The work takes MICROSECONDS to within one call of c_inner (about 50
 * us).
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
