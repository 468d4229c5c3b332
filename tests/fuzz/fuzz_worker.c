/*
 * worker/worker.c: messages from compromised helper processes, in any order: replies of parsers, answers in their
 * buffers, replies of the opener with descriptors, and deaths at any moment. Stook must not crash, leak a descriptor,
 * or pass on a text without an end.
 *
 * The file is included, with the system calls that start, kill and talk to processes replaced: no process is started.
 * The input is a list of steps, each an operation and its bytes.
 *
 *	make fuzz && build/fuzz/fuzz_worker -max_len=4096 CORPUS
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/file/fd_io.h"
#include "base/text.h"
#include "fuzz/fuzz.h"
#include "proc/mappings.h"
#include "proc/process_info.h"
#include "worker/message.h"
#include "worker/worker.h"

#define MESSAGE_BYTES sizeof(struct opener_reply)

/* Descriptors attached to messages are numbered from here, so that a leak is seen. */
#define FIRST_ATTACHED_FD 512

/* The processes' side. */
static struct {
	pid_t last_pid;
	uint64_t now_ns;
	char message[MESSAGE_BYTES]; /* that the next receiver gets */
	size_t message_bytes;	     /* 0: none */
	bool is_for_opener, is_gone;
	unsigned nr_fds; /* attached to it */
	unsigned nr_sent;
} outside;

static struct worker *under_test;

static pid_t outside_start(void)
{
	return ++outside.last_pid;
}

static int outside_status(struct process_status *ret)
{
	*ret = (struct process_status){.state = outside.now_ns & 1 ? 'R' : 'D'};
	return 0;
}

/* Every third socket is full. */
static int outside_send(void)
{
	return ++outside.nr_sent % 3 ? 0 : -EAGAIN;
}

static ssize_t outside_receive(bool is_opener, void *message, size_t nr, int *fds, size_t nr_fds)
{
	const size_t bytes = outside.message_bytes;
	size_t i;

	for (i = 0; i < nr_fds; i++)
		fds[i] = -1;
	if (is_opener != outside.is_for_opener || !bytes)
		return -EAGAIN;
	outside.message_bytes = 0;
	if (outside.is_gone)
		return -ECONNRESET;
	for (i = 0; i < nr_fds && i < outside.nr_fds; i++)
		fds[i] = fcntl(0, F_DUPFD_CLOEXEC, FIRST_ATTACHED_FD);
	if (bytes > nr)
		return -EPROTO;
	memcpy(message, outside.message, bytes);
	return (ssize_t)bytes;
}

#define vfork()				    outside_start()
#define kill(pid, signal)		    ((void)(pid), 0)
#define waitpid(pid, status, flags)	    (*(status) = 0, pid)
#define syscall(...)			    ((long)-ENOSYS)
#define setpriority(which, pid, niceness)   ((void)(pid), 0)
#define clock_getcpuclockid(pid, clock)	    ((void)(clock), ENOSYS)
#define clock_now_ns()			    (outside.now_ns)
#define process_status_read(pid, ret)	    ((void)(pid), outside_status(ret))
#define message_send(to, bytes, nr, fds, n) ((void)(to), (void)(bytes), (void)(fds), outside_send())
#define message_receive(from, message, nr, flags, fds, nr_fds) \
	outside_receive((from) == under_test->opener.socket, message, nr, fds, nr_fds)

#include "../../src/worker/worker.c" /* NOLINT(bugprone-suspicious-include) */

enum operation {
	ASK,
	REPLY,	     /* of a parser */
	OPENER_SAYS, /* a reply of the opener */
	DIE,
	WAIT,
	WANT_FILE,
	WANT_MAPS,
	WANT_PROCESS,
	ASK_OPENER,
	NR_OPERATIONS,
};

struct host {
	struct worker *worker;
	struct file_table *files;
	struct process_table *processes;
	struct runtime_table *runtimes;
};

static int find_place(void *context, const struct worker_want *want, struct worker_place *ret)
{
	if (!memchr(want->name, '\0', sizeof(want->name)) ||
	    want->build_id_bytes > sizeof(want->build_id))
		abort();
	if (want->place > 2)
		return -ENODATA;
	ret->is_owned = want->place == 1;
	ret->is_handle = want->place == 2;
	ret->root_fd = want->place == 2 ? *(const int *)context : -1;
	worker_place_add(ret, want->name);
	return 0;
}

