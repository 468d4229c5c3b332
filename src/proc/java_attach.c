/*
 * Uses the protocol of the JDK's own tools. A JVM listens on /tmp/.java_pidN, where N is its pid in
 * its own pid namespace. It creates that socket when it gets SIGQUIT while there is a file
 * /tmp/.attach_pidN of its own user (with -Xrs the socket exists from the start, and the JVM does
 * not catch the signal). A client sends
 *
 *	1 NUL jcmd NUL Compiler.perfmap NUL NUL NUL
 *
 * and gets a line with a status, then text until the JVM closes the connection: 0 without text if
 * the map was written, else an error message.
 *
 * The signal is the only part that can do harm. It is sent only to a process that has a handler for
 * it, through a pidfd, and only while the file exists: without the file a JVM writes the stacks of
 * all its threads to its output. The handler could belong to a program that has loaded a JVM with
 * -Xrs, or that was started by an exec since; so the thread that JVMs start for their handlers must
 * exist. The same harm is done if the mechanism is disabled, so the usual places of that option are
 * searched; @argfiles are not followed.
 *
 * Both files are reachable only through the target's root, and a JVM requires its clients to have
 * its own user and group. So they are accessed by a child process that has switched to the target's
 * user and root: no link leads it out, and it can't do what the target could not do itself. The
 * kernel reports if the peer of the socket is the intended process: another one may have left a
 * socket of that name, or share the directory. The children wait with a deadline; a child that
 * hangs in the target's file system is killed at the deadline.
 */
#include "proc/java_attach.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/isolated.h"
#include "proc/process_info.h"

#define POLL_MS 10 /* interval of connection attempts */
/* Timeouts for making or removing a file, and for a look at one: the run waits, and looks for the map once more. */
#define FILE_NS	    NS_PER_SEC
#define LOOK_NS	    (NS_PER_SEC / 2)
#define REPLY_BYTES 2048 /* the rest is discarded */

struct jvm {
	const struct runtime_process *process; /* owned by the caller, with its descriptors */
	struct process_status status;
	uint64_t deadline_ns;
	int stop_fd; /* the wait ends when it is readable; 0 or -1: none */
	char reply[REPLY_BYTES];
	size_t nr_reply;
};

static const char request[] = "1\0jcmd\0Compiler.perfmap\0\0"; /* plus the NUL of the literal */

/* --- in a child: the target's user, in its root --------------------------------------------- */

static void make_address(const struct jvm *jvm, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(ret->sun_path, sizeof(ret->sun_path), "/tmp/.java_pid%d",
		       jvm->status.inner_pid);
}

static void trigger_path(const struct jvm *jvm, char *to, size_t room)
{
	(void)snprintf(to, room, "/tmp/.attach_pid%d", jvm->status.inner_pid);
}

static int left_ms(const struct jvm *jvm)
{
	uint64_t now_ns = clock_now_ns();

	return now_ns < jvm->deadline_ns
		       ? (int)((jvm->deadline_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS)
		       : 0;
}

static bool is_meant(const struct jvm *jvm, int socket_fd)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	return getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
	       peer.pid == jvm->process->pid && peer.uid == jvm->status.uid;
}

/* -ENOENT: nobody is listening there. */
static int connect_once(const struct jvm *jvm)
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

/* Retries while the socket does not exist, or its queue is full (EAGAIN). */
static int connect_in_time(const struct jvm *jvm, bool is_awaited)
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

/* Reads until the connection is closed, since only then the JVM is done; keeps as much as fits. */
static int read_reply(struct jvm *jvm, int fd)
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

static int converse(struct jvm *jvm, bool is_awaited, int pipe_fd)
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
	return converse(context, false, pipe_fd);
}

static int work_await_and_talk(void *context, int pipe_fd)
{
	return converse(context, true, pipe_fd);
}

/* An existing file was left behind, or is not trusted: it is replaced. */
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

/* --- running the child processes ------------------------------------------------------------ */

static int take_reply(void *context, const void *bytes, size_t nr)
{
	struct jvm *jvm = context;

	if (nr > sizeof(jvm->reply) - jvm->nr_reply)
		return -EMSGSIZE;
	memcpy(jvm->reply + jvm->nr_reply, bytes, nr);
	jvm->nr_reply += nr;
	return 0;
}

/* True if the target's root is ours; without CAP_SYS_CHROOT no other target can be reached. */
static bool is_own_root(int root_fd)
{
	struct stat own, its;

	return stat("/", &own) == 0 && fstat(root_fd, &its) == 0 && own.st_dev == its.st_dev &&
	       own.st_ino == its.st_ino;
}

