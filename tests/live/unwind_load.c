/*
 * Stacks of all shapes that C makes, for tests/live/differential.sh: built without frame pointers.
 * Handlers on an alternate stack that interrupt the others at random instants, vfork, the vdso, a
 * realigned stack, a variable one, lazily bound calls, a thread.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile uint64_t sink;

static NOINLINE void spin(unsigned turns)
{
	unsigned i;

	for (i = 0; i < turns; i++)
		sink = sink * 6364136223846793005ULL + 1;
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(uint64_t));
}

/* The frame is realigned, and a register (DRAP) keeps the location of the caller's frame. */
static NOINLINE void realigned(unsigned turns, ...)
{
	volatile char aligned[64] __attribute__((aligned(64)));
	volatile char *variable = __builtin_alloca(turns % 512 + 16);

	aligned[turns % 64] = variable[0] = (char)turns;
	spin(turns);
	sink += (uint64_t)(aligned[0] + variable[1]);
}

static NOINLINE void recurse(unsigned depth)
{
	uint64_t items[64];
	size_t i;

	if (depth) {
		recurse(depth - 1);
		sink++; /* no tail call */
		return;
	}
	for (i = 0; i < 64; i++)
		items[i] = sink * (i + 1);
	qsort(items, 64, sizeof(items[0]), compare);
	realigned(500, items);
}

static NOINLINE void time_calls(void)
{
	struct timespec now;
	int i;

	for (i = 0; i < 200; i++)
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
	sink += (uint64_t)now.tv_nsec;
}

static NOINLINE void children(void)
{
	pid_t child = vfork();

	if (child == 0)
		_exit(0);
	if (child > 0)
		(void)waitpid(child, NULL, 0);
}

static void on_signal(int number)
{
	recurse((unsigned)number % 7);
	spin(20000);
}

static void *work(void *unused)
{
	(void)unused;
	for (;;) {
		recurse(40);
		time_calls();
		free(malloc((size_t)(sink % 3000)));
	}
	return NULL;
}

int main(void)
{
	const struct itimerval often = {{0, 1000}, {0, 1000}};
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
	pthread_t thread;

	(void)sigaltstack(&stack, NULL);
	(void)sigaction(SIGPROF, &action, NULL);
	(void)setitimer(ITIMER_PROF, &often, NULL);
	if (pthread_create(&thread, NULL, work, NULL) != 0)
		return 1;
	for (;;) {
		recurse(10);
		time_calls();
		children();
		(void)getppid();
	}
}
