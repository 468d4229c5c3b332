/* A queue of requested files, a queue of finished tables, and one lock for both. */
#include "collect/unwind/table_worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "elf/unwind/unwind_compile.h"

/* Budget of CPU time: initially, and per elapsed second. */
#define BUDGET_NS	   (2 * NS_PER_SEC)
#define BUDGET_NS_A_SECOND (NS_PER_SEC / 20)

#define NICER_BY 5

#define END_SECONDS 2

/*
 * Limit on queued requests. Each holds a descriptor, and if very many programs start, most of them
 * exit before their table is ready.
 */
#define WISHES_MAX 512

struct wish {
	uint32_t number;
	int fd;
	bool may_cache;
	uint64_t samples; /* waiting for this table */
};

struct table_worker {
	struct unwind_cache *cache;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_started, is_stopping;
	struct wish *wishes;
	size_t nr_wishes, wish_capacity;
	struct made_table *made;
	size_t nr_made, made_capacity;
	size_t nr_waiting;
	uint64_t started_ns;
	int event_fd;
};

/* Returns how long to wait until the budget allows to continue. */
static uint64_t debt_ns(const struct table_worker *worker)
{
	uint64_t seconds = (clock_now_ns() - worker->started_ns) / NS_PER_SEC;
	uint64_t allowed = BUDGET_NS + seconds * BUDGET_NS_A_SECOND;
	uint64_t used = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

	return used > allowed ? (used - allowed) / BUDGET_NS_A_SECOND * NS_PER_SEC + NS_PER_SEC : 0;
}

/*
 * Takes the request that most samples wait for; false when the thread is to stop. The caller holds
 * the lock.
 */
static bool next_wish(struct table_worker *worker, struct wish *ret)
{
	size_t best = 0, i;

	while (!worker->is_stopping) {
		uint64_t debt = debt_ns(worker);

		if (debt) {
			uint64_t until_ns = clock_now_ns() + debt;
			struct timespec until = {(time_t)(until_ns / NS_PER_SEC),
						 (long)(until_ns % NS_PER_SEC)};

			(void)pthread_cond_timedwait(&worker->changed, &worker->lock, &until);
		} else if (!worker->nr_wishes) {
			(void)pthread_cond_wait(&worker->changed, &worker->lock);
		} else {
			break;
		}
	}
	if (worker->is_stopping)
		return false;
	for (i = 1; i < worker->nr_wishes; i++)
		if (worker->wishes[i].samples > worker->wishes[best].samples)
			best = i;
	*ret = worker->wishes[best];
	for (i = best + 1; i < worker->nr_wishes; i++)
		worker->wishes[i - 1] = worker->wishes[i];
	worker->nr_wishes--;
	return true;
}

static void *work(void *argument)
{
	struct table_worker *worker = argument;
	uint64_t one = 1;
	struct wish wish;

	/*
	 * Uses little CPU time, but samples wait for it: runs at a slightly higher priority than
	 * ours at the start. On Linux, PRIO_PROCESS with 0 affects the calling thread alone.
	 */
	(void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) - NICER_BY);
	(void)pthread_mutex_lock(&worker->lock);
	while (next_wish(worker, &wish)) {
		struct made_table made = {.number = wish.number};

		(void)pthread_mutex_unlock(&worker->lock);
		made.err =
			unwind_compile(&made.table, wish.fd, wish.may_cache ? worker->cache : NULL,
				       &made.from_cache, NULL);
		(void)close(wish.fd);
		(void)pthread_mutex_lock(&worker->lock);
		worker->made[worker->nr_made++] = made; /* reserved when the request was added */
		(void)!write(worker->event_fd, &one, sizeof(one));
	}
	(void)pthread_mutex_unlock(&worker->lock);
	return NULL;
}

/* Starts the thread with all signals blocked: they are handled by the first thread. */
static int start(struct table_worker *worker)
{
	sigset_t all, before;
	int err;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&worker->thread, NULL, work, worker);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	worker->is_started = !err;
	return -err;
}

