/*
 * A child without rights, and the host that serves it until it ends.
 *
 * Requests and replies are datagrams of a socket pair, one at a time. The bytes of questions and answers are in a
 * buffer, a memfd: the child writes a question to it, the host copies it and replaces it by the answer.
 *
 * Some functions of the C library read a file when they are first called: the time zone. This is done before the
 * fork.
 */
#include "worker/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "base/file/read_budget.h"
#include "base/isolated.h"
#include "worker/confine.h"
#include "worker/message.h"

#define SANDBOX_NAME "stook-reader"
#define SERVER_NAME  "stook-server"

/* Questions and answers are frames and their names: of the largest profile, with long names. */
#define BUFFER_MAX_BYTES (4ULL << 30)

struct sandbox {
	int socket;
	int buffer;
};

enum request_kind {
	REQUEST_OPEN = 1,   /* the file at `path` */
	REQUEST_FINISH,	    /* output `number` */
	REQUEST_ANSWER,	    /* `number` bytes are in the buffer */
	REQUEST_MEMORY,	    /* the spare memory */
	REQUEST_UNCONFINED, /* no reply: the rights could not be dropped, see `error` */
	REQUEST_END,	    /* no reply: the result of the work is error.code */
};

struct request {
	uint32_t kind;
	uint32_t reserved;
	uint64_t number;
	union {
		char path[PATH_MAX];
		struct error error;
	};
};

/* If a file was opened, its descriptor is attached. */
struct reply {
	uint64_t number; /* bytes of the answer, or of memory */
	struct error error;
};

/* --- in the child ----------------------------------------------------------------------------- */

/* Returns a negative errno if the request failed; else *ret_fd is the attached descriptor, or -1. */
static int call(struct sandbox *sandbox, const struct request *request, struct reply *ret,
		int *ret_fd)
{
	int err = message_send(sandbox->socket, request, sizeof(*request), NULL, 0);
	ssize_t nr =
		err < 0 ? err : message_receive(sandbox->socket, ret, sizeof(*ret), 0, ret_fd, 1);

	if (nr != sizeof(*ret))
		_exit(EXIT_FAILURE); /* the host is gone */
	return ret->error.code;
}

int sandbox_open(struct sandbox *sandbox, const char *path)
{
	struct request request = {.kind = REQUEST_OPEN};
	struct reply reply;
	int fd, err;

	if (strlen(path) >= sizeof(request.path))
		return -ENAMETOOLONG;
	(void)strcpy(request.path, path);
	err = call(sandbox, &request, &reply, &fd);
	return err < 0 ? err : fd >= 0 ? fd : -EMFILE;
}

int sandbox_finish(struct sandbox *sandbox, uint32_t number, struct error *error)
{
	const struct request request = {.kind = REQUEST_FINISH, .number = number};
	struct reply reply;
	int fd, err = call(sandbox, &request, &reply, &fd);

	if (err < 0)
		*error = reply.error;
	return err;
}

int sandbox_fd(const struct sandbox *sandbox)
{
	return sandbox->socket;
}

uint64_t sandbox_spare_memory(struct sandbox *sandbox)
{
	const struct request request = {.kind = REQUEST_MEMORY};
	struct reply reply;
	int fd;

	(void)call(sandbox, &request, &reply, &fd);
	return reply.number;
}

/* Replaces the content of the buffer. */
static int fill_buffer(const struct sandbox *sandbox, const void *bytes, size_t nr)
{
	return ftruncate(sandbox->buffer, 0) < 0 ? -errno
						 : fd_write_at(sandbox->buffer, 0, bytes, nr);
}

static int copy_buffer(const struct sandbox *sandbox, size_t nr, void **ret)
{
	cleanup_free void *bytes = malloc(nr + 1);
	int err = bytes ? fd_read_at(sandbox->buffer, 0, bytes, nr) : -ENOMEM;

	if (err == 0)
		*ret = take_pointer(&bytes);
	return err;
}

