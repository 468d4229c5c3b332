/*
 * Both files lie where only the target's idea of paths leads, and a JVM wants its clients to have
 * its own user and group. In the target's root no link leads the children out, and without rights
 * they can't do what the target could not do to itself. Whether the other end of the socket is the
 * process that was meant, the kernel tells: another one may have left a socket of that name, or
 * share the folder.
 *
 * All waiting is done with a deadline by the children themselves. One that hangs in the target's
 * file system is killed at the deadline.
 */
#include "proc/java_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/isolated.h"

#define POLL_MS 10	   /* how often the socket is looked for */
#define FILE_NS NS_PER_SEC /* what making or removing a file may take */

static const char request[] = "1\0jcmd\0Compiler.perfmap\0\0"; /* and the NUL of the literal */

/* --- in a child: the target's user, in its root --------------------------------------------- */

static void make_address(const struct java_socket *jvm, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(ret->sun_path, sizeof(ret->sun_path), "/tmp/.java_pid%d",
		       jvm->status.inner_pid);
}

static void trigger_path(const struct java_socket *jvm, char *to, size_t room)
{
	(void)snprintf(to, room, "/tmp/.attach_pid%d", jvm->status.inner_pid);
}

static int left_ms(const struct java_socket *jvm)
{
	uint64_t now_ns = clock_now_ns();

	return now_ns < jvm->deadline_ns
		       ? (int)((jvm->deadline_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS)
		       : 0;
}

static bool is_meant(const struct java_socket *jvm, int socket_fd)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	return getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
	       peer.pid == jvm->process->pid && peer.uid == jvm->status.uid;
}

/* -ENOENT: nobody listens there. */
static int connect_once(const struct java_socket *jvm)
{
	cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;

	if (fd < 0)
		return -errno;
	make_address(jvm, &address);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return errno == ECONNREFUSED ? -ENOENT : -errno;
	return is_meant(jvm, fd) ? take_fd(&fd) : -EADDRINUSE;
}

/* Tries again while the socket is not there, or its queue is full (EAGAIN). */
static int connect_in_time(const struct java_socket *jvm, bool is_awaited)
{
	struct pollfd end = {.fd = jvm->process->pidfd, .events = POLLIN};

	for (;;) {
		int fd = connect_once(jvm);
		int wait_ms = left_ms(jvm) < POLL_MS ? left_ms(jvm) : POLL_MS;

		if (fd != -EAGAIN && !(fd == -ENOENT && is_awaited))
			return fd;
		if (!wait_ms)
			return -ETIME;
		if (poll(&end, 1, wait_ms) > 0)
			return -ESRCH;
	}
}

/* Reads to the end, since only that says that the JVM is done; keeps what fits. */
static int read_reply(struct java_socket *jvm, int fd)
{
	struct pollfd polled = {.fd = fd, .events = POLLIN};
	char rest[256];

	for (;;) {
		size_t room = sizeof(jvm->reply) - jvm->nr_reply;
		ssize_t nr;

		if (poll(&polled, 1, left_ms(jvm)) == 0)
			return -ETIME;
		if (room)
			nr = recv(fd, jvm->reply + jvm->nr_reply, room, 0);
		else
			nr = recv(fd, rest, sizeof(rest), 0);
		if (nr == 0 || (nr < 0 && errno == ECONNRESET))
			return 0;
		if (nr < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (nr > 0 && room)
			jvm->nr_reply += (size_t)nr;
		if (!left_ms(jvm))
			return -ETIME;
	}
}

static int talk(struct java_socket *jvm, bool is_awaited, int pipe_fd)
{
	cleanup_fd int fd = connect_in_time(jvm, is_awaited);
	int err;

	if (fd < 0)
		return fd;
	if (send(fd, request, sizeof(request), MSG_NOSIGNAL) != (ssize_t)sizeof(request))
		return -EPIPE;
	err = read_reply(jvm, fd);
	if (err < 0)
		return err;
	return write(pipe_fd, jvm->reply, jvm->nr_reply) == (ssize_t)jvm->nr_reply ? 0 : -EIO;
}

static int work_talk(void *context, int pipe_fd)
{
	return talk(context, false, pipe_fd);
}

static int work_await_and_talk(void *context, int pipe_fd)
{
	return talk(context, true, pipe_fd);
}

/* One that is there already was left behind, or is not to be trusted. */
static int work_make(void *context, int pipe_fd)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	char path[64];
	int fd;

	(void)pipe_fd;
	trigger_path(context, path, sizeof(path));
	fd = open(path, flags, 0600);
	if (fd < 0 && errno == EEXIST && unlink(path) == 0)
		fd = open(path, flags, 0600);
	return fd < 0 ? -errno : close(fd);
}

static int work_remove(void *context, int pipe_fd)
{
	char path[64];

	(void)pipe_fd;
	trigger_path(context, path, sizeof(path));
	return unlink(path) < 0 ? -errno : 0;
}

/* --- running them --------------------------------------------------------------------------- */

static int take_reply(void *context, const void *bytes, size_t nr)
{
	struct java_socket *jvm = context;

	if (nr > sizeof(jvm->reply) - jvm->nr_reply)
		return -EMSGSIZE;
	memcpy(jvm->reply + jvm->nr_reply, bytes, nr);
	jvm->nr_reply += nr;
	return 0;
}

/* Without the right to enter another root, the target's must be ours. */
static bool is_own_root(int root_fd)
{
	struct stat own, its;

	return stat("/", &own) == 0 && fstat(root_fd, &its) == 0 && own.st_dev == its.st_dev &&
	       own.st_ino == its.st_ino;
}

/* Runs work as the target in at most so many nanoseconds; *error is filled if it did not run. */
static int run_as_target(struct java_socket *jvm, int (*work)(void *context, int fd),
			 uint64_t timeout_ns, struct error *error)
{
	const struct runtime_process *process = jvm->process;
	struct isolation isolation = {
		.timeout_ns = timeout_ns,
		.root_fd = geteuid() == 0 ? process->root_fd : -1,
		.uid = jvm->status.uid,
		.gid = jvm->status.gid,
		.fds = &process->pidfd,
		.nr_fds = 1,
	};

	if (geteuid() != 0 && (jvm->status.uid != geteuid() || !is_own_root(process->root_fd)))
		return error_set(error, -EPERM,
				 "cannot ask JVM %d for its names: only root may do that for "
				 "another user or in a container",
				 process->pid);
	return isolated_run(work, take_reply, jvm, &isolation, error);
}

int java_socket_talk(struct java_socket *jvm, bool is_awaited, struct error *error)
{
	uint64_t now_ns = clock_now_ns();

	jvm->nr_reply = 0;
	if (now_ns >= jvm->deadline_ns)
		return -ETIME;
	return run_as_target(jvm, is_awaited ? work_await_and_talk : work_talk,
			     jvm->deadline_ns - now_ns, error);
}

int java_socket_make_trigger(struct java_socket *jvm, struct error *error)
{
	return run_as_target(jvm, work_make, FILE_NS, error);
}

void java_socket_remove_trigger(struct java_socket *jvm)
{
	(void)run_as_target(jvm, work_remove, FILE_NS, NULL);
}