/* A child with our own rights, for what may block. */
static struct isolation own_child(const struct jvm *jvm)
{
	return (struct isolation){
		.timeout_ns = LOOK_NS,
		.stop_fd = jvm->stop_fd,
		.is_trusted = true,
		.root_fd = -1,
		.uid = (uid_t)-1,
		.fds = &jvm->process->root_fd,
		.nr_fds = 1,
	};
}

/* Runs work as the target's user, with a timeout; *error is filled if it did not run. */
static int run_as_target(struct jvm *jvm, int (*work)(void *context, int fd), uint64_t timeout_ns,
			 struct error *error)
{
	const struct runtime_process *process = jvm->process;
	struct isolation isolation = {
		.timeout_ns = timeout_ns,
		.stop_fd = work == work_remove ? -1 : jvm->stop_fd,
		.root_fd = geteuid() == 0 ? process->root_fd : -1,
		.uid = jvm->status.uid,
		.gid = jvm->status.gid,
		.fds = &process->pidfd,
		.nr_fds = 1,
	};

	if (geteuid() != 0 && (jvm->status.uid != geteuid() || !is_own_root(process->root_fd)))
		return error_set(error, -EPERM,
				 "cannot ask JVM %d for its symbols: only root may do that for "
				 "another user or in a container",
				 process->pid);
	return isolated_run(work, take_reply, jvm, &isolation, error);
}

/*
 * Sends the request and reads the whole reply, until the deadline. 0; -ENOENT immediately if nobody
 * is listening, or, if the socket is awaited, -ETIME if it does not appear. *error may be empty
 * then, and after -ESRCH (the process exited), -EADDRINUSE (another process has its socket) or
 * another errno.
 */
static int talk_as_target(struct jvm *jvm, bool is_awaited, struct error *error)
{
	uint64_t now_ns = clock_now_ns();

	jvm->nr_reply = 0;
	if (now_ns >= jvm->deadline_ns)
		return -ETIME;
	return run_as_target(jvm, is_awaited ? work_await_and_talk : work_talk,
			     jvm->deadline_ns - now_ns, error);
}

/* Makes the file that lets SIGQUIT create the socket; it must be removed again. */
static int make_trigger(struct jvm *jvm, struct error *error)
{
	return run_as_target(jvm, work_make, FILE_NS, error);
}

static void remove_trigger(struct jvm *jvm)
{
	(void)run_as_target(jvm, work_remove, FILE_NS, NULL);
}

#define OPTIONS_BYTES (256u << 10)

/* "Signal Dispatcher", truncated by the kernel. It is among the first threads of a JVM. */
#define DISPATCHER	"Signal Dispatch"
#define DISPATCHER_NEAR 1024

static int explain(const struct jvm *jvm, int err, struct error *error)
{
	int pid = jvm->process->pid;

	switch (err) {
	case -ETIME:
		return error_set(error, err, "JVM %d did not answer in time", pid);
	case -ESRCH:
		return error_set(error, err, "JVM %d exited before it could report its symbols",
				 pid);
	case -EADDRINUSE:
		return error_set(
			error, err,
			"cannot ask JVM %d for its symbols: another process has its socket, "
			"/tmp/.java_pid%d",
			pid, jvm->status.inner_pid);
	default:
		errno = -err;
		return error_set_errno(error, "cannot ask JVM %d for its symbols", pid);
	}
}

/* 0; or -ENOENT without *error: the JVM is not listening. */
static int talk(struct jvm *jvm, bool is_awaited, struct error *error)
{
	struct error own = {0};
	int err = talk_as_target(jvm, is_awaited, &own);

	if (err == 0 || (err == -ENOENT && !is_awaited))
		return err;
	if (!own.code || err == -ETIME)
		return explain(jvm, err, error);
	return error_set(error, err, "%s", own.text);
}

/* --- waking the JVM ------------------------------------------------------------------------- */

/* True if an environment variable with JVM options disables attaching. */
static bool variable_forbids(const char *text)
{
	static const char *const variables[] = {
		"JAVA_TOOL_OPTIONS=", "JDK_JAVA_OPTIONS=", "_JAVA_OPTIONS="};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(variables); i++)
		if (!strncmp(text, variables[i], strlen(variables[i])))
			return strstr(text, "-XX:+DisableAttachMechanism") != NULL;
	return false;
}

static bool argument_forbids(const char *text)
{
	return !strcmp(text, "-XX:+DisableAttachMechanism");
}

/*
 * Checks each NUL-terminated string in a file of /proc/PID. Returns 1 if one is forbidden, 0 or
 * -errno.
 */
static int any_text(int32_t pid, const char *what, bool (*forbids)(const char *text))
{
	cleanup_free char *texts = malloc(OPTIONS_BYTES);
	cleanup_file FILE *file = process_open_file(pid, what);
	const char *at;
	size_t nr;

	if (!texts || !file)
		return file ? -ENOMEM : -errno;
	nr = fread(texts, 1, OPTIONS_BYTES - 1, file);
	texts[nr] = '\0';
	for (at = texts; at < texts + nr; at += strlen(at) + 1)
		if (forbids(at))
			return 1;
	return 0;
}

