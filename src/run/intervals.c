/*
 * Two short queues of intervals: between the session and the thread that keeps them, and between that one and the thread
 * that names them. A sink that keeps nothing has only the second queue and its thread.
 */
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

#include "base/cleanup.h"
#include "base/clock.h"
#include "profile/merge.h"
#include "run/complain.h"

/* Intervals that wait in a queue. Further ones are joined with the last. */
#define WAITING_MAX 2

struct interval {
	struct session_part part;
	struct interval_span span;
	bool is_due; /* to be named: not together with the next one */
};

struct queue {
	pthread_cond_t changed;
	struct interval waiting[WAITING_MAX];
	size_t nr;
	bool is_ending;
};

struct side_thread {
	pthread_t thread;
	bool is_running;
	atomic_uint_fast64_t cpu_ns; /* when it has ended */
};

struct intervals {
	struct session_names *names;
	struct interval_sink sink;
	struct side_thread naming, keeping;
	pthread_mutex_t names_lock; /* of names, and of what the sink writes with */
	struct interval
		held; /* the keeping thread's: to be named with the next ones, if it has a profile */
	uint64_t nr;
	int failed_fd; /* an eventfd */

	pthread_mutex_t lock;	     /* protects all below */
	struct queue taken, unnamed; /* the way of an interval */
	uint64_t nr_joined;
	int err; /* the first failure to write */
	struct error error;
};

/* --- queues ----------------------------------------------------------------------------------- */

/* Joins an interval with the one before it. */
static int join(struct interval *into, struct interval *from)
{
	struct session_part *last = &into->part, *part = &from->part;
	int err = file_table_move(last->files, part->files);

	if (err == 0)
		err = runtime_table_move(last->runtimes, part->runtimes);
	if (err == 0)
		err = process_names_join(&last->names, &part->names);
	if (err == 0)
		err = profile_merge_part(last->profile, part->profile);
	last->ended_ns = part->ended_ns;
	last->measured_ns += part->measured_ns;
	last->lost += part->lost;
	if (last->period_ns != part->period_ns)
		last->period_ns = 0;
	into->span.last = from->span.last;
	into->is_due |= from->is_due;
	session_part_clear(part);
	return err;
}

/* Takes the interval, also on failure. */
static int put(struct intervals *intervals, struct queue *queue, struct interval *interval)
{
	int err = 0;

	(void)pthread_mutex_lock(&intervals->lock);
	if (queue->nr < WAITING_MAX) {
		queue->waiting[queue->nr++] = *interval;
	} else {
		err = join(&queue->waiting[queue->nr - 1], interval);
		intervals->nr_joined++;
	}
	(void)pthread_cond_signal(&queue->changed);
	(void)pthread_mutex_unlock(&intervals->lock);
	interval->part = (struct session_part){0};
	return err;
}

/* Takes the oldest interval; false at the end of the run. */
static bool take(struct intervals *intervals, struct queue *queue, struct interval *ret)
{
	bool has_one;

	(void)pthread_mutex_lock(&intervals->lock);
	while (!queue->nr && !queue->is_ending)
		(void)pthread_cond_wait(&queue->changed, &intervals->lock);
	has_one = queue->nr > 0;
	if (has_one) {
		*ret = queue->waiting[0];
		queue->nr--;
		memmove(queue->waiting, queue->waiting + 1, queue->nr * sizeof(*queue->waiting));
	}
	(void)pthread_mutex_unlock(&intervals->lock);
	return has_one;
}

/* --- naming ----------------------------------------------------------------------------------- */

/* If naming fails, only names are missing. */
static int name_and_write(struct intervals *intervals, struct interval *interval,
			  struct error *error)
{
	struct session_names *names = intervals->names;
	struct session_part *part = &interval->part;
	struct error unnamed = {0};
	int err;