struct table_worker *table_worker_new(struct unwind_cache *cache, struct error *error)
{
	struct table_worker *worker = calloc(1, sizeof(*worker));
	pthread_condattr_t attributes;
	int err;

	if (!worker) {
		unwind_cache_close(cache);
		(void)error_no_memory(error, "");
		return NULL;
	}
	worker->cache = cache;
	worker->started_ns = clock_now_ns();
	(void)pthread_mutex_init(&worker->lock, NULL);
	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&worker->changed, &attributes);
	(void)pthread_condattr_destroy(&attributes);
	worker->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = worker->event_fd < 0 ? -errno : start(worker);
	if (err) {
		(void)error_set(error, err, "cannot start a thread for unwind tables");
		table_worker_free(worker);
		return NULL;
	}
	return worker;
}

void table_worker_free(struct table_worker *worker)
{
	struct timespec until;
	size_t i;

	if (!worker)
		return;
	if (worker->is_started) {
		(void)pthread_mutex_lock(&worker->lock);
		worker->is_stopping = true;
		(void)pthread_cond_signal(&worker->changed);
		(void)pthread_mutex_unlock(&worker->lock);
		/*
		 * Reading a file may hang forever, on a network file system whose server is gone.
		 */
		(void)clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += END_SECONDS;
		if (pthread_timedjoin_np(worker->thread, NULL, &until) != 0)
			return; /* the thread still uses all of this */
	}
	for (i = 0; i < worker->nr_wishes; i++)
		(void)close(worker->wishes[i].fd);
	for (i = 0; i < worker->nr_made; i++)
		unwind_table_clear(&worker->made[i].table);
	if (worker->event_fd >= 0)
		(void)close(worker->event_fd);
	unwind_cache_close(worker->cache);
	(void)pthread_cond_destroy(&worker->changed);
	(void)pthread_mutex_destroy(&worker->lock);
	free(worker->wishes);
	free(worker->made);
	free(worker);
}

int table_worker_add(struct table_worker *worker, uint32_t number, int fd, bool may_cache)
{
	int err = 0;

	(void)pthread_mutex_lock(&worker->lock);
	if (worker->nr_wishes >= WISHES_MAX) {
		err = -ENOSPC;
	} else if (ARRAY_RESERVE(worker->wishes, worker->wish_capacity, worker->nr_wishes + 1) <
			   0 ||
		   ARRAY_RESERVE(worker->made, worker->made_capacity, worker->nr_waiting + 1) < 0) {
		err = -ENOMEM;
	} else {
		worker->wishes[worker->nr_wishes++] =
			(struct wish){.number = number, .fd = fd, .may_cache = may_cache};
		worker->nr_waiting++;
		(void)pthread_cond_signal(&worker->changed);
	}
	(void)pthread_mutex_unlock(&worker->lock);
	if (err)
		(void)close(fd);
	return err;
}

void table_worker_prioritize(struct table_worker *worker, uint32_t number)
{
	size_t i;

	(void)pthread_mutex_lock(&worker->lock);
	for (i = 0; i < worker->nr_wishes; i++)
		if (worker->wishes[i].number == number)
			worker->wishes[i].samples++;
	(void)pthread_mutex_unlock(&worker->lock);
}

bool table_worker_take(struct table_worker *worker, struct made_table *ret)
{
	uint64_t nr;
	bool is_there;

	(void)pthread_mutex_lock(&worker->lock);
	is_there = worker->nr_made > 0;
	if (is_there) {
		*ret = worker->made[0];
		worker->nr_made--;
		memmove(worker->made, worker->made + 1, worker->nr_made * sizeof(*worker->made));
		worker->nr_waiting--;
	} else {
		(void)!read(worker->event_fd, &nr, sizeof(nr));
	}
	(void)pthread_mutex_unlock(&worker->lock);
	return is_there;
}

int table_worker_fd(const struct table_worker *worker)
{
	return worker->event_fd;
}

size_t table_worker_nr_waiting(struct table_worker *worker)
{
	size_t nr;

	(void)pthread_mutex_lock(&worker->lock);
	nr = worker->nr_waiting;
	(void)pthread_mutex_unlock(&worker->lock);
	return nr;
}
