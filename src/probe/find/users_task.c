#include "probe/find/users_task.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "proc/process_info.h"

/* Enough for 100,000 processes. */
#define LOOK_NS (20 * NS_PER_SEC)

/* For processes that keep others waiting because they get no CPU. */
#define STARVED_NS (10 * NS_PER_SEC)

#define DOING "process %d"

/* The inodes and the pids follow. */
struct users_question {
	uint64_t limit_ns, nr_inodes, nr_pids;
};

/* --- in stook --------------------------------------------------------------------------------- */

struct users_answer {
	size_t nr_files;
	int64_t found;
};

static int take_answer(void *context, const void *bytes, size_t nr, int handles[WORKER_HANDLES_MAX])
{
	struct users_answer *answer = context;
	int64_t found;

	(void)handles;
	if (nr != sizeof(found))
		return -EPROTO;
	memcpy(&found, bytes, sizeof(found));
	if (found >= 0 ? (uint64_t)found >= answer->nr_files
		       : found != -ENOENT && found != -ETIMEDOUT)
		return -EPROTO;
	answer->found = found;
	return 0;
}

/* The process that did not answer, and its CPU time by then. */
struct silence {
	int32_t pid; /* 0: none yet */
	uint64_t cpu_ns;
};

static struct silence silence_of(const char *doing)
{
	struct silence silence = {0};

	if (sscanf(doing, DOING, &silence.pid) == 1)
		silence.cpu_ns = process_cpu_ns(silence.pid);
	return silence;
}

/*
 * A process that was interrupted while it had its lock, on a host without a CPU to spare, does not hang: seen for two
 * seconds at a load of 13 on two CPUs. So a process is asked twice, and again as long as it waits for a CPU: a thread of
 * it could run, and none has run since it was last asked. (Beside the thread that hangs, others may be busy.)
 */
static bool is_starved(struct silence *silence, const char *doing)
{
	const struct silence before = *silence;

	*silence = silence_of(doing);
	return silence->pid && process_is_runnable(silence->pid) &&
	       (silence->pid != before.pid || silence->cpu_ns == before.cpu_ns);
}

static int no_answer(int err, const char *doing, struct error *error)
{
	if (err != -ETIME)
		return error_set(error, err,
				 "cannot attach probes: the helper process that looks at all "
				 "processes %s",
				 worker_why_none(err));
	(void)error_set(error, err, "cannot attach probes: %s did not answer in time", doing);
	error_hint(error,
		   "it keeps its memory locked, in a system call that does not return; attaching "
		   "would wait for it, and nobody on the host could start a process meanwhile");
	return err;
}

int file_users_ask(struct worker *worker, const struct file_users *question, int64_t *ret,
		   struct error *error)
{
	const struct users_question head = {
		question->limit_ns,
		question->nr_inodes,
		question->nr_pids,
	};
	const size_t inode_bytes = question->nr_inodes * sizeof(*question->inodes);
	const size_t pid_bytes = question->nr_pids * sizeof(*question->pids);
	cleanup_free char *bytes = malloc(sizeof(head) + inode_bytes + pid_bytes);
	struct users_answer answer = {.nr_files = question->nr_inodes, .found = -ENOENT};
	const struct opener_question asked = {
		.task = TASK_USERS,
		.bytes = bytes,
		.nr = sizeof(head) + inode_bytes + pid_bytes,
		.most_ns = LOOK_NS,
		.take = take_answer,
		.context = &answer,
	};
	const uint64_t end_ns = clock_now_ns() + STARVED_NS;
	char doing[WORKER_DOING_BYTES];
	struct silence silence = {0};
	int err;

	if (!bytes)
		return error_no_memory(error, "");
	memcpy(bytes, &head, sizeof(head));
	if (inode_bytes)
		memcpy(bytes + sizeof(head), question->inodes, inode_bytes);
	if (pid_bytes)
		memcpy(bytes + sizeof(head) + inode_bytes, question->pids, pid_bytes);
	err = worker_call_opener(worker, &asked, doing);
	if (err == -EIO || err == -ETIME) {
		silence = silence_of(doing);
		err = worker_call_opener(worker, &asked, doing);
	}
	while (err == -ETIME && is_starved(&silence, doing) && clock_now_ns() < end_ns)
		err = worker_call_opener(worker, &asked, doing);
	if (err < 0)
		return no_answer(err, doing, error);
	*ret = answer.found;
	return 0;
}

/* --- in the opener ---------------------------------------------------------------------------- */

static void begins(void *context, int32_t pid)
{
	worker_begins(context, DOING, pid);
}

int users_task(struct worker_job *job, void **state)
{
	static const int none[WORKER_HANDLES_MAX] = {-1, -1};
	struct file_users question = {.begins = begins, .context = job};
	struct bytes rest = job->question;
	const void *bytes = bytes_skip(&rest, sizeof(struct users_question));
	struct users_question head;
	int64_t found;

	(void)state;
	if (!bytes)
		return -EINVAL;
	memcpy(&head, bytes, sizeof(head));
	question.limit_ns = head.limit_ns;
	question.nr_inodes = head.nr_inodes;
	question.nr_pids = head.nr_pids;
	question.inodes = (const uint64_t *)bytes_skip(&rest, head.nr_inodes * sizeof(uint64_t));
	question.pids = (const uint32_t *)bytes_skip(&rest, head.nr_pids * sizeof(uint32_t));
	if (rest.failed)
		return -EINVAL;
	found = file_users_find(&question);
	return worker_send_part(job, &found, sizeof(found), none);
}
