/*
 * count_pace SECONDS: calls functions all the time, for counts that are read while they grow.
 *
 * Each of THREADS threads calls functions in bursts of random length, with pauses of random length
 * between them: pace_often, about ten thousand times a second in total; pace_own_N, one per thread,
 * as often; and in one of fifty bursts pace_seldom. In such a burst the thread also forks a child
 * process, which calls pace_child and exits. After SECONDS prints `NAME COUNT` for each function:
 * the true counts, kept by the callers.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

#define THREADS	     4
#define BURST_MAX    200
#define PAUSE_MAX_US 30000

#define DEFINE(name)                               \
	NAMED void name(void)                      \
	{                                          \
		__asm__ volatile("" ::: "memory"); \
	}
DEFINE(pace_often)
DEFINE(pace_seldom)
DEFINE(pace_child)
DEFINE(pace_own_0)
DEFINE(pace_own_1)
DEFINE(pace_own_2)
DEFINE(pace_own_3)

struct caller {
	pthread_t thread;
	void (*own)(void);
	uint64_t end_ns, random;
	uint64_t often, seldom, owned, children;
};

static struct caller callers[THREADS] = {
	{.own = pace_own_0}, {.own = pace_own_1}, {.own = pace_own_2}, {.own = pace_own_3}};

/* The child of a multi-threaded process may call only async-signal-safe functions. */
static void run_child(struct caller *caller)
{
	pid_t pid = fork();

	if (pid == 0) {
		pace_child();
		_exit(0);
	}
	if (pid > 0 && waitpid(pid, NULL, 0) == pid)
		caller->children++;
}

static void run_burst(struct caller *caller)
{
	for (uint64_t left = random_between(&caller->random, 1, BURST_MAX); left > 0; left--) {
		pace_often();
		caller->often++;
		caller->own();
		caller->owned++;
	}
	if (random_between(&caller->random, 1, 50) == 1) {
		pace_seldom();
		caller->seldom++;
		run_child(caller);
	}
}

static void *run_caller(void *context)
{
	struct caller *caller = context;

	while (monotonic_ns() < caller->end_ns) {
		run_burst(caller);
		usleep((useconds_t)random_between(&caller->random, 1, PAUSE_MAX_US));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t end_ns = monotonic_ns() + seconds * 1000000000;
	uint64_t often = 0, seldom = 0, children = 0;

	for (int i = 0; i < THREADS; i++) {
		callers[i].end_ns = end_ns;
		callers[i].random = 0x9e3779b97f4a7c15ull * (uint64_t)(i + 1);
		if (pthread_create(&callers[i].thread, NULL, run_caller, &callers[i]))
			return 1;
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(callers[i].thread, NULL);
		often += callers[i].often;
		seldom += callers[i].seldom;
		children += callers[i].children;
		printf("pace_own_%d %lu\n", i, callers[i].owned);
	}
	printf("pace_often %lu\npace_seldom %lu\npace_child %lu\n", often, seldom, children);
	return 0;
}
