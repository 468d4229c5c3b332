/*
 * spin SECONDS [THREADS]: runs threads that spin in one place.
 *
 * Property: every sample is `main` or `spin_thread`, then spin_outer;spin_inner. Ends after SECONDS
 * of wall time. Threads are called spin-0, spin-1, …; with one thread, the main thread spins. The
 * first line of output is the list of thread ids.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "burn.h"

#define MAX_THREADS 64

struct spinner {
	pthread_t thread;
	int number;
	uint64_t end_ns;
};

NAMED void spin_inner(void)
{
	BURN_TURNS(100000);
}

NAMED void spin_outer(uint64_t end_ns)
{
	while (monotonic_ns() < end_ns)
		spin_inner();
}

static void *spin_thread(void *argument)
{
	struct spinner *spinner = argument;
	char name[16];

	snprintf(name, sizeof(name), "spin-%d", spinner->number);
	pthread_setname_np(pthread_self(), name);
	printf("%d\n", (int)gettid());
	fflush(stdout);
	spin_outer(spinner->end_ns);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct spinner spinners[MAX_THREADS];
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	int nr = argc > 2 ? atoi(argv[2]) : 1;
	uint64_t end_ns = monotonic_ns() + (uint64_t)(seconds * 1e9);

	if (nr < 1 || nr > MAX_THREADS)
		return 2;
	if (nr == 1) {
		printf("%d\n", (int)gettid());
		fflush(stdout);
		spin_outer(end_ns);
		return 0;
	}
	for (int i = 0; i < nr; i++) {
		spinners[i].number = i;
		spinners[i].end_ns = end_ns;
		if (pthread_create(&spinners[i].thread, NULL, spin_thread, &spinners[i]))
			return 1;
	}
	for (int i = 0; i < nr; i++)
		pthread_join(spinners[i].thread, NULL);
	return 0;
}
