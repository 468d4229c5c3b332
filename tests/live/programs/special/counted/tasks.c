/* Calls in many threads and processes, in short-lived ones, and in signal handlers. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counted.h"

#define NR_THREADS	 8
#define NR_SHORT_THREADS 64
#define NR_CHILDREN	 3
#define NR_VFORKS	 10
#define ALTSTACK_BYTES	 65536

/* calls.c has another function of this name. */
HIT static void hit_twin(void)
{
	BODY;
}

/* --- threads ---------------------------------------------------------------------------------- */

HIT static void hit_in_threads(void)
{
	BODY;
}

HIT static void *hit_thread_body(void *n)
{
	REPEAT((intptr_t)n)
	hit_in_threads();
	return NULL;
}

/* The thread runs only this function, and ends without returning from it. */
HIT static void *hit_short_thread(void *unused)
{
	(void)unused;
	pthread_exit(NULL);
}

static void run_threads(int nr, void *(*body)(void *), long n)
{
	pthread_t threads[NR_SHORT_THREADS];

	for (int i = 0; i < nr; i++)
		must(!pthread_create(&threads[i], NULL, body, (void *)(intptr_t)n),
		     "cannot create a thread");
	for (int i = 0; i < nr; i++)
		must(!pthread_join(threads[i], NULL), "cannot join a thread");
}

void tasks_threads(long n)
{
	run_threads(NR_THREADS, hit_thread_body, n);
	run_threads(NR_SHORT_THREADS, hit_short_thread, 0);
	truth("hit_in_threads", NR_THREADS * n);
	truth("hit_thread_body", NR_THREADS);
	truth("hit_short_thread", NR_SHORT_THREADS);
}

/* --- processes -------------------------------------------------------------------------------- */

HIT static void hit_in_children(void)
{
	BODY;
}

HIT static void hit_in_grandchildren(void)
{
	BODY;
}

HIT static void hit_in_vfork(void)
{
	BODY;
}

static void wait_for(pid_t pid)
{
	int status = -1;

	must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "a child process failed");
}

static _Noreturn void child(long n)
{
	pid_t pid;

	REPEAT(n)
	hit_in_children();
	pid = fork();
	if (pid == 0) {
		REPEAT(n)
		hit_in_grandchildren();
		_exit(0);
	}
	REPEAT(n)
	hit_twin();
	wait_for(pid);
	_exit(0);
}

static void run_children(long n)
{
	pid_t children[NR_CHILDREN];

	for (int i = 0; i < NR_CHILDREN; i++) {
		children[i] = fork();
		if (children[i] == 0)
			child(n);
	}
	for (int i = 0; i < NR_CHILDREN; i++)
		wait_for(children[i]);
}

/* The child of vfork() shares our memory, so its calls happen in our address space. */
static __attribute__((noinline)) pid_t run_vfork(bool becomes_another, long n)
{
	pid_t pid = vfork();

	if (pid != 0)
		return pid;
	hit_in_vfork();
	if (becomes_another)
		become_another(n);
	_exit(0);
}

void tasks_processes(long n)
{
	pid_t pid;

	run_children(n);
	pid = fork();
	if (pid == 0)
		become_another(n);
	wait_for(pid);
	for (int i = 0; i < NR_VFORKS; i++)
		wait_for(run_vfork(i == 0, n));
	truth("hit_in_children", NR_CHILDREN * n);
	truth("hit_in_grandchildren", NR_CHILDREN * n);
	truth("hit_twin", NR_CHILDREN * n);
	truth("hit_in_vfork", NR_VFORKS);
	truth_of_images(2, n);
}

/* --- signals ---------------------------------------------------------------------------------- */

HIT static void hit_handler(int signal)
{
	(void)signal;
	BODY;
}

static volatile sig_atomic_t nr_delivered;

HIT static void hit_interrupting(int signal)
{
	(void)signal;
	nr_delivered++;
}

HIT static void hit_interrupted(void)
{
	BODY;
}

static volatile bool is_over;
static long nr_interrupted; /* calls, counted by the only thread that makes them */

static void *interrupted_thread(void *unused)
{
	(void)unused;
	while (!is_over) {
		hit_interrupted();
		nr_interrupted++;
	}
	return NULL;
}

static void handle(int number, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};

	must(!sigaction(number, &action, NULL), "cannot set a signal handler");
}

/* Queued signals are not merged. If the queue is full, wait for the thread to catch up. */
static void interrupt(pthread_t thread, long nr)
{
	union sigval none = {0};

	REPEAT(nr)
	{
		int err;

		while ((err = pthread_sigqueue(thread, SIGRTMIN, none)) == EAGAIN)
			sched_yield();
		must(!err, "cannot send a signal to a thread");
	}
}

static void run_interrupted(long nr)
{
	pthread_t thread;

	must(!pthread_create(&thread, NULL, interrupted_thread, NULL), "cannot create a thread");
	interrupt(thread, nr);
	while (nr_delivered < nr) /* pending signals are lost when a thread ends */
		sched_yield();
	is_over = true;
	must(!pthread_join(thread, NULL), "cannot join a thread");
}

void tasks_signals(long n)
{
	stack_t stack = {.ss_sp = malloc(ALTSTACK_BYTES), .ss_size = ALTSTACK_BYTES};

	must(stack.ss_sp && !sigaltstack(&stack, NULL), "cannot set a signal stack");
	handle(SIGUSR1, hit_handler);
	handle(SIGRTMIN, hit_interrupting);
	REPEAT(n)
	raise(SIGUSR1);
	run_interrupted(n);
	truth("hit_handler", n);
	truth("hit_interrupting", n);
	truth("hit_interrupted", nr_interrupted);
}
