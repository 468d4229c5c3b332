/*
 * The child first starts a session of its own, so that Ctrl-C reaches only the parent. Then it
 * drops everything else, in the order in which the steps depend on each other: descriptors, /proc,
 * the root directory (needs CAP_SYS_CHROOT), the user (CAP_SETUID), all capabilities, then the
 * settings that changing the user would reset. If a step fails, the child exits before work()
 * begins, except for users who are not root and have nothing to drop.
 *
 * work()'s result is the exit status: an errno fits. The parent waits with poll() for the pipe and
 * then for a pidfd, so that it is held up neither by a child that hangs (in open() of a fifo, say)
 * nor by one that closes the pipe and keeps running. A child that waits for a file system without an
 * answer does not end when it is killed, and is left alone. One of another user can't be killed without
 * CAP_KILL: an alarm ends it.
 */
#include "base/isolated.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd_io.h"

#define PIECE_BYTES   (32u << 10)
#define KILLED_NS     (NS_PER_SEC / 5) /* time in which a child ends that is killed … */
#define KILLED_TRIES  25	       /* … unless the machine is busy: so many times that */
#define ALARM_AFTER_S 2		       /* after the timeout */

/* Exit statuses of the child that are not an errno of work(). */
enum {
	STATUS_SETUP = 255, /* could not drop privileges */
	STATUS_ODD = 254,   /* work() returned something that is not an errno */
	STATUS_CHROOT = 253,
	STATUS_SETGID = 252,
	STATUS_SETUID = 251,
	ERRNO_MAX = 200,
};

/* Steps that need a capability, which root may lack in a container. */
static const struct {
	int status;
	const char *what, *capability;
} steps[] = {
	{STATUS_CHROOT, "enter a container's root directory", "CAP_SYS_CHROOT"},
	{STATUS_SETGID, "drop root's groups", "CAP_SETGID"},
	{STATUS_SETUID, "drop root", "CAP_SETUID"},
};

struct isolated_child {
	pid_t pid;
	int pidfd;
	int pipe_fd;
	int stop_fd; /* -1: none */
	uint64_t deadline_ns;
};

/* --- in the child -------------------------------------------------------------------------- */

static int compare_fds(const void *left, const void *right)
{
	return *(const int *)left - *(const int *)right;
}

/* Closes descriptors `first` to `last`. The loop is for kernels before 5.9. */
static void close_from_to(unsigned first, unsigned last)
{
	struct rlimit most;
	unsigned fd;

	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return;
	if (getrlimit(RLIMIT_NOFILE, &most) == 0 && most.rlim_cur <= last)
		last = (unsigned)most.rlim_cur;
	for (fd = first; fd <= last; fd++)
		(void)close((int)fd);
}

void isolated_close_from(int first)
{
	close_from_to((unsigned)first, UINT32_MAX);
}

/* Sorts them. */
static void close_all_but(int *keep, size_t nr)
{
	unsigned from = 0;
	size_t i;

	qsort(keep, nr, sizeof(*keep), compare_fds);
	for (i = 0; i < nr; i++) {
		if (keep[i] > (int)from)
			close_from_to(from, (unsigned)keep[i] - 1);
		from = (unsigned)keep[i] + 1;
	}
	close_from_to(from, UINT32_MAX);
}

void isolated_close_others(const int *fds, size_t nr)
{
	int keep[ISOLATION_MAX_FDS];

	memcpy(keep, fds, nr * sizeof(*fds));
	close_all_but(keep, nr);
}

static void close_others(const struct isolation *limits, int pipe_fd)
{
	int keep[ISOLATION_MAX_FDS + 2];
	size_t i, nr = 0;

	for (i = 0; i < limits->nr_fds; i++)
		keep[nr++] = limits->fds[i];
	if (pipe_fd >= 0)
		keep[nr++] = pipe_fd;
	if (limits->root_fd >= 0)
		keep[nr++] = limits->root_fd;
	close_all_but(keep, nr);
}

/* Ignoring a signal first discards one that is still pending from before setsid(). */
static void reset_signals(void)
{
	sigset_t none;
	int number;

	for (number = 1; number < NSIG; number++) {
		(void)signal(number, SIG_IGN);
		(void)signal(number, SIG_DFL);
	}
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Lowers a limit, unless it is lower. */
static bool limit(int resource, uint64_t most)
{
	struct rlimit limits;

	if (getrlimit((__rlimit_resource_t)resource, &limits) < 0)
		return false;
	if (limits.rlim_max > most)
		limits.rlim_max = most;
	if (limits.rlim_cur > limits.rlim_max)
		limits.rlim_cur = limits.rlim_max;
	return setrlimit((__rlimit_resource_t)resource, &limits) == 0;
}

/*
 * Makes the child the OOM killer's first choice. It chooses by size, and a target may be larger
 * than the child that used up the memory. Without /proc, or permission to write there, only the
 * limits apply.
 */
static void raise_oom_score(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, "1000", 4);
	(void)close(fd);
}

