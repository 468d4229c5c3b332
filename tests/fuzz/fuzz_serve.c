/*
 * worker/serve.c: calls and deliveries that a helper process receives, in any order and of any length. The opener and
 * the parser must end, or go on; each closes what it was sent.
 *
 * The file is included, with its sockets and its buffer replaced by the input: one byte for the kind of process, then
 * messages. The opener looks at real files and processes, as it does in a run.
 *
 *	make fuzz && build/fuzz/fuzz_serve -max_len=4096 CORPUS
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/file/fd_io.h"
#include "base/isolated.h"
#include "fuzz/fuzz.h"
#include "worker/confine.h"
#include "worker/message.h"
#include "worker/worker.h"

/* Descriptors attached to messages are numbered from here, so that a leak is seen. */
#define FIRST_ATTACHED_FD 512

/* Stook's side. */
static struct {
	struct bytes input;
	jmp_buf ended;
	void *allocated[4]; /* what a process that ends need not free */
} outside;

static void *outside_allocate(size_t nr)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(outside.allocated); i++)
		if (!outside.allocated[i])
			return outside.allocated[i] = calloc(1, nr);
	abort();
}

static void outside_release(const void *memory)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(outside.allocated); i++) {
		if (memory && outside.allocated[i] != memory)
			continue;
		free(outside.allocated[i]);
		outside.allocated[i] = NULL;
	}
}

/* A message: its length, the number of its descriptors, and its bytes, the rest of which is zero. */
static ssize_t outside_receive(void *message, size_t room, int *fds, size_t nr_fds)
{
	const size_t nr = bytes_u16(&outside.input) % (room + 1);
	const unsigned nr_attached = bytes_u8(&outside.input);
	const size_t most = nr < outside.input.nr ? nr : outside.input.nr;
	size_t i;

	for (i = 0; i < nr_fds; i++)
		fds[i] = -1;
	if (outside.input.failed || !outside.input.nr || !nr)
		return -ECONNRESET;
	memset(message, 0, room);
	memcpy(message, bytes_skip(&outside.input, most), most);
	for (i = 0; i < nr_fds && i < nr_attached; i++)
		fds[i] = fcntl(0, F_DUPFD_CLOEXEC, FIRST_ATTACHED_FD);
	return (ssize_t)nr;
}

/* Every reply but some is taken. */
static int outside_send(void)
{
	return bytes_u8(&outside.input) == 255 ? -EPIPE : 0;
}

/* The buffer is zero. */
static int outside_read(void *to, size_t nr)
{
	if (nr > 4096)
		return -EIO;
	memset(to, 0, nr);
	return 0;
}

#define _exit(status)				 longjmp(outside.ended, 1)
#define prctl(...)				 0
#define isolated_close_from(first)		 ((void)0)
#define isolated_keep_capabilities(kept, raised) ((void)0)
#define isolated_confine(limits, error)		 ((void)(limits), 0)
#define confine_system_calls(kind, error)	 0
#define fd_open_standard_streams()		 ((void)0)
#define sigaction(signal, action, before)	 ((void)(action), 0)
#define ftruncate(fd, nr)			 ((void)(fd), 0)
#define malloc(nr)				 outside_allocate(nr)
#define calloc(nr, size)			 outside_allocate((nr) * (size))
#define free(memory)				 outside_release(memory)
#define poll(fds, nr, ms)			 ((void)(fds), 0)
#define fd_read_at(fd, offset, to, nr)		 outside_read(to, nr)
#define fd_write_at(fd, offset, from, nr)	 ((void)(fd), (void)(from), 0)
#define message_send(to, message, nr, fds, n)	 ((void)(message), outside_send())
#define message_receive(from, message, nr, flags, fds, nr_fds) \
	outside_receive(message, nr, fds, nr_fds)

#include "../../src/worker/serve.c" /* NOLINT(bugprone-suspicious-include) */

/* In a parser, requests files until there are no further ones; in the opener, answers in parts. */
static int run_task(struct worker_job *job, void **state)
{
	struct worker_want want = {.kind = WANT_DEBUG_FILE};

	(void)state;
	if (job->opener) {
		worker_begins(job, "question of %zu bytes", job->question.nr);
		return worker_send_part(job, job->question.at, job->question.nr, (int[]){0, -1});
	}
	while (want.place < 4) {
		int fd = worker_want(job, &want);

		if (fd < 0)
			want.place++;
		else
			(void)close(fd);
		if (strlen(job->opened) >= sizeof(job->opened))
			abort();
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t nr)
{
	const struct worker_task tasks[] = {{"one", run_task}, {"two", run_task}};
	int i, fd;

	outside.input = bytes_of(input, nr);
	if (setjmp(outside.ended) == 0) { /* NOLINT(cert-err52-cpp) */
		if (bytes_u8(&outside.input) & 1)
			(void)run_opener(tasks, ARRAY_SIZE(tasks));
		else
			(void)run_parser(tasks, ARRAY_SIZE(tasks));
	}
	outside_release(NULL);
	/* A process that ends has its descriptors closed; one message has no more than these, and inboxes. */
	for (i = 0, fd = FIRST_ATTACHED_FD; i < MESSAGE_FDS_MAX + NR_PARSERS; i++)
		(void)close(fd++);
	fd = fcntl(0, F_DUPFD, FIRST_ATTACHED_FD);
	(void)close(fd);
	if (fd != FIRST_ATTACHED_FD)
		abort();
	return 0;
}
