/*
 * The worker processes, from exec to exit.
 *
 * A parser drops all rights before it reads a question: descriptors, root's user id, capabilities, and the
 * right to start processes. Its memory has no copy of stook's data, since it was executed anew. A seccomp
 * filter leaves a few dozen system calls that operate on memory and on open descriptors; any other one kills
 * the parser, and so does mapping executable memory. Since a parser cannot open files, it requests files that
 * a debug file refers to from stook; also those that libdw opens.
 *
 * The opener keeps the rights to look at files and processes, and parses nothing. It opens only regular files with
 * content of their own (proc/file_open). Its tasks note in memory that they share with stook what they are about to do.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <malloc.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/file/fd_io.h"
#include "base/file/read_budget.h"
#include "base/isolated.h"
#include "worker/confine.h"
#include "worker/message.h"

/* Questions are options and lists of addresses. */
#define QUESTION_MAX_BYTES (64u << 20)

/* The largest answers are names and lines of a large program, for many addresses. */
#define ANSWER_MAX_BYTES (256ULL << 20)

#define MEMORY_MAX_BYTES (8ULL << 30)
#define MEMORY_SHARE	 2 /* limit: 1/n of the host's available memory, if that is less */

/* A parser without a call for so long is idle. */
#define IDLE_AFTER_MS 100

/*
 * Deliveries requested by parsers are numbered from here; the ones for questions are below. The job is a part of the
 * number: what was delivered for an earlier parser's job is for none of the next one's requests.
 */
#define FIRST_WANT 0x80000000u
#define WANT_BITS  9 /* of the requests of a job, see QUESTION_WANTS_MAX */

struct parser_state {
	uint32_t job;
	uint32_t last_want; /* of this job */
	struct rlimit data; /* as it was at the start */
};

struct opener_state {
	int memory; /* the memfd of the call */
	struct opener_reply reply;
};

/* --- the opener ------------------------------------------------------------------------------- */

/* Opens the first possible path, and describes it. Returns a descriptor or a negative errno. */
static int open_path(const struct opener_call *call, size_t bytes, int root, struct delivery *ret)
{
	struct bytes rest = bytes_of(call->paths, bytes);
	int fd = -ENOENT, last = -ENOENT;
	const char *path;
	uint32_t i;

	for (i = 0; (path = bytes_string(&rest)) && fd < 0; i++) {
		if (i < call->first)
			continue;
		if (call->action == OPENER_WRITTEN)
			fd = file_open_written(root, path, call->written_since_ns, &call->owners);
		else if (call->action == OPENER_OWNED)
			fd = file_open_owned(root, path, &call->owners);
		else
			fd = file_open_below(root, path);
		if (fd < 0 && fd != -ENOENT && !worker_is_passing(last))
			last = fd;
		ret->path = i;
		(void)snprintf(ret->opened, sizeof(ret->opened), "%s", path);
	}
	return fd < 0 ? last : fd;
}

/* Opens a file, passes the descriptor on, and closes it. Each step may hang. */
static void deliver(const struct opener_call *call, size_t bytes, int handle,
		    const int inboxes[NR_PARSERS])
{
	struct delivery delivery = {.number = call->delivery};
	int fd;

	if (call->action == OPENER_REOPEN)
		fd = handle < 0 ? -EMFILE : file_open_handle(handle);
	else
		fd = open_path(call, bytes, handle, &delivery);
	delivery.err = fd < 0 ? fd : 0;
	(void)message_send(inboxes[call->parser], &delivery,
			   offsetof(struct delivery, opened) + strlen(delivery.opened) + 1, &fd,
			   fd >= 0);
	if (fd >= 0)
		(void)close(fd);
}

/* Waits until stook reads, if the socket is full. */
static void send_reply(const struct opener_reply *reply, size_t bytes, const int *fds,
		       size_t nr_fds)
{
	struct pollfd writable = {.fd = WORKER_CONTROL_FD, .events = POLLOUT};
	int err;

	while ((err = message_send(WORKER_CONTROL_FD, reply,
				   offsetof(struct opener_reply, bytes) + bytes, fds, nr_fds)) ==
	       -EAGAIN)
		(void)poll(&writable, 1, -1);
	if (err < 0)
		_exit(1);
}

