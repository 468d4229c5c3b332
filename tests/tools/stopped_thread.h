/*
 * A thread of another process, stopped by ptrace, as a raw record: its registers and the memory of
 * its stack (WALK_RAW in bpf/wire.h).
 *
 * A sleeping thread always has the same stack, so running threads are preferred. A target is a
 * process with all its descendants: compilers and servers do their work in children.
 */
#ifndef STOOK_TESTS_TOOLS_STOPPED_THREAD_H
#define STOOK_TESTS_TOOLS_STOPPED_THREAD_H

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/unwind_format.h"
#include "bpf/wire.h"

#ifndef WIRE_RAW_RED_ZONE
#define WIRE_RAW_RED_ZONE 0 /* bytes below the stack pointer in a record */
#endif

#define MAX_STACK_WORDS (UINT16_MAX - WIRE_RAW_HEAD) /* the maximum of a record */
#define MAX_CANDIDATES	4096
#define STOP_WAIT_MS	5000

struct stopped_thread {
	pid_t pid, tid;
	int signal; /* pending when the thread was stopped */
	struct wire_record record;
	uint64_t words[WIRE_RAW_HEAD + MAX_STACK_WORDS]; /* after the record, as in the ring */
};

_Static_assert(offsetof(struct stopped_thread, words) ==
		       offsetof(struct stopped_thread, record) + sizeof(struct wire_record),
	       "the words follow the record");

/* --- choosing a thread --------------------------------------------------------------------- */

/* Reads the parent and the state of a process or thread; returns false if it is gone. */
static inline bool read_stat(const char *path, pid_t *ret_parent, char *ret_state)
{
	char line[512];
	FILE *file = fopen(path, "re");
	const char *rest = file && fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	int parent;

	if (file)
		(void)fclose(file);
	if (!rest || sscanf(rest, ") %c %d", ret_state, &parent) != 2)
		return false;
	*ret_parent = parent;
	return true;
}

/* Lists the numeric entries of a folder in /proc. */
static inline size_t list_numbers(const char *path, pid_t *numbers, size_t max)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	size_t nr = 0;

	while (folder && nr < max && (entry = readdir(folder)))
		if (atoi(entry->d_name) > 0)
			numbers[nr++] = atoi(entry->d_name);
	if (folder)
		(void)closedir(folder);
	return nr;
}

/* Returns root or a random descendant. Children have higher pids, except after wrapping. */
static inline pid_t choose_process(pid_t root)
{
	static pid_t pids[MAX_CANDIDATES], family[MAX_CANDIDATES];
	size_t nr = list_numbers("/proc", pids, MAX_CANDIDATES), nr_family = 0, i, k;

	family[nr_family++] = root;
	for (i = 0; i < nr; i++) {
		char path[64], state;
		pid_t parent;

		snprintf(path, sizeof(path), "/proc/%d/stat", pids[i]);
		if (!read_stat(path, &parent, &state) || state == 'Z')
			continue;
		for (k = 0; k < nr_family && family[k] != parent; k++)
			;
		if (k < nr_family && nr_family < MAX_CANDIDATES)
			family[nr_family++] = pids[i];
	}
	return family[(size_t)random() % nr_family];
}

/* True if the thread exists and is running, or may be asleep. */
static inline bool is_wanted(pid_t pid, pid_t tid, bool may_sleep)
{
	char path[64], state;
	pid_t parent;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	if (!read_stat(path, &parent, &state) || state == 'Z' || state == 'X')
		return false;
	return state == 'R' || may_sleep;
}

/* Returns a random thread, 0 if none qualifies. */
static inline pid_t choose_thread(pid_t pid, bool may_sleep)
{
	static pid_t tids[MAX_CANDIDATES];
	size_t nr, nr_wanted = 0, i;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	nr = list_numbers(path, tids, MAX_CANDIDATES);
	for (i = 0; i < nr; i++)
		if (is_wanted(pid, tids[i], may_sleep))
			tids[nr_wanted++] = tids[i];
	return nr_wanted ? tids[(size_t)random() % nr_wanted] : 0;
}

/* --- stopping ------------------------------------------------------------------------------ */