int sandbox_ask(struct sandbox *sandbox, const void *question, size_t nr, void **ret,
		size_t *ret_nr, struct error *error)
{
	const struct request request = {.kind = REQUEST_ANSWER, .number = nr};
	struct reply reply = {.number = 0};
	int fd, err = fill_buffer(sandbox, question, nr);

	if (err == 0)
		err = call(sandbox, &request, &reply, &fd);
	if (err == 0)
		err = copy_buffer(sandbox, reply.number, ret);
	*error = reply.error;
	if (err == 0)
		*ret_nr = reply.number;
	else if (!*error->text)
		(void)error_set(error, err, "cannot ask for names: %s", strerror(-err));
	return err;
}

static int confine(const struct sandbox *sandbox, const struct sandbox_host *host, pid_t parent,
		   struct error *error)
{
	const uid_t user = confine_user();
	int kept[SANDBOX_MAX_FDS + 5] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO,
					 sandbox->socket, sandbox->buffer};
	const struct isolation limits = {
		.timeout_ns = UINT64_MAX,
		.written_bytes = UINT64_MAX,
		.root_fd = -1,
		.uid = user,
		.gid = user,
		.fds = kept,
		.nr_fds = 5 + host->nr_fds,
		.keeps_signals = true,
		.may_fork = host->is_server,
	};
	size_t i;
	int err;

	if (host->nr_fds > SANDBOX_MAX_FDS)
		return error_set(error, -E2BIG, "too many outputs");
	for (i = 0; i < host->nr_fds; i++)
		kept[5 + i] = host->fds[i];
	err = isolated_confine(&limits, error);
	/* The parent may have exited before the death signal was set. */
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	return err < 0 ? err
		       : confine_system_calls(host->is_server ? CONFINED_SERVER : CONFINED_COMMAND,
					      error);
}

__attribute__((noreturn)) static void run_child(const struct sandbox *from,
						const struct sandbox_host *host, pid_t parent)
{
	struct sandbox sandbox = *from;
	struct request last = {.kind = REQUEST_UNCONFINED};

	(void)prctl(PR_SET_NAME, host->is_server ? SERVER_NAME : SANDBOX_NAME);
	if (confine(&sandbox, host, parent, &last.error) == 0) {
		last.kind = REQUEST_END;
		last.error.code = host->work(host->context, &sandbox, &last.error);
	}
	(void)message_send(sandbox.socket, &last, sizeof(last), NULL, 0);
	/* Without exit handlers: those of a sanitizer would make system calls that are not allowed. */
	_exit(EXIT_SUCCESS);
}

/* --- in the host ------------------------------------------------------------------------------ */

bool sandbox_is_needed(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	return geteuid() == 0 || getuid() == 0 || syscall(SYS_capget, &header, data) < 0 ||
	       data[0].permitted || data[1].permitted;
}

static int open_listed(const struct sandbox_host *host, const char *path)
{
	size_t i;

	for (i = 0; i < host->nr_paths; i++)
		if (!strcmp(host->paths[i], path)) {
			int fd;

			if (host->open)
				return host->open(host->context, path);
			fd = open(path, O_RDONLY | O_CLOEXEC);

			return fd < 0 ? -errno : fd;
		}
	return -EACCES;
}

static int answer(const struct sandbox *sandbox, const struct sandbox_host *host, uint64_t nr,
		  struct reply *reply)
{
	cleanup_free void *question = NULL, *bytes = NULL;
	size_t nr_bytes = 0;
	int err = !host->answer ? -EINVAL : nr > BUFFER_MAX_BYTES ? -E2BIG : 0;

	if (err == 0)
		err = copy_buffer(sandbox, nr, &question);
	if (err == 0)
		err = host->answer(host->context, question, nr, &bytes, &nr_bytes, &reply->error);
	if (err == 0)
		err = fill_buffer(sandbox, bytes, nr_bytes);
	reply->number = nr_bytes;
	return err;
}

/* Carries out a request. Returns the descriptor to attach, or -1. */
static int serve(const struct sandbox *sandbox, const struct sandbox_host *host,
		 struct request *request, struct reply *reply)
{
	int fd = -1, err = 0;

