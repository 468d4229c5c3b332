/*
 * Calls a function on known paths, known numbers of times, from several threads, with a number of
 * bytes to add up. stackcount must find the exact figures.
 *
 *	stack_paths ROUNDS THREADS [GATE [PAUSE_US]]
 *
 * Waits until the file GATE exists. Sleeps PAUSE_US after each round. Prints `PATH CALLS BYTES` for
 * each path.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "burn.h"

#define WAY_A_CALLS 3
#define WAY_B_CALLS 5
#define DEPTH	    4

static long nr_rounds;
static uint64_t pause_ns;

void reached(long bytes);

__attribute__((noinline)) void reached(long bytes)
{
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

__attribute__((noinline)) static void way_a(void)
{
	for (int i = 0; i < WAY_A_CALLS; i++)
		reached(10);
	__asm__ volatile("");
}

__attribute__((noinline)) static void way_b(void)
{
	for (int i = 0; i < WAY_B_CALLS; i++)
		reached(1000);
	__asm__ volatile("");
}

__attribute__((noinline)) static void way_down(int depth)
{
	if (depth)
		way_down(depth - 1);
	else
		reached(7);
	__asm__ volatile("");
}

__attribute__((noinline)) static void way_asks(void)
{
	(void)syscall(SYS_getppid);
	__asm__ volatile("");
}

static void *work(void *unused)
{
	for (long i = 0; i < nr_rounds; i++) {
		way_a();
		way_b();
		way_down(DEPTH);
		way_asks();
		for (uint64_t end_ns = monotonic_ns() + pause_ns;
		     pause_ns && monotonic_ns() < end_ns;)
			;
	}
	return unused;
}

int main(int argc, char **argv)
{
	long nr_threads = argc > 2 ? atol(argv[2]) : 1, i;
	pthread_t *threads;

	nr_rounds = argc > 1 ? atol(argv[1]) : 1000;
	pause_ns = argc > 4 ? strtoull(argv[4], NULL, 10) * 1000 : 0;
	threads = calloc((size_t)nr_threads, sizeof(*threads));
	if (!threads)
		return 1;
	while (argc > 3 && access(argv[3], F_OK) != 0)
		usleep(10000);
	for (i = 0; i < nr_threads; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	for (i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	i = nr_rounds * nr_threads;
	printf("way_a %ld %ld\n", i * WAY_A_CALLS, i * WAY_A_CALLS * 10);
	printf("way_b %ld %ld\n", i * WAY_B_CALLS, i * WAY_B_CALLS * 1000);
	printf("way_down %ld %ld\n", i, i * 7);
	printf("way_asks %ld 0\n", i);
	free(threads);
	return 0;
}