static bool is_dispatcher(int32_t pid, const char *tid)
{
	cleanup_file FILE *file = NULL;
	char what[48], comm[32] = "";

	if (snprintf(what, sizeof(what), "task/%s/comm", tid) >= (int)sizeof(what))
		return false;
	file = process_open_file(pid, what);
	return file && fgets(comm, sizeof(comm), file) && !strcmp(comm, DISPATCHER "\n");
}

static bool has_dispatcher(int32_t pid)
{
	const struct dirent *entry;
	bool found = false;
	char path[64];
	unsigned nr;
	DIR *tasks;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	for (nr = 0; tasks && !found && nr < DISPATCHER_NEAR && (entry = readdir(tasks)); nr++)
		found = is_dispatcher(pid, entry->d_name);
	if (tasks)
		(void)closedir(tasks);
	return found;
}

/* Reads the status again, as late as possible before the signal: an exec resets handlers. */
static int check_ready(struct jvm *jvm, struct error *error)
{
	int32_t pid = jvm->process->pid;

	if (process_status_read(pid, &jvm->status) < 0)
		return explain(jvm, -ESRCH, error);
	if (jvm->status.state == 'T' || jvm->status.state == 't')
		return error_set(error, -EAGAIN, "cannot ask JVM %d for its symbols: it is stopped",
				 pid);
	if (!process_status_catches(&jvm->status, SIGQUIT) || !has_dispatcher(pid)) {
		error_set(error, -EAGAIN,
			  "cannot ask JVM %d for its symbols: it does not catch SIGQUIT", pid);
		error_hint(error, "it is still starting, or was started with -Xrs; no signal was "
				  "sent");
		return -EAGAIN;
	}
	return 0;
}

/* Runs in a child: whoever reads the memory of a process waits while it does not leave mmap(). */
static int work_look_for_options(void *context, int pipe_fd)
{
	const struct jvm *jvm = context;
	int found = any_text(jvm->process->pid, "cmdline", argument_forbids);

	if (found == 0)
		found = any_text(jvm->process->pid, "environ", variable_forbids);
	return found > 0 ? -EKEYREJECTED : found;
}

static int check_allowed(struct jvm *jvm, struct error *error)
{
	const struct isolation isolation = own_child(jvm);
	int32_t pid = jvm->process->pid;
	int err = isolated_run(work_look_for_options, take_reply, jvm, &isolation, NULL);

	if (err != -EKEYREJECTED)
		return err < 0 ? explain(jvm, err, error) : 0;
	return error_set(error, -EPERM,
			 "cannot ask JVM %d for its symbols: it runs with "
			 "-XX:+DisableAttachMechanism",
			 pid);
}

/*
 * If the pid was reused meanwhile, the pidfd's process has exited and no other one gets the signal.
 */
static int send_quit(struct jvm *jvm, struct error *error)
{
	int err = check_ready(jvm, error);

	if (err < 0)
		return err;
	if (syscall(SYS_pidfd_send_signal, jvm->process->pidfd, SIGQUIT, NULL, 0) < 0)
		return explain(jvm, -errno, error);
	return 0;
}

static int wake_and_talk(struct jvm *jvm, struct error *error)
{
	struct error own = {0};
	int err = check_allowed(jvm, error);

	if (err == 0)
		err = check_ready(jvm, error);
	if (err < 0)
		return err;
	err = make_trigger(jvm, &own);
	if (err < 0)
		return error_set(
			error, err,
			"cannot ask JVM %d for its symbols: cannot create '/tmp/.attach_pid%d' "
			"below its root: %s",
			jvm->process->pid, jvm->status.inner_pid,
			own.code ? own.text : strerror(-err));
	err = send_quit(jvm, error);
	if (err == 0)
		err = talk(jvm, true, error);
	remove_trigger(jvm);
	return err;
}

/* --- the reply ------------------------------------------------------------------------------- */

/* Copies the first line of the reply after the status, without control characters. */
static void copy_words(const char *text, char *to, size_t room)
{
	size_t i, nr = strcspn(text, "\n");

	for (i = 0; i < nr && i + 1 < room; i++)
		to[i] = (char)(isprint((unsigned char)text[i]) ? text[i] : '?');
	to[i] = '\0';
}

