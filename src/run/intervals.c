/* A short queue of intervals between two threads. */
#include "run/intervals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "profile/merge.h"
#include "run/complain.h"

/* Intervals that wait to be named. Further ones are joined with the last. */
#define WAITING_MAX 2

struct intervals {
	struct session_names *names;
	struct interval_sink sink;
	pthread_t thread;
	bool is_running;
	atomic_uint_fast64_t cpu_ns; /* when it has ended */
	int failed_fd;		     /* an eventfd */

	pthread_mutex_t lock; /* protects all below */
	pthread_cond_t changed;
	struct session_part waiting[WAITING_MAX];
	size_t nr_waiting;
	bool is_ending;
	uint64_t nr_joined;
	int err; /* the first failure to write */
	struct error error;
};

/* --- the thread ------------------------------------------------------------------------------- */

/* Takes the oldest interval; false at the end of the run. */
static bool take(struct intervals *intervals, struct session_part *ret)
{
	bool has_one;

	(void)pthread_mutex_lock(&intervals->lock);
	while (!intervals->nr_waiting && !intervals->is_ending)
		(void)pthread_cond_wait(&intervals->changed, &intervals->lock);
	has_one = intervals->nr_waiting > 0;
	if (has_one) {
		*ret = intervals->waiting[0];
		intervals->nr_waiting--;
		memmove(intervals->waiting, intervals->waiting + 1,
			intervals->nr_waiting * sizeof(*intervals->waiting));
	}
	(void)pthread_mutex_unlock(&intervals->lock);
	return has_one;
}

/* If naming fails, only names are missing. */
static int name_and_write(struct intervals *intervals, struct session_part *part,
			  struct error *error)
{
	struct session_names *names = intervals->names;
	struct error unnamed = {0};
	int err;

	if (session_names_take(names, part) < 0)
		return error_no_memory(error, "");
	if (session_names_apply(names, &unnamed) < 0)
		complain_error(&unnamed);
	err = intervals->sink.write(intervals->sink.context, names->profile, part, error);
	session_names_release(names);
	return err;
}

static void note_failure(struct intervals *intervals, int err, const struct error *error)
{
	const uint64_t one = 1;

	(void)pthread_mutex_lock(&intervals->lock);
	intervals->err = err;
	intervals->error = *error;
	(void)pthread_mutex_unlock(&intervals->lock);
	(void)!write(intervals->failed_fd, &one, sizeof(one));
}

static void set_priority(struct intervals *intervals, int niceness)
{
	(void)setpriority(PRIO_PROCESS, 0, niceness); /* of this thread only */
	symbolizer_set_niceness(intervals->names->symbolizer, niceness);
}

/* After a failure, nothing is named or written any more. */
static void *work(void *context)
{
	struct intervals *intervals = context;
	struct session_part part;
	bool has_failed = false, is_first = true;

	set_priority(intervals, intervals->sink.first_niceness);
	while (take(intervals, &part)) {
		struct error error = {0};
		int err = has_failed ? 0 : name_and_write(intervals, &part, &error);

		session_part_clear(&part);
		if (is_first)
			set_priority(intervals, intervals->sink.niceness);
		is_first = false;
		if (err < 0)
			note_failure(intervals, err, &error);
		has_failed |= err < 0;
	}
	intervals->cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

/* --- the run ---------------------------------------------------------------------------------- */

struct intervals *intervals_new(struct session_names *names, const struct interval_sink *sink,
				struct error *error)
{
	struct intervals *intervals = calloc(1, sizeof(*intervals));
	sigset_t all, before;
	int err;

	if (!intervals) {
		(void)error_no_memory(error, "");
		return NULL;
	}
	*intervals = (struct intervals){
		.names = names,
		.sink = *sink,
		.failed_fd = eventfd(0, EFD_CLOEXEC),
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	/* Signals are for the thread that waits in the session. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	err = intervals->failed_fd < 0 ? errno
				       : pthread_create(&intervals->thread, NULL, work, intervals);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	intervals->is_running = !err;
	if (!err)
		return intervals;
	(void)error_set(error, -err, "cannot start a thread that names functions: %s",
			strerror(err));
	intervals_free(intervals);
	return NULL;
}

void intervals_free(struct intervals *intervals)
{
	if (!intervals)
		return;
	(void)intervals_finish(intervals, NULL);
	if (intervals->failed_fd >= 0)
		(void)close(intervals->failed_fd);
	free(intervals);
}

/* Joins an interval with the last one that waits. */
static int join(struct intervals *intervals, struct session_part *part)
{
	struct session_part *last = &intervals->waiting[intervals->nr_waiting - 1];
	int err = file_table_move(last->files, part->files);

	if (err == 0)
		err = runtime_table_move(last->runtimes, part->runtimes);
	if (err == 0)
		err = process_names_join(&last->names, &part->names);
	if (err == 0)
		err = profile_merge_part(last->profile, part->profile);
	last->ended_ns = part->ended_ns;
	last->lost += part->lost;
	if (last->period_ns != part->period_ns)
		last->period_ns = 0;
	intervals->nr_joined++;
	session_part_clear(part);
	return err;
}

int intervals_add(struct intervals *intervals, struct session_part *part, struct error *error)
{
	int err = 0;

	(void)pthread_mutex_lock(&intervals->lock);
	if (intervals->nr_waiting < WAITING_MAX)
		intervals->waiting[intervals->nr_waiting++] = *part;
	else
		err = join(intervals, part);
	(void)pthread_cond_signal(&intervals->changed);
	(void)pthread_mutex_unlock(&intervals->lock);
	return err < 0 ? error_no_memory(error, "") : 0;
}

uint64_t intervals_cpu_ns(const struct intervals *intervals)
{
	clockid_t clock;

	if (!intervals->is_running || pthread_getcpuclockid(intervals->thread, &clock) != 0)
		return intervals->cpu_ns;
	return clock_read_ns(clock);
}

int intervals_fd(const struct intervals *intervals)
{
	return intervals->failed_fd;
}

int intervals_status(struct intervals *intervals, struct error *error)
{
	int err;

	(void)pthread_mutex_lock(&intervals->lock);
	err = intervals->err;
	if (err < 0 && error)
		*error = intervals->error;
	intervals->err = 0;
	(void)pthread_mutex_unlock(&intervals->lock);
	return err;
}

int intervals_finish(struct intervals *intervals, struct error *error)
{
	(void)pthread_mutex_lock(&intervals->lock);
	intervals->is_ending = true;
	(void)pthread_cond_signal(&intervals->changed);
	(void)pthread_mutex_unlock(&intervals->lock);
	if (intervals->is_running)
		(void)pthread_join(intervals->thread, NULL);
	intervals->is_running = false;
	return intervals_status(intervals, error);
}

uint64_t intervals_nr_joined(const struct intervals *intervals)
{
	return intervals->nr_joined;
}
