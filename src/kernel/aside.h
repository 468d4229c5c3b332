/*
 * A function that waits for the kernel, in a thread of its own, while the caller goes on: some calls of bpf() wait for
 * a grace period, mostly 10 ms, but longer if other processes keep RCU's threads from running.
 */
#ifndef STOOK_KERNEL_ASIDE_H
#define STOOK_KERNEL_ASIDE_H

#include <pthread.h>
#include <stdbool.h>

struct aside { /* {0}: nothing was begun */
	pthread_t thread;
	bool is_running;
	int (*work)(void *context);
	void *context;
	int result;
};

/* Begins work(context). If no thread can be started, it is done before this returns. */
void aside_begin(struct aside *aside, int (*work)(void *context), void *context);

/* True if nothing is being done any more. */
bool aside_is_done(struct aside *aside);

/* Waits for the end of the work. Returns its result; 0 if none was begun. */
int aside_finish(struct aside *aside);

#endif