	if (session_names_take(names, part) < 0)
		return error_no_memory(error, "");
	if (session_names_apply(names, &unnamed) < 0)
		complain_error(&unnamed);
	err = intervals->sink.write(intervals->sink.context, names->profile, part, interval->span,
				    error);
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
static void *name_all(void *context)
{
	struct intervals *intervals = context;
	struct interval interval;
	bool has_failed = false, is_first = true;

	set_priority(intervals, intervals->sink.first_niceness);
	while (take(intervals, &intervals->unnamed, &interval)) {
		struct error error = {0};
		int err = 0;

		(void)pthread_mutex_lock(&intervals->names_lock);
		if (!has_failed)
			err = name_and_write(intervals, &interval, &error);
		(void)pthread_mutex_unlock(&intervals->names_lock);
		session_part_clear(&interval.part);
		if (is_first)
			set_priority(intervals, intervals->sink.niceness);
		is_first = false;
		if (err < 0)
			note_failure(intervals, err, &error);
		has_failed |= err < 0;
	}
	intervals->naming.cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

/* --- keeping ---------------------------------------------------------------------------------- */

static void free_profile(struct profile **profile)
{
	profile_free(*profile);
}

/*
 * Shows the sink a copy of the interval, with the names that there are, unless they are in use, for as long as naming
 * takes.
 */
static void keep(struct intervals *intervals, const struct interval *interval)
{
	const struct interval_sink *sink = &intervals->sink;
	const bool is_naming = pthread_mutex_trylock(&intervals->names_lock) != 0;
	cleanup(free_profile) struct profile *copy = profile_new();
	const bool is_whole = copy && profile_merge_part(copy, interval->part.profile) == 0;

	if (is_whole && !is_naming)
		(void)profile_copy_names(copy, intervals->names->profile);
	sink->keep(sink->context, is_whole ? copy : NULL, &interval->part, interval->span,
		   is_naming);
	if (!is_naming)
		(void)pthread_mutex_unlock(&intervals->names_lock);
}

/* Joins intervals up to one that is due, and passes them on. Takes the interval. */
static int hold(struct intervals *intervals, struct interval *interval)
{
	struct interval *held = &intervals->held;
	int err = 0;

	if (held->part.profile)
		err = join(held, interval);
	else
		*held = *interval;
	if (!err && held->is_due)
		err = put(intervals, &intervals->unnamed, held);
	return err;
}

static void *keep_all(void *context)
{
	struct intervals *intervals = context;
	struct interval interval;
	struct error error = {0};

	while (take(intervals, &intervals->taken, &interval)) {
		keep(intervals, &interval);
		if (hold(intervals, &interval) < 0)
			note_failure(intervals, error_no_memory(&error, ""), &error);
	}
	if (intervals->held.part.profile)
		(void)put(intervals, &intervals->unnamed, &intervals->held);
	intervals->keeping.cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

/* --- the run ---------------------------------------------------------------------------------- */

static int start(struct intervals *intervals, struct side_thread *side, void *(*work)(void *))
{
	sigset_t all, before;
	int err;

	/* Signals are for the thread that waits in the session. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&side->thread, NULL, work, intervals);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	side->is_running = !err;
	return err;
}

struct intervals *intervals_new(struct session_names *names, const struct interval_sink *sink,
				struct error *error)
{
	struct intervals *intervals = calloc(1, sizeof(*intervals));
	int err;

	if (!intervals) {
		(void)error_no_memory(error, "");
		return NULL;
	}
	*intervals = (struct intervals){
		.names = names,
		.sink = *sink,
		.names_lock = PTHREAD_MUTEX_INITIALIZER,
		.failed_fd = eventfd(0, EFD_CLOEXEC),
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.taken.changed = PTHREAD_COND_INITIALIZER,
		.unnamed.changed = PTHREAD_COND_INITIALIZER,
	};
	err = intervals->failed_fd < 0 ? errno : start(intervals, &intervals->naming, name_all);
	if (!err && sink->keep)
		err = start(intervals, &intervals->keeping, keep_all);
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
	session_part_clear(&intervals->held.part);
	if (intervals->failed_fd >= 0)
		(void)close(intervals->failed_fd);
	free(intervals);
}

int intervals_add(struct intervals *intervals, const struct session_part *part, bool is_due,
		  struct error *error)
{
	struct interval interval = {.part = *part, .is_due = is_due};
	int err;

	interval.span.first = interval.span.last = ++intervals->nr;
	err = put(intervals, intervals->sink.keep ? &intervals->taken : &intervals->unnamed,
		  &interval);
	return err < 0 ? error_no_memory(error, "") : 0;
}

static uint64_t cpu_ns_of(const struct side_thread *side)
{
	clockid_t clock;

	if (!side->is_running || pthread_getcpuclockid(side->thread, &clock) != 0)
		return side->cpu_ns;
	return clock_read_ns(clock);
}

uint64_t intervals_cpu_ns(const struct intervals *intervals)
{
	return cpu_ns_of(&intervals->naming) + cpu_ns_of(&intervals->keeping);
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

/* Lets a thread end when its queue is empty. */
static void finish(struct intervals *intervals, struct queue *queue, struct side_thread *side)
{
	(void)pthread_mutex_lock(&intervals->lock);
	queue->is_ending = true;
	(void)pthread_cond_signal(&queue->changed);
	(void)pthread_mutex_unlock(&intervals->lock);
	if (side->is_running)
		(void)pthread_join(side->thread, NULL);
	side->is_running = false;
}

int intervals_finish(struct intervals *intervals, struct error *error)
{
	finish(intervals, &intervals->taken, &intervals->keeping);
	finish(intervals, &intervals->unnamed, &intervals->naming);
	return intervals_status(intervals, error);
}

uint64_t intervals_nr_joined(const struct intervals *intervals)
{
	return intervals->nr_joined;
}
