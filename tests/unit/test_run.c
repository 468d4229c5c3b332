/* run/run: the loop of every run, with a clock that jumps instead of waiting. */
#include "run/run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "unit/test.h"

#define HOUR_NS	  (3600 * NS_PER_SEC)
#define SHOWN_MAX 64

/* A clock that jumps to the end of each wait, and a collector that logs the operations called. */
struct made_run {
	struct clock clock;
	struct collector collector;
	uint64_t now_ns, began_ns;
	size_t nr_waits;
	size_t early_wait;		    /* this wait returns early */
	size_t jump_wait;		    /* this wait, counted from 1, … */
	uint64_t jump_ns;		    /* … takes so much longer */
	size_t failing_wait, failing_write; /* counted from 1 */
	int failure;
	bool fails_to_start, stops_last;
	struct run_config config;   /* without the times */
	struct wanted_tasks wanted; /* as load() saw them … */
	uint32_t first_pid;	    /* … and their first pid */
	size_t ready_after; /* waits before the child starts; from then on descriptors are polled */
	size_t signal_wait; /* a signal arrives in this wait */
	char log[256];	    /* one letter per operation */
	uint64_t shown_ns[SHOWN_MAX]; /* times of the intervals, since the start */
	size_t nr_shown;
};

static void note(struct made_run *made, char what)
{
	size_t nr = strlen(made->log);

	if (nr + 1 < sizeof(made->log))
		made->log[nr] = what;
}

static uint64_t made_now(void *context)
{
	const struct made_run *made = context;

	return made->now_ns;
}

static int made_wait(void *context, uint64_t until_ns, struct pollfd *fds, size_t nr_fds)
{
	struct made_run *made = context;
	size_t i;

	made->nr_waits++;
	for (i = 0; i < nr_fds; i++)
		fds[i].revents = 0;
	if (made->nr_waits == made->signal_wait)
		CHECK_EQ(raise(SIGINT), 0);
	if (made->nr_waits == made->signal_wait ||
	    (made->config.command && made->nr_waits > made->ready_after)) {
		CHECK_EQ(poll(fds, nr_fds, 60 * 1000), 1);
		return 0;
	}
	CHECK(until_ns != UINT64_MAX); /* no other event would end the wait */
	if (made->nr_waits == made->early_wait)
		until_ns = made->now_ns + (until_ns - made->now_ns) / 2;
	if (until_ns > made->now_ns)
		made->now_ns = until_ns;
	if (made->nr_waits == made->jump_wait)
		made->now_ns += made->jump_ns;
	return made->nr_waits == made->failing_wait ? made->failure : 0;
}

static int do_prepare(struct collector *collector, struct error *error)
{
	note(collector->context, 'p');
	CHECK(collector->run->signal_fd < 0); /* signals are blocked until then */
	return 0;
}

static int do_load(struct collector *collector, struct error *error)
{
	struct made_run *made = collector->context;

	note(made, 'l');
	CHECK(collector->run->signal_fd >= 0);
	made->wanted = collector->run->tasks;
	made->first_pid = made->wanted.nr_pids ? made->wanted.pids[0] : 0;
	return 0;
}

static int do_start(struct collector *collector, struct error *error)
{
	struct made_run *made = collector->context;

	note(made, 's');
	made->began_ns = made->now_ns;
	return made->fails_to_start ? error_set(error, -EIO, "it was to fail") : 0;
}

static int do_wait(struct collector *collector, uint64_t until_ns, struct pollfd *fds,
		   size_t nr_fds, struct error *error)
{
	const struct clock *clock = &collector->run->clock;
	int err = clock->wait(clock->context, until_ns, fds, nr_fds);

	return err ? error_set(error, err, "it was to fail") : 0;
}

static int do_interval(struct collector *collector, bool is_last, struct error *error)
{
	struct made_run *made = collector->context;

	note(made, is_last ? 'I' : 'i');
	if (made->nr_shown < SHOWN_MAX)
		made->shown_ns[made->nr_shown] = made->now_ns - made->began_ns;
	made->nr_shown++;
	return made->nr_shown == made->failing_write
		       ? error_set(error, made->failure, "it was to fail")
		       : 0;
}

static int do_stop(struct collector *collector, struct error *error)
{
	note(collector->context, 'x');
	return 0;
}

static int do_summarize(struct collector *collector, struct error *error)
{
	note(collector->context, collector->run->has_started ? 'v' : 'V');
	return 0;
}

static bool do_is_ready(const struct collector *collector)
{
	const struct made_run *made = collector->context;

	return made->nr_waits >= made->ready_after;
}

static struct collector_ops made_ops = {
	.prepare = do_prepare,
	.load = do_load,
	.start = do_start,
	.wait = do_wait,
	.interval = do_interval,
	.stop = do_stop,
	.summarize = do_summarize,
	.is_ready = do_is_ready,
};