static void look(const struct opener_call *call, int root_fd, struct opener_reply *reply)
{
	const struct file_look look = {
		.id = call->id,
		.path = call->paths,
		.pid = call->pid,
		.start = call->start,
		.end = call->end,
		.root_fd = root_fd,
	};
	int fds[MESSAGE_FDS_MAX];
	size_t nr_fds = 0, i;

	look_at_file(&look, &reply->file);
	if (reply->file.err == 0)
		fds[nr_fds++] = reply->file.found.handle;
	if (reply->file.root_err == 0)
		fds[nr_fds++] = reply->file.root_fd;
	send_reply(reply, 0, fds, nr_fds);
	for (i = 0; i < nr_fds; i++)
		(void)close(fds[i]);
}

struct mappings_writer {
	struct opener_reply *reply;
	size_t bytes;
};

/* Adds a mapping to the reply, and sends the reply when it is full. */
static int write_mapping(void *context, const struct maps_entry *entry, bool is_memory)
{
	struct mappings_writer *writer = context;
	const size_t path_bytes =
		(strlen(entry->path) + sizeof(uint64_t)) & ~(sizeof(uint64_t) - 1);
	const struct mapping_message message = {.start = entry->start,
						.end = entry->end,
						.offset = entry->offset,
						.id = entry->id,
						.is_memory = is_memory,
						.path_bytes = (uint32_t)path_bytes};
	char *to;

	if (path_bytes > PATH_MAX + sizeof(uint64_t))
		return 0;
	if (writer->bytes + sizeof(message) + path_bytes > REPLY_BYTES) {
		send_reply(writer->reply, writer->bytes, NULL, 0);
		writer->bytes = 0;
	}
	to = writer->reply->bytes + writer->bytes;
	memcpy(to, &message, sizeof(message));
	memset(to + sizeof(message), 0, path_bytes);
	memcpy(to + sizeof(message), entry->path, strlen(entry->path));
	writer->bytes += sizeof(message) + path_bytes;
	return 0;
}

static void look_at_mappings(const struct opener_call *call, struct opener_reply *reply)
{
	struct mappings_writer writer = {.reply = reply};

	(void)look_at_maps(call->pid, write_mapping, &writer, &reply->maps);
	reply->is_last = true;
	send_reply(reply, writer.bytes, NULL, 0);
}

void worker_begins(struct worker_job *job, const char *format, ...)
{
	struct opener_progress progress;
	va_list arguments;

	if (!job || !job->opener)
		return;
	va_start(arguments, format);
	(void)vsnprintf(progress.what, sizeof(progress.what), format, arguments);
	va_end(arguments);
	(void)fd_write_at(job->opener->memory, 0, progress.what, strlen(progress.what) + 1);
}

int worker_send_part(struct worker_job *job, const void *bytes, size_t nr,
		     const int handles[WORKER_HANDLES_MAX])
{
	struct opener_reply *reply = &job->opener->reply;
	int fds[WORKER_HANDLES_MAX];
	size_t nr_fds = 0, i;

	if (nr > sizeof(reply->bytes))
		return -EMSGSIZE;
	memcpy(reply->bytes, bytes, nr);
	for (i = 0; i < WORKER_HANDLES_MAX; i++)
		if (handles[i] >= 0)
			fds[nr_fds++] = handles[i];
	send_reply(reply, nr, fds, nr_fds);
	return 0;
}

/* Returns the size of the question in a memfd; 0: none. */
static size_t question_bytes(int memory)
{
	struct stat st;

	return fstat(memory, &st) == 0 && (size_t)st.st_size > sizeof(struct opener_progress)
		       ? (size_t)st.st_size - sizeof(struct opener_progress)
		       : 0;
}

static void run_opener_task(const struct opener_call *call, int memory,
			    const struct worker_task *task)
{
	struct opener_state *opener = calloc(1, sizeof(*opener));
	const size_t nr = question_bytes(memory);
	void *question = malloc(nr + 1), *state = NULL;
	struct worker_job job = {.fd = -ENOENT,
				 .answer_fd = -1,
				 .question = bytes_of(question, nr),
				 .opener = opener};
	int err;

	if (!opener || !question)
		_exit(1);
	opener->memory = memory;
	opener->reply.number = call->number;
	err = fd_read_at(memory, sizeof(struct opener_progress), question, nr);
	opener->reply.task_err = err < 0 ? err : task->run(&job, &state);
	opener->reply.is_last = true;
	send_reply(&opener->reply, 0, NULL, 0);
	free(question);
	free(opener);
}

