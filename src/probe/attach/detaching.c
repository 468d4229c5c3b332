/* One thread for each group that is being detached; see detaching.h. */
#include "probe/attach/detaching.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

/* It calls the kernel and nothing else. */
#define STACK_BYTES (128 * 1024)

struct detaching {
	struct probe_links *links;
	uint32_t group;
	bool is_over; /* read and written atomically */
	pthread_t thread;
};

static void *detach(void *argument)
{
	struct detaching *detaching = argument;

	probe_links_detach(detaching->links, detaching->group);
	__atomic_store_n(&detaching->is_over, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Signals are the first thread's business. */
static int start_thread(struct detaching *detaching)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int err;

	err = pthread_attr_init(&attributes);
	if (err)
		return err;
	(void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&detaching->thread, &attributes, detach, detaching);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	return err;
}

struct detaching *detaching_start(struct probe_links *links, uint32_t group)
{
	struct detaching *detaching = calloc(1, sizeof(*detaching));

	if (detaching) {
		detaching->links = links;
		detaching->group = group;
		if (!start_thread(detaching))
			return detaching;
	}
	free(detaching);
	probe_links_detach(links, group);
	return NULL;
}

bool detaching_is_over(const struct detaching *detaching)
{
	return !detaching || __atomic_load_n(&detaching->is_over, __ATOMIC_ACQUIRE);
}

void detaching_finish(struct detaching *detaching)
{
	if (!detaching)
		return;
	(void)pthread_join(detaching->thread, NULL);
	free(detaching);
}
