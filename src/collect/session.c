/*
 * The life of a session; see session.h.
 *
 * A poll reads what lies in the rings: memory only, no system call that would keep the kernel from
 * sampling this CPU, ten times a second. New files and processes are looked at there, at once. An
 * epoch ends when its count map fills up, when something wants the profile whole, where a slice of
 * time ends, or after five seconds: only then maps are exchanged and read.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "collect/session_state.h"
#include "profile/profile.h"

#define POLL_NS	     (100 * NS_PER_MS)
#define BUSY_POLL_NS (10 * NS_PER_MS) /* while the ring fills quickly */
#define EPOCH_NS     (5 * NS_PER_SEC)

/* At most so often it is worth waking up: for the sideband, for a ring that brings raw records. */
#define SIDEBAND_NAP_NS (2 * NS_PER_MS)
#define RAW_NAP_NS	NS_PER_MS

#define SETTLE_NS      (200 * NS_PER_MS) /* at the end of an interval … */
#define LAST_SETTLE_NS (3 * NS_PER_SEC)	 /* … and of the run, for tables that are being made */

#define SAMPLING_NICE (-20)

/*
 * While it samples, user space needs little, but soon: on an overloaded host the ring would fill up
 * before an ordinary process gets its turn. Without the right to it, things stay as they are.
 */
static void hurry(struct session *session)
{
	session->nice = getpriority(PRIO_PROCESS, 0);
	(void)setpriority(PRIO_PROCESS, 0, SAMPLING_NICE);
}

static void hurry_no_more(const struct session *session)
{
	(void)setpriority(PRIO_PROCESS, 0, session->nice);
}

int session_start(struct session *session, struct error *error)
{
	absence_begin(&session->absence, session->options.cpus, session->options.nr_cpus);
	session->sampling_cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
	session->started_ns = clock_now_ns();
	session->polled_ns = session->epoch_began_ns = session->started_ns;
	slicing_start(&session->slicing, session->options.slice_ns, session->started_ns,
		      clock_read_ns(CLOCK_REALTIME));
	hurry(session);
	if (session->sampling)
		return sampling_start(session->sampling, error);
	session->probing_next_ns = 0;
	return probing_start(session->probing, error);
}

/* --- reading --------------------------------------------------------------------------------- */

static int take_event(void *context, struct sideband_event *event)
{
	struct session *session = context;

	switch (event->kind) {
	case SIDEBAND_PROCESS:
		return drain_add_event(session->drain, &event->process, event->path);
	case SIDEBAND_LOST:
		session->nr_lost_events += event->nr_lost;
		process_table_distrust(session->processes);
		if (session->unwinder)
			unwinder_forget_all(session->unwinder);
		return 0;
	case SIDEBAND_THROTTLE:
		return absence_throttle(&session->absence, event->id, event->time_ns);
	case SIDEBAND_UNTHROTTLE:
		absence_unthrottle(&session->absence, event->id, event->time_ns);
		return 0;
	default:
		return 0;
	}
}

/* Everything in the ring up to a position. */
static int read_ring(struct session *session, uint64_t end)
{
	const struct wire_record *record;
	uint32_t epoch = sampler_epoch(session->sampler);
	size_t bytes, read = 0;
	int err = 0;

	session->has_raw = false;
	while (!err && (record = ring_next(&session->ring, end, &bytes))) {
		err = drain_add_record(session->drain, record, bytes);
		session->epoch_records += record->epoch == epoch;
		session->has_raw |= record->user_end == WALK_RAW;
		read += bytes;
	}
	session->ring_is_busy = read > session->options.ring_bytes / 8;
	return err;
}

/* The ring, then the sideband that tells of its records' processes, then what is still unknown. */
static int read_all(struct session *session)
{
	int err = read_ring(session, ring_producer_position(&session->ring));

	if (!err)
		err = sideband_read(session->sideband, take_event, session);
	if (!err)
		err = drain_meet(session->drain);
	if (!err) /* an exec while maps were read makes them another program's */
		err = sideband_read(session->sideband, take_event, session);
	return err;
}