static void ask(struct host *host, uint64_t choice)
{
	static const int handle;
	const struct worker_question question = {
		.task = (uint32_t)choice % NR_TASKS,
		.bytes = "question",
		.nr = sizeof("question"),
		.handle = choice & 8 ? handle : -1,
		.file = {1, (uint32_t)choice >> 4 & 3, choice >> 6 & 7},
		.most_ns = NS_PER_SEC,
		.most_bytes = 4096,
		.place = choice & 16 ? find_place : NULL,
		.context = (void *)(uintptr_t)&handle,
	};

	(void)worker_ask(host->worker, choice & 1 ? PARSER_ROOT_FILES : PARSER_OTHER_FILES,
			 &question);
}

/* Sends what the input has, with the numbers that stook expects unless the choice says otherwise. */
static void reply(struct host *host, uint64_t choice, struct bytes bytes)
{
	const enum parser number = choice & 1 ? PARSER_ROOT_FILES : PARSER_OTHER_FILES;
	struct parser_process *parser = &host->worker->parsers[number];
	struct parser_reply message = {.job = parser->job, .kind = PARSER_DONE};
	const size_t nr = bytes.nr < sizeof(message) ? bytes.nr : sizeof(message);

	if (parser->buffer >= 0)
		(void)fd_write_at(parser->buffer, 0, bytes.at, bytes.nr);
	message.answer_bytes = bytes.nr;
	if (choice & 2)
		memcpy(&message, bytes.at, nr);
	if (choice & 4)
		message.job = parser->job;
	if (choice & 8)
		message.kind = choice & 16 ? PARSER_WANTS : PARSER_DONE;
	memcpy(outside.message, &message, sizeof(message));
	outside.message_bytes = choice & 32 && nr ? nr : sizeof(message);
	outside.is_for_opener = false;
	/* Only this parser has a message. */
	outside.is_gone = choice & 64;
	read_parser(host->worker, number);
}

static void say_as_opener(struct host *host, uint64_t choice, struct bytes bytes)
{
	const size_t head = offsetof(struct opener_reply, bytes);
	size_t nr = bytes.nr < MESSAGE_BYTES ? bytes.nr : MESSAGE_BYTES;
	struct opener_reply message;

	if (!(choice & 128))
		host->worker->is_opener_ready = true;
	memset(&message, 0, sizeof(message));
	if (choice & 1)
		memcpy(&message, bytes.at, nr);
	else if (bytes.nr <= REPLY_BYTES)
		memcpy(message.bytes, bytes.at, bytes.nr);
	if (!(choice & 2) && host->worker->nr_calls)
		message.number = host->worker->calls[0]->call.number;
	if (choice & 4)
		message.is_last = 1;
	memcpy(outside.message, &message, sizeof(message));
	outside.message_bytes = choice & 1 ? (nr > head	   ? nr
					      : choice & 8 ? nr + 1
							   : head)
					   : head + nr;
	if (outside.message_bytes > MESSAGE_BYTES)
		outside.message_bytes = MESSAGE_BYTES;
	outside.nr_fds = choice >> 4 & 3;
	outside.is_for_opener = true;
	outside.is_gone = choice & 64;
	worker_step(host->worker);
}

/* Keeps the first handle of some parts, and refuses others. */
static int take_part_here(void *context, const void *bytes, size_t nr,
			  int handles[WORKER_HANDLES_MAX])
{
	const uint8_t first = nr ? *(const uint8_t *)bytes : 0;

	(void)context;
	if (first & 1 && handles[0] >= 0) {
		(void)close(handles[0]);
		handles[0] = -1;
	}
	return first & 2 ? -EPROTO : 0;
}

static const struct opener_question of_opener = {
	.task = TASK_PROGRAM,
	.bytes = "question",
	.nr = sizeof("question"),
	.most_ns = NS_PER_SEC,
	.take = take_part_here,
};

static void want_file_of(struct host *host, uint64_t choice)
{
	const struct file_id id = {.major = 1, .minor = choice & 3, .inode = choice >> 2 & 31};

	(void)file_table_add(host->files, &id, "/usr/bin/true", (int32_t)(choice >> 7 & 3), 4096,
			     8192);
}