/* Carries out one call, closes its descriptor, and replies. */
static void carry_out(const struct opener_call *call, size_t bytes, int fd,
		      const int inboxes[NR_PARSERS])
{
	struct opener_reply reply;

	memset(&reply, 0, offsetof(struct opener_reply, bytes));
	reply.number = call->number;
	reply.is_last = call->action != OPENER_LOOK_AT_MAPS;
	if (call->action == OPENER_LOOK_AT_MAPS) {
		look_at_mappings(call, &reply);
	} else if (call->action == OPENER_LOOK_AT_PROCESS) {
		look_at_process(call->pid, &reply.process);
		send_reply(&reply, 0, NULL, 0);
	} else if (call->action == OPENER_LOOK) {
		look(call, fd, &reply);
	} else {
		deliver(call, bytes, fd, inboxes);
		if (fd >= 0)
			(void)close(fd);
		send_reply(&reply, 0, NULL, 0);
		return;
	}
	if (fd >= 0)
		(void)close(fd);
}

static void tell_ready(void)
{
	struct opener_reply ready;

	memset(&ready, 0, offsetof(struct opener_reply, bytes));
	ready.number = OPENER_READY;
	send_reply(&ready, 0, NULL, 0);
}

static int run_opener(const struct worker_task *tasks, size_t nr_tasks)
{
	int inboxes[NR_PARSERS];
	struct opener_call call;
	size_t i;

	(void)prctl(PR_SET_NAME, OPENER_NAME);
	isolated_close_from(WORKER_CONTROL_FD + 1);
	fd_open_standard_streams();
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)prctl(PR_SET_DUMPABLE, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	isolated_keep_capabilities(1ULL << CAP_SYS_PTRACE | 1ULL << CAP_DAC_READ_SEARCH |
					   1ULL << CAP_CHECKPOINT_RESTORE,
				   1ULL << CAP_CHECKPOINT_RESTORE);
	for (i = 0; i < NR_PARSERS; i++)
		inboxes[i] = -1;
	tell_ready();
	for (;;) {
		int fd;
		ssize_t nr = message_receive(WORKER_CONTROL_FD, &call, sizeof(call), 0, &fd, 1);

		if (nr < 0)
			return nr != -ECONNRESET;
		if (nr < (ssize_t)offsetof(struct opener_call, paths) ||
		    call.parser >= NR_PARSERS || call.task >= nr_tasks ||
		    (call.action == OPENER_LOOK && !memchr(call.paths, '\0', sizeof(call.paths))))
			return 1;
		if (call.action == OPENER_PARSER) {
			if (inboxes[call.parser] >= 0)
				(void)close(inboxes[call.parser]);
			inboxes[call.parser] = fd;
			continue;
		}
		if (call.action == OPENER_TASK) {
			run_opener_task(&call, fd, &tasks[call.task]);
			(void)close(fd);
			continue;
		}
		carry_out(&call, (size_t)nr - offsetof(struct opener_call, paths), fd, inboxes);
	}
}

/* --- files that libraries open ---------------------------------------------------------------- */

/*
 * libdw opens .dwo files, and the file that dwz moved shared entries to, by itself. The seccomp filter turns these
 * system calls into SIGSYS, and its handler makes them. It is called in the middle of libdw, so it makes only
 * system calls itself. A parser has one thread and one job.
 */
static struct {
	struct worker_job *job; /* NULL: nothing is served */
	const char *path;
} served;

void worker_serve_library(struct worker_job *job, const char *path)
{
	served.path = path;
	served.job = path ? job : NULL;
}

/* readlink() of /proc/self/fd/N gives the path that is known; nothing else is a link. */
static long serve_readlink(const char *path, char *to, size_t room)
{
	const char *start = "/proc/self/fd/";
	size_t nr = strlen(served.path);

	if (strncmp(path, start, strlen(start)) != 0)
		return -EINVAL;
	nr = nr < room ? nr : room;
	memcpy(to, served.path, nr);
	return (long)nr;
}