static int poll_once(struct session *session)
{
	uint64_t until_ns = session->polled_ns;
	int err;

	session->polled_ns = clock_now_ns();
	err = read_all(session);
	if (!err)
		err = drain_replay(session->drain, until_ns);
	if (!err && session->unwinder && unwinder_poll(session->unwinder))
		err = drain_retry(session->drain, false);
	return err;
}

static int take_count(void *context, uint64_t id, const struct wire_count *count)
{
	struct session *session = context;

	return drain_add_count(session->drain, sampler_epoch(session->sampler) - 1, id, count);
}

/* Ends the epoch and brings all of it into the profile. */
static int end_epoch(struct session *session, struct error *error)
{
	struct wire_counters counters;
	uint64_t ended_ns;
	int err = sampler_end_epoch(session->sampler, &ended_ns, error);

	if (err)
		return err;
	if (session->unwinder)
		unwinder_epoch_ended(session->unwinder, sampler_epoch(session->sampler) - 1);
	session->epoch_began_ns = ended_ns;
	slicing_begin_epoch(&session->slicing, sampler_epoch(session->sampler), ended_ns);
	session->epoch_records = 0;
	err = sampler_read_counters(session->sampler, &counters);
	if (!err)
		err = read_all(session);
	if (!err)
		err = sampler_read_counts(session->sampler, take_count, session);
	if (!err)
		err = drain_close_epoch(session->drain, sampler_epoch(session->sampler) - 1,
					ended_ns);
	if (err)
		return error_set(error, err, "cannot drain the samples: %s", strerror(-err));
	accounting_close_epoch(&session->accounting, &counters);
	process_table_purge(session->processes, ended_ns);
	return 0;
}

static uint64_t slice_end_ns(const struct session *session)
{
	return slicing_end_ns(&session->slicing, sampler_epoch(session->sampler));
}

static bool epoch_is_full(const struct session *session, uint64_t now_ns)
{
	return session->epoch_records > session->options.max_counts / 4 * 3 ||
	       now_ns - session->epoch_began_ns > EPOCH_NS || now_ns >= slice_end_ns(session);
}

/* --- waiting --------------------------------------------------------------------------------- */

static uint64_t next_wakeup(const struct session *session, uint64_t deadline_ns)
{
	uint64_t poll_ns = session->polled_ns + (session->ring_is_busy ? BUSY_POLL_NS : POLL_NS);

	/* A raw record is replayed by the poll after the one that read it. */
	if (session->has_raw)
		poll_ns = session->polled_ns + RAW_NAP_NS;

	if (session->probing && session->probing_next_ns < poll_ns)
		poll_ns = session->probing_next_ns;
	if (slice_end_ns(session) < poll_ns)
		poll_ns = slice_end_ns(session);
	return poll_ns < deadline_ns ? poll_ns : deadline_ns;
}

/* Probes are attached and watched in steps. */
static int step_probing(struct session *session, struct error *error)
{
	if (!session->probing || clock_now_ns() < session->probing_next_ns)
		return 0;
	return probing_step(session->probing, &session->probing_next_ns, error);
}

/* Being woken has been noticed: until the next time. */
static void forget_wakeup(const struct session *session)
{
	struct epoll_event woken;

	if (session->raw_fd >= 0)
		(void)epoll_wait(session->raw_fd, &woken, 1, 0);
}

static void nap(uint64_t ns)
{
	struct timespec time = {.tv_nsec = (long)ns};

	(void)nanosleep(&time, NULL);
}

/*
 * Waits for the caller's descriptors, the sideband's, or the time; false when the caller's are
 * ready.
 */