static void want_runtime(struct host *host, uint64_t choice)
{
	struct mappings *mappings = mappings_new();

	if (mappings)
		(void)runtime_table_add(host->runtimes, (int32_t)(choice & 7) + 1, choice >> 3 & 3,
					choice >> 5, mappings, host->files);
	mappings_unref(mappings);
}

static void check_text(const char *text, size_t room)
{
	if (!memchr(text, '\0', room))
		abort();
}

static void check(const struct host *host)
{
	struct worker_troubles troubles = {0};
	size_t i;

	worker_troubles_add(host->worker, &troubles);
	check_text(troubles.silent, sizeof(troubles.silent));
	check_text(troubles.silent_device, sizeof(troubles.silent_device));
	check_text(troubles.given_up, sizeof(troubles.given_up));
	check_text(troubles.cannot_start, sizeof(troubles.cannot_start));
	for (i = 0; i < runtime_table_nr(host->runtimes); i++) {
		const struct runtime_process *process =
			runtime_table_get(host->runtimes, (uint32_t)i);

		check_text(process->comm, sizeof(process->comm));
	}
}

static void step(struct host *host, enum operation operation, uint64_t choice, struct bytes bytes)
{
	enum parser parser = choice & 1 ? PARSER_ROOT_FILES : PARSER_OTHER_FILES;
	void *answer;
	size_t nr;

	switch (operation) {
	case ASK:
		ask(host, choice);
		break;
	case REPLY:
		reply(host, choice, bytes);
		break;
	case OPENER_SAYS:
		say_as_opener(host, choice, bytes);
		break;
	case DIE:
		outside.is_gone = true;
		outside.is_for_opener = choice & 2;
		outside.message_bytes = 1;
		worker_step(host->worker);
		break;
	case WAIT:
		outside.now_ns += choice << 20;
		worker_step(host->worker);
		break;
	case WANT_FILE:
		want_file_of(host, choice);
		break;
	case WANT_MAPS:
		(void)process_table_ensure(host->processes, (int32_t)(choice & 7) + 1,
					   &(struct program_id){.exec_id = choice >> 3},
					   outside.now_ns);
		break;
	case WANT_PROCESS:
		want_runtime(host, choice);
		break;
	case ASK_OPENER:
		if (!host->worker->asked)
			(void)ask_opener(host->worker, &of_opener);
		break;
	case NR_OPERATIONS:
		break;
	}
	outside.is_gone = false;
	outside.message_bytes = 0;
	if (worker_fetch(host->worker, parser, &answer, &nr) == 0) {
		if (nr > 4096)
			abort();
		free(answer);
	}
}

static bool is_free(int fd)
{
	int lowest = fcntl(0, F_DUPFD, fd);

	(void)close(lowest);
	return lowest == fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t nr)
{
	struct bytes rest = bytes_of(input, nr);
	struct host host = {0};
	const int first_own_fd = fcntl(0, F_DUPFD, 3);

	(void)close(first_own_fd);
	memset(&outside, 0, sizeof(outside));
	outside.now_ns = 1000 * NS_PER_SEC;
	host.worker = under_test = worker_new(NULL);
	host.files = file_table_new(16);
	host.processes = process_table_new(host.files);
	host.runtimes = runtime_table_new();
	if (!host.worker || !host.files || !host.processes || !host.runtimes)
		abort();
	worker_set_tables(host.worker, host.files, host.processes, host.runtimes);
	while (rest.nr && !rest.failed) {
		const uint8_t operation = bytes_u8(&rest);
		const uint16_t choice = bytes_u16(&rest);
		const uint8_t most = bytes_u8(&rest);

		const struct bytes told = bytes_cut(&rest, most < UINT8_MAX ? most : rest.nr);

		if (rest.failed)
			break;
		step(&host, operation % NR_OPERATIONS, choice, told);
		check(&host);
	}
	worker_free(host.worker);
	runtime_table_free(host.runtimes);
	process_table_free(host.processes);
	file_table_free(host.files);
	if (!is_free(first_own_fd) || !is_free(FIRST_ATTACHED_FD))
		abort();
	return 0;
}
