/*
 * forkstorm SECONDS [PARALLEL]: short-lived processes.
 *
 * For SECONDS, keeps PARALLEL (default 3) children alive; each burns 5 to 50 ms of CPU in
 * storm_outer;storm_inner and exits. Every third one executes the program again halfway, and so
 * burns its second half under the same pid in a new address space.
 *
 * Property: no process except the parent, which only waits, lives longer than about 100 ms; every
 * sample of a child's work contains storm_inner. Prints the number of children.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

#define LOW_US	5000
#define HIGH_US 50000

NAMED void storm_inner(void)
{
	BURN_TURNS(100000);
}

NAMED void storm_outer(uint64_t cpu_us)
{
	uint64_t end_ns = thread_cpu_ns() + cpu_us * 1000;

	while (thread_cpu_ns() < end_ns)
		storm_inner();
}

static void child(uint64_t cpu_us, int exec_anew)
{
	char text[32];

	if (!exec_anew) {
		storm_outer(cpu_us);
		_exit(0);
	}
	storm_outer(cpu_us / 2);
	snprintf(text, sizeof(text), "%lu", cpu_us / 2);
	execl("/proc/self/exe", "forkstorm", "child", text, (char *)NULL);
	_exit(1);
}

/* Returns the number of children, -1 if one could not be started. */
static long storm(double seconds, int parallel)
{
	uint64_t end_ns = monotonic_ns() + (uint64_t)(seconds * 1e9);
	uint64_t random = 0x9e3779b97f4a7c15ull;
	long nr = 0;
	int alive = 0;

	while (monotonic_ns() < end_ns) {
		uint64_t cpu_us = random_between(&random, LOW_US, HIGH_US);
		pid_t pid = fork();

		if (pid < 0)
			return -1;
		if (pid == 0)
			child(cpu_us, nr % 3 == 0);
		nr++;
		if (++alive >= parallel && wait(NULL) > 0)
			alive--;
	}
	while (wait(NULL) > 0)
		;
	return nr;
}

int main(int argc, char **argv)
{
	long nr;

	if (argc == 3 && !strcmp(argv[1], "child")) {
		storm_outer(strtoull(argv[2], NULL, 10));
		return 0;
	}
	nr = storm(argc > 1 ? atof(argv[1]) : 2, argc > 2 ? atoi(argv[2]) : 3);
	printf("children %ld\n", nr);
	return nr < 0;
}