static bool wait_once(struct session *session, uint64_t until_ns, struct pollfd *fds, size_t nr_fds)
{
	size_t nr_rings = sideband_nr(session->sideband), nr_own = nr_rings, i;
	uint64_t now_ns = clock_now_ns();
	uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct timespec left = {(time_t)(left_ns / NS_PER_SEC), (long)(left_ns % NS_PER_SEC)};
	bool caller_ready = false;
	int nr_ready;

	for (i = 0; i < nr_rings; i++)
		session->pollfds[i] =
			(struct pollfd){.fd = sideband_fd(session->sideband, i), .events = POLLIN};
	if (session->unwinder) { /* raw records, and tables for them */
		session->pollfds[nr_own++] =
			(struct pollfd){.fd = session->raw_fd, .events = POLLIN};
		session->pollfds[nr_own++] =
			(struct pollfd){.fd = unwinder_fd(session->unwinder), .events = POLLIN};
	}
	memcpy(&session->pollfds[nr_own], fds, nr_fds * sizeof(*fds));
	nr_ready = ppoll(session->pollfds, nr_own + nr_fds, &left, NULL);
	for (i = 0; i < nr_fds; i++) {
		fds[i].revents = nr_ready > 0 ? session->pollfds[nr_own + i].revents : 0;
		caller_ready |= fds[i].revents != 0;
	}
	if (nr_ready > 0)
		forget_wakeup(session);
	if (nr_ready > 0 && !caller_ready)
		nap(session->has_raw ? RAW_NAP_NS : SIDEBAND_NAP_NS);
	return !caller_ready;
}

int session_wait(struct session *session, uint64_t deadline_ns, struct pollfd *fds, size_t nr_fds,
		 struct error *error)
{
	bool go_on = true;

	if (nr_fds > SESSION_MAX_CALLER_FDS)
		return error_set(error, -E2BIG, "too many descriptors to wait for: %zu", nr_fds);
	while (go_on && clock_now_ns() < deadline_ns) {
		int err;

		go_on = wait_once(session, next_wakeup(session, deadline_ns), fds, nr_fds);
		err = poll_once(session);
		if (err)
			return error_set(error, err, "cannot read the samples: %s", strerror(-err));
		if (epoch_is_full(session, session->polled_ns))
			err = end_epoch(session, error);
		if (!err)
			err = step_probing(session, error);
		if (err)
			return err;
	}
	return 0;
}

/* Walks what still waits for unwind tables; for some time, and then as far as it goes. */
static int settle(struct session *session, uint64_t until_ns, bool last, struct error *error)
{
	int err = 0;

	while (!err && drain_nr_deferred(session->drain) && clock_now_ns() < until_ns &&
	       unwinder_nr_waiting(session->unwinder)) {
		unwinder_wait(session->unwinder, until_ns);
		err = drain_retry(session->drain, false);
	}
	if (!err)
		err = drain_retry(session->drain, last);
	return err ? error_set(error, err, "cannot walk the samples: %s", strerror(-err)) : 0;
}

int session_flush(struct session *session, struct error *error)
{
	int err = end_epoch(session, error);

	return err ? err : settle(session, clock_now_ns() + SETTLE_NS, false, error);
}

int session_stop(struct session *session, struct error *error)
{
	int err;

	if (session->sampling)
		sampling_stop(session->sampling);
	else
		probing_stop(session->probing);
	session->stopped_ns = clock_now_ns();
	session->sampling_cpu_ns =
		clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - session->sampling_cpu_ns;
	if (session->sampling)
		sampling_read(session->sampling, &session->reading);
	absence_end(&session->absence, session->stopped_ns);
	err = end_epoch(session, error);
	if (!err)
		err = settle(session, clock_now_ns() + LAST_SETTLE_NS, true, error);
	profile_end_slices(session->profile,
			   slicing_day_ns(&session->slicing, session->stopped_ns));
	session->complete = !err;
	hurry_no_more(session);
	return err;
}
