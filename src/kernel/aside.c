/* A thread for each piece of work: there is one in some seconds, so none is kept. */
#include "kernel/aside.h"

#include <signal.h>

static void *run(void *argument)
{
	struct aside *aside = argument;

	aside->result = aside->work(aside->context);
	return NULL;
}

void aside_begin(struct aside *aside, int (*work)(void *context), void *context)
{
	sigset_t all, before;

	*aside = (struct aside){.work = work, .context = context};
	/* Signals are for the thread that goes on. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	aside->is_running = pthread_create(&aside->thread, NULL, run, aside) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!aside->is_running)
		(void)run(aside);
}

bool aside_is_done(struct aside *aside)
{
	if (aside->is_running && pthread_tryjoin_np(aside->thread, NULL) == 0)
		aside->is_running = false;
	return !aside->is_running;
}

int aside_finish(struct aside *aside)
{
	if (aside->is_running)
		(void)pthread_join(aside->thread, NULL);
	aside->is_running = false;
	return aside->result;
}