/* Returns 0 or the exit status. */
static int drop_user(const struct isolation *limits)
{
	bool must = geteuid() == 0;

	if (limits->uid == (uid_t)-1)
		return 0;
	if ((setgroups(0, NULL) < 0 || setresgid(limits->gid, limits->gid, limits->gid) < 0) &&
	    must)
		return errno == EPERM ? STATUS_SETGID : STATUS_SETUP;
	if (setresuid(limits->uid, limits->uid, limits->uid) < 0 && must)
		return errno == EPERM ? STATUS_SETUID : STATUS_SETUP;
	return 0;
}

void isolated_keep_capabilities(uint64_t keep, uint64_t instead_of_admin)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
	unsigned i;

	if (syscall(SYS_capget, &header, data) < 0)
		return;
	if (~((uint64_t)data[1].permitted << 32 | data[0].permitted) & instead_of_admin)
		keep |= 1ULL << CAP_SYS_ADMIN;
	/* A program that root executes gets the capabilities of the bounding set. */
	for (i = 0; i <= CAP_LAST_CAP; i++)
		if (!(keep >> i & 1))
			(void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
	for (i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		const uint32_t part = (uint32_t)(keep >> (32 * i));

		data[i].effective &= part;
		data[i].permitted &= part;
		data[i].inheritable &= part;
	}
	(void)syscall(SYS_capset, &header, data);
}

/* Linux multiplies the limit by a billion, without a check for overflow. */
static bool limit_cpu_time(uint64_t timeout_ns)
{
	return timeout_ns == UINT64_MAX || limit(RLIMIT_CPU, timeout_ns / NS_PER_SEC + 1);
}

/* Returns 0 or the exit status. */
static int give_up_rights(const struct isolation *limits)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
	int status;

	raise_oom_score();
	if (limits->root_fd >= 0 &&
	    (fchdir(limits->root_fd) < 0 || chroot(".") < 0 || close(limits->root_fd) < 0))
		return errno == EPERM ? STATUS_CHROOT : STATUS_SETUP;
	status = drop_user(limits);
	if (status)
		return status;
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &header, none) < 0)
		return STATUS_SETUP;
	if (!limit(RLIMIT_CORE, 0) || !limit(RLIMIT_FSIZE, limits->written_bytes) ||
	    (!limits->may_fork && !limit(RLIMIT_NPROC, 0)) || !limit_cpu_time(limits->timeout_ns) ||
	    (limits->memory_bytes && !limit(RLIMIT_AS, limits->memory_bytes)))
		return STATUS_SETUP;
	/*
	 * Not dumpable, so that the user we switched to can't trace the process and read its
	 * memory.
	 */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
		return STATUS_SETUP;
	return 0;
}