static int explain_refusal(const struct jvm *jvm, const char *text, struct error *error)
{
	int pid = jvm->process->pid;
	char words[200];

	if (strstr(text, "Unknown diagnostic command")) {
		error_set(error, -EOPNOTSUPP, "JVM %d has no command to write its perf map", pid);
		error_hint(error, "this needs Java 17 or newer");
		return -EOPNOTSUPP;
	}
	copy_words(text, words, sizeof(words));
	return error_set(error, -EREMOTEIO, "JVM %d refused to write its perf map%s%s", pid,
			 *words ? ": " : "", words);
}

static int check_reply(struct jvm *jvm, struct error *error)
{
	int pid = jvm->process->pid;
	char text[REPLY_BYTES + 1];
	char *end;
	long status;

	memcpy(text, jvm->reply, jvm->nr_reply);
	text[jvm->nr_reply] = '\0';
	if (!jvm->nr_reply)
		return error_set(error, -EPROTO, "JVM %d closed the connection without a reply",
				 pid);
	status = strtol(text, &end, 10);
	if (end == text || isspace((unsigned char)*text) || *end != '\n')
		return error_set(error, -EPROTO, "JVM %d sent an invalid reply", pid);
	if (status != 0 || strstr(end, "Unknown diagnostic command"))
		return explain_refusal(jvm, end + 1, error);
	return 0;
}

/* A perf map as it was seen. */
struct seen_map {
	struct perf_map_file file;
	int32_t err;
	uid_t uid;
	struct timespec written;
};

/* Runs in a child, since the file may be on a file system that does not answer. */
static int work_see(void *context, int fd)
{
	struct seen_map *map = context;
	struct stat st = {0};
	int map_fd = file_open_written(map->file.root_fd, map->file.path,
				       map->file.written_since_ns, &map->file.owners);

	if (map_fd >= 0 && fstat(map_fd, &st) < 0)
		return -errno;
	map->err = map_fd < 0 ? map_fd : 0;
	map->uid = st.st_uid;
	map->written = st.st_mtim;
	return write(fd, map, sizeof(*map)) == sizeof(*map) ? 0 : -EIO;
}

static int take_map(void *context, const void *bytes, size_t nr)
{
	if (nr != sizeof(struct seen_map))
		return -EPROTO;
	memcpy(context, bytes, nr);
	return 0;
}

/*
 * Finds the time at which the map was written; {0} if there is none. A JVM that can't open the file
 * prints an error to its own output and still replies 0, so a file of another user is detected
 * beforehand.
 */
static int find_map(const struct jvm *jvm, struct timespec *ret, struct error *error)
{
	const struct isolation isolation = own_child(jvm);
	struct seen_map map = {.err = -ENOENT};
	int err = 0;

	if (runtime_process_map(jvm->process, &map.file) == 0)
		err = isolated_run(work_see, take_map, &map, &isolation, NULL);
	if (err == -ETIME)
		return error_set(
			error, err,
			"JVM %d was not asked for its symbols: its /tmp did not answer in time",
			jvm->process->pid);
	if (err < 0)
		return explain(jvm, err, error);
	if (map.err == -EACCES || (map.err == 0 && map.uid != jvm->status.uid))
		return error_set(error, -EACCES,
				 "cannot ask JVM %d for its symbols: /tmp/perf-%d.map belongs to "
				 "another user, or is not a regular file",
				 jvm->process->pid, jvm->status.inner_pid);
	*ret = map.err == 0 ? map.written : (struct timespec){0};
	return 0;
}

static int check_written(const struct jvm *jvm, const struct timespec *before, struct error *error)
{
	struct timespec now;
	int err = find_map(jvm, &now, error);

	if (err < 0)
		return err;
	if (now.tv_sec != before->tv_sec || now.tv_nsec != before->tv_nsec)
		return 0;
	error_set(error, -ENOENT, "JVM %d reported success, but wrote no perf map",
		  jvm->process->pid);
	error_hint(error, "is its file system full? The file is /tmp/perf-%d.map below its root",
		   jvm->status.inner_pid);
	return -ENOENT;
}

int java_attach_write_map(const struct runtime_process *process, uint64_t timeout_ns, int stop_fd,
			  struct error *error)
{
	struct jvm jvm = {
		.process = process, .stop_fd = stop_fd, .deadline_ns = clock_now_ns() + timeout_ns};
	struct timespec before;
	int err;

	if (!process->runtime || !process->runtime->is_java)
		return error_set(error, -EINVAL, "process %d is not a HotSpot JVM", process->pid);
	if (process->pidfd < 0 || process->root_fd < 0 ||
	    process_status_read(process->pid, &jvm.status) < 0)
		return explain(&jvm, -ESRCH, error);
	err = find_map(&jvm, &before, error);
	if (err < 0)
		return err;
	err = talk(&jvm, false, error);
	if (err == -ENOENT)
		err = wake_and_talk(&jvm, error);
	if (err == 0)
		err = check_reply(&jvm, error);
	return err < 0 ? err : check_written(&jvm, &before, error);
}