/* Returns 0, -ESRCH if the thread has ended, or -ETIMEDOUT if it does not stop. */
static inline int wait_for_stop(struct stopped_thread *thread)
{
	int status, waited_ms;

	for (waited_ms = 0; waited_ms < STOP_WAIT_MS; waited_ms++) {
		pid_t got = waitpid(thread->tid, &status, __WALL | WNOHANG);

		if (got < 0 || (got > 0 && !WIFSTOPPED(status)))
			return -ESRCH;
		if (got > 0) {
			bool is_ours = status >> 16 == PTRACE_EVENT_STOP;

			thread->signal = is_ours ? 0 : WSTOPSIG(status);
			return 0;
		}
		usleep(1000);
	}
	return -ETIMEDOUT;
}

static inline int stop_thread(struct stopped_thread *thread, pid_t pid, pid_t tid)
{
	thread->pid = pid;
	thread->tid = tid;
	if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0)
		return -errno;
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0)
		return -errno;
	return wait_for_stop(thread);
}

static inline void release_thread(const struct stopped_thread *thread)
{
	(void)ptrace(PTRACE_DETACH, thread->tid, 0, (long)thread->signal);
}

/* Releases the thread to another debugger: the whole process stays stopped until SIGCONT. */
static inline void freeze_process(const struct stopped_thread *thread)
{
	(void)tgkill(thread->pid, thread->tid, SIGSTOP);
	release_thread(thread);
}

static inline void thaw_process(const struct stopped_thread *thread)
{
	(void)kill(thread->pid, SIGCONT);
}

/* --- reading ------------------------------------------------------------------------------- */

#if defined(__x86_64__)
static inline void copy_registers(const struct user_regs_struct *from, uint64_t *to)
{
	const uint64_t regs[] = {
		from->rax, from->rdx, from->rcx, from->rbx, from->rsi, from->rdi,
		from->rbp, from->rsp, from->r8,	 from->r9,  from->r10, from->r11,
		from->r12, from->r13, from->r14, from->r15, from->rip,
	};

	memcpy(to, regs, sizeof(regs));
	to[WIRE_RAW_PC] = from->rip;
}
#else
static inline void copy_registers(const struct user_regs_struct *from, uint64_t *to)
{
	memcpy(to, from->regs, sizeof(from->regs));
	to[UNWIND_REG_SP] = from->sp;
	to[WIRE_RAW_PC] = from->pc;
}
#endif

/* Reads page by page, as the end of the stack is unknown. */
static inline size_t read_stack(pid_t pid, uint64_t start, uint64_t *words, size_t max)
{
	size_t nr = 0;

	while (nr < max) {
		uint64_t at = start + nr * 8;
		size_t bytes = 4096 - at % 4096;
		struct iovec to = {words + nr, bytes}, from = {(void *)(uintptr_t)at, bytes};

		if (to.iov_len > (max - nr) * 8)
			to.iov_len = (max - nr) * 8;
		from.iov_len = to.iov_len;
		if (process_vm_readv(pid, &to, 1, &from, 1, 0) != (ssize_t)to.iov_len)
			break;
		nr += to.iov_len / 8;
	}
	return nr;
}

/* Fills the record with registers and up to stack_bytes of stack; returns 0 or -errno. */
static inline int read_thread(struct stopped_thread *thread, size_t stack_bytes)
{
	struct user_regs_struct regs;
	struct iovec regset = {&regs, sizeof(regs)};
	uint64_t *stack = thread->words + WIRE_RAW_HEAD, start;
	size_t max = stack_bytes / 8 < MAX_STACK_WORDS ? stack_bytes / 8 : MAX_STACK_WORDS;

	if (ptrace(PTRACE_GETREGSET, thread->tid, NT_PRSTATUS, &regset) < 0)
		return -errno;
	thread->record = (struct wire_record){
		.pid = (uint32_t)thread->pid,
		.tid = (uint32_t)thread->tid,
		.user_end = WALK_RAW,
	};
	memset(thread->words, 0, WIRE_RAW_HEAD * sizeof(thread->words[0]));
	copy_registers(&regs, thread->words);
	start = thread->words[UNWIND_REG_SP] & ~7ULL;
	memset(stack, 0, WIRE_RAW_RED_ZONE); /* the memory below a stack may be unmapped */
	(void)read_stack(thread->pid, start - WIRE_RAW_RED_ZONE, stack, WIRE_RAW_RED_ZONE / 8);
	stack += WIRE_RAW_RED_ZONE / 8;
	stack += read_stack(thread->pid, start, stack, max - WIRE_RAW_RED_ZONE / 8);
	thread->record.nr_user = (uint16_t)(stack - thread->words);
	return 0;
}

#endif