/* Runs for a duration, with intervals; returns the exit status. */
static int go(struct made_run *made, uint64_t duration_ns, uint64_t interval_ns)
{
	struct run_config config = made->config;

	config.duration_ns = duration_ns;
	config.interval_ns = interval_ns;
	config.quiet = true;
	made->now_ns = 1000 * NS_PER_SEC;
	made->clock = (struct clock){.now = made_now, .wait = made_wait, .context = made};
	made_ops.stops_last = made->stops_last;
	made->collector = (struct collector){.ops = &made_ops, .context = made};
	return run_collector(&config, &made->clock, &made->collector);
}

TEST(run_of_a_duration)
{
	struct made_run made = {0};

	CHECK_EQ(go(&made, 10 * NS_PER_SEC, 0), 0);
	CHECK_STR(made.log, "plsxIv");
	CHECK_EQ(made.shown_ns[0], 10 * NS_PER_SEC);
	CHECK_EQ(made.nr_waits, 1);
}

TEST(run_whose_results_are_shown_before_it_stops)
{
	struct made_run made = {.stops_last = true};

	CHECK_EQ(go(&made, NS_PER_SEC, 0), 0);
	CHECK_STR(made.log, "plsIxv");
}

/* A day in no real time. */
TEST(run_of_many_intervals)
{
	struct made_run made = {0};
	size_t i;

	CHECK_EQ(go(&made, 24 * HOUR_NS, NS_PER_SEC), 0);
	CHECK_EQ(made.nr_shown, 24 * 3600);
	CHECK_EQ(made.nr_waits, 24 * 3600);
	for (i = 0; i < SHOWN_MAX; i++)
		CHECK_EQ(made.shown_ns[i], (i + 1) * NS_PER_SEC);
	CHECK_EQ(made.now_ns - made.began_ns, 24 * HOUR_NS);
}

/* The last interval ends with the run and may be shorter. */
TEST(run_whose_duration_is_no_multiple)
{
	struct made_run made = {0};

	CHECK_EQ(go(&made, 5 * NS_PER_SEC / 2, NS_PER_SEC), 0);
	CHECK_STR(made.log, "plsiixIv");
	CHECK_EQ(made.shown_ns[2], 5 * NS_PER_SEC / 2);
}

/* A wait that returns early, because of an unrelated signal or a child's message, shows nothing. */
TEST(run_that_is_woken_early)
{
	struct made_run made = {.early_wait = 2};

	CHECK_EQ(go(&made, 3 * NS_PER_SEC, NS_PER_SEC), 0);
	CHECK_STR(made.log, "plsiixIv");
	CHECK_EQ(made.nr_waits, 4);
	CHECK_EQ(made.shown_ns[1], 2 * NS_PER_SEC);
}

/*
 * The process is stopped for an hour (SIGSTOP, a paused virtual machine): the missed intervals are
 * shown as one, and the next one ends at its regular time.
 */
TEST(run_that_is_suspended)
{
	struct made_run made = {.jump_wait = 3, .jump_ns = HOUR_NS + NS_PER_SEC / 4};
	const uint64_t seconds = HOUR_NS / NS_PER_SEC;

	CHECK_EQ(go(&made, 2 * HOUR_NS, NS_PER_SEC), 0);
	CHECK_EQ(made.shown_ns[1], 2 * NS_PER_SEC);
	CHECK_EQ(made.shown_ns[2], 3 * NS_PER_SEC + HOUR_NS + NS_PER_SEC / 4);
	CHECK_EQ(made.shown_ns[3], (4 + seconds) * NS_PER_SEC);
	CHECK_EQ(made.nr_shown, 2 * seconds - seconds);
	CHECK_EQ(made.now_ns - made.began_ns, 2 * HOUR_NS);
}

/* With the shortest interval, missed intervals are computed, not iterated. */
TEST(run_that_is_suspended_for_ever_so_many_intervals)
{
	struct made_run made = {.jump_wait = 3, .jump_ns = HOUR_NS};

	CHECK_EQ(go(&made, HOUR_NS + 10, 1), 0);
	CHECK_STR(made.log, "plsiiiiiiiiixIv");
}

/* Suspended past the end of the run: the run ends, and the rest is one interval. */
TEST(run_that_is_suspended_past_its_end)
{
	struct made_run made = {.jump_wait = 2, .jump_ns = HOUR_NS};

	CHECK_EQ(go(&made, 10 * NS_PER_SEC, NS_PER_SEC), 0);
	CHECK_STR(made.log, "plsixIv");
	CHECK_EQ(made.shown_ns[1], 2 * NS_PER_SEC + HOUR_NS);
}

/* After any failure the collected results are shown, and the exit status reports the failure. */
TEST(run_that_fails)
{
	struct made_run waiting = {.failing_wait = 2, .failure = -EIO};
	struct made_run writing = {.failing_write = 1, .failure = -ENOSPC};
	struct made_run at_the_end = {.failing_write = 2, .failure = -ENOSPC};
	struct made_run starting = {.fails_to_start = true};

	CHECK_EQ(go(&waiting, 3 * NS_PER_SEC, NS_PER_SEC), 1);
	CHECK_STR(waiting.log, "plsixIv");
	CHECK_EQ(go(&writing, 3 * NS_PER_SEC, NS_PER_SEC), 1);
	CHECK_STR(writing.log, "plsixIv");
	CHECK_EQ(go(&at_the_end, 2 * NS_PER_SEC, NS_PER_SEC), 1);
	CHECK_STR(at_the_end.log, "plsixIv");
	CHECK_EQ(go(&starting, NS_PER_SEC, 0), 1);
	CHECK_STR(starting.log, "plsV");
}