/* The file is in any of the places where debug files may be. */
static long serve_open(const char *path, uint64_t flags)
{
	struct worker_want want = {.kind = WANT_PATH};
	int fd;

	if ((flags & O_ACCMODE) != O_RDONLY || path[0] != '/' || strlen(path) >= sizeof(want.name))
		return -EACCES;
	(void)strcpy(want.name, path);
	for (;; want.place++) {
		fd = worker_want(served.job, &want);
		if (fd >= 0 || fd == -ENODATA)
			return fd >= 0 ? fd : -ENOENT;
	}
}

static void serve_call(int signal_number, siginfo_t *info, void *opaque)
{
	const int before = errno;
	ucontext_t *context = opaque;
	int number = info->si_syscall;
	uint64_t args[4];
	long result;

	if (!served.job)
		_exit(1);
#if defined(__x86_64__)
	args[0] = (uint64_t)context->uc_mcontext.gregs[REG_RDI];
	args[1] = (uint64_t)context->uc_mcontext.gregs[REG_RSI];
	args[2] = (uint64_t)context->uc_mcontext.gregs[REG_RDX];
	args[3] = (uint64_t)context->uc_mcontext.gregs[REG_R10];
#elif defined(__aarch64__)
	memcpy(args, context->uc_mcontext.regs, sizeof(args));
#else
	memset(args, 0, sizeof(args));
#endif
	if (number == SCMP_SYS(openat))
		result = serve_open((const char *)(uintptr_t)args[1], args[2]);
	else if (number == SCMP_SYS(open))
		result = serve_open((const char *)(uintptr_t)args[0], args[1]);
	else if (number == SCMP_SYS(readlinkat))
		result = serve_readlink((const char *)(uintptr_t)args[1],
					(char *)(uintptr_t)args[2], args[3]);
	else
		result = serve_readlink((const char *)(uintptr_t)args[0],
					(char *)(uintptr_t)args[1], args[2]);
#if defined(__x86_64__)
	context->uc_mcontext.gregs[REG_RAX] = result;
#elif defined(__aarch64__)
	context->uc_mcontext.regs[0] = (uint64_t)result;
#endif
	errno = before;
}

/* --- confining a parser ----------------------------------------------------------------------- */

static uint64_t choose_memory(void)
{
	uint64_t spare = read_budget_spare_memory() / MEMORY_SHARE;

	if (ISOLATED_HAS_SHADOW)
		return 0;
	return spare < MEMORY_MAX_BYTES ? spare : MEMORY_MAX_BYTES;
}

static int confine(struct error *error)
{
	static const int kept[] = {WORKER_CONTROL_FD, PARSER_INBOX_FD, PARSER_BUFFER_FD};
	const uid_t user = confine_user();
	const struct isolation limits = {
		.timeout_ns = UINT64_MAX,
		.memory_bytes = choose_memory(),
		.written_bytes = ANSWER_MAX_BYTES,
		.root_fd = -1,
		.uid = user,
		.gid = user,
		.fds = kept,
		.nr_fds = ARRAY_SIZE(kept),
	};
	const struct sigaction serving = {.sa_sigaction = serve_call, .sa_flags = SA_SIGINFO};
	int err = isolated_confine(&limits, error);

	if (err < 0)
		return err;
	if (sigaction(SIGSYS, &serving, NULL) < 0)
		return error_set_errno(error, "cannot install a signal handler");
	return confine_system_calls(CONFINED_PARSER, error);
}

/* --- a parser --------------------------------------------------------------------------------- */

/* Waits for the delivery with this number. Returns the descriptor or a negative errno. Drops stale deliveries. */
static int await_delivery(uint32_t number, struct delivery *ret)
{
	for (;;) {
		int fd;
		ssize_t nr = message_receive(PARSER_INBOX_FD, ret, sizeof(*ret), 0, &fd, 1);

		if (nr <= (ssize_t)offsetof(struct delivery, opened) || ((char *)ret)[nr - 1])
			_exit(1);
		if (ret->number == number)
			return fd >= 0 ? fd : ret->err < 0 ? ret->err : -EIO;
		if (fd >= 0)
			(void)close(fd);
	}
}

static void reply(const struct parser_reply *message)
{
	if (message_send(WORKER_CONTROL_FD, message, sizeof(*message), NULL, 0) < 0)
		_exit(1);
}