	request->path[sizeof(request->path) - 1] = '\0';
	if (request->kind == REQUEST_OPEN)
		err = fd = open_listed(host, request->path);
	else if (request->kind == REQUEST_FINISH && host->finish && request->number <= UINT32_MAX)
		err = host->finish(host->context, (uint32_t)request->number, &reply->error);
	else if (request->kind == REQUEST_ANSWER)
		err = answer(sandbox, host, request->number, reply);
	else if (request->kind == REQUEST_MEMORY)
		reply->number = read_budget_spare_memory();
	else
		err = -EINVAL;
	reply->error.code = err < 0 ? err : 0;
	return fd;
}

/* Takes the child's last words. */
static void take_end(struct request *last, struct error *error)
{
	last->error.text[sizeof(last->error.text) - 1] = '\0';
	last->error.hint[sizeof(last->error.hint) - 1] = '\0';
	if (last->kind == REQUEST_END) {
		*error = last->error;
		return;
	}
	(void)error_set(error, -EPERM, "cannot give up privileges to read the input: %.300s",
			last->error.text);
	error_hint(error, "run this as an ordinary user: it needs no privileges");
}

/* Serves requests until the child ends. Returns true if it said how: then *error is set. */
static bool serve_all(const struct sandbox *sandbox, const struct sandbox_host *host,
		      struct error *error)
{
	struct request request;

	while (message_receive(sandbox->socket, &request, sizeof(request), 0, NULL, 0) ==
	       sizeof(request)) {
		struct reply reply = {.number = 0};
		int fd;

		if (request.kind == REQUEST_UNCONFINED || request.kind == REQUEST_END) {
			take_end(&request, error);
			return true;
		}
		fd = serve(sandbox, host, &request, &reply);
		(void)message_send(sandbox->socket, &reply, sizeof(reply), &fd, fd >= 0);
		if (fd >= 0)
			(void)close(fd);
	}
	return false;
}

/* True if the child did something wrong, or memory is short; else somebody wanted the program to end. */
static bool is_fault(int number)
{
	static const int faults[] = {SIGSYS, SIGSEGV, SIGBUS,  SIGILL,
				     SIGFPE, SIGABRT, SIGTRAP, SIGKILL};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(faults); i++)
		if (faults[i] == number)
			return true;
	return false;
}

/* Why the child ended before its work. */
static int explain(const struct sandbox_host *host, int status, struct error *error)
{
	const char *which = host->is_server ? "the server" : "the process that reads the input";
	const int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (number && !is_fault(number)) {
		(void)signal(number, SIG_DFL);
		(void)raise(number);
	}
	if (number == SIGSYS)
		return error_set(error, -EFAULT, "%s made a forbidden system call and was killed",
				 which);
	if (number)
		return error_set(error, -EFAULT, "%s was killed by signal %d (%s)", which, number,
				 sigdescr_np(number));
	return error_set(error, -EPROTO, "%s ended with status %d", which, WEXITSTATUS(status));
}

static int start(struct sandbox *sandbox, int sockets[2], struct error *error)
{
	sandbox->buffer = memfd_create("stook-names", MFD_CLOEXEC);
	if (sandbox->buffer < 0)
		return error_set_errno(error, "cannot create a buffer");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0)
		return 0;
	(void)error_set_errno(error, "cannot make a pair of sockets");
	(void)close(sandbox->buffer);
	return error->code;
}

int sandbox_run(const struct sandbox_host *host, struct error *error)
{
	struct sandbox sandbox = {.socket = -1};
	const pid_t parent = getpid();
	int sockets[2], status = 0;
	pid_t pid;
	bool has_ended = false;
	int err = start(&sandbox, sockets, error);

	if (err < 0)
		return err;
	tzset();
	pid = fork();
	sandbox.socket = sockets[pid == 0];
	if (pid == 0)
		run_child(&sandbox, host, parent);
	if (pid < 0)
		err = error_set_errno(error, "cannot start a process");
	(void)close(sockets[1]);
	if (pid > 0)
		has_ended = serve_all(&sandbox, host, error);
	(void)close(sockets[0]); /* the child ends if it is still there */
	(void)close(sandbox.buffer);
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return error_set_errno(error, "cannot wait for a process");
	return pid < 0 ? err : has_ended ? error->code : explain(host, status, error);
}
