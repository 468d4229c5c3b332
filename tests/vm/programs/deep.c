/*
 * deep SECONDS DEPTH [thread]   CPU time below a chain of DEPTH calls
 * deep SECONDS signal CPU time in a signal handler on an alternate stack
 *
 * Properties: it is built without frame pointers, so its stacks need unwind tables. The leaf is a
 * function without a frame; on arm64 its return address is only in a register. Almost all samples
 * have one of the stacks
 *
 *   main;deep_begin;(deep_a;deep_b;deep_c;)…;deep_burn     DEPTH calls of the three, in turn
 *   deep_thread;deep_begin;…                               the same in a second thread
 *   main;run_signal;signal_outer;signal_victim;…;signal_handler;deep_burn
 *
 * The handler interrupts its victim at any instruction, not only at calls.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "live/programs/burn.h"

#define TURNS_A_CALL	 200000
#define SIGNAL_AFTER_US	 50000
#define HANDLER_STACK	 65536
#define THREAD_STACK	 (16 << 20)
#define DEPTH_BY_DEFAULT 30

static uint64_t end_ns;
static volatile sig_atomic_t handled;

NAMED void deep_burn(void)
{
	BURN_TURNS(TURNS_A_CALL);
}

NAMED void deep_a(int left);
NAMED void deep_b(int left);
NAMED void deep_c(int left);

/* A macro, because an inlined function would show as a frame between those of the chain. */
#define DEEP_ON(left, next)                     \
	do {                                    \
		if ((left) > 1)                 \
			next((left)-1);         \
		while (monotonic_ns() < end_ns) \
			deep_burn();            \
	} while (0)

NAMED void deep_a(int left)
{
	DEEP_ON(left, deep_b);
}

NAMED void deep_b(int left)
{
	DEEP_ON(left, deep_c);
}

NAMED void deep_c(int left)
{
	DEEP_ON(left, deep_a);
}

NAMED void deep_begin(int depth)
{
	deep_a(depth);
}

static void *deep_thread(void *argument)
{
	deep_begin(*(const int *)argument);
	return NULL;
}

static int run_thread(int depth)
{
	pthread_attr_t attributes;
	pthread_t thread;

	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setstacksize(&attributes, THREAD_STACK);
	if (pthread_create(&thread, &attributes, deep_thread, &depth))
		return 1;
	return pthread_join(thread, NULL);
}

static void signal_handler(int signal)
{
	while (monotonic_ns() < end_ns)
		deep_burn();
	handled = 1;
}

NAMED void signal_victim(void)
{
	while (!handled)
		;
}

NAMED void signal_outer(void)
{
	signal_victim();
}

NAMED int run_signal(void)
{
	static char stack[HANDLER_STACK];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = signal_handler, .sa_flags = SA_ONSTACK};
	struct itimerval once = {.it_value.tv_usec = SIGNAL_AFTER_US};

	if (sigaltstack(&alternate, NULL) < 0 || sigaction(SIGALRM, &action, NULL) < 0 ||
	    setitimer(ITIMER_REAL, &once, NULL) < 0)
		return 1;
	signal_outer();
	return 0;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	int depth = argc > 2 ? atoi(argv[2]) : DEPTH_BY_DEFAULT;

	end_ns = monotonic_ns() + (uint64_t)(seconds * 1e9);
	if (argc > 2 && !strcmp(argv[2], "signal"))
		return run_signal();
	if (depth < 1)
		return 2;
	if (argc > 3)
		return run_thread(depth);
	deep_begin(depth);
	return 0;
}