int worker_want(struct worker_job *job, struct worker_want *want)
{
	struct parser_reply message = {
		.job = job->parser->job,
		.kind = PARSER_WANTS,
		.delivery = FIRST_WANT | job->parser->job << WANT_BITS | ++job->parser->last_want,
		.want = *want,
	};
	struct delivery delivery;
	int fd;

	reply(&message);
	fd = await_delivery(message.delivery, &delivery);
	if (fd < 0)
		return fd;
	want->first = delivery.path + 1;
	(void)strcpy(job->opened, delivery.opened); /* of the same size, with a NUL */
	return fd;
}

/* Limits what the process may have allocated in this call; the hard limit is that of all calls. */
static void limit_data(const struct parser_state *parser, uint64_t bytes)
{
	struct rlimit data = parser->data;

	if (!bytes)
		return;
	data.rlim_cur = bytes < data.rlim_max ? bytes : data.rlim_max;
	(void)setrlimit(RLIMIT_DATA, &data);
}

/* Runs the task of one call. The question is copied, since the answer replaces it in the buffer. */
static int answer(const struct parser_call *call, struct parser_state *parser,
		  const struct worker_task *task, void **state, uint64_t *ret_bytes)
{
	struct worker_job job = {
		.fd = -ENOENT,
		.answer_fd = PARSER_BUFFER_FD,
		.data_bytes = call->data_bytes,
		.parser = parser,
	};
	struct delivery delivery;
	void *question;
	int err;

	if (call->question_bytes > QUESTION_MAX_BYTES)
		return -E2BIG;
	if (!ISOLATED_HAS_SHADOW)
		limit_data(parser, call->data_bytes);
	question = malloc(call->question_bytes + 1);
	err = question ? fd_read_at(PARSER_BUFFER_FD, 0, question, call->question_bytes) : -ENOMEM;
	if (err == 0 && ftruncate(PARSER_BUFFER_FD, 0) < 0)
		err = -errno;
	if (call->delivery)
		job.fd = await_delivery(call->delivery, &delivery);
	job.question = bytes_of(question, call->question_bytes);
	if (err == 0)
		err = task->run(&job, state);
	worker_serve_library(&job, NULL);
	if (job.fd >= 0)
		(void)close(job.fd);
	free(question);
	*ret_bytes = job.answer_bytes;
	return err;
}

/* Receives the next call. Returns false when the worker ended. A parser without work keeps no freed memory. */
static bool next_call(struct parser_call *call)
{
	struct pollfd calls = {.fd = WORKER_CONTROL_FD, .events = POLLIN};

	if (poll(&calls, 1, IDLE_AFTER_MS) == 0)
		(void)malloc_trim(0);
	return message_receive(WORKER_CONTROL_FD, call, sizeof(*call), 0, NULL, 0) == sizeof(*call);
}

static int run_parser(const struct worker_task *tasks, size_t nr_tasks)
{
	void **states = calloc(nr_tasks, sizeof(*states));
	struct parser_state parser = {0};
	struct error error = {0};
	struct parser_call call;
	bool has_told = false;

	(void)prctl(PR_SET_NAME, PARSER_NAME);
	if (!states || getrlimit(RLIMIT_DATA, &parser.data) < 0)
		return 1;
	if (confine(&error) < 0) {
		struct parser_reply message = {.kind = PARSER_UNCONFINED, .err = error.code};

		(void)snprintf(message.want.name, sizeof(message.want.name), "%s", error.text);
		reply(&message);
		return 1;
	}
	while (next_call(&call)) {
		struct parser_reply message = {.job = call.job, .kind = PARSER_DONE};

		/* Before it reads what others made; without a question nobody waits for it. */
		if (!has_told)
			reply(&(struct parser_reply){.kind = PARSER_CONFINED});
		has_told = true;
		if (call.task >= nr_tasks)
			return 1;
		parser.job = call.job;
		parser.last_want = 0;
		message.err = answer(&call, &parser, &tasks[call.task], &states[call.task],
				     &message.answer_bytes);
		if (message.err == -ENOMEM && call.data_bytes)
			message.err = -ENOBUFS;
		reply(&message);
	}
	return 0;
}

int worker_main(int argc, char **argv, const struct worker_task *tasks, size_t nr_tasks)
{
	if (argc != 1)
		return -1;
	if (!strcmp(argv[0], OPENER_NAME))
		return run_opener(tasks, nr_tasks);
	/* Without exit handlers: those of a sanitizer would make system calls that are not allowed. */
	if (!strcmp(argv[0], PARSER_NAME))
		_exit(run_parser(tasks, nr_tasks));
	return -1;
}