/* 0 or the exit status. pipe_fd: one more descriptor that stays; -1: none. */
static int confine(const struct isolation *limits, int pipe_fd)
{
	int status;

	close_others(limits, pipe_fd);
	fd_open_standard_streams(); /* a library may write to them */
	if (!limits->keeps_signals)
		reset_signals();
	status = limits->is_trusted ? 0 : give_up_rights(limits);
	/* Changing the user clears the death signal, so it is set here. */
	if (!status && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		status = STATUS_SETUP;
	return status;
}

__attribute__((noreturn)) static void run_child(int (*work)(void *context, int fd), void *context,
						int pipe_fd, const struct isolation *limits,
						pid_t parent)
{
	int status = setsid() < 0 ? STATUS_SETUP : confine(limits, pipe_fd);
	int result;

	/* The parent may have exited before the death signal was set. */
	if (!status && getppid() != parent)
		status = STATUS_SETUP;
	if (status)
		_exit(status);
	if (limits->timeout_ns / NS_PER_SEC < UINT_MAX - ALARM_AFTER_S)
		(void)alarm((unsigned)(limits->timeout_ns / NS_PER_SEC) + ALARM_AFTER_S);
	result = work(context, pipe_fd);
	_exit(result > 0 || result < -ERRNO_MAX ? STATUS_ODD : -result);
}

/* --- in the parent ------------------------------------------------------------------------- */

/* Waits until fd is readable: 0, -ETIME at the deadline, -ECANCELED or -errno. */
static int await(const struct isolated_child *child, int fd)
{
	struct pollfd polled[] = {{.fd = fd, .events = POLLIN},
				  {.fd = child->stop_fd, .events = POLLIN}};

	for (;;) {
		uint64_t now_ns = clock_now_ns();
		uint64_t left_ns = child->deadline_ns > now_ns ? child->deadline_ns - now_ns : 0;
		struct timespec left = {(time_t)(left_ns / NS_PER_SEC),
					(long)(left_ns % NS_PER_SEC)};
		int nr = ppoll(polled, ARRAY_SIZE(polled), &left, NULL);

		if (nr > 0)
			return polled[1].revents ? -ECANCELED : 0;
		if (nr == 0)
			return -ETIME;
		if (errno != EINTR)
			return -errno;
	}
}

/* Passes all bytes to take() until the pipe is closed. */
static int take_all(const struct isolated_child *child,
		    int (*take)(void *context, const void *bytes, size_t nr), void *context)
{
	uint8_t piece[PIECE_BYTES];

	for (;;) {
		int err = await(child, child->pipe_fd);
		ssize_t nr;

		if (err < 0)
			return err;
		nr = read(child->pipe_fd, piece, sizeof(piece));
		if (nr == 0)
			return 0;
		if (nr < 0 && errno != EINTR)
			return -errno;
		if (nr > 0)
			err = take(context, piece, (size_t)nr);
		if (err < 0)
			return err;
	}
}

static int result_of(int status, struct error *error)
{
	size_t i;

	if (WIFSIGNALED(status))
		return error_set(error, -EFAULT, "child process killed by signal %d (%s)",
				 WTERMSIG(status), sigdescr_np(WTERMSIG(status)));
	for (i = 0; i < ARRAY_SIZE(steps); i++)
		if (WEXITSTATUS(status) == steps[i].status)
			return error_set(error, -EPERM, "a child process cannot %s without %s",
					 steps[i].what, steps[i].capability);
	if (WEXITSTATUS(status) == STATUS_SETUP)
		return error_set(error, -EPERM, "cannot drop privileges in a child process");
	if (WEXITSTATUS(status) > ERRNO_MAX)
		return error_set(error, -EPROTO, "child process exited with status %d",
				 WEXITSTATUS(status));
	return -WEXITSTATUS(status);
}

/* True if a process waits in the kernel for something that may never come, and cannot be killed meanwhile. */
static bool is_uninterruptible(pid_t pid)
{
	cleanup_fd int fd = -1;
	char path[32], stat[512];
	const char *state;
	ssize_t nr;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	nr = fd < 0 ? -1 : read(fd, stat, sizeof(stat) - 1);
	stat[nr < 0 ? 0 : nr] = '\0';
	state = strrchr(stat, ')'); /* behind the name */
	return state && strncmp(state, ") D", 3) == 0;
}

/* True if the child ends, or will: without a pidfd it is waited for as long as that takes. */
static bool kill_child(const struct isolated_child *child)
{
	struct isolated_child killed = {.stop_fd = -1};
	bool is_allowed; /* without CAP_KILL, a child of another user cannot be killed */
	int tries = 0;

	if (child->pidfd < 0) {
		(void)kill(child->pid, SIGKILL);
		return true;
	}
	/* It can't refer to another process later, as a reused pid can. */
	is_allowed = syscall(SYS_pidfd_send_signal, child->pidfd, SIGKILL, NULL, 0) == 0;
	do {
		killed.deadline_ns = clock_now_ns() + KILLED_NS;
		if (await(&killed, child->pidfd) == 0)
			return true;
	} while (is_allowed && ++tries < KILLED_TRIES && !is_uninterruptible(child->pid));
	return false;
}

/* Waits until the child exits; kills it first if err is set or on a timeout. */
static int reap(const struct isolated_child *child, int err, struct error *error)
{
	int status;

	if (err == 0)
		err = await(child, child->pidfd);
	if (err < 0 && !kill_child(child))
		return error_set(error, err, "child process timed out, and cannot be killed");
	while (waitpid(child->pid, &status, 0) < 0)
		if (errno != EINTR)
			return error_set_errno(error, "cannot wait for the child process");
	if (err == -ETIME)
		return error_set(error, err, "child process timed out");
	return err < 0 ? err : result_of(status, error);
}

/* Starts the child and sets its pid and the read end of the pipe. */
static int start(struct isolated_child *child, int (*work)(void *context, int fd), void *context,
		 const struct isolation *limits, struct error *error)
{
	pid_t parent = getpid();
	int fds[2], err;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return error_set_errno(error, "cannot make a pipe");
	child->pid = fork();
	if (child->pid == 0)
		run_child(work, context, fds[1], limits, parent);
	err = errno;
	(void)close(fds[1]);
	child->pipe_fd = fds[0];
	if (child->pid > 0)
		return 0;
	(void)close(fds[0]);
	errno = err;
	return error_set_errno(error, "cannot start a child process");
}

int isolated_run(int (*work)(void *context, int fd),
		 int (*take)(void *context, const void *bytes, size_t nr), void *context,
		 const struct isolation *limits, struct error *error)
{
	struct isolated_child child = {.stop_fd = limits->stop_fd ? limits->stop_fd : -1,
				       .deadline_ns = clock_now_ns() + limits->timeout_ns};
	int err;

	if (limits->nr_fds > ISOLATION_MAX_FDS)
		return error_set(error, -EINVAL, "too many descriptors for a child process");
	err = start(&child, work, context, limits, error);
	if (err < 0)
		return err;
	child.pidfd = (int)syscall(SYS_pidfd_open, child.pid, 0);
	if (child.pidfd < 0)
		err = error_set_errno(error, "cannot watch a child process");
	else
		err = take_all(&child, take, context);
	err = reap(&child, err, error);
	(void)close(child.pipe_fd);
	if (child.pidfd >= 0)
		(void)close(child.pidfd);
	return err;
}

int isolated_confine(const struct isolation *limits, struct error *error)
{
	int status = confine(limits, -1);

	return status ? result_of(W_EXITCODE(status, 0), error) : 0;
}