/* The reader of our pipe exits early, like head: not a failure. */
TEST(run_whose_reader_leaves)
{
	struct made_run made = {.failing_write = 1, .failure = -EPIPE};

	CHECK_EQ(go(&made, 10 * NS_PER_SEC, NS_PER_SEC), 0);
	CHECK_STR(made.log, "plsixIv");
	CHECK_EQ(made.now_ns - made.began_ns, NS_PER_SEC);
}

/* --- descriptors: only these tests wait in real time ------------------------------------------ */

TEST(run_that_is_interrupted)
{
	struct made_run made = {.signal_wait = 3};

	CHECK_EQ(go(&made, 10 * NS_PER_SEC, NS_PER_SEC), 0);
	CHECK_STR(made.log, "plsiixIv");
	CHECK_EQ(made.shown_ns[2], 2 * NS_PER_SEC);
}

/* Skips the test without pidfds, by which processes are watched. */
static void need_pidfd_open(void)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (fd < 0)
		SKIP("needs pidfd_open(), which valgrind does not know");
	(void)close(fd);
}

/* The duration starts when the program starts, and the program's exit status is the run's. */
TEST(run_of_a_program)
{
	char shell[] = "sh", flag[] = "-c", script[] = "exit 7";
	char *command[] = {shell, flag, script, NULL};
	struct made_run made = {.config.command = command, .ready_after = 2};

	need_pidfd_open();
	CHECK_EQ(go(&made, 0, NS_PER_SEC), 7);
	CHECK_STR(made.log, "plsiixIv");
	CHECK_EQ(made.wanted.nr_pids, 1); /* only the program and its children */
	CHECK(made.first_pid && made.first_pid != (uint32_t)getpid());
	CHECK(made.wanted.follow);
	CHECK_EQ(made.wanted.cgroup_fd, -1);
}

TEST(run_of_a_program_several_times)
{
	char shell[] = "sh", flag[] = "-c", script[] = "exit 7";
	char slow_script[] = "sleep 0.5"; /* it has not ended when the signal arrives */
	char *command[] = {shell, flag, script, NULL};
	char *slow[] = {shell, flag, slow_script, NULL};
	struct made_run made = {.config = {.command = command, .nr_runs = 3}};
	struct made_run interrupted = {.config = {.command = slow, .nr_runs = 3}, .signal_wait = 1};

	need_pidfd_open();
	CHECK_EQ(go(&made, 0, 0), 7);
	CHECK_STR(made.log, "plsxIvlsxIvlsxIv");
	(void)go(&interrupted, 0, 0);
	CHECK_STR(interrupted.log, "plsxIv");
}

/* A program that could not be executed has no results. */
TEST(run_of_no_program)
{
	char program[] = "/nowhere/no-such-program";
	char *command[] = {program, NULL};
	struct made_run made = {.config.command = command};

	need_pidfd_open();
	CHECK_EQ(go(&made, 0, 0), 127);
	CHECK_STR(made.log, "plsxv");
}

TEST(run_of_a_program_beside_everything)
{
	char program[] = "true";
	char *command[] = {program, NULL};
	struct made_run made = {.config = {.command = command, .everything = true}};

	need_pidfd_open();
	CHECK_EQ(go(&made, 0, 0), 0);
	CHECK_EQ(made.wanted.nr_pids, 0);
}

TEST(run_of_a_process)
{
	uint32_t pid = (uint32_t)getpid();
	struct made_run made = {.config = {.pids = &pid, .nr_pids = 1, .no_follow = true}};

	need_pidfd_open();
	CHECK_EQ(go(&made, NS_PER_SEC, 0), 0);
	CHECK_EQ(made.wanted.nr_pids, 1);
	CHECK_EQ(made.first_pid, pid);
	CHECK(!made.wanted.follow);
}

TEST(run_of_a_cgroup)
{
	char line[512], path[256] = "", type[32] = "";
	struct made_run made = {.config.cgroup = path};
	FILE *mounts = fopen("/proc/self/mounts", "re");

	CHECK(mounts != NULL);
	while (strcmp(type, "cgroup2") != 0 && fgets(line, sizeof(line), mounts))
		if (sscanf(line, "%*s %255s %31s", path, type) != 2)
			break;
	(void)fclose(mounts);
	if (strcmp(type, "cgroup2") != 0)
		SKIP("a mounted cgroup version 2");
	CHECK_EQ(go(&made, NS_PER_SEC, 0), 0);
	CHECK(made.wanted.cgroup_fd >= 0);
}
