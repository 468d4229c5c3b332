/*
 * Built with -DNAME=x: a program whose functions are called x_outer, x_inner and x_search, so that
 * several builds, and wrong debug files of one, can be distinguished in one run.
 *
 * names SECONDS: every sample is in main;x_outer, and there in x_inner or in the C library's
 * memchr, called by x_search. With a C library without call frame information, x_search itself is
 * missing. With a second argument the program removes its own file first.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../burn.h"

#define JOIN(a, b)    JOIN_(a, b)
#define JOIN_(a, b)   a##b
#define OF_NAME(what) JOIN(NAME, what)

static volatile unsigned char searched[65536];
static volatile size_t found;

NAMED void OF_NAME(_inner)(void)
{
	BURN_TURNS(50000);
}

NAMED void OF_NAME(_search)(void)
{
	for (int i = 0; i < 10; i++)
		found += !!memchr((void *)searched, 1, sizeof(searched));
}

NAMED void OF_NAME(_outer)(uint64_t end_ns)
{
	while (monotonic_ns() < end_ns) {
		OF_NAME(_inner)();
		OF_NAME(_search)();
	}
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;

	if (argc > 2)
		unlink(argv[0]);
	OF_NAME(_outer)(monotonic_ns() + (uint64_t)(seconds * 1e9));
	return 0;
}
